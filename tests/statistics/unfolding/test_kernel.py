"""Unfolding by a kernel: the definition by SciPy, its ends, and the effect of the width on long-range statistics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.statistics import number_variance, over_samples, unfold_kernel


def by_hand(pool, x, h):
    """The staircase of the docstring at each x, from all levels of a pool."""
    a, b, cdf = pool.min(), pool.max(), scipy.stats.norm.cdf
    left = lambda y: np.sum(cdf((y + pool[pool > a] - 2 * a) / h) - 1)
    right = lambda y: np.sum(cdf((y + pool[pool < b] - 2 * b) / h))
    return np.array([np.sum(cdf((y - pool) / h)) + left(y) + right(y) for y in x])


@pytest.mark.float32
def test_definition(getkey):
    levels = np.sort(np.asarray(jax.random.normal(getkey(), (3, 40))), axis=-1)
    found = unfold_kernel(levels, 0.2, pooled=False)
    each = [by_hand(row.astype(float), row, 0.2) for row in levels]
    np.testing.assert_allclose(found.values, each, rtol=0, atol=400 * np.finfo(levels.dtype).eps)
    assert found.report.monotone.all()
    mask = np.arange(40) < np.array([[40], [30], [0]])
    masked = unfold_kernel(rmt.Spectrum(levels, mask), 0.2, pooled=False)
    expected = by_hand(levels[1, :30].astype(float), levels[1, :30], 0.2)
    np.testing.assert_allclose(masked.values[1, :30], expected, rtol=0, atol=400 * np.finfo(levels.dtype).eps)
    assert np.isnan(masked.report.mean_spacing[2])


def test_pool(getkey):
    levels = np.asarray(rmt.simulate(rmt.GOE(50).eigenvalues, getkey(), 40))
    h = 2 * np.pi / 50  # two spacings in the middle
    found = unfold_kernel(levels, h)
    expected = by_hand(levels.ravel(), levels.ravel(), h).reshape(levels.shape) / 40
    errors = np.abs(found.values - expected)
    assert errors.max() < 0.01
    assert errors[np.abs(levels) < 1.5].max() < 2e-5
    # A pool of one spectrum gives the same as none. The order of spectra in a pool does not matter.
    one = unfold_kernel(levels[:1], h).values
    np.testing.assert_allclose(one, unfold_kernel(levels[:1], h, pooled=False).values, rtol=1e-13)
    np.testing.assert_allclose(unfold_kernel(levels[::-1], h).values[::-1], found.values, rtol=1e-12)


def test_equal_distances_remain_equal():
    found = unfold_kernel(3 + 0.1 * jnp.arange(30.0), 0.45)
    np.testing.assert_allclose(found.values, np.arange(30) + 0.5, rtol=0, atol=1e-5)
    kept = unfold_kernel(jnp.arange(30.0), 4.0, drop=0.1)
    np.testing.assert_array_equal(kept.mask.nonzero()[0], np.arange(3, 27))


def test_few_levels():
    assert unfold_kernel(jnp.zeros((2, 0)), 1.0).values.shape == (2, 0)
    np.testing.assert_allclose(unfold_kernel(jnp.array([7.0]), 1.0).values, [0.5])
    np.testing.assert_allclose(unfold_kernel(jnp.array([0.0, 0.0, 9.0, 9.0]), 1.0).values, [1, 1, 3, 3])


@pytest.mark.slow
def test_what_the_width_takes_away(getkey):
    # After a fit to each spectrum Σ² of independent levels is 0.467 w at large L, to first order in the fluctuations.
    levels, w = jnp.cumsum(jax.random.exponential(getkey(), (200, 400)), axis=-1), 10.0
    variance = lambda x: number_variance(x, jnp.array([1.0, 60.0]))
    each = over_samples(variance, unfold_kernel(levels, w, pooled=False))
    assert each.standard_error[1] < 0.05 * 0.467 * w
    assert abs(each.value[1] - 2 * (2**0.5 - 1) * w / np.pi**0.5) < 0.1 * 0.467 * w
    # The pooled staircase leaves the fluctuations as they are.
    pooled = over_samples(variance, unfold_kernel(levels, w))
    assert abs(pooled.value[1] - 60) < 5 * pooled.standard_error[1]


@pytest.mark.slow
def test_matrices(getkey):
    levels = rmt.simulate(rmt.GUE(100).eigenvalues, getkey(), 200)
    unfolded = unfold_kernel(levels, 0.1, drop=0.2)
    lengths = jnp.array([1.0, 10.0])
    found = over_samples(lambda x: number_variance(x, lengths), unfolded)
    assert abs(found.z_score(rmt.laws.number_variance(lengths, 2))).max() < 5
    assert (found.standard_error < 0.02).all()


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.inf])
def test_refusals(bandwidth):
    with pytest.raises(ValueError, match="`bandwidth` must be positive and finite"):
        unfold_kernel(jnp.arange(3.0), bandwidth)
    with pytest.raises(ValueError, match=r"`drop` must lie in \[0, 1/2\)"):
        unfold_kernel(jnp.arange(3.0), 1.0, drop=0.5)
