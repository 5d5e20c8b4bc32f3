import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import MarchenkoPastur, Mixture, Semicircle
from rmtjax.testing import check_derivatives
from tests.cases import daily, every_dtype, further
from tests.laws.core.methods import (
    FRACTIONS,
    check_fall_backs,
    check_rise_to_1,
    check_slopes,
    check_ulps,
    check_ulps_of_displaced_points,
    columns_of,
    methods_at,
)

RATIOS = (0.2, 1.0, 2.0, 5.0)
# The ratio, its root and so the ends of the support are exact in float32; an x then has its exact distance from them.
SQUARES = [(0.25, 1.0), (1.0, 1.5), (2.25, 1.0), (4.0, 0.5)]


# An independent implementation of the law in mpmath.


def ends(ratio, scale):
    ratio, scale = mpmath.mpf(ratio), mpmath.mpf(scale)
    return (scale * (1 - mpmath.sqrt(ratio))) ** 2, (scale * (1 + mpmath.sqrt(ratio))) ** 2


def density(x, ratio, scale):
    lower, upper = ends(ratio, scale)
    return mpmath.sqrt((upper - x) * (x - lower)) / (2 * mpmath.pi * ratio * mpmath.mpf(scale) ** 2 * x)


def distribution(x, ratio, scale):
    """[√c sin φ + c φ - (1 - c) ψ]/πc in a triangle with the sides 1 and √c, which is not the form of the library."""
    c, y = mpmath.mpf(ratio), mpmath.mpf(x) / mpmath.mpf(scale) ** 2
    cosine = (1 + c - y) / (2 * mpmath.sqrt(c))
    phi, sine = mpmath.acos(cosine), mpmath.sqrt(1 - cosine**2)
    psi = mpmath.atan2(mpmath.sqrt(c) * sine, 1 - mpmath.sqrt(c) * cosine)
    return (mpmath.sqrt(c) * sine + c * phi - (1 - c) * psi) / (mpmath.pi * c)


@functools.cache
def table(ratio, scale):
    """Points of float32 near the ends and in the bulk, and all methods there."""
    with mpmath.workdps(60):
        lower, upper = ends(ratio, scale)
        x = [float(np.float32(lower + (upper - lower) * mpmath.mpf(fraction))) for fraction in FRACTIONS]
        pdf = [density(mpmath.mpf(y), ratio, scale) for y in x]
        cdf = [distribution(y, ratio, scale) for y in x]
        return columns_of(x, pdf, cdf, [1 - p for p in cdf])


@pytest.mark.parametrize("ratio", [0.25, 1.0, 2.5])
def test_the_reference_is_the_integral_of_the_density(ratio):
    with mpmath.workdps(30):
        lower, upper = ends(ratio, 0.75)
        x = float(lower + (upper - lower) / 3)
        # The integrand is smooth in the square root of the distance from the end.
        integrand = lambda u: 2 * u * density(lower + u**2, ratio, 0.75)
        integral = max(0, 1 - 1 / mpmath.mpf(ratio)) + mpmath.quad(integrand, [0, mpmath.sqrt(x - lower)])
        assert abs(distribution(x, ratio, 0.75) - integral) < 1e-15


# Values


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize(("ratio", "scale"), SQUARES)
def test_a_few_ulp_of_relative_error_up_to_the_edges(ratio, scale, dtype):
    check_ulps(MarchenkoPastur(ratio, scale), *table(ratio, scale), dtype)


@every_dtype
@pytest.mark.parametrize("scale", [1.0, 0.71875])
@pytest.mark.parametrize("ratio", [2.0**-10, 0.203125, 0.5, 1 - 2.0**-20, 1 + 2.0**-20, 2.0, 5.0, 1000.0])
def test_a_few_ulp_where_the_ends_are_rounded(ratio, scale, dtype):
    x, expected = table(ratio, scale)
    # The point, and the end near to it, are displaced by a few ulp.
    lower, upper = map(float, ends(ratio, scale))
    displaced = 4 * np.finfo(dtype).eps * np.where(x - lower < upper - x, np.maximum(x, lower), upper)
    slope = expected["pdf"] * (1 / (x - lower) + 1 / (upper - x) + 1 / x)
    law = MarchenkoPastur(ratio, scale)
    check_ulps_of_displaced_points(law, x, expected, dtype, (lower, upper), displaced, slope)


@every_dtype
@pytest.mark.parametrize("ratio", RATIOS)
def test_distribution_rises_to_1_and_never_above(ratio, dtype):
    law = MarchenkoPastur(dtype(ratio))
    lower, upper = map(dtype, law._ends())
    check_rise_to_1(law, upper - (upper - lower) * np.logspace(0, -8, 1000, dtype=dtype), ulps=5)


