"""Tails of statistics that are sums of squares, against closed forms, lattices, SciPy and simulation."""

import importlib.util
import math
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import rmtjax as rmt
from rmtjax.inference._goodness.null_tails import anderson_darling_tail, cramer_von_mises_tail
from tests.cases import further


def tails(tail, x, n):
    mapped = jax.jit(jax.vmap(partial(tail, most=int(n)), (0, None)))
    x = jnp.asarray(x, float)
    return np.asarray(mapped(x, jnp.asarray(n, x.dtype)), np.float64)


def cramer_von_mises(u):
    """W² of samples, which are the columns."""
    n = len(u)
    return 1 / (12 * n) + sum((u[i] - (2 * i + 1) / (2 * n)) ** 2 for i in range(n))


def anderson_darling(u):
    n = len(u)
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return -n - sum(weights[i] * (np.log(u[i]) + np.log1p(-u[n - 1 - i])) for i in range(n))


def test_one_value():
    # W² = 1/12 + (u - 1/2)² and A² = -1 - log(u (1 - u)) both have the p-value 1 - |1 - 2u|.
    u = np.array([1e-8, 1e-4, 0.1, 0.3, 0.49])
    found = tails(cramer_von_mises_tail, cramer_von_mises([u]), 1)
    np.testing.assert_allclose(found, 2 * u, rtol=2e-5)
    np.testing.assert_allclose(tails(anderson_darling_tail, anderson_darling([u]), 1), 2 * u, rtol=2e-5)
    for test in (rmt.inference.cramer_von_mises, rmt.inference.anderson_darling):
        result = test(np.array([1e-4]), rmt.laws.Uniform(), calibration="independent")
        np.testing.assert_allclose(result.p_value, 2e-4, rtol=1e-4)


@pytest.mark.parametrize(("n", "points"), [(2, 2000), (3, 180)])
@pytest.mark.parametrize(
    ("statistic", "tail"), [(cramer_von_mises, cramer_von_mises_tail), (anderson_darling, anderson_darling_tail)]
)
def test_two_and_three_values(statistic, tail, n, points):
    # All samples of a lattice. It is too coarse for the far tail of three values.
    axis = (np.arange(points) + 0.5) / points
    lattice = np.sort(np.stack(np.meshgrid(*[axis] * n, indexing="ij")).reshape(n, -1), axis=0)
    found = np.sort(statistic(lattice))[::-1]
    p = np.array([0.98, 0.9, 0.7, 0.5, 0.2, 0.05, 0.01][: 7 if n == 2 else 5])
    np.testing.assert_allclose(tails(tail, found[(p * found.size).astype(int)], n), p, rtol=5e-3, atol=2e-4)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_the_end_of_cramer_von_mises(n):
    # Near n/3 all values are near one end. With d = n/3 - x, P = 2 dⁿ n! times the volume of Σ 2 c_i u_i < 1.
    d = 1e-4 * n
    edges = [(n**2 - j**2) / n for j in range(n)]
    found = tails(cramer_von_mises_tail, [n / 3 - d, n / 3 - 2 * d], n)
    np.testing.assert_allclose(
        found, [2 * (k * d) ** n / math.prod(edges) for k in (1, 2)], rtol=6e-3 if n < 9 else 0.03
    )
    np.testing.assert_array_equal(tails(cramer_von_mises_tail, [n / 3, n], n), 0)
    np.testing.assert_array_equal(tails(cramer_von_mises_tail, [0, 1 / (12 * n)], n), 1)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_end_of_anderson_darling(n):
    # All values are near one end, and the sum of (2i - 1)/n log(1/u_i) is a sum of exponential variables of means j/n.
    rates = n / np.arange(1, n + 1)
    x = np.array([12.0 * n, 60.0, 80.0])
    shares = [math.prod(r / (r - rate) for r in rates if r != rate) for rate in rates]
    expected = 2 * sum(share * np.exp(-rate * (x + n)) for share, rate in zip(shares, rates, strict=True))
    np.testing.assert_allclose(tails(anderson_darling_tail, x, n), expected, rtol=1e-3)


