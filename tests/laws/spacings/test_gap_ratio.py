"""The ratio of consecutive spacings: closed forms, mpmath, three levels."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax import COE, GaussianBeta
from rmtjax.laws import GapRatioSurmise, PoissonGapRatio, mean_gap_ratio
from rmtjax.testing import check_derivatives
from tests.laws.core.positive_axis import both_tails


def density(beta):
    """The density of the paper, normalised by quadrature over all ratios."""
    kernel = lambda r: (r + r**2) ** beta / (1 + r + r**2) ** (1 + 3 * beta / 2)
    norm = 2 * mpmath.quad(lambda u: 2 * u * kernel(u**2), [0, 0.25, 0.5, 1])
    return lambda r: 2 * kernel(r) / norm


def cumulative(beta):
    pdf = density(beta)
    # The integrand is kept of order 1, because mpmath's quadrature stops at an absolute error.
    return lambda r: r * pdf(r) * mpmath.quad(lambda u: 4 * u**3 * pdf(r * u**4) / pdf(r), [0, 0.5, 1])


def survival(beta):
    pdf = density(beta)
    return lambda r: mpmath.quad(pdf, [r, 1]) if r > 0.5 else 1 - cumulative(beta)(r)


test_both_tails = both_tails(
    GapRatioSurmise,
    lambda beta: [fn(mpmath.mpf(beta)) for fn in (density, cumulative, survival)],
    [0.5, 1.0, 2.0, 4.0, 30.0],
    [1e-20, 1e-5, 0.01, 0.2, 0.5, 0.75, 0.95, 1 - 2.0**-12],
    ulp=60,
)


@pytest.mark.float32
def test_means_and_norms_of_the_paper():
    eps = jnp.finfo(jnp.result_type(float)).eps
    means = [4 - 2 * np.sqrt(3), 2 * np.sqrt(3) / np.pi - 1 / 2, 32 * np.sqrt(3) / (15 * np.pi) - 1 / 2]
    np.testing.assert_allclose([GapRatioSurmise(beta).mean() for beta in (1, 2, 4)], means, rtol=100 * eps)
    norms = np.array([8 / 27, 4 * np.pi / (81 * np.sqrt(3)), 4 * np.pi / (729 * np.sqrt(3))])
    at_one = [2 * 2**beta / 3 ** (1 + 1.5 * beta) / norm for beta, norm in zip((1, 2, 4), norms, strict=True)]
    np.testing.assert_allclose([GapRatioSurmise(beta).pdf(1.0) for beta in (1, 2, 4)], at_one, rtol=100 * eps)


@pytest.mark.slow
def test_three_levels(getkey):
    spacings = np.diff(jax.vmap(GaussianBeta(3, 1.0).eigenvalues)(jax.random.split(getkey(), 20_000)), axis=1)
    ratio = np.sort(spacings.min(1) / spacings.max(1))
    probability = np.asarray(GapRatioSurmise(1.0).cdf(ratio))
    assert np.abs(probability - (np.arange(ratio.size) + 0.5) / ratio.size).max() < 2 / ratio.size**0.5


@pytest.mark.slow
def test_the_surmise_is_not_the_law_of_large_spectra(getkey):
    # The exact law is at a distance of 0.0090 for β = 1. A deviation of 3/√(sample size) has a probability below 1e-6,
    # although neighbouring ratios share a spacing.
    spacings = np.diff(jax.vmap(COE(200).eigenphases)(jax.random.split(getkey(), 1000)), axis=1)
    left, right = spacings[:, :-1], spacings[:, 1:]
    ratio = np.sort(np.minimum(left, right) / np.maximum(left, right), axis=None)
    below = (np.arange(ratio.size) + 0.5) / ratio.size - np.asarray(GapRatioSurmise(1.0).cdf(ratio))
    assert abs(below.max() - 0.0090) < 3 / ratio.size**0.5
    assert below.min() > -3 / ratio.size**0.5
    assert abs(ratio.mean() - mean_gap_ratio(1)) < 2 / ratio.size**0.5
    for beta in (1, 2, 4):
        assert 0.001 < abs(mean_gap_ratio(beta) - GapRatioSurmise(beta).mean()) < 0.006


def test_independent_levels():
    law = PoissonGapRatio()
    np.testing.assert_allclose(law.mean(), mean_gap_ratio(0), rtol=1e-14)
    np.testing.assert_allclose(law.var(), 2 - 4 * np.log(2) ** 2, rtol=1e-13)
    assert [float(law.pdf(end)) for end in (0.0, 1.0)] == [2, 0.5]


@pytest.mark.slow
def test_derivatives():
    r = jnp.array([0.1, 0.4, 0.9])
    check_derivatives(lambda law, r: (law.cdf(r), law.logsf(r), law.pdf(r)), GapRatioSurmise(1.7), r)


def test_quantiles_at_large_beta():
    law, p = GapRatioSurmise(1000.0), jnp.array([1e-300, 1e-100, 0.5, 1 - 1e-15])
    np.testing.assert_allclose(law.logcdf(law.ppf(p)), jnp.log(p), rtol=1e-11, atol=1e-15)