@every_dtype
@pytest.mark.parametrize("ratio", [1e-3, 1 - 2.0**-20, 1 - 2.0**-10])
def test_ends_of_the_support_in_relative_error(ratio, dtype):
    law = MarchenkoPastur(dtype(ratio), dtype(1.5))
    with mpmath.workdps(40):
        expected = np.array(ends(float(dtype(ratio)), 1.5), float)
    np.testing.assert_allclose(law.support(), expected, rtol=6 * np.finfo(dtype).eps)


@every_dtype
def test_close_to_0_at_ratio_1(dtype):
    law, x = MarchenkoPastur(dtype(1), dtype(1.5)), dtype(1e-24) * np.array([1, 2.5, 1e16], dtype)
    (pdf, cdf), by_x = jax.jvp(lambda y: (law.pdf(y), law.cdf(y)), (x,), (np.ones_like(x),))
    root = np.sqrt(x.astype(float)) / 1.5
    rtol = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(cdf, 2 / np.pi * root * (1 - root**2 / 24), rtol=rtol)
    np.testing.assert_allclose(pdf, 1 / np.pi / 1.5**2 / root * (1 - root**2 / 8), rtol=rtol)
    np.testing.assert_allclose(by_x[1], pdf, rtol=rtol)
    np.testing.assert_allclose(by_x[0], -1 / (2 * np.pi) / 1.5**4 / root**3 * (1 + root**2 / 8), rtol=rtol)


# The atom


@pytest.mark.float32
@pytest.mark.parametrize(("ratio", "mass"), [(0.2, 0.0), (1.0, 0.0), (2.0, 0.5), (5.0, 0.8)])
def test_the_atom_and_the_gap(ratio, mass):
    law = MarchenkoPastur(ratio, 1.2)
    eps = jnp.finfo(law.mean().dtype).eps
    lower, upper = map(float, ends(ratio, 1.2))
    locations, masses = law.atoms()
    assert locations.shape == masses.shape == (1,)
    np.testing.assert_allclose(masses[0], mass, rtol=eps)
    assert locations[0] == law.support()[0]
    np.testing.assert_allclose(law.support(), (0 if mass else lower, upper), rtol=10 * eps)
    if mass:
        in_the_gap = lower * np.array([0.01, 0.6, 1 - 4 * eps])
        for x in [0, *in_the_gap]:
            np.testing.assert_allclose((law.cdf(x), law.sf(x)), (mass, 1 - mass), rtol=10 * eps)
            np.testing.assert_allclose(law.logcdf(x), math.log(mass), rtol=10 * eps)
            assert (law.pdf(x), law.logpdf(x)) == (0, -np.inf)
    outside = {"pdf": (0, 0), "logpdf": (-np.inf, -np.inf), "cdf": (0, 1), "sf": (1, 0), "logsf": (0, -np.inf)}
    for method, expected in outside.items():
        got = getattr(law, method)(np.array([-1e-3 * upper, upper * (1 + 8 * eps)]))
        np.testing.assert_array_equal(got, expected, err_msg=method)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize(("ratio", "mass"), [(2.0, 0.5), (5.0, 0.8)])
def test_quantiles_in_the_atom_are_exactly_0(ratio, mass):
    law = MarchenkoPastur(ratio)
    got = law.ppf(np.array([0.0, 1e-3, 0.3, mass]))
    np.testing.assert_array_equal(got, 0)
    lower, upper = map(float, law._ends())
    assert lower <= law.ppf(mass + 1e-3) < lower + 0.1 * (upper - lower)
    draws = np.asarray(law.sample(jax.random.key(1), (2000,)))
    # Four standard deviations of a binomial.
    assert abs(np.sum(draws == 0) - 2000 * mass) < 4 * math.sqrt(2000 * mass * (1 - mass))
    assert draws[draws != 0].min() >= lower


def test_a_mixture_with_an_atom():
    law = Mixture([0.5, 0.5], [Semicircle(1.0), MarchenkoPastur(4.0)])
    np.testing.assert_allclose(law.cdf(np.array([-1e-12, 0.0])), [0.25, 0.25 + 0.375], rtol=0, atol=1e-11)
    np.testing.assert_allclose(law.ppf(0.4), 0, rtol=0, atol=1e-15)


# Moments


@pytest.mark.float32
@pytest.mark.parametrize("scale", [1.0, 0.75])
@pytest.mark.parametrize("c", RATIOS)
def test_moments_are_narayana_polynomials(c, scale):
    law = MarchenkoPastur(c, scale)
    eps = jnp.finfo(law.mean().dtype).eps
    polynomials = [1, 1, 1 + c, 1 + 3 * c + c**2, 1 + 6 * c + 6 * c**2 + c**3]
    polynomials += [1 + 10 * c + 20 * c**2 + 10 * c**3 + c**4]
    for k, polynomial in enumerate(polynomials):
        np.testing.assert_allclose(law.moment(k), polynomial * scale ** (2 * k), rtol=10 * eps)
    np.testing.assert_allclose(law.mean(), scale**2, rtol=eps)
    np.testing.assert_allclose(law.var(), c * scale**4, rtol=2 * eps)


