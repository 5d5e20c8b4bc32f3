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
        mask = np.asarray(unfolded.mask)
        np.testing.assert_allclose(unfolded.values[mask], (100 * law.cdf(levels))[mask], rtol=1e-12)
        assert unfolded.report.monotone.all()
        # The exact density leaves no trend, nor does the limit at this accuracy.
        assert abs(unfolded.report.trend.mean()) < 4 * unfolded.report.trend.std() / 20**0.5
    unfolded = unfold(levels, goe.law())
    np.testing.assert_allclose(unfolded.report.below, jnp.mean(levels <= -2, axis=-1), rtol=1e-6)
    np.testing.assert_allclose(unfolded.report.above, jnp.mean(levels >= 2, axis=-1), rtol=1e-6)
    # A function is taken as it is; half of the density is a trend of -1/2.
    half = unfold(levels, lambda x: 50 * goe.law().cdf(x))
    assert abs(half.report.trend.mean() + 0.5) < 0.01
    assert abs(half.report.mean_spacing.mean() - 0.5) < 0.01


class Square:
    """The law of density 2x on (0, 1)."""

    cdf = staticmethod(lambda x: jnp.clip(x, 0, 1) ** 2)


@pytest.mark.float32
def test_the_ends_of_an_interval():
    law, levels = Square(), np.sqrt((np.arange(8) + 0.5) / 8)
    ends = np.array([0.3, 0.5]), np.array([0.7, 1.0])
    whole = rmt.Spectrum(np.stack([levels, levels]))
    part = whole.bulk(*ends)
    found, number = unfold(part, law), np.asarray(part.count)
    np.testing.assert_array_equal(number, [3, 6])
    np.testing.assert_array_equal(found.domain.start, [0, 0])
    np.testing.assert_array_equal(found.domain.end, number)
    share = (levels**2 - ends[0][:, None] ** 2) / (ends[1] ** 2 - ends[0] ** 2)[:, None]
    rtol = 40 * float(jnp.finfo(found.values.dtype).eps)
    np.testing.assert_allclose(found.values, np.where(part.mask, number[:, None] * share, np.inf), rtol=rtol)
    np.testing.assert_array_equal(found.mask, part.mask)
    # A function is taken as it is, at the ends too.
    found = unfold(part, lambda x: 8 * x**2)
    np.testing.assert_allclose(found.domain.start, 8 * ends[0] ** 2, rtol=rtol)
    np.testing.assert_allclose(found.domain.end, 8 * ends[1] ** 2, rtol=rtol)
    np.testing.assert_allclose(found.values, np.where(part.mask, np.arange(8) + 0.5, np.inf), rtol=rtol)
    # So unfolding the part is the same as taking the part of the unfolded levels.
    same = unfold(whole, lambda x: 8 * x**2).bulk(8 * ends[0] ** 2, 8 * ends[1] ** 2)
    np.testing.assert_array_equal(same.mask, found.mask)
    for statistic in (number_variance, rmt.statistics.rigidity):
        np.testing.assert_allclose(statistic(same, [0.5, 1.5]), statistic(found, [0.5, 1.5]), rtol=1e-4)


def test_an_interval_beyond_the_support():
    levels = rmt.Spectrum([-0.5, 0.25, 0.5, 1.0, 1.25], domain=rmt.Interval(-1.0, 2.0))
    found = unfold(levels, Square())
    np.testing.assert_array_equal(found.mask, [False, True, True, False, False])
    np.testing.assert_allclose(found.compressed(), [5 / 16, 5 / 4])
    np.testing.assert_allclose([found.report.below, found.report.above], [0.2, 0.4])
    assert (found.domain.start, found.domain.end) == (0, 5)


def test_independent_levels_of_an_interval(getkey):
    # The n levels that happen to be in (1/4, 3/4) become uniform on (0, n): Σ²(L) = L(1 - L/n).
    levels = jnp.sort(jax.random.uniform(getkey(), (4000, 24)) ** 0.5, axis=-1)
    part = rmt.Spectrum(levels).bulk(0.25, 0.75)
    excess = lambda x, n: number_variance(x, 1.0) - (1 - 1 / n)
    found = over_samples(excess, unfold(part, Square()), part.count.astype(float))
    assert found.standard_error < 0.01
    assert abs(found.z_score(0)) < 5


@pytest.mark.float32
@pytest.mark.parametrize("length", [1.0, 360.0, 1e4])
def test_circles_of_any_length(getkey, length):
    phases = np.sort(np.asarray(jax.random.uniform(getkey(), (3, 6), maxval=2 * np.pi)), axis=-1)
    mask = np.array([[True] * 6, [True] * 4 + [False] * 2, [True, False, True, True, True, True]])
    number, lengths = mask.sum(-1), length * np.array([1, 2, 0.5])
    expected = unfold_phases(rmt.Spectrum(phases, mask))
    np.testing.assert_array_equal(expected.domain.period, number)
    values = phases / (2 * np.pi) * lengths[:, None]
    found = unfold_phases(rmt.Spectrum(values.astype(phases.dtype), mask, rmt.Circle(lengths)))
    np.testing.assert_array_equal(found.domain.period, number)
    rtol = 20 * float(jnp.finfo(phases.dtype).eps)
    np.testing.assert_allclose(found.values, expected.values, rtol=rtol)
    np.testing.assert_allclose(found.values, np.where(mask, number[:, None] * phases / (2 * np.pi), np.inf), rtol=rtol)
    for one, other in zip(jax.tree.leaves(found.report), jax.tree.leaves(expected.report), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=100 * rtol)
    # A wrong length makes the mean spacing wrong.
    twice = unfold_phases(rmt.Spectrum(values.astype(phases.dtype), mask, rmt.Circle(2 * lengths)))
    np.testing.assert_allclose(twice.report.mean_spacing, expected.report.mean_spacing / 2, rtol=100 * rtol)


