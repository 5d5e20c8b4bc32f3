"""Plots of numbers of levels in intervals: the mean, the band, the curves, the view."""

import math
from functools import reduce

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import STUDENT, band, jackknife, names
from tests.plotting.given import SPECTRA

LENGTHS = np.array([4.0, 0.5, 1.0, 2.5])
PLOTS = [
    (plotting.number_variance, statistics.number_variance, rmt.laws.number_variance),
    (plotting.rigidity, statistics.rigidity, rmt.laws.rigidity),
]


def counts_of_many(length, beta):
    """The law of the number of levels of large spectra, from the even and the odd functions of the sine kernel."""
    if beta == 0:
        return np.array([length**k * math.exp(-length) / math.factorial(k) for k in range(60)])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    quarter = (2 if beta == 4 else 1) * length / 4
    x, scale = quarter * (1 + nodes), quarter * np.sqrt(weights[:, None] * weights)
    even, odd = (
        reduce(np.convolve, [[1 - p, p] for p in np.linalg.eigvalsh(scale * (np.sinc(x[:, None] - x) + parity))])
        for parity in (np.sinc(x[:, None] + x), -np.sinc(x[:, None] + x))
    )
    if beta == 2:
        return np.convolve(even, odd)
    if beta == 4:
        return (even + odd) / 2
    # Those of two neighbouring numbers together, of which the last probabilities are 0.
    pairs = np.column_stack([even, odd]).ravel()
    return np.array([np.sum(pairs[k + 1 :: 2]) - np.sum(pairs[k + 2 :: 2]) for k in range(pairs.size - 1)])


@pytest.mark.parametrize(("plot", "statistic", "law"), PLOTS)
def test_mean_with_band_over_spectra_and_exact_curves(plot, statistic, law):
    ax = plot(SPECTRA, LENGTHS, betas=[0, 1, 2, 4])
    each = np.asarray(statistic(SPECTRA, np.sort(LENGTHS)), np.float64)
    estimate, *references = ax.lines
    np.testing.assert_array_equal(estimate.get_xdata(), np.sort(LENGTHS))
    np.testing.assert_allclose(estimate.get_ydata(), each.mean(axis=0), rtol=1e-6)
    x, low, high = band(ax)
    error = STUDENT[4] * each.std(axis=0, ddof=1) / 5**0.5
    np.testing.assert_allclose(x, np.sort(LENGTHS))
    np.testing.assert_allclose(low, each.mean(axis=0) - error, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(high, each.mean(axis=0) + error, rtol=1e-5)
    assert names(ax) == ["5 spectra", "independent levels", "β = 1", "β = 2", "β = 4"]
    for beta, line in zip((0, 1, 2, 4), references, strict=True):
        grid, values = line.get_data()
        assert (grid[0], grid[-1]) == (0.5, 4.0)
        assert np.diff(grid).max() < 0.01
        np.testing.assert_allclose(values, law(grid, beta), rtol=1e-5)
    assert ax.get_xlabel() == "L"
    assert ax.get_ylim()[0] == 0
    assert len({line.get_linestyle() + str(line._dash_pattern) for line in references}) == 4


def test_on_a_circle_the_curve_is_that_of_so_many_levels():
    levels = np.sort(np.random.default_rng(1).uniform(0, 20, (5, 20)), axis=1)
    spectra = rmt.Spectrum(levels, domain=rmt.Circle(20), unfolded=True)
    ax = plotting.number_variance(spectra, np.linspace(0, 20, 9), betas=[0, 2])
    estimate, independent, unitary = ax.lines
    assert estimate.get_ydata()[-1] == pytest.approx(0, abs=1e-6)  # the whole circle holds all of the levels
    length, values = independent.get_data()
    np.testing.assert_allclose(values, length * (1 - length / 20), rtol=0, atol=1e-5)
    np.testing.assert_allclose(unitary.get_ydata(), rmt.laws.circular_number_variance(length, 20, 2), rtol=0, atol=1e-5)
    length, values = plotting.rigidity(spectra, np.linspace(1, 20, 9), betas=[2]).lines[1].get_data()
    np.testing.assert_allclose(values, rmt.laws.circular_rigidity(length, 20, 2), rtol=1e-5)
    assert abs(values - rmt.laws.rigidity(length, 2)).max() > 2e-3


def test_interval_and_mask_are_those_of_the_statistic():
    spectra = rmt.Spectrum(SPECTRA, np.arange(20) != 7, unfolded=True).bulk(2.0, 15.0)
    ax = plotting.number_variance(spectra, LENGTHS, betas=[])
    each = statistics.number_variance(spectra, np.sort(LENGTHS))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.mean(each, axis=0), rtol=1e-6)
    assert names(ax) == ["5 spectra"]


def test_one_spectrum_has_no_band():
    for levels in (SPECTRA[0], SPECTRA[:1]):
        ax = plotting.number_variance(levels, LENGTHS)
        assert not ax.collections
        each = statistics.number_variance(SPECTRA[0], np.sort(LENGTHS))
        np.testing.assert_allclose(ax.lines[0].get_ydata(), each, rtol=1e-6)
        assert names(ax)[0] == "1 spectrum"


