"""Spectra: levels that know which of them count, where they were looked for, and whether they are unfolded."""

from rmtjax.spectra._domain import Circle as Circle
from rmtjax.spectra._domain import Interval as Interval
from rmtjax.spectra._domain import Line as Line
from rmtjax.spectra._masked import MaskedValues as MaskedValues
from rmtjax.spectra._spectrum import Spectrum as Spectrum
from rmtjax.spectra._unfolding import Unfolding as Unfolding
