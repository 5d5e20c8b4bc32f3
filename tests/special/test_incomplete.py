"""Incomplete gamma and beta functions in logarithms, against mpmath: both tails, all shapes, derivatives."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.special._incomplete import (
    log_beta_density,
    log_beta_tails,
    log_gamma_density,
    log_gamma_quotient,
    log_gamma_step,
    log_gamma_tails,
)
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype, further

SHAPES = [0.5, 0.75, 1.0, 2.5, 20.0, 500.0]
POINTS = np.float32([1e-30, 1e-6, 1e-2, 0.3, 0.9, 1, 1.1, 2, 5, 50, 1e5])
RATIOS = np.float32([1e-30, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1, 1.1, 1.5, 3, 20])
PAIRS = [(0.5, 0.5), (0.75, 0.5), (2.5, 0.5), (0.5, 49.5), (2.0, 198.0)]

gamma_of = jax.jit(lambda a, x: (*log_gamma_tails(a, x, jnp.log(x)), log_gamma_density(a, x, jnp.log(x))))
beta_of = jax.jit(
    lambda a, b, y, z: (*log_beta_tails(a, b, y, z, jnp.log(y)), log_beta_density(a, b, y, z, jnp.log(y)))
)


def check(got, expected, dtype, ulp):
    assert all(column.dtype == dtype for column in got)
    tolerance = ulp * np.finfo(dtype).eps
    np.testing.assert_allclose(np.array(got, float), np.array(expected, float).T, rtol=tolerance, atol=tolerance)


@every_dtype
@pytest.mark.parametrize("a", SHAPES)
def test_gamma(a, dtype):
    x = POINTS * np.float32(a)
    with mpmath.workdps(40):
        lower = lambda y: mpmath.log(mpmath.gammainc(a, 0, y, regularized=True))
        upper = lambda y: mpmath.log(mpmath.gammainc(a, y, mpmath.inf, regularized=True))
        density = lambda y: a * mpmath.log(y) - y - mpmath.loggamma(a)
        expected = [[fn(mpmath.mpf(float(y))) for fn in (lower, upper, density)] for y in x]
    # The weights of the rule are right to 20 ulp; near the mode x/a is known to √a ulp of its deviation from 1.
    check(gamma_of(jnp.asarray(a, dtype), jnp.asarray(x, dtype)), expected, dtype, 24 + 0.5 * a**0.5)


@every_dtype
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_beta(a, b, dtype):
    y = np.float32(a / (a + b)) * RATIOS
    y = np.append(y[y < 0.99], np.float32(1 - 2.0**-12))
    z = 1 - y.astype(float)
    with mpmath.workdps(40):
        lower = lambda y, z: mpmath.log(mpmath.betainc(a, b, 0, y, regularized=True))
        upper = lambda y, z: mpmath.log(mpmath.betainc(b, a, 0, z, regularized=True))
        density = lambda y, z: a * mpmath.log(y) + b * mpmath.log(z) - mpmath.log(mpmath.beta(a, b))
        points = [(mpmath.mpf(float(point)), 1 - mpmath.mpf(float(point))) for point in y]
        expected = [[fn(*point) for fn in (lower, upper, density)] for point in points]
    arguments = [jnp.asarray(value, dtype) for value in (a, b, y, z)]
    check(beta_of(*arguments), expected, dtype, 24)


@every_dtype
def test_gamma_step(dtype):
    a = np.array([0.5, 1.0, 2.5, 15.75, 16.25, 100.0, 1e4], dtype)
    with mpmath.workdps(40):
        expected = [float(mpmath.loggamma(x + 0.5) - mpmath.loggamma(x)) for x in map(mpmath.mpf, map(float, a))]
    tolerance = 40 * np.finfo(dtype).eps
    np.testing.assert_allclose(jax.jit(jax.vmap(log_gamma_step))(a), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("second_derivative", [False, *further(True)])
def test_derivatives(second_derivative):
    x, y = jnp.array([0.2, 1.2, 9.0]), jnp.array([0.2, 0.5, 0.9])
    gamma = lambda a, x: log_gamma_tails(a, x, jnp.log(x))
    beta = lambda a, y: log_beta_tails(a, 0.5 + 0 * a, y, 1 - y, jnp.log(y))
    for fn, point in ((gamma, x), (beta, y)):
        check_derivatives(fn, jnp.asarray(1.7), point, second_derivative=second_derivative)
    with mpmath.workdps(30):
        expected = float(mpmath.diff(lambda a: mpmath.log(mpmath.gammainc(a, 9, regularized=True)), 1.7))
    slope = jax.jit(jax.grad(lambda a: gamma(a, jnp.asarray(9.0))[1]))
    np.testing.assert_allclose(slope(jnp.asarray(1.7)), expected, rtol=1e-12)


@every_dtype
def test_quotient_of_gamma_functions(dtype):
    a, q = np.meshgrid(np.array([0.5, 2, 15.5, 1e5], dtype), np.array([-0.4, 0, 0.25, 3, 40], dtype))
    exact = np.vectorize(lambda a, q: float(mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(q)) - mpmath.loggamma(a)))
    with mpmath.workdps(30):
        expected = exact(a.astype(float), q.astype(float))
    found = np.asarray(log_gamma_quotient(jnp.asarray(a), jnp.asarray(q)))
    assert found.dtype == dtype
    assert (abs(found - expected) <= 20 * (1 + abs(q)) * np.finfo(dtype).eps).all()