def test_a_circle_without_levels():
    found = unfold_phases(rmt.Spectrum.of([[], [1.0, 2.0]]))
    np.testing.assert_array_equal(found.domain.period, [1, 2])
    np.testing.assert_array_equal(np.isnan(number_variance(found, 0.5)), [True, False])


@pytest.mark.slow
def test_statistics_have_no_trend_after_exact_unfolding(getkey):
    # A density that is wrong by 5 % would show as 0.25 at a length of 10.
    gue = rmt.GUE(100)
    levels = unfold(rmt.simulate(gue.eigenvalues, getkey(), 300), rmt.laws.LevelDensity(gue))
    for place in (20.0, 50.0, 80.0):
        found = over_samples(lambda x, place=place: jnp.sum(jnp.abs(x.values - place) < 5, axis=-1), levels)
        assert abs(found.z_score(10)) < 4


def test_local_unfolding_fakes_rigidity(getkey):
    # Independent levels have Σ²(L) = L. Local unfolding by 2w = 10 levels stops its growth at the window.
    levels = jnp.cumsum(jax.random.exponential(getkey(), (100, 400)), axis=-1)
    local = unfold_local(levels, 5)
    found = over_samples(lambda x: number_variance(x, jnp.array([1.0, 40.0])), local)
    assert found.value[1] < 10
    assert local.report.residual.mean() < 0.3 * unfold(levels, lambda x: x).report.residual.mean()
    spacings = rmt.statistics.spacings(local)
    ratio = (levels[:, 6:-5] - levels[:, 5:-6]) / ((levels[:, 10:-1] - levels[:, :-11]) / 10)
    np.testing.assert_allclose(spacings.values[:, 5:-5], ratio, rtol=1e-4, atol=1e-4)


@pytest.mark.float32
def test_neighbours_across_levels_that_do_not_count(getkey):
    levels = jnp.sort(jax.random.normal(getkey(), (3, 14)), axis=-1)
    mask = jnp.array([[True, False, True, True, False, False, True] * 2, [True] * 14, [True] * 3 + [False] * 11])
    found = unfold_local(rmt.Spectrum(levels, mask), 2)
    np.testing.assert_array_equal(found.mask[1:].sum(-1), [10, 0])
    alone = unfold_local(levels[0][mask[0]], 2)
    np.testing.assert_allclose(found.values[0][mask[0]], alone.values, rtol=1e-6)
    np.testing.assert_array_equal(found.mask[0][mask[0]], alone.mask)
    # 2w + 1 equal levels remain equal, without 0/0.
    np.testing.assert_array_equal(unfold_local(jnp.zeros(7), 2).values[2:5], [1.5, 1.5, 1.5])


def test_a_function_is_asked_at_levels_that_count_only():
    levels = rmt.Spectrum([1.0, 2.0, 3.0, 4.0], [False, True, True, False])

    def total(a):
        unfolded = unfold(levels, lambda x: a * jnp.log(x - 1.5))
        return jnp.sum(jnp.where(unfolded.mask, unfolded.values, 0))

    np.testing.assert_allclose(jax.grad(total)(2.0), np.log(0.5 * 1.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfold(jnp.arange(3.0), 1.0), "`law` must have a method `cdf`, or be an increasing function"),
        (lambda: unfold(jnp.arange(3.0), rmt.laws.Uniform), "`law` must have a method `cdf`"),
        (lambda: unfold(jnp.arange(3.0), rmt.GOE(3)), r"`law` must be a law: `ensemble.law\(\)`, or `laws.LevelDensit"),
        (lambda: unfold(jnp.arange(3.0), lambda x: x[:2]), r"`law` must return a real number for each level"),
        (lambda: unfold(jnp.arange(3.0), jnp.max), "`law` must return a real number for each level"),
        (lambda: unfold_phases(jnp.array([0.0, 90, 180])), "`phases` must lie within a circle of 2π"),
        (lambda: unfold(jnp.arange(3.0), lambda x: jax.lax.complex(x, x)), "`law` must return a real number for each"),
        (lambda: unfold(jnp.arange(7.0), rmt.laws.Uniform(2.5, 2.75)), "within its support; 3 lie below it and 4 abo"),
        (lambda: unfold_local(jnp.arange(4.0), 2), "`window` must be below half of the number of levels, 4"),
        (lambda: unfold_phases(jnp.array([1.0, 0.0])), "`phases` must be ascending numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
