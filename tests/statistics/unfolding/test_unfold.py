"""Unfolding by known densities, by phases and by neighbours."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import number_variance, over_samples, unfold, unfold_local, unfold_phases


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


@pytest.mark.slow
def test_statistics_have_no_trend_after_exact_unfolding(getkey):
    # A density that is wrong by 5 % would show as 0.25 at a length of 10.
    gue = rmt.GUE(100)
    levels = unfold(rmt.simulate(gue.eigenvalues, getkey(), 300), rmt.laws.LevelDensity(gue)).levels
    for place in (20.0, 50.0, 80.0):
        found = over_samples(lambda x, place=place: jnp.sum(jnp.abs(x.values - place) < 5, axis=-1), levels)
        assert abs(found.value - 10) < 4 * found.standard_error


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


@pytest.mark.float32
def test_neighbours_across_levels_that_do_not_count(getkey):
    levels = jnp.sort(jax.random.normal(getkey(), (3, 14)), axis=-1)
    mask = jnp.array([[True, False, True, True, False, False, True] * 2, [True] * 14, [True] * 3 + [False] * 11])
    found = unfold_local(levels, 2, where=mask).levels
    np.testing.assert_array_equal(found.mask[1:].sum(-1), [10, 0])
    alone = unfold_local(levels[0][mask[0]], 2).levels
    np.testing.assert_allclose(found.values[0][mask[0]], alone.values, rtol=1e-6)
    np.testing.assert_array_equal(found.mask[0][mask[0]], alone.mask)
    # 2w + 1 equal levels remain equal, without 0/0.
    np.testing.assert_array_equal(unfold_local(jnp.zeros(7), 2).levels.values[2:5], [1.5, 1.5, 1.5])


def test_a_function_is_asked_at_levels_that_count_only():
    levels, mask = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([False, True, True, False])

    def total(a):
        return jnp.nansum(unfold(levels, lambda x: a * jnp.log(x - 1.5), where=mask).levels.values)

    np.testing.assert_allclose(jax.grad(total)(2.0), np.log(0.5 * 1.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfold(jnp.arange(3.0), 1.0), "`law` must have a method `cdf`, or be an increasing function"),
        (
            lambda: unfold(jnp.arange(3.0), rmt.laws.Uniform),
            "`law` must have a method `cdf`",
        ),
        (lambda: unfold(jnp.arange(3.0), rmt.GOE(3)), r"`law` must be a law: `ensemble.law\(\)`, or `laws.LevelDensit"),
        (
            lambda: unfold(jnp.arange(3.0), lambda x: x[:2]),
            r"`law` must return a real number for each level",
        ),
        (lambda: unfold(jnp.arange(3.0), jnp.max), "`law` must return a real number for each level"),
        (lambda: unfold_phases(jnp.array([0.0, 90, 180])), "`phases` must lie within a circle of 2π"),
        (
            lambda: unfold(jnp.arange(3.0), lambda x: jax.lax.complex(x, x)),
            "`law` must return a real number for each level",
        ),
        (
            lambda: unfold(jnp.arange(7.0), rmt.laws.Uniform(2.5, 2.75)),
            "`law` must have levels within its support; 3 lie below it and 4 above",
        ),
        (lambda: unfold_local(jnp.arange(4.0), 2), "`window` must be below half of the number of levels, 4"),
        (lambda: unfold_phases(jnp.array([1.0, 0.0])), "`phases` must be ascending numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
