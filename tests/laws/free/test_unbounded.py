"""Parts with infinite support: sums with the normal law against another solver, and what a sum has to keep."""

import itertools
import math

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

import rmtjax as rmt
from rmtjax.laws import Empirical, FreeCompression, FreePower, FreeProduct, FreeSum, LevelDensity, Normal, Semicircle

SINGLE = jnp.zeros(0).dtype == np.float32
NOISY = FreeSum(Normal(2.0), Semicircle(3.0))


def transform(x: float, std: float, radius: float) -> complex:
    """The root G of Pastur's equation G = G_N(x - R²G/4) in the lower half plane, by mpmath's secant method."""
    with mpmath.workdps(30):
        faddeeva = lambda z: mpmath.exp(-(z**2)) * mpmath.erfc(-1j * z)
        normal = lambda z: -1j * mpmath.sqrt(mpmath.pi / 2) / std * faddeeva(z / mpmath.sqrt(2) / std)
        equation = lambda g: g - normal(x - mpmath.mpf(radius) ** 2 / 4 * g)
        return complex(mpmath.findroot(equation, mpmath.mpc(0.1 * np.sign(x), -0.2)))


@pytest.mark.float32
def test_the_density_is_that_of_another_solver():
    x = np.array([-6.0, -2.5, 0.0, 1.0, 4.0])
    right = np.array([-transform(each, 2.0, 3.0).imag / np.pi for each in x])
    np.testing.assert_allclose(NOISY.pdf(jnp.asarray(x)), right, rtol=3e-5 if SINGLE else 1e-13)
    other = FreeSum(Semicircle(3.0), Normal(2.0))
    np.testing.assert_allclose(other.pdf(jnp.asarray(x)), right, rtol=3e-5 if SINGLE else 1e-13)


@pytest.mark.float32(further=True)
def test_both_tails_have_their_digits():
    x = jnp.array([5.0, 9.0, 14.0])
    expected = [rmt.special.integrate(NOISY.pdf, jnp.linspace(a, a + 12, 13)) for a in x]
    np.testing.assert_allclose(NOISY.sf(x), expected, rtol=1e-3 if SINGLE else 1e-12)
    np.testing.assert_allclose(NOISY.cdf(-x), expected, rtol=1e-3 if SINGLE else 1e-12)
    np.testing.assert_allclose(
        NOISY.cdf(NOISY.ppf(jnp.array([1e-6, 0.3]))), [1e-6, 0.3], rtol=1e-3 if SINGLE else 1e-11
    )