@pytest.mark.parametrize("ratio", daily(RATIOS, only=[0.2]))
def test_formula_and_fall_back_agree(ratio):
    law = MarchenkoPastur(ratio, 0.8)
    lower, upper = law.support()
    check_fall_backs(law, lower + (upper - lower) * jnp.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.97]))


# Matrices that have the law


def pooled_deviation(levels, law):
    """The largest distance between the distribution functions of a pooled spectrum and of a law, the atom included."""
    levels = np.sort(levels.ravel())
    # Eigenvalues that are exactly 0 come out as rounding noise.
    levels[np.abs(levels) < 1e-10] = 0
    points = np.linspace(0, 1.05 * levels[-1], 300)
    empirical = np.searchsorted(levels, points, side="right") / levels.size
    return np.abs(empirical - methods_at(law, points)["cdf"]).max()


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "scale"), [(0.25, 1.0), (0.8, 0.7), (1.0, 1.0), (2.5, 1.3), (5.0, 1.0)])
def test_pooled_spectra_of_wishart_matrices(ratio, scale):
    n, random = 200, np.random.default_rng(1967)
    m = round(n / ratio)
    x = (random.standard_normal((10, n, m)) + 1j * random.standard_normal((10, n, m))) * scale / 2**0.5
    levels = np.linalg.eigvalsh(x @ x.conj().swapaxes(1, 2) / m)
    # Levels are rigid: counts of ten matrices miss their mean by less than one level, 0.75 at most with three seeds.
    assert pooled_deviation(levels, MarchenkoPastur(ratio, scale)) < 1 / n
    for wrong in [(1.05 * ratio, scale), (ratio / 1.05, scale), (ratio, 1.02 * scale), (ratio, scale / 1.02)]:
        assert pooled_deviation(levels, MarchenkoPastur(*wrong)) > 1 / n


# Derivatives


@pytest.mark.parametrize("ratio", further(0.3, 1.0, 2.5))
def test_derivatives_across_the_bulk(ratio):
    # In the bulk no value has a kink at ratio 1.
    x = 1.1**2 * (1 + ratio + 2 * math.sqrt(ratio) * jnp.array([-0.9, -0.3, 0.2, 0.8]))
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x))
    check_derivatives(formulas, MarchenkoPastur(ratio, 1.1), x, second_derivative=True)
    moments = lambda law: [law.mean(), law.var(), law.moment(0) * law.moment(3)]
    check_derivatives(moments, MarchenkoPastur(ratio, 1.1))


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
def test_derivative_of_the_quantile(ratio):
    p = max(0.0, 1 - 1 / ratio) + min(1.0, 1 / ratio) * jnp.array([0.1, 0.5, 0.9])
    check_derivatives(lambda law, p: law.ppf(p), MarchenkoPastur(ratio, 1.1), p)


def test_derivative_by_the_ratio_at_1():
    # The derivative agrees from both sides of ratio 1, where the formula changes.
    for x in (1e-6, 0.4, 2.0, 3.7):
        with mpmath.workdps(40):
            expected = float(mpmath.diff(lambda c, x=x: distribution(x, c, 1), 1))
        got = jax.grad(lambda c, x=x: MarchenkoPastur(c).cdf(x))(1.0)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, *further(np.float32)])
def test_gradients_are_finite_at_inside_and_outside_the_edges(dtype):
    for ratio in (1e-3, 0.2, 1.0, 2.0, 5.0, 1e3):
        law = MarchenkoPastur(dtype(ratio), dtype(1.5))
        (lower, upper), (start, stop) = map(np.asarray, (law.support(), law._ends()))
        near = 4 * np.spacing(upper)
        middle = (start + stop) / 2
        x = [-upper, lower, lower + near, start / 2, start, start + near, middle, stop - near, stop, 2 * stop]
        at_ends = np.isin(x, [lower, stop, -upper, 2 * stop])
        assert at_ends.sum() >= 4
        check_slopes(law, np.array(x, dtype), flat=np.flatnonzero(at_ends))


def test_the_atom_grows_with_the_ratio():
    # The points lie below, at and above the atom, in the gap.
    by_ratio = jax.vmap(jax.grad(lambda c, x: MarchenkoPastur(c).cdf(x)), (None, 0))
    np.testing.assert_allclose(by_ratio(4.0, jnp.array([-1.0, 0.0, 0.5])), [0, 1 / 16, 1 / 16], rtol=1e-15)
    mass = jax.grad(lambda c: MarchenkoPastur(c).atoms()[1][0])
    assert (mass(0.5), mass(1.0), mass(2.0)) == (0, 0, 0.25)


@pytest.mark.float32
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, np.array([1.0, 2.0]), 1j])
@pytest.mark.parametrize("name", ["ratio", "scale"])
def test_a_bad_parameter_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must be (positive and finite|a real scalar), got"):
        MarchenkoPastur(**{"ratio": 0.5, "scale": 1.0, name: value})
