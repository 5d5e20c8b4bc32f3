import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.stats

from rmtjax.laws import MarchenkoPastur, Wachter
from rmtjax.testing import check_derivatives, check_second_derivative
from tests.cases import every_dtype
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

# Parameters with soft and hard edges, and with each of the four sets of atoms.
PARAMETERS = [(2.0, 3.0), (1.0, 2.5), (0.5, 2.0), (2.0, 0.25), (0.75, 0.5)]
# The ends of the support, and all that leads to them, are exact in float32; an x has its exact distance from them.
EXACT = [(1.0, 1.0), (3.0, 1.0), (1.0, 3.0), (15.0, 1.0)]


# An independent implementation of the law in mpmath.


def ends(a, b):
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    one, other = mpmath.sqrt(a * (a + b - 1)), mpmath.sqrt(b)
    return ((one - other) / (a + b)) ** 2, ((one + other) / (a + b)) ** 2


def density(x, a, b):
    lower, upper = ends(a, b)
    root = mpmath.sqrt(abs((upper - x) * (x - lower)))
    return (mpmath.mpf(a) + b) * root / (2 * mpmath.pi * x * (1 - x))


def masses(a, b):
    """The masses of the atoms at 0 and at 1."""
    return max(mpmath.mpf(0), 1 - mpmath.mpf(a)), max(mpmath.mpf(0), 1 - mpmath.mpf(b))


def distribution(x, a, b):
    """∫ √((u-t)(t-l))/t by inverse cosines, also with 1 - t for t, which is not the form that the library uses."""
    (lower, upper), x = ends(a, b), mpmath.mpf(x)

    def part(x, lower, upper):
        """The integral of √((u-t)(t-l))/(πt) from l to x (Gradshteyn and Ryzhik, 2.267)."""
        middle, half, square = (upper + lower) / 2, (upper - lower) / 2, lower * upper
        angle = lambda cosine: mpmath.acos(max(-1, min(1, cosine)))
        root = mpmath.sqrt(abs((upper - x) * (x - lower)))
        inverse = mpmath.sqrt(square) * angle((square / x - middle) / half) if lower > 0 else 0
        return (root + middle * angle((middle - x) / half) - inverse) / mpmath.pi

    whole = part(1 - lower, 1 - upper, 1 - lower)
    return masses(a, b)[0] + (mpmath.mpf(a) + b) / 2 * (
        part(x, lower, upper) + whole - part(1 - x, 1 - upper, 1 - lower)
    )


@functools.cache
def table(a, b):
    """Points of float32 near the ends and in the bulk, and all methods there."""
    with mpmath.workdps(60):
        lower, upper = ends(a, b)
        x = [float(np.float32(lower + (upper - lower) * mpmath.mpf(fraction))) for fraction in FRACTIONS]
        pdf = [density(mpmath.mpf(y), a, b) for y in x]
        cdf = [distribution(y, a, b) for y in x]
        return columns_of(x, pdf, cdf, [1 - p for p in cdf])


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (3.25, 1.0), *PARAMETERS])
def test_the_reference_is_the_integral_of_the_density(a, b):
    with mpmath.workdps(30):
        lower, upper = ends(a, b)
        x = float(lower + (upper - lower) / 3)
        # The integrand is smooth in the square root of the distance from an end, at a hard edge as well.
        below = lambda u: 2 * u * density(lower + u**2, a, b)
        above = lambda u: 2 * u * density(upper - u**2, a, b)
        tiny = mpmath.mpf(10) ** -17
        left = mpmath.quad(below, [tiny, mpmath.sqrt(x - lower)])
        right = mpmath.quad(above, [tiny, mpmath.sqrt(upper - x)])
        assert abs(distribution(x, a, b) - masses(a, b)[0] - left) < 1e-15
        assert abs(1 - distribution(x, a, b) - masses(a, b)[1] - right) < 1e-15


# Values


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize(("a", "b"), EXACT)
def test_a_few_ulp_of_relative_error_up_to_the_edges(a, b, dtype):
    check_ulps(Wachter(a, b), *table(a, b), dtype)


@every_dtype
@pytest.mark.parametrize(
    ("a", "b"), [*PARAMETERS, (1 + 2.0**-20, 5.0), (0.25, 100.0), (20.0, 0.25), (1000.0, 2000.0), (2.0**-10, 1.5)]
)
def test_a_few_ulp_where_the_ends_are_rounded(a, b, dtype):
    x, expected = table(a, b)
    # The point, and the end near to it, are displaced by a few ulp.
    lower, upper = map(float, ends(a, b))
    near_lower = x - lower < upper - x
    displaced = 4 * np.finfo(dtype).eps * np.where(near_lower, np.maximum(x, lower), np.maximum(upper, 0.25))
    slope = expected["pdf"] * (1 / (x - lower) + 1 / (upper - x) + 1 / x + 1 / (1 - x))
    check_ulps_of_displaced_points(Wachter(a, b), x, expected, dtype, (lower, upper), displaced, slope)


