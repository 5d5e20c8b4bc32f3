"""Decisions from data and spectra: goodness of fit, fits, signal and noise, covariance, spectra of large operators."""

from rmtjax.inference._signal.hard_threshold import HardThreshold as HardThreshold
from rmtjax.inference._signal.hard_threshold import optimal_hard_threshold as optimal_hard_threshold
