"""The plot of an unfolding: deviations of single spectra, their mean in bins, the view."""

import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import STUDENT, band, jackknife, names, ratio

LEVELS = np.sort(np.random.default_rng(0).uniform(size=(40, 30)), axis=1)
MASK = np.random.default_rng(1).uniform(size=(40, 30)) < 0.8
SPECTRA = rmt.Spectrum(LEVELS, MASK)
UNIFORM = rmt.laws.Uniform()


def test_mean_in_bins_with_band_and_single_spectra():
    ax = plotting.unfolding(statistics.unfold(SPECTRA, UNIFORM), bins=5)
    y = [row[kept] * kept.sum() for row, kept in zip(LEVELS, MASK, strict=True)]
    deviations = [each - np.arange(each.size) - 0.5 for each in y]
    edges = np.linspace(min(each[0] for each in y), max(each[-1] for each in y), 6)
    numbers = np.array([np.histogram(each, edges)[0] for each in y])
    sums = np.array([np.histogram(each, edges, weights=d)[0] for each, d in zip(y, deviations, strict=True)])
    value, error = jackknife(ratio, sums, numbers)
    mean, *single, zero = ax.lines
    np.testing.assert_allclose(mean.get_xdata(), (edges[1:] + edges[:-1]) / 2, rtol=1e-5)
    np.testing.assert_allclose(mean.get_ydata(), value, rtol=0, atol=1e-3)
    _, low, high = band(ax)
    np.testing.assert_allclose(high - low, 2 * STUDENT[39] * error, rtol=5e-3)
    assert len(single) == 20
    for line, each, deviation in zip(single, y, deviations, strict=False):
        x, values = line.get_data()
        np.testing.assert_allclose(x[np.isfinite(x)], each, rtol=1e-5)
        np.testing.assert_allclose(values[np.isfinite(values)], deviation, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(zero.get_ydata(), [0, 0])
    extent = max(abs(each).max() for each in deviations[:20])
    assert ax.get_ylim()[0] < -extent
    assert ax.get_ylim()[1] > extent


def test_a_wrong_density_is_a_trend():
    unfolded = statistics.unfold(LEVELS, lambda x: 33 * x)
    ax = plotting.unfolding(unfolded, bins=3)
    x, low, high = band(ax)
    # 33 x - 30 x, in units of the unfolded axis.
    assert (low < x / 11 + 0.5).all()
    assert (high > x / 11 - 0.5).all()
    assert low[-1] > 0.5
    value, error = map(float, names(ax)[0].removeprefix("40 spectra, trend ").split(" ± "))
    trend = np.asarray(unfolded.report.trend)
    assert value == pytest.approx(trend.mean(), abs=0.06 * error)
    assert error == pytest.approx(trend.std(ddof=1) / 40**0.5, rel=0.05)


def test_phases_are_held_against_a_ladder_that_begins_where_they_do():
    phases = 2 * np.pi * LEVELS - np.pi
    ax = plotting.unfolding(statistics.unfold_phases(phases), bins=4)
    y = 30 * (LEVELS - 0.5)
    expected = y - np.arange(30)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), expected[0] - expected[0].mean(), rtol=0, atol=1e-4)


def test_one_spectrum_has_no_band_and_further_ones_another_colour():
    ax = plotting.unfolding(statistics.unfold(LEVELS[0], UNIFORM))
    assert not ax.collections
    assert names(ax)[0].startswith("1 spectrum, trend ")
    plotting.unfolding(statistics.unfold(LEVELS[1], UNIFORM), label="another", ax=ax)
    assert names(ax)[1] == "another"
    assert ax.lines[0].get_color() == ax.lines[1].get_color() != ax.lines[3].get_color() == ax.lines[4].get_color()


@pytest.mark.parametrize("number", [5, 7, 49, 93])  # The mean of as many numbers, one of them 1, is rounded.
def test_a_bin_with_levels_of_a_single_spectrum_is_a_gap(number):
    levels = np.resize(LEVELS, (number, 30))
    levels[0, -1] = 1.9
    ax = plotting.unfolding(statistics.unfold(levels, lambda x: 30 * x), bins=19)
    gaps = np.isnan(ax.lines[0].get_ydata())
    assert gaps[-1]
    assert not gaps[:9].any()
