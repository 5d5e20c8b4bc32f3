"""Decisions from data and spectra: goodness of fit, fits, signal and noise, covariance, spectra of large operators."""
