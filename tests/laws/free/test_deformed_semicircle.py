"""Free convolutions of point masses with the semicircle: mpmath's polynomial roots, gaps, moments, the contract."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import DeformedSemicircle, Semicircle
from rmtjax.laws._core import fallbacks
from rmtjax.testing import check_derivatives, check_second_derivative
from tests.cases import daily, every_dtype, further
from tests.laws.reference import polynomial_roots

# Two points in one interval, in two, and at the cusp between; three unsorted points in two intervals; equal points.
CASES = {
    "merged": ([-0.5, 0.5], [0.5, 0.5], 1.5),
    "two intervals": ([-1.0, 1.0], [0.5, 0.5], 1.0),
    "cusp": ([-1.0, 1.0], [0.5, 0.5], 2.0),
    "lopsided": ([1.0, -1.0, 0.25], [0.25, 0.125, 0.625], 1.0),
    "equal": ([0.5, -1.5, 0.5], [0.25, 0.5, 0.25], 1.25),
}
every_case = pytest.mark.parametrize("name", CASES)


def make(name, dtype=np.float64):
    locations, weights, radius = CASES[name]
    return DeformedSemicircle(np.array(locations, dtype), np.array(weights, dtype), radius)


def stieltjes(x, name):
    """G at x + i0 from the roots of the polynomial equation that it solves: a complex root, or None in a gap."""
    locations, weights, radius = CASES[name]
    square = mpmath.mpf(radius) ** 2 / 4
    # (x - ω)/σ² = Σ w/(ω - a), cleared of denominators, in ω.
    product = lambda roots: functools.reduce(np.polymul, [np.array([1, -mpmath.mpf(a)], object) for a in roots], [1])
    right = functools.reduce(
        np.polyadd,
        [mpmath.mpf(w) * square * product(np.delete(locations, k)) for k, w in enumerate(weights)],
        np.array([0], object),
    )
    left = np.polymul(np.array([-1, mpmath.mpf(x)], object), product(locations))
    highest = max(polynomial_roots(np.polysub(left, right)), key=mpmath.im)
    return (x - highest) / square if mpmath.im(highest) > mpmath.mpf(10) ** -15 else None


def density(x, name):
    g = stieltjes(x, name)
    return mpmath.mpf(0) if g is None else -mpmath.im(g) / mpmath.pi


@functools.cache
def points(name):
    lower, upper = (float(end) for end in make(name).support())
    return lower + (upper - lower) * np.linspace(0, 1, 31)[1:-1] + 0.001


@jax.jit
def tabulate(law, x):
    return law.pdf(x), law.cdf(x), law.sf(x), jax.vmap(jax.grad(law.cdf))(x)


@every_dtype
@pytest.mark.parametrize("name", daily(CASES, but=["lopsided"]))
def test_density_by_the_roots_of_a_polynomial(name, dtype):
    x = points(name).astype(np.float32).astype(float)
    with mpmath.workdps(40):
        expected = np.array([float(density(mpmath.mpf(y), name)) for y in x])
    pdf, cdf, sf, _ = map(np.asarray, tabulate(make(name, dtype), jnp.asarray(x, dtype)))
    assert pdf.dtype == cdf.dtype == dtype
    eps = np.finfo(dtype).eps
    # A displacement of x by a few ulp changes the density by its slope, which is large near an edge.
    slope = np.abs(np.gradient(expected, x)) + 10
    assert (np.abs(pdf - expected) <= 20 * eps * (expected + slope)).all()
    np.testing.assert_array_equal(pdf[expected == 0], 0)
    np.testing.assert_allclose(cdf + sf, 1, rtol=0, atol=8 * eps)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["merged", *further("two intervals", "lopsided", "equal")])
def test_distribution_is_the_integral_of_the_density(name):
    law, x = make(name), points(name)[::3]
    _, cdf, _, slope = tabulate(law, x)
    np.testing.assert_allclose(cdf, jax.jit(lambda law, x: fallbacks.cdf(law, x))(law, x), rtol=0, atol=1e-11)
    np.testing.assert_allclose(slope, law.pdf(x), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_single_point_is_the_semicircle():
    x = 0.3 + 1.2 * np.array([-1.1, -1 + 2.0**-30, -0.9, -0.2, 0.1, 0.7, 1 - 2.0**-20, 1.0, 2.0])
    law, semicircle = DeformedSemicircle([0.3], [1.0], 1.2), Semicircle(1.2)
    near = np.abs(np.abs(x - 0.3) - 1.2) < 1e-5
    for method in ("pdf", "cdf", "sf"):
        got, expected = getattr(law, method)(x), getattr(semicircle, method)(x - 0.3)
        np.testing.assert_allclose(got[~near], expected[~near], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(got[near], expected[near], rtol=1e-6)


def test_two_symmetric_points_by_the_cubic():
    # With σ = 1 and points ±a the support has the ends of Brézin and Hikami's cubic; at a = 1 the gap closes at 0, with
    # f(x) ~ (√3/2π) |x|^{1/3}.
    law = make("cusp")
    x = np.array([1e-9, -1e-6])
    np.testing.assert_allclose(law.pdf(x), 3**0.5 / (2 * np.pi) * np.abs(x) ** (1 / 3), rtol=1e-2)
    np.testing.assert_allclose(law.cdf(0.0), 0.5, rtol=1e-12)
    np.testing.assert_allclose(law.support(), (-(27**0.5) / 2, 27**0.5 / 2), rtol=1e-14)


def test_gaps_and_their_ends():
    law = make("two intervals")
    # Σ w/(u - a)² = 1/σ² with σ = 1/2 has u² = 1 + σ²/2 ± σ √(2 + σ²/4); numpy solves it here for u².
    squares = np.roots([1, -2 - 0.25, 1 - 0.25])
    u = np.sqrt(np.sort(squares))
    inner, outer = u + 0.25 * u / (u**2 - 1)
    edges = np.unique(np.round(law.breakpoints(), 13))
    np.testing.assert_allclose(edges, [-outer, -inner, inner, outer], rtol=1e-12)
    x = inner * np.array([-0.99, 0.0, 0.5, 0.99])
    np.testing.assert_array_equal(law.pdf(x), 0)
    np.testing.assert_allclose(law.cdf(x), 0.5, rtol=1e-14)
    assert (np.asarray(jax.vmap(jax.grad(law.cdf))(x)) == 0).all()
    # A gap carries the mass of the points on either side.
    np.testing.assert_allclose(make("equal").cdf(-0.4), 0.5, rtol=1e-14)


@pytest.mark.float32
@every_case
def test_moments_by_free_cumulants(name):
    # The law has the free cumulants of the points, but σ² more in the second; Speicher's recursion gives the moments.
    locations, weights, radius = map(np.array, CASES[name])
    raw = [np.sum(weights * locations**k) for k in range(7)]

    def coefficient(moments, s, total):
        """The coefficient of z^total in (1 + Σ m z^k)^s."""
        power = np.ones(1)
        for _ in range(s):
            power = np.convolve(power, moments)[: total + 1]
        return power[total]

    cumulants = np.zeros(7)
    for n in range(1, 7):
        cumulants[n] = raw[n] - sum(cumulants[s] * coefficient(raw[: n - s + 1], s, n - s) for s in range(1, n))
    cumulants[2] += radius**2 / 4
    moments = [1.0]
    for n in range(1, 7):
        moments.append(sum(cumulants[s] * coefficient(moments, s, n - s) for s in range(1, n + 1)))
    law = make(name, jnp.zeros(()).dtype)
    rtol = 100 * jnp.finfo(law.mean().dtype).eps
    np.testing.assert_allclose([law.moment(k) for k in range(7)], moments, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(law.mean(), moments[1], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(law.var(), moments[2] - moments[1] ** 2, rtol=rtol)


@pytest.mark.slow
def test_derivatives():
    law, x = make("lopsided"), jnp.array([-1.1, 0.1, 0.9])
    formulas = lambda law, x: (law.pdf(x), law.cdf(x))
    check_derivatives(formulas, law, x)
    check_second_derivative(lambda law, x: law.cdf(x), law, x)
    check_derivatives(lambda law: (law.support(), law.moment(3), law.var(), law.ppf(0.3)), law)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], 1.0), "`locations` must be a vector of at least one number"),
        ((1.0, 1.0, 1.0), "`locations` must be a vector of at least one number"),
        (([1j], [1.0], 1.0), "`locations` must be real"),
        (([np.inf], [1.0], 1.0), "`locations` must be finite"),
        (([0.0, 1.0], [1.0], 1.0), r"`weights` must have the shape \(2,\), got \(1,\)"),
        (([0.0, 1.0], [1.0, 0.0], 1.0), "`weights` must be positive and sum to 1"),
        (([0.0, 1.0], [0.5, 0.6], 1.0), "`weights` must be positive and sum to 1"),
        (([0.0], [1.0], 0.0), "`radius` must be positive and finite"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        DeformedSemicircle(*arguments)