@pytest.mark.float32(further=True)
def test_both_at_1_is_the_arcsine_law():
    law, x = Wachter(1.0, 1.0), np.array([1e-20, 1e-5, 0.2, 0.5, 0.9])
    eps = jnp.finfo(law.mean().dtype).eps
    arcsine = scipy.stats.arcsine
    for method in ("pdf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(law, method)(x), getattr(arcsine, method)(x), rtol=20 * eps)
    assert law.support() == (0, 1)


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_the_laws_of_the_rest_and_of_the_complement(a, b):
    # 1 - X has a and b exchanged. With the two subspaces exchanged, the angles between them stay the same.
    x = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(Wachter(a, b).cdf(x), Wachter(b, a).sf(1 - x), rtol=0, atol=3e-15)
    other = Wachter(1 / a, (a + b - 1) / a)
    np.testing.assert_allclose(Wachter(a, b).pdf(x), a * other.pdf(x), rtol=1e-12, atol=1e-14)


@pytest.mark.float32
def test_large_b_is_marcenko_and_pasturs_law():
    # Y Y* is nearly m₂, so the levels x = a y/(a + b) come from the levels y of X X*/m₁.
    a, b, y = 2.0, 1e5, np.linspace(0.1, 3.0, 20)
    np.testing.assert_allclose(Wachter(a, b).cdf(a * y / (a + b)), MarchenkoPastur(1 / a).cdf(y), rtol=0, atol=1e-4)


@every_dtype
@pytest.mark.parametrize(("a", "b"), [*PARAMETERS, (0.25, 0.8125), (1.0, 1.0)])
def test_distribution_rises_to_1_and_never_above(a, b, dtype):
    law = Wachter(dtype(a), dtype(b))
    lower, upper = map(dtype, law._ends())
    check_rise_to_1(law, upper - (upper - lower) * np.logspace(0, -8, 1000, dtype=dtype), ulps=3)


@every_dtype
@pytest.mark.parametrize(("a", "b"), [(1 + 2.0**-20, 3.0), (1 - 2.0**-20, 3.0), (1000.0, 1.5), (0.75, 0.25 + 2.0**-20)])
def test_ends_of_the_continuous_part_in_relative_error(a, b, dtype):
    law = Wachter(dtype(a), dtype(b))
    with mpmath.workdps(40):
        lower, upper = ends(a, b)
        from_1 = float(1 - upper)
        expected = np.array([lower, upper], float)
    rtol = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(law._ends(), expected, rtol=rtol)
    np.testing.assert_allclose(Wachter(dtype(b), dtype(a))._ends()[0], from_1, rtol=rtol)


# The atoms


@pytest.mark.float32(further=True)
@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_the_atoms_and_the_gaps(a, b):
    law = Wachter(a, b)
    eps = jnp.finfo(law.mean().dtype).eps
    lower, upper = map(float, ends(a, b))
    zero, one = map(float, masses(a, b))
    locations, weights = law.atoms()
    np.testing.assert_allclose(weights, [zero, one], rtol=eps)
    np.testing.assert_array_equal(locations, law.support())
    np.testing.assert_allclose(law.support(), (0 if zero else lower, 1 if one else upper), rtol=12 * eps)
    gaps = [(lower * np.array([0.01, 0.6, 1 - 8 * eps]), zero)] * (zero > 0)
    gaps += [(upper + (1 - upper) * np.array([8 * eps, 0.4, 0.99]), 1 - one)] * (one > 0)
    for x, below in gaps:
        np.testing.assert_allclose(law.cdf(x), below, rtol=12 * eps)
        np.testing.assert_allclose(law.sf(x), 1 - below, rtol=12 * eps)
        np.testing.assert_array_equal(law.pdf(x), 0)
        np.testing.assert_array_equal(law.logpdf(x), -np.inf)
    np.testing.assert_allclose(law.cdf(law.support()[0]), zero, rtol=12 * eps)
    outside = {"pdf": (0, 0), "logpdf": (-np.inf, -np.inf), "cdf": (0, 1), "sf": (1, 0), "logsf": (0, -np.inf)}
    for method, expected in outside.items():
        np.testing.assert_array_equal(getattr(law, method)(np.array([-1e-3, 1 + 8 * eps])), expected, err_msg=method)


@pytest.mark.float32(further=True)
def test_quantiles_in_the_atoms_are_exact():
    law = Wachter(0.75, 0.5)
    np.testing.assert_array_equal(law.ppf(np.array([0.0, 0.1, 0.25])), 0)
    np.testing.assert_array_equal(law.ppf(np.array([0.500001, 0.7, 1.0])), 1)
    lower, upper = map(float, law._ends())
    between = np.asarray(law.ppf(np.array([0.25 + 1e-4, 0.4, 0.5 - 1e-4])))
    assert lower <= between.min()
    assert between.max() <= upper
    draws = np.asarray(law.sample(jax.random.key(1), (2000,)))
    for end, mass in [(0, 0.25), (1, 0.5)]:
        # Five standard deviations of a binomial.
        assert abs(np.sum(draws == end) - 2000 * mass) < 5 * math.sqrt(2000 * mass * (1 - mass))
    inside = draws[(draws != 0) & (draws != 1)]
    assert lower <= inside.min()
    assert inside.max() <= upper


@every_dtype
def test_nothing_but_atoms(dtype):
    # The sums of half of these pairs of quotients miss 1 by rounding.
    for numerator in range(1, 49):
        a, b = dtype(numerator / 49), dtype((49 - numerator) / 49)
        law, eps = Wachter(a, b), np.finfo(dtype).eps
        cdf = methods_at(law, np.array([0.0, 1e-3, 0.999], dtype))["cdf"]
        np.testing.assert_allclose(cdf, 1 - a, rtol=0, atol=8 * eps)
        np.testing.assert_allclose(law.var(), a * b, rtol=8 * eps)
    np.testing.assert_array_equal(Wachter(0.25, 0.75).ppf(np.array([0.5, 0.75, 0.751])), [0, 0, 1])
    np.testing.assert_allclose(Wachter(0.25, 0.75).moment(7), 0.25, rtol=1e-6)


# Moments


@pytest.mark.float32(further=True)
@pytest.mark.parametrize(("a", "b"), [*PARAMETERS, (0.5, 1e-3 + 0.5), (0.25, 100.0)])
def test_moments(a, b):
    law = Wachter(a, b)
    eps = jnp.finfo(law.mean().dtype).eps
    with mpmath.workdps(30):
        lower, upper = ends(a, b)

        def moment(k):
            """Quadrature in the angle, where the density is smooth; every moment of an atom at 1 is its mass."""

            def integrand(t):
                x = (upper + lower) / 2 - (upper - lower) / 2 * mpmath.cos(t)
                return x**k * density(x, a, b) * (upper - lower) / 2 * mpmath.sin(t)

            return float(mpmath.quad(integrand, [1e-12, 1, 2, mpmath.pi - 1e-12]) + masses(a, b)[1])

        expected = {k: moment(k) for k in (1, 2, 3, 6)}
    for k, value in expected.items():
        np.testing.assert_allclose(law.moment(k), value, rtol=max(20 * eps, 1e-11))
    assert law.moment(0) == 1
    np.testing.assert_allclose(law.mean(), a / (a + b), rtol=4 * eps)
    np.testing.assert_allclose(law.var(), expected[2] - expected[1] ** 2, rtol=max(20 * eps, 1e-9))


@pytest.mark.float32
@pytest.mark.parametrize(("a", "b"), [(0.01, 1.0), (2.0, 1.0), (1.0, 1.0), (0.5, 0.75), (3.0, 2.0)])
def test_skewness_and_kurtosis(a, b):
    # The sums over the two binomial variates of the class docstring, in 50 digits.
    with mpmath.workdps(50):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        weight = lambda k, j, p: mpmath.binomial(k, j) * p**j * (1 - p) ** (k - j)

        def moment(k):
            pairs = ((i, j) for i in range(k) for j in range(k - i))
            first, second = (a + b - 1) / (a + b), b / (a + b)
            total = sum(mpmath.mpf(k - i - j) / k * weight(k, i, first) * weight(k, j, second) for i, j in pairs)
            return (a + b) * total

        m1, m2, m3, m4 = map(moment, range(1, 5))
        variance, third = m2 - m1**2, m3 - 3 * m1 * m2 + 2 * m1**3
        fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
        expected = float(third / variance**1.5), float(fourth / variance**2 - 3)
    law = Wachter(float(a), float(b))
    rtol = 20 * np.finfo(law.kurtosis().dtype).eps
    np.testing.assert_allclose([law.skewness(), law.kurtosis()], expected, rtol=rtol, atol=rtol)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_formula_and_fall_back_agree(a, b):
    law = Wachter(a, b)
    lower, upper = law._ends()
    check_fall_backs(law, lower + (upper - lower) * jnp.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.97]))


