"""The law of Kesten and McKay: against mpmath up to the edges, walks on the tree, the contract, bad input."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import KestenMcKay, Semicircle
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype
from tests.laws.core.methods import FRACTIONS, check_ulps, check_ulps_of_displaced_points, columns_of


def density(x, d):
    return d * mpmath.sqrt(4 * (d - 1) - x**2) / (2 * mpmath.pi * (d**2 - x**2))


def beyond(x, d):
    """[d φ - (d - 2) ψ]/2π with cos φ = x/2√(d - 1), which is not the form that the library uses."""
    phi = mpmath.acos(x / (2 * mpmath.sqrt(d - 1)))
    return (d * phi - (d - 2) * mpmath.atan2(d * mpmath.sin(phi), (d - 2) * mpmath.cos(phi))) / (2 * mpmath.pi)


@functools.cache
def table(degree):
    """Points of float32 near the ends and in the bulk, and all methods there."""
    with mpmath.workdps(60):
        d = mpmath.mpf(degree)
        x = [float(np.float32(2 * mpmath.sqrt(d - 1) * (2 * mpmath.mpf(f) - 1))) for f in [*FRACTIONS, 0.5]]
        points = list(map(mpmath.mpf, x))
        cdf, sf = ([beyond(sign * y, d) for y in points] for sign in (-1, 1))
        return columns_of(x, [density(y, d) for y in points], cdf, sf)


@pytest.mark.parametrize("degree", [2, 2.5, 3, 10])
def test_the_reference_is_the_integral_of_the_density(degree):
    with mpmath.workdps(60):
        d = mpmath.mpf(degree)
        end = 2 * mpmath.sqrt(d - 1)
        # The integrand is smooth in the square root of the distance from the end.
        integral = mpmath.quad(
            lambda u: 2 * u * density(end - u**2, d), [mpmath.mpf(10) ** -20, 0.25, mpmath.sqrt(end - 0.5)]
        )
        assert abs(beyond(mpmath.mpf("0.5"), d) - integral) < 1e-15


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize("degree", [2.0, 5.0, 10.0, 2 + 2.0**-4 + 2.0**-10, 26.0])
def test_a_few_ulp_of_relative_error_up_to_the_edges(degree, dtype):
    # The ends, 2√(d - 1), are exact in float32.
    check_ulps(KestenMcKay(degree), *table(degree), dtype)


@every_dtype
@pytest.mark.parametrize("degree", [2 + 2.0**-20, 3.0, 4.0, 1000.0])
def test_a_few_ulp_where_the_ends_are_rounded(degree, dtype):
    x, expected = table(degree)
    end = 2 * (degree - 1) ** 0.5
    slope, displaced = expected["pdf"] / (end - np.abs(x)), 4 * np.finfo(dtype).eps * end
    law = KestenMcKay(degree)
    check_ulps_of_displaced_points(law, x, expected, dtype, (-end, end), displaced, slope, at_least=9)


@pytest.mark.float32
@pytest.mark.parametrize("degree", [2, 3, 7])
def test_moments_are_closed_walks_on_the_tree(degree):
    law = KestenMcKay(degree)
    at_distance = {0: 1}
    for steps in range(13):
        np.testing.assert_allclose(law.moment(steps), at_distance.get(0, 0), rtol=20 * jnp.finfo(law.mean().dtype).eps)
        walks = {}
        for distance, number in at_distance.items():
            further = degree if distance == 0 else degree - 1
            walks[distance + 1] = walks.get(distance + 1, 0) + further * number
            if distance:
                walks[distance - 1] = walks.get(distance - 1, 0) + number
        at_distance = walks
    assert (law.mean(), law.var()) == (0, degree)


def test_limits():
    x = np.array([-1.9, -0.3, 0.0, 1.2])
    np.testing.assert_allclose(KestenMcKay(2).pdf(x), 1 / (np.pi * np.sqrt(4 - x**2)), rtol=1e-14)
    np.testing.assert_allclose(KestenMcKay(2).cdf(x), 1 / 2 + np.arcsin(x / 2) / np.pi, rtol=1e-14)
    root = 1e5
    np.testing.assert_allclose(KestenMcKay(root**2).cdf(root * x), Semicircle(2.0).cdf(x), rtol=1e-8)


@pytest.mark.slow
def test_derivatives():
    x = jnp.array([-2.0, -0.3, 0.0, 0.4, 2.2])
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x))
    check_derivatives(formulas, KestenMcKay(2.7), x, second_derivative=True)
    # At 0 two formulas meet.
    np.testing.assert_allclose(jax.grad(KestenMcKay(3.0).cdf)(0.0), KestenMcKay(3.0).pdf(0.0), rtol=1e-14)
    with mpmath.workdps(40):
        expected = float(mpmath.diff(lambda d: beyond(mpmath.mpf(1), d), 2, direction=1))
    np.testing.assert_allclose(jax.grad(lambda d: KestenMcKay(d).sf(1.0))(2.0), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("degree", "message"),
    [
        (1.9, "`degree` must be finite and at least 2, got 1.9"),
        (np.nan, "`degree` must be finite and at least 2, got nan"),
        (np.inf, "`degree` must be finite and at least 2, got inf"),
        (3j, "`degree` must be a real scalar"),
        (np.ones(2), "`degree` must be a real scalar"),
    ],
)
def test_bad_input(degree, message):
    with pytest.raises(ValueError, match=message):
        KestenMcKay(degree)
