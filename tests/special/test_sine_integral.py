"""Sine and cosine integrals against mpmath, from the smallest arguments to 10⁷."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.special._sine_integral import auxiliary, cosine_integral, sine_integral, sine_tail
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype

X = np.float32(np.concatenate([np.geomspace(1e-8, 3.99, 25), np.linspace(4, 30, 40), np.geomspace(31, 1e7, 15)]))

REFERENCE = {
    sine_integral: mpmath.si,
    sine_tail: lambda x: mpmath.pi / 2 - mpmath.si(x),
    cosine_integral: lambda x: mpmath.euler + mpmath.log(x) - mpmath.ci(x),
}


@every_dtype
@pytest.mark.parametrize("fn", REFERENCE)
def test_against_mpmath(fn, dtype):
    with mpmath.workdps(60):
        expected = np.array([float(REFERENCE[fn](mpmath.mpf(float(x)))) for x in X])
    got = jax.jit(fn)(jnp.asarray(X, dtype))
    assert got.dtype == dtype
    # The tail has zeros; between them it is as large as 1/x.
    size = np.maximum(np.abs(expected), 1 / np.maximum(1, X))
    assert (np.abs(np.asarray(got) - expected) <= 8 * np.finfo(dtype).eps * size).all()


def test_auxiliary_functions():
    x = np.array([4.0, 7.0, 40.0, 1e6])
    with mpmath.workdps(40):
        integral = lambda fn: mpmath.quad(fn, [0, 1, 4, 16, 60])
        f = [float(integral(lambda s, y=y: mpmath.exp(-s) / (1 + (s / y) ** 2))) for y in x]
        g = [float(integral(lambda s, y=y: s * mpmath.exp(-s) / (1 + (s / y) ** 2))) for y in x]
    np.testing.assert_allclose(auxiliary(jnp.asarray(x)), [f, g], rtol=1e-15)


@pytest.mark.parametrize("fn", REFERENCE)
def test_derivatives(fn):
    x = jnp.array([0.0, 0.3, 3.9, 4.1, 50.0])
    check_derivatives(fn, x, second_derivative=True)
