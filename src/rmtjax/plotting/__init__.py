"""Plots of spectra and their statistics together with laws. They need matplotlib: `pip install "rmtjax[plot]"`.

All plots of statistics have in common:

- The spectra, or the matrices of `vectors`, on the leading axes are independent. Errors come from the spread over them.
- A band or an error bar holds the true value with 95 % confidence. A single spectrum has none: its levels depend on one
  another, and its intervals overlap.
- `betas` chooses the references, which are exact curves or laws: one β or several, where 0 stands for independent
  levels. `[]` draws none. A reference that is already on the axes is not drawn again.
- `label` names the spectra in the legend. The default is their number and, in a histogram of spacings or ratios, the
  mean with its standard error.
- `style`, which is all further arguments, goes to matplotlib, and wins over our choices. For example, `color` sets the
  colour of the spectra and of their band.
- `ax` says where to draw; the default is a new figure. Each further set of spectra on the same axes has another colour.
- The axes are returned. For example, `ax.figure.savefig("plot.png", dpi=200)` saves the picture.
- `plt.style.use("rmtjax.plotting.style")` gives figures of your own the same look.
- A wrong argument raises a `ValueError` before anything is drawn. Without matplotlib, each plot is an `ImportError`.
"""

from rmtjax.plotting._complex_levels import complex_levels as complex_levels
from rmtjax.plotting._complex_ratios import complex_spacing_ratios as complex_spacing_ratios
from rmtjax.plotting._correlations import form_factor as form_factor
from rmtjax.plotting._correlations import pair_correlation as pair_correlation
from rmtjax.plotting._correlations import power_spectrum as power_spectrum
from rmtjax.plotting._eigenvectors import intensities as intensities
from rmtjax.plotting._eigenvectors import inverse_participation_ratio as inverse_participation_ratio
from rmtjax.plotting._number_statistics import number_probabilities as number_probabilities
from rmtjax.plotting._number_statistics import number_skewness as number_skewness
from rmtjax.plotting._number_statistics import number_variance as number_variance
from rmtjax.plotting._number_statistics import rigidity as rigidity
from rmtjax.plotting._spacings import gap_ratios as gap_ratios
from rmtjax.plotting._spacings import level_repulsion as level_repulsion
from rmtjax.plotting._spacings import spacings as spacings
from rmtjax.plotting._spectral_density import spectral_density as spectral_density
from rmtjax.plotting._spectral_ergodicity import spectral_ergodicity as spectral_ergodicity
from rmtjax.plotting._unfolding import unfolding as unfolding
