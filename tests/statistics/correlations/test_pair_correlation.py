"""Pair correlations against counts of all pairs, independent levels, and the exact functions of random matrices."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import rmtjax as rmt
from rmtjax.statistics import over_samples, pair_correlation, unfold, unfold_phases

# Levels on a grid of 1/8, so that distances meet the edges.
LEVELS = np.array([0, 3, 3, 8, 11, 12, 12, 12, 20, 31, 33, 40]) / 8
EDGES = np.array([0, 3, 8, 9, 16]) / 8


def counted(levels, edges, around=None):
    distances = [y - x for i, x in enumerate(levels) for y in levels[i + 1 :]]
    if around:
        distances += [around - d for d in distances]
    return np.array([sum(low <= d < high for d in distances) for low, high in pairwise(edges)])


def on_circle(levels, period):
    return rmt.Spectrum(levels, domain=rmt.Circle(period), unfolded=True)


@pytest.mark.float32
def test_counts():
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    width, middle = np.diff(EDGES), (EDGES[1:] + EDGES[:-1]) / 2
    found = pair_correlation(jnp.asarray(LEVELS), EDGES)
    np.testing.assert_allclose(found, counted(LEVELS, EDGES) / (width * (5 - middle)), rtol=10 * eps)
    part = LEVELS[(LEVELS >= 0.375) & (LEVELS <= 4)]
    found = pair_correlation(rmt.Spectrum(LEVELS, unfolded=True).bulk(0.375, 4.0), EDGES)
    np.testing.assert_allclose(found, counted(part, EDGES) / (width * (3.625 - middle)), rtol=10 * eps)
    found = pair_correlation(on_circle(LEVELS, 6), EDGES)
    np.testing.assert_allclose(found, counted(LEVELS, EDGES, 6) / (6 * width), rtol=10 * eps)


def test_a_bin_beyond_a_spectrum_of_a_batch_is_nan():
    padded = rmt.Spectrum.of([[0.0, 1.0, 2.5, 3.5], [0.0, 1.0]], unfolded=True)
    found = pair_correlation(padded, jnp.array([0.0, 0.75, 3.0]))
    np.testing.assert_allclose(found, [[0, 5 / (2.25 * 1.625)], [0, np.nan]])


def bin_means(density, edges, weight=lambda r: 1.0):
    """The means of a density in the bins, with a weight."""
    mean = lambda a, b: scipy.integrate.quad(lambda r: weight(r) * density(r), a, b)[0]
    total = [scipy.integrate.quad(weight, a, b)[0] for a, b in pairwise(edges)]
    return np.array([mean(a, b) for a, b in pairwise(edges)]) / total


def test_independent_levels():
    edges = np.array([0, 0.3, 1, 4, 9])
    number = jax.random.poisson(jax.random.key(0), 20.0, (3000,))
    levels = jax.random.uniform(jax.random.key(1), (3000, 60), maxval=20.0)
    mask = jnp.arange(60)[None] < number[:, None]
    levels = jnp.sort(jnp.where(mask, levels, jnp.inf), axis=-1)
    samples = rmt.Spectrum(levels, mask, rmt.Interval(0.0, 20.0), unfolded=True)
    found = over_samples(lambda x: pair_correlation(x, edges), samples)
    assert abs(found.z_score(1)).max() < 5
    # From the first level to the last the ends are levels themselves.
    samples = rmt.Spectrum(levels, mask, unfolded=True)
    found = over_samples(lambda x: pair_correlation(x, edges[:2]), samples)
    assert 1.5 / 20 < found.value[0] - 1 < 3 / 20


def test_a_bin_may_end_with_the_interval():
    # A bin holds its lower edge and not its upper one: two pairs of 0, 1, 3 are from 1 to 3 apart.
    np.testing.assert_allclose(pair_correlation(jnp.array([0.0, 1, 3]), [1.0, 3.0]), [2 / 2.0])
    observed = rmt.Spectrum([0.0, 1, 3], domain=rmt.Interval(-0.5, 3.5), unfolded=True)
    np.testing.assert_allclose(pair_correlation(observed, [1.0, 4.0]), [3 / 4.5])
    np.testing.assert_allclose(pair_correlation(on_circle([0.0, 1, 3], 4.0), [2.0, 4.0]), [4 / 8])


def test_circle():
    n, edges = 20, np.linspace(0, 4, 9)
    phases = rmt.simulate(rmt.CUE(n).eigenphases, jax.random.key(2), 1000)
    found = over_samples(lambda x: pair_correlation(x, edges), unfold_phases(phases))
    cluster = lambda r: (np.sin(np.pi * r) / (n * np.sin(np.pi * r / n))) ** 2 if r else 1.0
    assert abs(found.z_score(bin_means(lambda r: 1 - cluster(r), edges))).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.GOE, 1), (rmt.GUE, 2), (rmt.GSE, 4)])
def test_bulk(ensemble, beta):
    n, edges = 400, np.linspace(0, 5, 26)
    levels = rmt.simulate(ensemble(n).eigenvalues, jax.random.key(beta), 300)
    bulk = unfold(levels, ensemble(n).law()).bulk(120.0, 280.0)
    found = over_samples(lambda x: pair_correlation(x, edges), bulk)
    exact = bin_means(lambda r: float(rmt.laws.pair_correlation(r, beta)), edges, lambda r: 160 - r)
    assert abs(found.z_score(exact)).max() < 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_correlation([2.0, 1.0], [0.0, 1.0]), "`levels` must be ascending numbers"),
        (lambda: pair_correlation(jnp.arange(9.0), [1.0]), "`edges` must be at least two numbers"),
        (lambda: pair_correlation(jnp.arange(9.0), [-1.0, 1.0]), "`edges` must not be negative"),
        (lambda: pair_correlation(jnp.arange(9.0), [1.0, 1.0]), "`edges` must be finite and strictly ascending"),
        (lambda: pair_correlation(jnp.arange(9.0), [0.0, 9.0]), "`edges` must be no longer than a spectrum"),
        (
            lambda: pair_correlation(on_circle(np.arange(9.0), 9), [0.0, 9.5]),
            "`edges` must be no longer than the period",
        ),
        (
            lambda: pair_correlation(rmt.Spectrum(np.arange(9.0), unfolded=True).bulk(1, 6), [0.0, 5.5]),
            "`edges` must be no longer than the interval",
        ),
        (lambda: pair_correlation(rmt.Spectrum(np.arange(9.0)), [0.0, 1.0]), "`levels` must be unfolded"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
