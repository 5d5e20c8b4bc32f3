"""The tail of Kolmogorov's statistic against SciPy, relatively, and for arrays of which only some values count."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from rmtjax.inference import kolmogorov_smirnov
from rmtjax.inference._goodness.kolmogorov import kolmogorov_tail
from rmtjax.laws import Uniform
from rmtjax.spectra import MaskedValues
from tests.cases import further

FAR = 10.0 ** -np.array([1, 1.5, 2, 3, 4, 6, 10, 15, 20, 30])


def tails(d, n, most=None):
    mapped = jax.jit(jax.vmap(partial(kolmogorov_tail, most=most or n), (0, None)))
    d = jnp.asarray(d, float)
    return np.asarray(mapped(d, jnp.asarray(n, d.dtype)), np.float64)


def rounded(d):
    """The distances in the precision of the test: a tail of 1e-30 changes by 140 times their relative rounding."""
    return np.asarray(jnp.asarray(d, float), np.float64)


def far(n):
    """Distances with these tails; SciPy's own quantiles end at 1e-16."""
    excess = lambda d, p: scipy.stats.kstwo.sf(d, n) - p
    return rounded([scipy.optimize.brentq(excess, 0.5 / n, 1, (p,), 1e-18, 1e-12) for p in FAR])


@pytest.mark.float32
@pytest.mark.parametrize(("n", "error"), [(5, 1e-13), (50, 1e-12), (51, 3e-5), *further((1, 1e-13), (100_000, 5e-8))])
def test_kolmogorov_is_that_of_scipy(n, error):
    d = rounded(scipy.stats.kstwo.isf(np.linspace(0.001, 0.999, 97), n))
    single = jnp.zeros(()).dtype == jnp.float32
    np.testing.assert_allclose(tails(d, n), scipy.stats.kstwo.sf(d, n), rtol=0, atol=error + 2e-6 * single)


@pytest.mark.float32
@pytest.mark.parametrize(
    ("n", "most"), [(5, 5), (50, 50), (51, 51), *further((1, 1), (20, 200), (1000, 1000), (100_000, 100_000))]
)
def test_small_tails_have_relative_digits(n, most):
    d = far(n)
    expected = scipy.stats.kstwo.sf(d, n)
    single = jnp.zeros(()).dtype == jnp.float32
    # In single precision the logarithm of the tail, up to 69, has an error of eps of itself, and d = 1 - 1e-15 is 1.
    use = d < 1 - 100 * jnp.finfo(jnp.zeros(()).dtype).eps
    error = 1e-4 if single else 1e-10
    found = tails(d, n, most)
    np.testing.assert_allclose(
        found[use & (FAR < 0.02)], expected[use & (FAR < 0.02)], rtol=max(error, 1e-6 * (n > 50))
    )
    np.testing.assert_allclose(found[FAR > 0.02], expected[FAR > 0.02], rtol=max(error, 1e-4 * (n > 50)))


def test_single_values_beside_doubles():
    values = np.random.default_rng(2).uniform(size=20)
    single = kolmogorov_smirnov(jnp.asarray(values, jnp.float32), Uniform(), calibration="independent")
    assert single.p_value.dtype == jnp.float32
    np.testing.assert_allclose(single.p_value, scipy.stats.kstest(values, "uniform").pvalue, rtol=1e-4)


def test_the_branch_is_that_of_the_values_that_count():
    """With 20 of 120 values that count the result is exact, as without the others."""
    values = np.append((np.arange(20) + 0.8) / 21, np.full(100, 0.5))
    some = MaskedValues(jnp.asarray(values), jnp.arange(120) < 20)
    found = kolmogorov_smirnov(some, Uniform(), calibration="independent")
    np.testing.assert_allclose(found.p_value, scipy.stats.kstest(values[:20], "uniform").pvalue, rtol=1e-10)


@pytest.mark.slow
def test_kolmogorov_knows_how_many_count():
    d = np.array([0.05, 0.2, 0.5, 0.9, 1.0])
    for n, most in ((1, 40), (7, 40), (30, 40), (30, 90), (70, 90)):
        found = tails(d, n, most=most)
        np.testing.assert_allclose(found, scipy.stats.kstwo.sf(d, n), rtol=0, atol=1e-12 if n <= 50 else 2e-5)


def test_derivatives_are_finite_and_minus_the_density():
    slope = jax.jit(jax.vmap(jax.grad(partial(kolmogorov_tail, n=jnp.asarray(20.0), most=20))))
    d = jnp.array([0.01, 0.15, 0.3, 0.6, 0.999999, 1.0])
    expected = np.where((d > 0.025) & (d < 1), -scipy.stats.kstwo.pdf(d, 20), 0)
    np.testing.assert_allclose(slope(d), expected, rtol=2e-4, atol=1e-12)
