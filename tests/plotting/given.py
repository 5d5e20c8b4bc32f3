"""What the tests of all plots draw: a call of every plot."""

import inspect

import numpy as np

from rmtjax import plotting, statistics

PLOTS = {name: plot for name, plot in vars(plotting).items() if inspect.isfunction(plot)}
SPECTRA = np.cumsum(np.random.default_rng(0).uniform(0.2, 1.8, (5, 20)), axis=1)
VECTORS = np.random.default_rng(0).normal(size=(5, 8, 8))
POINTS = np.linspace(0.5, 3.0, 6)
PLANAR = np.random.default_rng(0).normal(size=(60, 16, 2)) @ [1, 1j]
GIVEN = {
    "complex_levels": (PLANAR,),
    "complex_spacing_ratios": (PLANAR,),
    "form_factor": (SPECTRA, POINTS),
    "gap_ratios": (SPECTRA,),
    "intensities": (VECTORS,),
    "inverse_participation_ratio": (SPECTRA[:, :8], VECTORS),
    "level_repulsion": (SPECTRA, POINTS),
    "number_probabilities": (SPECTRA, POINTS),
    "number_skewness": (SPECTRA, POINTS),
    "number_variance": (SPECTRA, POINTS),
    "pair_correlation": (SPECTRA, POINTS),
    "power_spectrum": (SPECTRA, POINTS),
    "rigidity": (SPECTRA, POINTS),
    "spacings": (SPECTRA,),
    "spectral_density": (SPECTRA,),
    "spectral_ergodicity": (SPECTRA, np.linspace(0, 20, 6)),
    "unfolding": (statistics.unfold(SPECTRA, lambda x: x),),
}
