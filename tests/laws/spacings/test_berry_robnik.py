"""The law of Berry and Robnik: mpmath, moments, derivatives, far tails."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import BerryRobnik
from rmtjax.testing import check_derivatives
from tests.laws.core.positive_axis import both_tails


def empty(rho):
    """Probability that an interval holds no level; the law is its second derivative."""
    return lambda s: mpmath.exp(-rho * s) * mpmath.erfc(mpmath.sqrt(mpmath.pi) / 2 * (1 - rho) * s)


def survival(rho):
    fraction = lambda s: mpmath.exp(-mpmath.pi / 4 * ((1 - rho) * s) ** 2)
    return lambda s: rho * empty(rho)(s) + (1 - rho) * mpmath.exp(-rho * s) * fraction(s)


def density(rho):
    # The formula of the paper.
    c = 1 - rho
    gaussian = lambda s: (2 * rho * c + mpmath.pi / 2 * c**3 * s) * mpmath.exp(-rho * s - mpmath.pi / 4 * (c * s) ** 2)
    return lambda s: rho**2 * empty(rho)(s) + gaussian(s)


def test_the_reference_is_the_second_derivative():
    with mpmath.workdps(40):
        rho, s = mpmath.mpf("0.4"), mpmath.mpf("0.9")
        assert abs(mpmath.diff(empty(rho), s) + survival(rho)(s)) < 1e-25
        assert abs(mpmath.diff(empty(rho), s, 2) - density(rho)(s)) < 1e-25


test_both_tails = both_tails(
    BerryRobnik,
    lambda rho: (density(mpmath.mpf(rho)), lambda s: 1 - survival(mpmath.mpf(rho))(s), survival(mpmath.mpf(rho))),
    [0.0, 0.25, 0.875, 1.0],
    [1e-20, 1e-4, 0.1, 0.7, 1.0, 1.5, 4.0, 12.0, 60.0],
)


@pytest.mark.float32
@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_moments(rho):
    law = BerryRobnik(rho)
    with mpmath.workdps(30):
        integral = lambda fn: float(mpmath.quad(lambda s: fn(s) * empty(rho)(s), [0, 1, 4, 16, 80]))
        expected = [1, integral(lambda s: 2), integral(lambda s: 6 * s)]
    eps = jnp.finfo(law.mean().dtype).eps
    np.testing.assert_allclose([law.mean(), law.moment(2), law.moment(3)], expected, rtol=100 * eps)


@pytest.mark.slow
def test_derivatives():
    s = jnp.array([0.1, 0.9, 3.0, 20.0])
    check_derivatives(lambda law, s: (law.pdf(s), law.cdf(s), law.sf(s)), BerryRobnik(0.4), s)
    by_rho = jax.vmap(jax.grad(lambda rho, s: BerryRobnik(rho).logsf(s)), (None, 0))
    with mpmath.workdps(40):
        slope = lambda rho, s: float(mpmath.diff(lambda r: mpmath.log(survival(r)(mpmath.mpf(s))), rho))
        expected = [[slope(rho, s) for s in (0.5, 2.0, 30.0)] for rho in (0, 0.5, 1)]
    got = [by_rho(rho, jnp.array([0.5, 2.0, 30.0])) for rho in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_far_out_without_regular_levels():
    np.testing.assert_allclose(BerryRobnik(0.0).cdf(jnp.array([1e150, 1e160, 1e300])), 1, rtol=4e-16)


@pytest.mark.float32
def test_quantiles_near_0_and_their_derivatives():
    # Near 0, F(s) = ρ (2 - ρ) s.
    p = 1e-10
    law = BerryRobnik(0.3)
    by_law, by_p = jax.grad(lambda law, p: law.ppf(p), (0, 1))(law, p)
    # A rounding of log p becomes |log p| roundings of p.
    np.testing.assert_allclose(law.ppf(p), p / 0.51, rtol=5e-6)
    np.testing.assert_allclose([by_law.rho, by_p], [-2 * 0.7 * p / 0.51**2, 1 / 0.51], rtol=1e-5)
