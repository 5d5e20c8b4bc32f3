"""Laws of eigenvector components: mpmath, scipy, their limit, eigenvectors of samples, the contract, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.laws import EigenvectorIntensity, PorterThomas
from tests.laws.core.positive_axis import check_against

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
X = [1e-20, 1e-4, 0.1, 0.7, 1.0, 1.5, 4.0, 20.0, 300.0]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [1, 4])
def test_limit_against_mpmath(beta, dtype):
    half = mpmath.mpf(beta) / 2
    density = lambda x: half**half / mpmath.gamma(half) * x ** (half - 1) * mpmath.exp(-half * x)
    survival = lambda x: mpmath.gammainc(half, half * x, regularized=True)
    lower = lambda x: mpmath.gammainc(half, 0, half * x, regularized=True)
    check_against(PorterThomas(beta), density, lower, survival, X, dtype, 40)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "beta"), [(3, 1), (200, 2), (30, 4)])
def test_finite_n_against_mpmath(n, beta, dtype):
    a, b = mpmath.mpf(beta) / 2, mpmath.mpf(beta * (n - 1)) / 2
    norm = lambda: n * mpmath.beta(a, b)
    density = lambda x: (x / n) ** (a - 1) * (1 - x / n) ** (b - 1) / norm()
    survival = lambda x: mpmath.betainc(b, a, 0, 1 - x / n, regularized=True)
    x = [y for y in [*X, n / 2, n * (1 - 2.0**-10)] if y < n]
    lower = lambda x: mpmath.betainc(a, b, 0, x / n, regularized=True)
    check_against(EigenvectorIntensity(n, beta), density, lower, survival, x, dtype, 40)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_moments(beta):
    # E |v|^2k from the Dirichlet distribution.
    n, k, law = 7, np.arange(4), EigenvectorIntensity(7, beta)
    expected = scipy.stats.beta(beta / 2, beta * (n - 1) / 2, scale=n)
    eps = jnp.finfo(jnp.result_type(float)).eps
    np.testing.assert_allclose(
        [law.moment(int(j)) for j in k], [expected.moment(int(j)) if j else 1 for j in k], rtol=40 * eps
    )
    np.testing.assert_allclose(law.var(), 2 * (n - 1) / (beta * n + 2), rtol=40 * eps)
    limit = PorterThomas(beta)
    np.testing.assert_allclose([limit.mean(), limit.var()], [1, 2 / beta], rtol=40 * eps)


@pytest.mark.slow
def test_limit_of_large_n():
    x = np.array([0.05, 1.0, 6.0])
    for beta in (1, 2, 4):
        np.testing.assert_allclose(EigenvectorIntensity(10**6, beta).sf(x), PorterThomas(beta).sf(x), rtol=1e-4)


def test_density_at_the_ends():
    ends = lambda law: [float(law.pdf(end)) for end in law.support()]
    assert ends(PorterThomas(2)) == [1, 0]
    np.testing.assert_allclose(ends(EigenvectorIntensity(4, 2)), [3 / 4, 0])
    np.testing.assert_allclose(ends(EigenvectorIntensity(3, 1)), [0, 1 / 6])
    np.testing.assert_allclose(ends(EigenvectorIntensity(2, 2)), [1 / 2, 1 / 2])


@pytest.mark.parametrize(("beta", "ensemble"), [(1, rmt.GOE(4)), (2, rmt.GUE(4))])
def test_eigenvectors_of_samples(beta, ensemble, getkey):
    vectors = jax.vmap(lambda key: rmt.eigh(ensemble.sample(key))[1])(jax.random.split(getkey(), 4000))
    intensity = 4 * np.abs(np.asarray(vectors)[:, 1, 2]) ** 2
    probability = np.sort(EigenvectorIntensity(4, beta).cdf(intensity))
    assert np.abs(probability - (np.arange(4000) + 0.5) / 4000).max() < 2 / 4000**0.5


def test_bad_input():
    with pytest.raises(ValueError, match="`beta` must be 1, 2 or 4, got 3"):
        PorterThomas(3)
    with pytest.raises(ValueError, match="`beta` must be 1, 2 or 4, got 0"):
        EigenvectorIntensity(4, 0)
    with pytest.raises(ValueError, match="`n` must be an integer of at least 2, got 1"):
        EigenvectorIntensity(1, 2)


@pytest.mark.float32
@pytest.mark.parametrize(("n", "beta"), [(2, 1), (5, 1), (5, 2), (7, 4)])
def test_skewness_and_kurtosis(n, beta):
    law = EigenvectorIntensity(n, beta)
    expected = scipy.stats.beta(beta / 2, beta * (n - 1) / 2).stats("sk")
    np.testing.assert_allclose([law.skewness(), law.kurtosis()], expected, rtol=1e-6, atol=1e-12)
