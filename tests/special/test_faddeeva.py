"""Faddeeva's function against mpmath and SciPy."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

from rmtjax.special.internal import faddeeva

SINGLE = jnp.zeros(0).dtype == np.float32


def exact(z: complex) -> complex:
    with mpmath.workdps(40 + int(abs(z) ** 2)):
        point = mpmath.mpc(z.real, z.imag)
        return complex(mpmath.exp(-(point**2)) * mpmath.erfc(-1j * point))


@pytest.mark.float32
def test_all_digits_in_the_closed_upper_half_plane():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-9, 9, 120), 10 ** rng.uniform(-12, 0.9, 120)
    # Nodes of both sums, the middles between them, and the lines where one gives way to the other.
    step = (np.pi / 12) ** 0.5
    x = np.append(x, step * np.array([0, 0.25, 0.5, 0.75, 1, 4, 4.25, 4.5, 5, 5]))
    y = np.append(y, [0, 0, 0, 0, 1e-9, 0, 0, 1e-9, np.pi / step, 5 * step])
    z = np.asarray(jnp.asarray(x + 1j * y))
    found, right = np.asarray(faddeeva(jnp.asarray(z))), np.array([exact(complex(each)) for each in z])
    np.testing.assert_allclose(found, right, rtol=3e-6 if SINGLE else 4e-15)
    # The real part is small beside the axis, and rounding of z moves it by z² ulp.
    there = right.real > float(jnp.finfo(found.dtype).tiny)
    np.testing.assert_allclose(found.real[there], right.real[there], rtol=2e-5 if SINGLE else 4e-14)


@pytest.mark.float32
def test_far_away_and_derivatives():
    z = jnp.asarray(np.array([2e5, 1e9j, -1e15 + 1e-3j, 3e30, 1e4 + 1e4j, -9e4j.conjugate()]))
    right = scipy.special.wofz(np.asarray(z).astype(complex))
    np.testing.assert_allclose(faddeeva(z), right, rtol=3e-6 if SINGLE else 4e-14)
    z = jnp.asarray(np.array([0.3, 1.7 + 0.4j, -4 + 8j]))
    _, slope = jax.jvp(faddeeva, (z,), (jnp.ones_like(z),))
    w = scipy.special.wofz(np.asarray(z).astype(complex))
    np.testing.assert_allclose(slope, 2j / np.pi**0.5 - 2 * np.asarray(z) * w, rtol=1e-4 if SINGLE else 1e-12)
