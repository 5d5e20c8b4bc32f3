"""Tails of statistics that are sums of squares, against SciPy, the characteristic function and simulation."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from rmtjax.inference._goodness import null_tails
from tests.cases import further


def tails(tail, x, n, most=None):
    mapped = jax.jit(jax.vmap(partial(tail, most=most or int(n)), (0, None)))
    x = jnp.asarray(x, float)
    return np.asarray(mapped(x, jnp.asarray(n, x.dtype)), np.float64)


@pytest.mark.parametrize("n", [5, *further(60)])
def test_cramer_von_mises_is_that_of_scipy(n):
    # Values shifted by c from the best ones have the statistic 1/(12 n) + n c².
    shifts = np.linspace(0, 0.45 / n**0.5, 20)
    middle = (np.arange(n) + 0.5) / n
    results = [scipy.stats.cramervonmises(middle + shift, lambda x: x) for shift in shifts]
    found = tails(null_tails.cramer_von_mises_tail, [result.statistic for result in results], n)
    np.testing.assert_allclose(found, np.clip([result.pvalue for result in results], 0, 1), atol=1e-6)


def test_the_limit_of_anderson_darling_is_that_of_its_characteristic_function():
    k = np.arange(1.0, 4001)

    def integrand(t, x):
        # Gil-Pelaez, for the sum of Z_k²/(k (k + 1)), whose further terms are replaced by their mean.
        log = -0.5 * np.log(1 - 2j * t / (k * (k + 1))).sum() + 1j * t / (k[-1] + 1)
        return (np.exp(log - 1j * t * x)).imag / t

    x = np.array([0.3, 0.8, 2.492, 6.0])
    expected = [0.5 + scipy.integrate.quad(integrand, 0, 80, args=(each,), limit=400)[0] / np.pi for each in x]
    np.testing.assert_allclose(tails(null_tails.anderson_darling_tail, x, 1e9), expected, atol=2e-6)
    # The tail keeps its digits: it falls like exp(-x) with the factor of the pole at λ = 2.
    far = tails(null_tails.anderson_darling_tail, [14.0, 15.0], 1e9)
    np.testing.assert_allclose(far[1] / far[0], np.exp(-1) * (14 / 15) ** 0.5, rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 40])
def test_anderson_darling_of_finite_samples(n):
    draws, i = 1_000_000, np.arange(1, n + 1)
    generator = np.random.default_rng(0)
    found = []
    for _ in range(20):
        u = np.sort(generator.random((draws // 20, n)), axis=1)
        found.append(-n - (2 * i - 1) @ (np.log(u) + np.log1p(-u[:, ::-1])).T / n)
    found = np.sort(np.concatenate(found))[::-1]
    p = np.array([0.99, 0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.01, 0.001])
    error = 5e-4 + 5 * np.sqrt(p * (1 - p) / draws)
    computed = tails(null_tails.anderson_darling_tail, found[(p * draws).astype(int)], n)
    assert (abs(computed - p) < error).all(), computed - p
