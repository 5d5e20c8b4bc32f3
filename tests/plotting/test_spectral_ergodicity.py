"""The plot of spectral ergodicity: the jackknife over matrices, curves of the same bins."""

import numpy as np

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import STUDENT, band, jackknife, names

LEVELS = np.sort(np.random.default_rng(0).uniform(size=(41, 30)), axis=1)
MASK = np.random.default_rng(1).uniform(size=(41, 30)) < np.append(0, np.linspace(0.3, 1, 40))[:, None]
SPECTRA = rmt.Spectrum(LEVELS, MASK)
EDGES = np.array([0.1, 0.3, 0.6, 1.0])


def test_jackknife_over_matrices_of_mixed_order_and_curves_of_the_same_bins():
    ax = plotting.spectral_ergodicity(SPECTRA, EDGES, betas=[0, 2])
    some, size = slice(1, None), MASK.sum(axis=1)[1:]
    counts = np.array([np.histogram(x[kept], EDGES)[0] for x, kept in zip(LEVELS, MASK, strict=True)])[some]

    def metric(n, size):
        share = n.sum(axis=0) / size.sum()
        return (size[:, None] * (n / size[:, None] - share) ** 2).mean(axis=0)

    np.testing.assert_allclose(metric(counts, size), statistics.spectral_ergodicity(SPECTRA, EDGES), rtol=1e-5)
    value, error = jackknife(metric, counts, size)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.2, 0.45, 0.8], rtol=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), value, rtol=1e-3)
    _, low, high = band(ax)
    np.testing.assert_allclose(high - low, 2 * STUDENT[39] * error, rtol=2e-3)
    number, mean_size = counts.mean(axis=0), size.mean()
    np.testing.assert_allclose(ax.lines[1].get_ydata(), number / mean_size * (1 - number / mean_size), rtol=1e-5)
    exact = rmt.laws.number_variance(number, 2) / mean_size
    np.testing.assert_allclose(ax.lines[2].get_ydata(), exact, rtol=1e-5)
    assert names(ax) == ["40 spectra", "independent levels", "β = 2"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")


def test_levels_on_edges_and_padding_are_those_of_the_statistic():
    padded = rmt.Spectrum.of([[0.0, 0.5, 1.0], [0.5, 1.0], [0.0, 0.2, 0.4]])
    ax = plotting.spectral_ergodicity(padded, [0.0, 0.5, 1.0], betas=0)
    number = np.array([[1, 2], [0, 2], [3, 0]]).mean(axis=0)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), number * 3 / 8 * (1 - number * 3 / 8), rtol=1e-6)
