"""Densities and spectral ergodicity against NumPy's histogram, independent levels, and random matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import level_density, over_samples, spectral_ergodicity, spectral_ergodicity_distance
from tests.statistical import assert_mean

EDGES = np.array([-1.0, 0.0, 0.5, 2.0])
# Levels on each of the edges, at both ends of a bin twice, and outside on both sides.
LEVELS = np.array([[-3.0, -1.0, -1.0, 0.0, 0.5, 0.5, 1.0, 2.0, 2.5], [-0.5, -0.5, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 9.0]])
MASKS = [None, np.arange(9) < 5, np.arange(9) % 4 != 1, np.zeros(9, bool)]


def literal(levels, mask, edges):
    """The counts of one spectrum, and its number of levels, without those that do not count."""
    levels = np.asarray(levels)[np.broadcast_to(True if mask is None else mask, len(levels))]
    return np.histogram(levels, edges)[0], len(levels)


@pytest.mark.float32
@pytest.mark.parametrize("mask", MASKS, ids=["all", "first", "some", "none"])
def test_density_by_the_definition(mask):
    found = level_density(rmt.Spectrum(LEVELS, mask), EDGES)
    for density, levels in zip(found, LEVELS, strict=True):
        counts, number = literal(levels, mask, EDGES)
        expected = counts / (number * np.diff(EDGES)) if number else np.full(3, np.nan)
        np.testing.assert_allclose(density, expected, rtol=4 * jnp.finfo(found.dtype).eps)


def test_padded_spectra_and_no_levels():
    padded = rmt.Spectrum.of([[0.1, 0.2], [0.1, 0.6, 0.7]])
    np.testing.assert_allclose(level_density(padded, [0.0, 0.5, 1.0]), [[2, 0], [2 / 3, 4 / 3]])
    spaced = rmt.statistics.spacings(jnp.array([0.0, 0.1, 0.3]))
    np.testing.assert_allclose(level_density(spaced, [0.0, 0.15, 1.0]), [1 / 0.3, 1 / 1.7])
    assert np.isnan(level_density(jnp.zeros((2, 0)), EDGES)).all()


@pytest.mark.float32
def test_counts_are_exact_in_single_precision():
    halves = [(700_001, 299_999), (700_000, 300_000), (700_005, 299_995)]
    levels = np.float32([np.repeat([0, 1], half) for half in halves])
    edges = np.float32([-0.5, 0.5, 1.5])
    found = np.float64(level_density(levels, edges)) * 1e6
    np.testing.assert_allclose(found, halves, rtol=0, atol=0.1)
    # The variance of the counts is exact, although a share has only some 7 digits in single precision.
    np.testing.assert_allclose(spectral_ergodicity(levels, edges), np.var([1, 0, 5]) / 1e6, rtol=1e-5)


def test_density_of_the_gue_with_errors_over_matrices(getkey):
    n, edges = 10, np.linspace(-2.5, 2.5, 6)
    levels = rmt.simulate(rmt.GUE(n).eigenvalues, getkey(), 2000)
    found = over_samples(lambda x: level_density(x, edges), levels)
    exact = np.diff(rmt.laws.LevelDensity(rmt.GUE(n)).cdf(edges)) / np.diff(edges)
    assert abs(found.z_score(exact)).max() < 4.9
    # The levels repel each other: independent levels would have twice the error.
    independent = np.sqrt(exact[2] * (1 - exact[2]) / (2000 * n))
    assert found.standard_error[2] < independent / 2


@pytest.mark.float32
@pytest.mark.parametrize("mask", MASKS[:3], ids=["all", "first", "some"])
def test_ergodicity_by_the_definition(mask):
    found = spectral_ergodicity(rmt.Spectrum(np.stack([LEVELS, LEVELS[::-1]]), mask), EDGES)
    counts = np.stack([literal(levels, mask, EDGES)[0] for levels in LEVELS])
    number = literal(LEVELS[0], mask, EDGES)[1]
    # As in the paper, the variance of the counts over the matrices, divided by the order.
    expected = counts.var(axis=0) / number
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-5 if found.dtype == np.float32 else 1e-14)


def mixed_orders(key, ensembles, n=40):
    """Independent uniform levels of 3, 10 and 40 per matrix, four matrices of each."""
    values = jnp.sort(jax.random.uniform(key, (ensembles, 12, n)), axis=-1)
    order = jnp.broadcast_to(jnp.repeat(jnp.array([3, 10, n]), 4), (ensembles, 12))
    every = jax.random.uniform(jax.random.fold_in(key, 1), values.shape)
    inside = jnp.argsort(every, axis=-1).argsort(axis=-1) < order[..., None]  # random levels, not the lowest
    return rmt.Spectrum(values, inside)


def test_independent_levels(getkey):
    edges, p = np.array([0.0, 0.2, 0.7]), np.array([0.2, 0.5])
    same = jnp.sort(jax.random.uniform(getkey(), (3000, 4, 20)), axis=-1)
    for levels, matrices in ((same, 4), (mixed_orders(getkey(), 2000), 12)):
        found = spectral_ergodicity(levels, edges)
        for k in range(2):
            assert_mean(found[:, k], (1 - 1 / matrices) * p[k] * (1 - p[k]))


def test_circular_ensembles_exactly(getkey):
    n, matrices = 12, 5
    phases = rmt.simulate(rmt.CUE(n).eigenphases, getkey(), 500 * matrices).reshape(500, matrices, n)
    edges = np.array([-3.0, -2.5, 1.0])
    found = spectral_ergodicity(phases, edges)
    exact = rmt.laws.circular_number_variance(n * np.diff(edges) / (2 * np.pi), n, 2) / n
    for k in range(2):
        assert_mean(found[:, k], (1 - 1 / matrices) * float(exact[k]))
    # Independent levels would have almost 8 times as much in the wide bin.
    p = 3.5 / (2 * np.pi)
    assert found[:, 1].mean() < p * (1 - p) / 7


def test_periodic_spectra_of_mixed_order(getkey):
    spectra = rmt.simulate(rmt.Mixed(rmt.GOE(30), 0.8).eigenvalues, getkey(), 40)
    padded = np.asarray(spectra.periodic("ascending"))
    edges = np.linspace(-2.2, 2.2, 9)
    counts = np.stack([np.histogram(levels, edges)[0] for levels in padded])
    np.testing.assert_allclose(spectral_ergodicity(padded, edges), counts.var(axis=0) / 30, rtol=1e-12)


def test_matrices_without_levels_are_left_out():
    mask = np.array([[True] * 3, [False] * 3, [True] * 3])
    levels = np.array([[0.1, 0.2, 0.6], [5.0, 6.0, 7.0], [0.3, 0.7, 0.8]])
    edges = [0.0, 0.5, 1.0]
    found = spectral_ergodicity(rmt.Spectrum(levels, mask), edges)
    np.testing.assert_allclose(found, spectral_ergodicity(levels[::2], edges))
    assert np.isnan(spectral_ergodicity(rmt.Spectrum(levels, mask & [[True], [True], [False]]), edges)).all()


@pytest.mark.float32
def test_distance():
    one, other = np.array([[0.2, 0.1, 0.0], [0.2, 0.1, 0.3]]), np.array([0.3, 0.05, 0.0])
    kullback = lambda p, q: sum(p[k] * np.log2(p[k] / q[k]) for k in range(2))
    found = spectral_ergodicity_distance(one, other)
    np.testing.assert_allclose(found, [kullback(one[0], other) + kullback(other, one[0]), np.inf], rtol=1e-5)
    np.testing.assert_allclose(spectral_ergodicity_distance(other, one), found, rtol=1e-6)
    slope = jax.grad(lambda x: spectral_ergodicity_distance(x, other))(jnp.asarray(one[0]))
    np.testing.assert_allclose(slope[2], 0)
    assert np.isfinite(slope).all()


def test_traced_edges_that_do_not_ascend_give_nan():
    found = jax.jit(lambda edges: (level_density(LEVELS, edges), spectral_ergodicity(LEVELS, edges)))(EDGES[::-1])
    assert all(np.isnan(each).all() for each in found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: level_density(LEVELS, [1.0]), "`edges` must be at least two numbers"),
        (lambda: level_density(LEVELS, [0.0, 0.0]), "`edges` must be finite and strictly ascending"),
        (lambda: level_density(LEVELS, [0.0, np.inf]), "`edges` must be finite and strictly ascending"),
        (lambda: level_density(-LEVELS, EDGES), "`levels` must be ascending numbers"),
        (lambda: spectral_ergodicity(LEVELS[0], EDGES), "`levels` must be those of at least two matrices"),
        (lambda: spectral_ergodicity(LEVELS[:1], EDGES), "`levels` must be those of at least two matrices"),
        (lambda: spectral_ergodicity_distance([-0.1], [0.1]), "`ergodicity` must not be negative"),
        (lambda: spectral_ergodicity_distance([0.1], 0.1), "`other` must have an axis of bins"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
