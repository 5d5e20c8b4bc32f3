"""Covariances against numpy on the stacked draws, and their errors over repetitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.cases import further
from tests.simulation.reducers.draws import (
    check_coverage,
    check_monoid,
    close,
    cuts,
    numbers,
    padded_spectrum,
    repetitions,
)

Covariance = rmt.simulation.Covariance


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_covariances_are_numpys(getkey, batch_size):
    key = getkey()
    fn = lambda key: {"a": jax.random.normal(key, (2, 2)).cumsum(1), "b": jax.random.bernoulli(key)}
    result = rmt.simulate(fn, key, 60, reduce=Covariance(), batch_size=batch_size)
    drawn = rmt.simulate(fn, key, 60)
    values = np.concatenate(
        [np.asarray(drawn["a"]).reshape(60, 4), np.asarray(drawn["b"])[:, None]], axis=1, dtype=float
    )
    tight = {"rtol": 1e-9, "atol": 1e-12} if jax.config.jax_enable_x64 else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(result.mean, values.mean(0), **tight)
    np.testing.assert_allclose(result.covariance, np.cov(values.T), **tight)
    np.testing.assert_allclose(result.correlation, np.corrcoef(values.T), **tight)
    deviations = values - values.mean(0)
    products = deviations[:, :, None] * deviations[:, None, :]
    np.testing.assert_allclose(result.standard_error, products.std(0, ddof=1) / 60**0.5, **tight)
    np.testing.assert_allclose(result.mean_standard_error, values.std(0, ddof=1) / 60**0.5, **tight)
    assert result.draws == 60


def test_errors_of_correlations_are_those_of_the_influence_function(getkey):
    key = getkey()
    fn = lambda key: jax.random.gamma(key, 1.0, (3,)).cumsum()
    result = rmt.simulate(fn, key, 80, reduce=Covariance(), batch_size=11)
    values = np.asarray(rmt.simulate(fn, key, 80))
    x = (values - values.mean(0)) / values.std(0)
    # The derivative of a correlation by the weight of a draw: x y - r (x² + y²)/2.
    influence = x[:, :, None] * x[:, None, :] - result.correlation / 2 * (x[:, :, None] ** 2 + x[:, None, :] ** 2)
    np.testing.assert_allclose(result.correlation_standard_error, influence.std(0) / 80**0.5, rtol=1e-9, atol=1e-7)


def test_a_mean_far_from_0_costs_no_digits(getkey):
    fn, key = lambda key: 1e8 + jax.random.normal(key, (2,)).cumsum(), getkey()
    result = rmt.simulate(fn, key, 500, reduce=Covariance(), batch_size=3)
    drawn = np.asarray(rmt.simulate(fn, key, 500)) - 1e8  # exactly
    # Draws of another program differ by a unit in the last place, 1.5e-8.
    np.testing.assert_allclose(result.covariance, np.cov(drawn.T), rtol=1e-8)


@given(numbers((3,), st.floats(-10, 10)), st.sampled_from([0.0, 1e6]), cuts)
def test_any_division_of_the_draws_gives_the_same(values, by, ends):
    values = values + np.array([0.0, by, 1.0])
    same = lambda a, b: close((a.mean, a.covariance), (b.mean, b.covariance), atol=1e-9)
    result = check_monoid(Covariance(), values, ends, same)
    np.testing.assert_allclose(result.covariance, np.cov(values.T), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("number", further(400, 4000))
def test_intervals_of_independent_entries_and_of_levels(getkey, number):
    # The trace of a GUE matrix of order 2 and its difference of levels are independent; the levels are not.
    gue = rmt.GUE(2)
    fn = lambda key: (jax.random.uniform(key, (2,)), gue.eigenvalues(key))
    results = repetitions(Covariance(), fn, getkey(), number, 400)
    # Both levels have the variance of (trace ± difference)/2. The trace has the variance 1. The squared difference is a
    # chi-square variate of 3 degrees of freedom, so the difference has the mean sqrt(8/π).
    between, alone = (1 - (3 - 8 / np.pi)) / 4, (1 + (3 - 8 / np.pi)) / 4
    for (i, j), truth in {(0, 0): 1 / 12, (0, 1): 0.0, (2, 2): alone, (2, 3): between}.items():
        check_coverage([abs(r.covariance[i, j] - truth) < 1.96 * r.standard_error[i, j] for r in results])
    for (i, j), truth in {(0, 1): 0.0, (2, 3): between / alone}.items():
        check_coverage([abs(r.correlation[i, j] - truth) < 1.96 * r.correlation_standard_error[i, j] for r in results])


def test_what_is_not_defined_is_nan_or_refused(getkey):
    one = rmt.simulate(lambda key: jnp.ones(2), getkey(), 1, reduce=Covariance())
    assert np.isnan([one.covariance, one.standard_error, one.correlation]).all()
    constant = rmt.simulate(lambda key: jnp.array([1.0, jax.random.normal(key)]), getkey(), 9, reduce=Covariance())
    assert (constant.covariance[0, 0], constant.covariance[0, 1]) == (0, 0)
    assert np.isnan(constant.correlation[0, 1])
    with pytest.raises(ValueError, match="`fn` must return real values for covariances, got 'complex"):
        rmt.simulate(lambda key: jnp.array(1j), getkey(), 3, reduce=Covariance())
    with pytest.raises(ValueError, match=r"`fn` must return arrays without padding .* got 'Spectrum'"):
        rmt.simulate(padded_spectrum, getkey(), 3, reduce=Covariance())