# Matrices that have the law


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(2.0, 1.5), (1.0, 2.5), (0.5, 1.25), (0.75, 0.5)])
def test_pooled_spectra_of_manova_matrices(a, b):
    # The Gram matrix of the top rows of a complex orthonormal frame from numpy.
    n, random = 200, np.random.default_rng(1980)
    first, rows = round(a * n), round((a + b) * n)
    frames = np.linalg.qr(random.standard_normal((10, rows, n)) + 1j * random.standard_normal((10, rows, n)))[0]
    top = frames[:, :first]
    levels = np.sort(np.linalg.eigvalsh(top.conj().swapaxes(1, 2) @ top).ravel())
    points = np.linspace(0.003, 0.997, 300)
    empirical = np.searchsorted(levels, points, side="right") / levels.size
    deviation = lambda a, b: np.abs(empirical - methods_at(Wachter(a, b), points)["cdf"]).max()
    # Levels are rigid: counts of ten matrices miss their mean by less than one level.
    assert deviation(a, b) < 1 / n
    for wrong in [(1.05 * a, b), (a, 1.05 * b), (a / 0.97, b / 0.97)]:
        assert deviation(*wrong) > 1 / n


# Derivatives


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(2.0, 0.25), (1.0, 2.5)])
def test_derivatives_across_the_bulk(a, b):
    # In the bulk no value has a kink where a or b is 1.
    lower, upper = map(float, ends(a, b))
    x = (lower + upper) / 2 + (upper - lower) / 2 * jnp.array([-0.9, -0.3, 0.2, 0.8])
    check_derivatives(lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x)), Wachter(a, b), x)