def test_all_axes_of_a_batch_are_spectra():
    ax = plotting.rigidity(SPECTRA[:4].reshape(2, 2, 20), LENGTHS)
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), plotting.rigidity(SPECTRA[:4], LENGTHS).lines[0].get_ydata(), rtol=1e-6
    )
    assert names(ax)[0] == "4 spectra"


def test_where_a_spectrum_is_too_short_the_line_has_a_gap():
    padded = rmt.Spectrum.of([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0]], unfolded=True)
    ax = plotting.number_variance(padded, [0.5, 2.0])
    np.testing.assert_array_equal(np.isnan(ax.lines[0].get_ydata()), [False, True])
    assert np.isfinite(ax.get_ylim()).all()


def test_further_spectra_share_the_curves_and_have_another_colour():
    ax = plotting.number_variance(SPECTRA, LENGTHS, label="some", betas=[1])
    assert plotting.number_variance(2 * SPECTRA, LENGTHS, label="others", betas=[1, 2], ax=ax) is ax
    assert names(ax) == ["some", "β = 1", "others", "β = 2"]
    first, _, second, _ = ax.lines
    assert not same_color(first.get_color(), second.get_color())
    assert same_color(ax.collections[1].get_facecolor()[0, :3], second.get_color())
    highest = max(line.get_ydata().max() for line in (first, second))
    assert ax.get_ylim()[1] > highest
    assert len(plt.get_fignums()) == 1


def test_view_ends_near_the_levels_and_not_at_the_highest_curve():
    rigid = np.arange(60.0)
    ax = plotting.number_variance(rigid, np.linspace(0.1, 30, 50))
    assert ax.lines[1].get_ydata().max() == pytest.approx(30)
    assert 0.25 < ax.get_ylim()[1] < 0.5
    independent = np.cumsum(np.random.default_rng(2).exponential(size=(5, 60)), axis=1)
    ax = plotting.number_variance(independent, np.linspace(0.1, 30, 50))
    assert ax.get_ylim()[1] > max(band(ax)[2].max(), 30)


def test_skewness_is_that_of_all_spectra_by_the_jackknife_with_exact_curves():
    ax = plotting.number_skewness(SPECTRA, LENGTHS, betas=[0, 1, 2, 4])
    second = np.asarray(statistics.number_variance(SPECTRA, np.sort(LENGTHS)), np.float64)
    third = np.asarray(statistics.number_skewness(SPECTRA, np.sort(LENGTHS)), np.float64)
    value, error = jackknife(lambda third, second: third.mean(axis=0) / second.mean(axis=0) ** 1.5, third, second)
    estimate, *references = ax.lines
    np.testing.assert_allclose(estimate.get_ydata(), value, rtol=1e-3, atol=1e-4)
    x, low, high = band(ax)
    np.testing.assert_allclose(x, np.sort(LENGTHS))
    np.testing.assert_allclose(high - low, 2 * STUDENT[4] * error, rtol=1e-3)
    for beta, line in zip((0, 1, 2, 4), references, strict=True):
        grid, values = line.get_data()
        assert (grid[0], grid[-1], grid.size) == (0.5, 4.0, 101)
        for place in (0, 30, 100):
            probabilities = counts_of_many(grid[place], beta)
            deviation = np.arange(probabilities.size) - grid[place]
            second, third = (np.sum(probabilities * deviation**k) for k in (2, 3))
            assert values[place] == pytest.approx(third / second**1.5, abs=2e-5), beta
    bottom, top = ax.get_ylim()
    assert bottom < min(low.min(), references[3].get_ydata().min()) < 0
    assert top > high.max()


def test_a_line_for_each_number_of_levels():
    ax = plotting.number_probabilities(SPECTRA, LENGTHS, max_count=2, betas=[0, 1, 2, 4])
    each = np.asarray(statistics.number_probabilities(SPECTRA, np.sort(LENGTHS), max_count=2), np.float64)
    estimates, references = ax.lines[:3], np.reshape(ax.lines[3:], (4, 3))
    assert names(ax) == ["5 spectra", "independent levels", "β = 1", "β = 2", "β = 4"]
    assert len({line.get_color() for line in estimates}) == 1
    for k, line in enumerate(estimates):
        np.testing.assert_allclose(line.get_ydata(), each[..., k].mean(axis=0), rtol=0, atol=1e-6)
        vertices = ax.collections[k].get_paths()[0].vertices
        at_first = vertices[np.isclose(vertices[:, 0], 0.5), 1]
        error = STUDENT[4] * each[:, 0, k].std(ddof=1) / 5**0.5
        np.testing.assert_allclose(np.ptp(at_first), 2 * error, rtol=1e-4, atol=1e-6)
        for beta, curves in zip((0, 1, 2, 4), references, strict=True):
            grid, values = curves[k].get_data()
            for place in (0, 30, 100):
                assert values[place] == pytest.approx(counts_of_many(grid[place], beta)[k], abs=2e-6)
    place = each.mean(axis=0).argmax(axis=0)
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [
        (str(k), np.sort(LENGTHS)[place[k]]) for k in range(3)
    ]
    assert plotting.number_probabilities(SPECTRA, LENGTHS, max_count=2, betas=[1], label="again", ax=ax) is ax
    assert names(ax)[-1] == "again"
    assert (len(ax.lines), len(ax.texts)) == (18, 3)
    assert not same_color(ax.lines[-1].get_color(), estimates[0].get_color())
