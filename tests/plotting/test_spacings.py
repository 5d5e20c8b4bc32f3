"""Histograms of spacings and ratios: heights, errors, laws, the legend."""

import math

import numpy as np
import pytest
from matplotlib.colors import same_color

import rmtjax as rmt
from rmtjax import plotting
from tests.plotting.drawn import STUDENT, band, error_bars, jackknife, names, ratio

# Spectra of different size; the last two have neither spacings nor ratios.
SIZES = np.append(np.random.default_rng(1).integers(3, 16, 298), [1, 0])
SPECTRA = np.cumsum(np.random.default_rng(0).exponential(size=(300, 15)), axis=1)
PADDED = rmt.Spectrum(SPECTRA, np.arange(15) < SIZES[:, None], unfolded=True)
SPACINGS = [np.diff(row[:size]) for row, size in zip(SPECTRA, SIZES, strict=True)]
RATIOS = [np.minimum(s[1:], s[:-1]) / np.maximum(s[1:], s[:-1]) for s in SPACINGS]
EDGES = np.array([0.0, 0.3, 0.5, 0.9])


@pytest.mark.parametrize(("plot", "values"), [(plotting.spacings, SPACINGS), (plotting.gap_ratios, RATIOS)])
def test_bars_are_the_density_of_all_values_with_errors_over_spectra(plot, values):
    ax = plot(PADDED, bins=EDGES)
    counts, total = [np.histogram(each, EDGES)[0] for each in values[:-2]], [len(each) for each in values[:-2]]
    (bars,) = ax.patches
    density = sum(counts) / sum(total) / np.diff(EDGES)
    np.testing.assert_array_equal(bars.get_data().edges, EDGES)
    np.testing.assert_allclose(bars.get_data().values, density, rtol=1e-5)
    _, low, high = error_bars(ax)
    np.testing.assert_allclose((low + high) / 2, density, rtol=1e-4)
    # The error is one of first order, which for so many spectra is the same.
    _, error = jackknife(ratio, counts, total)
    np.testing.assert_allclose((high - low) / 2, STUDENT[297] * error / np.diff(EDGES), rtol=0.02)
    shown = names(ax)[0].removeprefix("298 spectra, mean ").split(" ± ")
    _, error = jackknife(ratio, [each.sum() for each in values[:-2]], total)
    np.testing.assert_allclose(
        np.array(shown, float), [np.concatenate(values).mean(), error], rtol=0, atol=0.06 * error
    )
    assert ax.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("plot", "laws"),
    [
        (plotting.spacings, [rmt.laws.PoissonSpacing(), *map(rmt.laws.Spacing, (1, 2, 4))]),
        (plotting.gap_ratios, [rmt.laws.PoissonGapRatio(), *map(rmt.laws.GapRatio, (1, 2, 4))]),
    ],
)
def test_laws_are_exact_and_over_all_bins(plot, laws):
    ax = plot(SPECTRA, betas=[0, 1, 2, 4], label="levels", bins=20)
    assert names(ax) == ["levels", "independent levels", "β = 1", "β = 2", "β = 4"]
    edges = ax.patches[0].get_data().edges
    assert edges.size == 21
    for line, law in zip(ax.lines[-4:], laws, strict=True):
        grid, density = line.get_data()
        np.testing.assert_allclose(grid[[0, -1]], edges[[0, -1]])
        np.testing.assert_allclose(density, law.pdf(grid), rtol=1e-5)
        assert np.trapezoid(density, grid) == pytest.approx(float(law.cdf(grid[-1])), abs=1e-3)


@pytest.mark.float32
def test_the_mean_spacing_on_a_circle_is_1_without_an_error():
    # The means of the spectra differ by rounding alone.
    phases = np.sort(np.random.default_rng(2).uniform(-np.pi, np.pi, (20, 30)).astype(np.float32))
    ax = plotting.spacings(rmt.statistics.unfold_phases(phases))
    assert names(ax)[0] == "20 spectra, mean 1"


def test_one_spectrum_has_no_bars_of_error():
    ax = plotting.spacings(SPECTRA[0], bins=[0.0, 1.0, 9.0])
    spacings = np.diff(SPECTRA[0])
    np.testing.assert_allclose(ax.patches[0].get_data().values[0], np.mean(spacings <= 1), rtol=1e-6)
    assert not ax.containers
    assert names(ax)[0] == f"1 spectrum, mean {spacings.mean():.3g}"


