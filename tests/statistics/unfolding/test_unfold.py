"""Unfolding: known densities, fits against numpy, what local unfolding does, and the record."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import number_variance, over_samples, unfold, unfold_local, unfold_phases, unfold_polynomial


def test_by_a_law(getkey):
    goe = rmt.GOE(100)
    levels = jax.vmap(goe.eigenvalues)(jax.random.split(getkey(), 20))
    for law in (goe.law(), rmt.laws.LevelDensity(goe)):
        unfolded = unfold(levels, law)
        mask = np.asarray(unfolded.levels.mask)
        np.testing.assert_allclose(unfolded.levels.values[mask], (100 * law.cdf(levels))[mask], rtol=1e-12)
        assert unfolded.monotone.all()
        # The exact density has no trend, and neither has the limit at this accuracy.
        assert abs(unfolded.trend.mean()) < 4 * unfolded.trend.std() / 20**0.5
    unfolded = unfold(levels, goe.law())
    np.testing.assert_allclose(unfolded.below, jnp.mean(levels <= -2, axis=-1), rtol=1e-6)
    np.testing.assert_allclose(unfolded.above, jnp.mean(levels >= 2, axis=-1), rtol=1e-6)
    # A function is taken as it is; half of the density is a trend of -1/2.
    half = unfold(levels, lambda x: 50 * goe.law().cdf(x))
    assert abs(half.trend.mean() + 0.5) < 0.01
    assert abs(half.mean_spacing.mean() - 0.5) < 0.01


def test_statistics_have_no_trend_after_exact_unfolding(getkey):
    # A density that is wrong by 5 % would show as 0.25 at a length of 10.
    gue = rmt.GUE(100)
    levels = unfold(rmt.simulate(gue.eigenvalues, getkey(), 300), rmt.laws.LevelDensity(gue)).levels
    for place in (20.0, 50.0, 80.0):
        found = over_samples(lambda x, place=place: jnp.sum(jnp.abs(x.values - place) < 5, axis=-1), levels)
        assert abs(found.value - 10) < 4 * found.standard_error


@pytest.mark.float32
@pytest.mark.parametrize("pooled", [False, True])
def test_polynomials_are_numpys(getkey, pooled):
    levels = np.sort(np.asarray(jax.random.normal(getkey(), (3, 40))), axis=-1)
    found = unfold_polynomial(levels, 5, pooled=pooled)
    flat = np.sort(levels.ravel())
    for x, values in zip(levels, np.asarray(found.levels.values), strict=True):
        at, count = (flat, (np.arange(120) + 0.5) / 3) if pooled else (x, np.arange(40) + 0.5)
        expected = np.polynomial.Chebyshev.fit(at.astype(float), count, 5)(x.astype(float))
        np.testing.assert_allclose(values, expected, atol=2e3 * np.finfo(levels.dtype).eps)


def test_masks_and_ends(getkey):
    levels = jnp.sort(jax.random.uniform(getkey(), (2, 30)), axis=-1)
    mask = jnp.arange(30) < jnp.array([[30], [20]])
    found = unfold_polynomial(jnp.where(mask, levels, jnp.inf), 3, where=mask, pooled=False, drop=0.1)
    np.testing.assert_array_equal(found.levels.mask.sum(-1), [24, 16])
    np.testing.assert_allclose(found.below, 0.1)
    np.testing.assert_allclose(found.above, 0.1)
    alone = unfold_polynomial(levels[1, :20], 3, drop=0.1)
    np.testing.assert_allclose(found.levels.values[1, 2:18], alone.levels.values[2:18], rtol=1e-9)


def test_the_record_sees_what_is_wrong():
    x = jnp.linspace(0, 1, 50)
    wave = unfold(x, lambda x: 50 * x + 3 * jnp.sin(40 * x))
    assert not wave.monotone
    assert 1.5 < wave.residual < 2.5  # 3/√2
    assert unfold(x, lambda x: 50 * x).monotone
    np.testing.assert_allclose(unfold_phases(jnp.linspace(-3.0, -3.0 + 2 * np.pi * 0.98, 50)).residual, 0, atol=1e-5)


def test_local_unfolding_fakes_rigidity(getkey):
    # Independent levels have Σ²(L) = L; by 2w = 10 levels around each it stops growing at the window.
    levels = jnp.cumsum(jax.random.exponential(getkey(), (100, 400)), axis=-1)
    local = unfold_local(levels, 5)
    found = over_samples(lambda x: number_variance(x, jnp.array([1.0, 40.0])), local.levels)
    assert found.value[1] < 10
    assert local.residual.mean() < 0.3 * unfold(levels, lambda x: x).residual.mean()
    spacings = rmt.statistics.spacings(local.levels)
    ratio = (levels[:, 6:-5] - levels[:, 5:-6]) / ((levels[:, 10:-1] - levels[:, :-11]) / 10)
    np.testing.assert_allclose(spacings.values[:, 5:-5], ratio, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfold(jnp.arange(3.0), 1.0), "`law` must have a method `cdf`, or be an increasing function"),
        (lambda: unfold_polynomial(jnp.arange(3.0), 3), "`degree` must be below the number of levels, 3"),
        (lambda: unfold_polynomial(jnp.arange(3.0), 0), "`degree` must be an integer of at least 1"),
        (lambda: unfold_polynomial(jnp.arange(3.0), 1, drop=0.5), r"`drop` must lie in \[0, 1/2\)"),
        (lambda: unfold_local(jnp.arange(4.0), 2), "`window` must be below half of the number of levels, 4"),
        (lambda: unfold_phases(jnp.array([1.0, 0.0])), "`phases` must be ascending numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