@pytest.mark.slow
def test_second_derivatives_and_those_of_moments():
    x = jnp.array([0.3, 0.6])
    check_second_derivative(lambda law, x: (law.pdf(x), law.cdf(x)), Wachter(0.75, 1.0), x)
    check_derivatives(lambda law: [law.mean(), law.var(), law.moment(0) * law.moment(3)], Wachter(0.75, 0.5))


@pytest.mark.slow
def test_derivative_of_the_quantile():
    law = Wachter(0.75, 0.5)
    check_derivatives(lambda law, p: law.ppf(p), law, jnp.array([0.28, 0.4, 0.48]))
    # An atom does not move.
    by_p, by_law = jax.grad(lambda p, law: law.ppf(p), (0, 1))(0.999, law)
    assert (by_p, by_law.a, by_law.b) == (0, 0, 0)


def test_derivatives_by_parameters_at_1():
    # The derivatives agree from both sides of 1, where the formula changes.
    slope = jax.jit(jax.grad(lambda a, b, x: Wachter(a, b).cdf(x), (0, 1)))
    for a, b in [(1.0, 2.5), (2.5, 1.0), (1.0, 1.0)]:
        for x in (1e-6, 0.05, 0.3):
            h = mpmath.mpf(10) ** -12
            with mpmath.workdps(60):
                by_a = (distribution(x, a + h, b) - distribution(x, a - h, b)) / (2 * h)
                by_b = (distribution(x, a, b + h) - distribution(x, a, b - h)) / (2 * h)
            lower, upper = map(float, ends(a, b))
            if lower + 1e-9 < x < upper:
                np.testing.assert_allclose(slope(a, b, x), (float(by_a), float(by_b)), rtol=1e-8)


@pytest.mark.slow
@every_dtype
def test_gradients_are_finite_at_inside_and_outside_the_edges(dtype):
    for a, b in [*PARAMETERS, (1.0, 1.0), (0.25, 0.75), (1e-3, 1e3), (1e3, 1e-3), (1e3, 1e3)]:
        law = Wachter(dtype(a), dtype(b))
        (lower, upper), (start, stop) = map(np.asarray, (law.support(), law._ends()))
        near = 4 * np.spacing(stop)
        middle = (start + stop) / 2
        x = [-1, lower, lower + near, start / 2, start, start + near, middle, stop - near, stop, (1 + stop) / 2, upper]
        at_ends = np.isin([*x, 2], [lower, upper, -1, 2])
        assert at_ends.sum() >= 4
        check_slopes(law, np.array([*x, 2], dtype), flat=np.flatnonzero(at_ends))


def test_the_atoms_shrink_with_the_parameters():
    mass = jax.jacobian(lambda a, b: Wachter(a, b).atoms()[1], (0, 1))
    np.testing.assert_array_equal(mass(0.75, 0.5), [[-1, 0], [0, -1]])
    np.testing.assert_array_equal(mass(1.0, 1.0), np.zeros((2, 2)))


@pytest.mark.float32
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, np.array([1.0, 2.0]), 1j])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_bad_parameter_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must be (positive(,| and) finite.*|a real scalar), got"):
        Wachter(**{"a": 1.5, "b": 1.0, name: value})


@pytest.mark.float32
def test_too_few_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"`b` must be positive, finite and at least 1 - a, got 0\.3"):
        Wachter(0.6, 0.3)
