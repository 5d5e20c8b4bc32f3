"""Pictures of spectra against laws. Needs matplotlib: `pip install "rmtjax[plot]"`."""

from rmtjax.plotting._spectral_density import spectral_density as spectral_density
