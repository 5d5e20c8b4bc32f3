"""Two-point functions: mpmath from the determinantal formulas, asymptotics, derivatives."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import form_factor, number_variance, pair_correlation, rigidity
from rmtjax.testing import check_derivatives
from tests.cases import further

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
BETAS = [1, 2, 4]
LENGTHS = np.float32([1e-5, 1e-2, 0.3, 0.9, 1.9, 2.1, 5.3, 40.7])


def sinc(x):
    return mpmath.sin(x) / x if x else mpmath.mpf(1)


def cluster(r, beta):
    """Mehta's Y_2, computed directly from the integral and the derivative of the kernel."""
    x = mpmath.pi * r
    if beta == 2:
        return sinc(x) ** 2
    slope = lambda y: (mpmath.cos(y) - sinc(y)) / y if y else mpmath.mpf(0)
    if beta == 1:
        return sinc(x) ** 2 + slope(x) * (mpmath.pi / 2 - mpmath.si(x))
    return sinc(2 * x) ** 2 - slope(2 * x) * mpmath.si(2 * x)


@functools.cache
def fluctuations(beta):
    """Number variance and rigidity by quadrature of the cluster function."""
    with mpmath.workdps(30):
        rows = []
        for length in map(mpmath.mpf, map(float, LENGTHS)):
            mean = lambda kernel, L=length: (
                L**2 * mpmath.quad(lambda u: kernel(u) * cluster(L * u, beta), mpmath.linspace(0, 1, 3 + int(2 * L)))
            )
            delta3 = length / 15 - mean(lambda u: (1 - u) ** 3 * (2 - 9 * u - 3 * u**2)) / 15
            rows.append((length - 2 * mean(lambda u: 1 - u), delta3))
        return np.array(rows, float).T


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
def test_pair_correlation(beta, dtype):
    r = np.float32(np.concatenate([np.geomspace(1e-6, 3, 60), np.geomspace(3.1, 1e6, 10)]))
    with mpmath.workdps(80):
        expected = np.array([float(1 - cluster(mpmath.mpf(float(y)), beta)) for y in r])
    got = pair_correlation(jnp.asarray(r, dtype), beta)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(pair_correlation(jnp.asarray(-r, dtype), beta), got)


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_number_variance_and_rigidity(beta, dtype):
    variance, delta3 = fluctuations(beta)
    rtol = 20 * np.finfo(dtype).eps
    for fn, expected in ((number_variance, variance), (rigidity, delta3)):
        got = fn(jnp.asarray(LENGTHS, dtype), beta)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=rtol)


@pytest.mark.slow
@pytest.mark.float32
def test_asymptotics():
    length, eps = 1e6, float(jnp.finfo(jnp.result_type(float)).eps)
    log = np.log(2 * np.pi * length) + np.euler_gamma
    of = {1: (2, log, -(np.pi**2) / 8), 2: (1, log, 0), 4: (0.5, log + np.log(2), np.pi**2 / 8)}
    for beta, (factor, log, constant) in of.items():
        # Corrections are of order 1/L.
        variance, delta3 = factor / np.pi**2 * (log + 1 + constant), factor / (2 * np.pi**2) * (log - 5 / 4 + constant)
        np.testing.assert_allclose(number_variance(length, beta), variance, rtol=20 * eps + 3e-7)
        np.testing.assert_allclose(rigidity(length, beta), delta3, rtol=20 * eps + 3e-7)


def test_far_out_to_all_digits():
    for length in (1e3, 1e6):
        with mpmath.workdps(40):
            x = 2 * mpmath.pi * mpmath.mpf(length)
            cin, rest = mpmath.euler + mpmath.log(x) - mpmath.ci(x), mpmath.pi / 2 - mpmath.si(x)
            variance = float((cin + 1 - mpmath.cos(x) + x * rest) / mpmath.pi**2)
        np.testing.assert_allclose(number_variance(length, 2), variance, rtol=4e-15)


@pytest.mark.parametrize("beta", BETAS)
def test_form_factor_is_the_transform_of_the_cluster_function(beta):
    # Both are integrated against a Gaussian, as the transform of e^{-π(r/w)²} is w e^{-π(wτ)²}.
    w = 3
    with mpmath.workdps(20):
        integrand = lambda r: cluster(r, beta) * mpmath.exp(-mpmath.pi * (r / w) ** 2)
        left = 2 * mpmath.quad(integrand, mpmath.linspace(0, 12, 25))
    weight = lambda tau: w * np.exp(-np.pi * (w * tau) ** 2)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    tau, measure = (nodes + 1) / 2, weights / 2
    # Two panels meet at 1, the singularity for β = 4, with nodes in the root of the distance from it.
    points = np.concatenate([1 - (1 - tau) ** 2, 1 + tau**2])
    measure = np.concatenate([2 * measure * (1 - tau), 2 * measure * tau])
    transform = 2 * np.sum(measure * (1 - np.asarray(form_factor(points, beta))) * weight(points))
    np.testing.assert_allclose(transform, float(left), rtol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_form_factor(dtype):
    tau = jnp.asarray([0, 1e-6, 0.5, 1, 1.5, 3, 1e6, -0.5, np.inf], dtype)
    log = np.log
    half, quarter = 1 - 0.5 * log(2), 0.25 + log(2) / 8  # at τ = 1/2 for β = 1 and 4
    expected = {
        0: [1] * 9,
        1: [0, 2e-6 - 2e-12, half, 2 - log(3), 2 - 1.5 * log(2), 2 - 3 * log(7 / 5), 1, half, 1],
        2: [0, 1e-6, 0.5, 1, 1, 1, 1, 0.5, 1],
        4: [0, 5e-7 + 2.5e-13, quarter, np.inf, 0.75 + 0.375 * log(2), 1, 1, quarter, 1],
    }
    for beta, values in expected.items():
        got = form_factor(tau, beta)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, values, rtol=max(8 * np.finfo(dtype).eps, 1e-11))
        assert np.isfinite(jax.vmap(jax.grad(lambda t, b=beta: form_factor(t, b)))(tau)).all()


@pytest.mark.float32
@pytest.mark.parametrize("beta", [0, *further(1, 4), pytest.param(2, marks=pytest.mark.float32(further=True))])
def test_the_ends_of_the_range(beta):
    slopes = lambda fn: jax.vmap(jax.grad(lambda x: fn(x, beta)))(jnp.array([0.0, 1.0, 2.0, 1e4, 1e6, np.inf]))
    got = pair_correlation(jnp.array([0.0, np.inf, np.nan]), beta)
    np.testing.assert_array_equal(got, [0.0 if beta else 1.0, 1.0, np.nan])
    assert np.isfinite(slopes(pair_correlation)).all()
    for fn in (number_variance, rigidity):
        got = fn(jnp.array([0.0, np.inf, np.nan, -1.0]), beta)
        np.testing.assert_array_equal(got, [0, np.inf, np.nan, np.nan])
        assert np.isfinite(slopes(fn)).all()


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_derivatives(beta):
    x = jnp.array([0.1, 0.9, 1.7, 6.2])
    curves = lambda x: [fn(x, beta) for fn in (pair_correlation, form_factor, number_variance, rigidity)]
    check_derivatives(curves, x)
