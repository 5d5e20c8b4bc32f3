"""Form factor from the GOE to the GUE: both ends, the integral in mpmath, the cluster function, matrices."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import crossover_form_factor, form_factor, gaussian_form_factor
from rmtjax.testing import check_derivatives

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]


@pytest.mark.float32
def test_both_ends():
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    tau = jnp.array([0.0, 1e-6, 0.1, -0.5, 0.9, 1.0, 1.1, 2.0, 30.0, 1e5, jnp.inf, jnp.nan])
    np.testing.assert_allclose(crossover_form_factor(tau, 0.0), form_factor(tau, 1), rtol=10 * eps)
    # At τ = 1 the GOE's part falls as a power of Λ only.
    unitary = crossover_form_factor(tau, jnp.array([[1e9], [1e36]]))
    np.testing.assert_allclose(unitary[:, 2:], np.broadcast_to(form_factor(tau, 2), (2, 12))[:, 2:], rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_integral(dtype):
    tau = np.array([2.0**-10, 0.3125, 0.6875, 1.0, 1.25, 3.0, 10.0], dtype)[:, None]
    coupling = np.array([2.0**-13, 2.0**-7, 0.125, 0.5, 1.0, 10.0], dtype)

    def exact(t, strength):
        start, rate = max(mpmath.mpf(1), 2 * t - 1), 8 * mpmath.pi**2 * strength * t
        steps = [start + d / rate for d in (0.5, 2, 8, 40) if start + d / rate < 2 * t + 1]
        integrand = lambda x: (1 - 2 * t / x) * mpmath.exp(-rate * (x - t))
        return float(min(t, 1) + mpmath.quad(integrand, [start, *steps, 2 * t + 1]) / 2)

    with mpmath.workdps(25):
        expected = np.vectorize(lambda t, c: exact(mpmath.mpf(float(t)), mpmath.mpf(float(c))))(tau, coupling)
    got = crossover_form_factor(tau, coupling)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=10 * np.finfo(dtype).eps)


def test_the_cluster_function():
    # The transform back, at distances where the integral over k' converges fast.
    strength, rule = 0.05, np.polynomial.legendre.leggauss(200)
    for r in (0.3, 1.0, 2.4):
        k, w = np.pi * (rule[0] + 1) / 2, np.pi / 2 * rule[1]
        inner = (k * np.exp(2 * strength * k**2) * np.sin(k * r)) @ w
        k, w = np.pi + 12 * (rule[0] + 1), 12 * rule[1]
        cluster = np.sinc(r) ** 2 - inner * ((np.sin(k * r) / k * np.exp(-2 * strength * k**2)) @ w) / np.pi**2
        parts = []
        for start, end in [(0, 1), (1, 3), (3, 9)]:
            tau, w = start + (end - start) * (rule[0] + 1) / 2, (end - start) / 2 * rule[1]
            parts.append(2 * ((1 - np.asarray(crossover_form_factor(tau, strength))) * np.cos(2 * np.pi * r * tau)) @ w)
        np.testing.assert_allclose(sum(parts), cluster, rtol=0, atol=1e-12)


def test_derivatives():
    check_derivatives(crossover_form_factor, jnp.array([0.2, 0.8, 1.6]), jnp.array([0.05, 0.3, 0.1]))


@pytest.mark.slow
def test_matrices():
    # Terms of order 1/n come from the two ends, which are known at finite n. Then half and twice the coupling would be
    # off by 0.024 and 0.043.
    n, strength, draws = 50, 0.02, 6000
    epsilon, kappa, angle = np.sqrt(strength * np.pi**2 / n), np.linspace(0.1, 0.9, 17), (np.arange(999) + 0.5) / 999
    goe = rmt.GOE(n)

    def waves(key):
        keys = jax.random.split(key)
        imaginary = jax.random.normal(keys[1], (n, n)) / np.sqrt(2 * n)
        matrix = jax.lax.complex(goe.sample(keys[0]), epsilon * (imaginary - imaginary.T))
        levels = jnp.linalg.eigvalsh(matrix) / np.sqrt(1 + epsilon**2)
        return jnp.exp(2j * n * jnp.outer(kappa, levels).astype(complex)).sum(-1)

    z = np.asarray(rmt.simulate(waves, jax.random.key(4), draws))
    sine = np.sin(np.pi * angle)
    average = lambda curve: np.asarray(curve(kappa[:, None] / sine)) @ sine**2 * 2 / 999
    middle = epsilon**2 / n / (1 + epsilon**2) * (n / np.pi) ** 2
    ends = [average(lambda tau, b=beta: form_factor(tau, b)) for beta in (1, 2)]
    share = (average(lambda tau: crossover_form_factor(tau, middle * sine**2)) - ends[1]) / (ends[0] - ends[1])
    exact = [np.asarray(gaussian_form_factor(2 * n * kappa, n, beta, connected=True)) for beta in (1, 2)]
    expected = exact[1] + share * (exact[0] - exact[1])
    ratios = (np.abs(z - z.mean(0)) ** 2 / n / expected).mean(1)
    # The limits are five standard errors plus the remaining terms of order 1/n.
    assert ratios.std() / draws**0.5 < 0.003
    assert -0.014 < ratios.mean() - 1 < 0.02
