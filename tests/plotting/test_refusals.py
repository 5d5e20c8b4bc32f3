"""Bad input is refused before anything is drawn, and so is a missing matplotlib."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.given import PLANAR, SPECTRA

POINTS = np.array([4.0, 0.5, 1.0, 2.5])
EDGES = np.linspace(0.0, 3.0, 7)
VECTORS = np.random.default_rng(0).normal(size=(30, 8, 8))
LEVELS = np.random.default_rng(1).uniform(-1, 1, (30, 8))
SEMICIRCLE = rmt.laws.Semicircle()
HISTOGRAM = rmt.simulation.HistogramResult(np.array([2, 2, 3, 0, 0, 0]), EDGES, 1, 1)
EMPTY = rmt.simulation.HistogramResult(np.zeros(6, int), EDGES, 0, 0)
BETA, ASCENDING = "`beta` must be 0, 1, 2 or 4, got 3", "`levels` must be ascending numbers"
BINS = "`bins` must be a number of bins, or finite and strictly ascending edges"
IDENTITY = lambda x: x


@pytest.mark.parametrize(
    ("plot", "given", "options", "message"),
    [
        ("complex_spacing_ratios", [PLANAR.real], {}, "`levels` must be complex"),
        ("complex_spacing_ratios", [PLANAR[:, :2]], {}, "`levels` must have ratios"),
        ("complex_spacing_ratios", [PLANAR[:0]], {}, "`levels` must have ratios"),
        ("complex_spacing_ratios", [PLANAR], {"betas": [1]}, "`beta` must be 0 or 2, got 1"),
        ("complex_spacing_ratios", [PLANAR], {"bins": [0.5, 0.1]}, BINS),
        ("complex_spacing_ratios", [PLANAR + np.nan], {}, "`levels` must be finite numbers"),
        ("pair_correlation", [SPECTRA, 1.0], {}, "`edges` must be a vector"),
        ("pair_correlation", [SPECTRA, EDGES], {"betas": [3]}, BETA),
        ("form_factor", [SPECTRA[0], POINTS], {}, "`levels` must be those of several spectra"),
        ("form_factor", [SPECTRA[:0], POINTS], {}, "`levels` must be those of at least one spectrum"),
        ("form_factor", [SPECTRA, POINTS[:, None]], {}, "`times` must be a vector"),
        ("power_spectrum", [SPECTRA, [9.0]], {}, "`frequencies`"),
        ("power_spectrum", [SPECTRA, POINTS], {"betas": [3]}, BETA),
        ("number_variance", [SPECTRA[:, ::-1], POINTS], {}, ASCENDING),
        ("number_variance", [SPECTRA, 1.0], {}, "`lengths` must be a vector"),
        ("number_variance", [SPECTRA, [100.0]], {}, "`lengths` must be shorter"),
        ("number_variance", [SPECTRA, POINTS], {"betas": [1, 3]}, BETA),
        ("number_variance", [SPECTRA[:0], POINTS], {}, "`levels` must be those of at least one spectrum"),
        ("number_variance", [rmt.Spectrum(SPECTRA), POINTS], {}, "`levels` must be unfolded"),
        ("number_skewness", [SPECTRA, [0.0, 1.0]], {}, "`lengths` must be above 0 for a skewness"),
        ("number_skewness", [SPECTRA, POINTS], {"betas": [3]}, BETA),
        ("number_probabilities", [SPECTRA, POINTS], {"betas": [3]}, BETA),
        ("number_probabilities", [SPECTRA, POINTS], {"max_count": 1.5}, "`max_count` must be an integer"),
        ("number_probabilities", [SPECTRA, 1.0], {}, "`lengths` must be a vector"),
        ("spacings", [SPECTRA[:, ::-1]], {}, ASCENDING),
        ("spacings", [SPECTRA[:, :1]], {}, "`levels` must have spacings"),
        ("spacings", [SPECTRA[:0]], {}, "`levels` must have spacings"),
        ("spacings", [SPECTRA / 100], {}, "`levels` must have a mean spacing of 1"),
        ("spacings", [rmt.Spectrum(SPECTRA)], {}, "`levels` must be unfolded"),
        ("spacings", [SPECTRA], {"betas": [3]}, BETA),
        ("spacings", [SPECTRA], {"betas": 3}, BETA),
        ("spacings", [SPECTRA], {"bins": 0}, "`bins` must be .* at least 1, got 0"),
        ("spacings", [SPECTRA], {"bins": [0.0]}, BINS),
        ("spacings", [SPECTRA], {"bins": [1.0, 0.0]}, BINS),
        ("spacings", [SPECTRA], {"bins": [0.0, np.inf]}, BINS),
        ("spacings", [SPECTRA], {"order": 5}, "`order` must be at most 4 for beta=2, got 5"),
        ("spectral_ergodicity", [SPECTRA[0], EDGES], {}, "`levels` must be those of at least two matrices"),
        (
            "spectral_ergodicity",
            [rmt.Spectrum(SPECTRA[:2], [[True], [False]]), EDGES],
            {},
            "`levels` must be those of at least two matrices",
        ),
        ("spectral_ergodicity", [SPECTRA, [0.5, 0.1]], {}, "`edges` must be finite and strictly ascending"),
        ("spectral_ergodicity", [SPECTRA, EDGES], {"betas": [3]}, BETA),
        ("intensities", [VECTORS[0, 0]], {}, "`vectors`"),
        ("intensities", [VECTORS[:, :1]], {}, "`vectors` must be at least one, of two or more components"),
        ("intensities", [VECTORS[:0]], {}, "`vectors` must be at least one, of two or more components"),
        ("intensities", [0 * VECTORS], {}, "`vectors` must be finite, and none of them 0"),
        ("intensities", [VECTORS], {"betas": [4]}, "`beta` must be 1 or 2, got 4"),
        ("intensities", [VECTORS], {"bins": 0}, "`bins` must be .* at least 1, got 0"),
        (
            "inverse_participation_ratio",
            [LEVELS[0], VECTORS],
            {},
            r"`levels` must be one for each vector, of the shape \(30, 8\)",
        ),
        ("inverse_participation_ratio", [LEVELS[:0], VECTORS[:0]], {}, "`levels` must be one for each vector"),
        ("inverse_participation_ratio", [LEVELS, 0 * VECTORS], {}, "`vectors` must be finite and none of them 0"),
        (
            "inverse_participation_ratio",
            [LEVELS + np.nan, VECTORS],
            {},
            "`vectors` must be finite and none .* with finite levels",
        ),
        ("inverse_participation_ratio", [LEVELS, VECTORS], {"betas": [4]}, "`beta` must be 1 or 2, got 4"),
        ("inverse_participation_ratio", [LEVELS, VECTORS], {"q": np.inf}, "`q` must be"),
        ("unfolding", [SPECTRA], {}, "`unfolded` must be the result of an unfolding, got 'ndarray'"),
        ("unfolding", [rmt.Spectrum(SPECTRA)], {}, "`unfolded` must be the result of .*, got 'Spectrum'"),
        ("unfolding", [statistics.unfold(SPECTRA, IDENTITY)], {"bins": 0}, "`bins` must be .* at least 1, got 0"),
        ("unfolding", [statistics.unfold(rmt.Spectrum(SPECTRA, False), IDENTITY)], {}, "`unfolded` must have levels"),
        ("spectral_density", ["levels"], {}, "`samples` must be real levels.*'str'"),
        ("spectral_density", [np.array([1j])], {}, "`samples` must be real levels"),
        ("spectral_density", [np.array([True])], {}, "`samples` must be real levels"),
        ("spectral_density", [rmt.Histogram([0.0, 1.0])], {}, "`samples` must be real levels.*'Histogram'"),
        ("spectral_density", [([1.0, 2.0], [1.0])], {}, "`samples` must be real levels.*'tuple'"),
        ("spectral_density", [np.eye(5)], {}, r"such as `rmt.eigvalsh\(matrix\)`"),
        ("spectral_density", [[]], {}, r"`samples` must hold at least one level, got \(0,\)"),
        ("spectral_density", [[1.0, np.nan]], {}, "`samples` must be finite.*nan"),
        ("spectral_density", [[1.0, np.inf]], {}, "`samples` must be finite.*inf"),
        ("spectral_density", [EMPTY], {}, "`samples` must hold at least one"),
        ("spectral_density", [HISTOGRAM], {"bins": 10}, "`bins` must be left out .* got 10"),
        ("spectral_density", [POINTS], {"bins": 0}, "`bins` must be what `numpy.histogram` takes, got 0"),
        ("spectral_density", [POINTS], {"bins": 2.5}, "`bins` must be what `numpy.histogram` takes, got 2.5"),
        ("spectral_density", [POINTS], {"bins": [0.0, 0.0, 1.0]}, "`bins` must be finite and strictly ascending"),
        ("spectral_density", [POINTS], {"bins": [0.0, np.nan]}, "`bins` must be finite and strictly ascending"),
        ("spectral_density", [POINTS], {"bins": [0.0]}, "`bins` must be finite and strictly ascending"),
        ("spectral_density", [POINTS], {"errors": "matrices"}, "`errors` must be one of .*, got 'matrices'"),
        ("spectral_density", [POINTS], {"law": SEMICIRCLE.pdf}, "`law` must be a law"),
        (
            "spectral_density",
            [POINTS],
            {"law": rmt.laws.CircularLaw()},
            "`law` must be a law of real .*`plotting.complex_levels`",
        ),
        ("complex_levels", [PLANAR[:0]], {}, "`levels` must hold at least one level"),
        ("complex_levels", [PLANAR + np.nan], {}, "`levels` must be finite numbers"),
        ("complex_levels", [PLANAR], {"law": SEMICIRCLE}, "`law` must be a law of complex levels"),
        ("spectral_density", [POINTS], {"law": {"pdf": SEMICIRCLE.pdf}}, "`law` must be a law"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(plot, given, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(plotting, plot)(*given, **options)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("plot", "given"), [("rigidity", [SPECTRA, POINTS]), ("spectral_density", [POINTS])])
def test_missing_matplotlib_is_explained(monkeypatch, plot, given):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "rmtjax\[plot\]"'):
        getattr(plotting, plot)(*given)
