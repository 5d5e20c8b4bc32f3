"""The plot of spectral ergodicity: the jackknife over matrices, curves of the same bins; and refusals."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import band, names

# Student's quantile of 97.5 % with 39 degrees of freedom, by table.
STUDENT = 2.0227
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

    whole = metric(counts, size)
    np.testing.assert_allclose(whole, statistics.spectral_ergodicity(SPECTRA, EDGES), rtol=1e-5)
    without = np.array([metric(np.delete(counts, i, 0), np.delete(size, i)) for i in range(40)])
    value = 40 * whole - 39 * without.mean(axis=0)
    error = STUDENT * np.sqrt(39 / 40 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.2, 0.45, 0.8], rtol=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), value, rtol=1e-3)
    _, low, high = band(ax)
    np.testing.assert_allclose(high - low, 2 * error, rtol=2e-3)
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


@pytest.mark.parametrize(
    ("levels", "options", "message"),
    [
        (LEVELS[0], {}, "`levels` must be those of at least two matrices"),
        (rmt.Spectrum(LEVELS[:2], [[True], [False]]), {}, "`levels` must be those of at least two matrices"),
        (LEVELS, {"edges": [0.5, 0.1]}, "`edges` must be finite and strictly ascending"),
        (LEVELS, {"betas": [3]}, "`beta` must be 0, 1, 2 or 4, got 3"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(levels, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.spectral_ergodicity(levels, **{"edges": EDGES} | options)
    assert plt.get_fignums() == []
