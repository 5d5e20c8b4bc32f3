"""Elementary functions with removable singularities, against mpmath, with their derivatives."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.special._elementary import exp_slope, log_one_plus, log_slope

POINTS = {
    "exp": (exp_slope, lambda z: mpmath.expm1(z) / z, [-80, -3, -0.5, -0.499, -1e-9, 1e-30, 0.1, 0.499, 0.5, 7, 60]),
    "log": (log_slope, lambda z: mpmath.log1p(z) / z, [-0.9, -0.25, -0.249, -1e-9, 1e-30, 0.1, 0.249, 0.25, 7, 1e9]),
}


@pytest.mark.float32
@pytest.mark.parametrize("name", POINTS)
def test_against_mpmath(name):
    fn, exact, points = POINTS[name]
    z = np.array(points, jnp.result_type(float))
    with mpmath.workdps(50):
        values = [float(exact(mpmath.mpf(float(each)))) for each in z]
        slopes = [float(mpmath.diff(exact, mpmath.mpf(float(each)), h=mpmath.mpf(10) ** -40)) for each in z]
    eps = jnp.finfo(z.dtype).eps
    np.testing.assert_allclose(fn(z), values, rtol=8 * eps)
    np.testing.assert_allclose(jax.vmap(jax.grad(fn))(z), slopes, rtol=60 * eps)
    derivatives = [fn(0.0), jax.grad(fn)(0.0), jax.grad(jax.grad(fn))(0.0)]
    np.testing.assert_allclose(derivatives, {"exp": [1, 1 / 2, 1 / 3], "log": [1, -1 / 2, 2 / 3]}[name], rtol=4 * eps)


@pytest.mark.float32
def test_the_logarithm_of_one_plus_x_has_all_digits():
    """XLA's own is off by 120 ulp near -0.41."""
    x = np.concatenate([np.linspace(-0.999, 3, 4001), [-1e-30, 0, 1e-30, 1e30]]).astype(jnp.result_type(float))
    with mpmath.workdps(30):
        exact = [float(mpmath.log1p(mpmath.mpf(float(each)))) for each in x]
    np.testing.assert_allclose(jax.jit(log_one_plus)(x), exact, rtol=4 * jnp.finfo(x.dtype).eps)
    np.testing.assert_allclose(jax.vmap(jax.grad(log_one_plus))(x), 1 / (1 + x), rtol=4 * jnp.finfo(x.dtype).eps)