@pytest.mark.float32(further=True)
def test_moments_are_those_of_the_free_cumulants():
    """The normal law has the free cumulants 1, 1, 4; a semicircle adds its variance to the first."""
    second, fourth, sixth = 4 + 9 / 4, 16.0, 4 * 64.0
    moments = second, fourth + 2 * second**2, sixth + 6 * fourth * second + 5 * second**3
    np.testing.assert_allclose([NOISY.moment(k) for k in (2, 4, 6)], moments, rtol=1e-5 if SINGLE else 1e-13)
    assert NOISY.mean() == 0
    np.testing.assert_allclose(NOISY.kurtosis(), moments[1] / second**2 - 3, rtol=1e-4 if SINGLE else 1e-12)
    assert NOISY.support() == (-np.inf, np.inf)
    corner = FreeCompression(Normal(1.0), 0.5)
    np.testing.assert_allclose(corner.var(), 0.5, rtol=1e-6)
    np.testing.assert_allclose(corner.cdf(0.7) + corner.cdf(-0.7), 1, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.float32
def test_parts_of_parts():
    """Mirrored, shifted and nested parts; two normal laws are no normal law."""
    moved = Normal(1.0).scaled(-2.0).shifted(3.0)
    assert moved.support() == (-np.inf, np.inf)
    np.testing.assert_allclose([moved.cdf(3.0), moved.mean(), moved.var()], [0.5, 3, 4], rtol=1e-6)
    both = FreeSum(Normal(1.0), moved)
    assert both.support() == (-np.inf, np.inf)
    np.testing.assert_allclose([both.cdf(3.0), both.mean(), both.var()], [0.5, 3, 5], rtol=1e-5)
    assert abs(both.pdf(3.0) - Normal(5**0.5).pdf(0.0)) > 0.002
    nested = FreeSum(FreeSum(Normal(2.0), Semicircle(3.0)), Semicircle(4.0))
    x = jnp.array([0.0, 2.0, 6.0])
    np.testing.assert_allclose(
        nested.pdf(x), FreeSum(Normal(2.0), Semicircle(5.0)).pdf(x), rtol=3e-5 if SINGLE else 1e-12
    )
    mixed = rmt.laws.Mixture([0.5, 0.5], [Normal(1.0), Normal(2.0)])
    np.testing.assert_allclose(
        FreeSum(mixed, Empirical([1.0])).pdf(1 + x), mixed.pdf(x), rtol=3e-4 if SINGLE else 1e-10
    )


def test_the_normal_law_is_freely_divisible():
    """A power is the sum of its parts (Belinschi and others 2011); three halves of one law and a half are two."""
    x = jnp.array([0.0, 1.3, 4.0])
    whole = FreePower(Normal(1.0), 2.5)
    np.testing.assert_allclose(FreeSum(FreePower(Normal(1.0), 1.5), Normal(1.0)).pdf(x), whole.pdf(x), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.float32
def test_one_infinite_end():
    base = LevelDensity(rmt.Wishart(2, 4, 2))
    twice, mirrored = FreeProduct(base, Empirical([2.0])), FreeSum(base.scaled(-1.0), Empirical([1.0]))
    x = jnp.array([0.3, 1.0, 4.0])
    np.testing.assert_allclose(twice.pdf(x), base.scaled(2.0).pdf(x), rtol=3e-4 if SINGLE else 1e-11)
    np.testing.assert_allclose(mirrored.pdf(1 - x), base.pdf(x), rtol=3e-4 if SINGLE else 1e-11)
    np.testing.assert_allclose([twice.mean(), twice.var()], [2, 4 * base.var()], rtol=1e-5)
    # E X³ Y³ of a free product by hand, with the moments 1, 3/2, 3 of the level density and 1, 3/2, 11/4.
    other = FreeProduct(base, rmt.laws.MarchenkoPastur(0.5))
    m, n = [base.moment(k) for k in (1, 2, 3)], [1, 1.5, 2.75]
    second = m[1] * n[0] ** 2 + m[0] ** 2 * n[1] - m[0] ** 2 * n[0] ** 2
    np.testing.assert_allclose([other.mean(), other.moment(2)], [m[0] * n[0], second], rtol=1e-5)
    narrow = FreeProduct(LevelDensity(rmt.Wishart(2, 4000, 2)), Empirical([1.0]))
    expected = LevelDensity(rmt.Wishart(2, 4000, 2)).kurtosis()
    np.testing.assert_allclose(narrow.kurtosis(), expected, rtol=2e-3 if SINGLE else 1e-8)
    same = FreeProduct(rmt.laws.MarchenkoPastur(0.5), rmt.laws.MarchenkoPastur(0.3))
    np.testing.assert_allclose(
        [same._moment_of_parts(k) for k in (1, 3, 6)], [same.moment(k) for k in (1, 3, 6)], rtol=1e-5
    )


@pytest.mark.slow
def test_the_ends_of_laws_with_one_infinite_end():
    base = LevelDensity(rmt.Wishart(2, 4, 2))
    lower, upper = FreeProduct(base, Empirical([2.0])).support()
    assert abs(float(lower)) < 1e-3
    assert upper == np.inf
    lower, upper = FreeSum(base.scaled(-1.0), Empirical([1.0])).support()
    assert lower == -np.inf
    assert abs(float(upper) - 1) < 1e-3


@pytest.mark.float32(further=True)
def test_a_single_point_or_a_power_of_one_changes_nothing():
    """The subordinate point is then real in bands too."""
    base = rmt.laws.MarchenkoPastur(0.5)
    lower, upper = map(float, base.support())
    for law, factor, shift in (
        (FreeSum(base, Empirical([1.0])), 1, 1),
        (FreeSum(Empirical([1.0]), base), 1, 1),
        (FreeProduct(base, Empirical([2.0])), 2, 0),
        (FreePower(base, 1.0), 1, 0),
        (FreeCompression(base, 1.0), 1, 0),
    ):
        ends = factor * lower + shift, factor * upper + shift
        np.testing.assert_allclose(law.support(), ends, rtol=1e-5 if SINGLE else 1e-14)


def test_a_level_density_is_a_part():
    """GUE(2) has the density (1 + x²) e^{-x²/2} up to a scale; the equation is solved with Gauss and Hermite's sums."""
    law = FreeSum(LevelDensity(rmt.GUE(2, 2**0.5)), Semicircle(1.0))
    nodes, weights = scipy.special.roots_hermitenorm(300)
    masses = weights * (1 + nodes**2) / (2 * (2 * np.pi) ** 0.5)
    z = np.array([0.3 + 2j, 1.5 + 1j, -2 + 3j])
    g = 1 / z
    for _ in range(400):
        g = (masses / (z[:, None] - g[:, None] / 4 - nodes)).sum(-1)
    np.testing.assert_allclose(law.stieltjes(jnp.asarray(z)), g, rtol=1e-10)
    np.testing.assert_allclose(law.var(), 2 + 0.25, rtol=1e-10)


def test_gaps_that_no_digit_fills():
    law = FreeSum(Empirical([-100.0, 100.0]), Normal(1.0))
    lower, upper, masses = map(np.asarray, law.bands())
    np.testing.assert_allclose(masses, [0.5, 0.5], rtol=1e-12)
    assert -140 < lower[0] < -110 < -90 < upper[0] < -60 < 60 < lower[1]
    assert law.cdf(0.0) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.float32(further=True)
def test_the_distribution_function_has_the_density_as_its_slope():
    """Where the semicircle is wide, subordinate points lie far above the axis."""
    law = FreeSum(Normal(1.0), Semicircle(24.0))
    x = jnp.linspace(1.0, 22.0, 91)
    middles = rmt.special.internal.gauss_legendre(4)
    nodes = (x[:-1] + x[1:])[:, None] / 2 + (x[1] - x[0]) / 2 * jnp.asarray(middles[0], x.dtype)[None]
    masses = (law.pdf(nodes) * jnp.asarray(middles[1], x.dtype)[None]).sum(-1) * (x[1] - x[0]) / 2
    np.testing.assert_allclose(jnp.diff(law.cdf(x)), masses, rtol=0, atol=1e-6 if SINGLE else 1e-13)
    far = 1e25 if SINGLE else 1e200
    np.testing.assert_array_equal(NOISY.cdf(jnp.array([-far, far])), [0, 1])
    assert np.isfinite(Normal(1.0).log_potential(jnp.array([-far, far]))).all()


@pytest.mark.float32
def test_high_moments_of_the_normal_law():
    assert [float(Normal(1.0).moment(k)) for k in (180, 1500, 10000, 1501)] == (
        [np.inf, np.inf, np.inf, 0]
        if SINGLE
        else [pytest.approx(math.prod(map(float, range(1, 180, 2)))), np.inf, np.inf, 0]
    )
    small = Normal(0.05)
    right = sum(math.log(k) for k in range(1, 1500, 2)) + 1500 * math.log(0.05)
    if not SINGLE:
        np.testing.assert_allclose(math.log(float(small.moment(1500))), right, rtol=1e-10)
        assert [float(Normal(1.0).free_cumulant(k)) for k in (2, 6, 10)] == pytest.approx([1, 4, 248], rel=1e-13)
    assert not np.isnan([float(Normal(1.0).free_cumulant(k)) for k in (180, 300, 1000)]).any()


def test_the_potential_of_the_normal_law():
    """By quadrature with mpmath, beside the axis and on it, on both sides of each line between two formulas."""
    z = [0.5 + 1e-3j, 3 + 3j, -7 + 0.2j, 9.9 + 0.05j, 9.9 + 0.2j, 2 + 7.9j, 12 + 3j, -11 + 14j]
    z += [5.02 + 5j, 7 + 7j, 6 + 7.9j, 6 + 8.1j, 7 + 3.1j, 9.7 + 2.4j, 9.75 + 2.4j, 10 + 2.45j, 10 + 2.55j]
    found = np.asarray(Normal(1.0)._log_potential(jnp.asarray(z)))
    for each, (upper, lower) in zip(z, found.T, strict=True):
        points = [-30, *sorted({each.real + d for d in (-1, -0.1, -0.01, 0, 0.01, 0.1, 1)} | {-5.0, 5.0, 0.0}), 30]
        term = lambda t, each=each: mpmath.npdf(t) * mpmath.log(each - t)
        right = sum(complex(mpmath.quad(term, ends)) for ends in itertools.pairwise(points))
        assert abs(upper - right) < 1e-13
        assert abs(lower - (right - 1j * np.pi)) < 1e-13
    axis = Normal(1.0)._log_potential(jnp.asarray([-20.0, 6.0, 15.0, 30.0], complex))
    tails = scipy.special.ndtr(np.array([[20.0, -6.0, -15.0, -30.0], [-20.0, 6.0, 15.0, 30.0]]))
    np.testing.assert_allclose(np.imag(axis) / np.pi, tails * [[1], [-1]], rtol=2e-13)
