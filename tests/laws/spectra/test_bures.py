"""The Bures law: a few ulp against mpmath up to the ends, moments, the fall-backs, derivatives, bad input."""

import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import BuresLaw
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype
from tests.laws.core.methods import check_fall_backs, check_rise_to_1, check_slopes, check_ulps, columns_of

# Distances from an end in units of the width.
FRACTIONS = [1e-20, 1e-9, 1e-3, 0.01, 0.1, 0.2, 0.4]
MOMENTS = [1, 1, 5 / 2, 8, 231 / 8, 112]


def density(x, a):
    """The density in its published form, for the upper end a of the support."""
    power = lambda sign: (a / x + sign * mpmath.sqrt((a / x) ** 2 - 1)) ** mpmath.mpf("2/3")
    return 3 / (4 * mpmath.pi * a) * (power(1) - power(-1))


def distribution(x, a):
    """The distribution function in s = sinh t for x = a/cosh 3t, with terms that cancel."""
    s = mpmath.sinh(mpmath.acosh(a / x) / 3)
    return 1 - (mpmath.atan(s) + mpmath.atan(2 * s) - 3 * s / (1 + 4 * s**2)) / mpmath.pi


@functools.cache
def table(upper, dtype):
    """Points of a dtype from end to end, and all methods there; the rounded end counts as the true one."""
    with mpmath.workdps(60):
        a = mpmath.mpf(upper)
        below = [1 - 8 * float(np.finfo(dtype).eps), 0.999, *(1 - f for f in FRACTIONS[3:])]
        x = [dtype(upper * fraction) for fraction in [*FRACTIONS, *below]]
        points = [mpmath.mpf(float(y)) for y in x]
        cdf = [distribution(y, a) for y in points]
        return columns_of(x, [density(y, a) for y in points], cdf, [1 - p for p in cdf])


@pytest.mark.parametrize("x", [0.01, 1.0, 4.9])
def test_the_reference_is_the_integral_of_the_density(x):
    with mpmath.workdps(30):
        a = 3 * mpmath.sqrt(3)
        # The integrand is smooth at 0 in the cube root of x.
        integral = mpmath.quad(lambda u: 3 * u**2 * density(u**3, a), [0, mpmath.mpf(x) ** mpmath.mpf("1/3")])
        assert abs(distribution(mpmath.mpf(x), a) - integral.real) < 1e-20


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize("scale", [1.0, 0.0078125, 0.7])
def test_a_few_ulp_of_relative_error_up_to_the_ends(scale, dtype):
    law, eps = BuresLaw(dtype(scale)), np.finfo(dtype).eps
    lower, upper = law.support()
    assert lower == 0
    np.testing.assert_allclose(upper, 3 * math.sqrt(3) * float(dtype(scale)), rtol=2 * eps)
    check_ulps(law, *table(float(upper), dtype), dtype)


@every_dtype
def test_distribution_rises_to_1_and_never_above(dtype):
    law = BuresLaw(dtype(1))
    x = np.sort(np.concatenate([np.logspace(-20, 0, 500, dtype=dtype), np.linspace(0, 1, 2000)]))
    check_rise_to_1(law, (np.asarray(law.support()[1]) * x).astype(dtype), ulps=2)


@pytest.mark.float32
@pytest.mark.parametrize("scale", [1.0, 0.6])
def test_moments(scale):
    law = BuresLaw(scale)
    eps = jnp.finfo(law.mean().dtype).eps
    for k, moment in enumerate(MOMENTS):
        np.testing.assert_allclose(law.moment(k), moment * scale**k, rtol=10 * eps)
        # The moments as a product of gamma functions, as in the literature.
        gammas = 2**k * math.gamma((3 * k + 1) / 2) / (math.gamma((k + 1) / 2) * math.gamma(k + 2))
        np.testing.assert_allclose(gammas, moment, rtol=1e-14)
    np.testing.assert_allclose((law.mean(), law.var()), (scale, 1.5 * scale**2), rtol=2 * eps)


def test_formula_and_fall_back_agree():
    law = BuresLaw(0.8)
    check_fall_backs(law, law.support()[1] * jnp.array([1e-3, 0.02, 0.3, 0.8, 0.97]), rtol=1e-11, atol=0)


@pytest.mark.slow
def test_derivatives():
    x = 1.3 * jnp.array([0.1, 0.4, 1.0, 3.0, 4.9])
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x))
    check_derivatives(formulas, BuresLaw(1.3), x, second_derivative=True)
    check_derivatives(lambda law: [law.mean(), law.var(), law.moment(3)], BuresLaw(1.3))
    check_derivatives(lambda law, p: law.ppf(p), BuresLaw(1.3), jnp.array([0.2, 0.6, 0.95]))


@every_dtype
def test_gradients_are_finite_at_inside_and_outside_the_ends(dtype):
    law = BuresLaw(dtype(1.5))
    upper = np.asarray(law.support()[1])
    x = np.array([-1, 0, 1e-16, 1e-3, upper / 2, upper * (1 - 4 * np.finfo(dtype).eps), upper, 2 * upper], dtype)
    check_slopes(law, x, flat=(0, 1, 6, 7))


def test_slope_of_the_distribution_close_to_0():
    # The leading terms are r³ = 4x/a and F = 9r/4π.
    x, law = np.float32(1e-27), BuresLaw(np.float32(1))
    r = (4e-27 / (3 * math.sqrt(3))) ** (1 / 3)
    np.testing.assert_allclose(law.cdf(x), 9 * r / (4 * math.pi), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(law.cdf)(x), 9 * r / (4 * math.pi) / 3e-27, rtol=1e-6)


@pytest.mark.float32
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, np.array([1.0, 2.0]), 1j])
def test_a_bad_scale_is_refused(value):
    with pytest.raises(ValueError, match=r"`scale` must be (positive and finite|a real scalar), got"):
        BuresLaw(value)
