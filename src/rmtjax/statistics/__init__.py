"""Statistics of ascending spectra: unfolding, distances, numbers in intervals, each with its standard error."""

from rmtjax.statistics._correlations.form_factor import FormFactor as FormFactor
from rmtjax.statistics._correlations.form_factor import form_factor as form_factor
from rmtjax.statistics._correlations.number_statistics import number_probabilities as number_probabilities
from rmtjax.statistics._correlations.number_statistics import number_skewness as number_skewness
from rmtjax.statistics._correlations.number_statistics import number_variance as number_variance
from rmtjax.statistics._correlations.number_statistics import rigidity as rigidity
from rmtjax.statistics._correlations.pair_correlation import pair_correlation as pair_correlation
from rmtjax.statistics._correlations.power_spectrum import power_spectrum as power_spectrum
from rmtjax.statistics._over_samples import Estimate as Estimate
from rmtjax.statistics._over_samples import over_samples as over_samples
from rmtjax.statistics._spacings.spacings import gap_ratios as gap_ratios
from rmtjax.statistics._spacings.spacings import spacings as spacings
from rmtjax.statistics._unfolding.unfold import unfold as unfold
from rmtjax.statistics._unfolding.unfold import unfold_local as unfold_local
from rmtjax.statistics._unfolding.unfold import unfold_phases as unfold_phases
from rmtjax.statistics._unfolding.unfold import unfold_polynomial as unfold_polynomial
from rmtjax.statistics._unfolding.unfolded import Unfolded as Unfolded
