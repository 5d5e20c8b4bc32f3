"""Bessel functions of real order: against mpmath on both routes and at their joints, limits, derivatives, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

from rmtjax.special import bessel_j
from tests.cases import every_dtype

ORDERS = [-1 + 2.0**-10, -0.5, -(2.0**-7), 0.0, 0.25, 1.0, 7.75, 24.5, 31.0, 50.0]
ARGUMENTS = [1e-6, 0.03, 0.7, 2.5, 12.5, 24.998, 25.0, 30.9, 31.1, 49.9, 50.1, 120.0, 1000.0, 3e4]


def scale(order, x, value):
    """The scale of the error: the function itself for x below the order, the envelope beyond."""
    return abs(value) if x < max(order, 0) + 0.5 else max(abs(value), mpmath.sqrt(2 / (mpmath.pi * x)))


@every_dtype
def test_values(dtype):
    orders, x = (grid.astype(dtype).ravel() for grid in np.meshgrid(ORDERS, ARGUMENTS))
    got = jax.jit(bessel_j)(orders, x)
    assert got.dtype == dtype
    eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
    with mpmath.workdps(40):
        for nu, point, value in zip(orders.astype(float), x.astype(float), np.asarray(got, float), strict=True):
            exact = mpmath.besselj(nu, point)
            # Products that underflow on the way are flushed.
            assert abs(value - exact) <= 40 * eps * scale(nu, point, exact) + tiny, (nu, point)


def test_half_an_order_is_elementary_and_scipy_agrees():
    x = np.linspace(0.1, 60, 100)
    np.testing.assert_allclose(bessel_j(0.5, x), np.sqrt(2 / (np.pi * x)) * np.sin(x), rtol=0, atol=3e-15)
    np.testing.assert_allclose(bessel_j(-0.5, x), np.sqrt(2 / (np.pi * x)) * np.cos(x), rtol=0, atol=3e-15)
    for order in (0.0, 3.3, 40.0):
        np.testing.assert_allclose(bessel_j(order, x), scipy.special.jv(order, x), rtol=1e-11, atol=1e-14)


@every_dtype
def test_limits(dtype):
    orders = jnp.asarray([-0.5, 0.0, 0.5, 3.0], dtype)
    np.testing.assert_array_equal(bessel_j(orders, jnp.zeros((), dtype)), [np.inf, 1, 0, 0])
    for x, limit in ((np.inf, 0), (-1.0, np.nan), (np.nan, np.nan)):
        np.testing.assert_array_equal(bessel_j(orders, jnp.asarray(x, dtype)), np.full(4, limit))


def test_derivatives_by_the_argument():
    points = [(-0.75, 0.3), (0.0, 1e-8), (0.0, 3.0), (1.0, 25.0), (2.25, 24.9), (30.5, 30.4), (50.0, 900.0)]
    points.append((40.0, 1e-3))
    orders, x = jnp.array([*points, *((order, 0.0) for order in range(4))]).T
    first, second = jax.jit(jax.vmap(jax.value_and_grad(jax.grad(bessel_j, 1), 1)))(orders, x)
    # At 0, term by term of the power series.
    for got, derivative, at_zero in ((first, 1, [0, 0.5, 0, 0]), (second, 2, [-0.5, 0, 0.25, 0])):
        with mpmath.workdps(40):
            expected = [float(mpmath.besselj(*point, derivative=derivative)) for point in points]
        np.testing.assert_allclose(got, expected + at_zero, rtol=1e-12, atol=1e-250)


def test_derivatives_by_the_order():
    points = [(-0.999, 2.0), (-0.5, 0.3), (0.0, 0.01), (0.3, 2.0), (3.0, 2.0), (7.5, 30.0), (30.5, 30.4), (50.0, 900.0)]
    with mpmath.workdps(40):
        step = mpmath.mpf(10) ** -12
        expected = [float(mpmath.diff(lambda nu, x=x: mpmath.besselj(nu, x), nu, h=step)) for nu, x in points]
    orders, x = jnp.array([*points, (0.5, 0.0), (0.5, jnp.inf)]).T
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(bessel_j)))(orders, x), [*expected, 0, 0], rtol=1e-11)


@pytest.mark.float32
@pytest.mark.parametrize("order", [-1, -1.5, 50.5, np.nan])
def test_bad_order(order):
    with pytest.raises(ValueError, match=r"`order` must lie in \(-1, 50\], got"):
        bessel_j(order, 1.0)
