"""Sums over levels, determinants and condition numbers: NumPy, masks, exact moments, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import digamma, polygamma

import rmtjax as rmt
from rmtjax.statistics import condition_number, linear_statistic, log_determinant
from tests.statistical import assert_mean

LEVELS = np.array([[-2.0, -0.5, 0.25, 3.0], [-4.0, -1.0, -1.0, 0.5]])
MASK = np.array([[False, True, True, True], [True, False, False, True]])


@pytest.mark.float32
def test_definitions():
    for mask in (None, MASK):
        inside = [row[m] for row, m in zip(LEVELS, MASK | (mask is None), strict=True)]
        levels = LEVELS if mask is None else rmt.Spectrum(jnp.where(mask, LEVELS, jnp.nan), mask)
        found = linear_statistic(levels, jnp.exp)
        np.testing.assert_allclose(found, [np.exp(row).sum() for row in inside], rtol=1e-6)
        np.testing.assert_allclose(log_determinant(levels), [np.log(abs(row.prod())) for row in inside], rtol=1e-5)
        extremes = [(abs(row).max(), abs(row).min()) for row in inside]
        np.testing.assert_allclose(condition_number(levels), [a / b for a, b in extremes], rtol=1e-6)


def test_values_of_the_function():
    times = jnp.array([0.0, 1.0, 2.0])
    masked = rmt.Spectrum(LEVELS, MASK)
    waves = linear_statistic(masked, lambda x: jnp.exp(1j * jnp.stack([0 * x, x, 2 * x], -1).astype(complex)))
    np.testing.assert_allclose(waves[1], np.exp(1j * np.outer([-4.0, 0.5], times)).sum(0), rtol=1e-14)
    np.testing.assert_array_equal(linear_statistic(masked, lambda x: 2.0), [6, 4])
    np.testing.assert_array_equal(linear_statistic(LEVELS, lambda x: x > 0), [2, 1])
    padded = rmt.Spectrum(jnp.array([1.0, 2.0, jnp.inf]), [True, True, False])
    assert linear_statistic(padded, jnp.log) == np.log(2)


def test_the_function_sees_only_levels_that_count():
    # The logarithm of the padding would be NaN, and its derivative at 0 infinite.
    mask = np.array([False, True, True])
    total = lambda x, scale: linear_statistic(rmt.Spectrum(x, mask), lambda y: jnp.log(scale * y))
    slopes = jax.grad(total, argnums=(0, 1))(jnp.array([-1.0, 2.0, 4.0]), 3.0)
    np.testing.assert_allclose(slopes[0], [0, 0.5, 0.25])
    np.testing.assert_allclose(slopes[1], 2 / 3, rtol=1e-14)


def test_few_levels_and_singular_matrices():
    for n, count, determinant in ((0, np.nan, 0.0), (1, 1.0, np.log(3))):
        levels = jnp.full(n, 3.0)
        assert linear_statistic(levels, jnp.log) == determinant
        assert log_determinant(levels) == determinant
        np.testing.assert_equal(float(condition_number(levels)), count)
    none = rmt.Spectrum(jnp.arange(2.0), False)
    assert linear_statistic(none, jnp.log) == 0
    assert log_determinant(none) == 0
    assert np.isnan(condition_number(none))
    singular = jnp.array([-2.0, 0.0, 1.0])
    assert log_determinant(singular) == -np.inf
    assert condition_number(singular) == condition_number(jnp.zeros(1)) == np.inf
    np.testing.assert_array_equal(jax.grad(condition_number)(singular), 0)
    np.testing.assert_array_equal(jax.grad(log_determinant)(singular), [-0.5, 0, 1])


def test_derivative_of_the_condition_number():
    slope = jax.grad(condition_number)(jnp.array([-6.0, -1.0, 2.0, 3.0]))
    np.testing.assert_allclose(slope, [-1, 6, 0, 0])  # of |x_1|/|x_2|


def test_matrices(getkey):
    matrix = np.asarray(rmt.GUE(6).sample(getkey()))
    levels = rmt.eigvalsh(matrix)
    np.testing.assert_allclose(condition_number(levels), np.linalg.cond(matrix), rtol=1e-11)
    np.testing.assert_allclose(log_determinant(levels), np.linalg.slogdet(matrix)[1], rtol=1e-12)
    np.testing.assert_allclose(
        linear_statistic(levels, lambda x: x**3), np.trace(matrix @ matrix @ matrix).real, rtol=1e-11
    )


def assert_log_moments(logarithms, degrees, shift):
    """Check mean and variance of a sum of logarithms of independent χ variates, with a shift."""
    degrees = np.asarray(degrees)
    mean = (digamma(degrees / 2) + np.log(2)).sum() / 2 + shift
    variance = polygamma(1, degrees / 2).sum() / 4
    assert_mean(logarithms, mean)
    assert_mean((np.asarray(logarithms) - mean) ** 2, variance)


def test_determinant_of_the_gue(getkey):
    # A product of χ variates of 1, 3, 3, 5, 5, … degrees of freedom (Edelman and La Croix 2015).
    levels = rmt.simulate(rmt.GUE(6).eigenvalues, getkey(), 5000)
    assert_log_moments(log_determinant(levels), [1, 3, 3, 5, 5, 7], -3 * np.log(6))


@pytest.mark.parametrize("beta", [1, 2])
def test_determinant_of_wishart_matrices(getkey, beta):
    # det XX* is a product of χ² variates (Goodman 1963), so half of its logarithm is a sum of logarithms of χ variates.
    n, m = 4, 7
    levels = rmt.simulate(rmt.Wishart(n, m, beta).eigenvalues, getkey(), 5000)
    degrees = beta * (m - np.arange(n))
    assert_log_moments(log_determinant(levels) / 2, degrees, -n * np.log(beta * m) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear_statistic(LEVELS[0], jnp.sum), r"`f` must return an array whose shape begins with \(4,"),
        (lambda: linear_statistic(LEVELS, lambda x: x[0]), r"`f` must return an array whose shape begins with \(2, 4"),
        (lambda: linear_statistic(-LEVELS, jnp.exp), "`levels` must be ascending numbers"),
        (lambda: condition_number(-LEVELS), "`levels` must be ascending numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_traced_levels_that_do_not_ascend_give_nan():
    functions = lambda x: (linear_statistic(x, jnp.exp), log_determinant(x), condition_number(x))
    assert np.isnan(jax.jit(functions)(LEVELS[:, ::-1])).all()
