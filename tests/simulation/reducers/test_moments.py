"""Moments against numpy and scipy on the stacked draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.cases import daily
from tests.simulation.reducers.draws import (
    DRAWS,
    check_coverage,
    check_monoid,
    close,
    cuts,
    numbers,
    padded,
    padded_matrix,
    padded_spectrum,
    repetitions,
)


def test_reducers_leave_the_padding_of_matrices_out(getkey):
    key = getkey()
    orders = np.asarray(rmt.simulate(padded_matrix, key, 10).order)
    result, moments = rmt.simulate(padded_matrix, key, 10, reduce=(rmt.Histogram([-10.0, 10.0]), rmt.Moments()))
    assert result.total == (orders**2).sum()
    np.testing.assert_array_equal(np.diag(moments.count), (np.arange(6)[:, None] < orders).sum(1))


@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_moments_are_numpys(getkey, batch_size):
    key = getkey()
    # A mean far from 0 beside a small spread loses every digit in a sum of squares.
    fn = lambda k: {
        "a": 1e4 + jax.random.normal(k, (2,)),
        "b": jax.random.bits(k) % 7,
        "c": jax.random.normal(k, (), complex),
    }
    result = rmt.simulate(fn, key, 60, reduce=rmt.Moments(), batch_size=batch_size)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(result.count)} == {"int64"}
    assert {leaf.dtype.name for leaf in jax.tree.leaves(result.mean)} == {"float64", "complex128"}
    values = jax.tree.map(lambda x: np.asarray(x).astype(np.result_type(x.dtype, float)), rmt.simulate(fn, key, 60))
    for name in values:
        assert result.count[name] == 60
        np.testing.assert_allclose(result.mean[name], values[name].mean(0), rtol=1e-12)
        np.testing.assert_allclose(result.variance[name], values[name].var(0, ddof=1), rtol=1e-9)
        standard_error = values[name].std(0, ddof=1) / 60**0.5
        np.testing.assert_allclose(result.standard_error[name], standard_error, rtol=1e-9)


def test_moments_of_padded_spectra_are_those_of_the_levels_present(getkey):
    key = getkey()
    result = rmt.simulate(padded_spectrum, key, 50, reduce=rmt.Moments(), batch_size=8)
    spectra = rmt.simulate(padded_spectrum, key, 50)
    masked = np.ma.array(spectra.values, mask=~np.asarray(spectra.mask))
    np.testing.assert_array_equal(result.count, masked.count(0))
    present = masked.count(0) > 1
    np.testing.assert_allclose(result.mean[present], masked.mean(0)[present], rtol=1e-10)
    np.testing.assert_allclose(result.variance[present], masked.var(0, ddof=1)[present], rtol=1e-8)


def test_variance_of_one_draw_is_unknown(getkey):
    result = rmt.simulate(lambda k: jax.random.normal(k), getkey(), 1, reduce=rmt.Moments())
    assert np.isnan(result.variance)
    assert result.count == 1


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 7])
def test_skewness_and_kurtosis_are_scipys(getkey, batch_size):
    key = getkey()
    fn = lambda key: {"a": 3 + jax.random.gamma(key, 2.0, (2,)), "b": jax.random.bernoulli(key)}
    result = rmt.simulate(fn, key, 60, reduce=rmt.Moments(order=4), batch_size=batch_size)
    assert result.draws == 60
    for name, drawn in rmt.simulate(fn, key, 60).items():
        values = np.asarray(drawn, np.float64)
        rtol = 1e-9 if drawn.dtype == np.float64 else 2e-4
        np.testing.assert_allclose(result.mean[name], values.mean(0), rtol=rtol)
        np.testing.assert_allclose(result.variance[name], values.var(0, ddof=1), rtol=rtol)
        np.testing.assert_allclose(result.skewness[name], scipy.stats.skew(values), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(result.kurtosis[name], scipy.stats.kurtosis(values), rtol=rtol, atol=rtol)


def test_a_mean_far_from_0_costs_no_digits(getkey):
    # In a sum of squares nothing would be left of the deviations: 1e16 beside 1.
    fn, key = lambda key: 1e8 + jax.random.normal(key), getkey()
    result = rmt.simulate(fn, key, 4000, reduce=rmt.Moments(order=4), batch_size=3)
    deviations = np.asarray(rmt.simulate(fn, key, 4000)) - 1e8  # exactly
    assert abs((result.mean - 1e8) - deviations.mean()) < 2e-8
    np.testing.assert_allclose(result.variance, deviations.var(ddof=1), rtol=1e-12)
    np.testing.assert_allclose(result.skewness, scipy.stats.skew(deviations), rtol=1e-10)
    np.testing.assert_allclose(result.kurtosis, scipy.stats.kurtosis(deviations), rtol=1e-10)


@pytest.mark.float32(only=True)
def test_means_of_many_batches_in_single_precision():
    # Each merge rounds a mean of 1000 by 3e-5; a thousand of them would move it by 1e-3.
    fn, key = lambda key: 1000 + jax.random.normal(key), jax.random.key(0)
    mean = rmt.simulate(fn, key, 20_000, reduce=rmt.Moments(), batch_size=4).mean
    assert abs(mean - np.asarray(rmt.simulate(fn, key, 20_000), np.float64).mean()) < 1e-6


@pytest.mark.parametrize("order", [2, 4])
@given(values=numbers((2,), st.floats(-100, 100)), by=st.sampled_from([0.0, 1e6]), ends=cuts)
def test_any_division_of_the_draws_gives_the_same(order, values, by, ends):
    values = values + by
    spread = values.std(0).max() + 1e-7
    # The error of a moment relative to the power of the largest deviation; shapes are quotients, tested above.
    same = lambda a, b: close((a.count, a.mean, a.variance), (b.count, b.mean, b.variance), atol=1e-9 * spread**2)
    result = check_monoid(rmt.Moments(order), values, ends, same)
    np.testing.assert_allclose(result.mean, values.mean(0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(result.variance, values.var(0, ddof=1), rtol=1e-9, atol=1e-9 * spread**2)


@given(
    values=numbers((6,), st.floats(-10, 10)),
    orders=st.lists(st.integers(0, 6), min_size=DRAWS, max_size=DRAWS),
    ends=cuts,
)
def test_division_of_padded_spectra(values, orders, ends):
    spectra = padded(values, orders)
    same = lambda a, b: close(a, b, rtol=1e-7, atol=1e-7)
    result = check_monoid((rmt.Moments(), rmt.Moments(order=2)), spectra, ends, same)[0]
    masked = np.ma.array(spectra.values, mask=~np.asarray(spectra.mask))
    np.testing.assert_array_equal(result.count, masked.count(0))
    np.testing.assert_allclose(result.mean, masked.mean(0).filled(np.nan), rtol=1e-9, atol=1e-12)


@given(numbers((2,), st.floats(-10, 10)), numbers((2,), st.floats(-10, 10)), cuts)
def test_division_of_complex_values(x, y, ends):
    result = check_monoid(rmt.Moments(), x + 1j * y, ends, lambda a, b: close(a, b, rtol=1e-9, atol=1e-11))
    np.testing.assert_allclose(result.variance, (x + 1j * y).var(0, ddof=1), rtol=1e-9, atol=1e-11)


def test_what_is_not_defined_is_nan_or_refused(getkey):
    result = rmt.simulate(lambda key: jnp.array([1.0, jnp.inf]), getkey(), 5, reduce=rmt.Moments(order=4), batch_size=2)
    assert (result.mean[0], result.variance[0], np.isfinite(result.mean[1])) == (1.0, 0.0, False)
    assert np.isnan([result.variance[1], *result.skewness, *result.kurtosis]).all()
    with pytest.raises(ValueError, match=r"`fn` must return real values for moments of order 4, got 'complex"):
        rmt.simulate(lambda key: jnp.array(1j), getkey(), 2, reduce=rmt.Moments(order=4))
    with pytest.raises(ValueError, match="`order` must be one of 2, 4, got 3"):
        rmt.Moments(order=3)
    with pytest.raises(ValueError, match="`order` must be 4 for the standard error of the variance"):
        print(rmt.simulate(jax.random.normal, getkey(), 2, reduce=rmt.Moments()).variance_standard_error)


def test_intervals_are_students(getkey):
    result = rmt.simulate(lambda key: {"x": jax.random.normal(key, (2,))}, getkey(), 5, reduce=rmt.Moments())
    lower, upper = result.interval(0.9)
    reach = scipy.stats.t.ppf(0.95, 4) * np.sqrt(result.variance["x"] / 5)
    np.testing.assert_allclose(upper["x"], result.mean["x"] + reach)
    np.testing.assert_allclose(lower["x"], result.mean["x"] - reach)
    one = rmt.simulate(jax.random.normal, getkey(), 1, reduce=rmt.Moments())
    assert np.isnan(one.interval()).all()
    with pytest.raises(ValueError, match=r"`confidence` must lie in \(0, 1\), got 95"):
        result.interval(95)
    with pytest.raises(ValueError, match="`mean` must be real for an interval"):
        rmt.simulate(lambda key: jax.random.normal(key, (), complex), getkey(), 5, reduce=rmt.Moments()).interval()


@pytest.mark.parametrize("number", daily([400, 4000], only=[400]))
def test_intervals_hold_mean_and_variance(getkey, number):
    fn = lambda key: (jax.random.uniform(key, (4,)), jnp.sum(rmt.GUE(3).sample(key).real ** 2))
    results = repetitions(rmt.Moments(order=4), fn, getkey(), number, 400)
    # E tr (Re H)²: 3 diagonal entries of variance 1/3, 6 others of which the real part has 1/6.
    for place, mean in enumerate((0.5, 2.0)):
        check_coverage([abs(r.mean[place] - mean) < 1.96 * r.standard_error[place] for r in results])
        ends = [[end[place] for end in r.interval(0.95)] for r in results]
        check_coverage([(lower < mean) & (mean < upper) for lower, upper in ends])
    check_coverage([abs(r.variance[0] - 1 / 12) < 1.96 * r.variance_standard_error[0] for r in results])


@pytest.mark.float32
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e10, 1e25])
def test_shapes_in_any_unit_are_scipys(getkey, unit):
    key, fn = getkey(), lambda key, unit: unit * jax.random.exponential(key, (2,))
    result = rmt.simulate(fn, key, 400, args=(jnp.asarray(unit),), reduce=rmt.Moments(4), batch_size=32)
    values = np.asarray(rmt.simulate(fn, key, 400, args=(jnp.asarray(unit),)), np.float64)
    rtol = 2e-5 if jnp.result_type(float) == jnp.float32 else 1e-11
    np.testing.assert_allclose(result.mean, values.mean(0), rtol=rtol)
    np.testing.assert_allclose(result.variance, values.var(0, ddof=1), rtol=rtol)
    np.testing.assert_allclose(result.skewness, scipy.stats.skew(values), rtol=rtol)
    np.testing.assert_allclose(result.kurtosis, scipy.stats.kurtosis(values), rtol=rtol)


def test_entries_and_batches_have_units_of_their_own(getkey):
    """Most batches hold zeros and numbers of 1e-30; a few have one of 1e30."""

    def fn(key):
        share = jax.random.uniform(key)
        tiny = 1e-30 * (1 + share)
        return jnp.stack([jnp.where(share < 0.9, 0, tiny), tiny, jnp.where(share < 0.01, 1e30, tiny)])

    key = getkey()
    drawn = np.asarray(rmt.simulate(fn, key, 600), np.float64)
    assert (drawn[:, 2] > 1).any()
    for batch_size in (1, 64):
        result = rmt.simulate(fn, key, 600, reduce=rmt.Moments(), batch_size=batch_size)
        np.testing.assert_allclose(result.mean, drawn.mean(0), rtol=1e-12)
        np.testing.assert_allclose(result.variance, drawn.var(0, ddof=1), rtol=1e-10)
