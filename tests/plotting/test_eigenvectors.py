"""Plots of intensities and of participation: heights, errors over matrices, laws."""

import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting
from tests.plotting.drawn import STUDENT, band, error_bars, jackknife, names, ratio

VECTORS = np.random.default_rng(0).normal(size=(30, 8, 8))
EDGES = np.array([-2.0, -1.0, -0.5, 0.2, 0.9])


def test_bars_are_the_density_of_logarithms_with_errors_over_matrices():
    ax = plotting.intensities(VECTORS, bins=EDGES)
    decades = np.log10(8 * VECTORS**2 / np.sum(VECTORS**2, axis=1, keepdims=True)).reshape(30, 64)
    each = np.array([np.histogram(row, EDGES)[0] for row in decades]) / 64 / np.diff(EDGES)
    np.testing.assert_allclose(ax.patches[0].get_data().values, each.mean(axis=0), rtol=1e-5)
    _, low, high = error_bars(ax)
    np.testing.assert_allclose((high - low) / 2, STUDENT[29] * each.std(axis=0, ddof=1) / 30**0.5, rtol=1e-3)
    assert names(ax) == ["30 matrices", "β = 1", "β = 2"]


def test_laws_are_those_of_vectors_of_this_size():
    """Of three real components each is uniform on (-1, 1), of two complex ones each intensity is on (0, 2)."""
    real = plotting.intensities(VECTORS[:, :3], betas=1).lines[-1]
    decades, density = real.get_data()
    np.testing.assert_allclose(decades[[0, -1]], [-4, np.log10(3)])
    np.testing.assert_allclose(density[:-1], np.log(10) / 2 * np.sqrt(10 ** decades[:-1] / 3), rtol=1e-4)
    decades, density = plotting.intensities(VECTORS[:, :2], betas=[2]).lines[-1].get_data()
    np.testing.assert_allclose(density[:-1], np.log(10) / 2 * 10 ** decades[:-1], rtol=1e-4)


def test_components_that_are_0_and_a_single_matrix():
    ax = plotting.intensities(np.eye(4), bins=[-1.0, 0.0, 1.0], betas=[])
    np.testing.assert_allclose(ax.patches[0].get_data().values, [0, 0.25])
    assert not ax.containers
    assert names(ax) == ["1 matrix"]


def test_complex_vectors_follow_their_law(getkey):
    vectors = rmt.eigh(rmt.simulate(rmt.GUE(8).sample, getkey(), 400))[1]
    ax = plotting.intensities(vectors, bins=8, betas=[1, 2])
    _, low, high = error_bars(ax)
    edges, law = ax.patches[0].get_data().edges, rmt.laws.EigenvectorIntensity(8, 2)
    expected = np.diff(law.cdf(10**edges)) / np.diff(edges)
    # Five standard errors; the intervals have 1.97 of them.
    assert (abs((low + high) / 2 - expected) < 2.6 * (high - low) / 2 + 1e-3).all()
    other = np.diff(rmt.laws.EigenvectorIntensity(8, 1).cdf(10**edges)) / np.diff(edges)
    assert (abs((low + high) / 2 - other) > 2.6 * (high - low) / 2).any()


LEVELS = np.random.default_rng(1).uniform(-1, 1, (30, 8))


def test_participation_in_bins_of_levels_with_errors_over_matrices():
    ax = plotting.inverse_participation_ratio(LEVELS, VECTORS, q=3, bins=[-0.8, -0.2, 0.5])
    ratios = np.sum(VECTORS**6, axis=1) / np.sum(VECTORS**2, axis=1) ** 3
    inside = np.stack([(LEVELS > low) & (LEVELS < high) for low, high in ((-0.8, -0.2), (-0.2, 0.5))], axis=-1)
    values, error = jackknife(ratio, (ratios[..., None] * inside).sum(axis=1), inside.sum(axis=1))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [-0.5, 0.15], rtol=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), values, rtol=1e-4)
    _, low, high = band(ax)
    np.testing.assert_allclose(high - low, 2 * STUDENT[29] * error, rtol=1e-3)
    # The sixth moment on the sphere of 8 or 16 real dimensions.
    exact = [8 * 15 / (8 * 10 * 12), 8 * 2 * 4 * 6 / (16 * 18 * 20)]
    for line, mean in zip(ax.lines[1:], exact, strict=True):
        np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-5)
    assert names(ax) == ["30 matrices", "β = 1", "β = 2"]
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("linear", "log", "$I_{3}$")


@pytest.mark.parametrize("number", [5, 7, 49, 93])  # The mean of as many numbers, one of them 1, is rounded.
def test_a_bin_with_levels_of_a_single_matrix_is_a_gap(number):
    levels, vectors = np.resize(LEVELS, (number, 8)), np.resize(VECTORS, (number, *VECTORS.shape[1:]))
    levels[0, :2] = [1.5, 1.7]
    ax = plotting.inverse_participation_ratio(levels, vectors, bins=[-1, 1, 1.6, 1.8], betas=[])
    np.testing.assert_array_equal(np.isnan(ax.lines[0].get_ydata()), [False, True, True])


def test_participation_of_one_matrix_has_gaps_and_no_band():
    ax = plotting.inverse_participation_ratio([0.0, 1.0], np.eye(4)[:, :2], bins=3, betas=[])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, np.nan, 1])
    assert not ax.collections
    assert names(ax) == ["1 matrix"]
