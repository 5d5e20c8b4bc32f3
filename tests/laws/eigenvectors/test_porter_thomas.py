"""Laws of eigenvector components: mpmath, scipy, their limit, eigenvectors of samples, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.laws import EigenvectorIntensity, PorterThomas
from tests.laws.core.positive_axis import DTYPES, both_tails, check_against

X = [1e-20, 1e-4, 0.1, 0.7, 1.0, 1.5, 4.0, 20.0, 300.0]


def limit(beta):
    half = mpmath.mpf(beta) / 2
    density = lambda x: half**half / mpmath.gamma(half) * x ** (half - 1) * mpmath.exp(-half * x)
    tail = lambda *ends: mpmath.gammainc(half, *(half * end for end in ends), regularized=True)
    return density, lambda x: tail(0, x), lambda x: tail(x)


test_both_tails_of_the_limit = both_tails(PorterThomas, limit, [1, 4], X)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "beta"), [(3, 1), (200, 2), (30, 4)])
def test_finite_n_against_mpmath(n, beta, dtype):
    a, b = mpmath.mpf(beta) / 2, mpmath.mpf(beta * (n - 1)) / 2
    density = lambda x: (x / n) ** (a - 1) * (1 - x / n) ** (b - 1) / (n * mpmath.beta(a, b))
    below = lambda x: mpmath.betainc(a, b, 0, x / n, regularized=True)
    above = lambda x: mpmath.betainc(b, a, 0, 1 - x / n, regularized=True)
    x = [y for y in [*X, n / 2, n * (1 - 2.0**-10)] if y < n]
    check_against(EigenvectorIntensity(n, beta), density, below, above, x, dtype, 40)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_moments(beta):
    n, law, limit = 7, EigenvectorIntensity(7, beta), PorterThomas(beta)
    expected = scipy.stats.beta(beta / 2, beta * (n - 1) / 2, scale=n)
    rtol = 40 * float(jnp.finfo(jnp.result_type(float)).eps)
    moments = [law.moment(k) for k in range(4)]
    np.testing.assert_allclose(moments, [1, *(expected.moment(k) for k in (1, 2, 3))], rtol=rtol)
    np.testing.assert_allclose(law.var(), 2 * (n - 1) / (beta * n + 2), rtol=rtol)
    np.testing.assert_allclose([limit.mean(), limit.var()], [1, 2 / beta], rtol=rtol)


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


@pytest.mark.float32
@pytest.mark.parametrize(("n", "beta"), [(2, 1), (5, 1), (5, 2), (7, 4)])
def test_skewness_and_kurtosis(n, beta):
    law = EigenvectorIntensity(n, beta)
    expected = scipy.stats.beta(beta / 2, beta * (n - 1) / 2).stats("sk")
    np.testing.assert_allclose([law.skewness(), law.kurtosis()], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("of", "arguments", "message"),
    [
        (PorterThomas, (3,), "`beta` must be 1, 2 or 4, got 3"),
        (EigenvectorIntensity, (4, 0), "`beta` must be 1, 2 or 4, got 0"),
        (EigenvectorIntensity, (1, 2), "`n` must be an integer of at least 2, got 1"),
    ],
)
def test_bad_input(of, arguments, message):
    with pytest.raises(ValueError, match=message):
        of(*arguments)
