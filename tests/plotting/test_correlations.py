"""Plots of pair correlation, form factor and power spectrum: means, bands, curves, axes."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import STUDENT, band, jackknife, names
from tests.plotting.given import SPECTRA

EDGES = np.linspace(0.0, 3.0, 7)
TIMES = np.array([0.1, 0.7, 0.4, 1.3])
FREQUENCIES = 2 * np.pi * np.array([2.0, 5.0, 10.0, 48.0]) / 100


@pytest.mark.parametrize(
    ("plot", "points", "x", "statistic", "law"),
    [
        (
            plotting.pair_correlation,
            EDGES,
            (EDGES[1:] + EDGES[:-1]) / 2,
            lambda x: statistics.pair_correlation(x, EDGES),
            rmt.laws.pair_correlation,
        ),
        (
            plotting.form_factor,
            TIMES,
            np.sort(TIMES),
            lambda x: statistics.form_factor(x, np.sort(TIMES)).raw,
            rmt.laws.form_factor,
        ),
        (
            plotting.power_spectrum,
            FREQUENCIES,
            FREQUENCIES,
            lambda x: statistics.power_spectrum(x, FREQUENCIES),
            lambda omega, beta: rmt.laws.circular_power_spectrum(np.round(omega * 50 / np.pi), 100, beta),
        ),
    ],
    ids=["pair correlation", "form factor", "power spectrum"],
)
def test_mean_with_band_over_spectra_and_exact_curves(plot, points, x, statistic, law):
    options = {"connected": False} if plot is plotting.form_factor else {}
    ax = plot(SPECTRA, points, betas=[1, 2], **options)
    each = np.asarray(statistic(SPECTRA), np.float64)
    estimate, *references = ax.lines
    np.testing.assert_allclose(estimate.get_xdata(), x, rtol=1e-6)
    np.testing.assert_allclose(estimate.get_ydata(), each.mean(axis=0), rtol=2e-5)
    found, low, high = band(ax)
    error = STUDENT[4] * each.std(axis=0, ddof=1) / 5**0.5
    np.testing.assert_allclose(found, x, rtol=1e-6)
    np.testing.assert_allclose(low, each.mean(axis=0) - error, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(high, each.mean(axis=0) + error, rtol=1e-4)
    assert names(ax) == ["5 spectra", "β = 1", "β = 2"]
    for beta, line in zip((1, 2), references, strict=True):
        grid, values = line.get_data()
        np.testing.assert_allclose(grid[[0, -1]], x[[0, -1]], rtol=1e-6)
        np.testing.assert_allclose(values, law(grid, beta), rtol=1e-5)
    assert len(plot(SPECTRA[:1], points, **options).collections) == 0


def test_connected_form_factor_by_the_jackknife():
    ax = plotting.form_factor(SPECTRA, TIMES, window=(10.0, 4.0))
    tau = np.sort(TIMES)
    weights = np.exp(-(((SPECTRA - 10) / 4) ** 2) / 2)
    sums = np.sum(weights[..., None] * np.exp(2j * np.pi * SPECTRA[..., None] * tau), axis=1)
    squared = np.sum(weights**2, axis=1)[:, None]
    power = lambda sums: (abs(sums) ** 2).mean(axis=0) - abs(sums.mean(axis=0)) ** 2
    value, error = jackknife(lambda sums, squared: power(sums) / squared.mean(axis=0), sums, squared)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), value, rtol=1e-4, atol=1e-5)
    _, low, high = band(ax)
    np.testing.assert_allclose(high - low, 2 * STUDENT[4] * error, rtol=1e-3)


@pytest.mark.parametrize("period", [None, 40, 250])
def test_power_spectrum_on_logarithmic_axes_with_curves_of_so_many_levels(period):
    levels = SPECTRA if period != 250 else np.sort(np.random.default_rng(0).uniform(0, 250, (5, 250)))
    if period is not None:
        levels = rmt.Spectrum(levels, domain=rmt.Circle(period), unfolded=True)
    ax = plotting.power_spectrum(levels, np.array([0.01, 0.5, 3.0]), betas=[0, 2])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    omega, independent = ax.lines[1].get_data()
    n = 40 if period == 40 else 100
    np.testing.assert_allclose(omega, 2 * np.pi / n * np.arange(1, 20 if n == 40 else 48))
    factor = 1 if period is None else period / (period + 1)
    np.testing.assert_allclose(independent, factor / (2 - 2 * np.cos(omega)))
    waves = np.arange(1, 1 + omega.size)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), rmt.laws.circular_power_spectrum(waves, n, 2), rtol=1e-5)
    each = statistics.power_spectrum(levels, np.array([0.01, 0.5, 3.0]))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.mean(each, axis=0), rtol=1e-5)
    low, high = ax.get_ylim()
    assert 0 < low < min(line.get_ydata().min() for line in ax.lines)
    assert high > max(line.get_ydata().max() for line in ax.lines)


def test_form_factor_on_a_circle_has_the_curve_of_so_many_levels():
    levels = np.sort(np.random.default_rng(1).uniform(0, 20, (5, 20)), axis=1)
    spectra = rmt.Spectrum(levels, domain=rmt.Circle(20), unfolded=True)
    ax = plotting.form_factor(spectra, np.arange(3, 31) / 20, betas=[0, 2, 4], connected=False)
    _, independent, unitary, symplectic = ax.lines
    times, values = independent.get_data()
    np.testing.assert_allclose(times, np.arange(3, 31) / 20)
    np.testing.assert_allclose(values, 1)
    np.testing.assert_allclose(unitary.get_ydata(), np.minimum(times, 1), rtol=1e-6)
    # Of 20 levels the symplectic curve has no pole at τ = 1.
    np.testing.assert_allclose(
        symplectic.get_ydata(), rmt.laws.circular_form_factor(np.arange(3, 31), 20, 4), rtol=1e-6
    )
    assert symplectic.get_ydata().max() < 2.5


@pytest.mark.parametrize("own", [False, True])
def test_form_factor_on_logarithmic_axes(own):
    """Asked for, or on axes that are logarithmic: then no limit is 0, of which matplotlib warns."""
    times = np.geomspace(0.01, 2, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if own:
            _, ax = plt.subplots()
            ax.loglog()
            plotting.form_factor(SPECTRA, times, betas=[2], connected=False, ax=ax)
        else:
            ax = plotting.form_factor(SPECTRA, times, betas=[2], connected=False, log=True)
        once = ax.get_ylim()
        plotting.form_factor(SPECTRA[:, :10], times, betas=[2], connected=False, ax=ax)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    grid, values = ax.lines[1].get_data()
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(200) / 400, rtol=1e-6)
    np.testing.assert_allclose(values, np.minimum(grid, 1), rtol=1e-6)
    low, high = ax.get_ylim()
    assert 0 < low <= once[0] < values.min()
    assert high >= once[1] > 20  # the number of levels, at time 0


def test_without_a_frequency_of_the_curves_there_is_none():
    ax = plotting.power_spectrum(SPECTRA, np.array([0.01, 0.02]))
    assert [line.get_xdata().size for line in ax.lines] == [2, 0, 0, 0]


def test_interval_of_pair_correlation():
    bulk = rmt.Spectrum(SPECTRA, unfolded=True).bulk(3.0, 12.0)
    ax = plotting.pair_correlation(bulk, EDGES, betas=[])
    each = statistics.pair_correlation(bulk, EDGES)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.mean(each, axis=0), rtol=1e-5)
