"""Wigner's surmise: mpmath deep into both tails, textbook forms, two levels, moments, derivatives."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax import GaussianBeta
from rmtjax.laws import WignerSurmise
from rmtjax.testing import check_derivatives
from tests.laws.core.positive_axis import DTYPES, both_tails


def rate(beta):
    return (mpmath.gamma((beta + 2) / 2) / mpmath.gamma((beta + 1) / 2)) ** 2


def cumulative(beta):
    return lambda s: mpmath.gammainc((beta + 1) / 2, 0, rate(beta) * s**2, regularized=True)


def survival(beta):
    return lambda s: mpmath.gammainc((beta + 1) / 2, rate(beta) * s**2, regularized=True)


def density(beta):
    a = 2 * mpmath.gamma((beta + 2) / 2) ** (beta + 1) / mpmath.gamma((beta + 1) / 2) ** (beta + 2)
    return lambda s: a * s**beta * mpmath.exp(-rate(beta) * s**2)


test_both_tails = both_tails(
    WignerSurmise,
    lambda beta: [fn(mpmath.mpf(beta)) for fn in (density, cumulative, survival)],
    [0.25, 1.0, 2.0, 4.0, 100.0],
    [1e-20, 1e-6, 1e-2, 0.3, 0.8, 1.0, 1.3, 2.0, 3.5, 8.0, 100.0],
    ulp=lambda beta: 40 + 4 * beta,
)


def test_textbook_forms():
    s = np.linspace(0.1, 3, 8)
    np.testing.assert_allclose(WignerSurmise(1).pdf(s), np.pi / 2 * s * np.exp(-np.pi / 4 * s**2), rtol=1e-13)
    np.testing.assert_allclose(WignerSurmise(2).pdf(s), 32 / np.pi**2 * s**2 * np.exp(-4 / np.pi * s**2), rtol=1e-13)
    quaternion = 2**18 / (3**6 * np.pi**3) * s**4 * np.exp(-64 / (9 * np.pi) * s**2)
    np.testing.assert_allclose(WignerSurmise(4).pdf(s), quaternion, rtol=1e-13)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1.0, 2.5])
def test_moments(beta):
    law = WignerSurmise(beta)
    with mpmath.workdps(30):
        fn = density(mpmath.mpf(beta))
        moments = [float(mpmath.quad(lambda s, k=k: s**k * fn(s), [0, 1, 3, 12])) for k in range(5)]
    rtol = 40 * jnp.finfo(law.mean().dtype).eps
    np.testing.assert_allclose([law.moment(k) for k in range(5)], moments, rtol=rtol)
    np.testing.assert_allclose(law.var(), moments[2] - 1, rtol=8 * rtol)


@pytest.mark.slow
def test_spacings_of_two_levels(getkey):
    levels = jax.vmap(GaussianBeta(2, 2.0).eigenvalues)(jax.random.split(getkey(), 20_000))
    spacings = np.sort(np.diff(levels, axis=1)[:, 0])
    probability = np.asarray(WignerSurmise(2.0).cdf(spacings / spacings.mean()))
    # Kolmogorov's statistic; because the mean is estimated, it is smaller than in his law.
    assert np.abs(probability - (np.arange(spacings.size) + 0.5) / spacings.size).max() < 2 / spacings.size**0.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_far_out(dtype):
    law = WignerSurmise(1)
    s = jnp.asarray([1e-30, 1e15], dtype)
    np.testing.assert_allclose(law.logcdf(s)[0], np.log(np.pi / 4) + 2 * np.log(float(s[0])), rtol=1e-6)
    np.testing.assert_allclose(law.logsf(s)[1], -np.pi / 4 * float(s[1]) ** 2, rtol=1e-6)
    assert np.isfinite(jax.vmap(jax.grad(law.logsf))(s)).all()


@pytest.mark.slow
def test_derivatives():
    s = jnp.array([0.1, 0.9, 3.0])
    check_derivatives(lambda law, s: (law.cdf(s), law.logsf(s)), WignerSurmise(1.7), s)
    with mpmath.workdps(40):
        by_beta = float(mpmath.diff(lambda beta: mpmath.log(survival(beta)(mpmath.mpf(3))), 1))
    np.testing.assert_allclose(jax.grad(lambda beta: WignerSurmise(beta).logsf(3.0))(1.0), by_beta, rtol=1e-12)
