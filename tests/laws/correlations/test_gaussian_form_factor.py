"""Form factor of the Gaussian ensembles: the double sum for β = 2, joint densities, limits, matrices."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import form_factor, gaussian_form_factor
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.laws.correlations.joint_density import rule
from tests.statistical import assert_mean

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
TIMES = np.float32([1e-3, 0.3, 1.0, 3.7, 10.0, 25.0, 60.0, 200.0])


def parts(n, time):
    """The connected and the disconnected part, from the matrix elements of exp(iτx)."""
    y = mpmath.mpf(float(time)) ** 2 / n
    powers = lambda k, a: ((-y) ** i * mpmath.binomial(k + a, k - i) / mpmath.factorial(i) for i in range(k + 1))
    element = lambda k, l: mpmath.factorial(l) / mpmath.factorial(k) * y ** (k - l) * sum(powers(l, k - l)) ** 2
    double = sum((2 if l < k else 1) * element(k, l) for k in range(n) for l in range(k + 1)) * mpmath.exp(-y)
    return float(1 - double / n), float((sum(powers(n - 1, 1)) * mpmath.exp(-y / 2)) ** 2 / n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 24])
def test_the_double_sum(n, dtype):
    with mpmath.workdps(60):
        connected, disconnected = np.array([parts(n, t) for t in TIMES]).T
    eps = np.finfo(dtype).eps
    got = gaussian_form_factor(jnp.asarray(TIMES, dtype), n, connected=True)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, connected, rtol=0, atol=20 * eps)
    whole = gaussian_form_factor(jnp.asarray(-2 * TIMES, dtype), n, scale=0.5)
    np.testing.assert_allclose(whole, connected + disconnected, rtol=0, atol=40 * eps * n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_mean_of_many_levels(dtype):
    # At early times, the hard ones, y = t²/n is far below an ulp of the orders 2k + 1.
    n, times = 100, np.float32([2e-4, 1.7e-3, 6e-3, 0.0134, 0.05, 0.174, 0.6, 1.7, 6.0, 17.0, 50.0, 190.0])
    with mpmath.workdps(150):
        y = [mpmath.mpf(float(t)) ** 2 / n for t in times]
        expected = np.array([float((mpmath.laguerre(n - 1, 1, y) * mpmath.exp(-y / 2)) ** 2 / n) for y in y])
    got, connected = (gaussian_form_factor(jnp.asarray(times, dtype), n, connected=c) for c in (False, True))
    error = abs(np.asarray(got, float) - np.asarray(connected, float) - expected)
    assert (error < (10 + n / 2) * np.finfo(dtype).eps * np.maximum(1, expected)).all()


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_two_levels_by_integration(beta):
    # E|Σ exp(itλ)|² = 2 + 2 E cos(t d). The difference d of the levels has the density d^β exp(-β d²/4), as the weight
    # is exp(-β λ²/2) for n = 2 and the trace is independent of d.
    density = lambda d: d**beta * mpmath.exp(-beta * d**2 / 4)
    panels = mpmath.linspace(0, 24, 13)
    with mpmath.workdps(20):
        for t in (0.7, 2.0, 5.0, 30.0):
            mean = mpmath.quad(lambda d, t=t: density(d) * mpmath.cos(t * d), panels)
            expected = 1 + mean / mpmath.quad(density, panels)
            np.testing.assert_allclose(gaussian_form_factor(t, 2, beta), float(expected), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [1, 4])
def test_the_joint_density(beta, dtype):
    times, eps = np.array([0.0, 0.25, 1.0, 2.5], dtype), max(np.finfo(dtype).eps, 1e-14)
    for n in (1, 2, 3):
        levels, mass = rule(n, beta, nodes=80)
        waves = np.exp(1j * times[:, None, None] * levels).sum(-1)
        mean, square = waves @ mass, abs(waves) ** 2 @ mass
        got = gaussian_form_factor(times, n, beta)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, square / n, rtol=0, atol=40 * n * eps)
        connected = gaussian_form_factor(times / 2, n, beta, 2.0, connected=True)
        np.testing.assert_allclose(connected, (square - abs(mean) ** 2) / n, rtol=0, atol=40 * eps)


@pytest.mark.parametrize("beta", [1, 4])
def test_average_over_the_semicircle(beta):
    n, kappa = 200, np.array([0.05, 0.2, 0.6, 1.3, 4.0])
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    local = form_factor(kappa[:, None] / np.sin(angle), beta) @ np.sin(angle) ** 2 * 2 / 4000
    np.testing.assert_allclose(gaussian_form_factor(2 * n * kappa, n, beta, connected=True), local, rtol=0, atol=2.5e-3)


def test_many_levels():
    # The form factor of the bulk, averaged over the semicircle of local Heisenberg times.
    n, kappa = 1000, np.array([0.01, 0.2, 0.5, 0.9, 1.1, 4.0])
    inside = np.minimum(kappa, 1)
    limit = 2 / np.pi * (inside * np.sqrt(1 - inside**2) + np.arcsin(inside))
    np.testing.assert_allclose(gaussian_form_factor(2 * n * kappa, n, connected=True), limit, rtol=0, atol=2e-6)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_the_range_of_times(beta):
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    times = jnp.array([0.0, 1e8, np.inf, np.nan])
    np.testing.assert_allclose(gaussian_form_factor(times, 9, beta), [9, 1, 1, np.nan], rtol=20 * eps)
    connected = gaussian_form_factor(times, 9, beta, connected=True)
    np.testing.assert_allclose(connected, [0, 1, 1, np.nan], rtol=0, atol=20 * eps)
    assert connected[0] >= 0
    slopes = jax.vmap(jax.grad(lambda t: gaussian_form_factor(t, 9, beta)))(times)
    np.testing.assert_allclose(slopes[:2], 0, rtol=0, atol=20 * eps)
    assert np.isfinite(slopes[2])


def test_late_times_of_the_goe():
    # Linear repulsion leaves a tail. With the even φ_p² of n = 6 it begins as -2 Σ (p + 1/2)/(n τ²).
    tail = -2 * (0.5 + 2.5 + 4.5) / 6 / (1e4**2 * 2 / 6)
    np.testing.assert_allclose(gaussian_form_factor(1e4, 6, 1) - 1, tail, rtol=1e-5)


def test_derivatives():
    t = jnp.array([0.1, 1.3, 7.0, 11.0])
    check_derivatives(lambda t, s: gaussian_form_factor(t, 5, 2, s), t, jnp.asarray(1.2), second_derivative=True)
    check_derivatives(lambda t: gaussian_form_factor(t, 5, 1), t, second_derivative=True)
    # |Σ exp(itλ)|² = n² - t² (n Σ λ² - (Σ λ)²) + … has the mean n² - t² (n² - 1) + ….
    curvature = jax.grad(jax.grad(lambda t: gaussian_form_factor(t, 5)))(0.0)
    np.testing.assert_allclose(curvature, -2 * (5**2 - 1) / 5, rtol=1e-12)


@pytest.mark.parametrize("ensemble", [rmt.GUE(6, 1.3), rmt.GOE(7, 1.3), *further(rmt.GSE(6, 1.3), rmt.GOE(6, 1.3))])
def test_matrices(ensemble):
    beta, n, times = round(float(ensemble._beta())), ensemble.n, jnp.array([0.8, 2.0, 4.0, 9.0])

    def measure(key):
        levels = ensemble.eigenvalues(key)
        angles = jnp.outer(times, levels)
        return (jnp.cos(angles).sum(-1) ** 2 + jnp.sin(angles).sum(-1) ** 2) / n

    draws = np.asarray(rmt.simulate(measure, jax.random.key(2), 20000))
    for values, mean in zip(draws.T, gaussian_form_factor(times, n, beta, 1.3), strict=True):
        assert_mean(values, float(mean))