def test_values_on_edges_and_outside_of_them():
    """As with numpy a bin holds its lower edge, the last one both; values outside count in the total."""
    levels = np.cumsum([0.0, 0.5, 1.0, 1.0, 2.0, 2.5, 0.25])
    ax = plotting.spacings(levels, bins=[0.5, 1.0, 2.0], betas=[])
    np.testing.assert_allclose(ax.patches[0].get_data().values, [1 / 6 / 0.5, 3 / 6])


def test_mask_leaves_out_what_a_level_belongs_to():
    ax = plotting.spacings(rmt.Spectrum(SPECTRA, np.arange(15) != 4, unfolded=True), bins=EDGES)
    kept = np.delete(np.diff(SPECTRA, axis=1), [3, 4], axis=1)
    height = np.histogram(kept, EDGES)[0] / kept.size / np.diff(EDGES)
    np.testing.assert_allclose(ax.patches[0].get_data().values, height, rtol=1e-5)


def test_further_spectra_share_the_laws_and_have_another_colour():
    ax = plotting.gap_ratios(SPECTRA, label="some", betas=0)
    assert plotting.gap_ratios(SPECTRA**2, label="others", betas=[0, 1], ax=ax) is ax
    assert names(ax) == ["some", "independent levels", "others", "β = 1"]
    first, second = ax.patches
    assert not same_color(first.get_facecolor(), second.get_facecolor())
    assert ax.get_ylim()[1] > max(patch.get_data().values.max() for patch in ax.patches)


def test_spacings_of_higher_order_have_their_laws():
    ax = plotting.spacings(PADDED, order=2, betas=[0, 1])
    values = np.concatenate([each[1:] + each[:-1] for each in SPACINGS])
    edges = np.linspace(0, 5, 41)
    np.testing.assert_allclose(
        ax.patches[0].get_data().values, np.histogram(values, edges)[0] / values.size * 8, rtol=1e-5
    )
    s, density = ax.lines[0].get_data()
    np.testing.assert_allclose(density, s * np.exp(-s), rtol=0, atol=1e-6)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), rmt.laws.Spacing(1, 2).pdf(s), rtol=1e-5, atol=1e-7)


def test_exponent_of_repulsion_with_the_curves_of_its_bias():
    cutoffs = np.array([1.5, 0.3, 0.8])
    ax = plotting.level_repulsion(PADDED, cutoffs, betas=[0, 1, 2])
    _, low, high = band(ax)
    for at, cutoff in enumerate(np.sort(cutoffs)):
        small = [each[each < cutoff] for each in SPACINGS]
        sums = np.array([(each.size, np.log(cutoff / each).sum()) for each in small]).T
        value, error = jackknife(lambda count, logarithms: ratio(count, logarithms) - 1, *sums)
        assert ax.lines[0].get_ydata()[at] == pytest.approx(value, abs=1e-3)
        assert (high - low)[at] == pytest.approx(2 * STUDENT[297] * error, rel=5e-3)
    # Each curve is β less the bias to first order that the statistic states, at small cutoffs.
    for line, (beta, power, coefficient) in zip(
        ax.lines[1:], [(0, 1, -1), (1, 2, -(np.pi**2) / 10), (2, 2, -2 * np.pi**2 / 15)], strict=True
    ):
        s, values = line.get_data()
        bias = coefficient * power * 0.3**power * (beta + 1) ** 2 / (beta + 1 + power) ** 2
        assert s[0] == pytest.approx(0.3)
        assert values[0] == pytest.approx(beta + bias, abs=0.05 * 0.3)
    # For independent levels the integral is a known function: 1 - e^-s over the sum of (-1)^k s^k/(k k!).
    s, values = ax.lines[1].get_data()
    terms = [-((-s) ** k) / (k * math.factorial(k)) for k in range(1, 30)]
    np.testing.assert_allclose(values, -np.expm1(-s) / sum(terms) - 1, rtol=0, atol=1e-5)
    assert ax.get_ylim()[0] < values.min() < 0


def test_the_exponent_from_a_single_spectrum_is_a_gap():
    levels = np.tile(np.arange(8.0), (93, 1))  # The mean of 93 numbers, one of them 1, is rounded.
    levels[0, 4:] -= 0.9
    ax = plotting.level_repulsion(levels, [0.2, 0.5, 1.5])
    np.testing.assert_array_equal(np.isnan(ax.lines[0].get_ydata()), [True, True, False])
