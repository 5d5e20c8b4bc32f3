"""The scaled error functions against SciPy, with slopes at 0 and across the seams of their series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from rmtjax.special.internal import erf_ratio, erfcx, log_normal_cdf

Y = np.array([0.0, 1e-9, 0.03, 0.0999, 0.1001, 0.7, 3.0, 7.99, 8.01, 30.0, 1e6])


@pytest.mark.float32
def test_values():
    y = jnp.asarray(Y)
    eps = float(jnp.finfo(y.dtype).eps)
    exact = np.asarray(y, np.float64)
    # The exponential of y² has y² times the rounding of y.
    np.testing.assert_allclose(erfcx(y), scipy.special.erfcx(exact), rtol=200 * eps)
    ratio = np.where(exact > 0, scipy.special.erf(exact) / np.where(exact > 0, exact, 1), 2 / np.sqrt(np.pi))
    np.testing.assert_allclose(erf_ratio(y**2), ratio, rtol=8 * eps)


def test_slopes():
    square = jnp.array([0.0, 0.0099, 0.0101, 4.0])
    # The derivative of erf(√x)/√x in x.
    exact = [-2 / 3 / np.sqrt(np.pi)]
    for x in np.asarray(square[1:]):
        exact.append(np.exp(-x) / (np.sqrt(np.pi) * x) - scipy.special.erf(np.sqrt(x)) / (2 * x**1.5))
    np.testing.assert_allclose(jax.vmap(jax.grad(erf_ratio))(square), exact, rtol=1e-11)
    y = jnp.array([0.0, 0.5, 7.9, 8.1, 100.0])
    exact = 2 * np.asarray(y) * scipy.special.erfcx(np.asarray(y)) - 2 / np.sqrt(np.pi)
    np.testing.assert_allclose(jax.vmap(jax.grad(erfcx))(y), exact, rtol=1e-9)


@pytest.mark.float32
def test_the_logarithm_of_the_normal_distribution_function_keeps_its_digits_at_the_seams():
    x = jnp.array([-1e4, -40.0, -25.0, -20.001, -19.999, -10.001, -9.999, -3.0, 0.0, 3.0])
    exact = np.asarray(x, np.float64)
    # An exponential of x²/2 has so many times the rounding of x.
    rounding = float(jnp.finfo(x.dtype).eps) * np.maximum(exact**2, 8)
    assert (abs(log_normal_cdf(x) - scipy.special.log_ndtr(exact)) <= rounding).all()
    slope = np.sqrt(2 / np.pi) / scipy.special.erfcx(-exact / np.sqrt(2))
    assert (abs(jax.vmap(jax.grad(log_normal_cdf))(x) - slope) <= rounding * np.maximum(slope, 1)).all()
