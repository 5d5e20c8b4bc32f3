"""Plots of spectra together with laws. They need matplotlib: `pip install "rmtjax[plot]"`."""

from rmtjax.plotting._spectral_density import spectral_density as spectral_density