@pytest.mark.parametrize("n", [60, *further(1000)])
def test_cramer_von_mises_is_that_of_scipy(n):
    # SciPy leaves out the term in 1/n².
    shifts = np.linspace(0, 0.45 / n**0.5, 20)
    middle = (np.arange(n) + 0.5) / n
    results = [scipy.stats.cramervonmises(middle + shift, lambda x: x) for shift in shifts]
    found = tails(cramer_von_mises_tail, [result.statistic for result in results], n)
    np.testing.assert_allclose(
        found, np.clip([result.pvalue for result in results], 0, 1), rtol=0, atol=0.2 / n**2 + 1e-5
    )


def test_the_limit_of_anderson_darling_is_that_of_its_characteristic_function():
    k = np.arange(1.0, 4001)

    def integrand(t, x):
        # Gil-Pelaez, for the sum of Z_k²/(k (k + 1)), whose further terms are replaced by their mean.
        log = -0.5 * np.log(1 - 2j * t / (k * (k + 1))).sum() + 1j * t / (k[-1] + 1)
        return (np.exp(log - 1j * t * x)).imag / t

    x = np.array([0.3, 0.8, 2.492, 6.0])
    expected = [0.5 + scipy.integrate.quad(integrand, 0, 80, args=(each,), limit=400)[0] / np.pi for each in x]
    np.testing.assert_allclose(tails(anderson_darling_tail, x, 1e9), expected, rtol=0, atol=2e-6)
    # The tail keeps its digits: it falls like exp(-x) with the factor of the pole at λ = 2.
    far = tails(anderson_darling_tail, [14.0, 15.0], 1e9)
    np.testing.assert_allclose(far[1] / far[0], np.exp(-1) * (14 / 15) ** 0.5, rtol=5e-3)


@pytest.mark.float32
def test_single_precision_and_derivatives():
    for tail, x in ((cramer_von_mises_tail, [0.1, 0.7, 1.2, 1.6]), (anderson_darling_tail, [0.6, 2.5, 9.0, 30.0])):
        double = tails(tail, x, 5)
        single = jnp.stack([tail(jnp.float32(each), jnp.float32(5), 5) for each in x])
        assert single.dtype == jnp.float32
        np.testing.assert_allclose(single, double, rtol=2e-3)
        slope = jax.vmap(jax.grad(partial(tail, most=5)), (0, None))(jnp.array([0.0, *x, 1e3]), jnp.array(5.0))
        assert np.isfinite(slope).all()
        assert (slope[1:5] < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 11, 14, 20, 32, 70])
def test_the_table_and_the_rows_between(n):
    path = Path(__file__).parents[3] / "scripts" / "goodness_table.py"
    spec = importlib.util.spec_from_file_location("goodness_table", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    s = np.array([0.3, 0.5, 0.9, 1.4, 2.1, 2.8, 3.4])
    x = script.statistic("cramer-von-mises", n, s)
    expected = np.exp(script.cramer_von_mises(n, x))
    found = tails(cramer_von_mises_tail, x, n)
    # Between the rows the interpolation in 1/n is off by up to 7e-4, and by 4 % far beyond 1e-12.
    near = expected > 1e-12
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-4 if n < 13 else 1e-3)
    np.testing.assert_allclose(found[~near], expected[~near], rtol=1e-4 if n < 13 else 0.05)
    s = np.array([0.5, 0.9, 1.5, 2.4, 3.5, 5.0, 6.5])
    expected = np.exp(script.anderson_darling(n, s))
    x = s**2 + script.least("anderson-darling", n)
    np.testing.assert_allclose(tails(anderson_darling_tail, x, n), expected, rtol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize(
    ("statistic", "tail"), [(cramer_von_mises, cramer_von_mises_tail), (anderson_darling, anderson_darling_tail)]
)
def test_finite_samples_by_simulation(statistic, tail, n):
    draws = 1_000_000
    generator = np.random.default_rng(0)
    parts = (np.sort(generator.random((draws // 20, n)), axis=1).T for _ in range(20))
    found = np.sort(np.concatenate([statistic(part) for part in parts]))[::-1]
    p = np.array([0.99, 0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.01, 0.001, 0.0001])
    computed = tails(tail, found[(p * draws).astype(int)], n)
    assert (abs(computed - p) < 1e-5 + 5 * np.sqrt(p * (1 - p) / draws)).all(), computed - p
