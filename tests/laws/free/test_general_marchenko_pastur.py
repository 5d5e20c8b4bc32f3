"""Marčenko and Pastur's law for a population: mpmath's polynomial roots, gaps, atoms, moments, the contract."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import GeneralMarchenkoPastur, MarchenkoPastur
from rmtjax.testing import check_derivatives, check_second_derivative
from tests.cases import daily, every_dtype
from tests.laws.core.methods import FRACTIONS
from tests.laws.reference import polynomial_roots

# All have three points, so that they share compilations; all values are exact in float32.
CASES = {
    "merged": (0.5, [1.0, 3.0, 1.0], [0.25, 0.5, 0.25]),
    "two intervals": (0.125, [5.0, 1.0, 1.25], [0.25, 0.5, 0.25]),
    "three intervals": (0.0078125, [1.0, 4.0, 2.0], [0.5, 0.25, 0.25]),
    "more variables": (2.5, [1.0, 8.0, 0.25], [0.5, 0.25, 0.25]),
    "many more variables": (64.0, [1.0, 1024.0, 2.0], [0.5, 0.25, 0.25]),
    "square": (1.0, [0.5, 4.0, 1.0], [0.25, 0.5, 0.25]),
    "null": (2.0, [0.0, 1.0, 4.0], [0.75, 0.125, 0.125]),
    "null and more variables": (4.0, [0.0, 1.0, 4.0], [0.5, 0.25, 0.25]),
    "null and square": (2.0, [1.0, 0.0, 4.0], [0.25, 0.5, 0.25]),
    "spike": (0.25, [1.0, 8.0, 2.0], [0.5, 2.0**-10, 0.5 - 2.0**-10]),
}
ATOMS = {"more variables": 0.6, "many more variables": 63 / 64, "null": 0.75, "null and more variables": 0.75}
ATOMS |= {"null and square": 0.5}
every_case = pytest.mark.parametrize("name", CASES)


def make(name, dtype=np.float64):
    ratio, population, weights = CASES[name]
    return GeneralMarchenkoPastur(ratio, np.array(population, dtype), np.array(weights, dtype))


# An independent implementation of Silverstein's equation in mpmath.


def positive_masses(name):
    """The weights by population eigenvalue, without the null eigenvalues."""
    _, population, weights = CASES[name]
    return {t: sum(w for s, w in zip(population, weights, strict=True) if s == t) for t in population if t > 0}


def polynomial(z, name):
    """Coefficients in ω of the equation without denominators; factors ω from null eigenvalues are left out."""
    ratio, masses = CASES[name][0], positive_masses(name)
    factors = {t: np.array([1, -mpmath.mpf(t)], object) for t in masses}
    product = lambda points: functools.reduce(np.polymul, [factors[t] for t in points], np.array([mpmath.mpf(1)]))
    right = np.polymul(np.array([1, 0], object), product(masses))
    for t, w in masses.items():
        others = product([s for s in masses if s != t])
        right = np.polyadd(right, np.polymul(np.array([mpmath.mpf(ratio) * w * t, 0], object), others))
    return np.polysub(right, z * product(masses))


def subordinate(z, name):
    return max(polynomial_roots(polynomial(z, name)), key=mpmath.im)


def transform(z, name):
    _, population, weights = CASES[name]
    omega = subordinate(z, name)
    terms = [w / (omega - mpmath.mpf(t)) for t, w in zip(population, weights, strict=True)]
    return omega / z * mpmath.fsum(terms)


def ends(name):
    """Ends of all bands: the real critical values of the equation."""
    ratio, masses = CASES[name][0], positive_masses(name)
    product = lambda points: functools.reduce(
        np.polymul, [np.array([1, -2 * mpmath.mpf(t), mpmath.mpf(t) ** 2], object) for t in points], [mpmath.mpf(1)]
    )
    slope = product(masses)
    for t, w in masses.items():
        slope = np.polysub(slope, mpmath.mpf(ratio) * w * t**2 * product([s for s in masses if s != t]))
    real = [mpmath.re(u) for u in polynomial_roots(slope) if abs(mpmath.im(u)) < mpmath.mpf(10) ** -25]
    image = lambda u: u * (1 + mpmath.fsum(ratio * w * t / (u - t) for t, w in masses.items()))
    return sorted(image(u) for u in real)


def distribution(x, name):
    """The distribution function from the logarithms in the primitive, which cancel."""
    ratio, masses = CASES[name][0], positive_masses(name)
    omega = subordinate(x, name)
    omega = mpmath.mpc(omega.real, max(omega.imag, 0))
    primitive = x / omega + (1 - ratio * mpmath.fsum(masses.values())) * mpmath.log(omega)
    primitive += ratio * mpmath.fsum(w * mpmath.log(omega - t) for t, w in masses.items())
    return 1 - primitive.imag / (mpmath.pi * ratio)


@functools.cache
def table(name):
    """Points of float32 in the widest band, their distance from its ends, and pdf, cdf and sf there."""
    with mpmath.workdps(60):
        edges = ends(name)
        lower, upper = max(zip(edges[::2], edges[1::2], strict=True), key=lambda band: band[1] - band[0])
        x = [float(np.float32(lower + (upper - lower) * mpmath.mpf(fraction))) for fraction in FRACTIONS]
        pdf = [mpmath.im(-1 / subordinate(mpmath.mpf(y), name)) / (mpmath.pi * CASES[name][0]) for y in x]
        cdf = [distribution(mpmath.mpf(y), name) for y in x]
        values = [np.array(column, float) for column in (pdf, cdf, [1 - p for p in cdf])]
        distance = np.array([min(y - lower, upper - y) for y in x], float)
    return np.array(x), distance, values


@jax.jit
def tabulate(law, x):
    return law.pdf(x), law.cdf(x), law.sf(x), jax.vmap(jax.grad(law.cdf))(x)


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
@pytest.mark.parametrize("name", daily(CASES, only=["merged", "many more variables", "null and square", "spike"]))
def test_a_few_ulp_at_points_a_few_ulp_away(name, dtype):
    x, distance, (pdf, cdf, sf) = table(name)
    got = [np.asarray(column) for column in tabulate(make(name, dtype), jnp.asarray(x, dtype))]
    assert {column.dtype for column in got} == {np.dtype(dtype)}
    eps = np.finfo(dtype).eps
    displaced = 32 * eps * x  # next to a narrow gap an end is no better known
    keep = distance > 3 * displaced
    assert keep.sum() >= 6
    for column, expected, slope in zip(got, (pdf, cdf, sf), (pdf / distance, pdf, pdf), strict=False):
        ratio = np.abs(column - expected) / (100 * eps * expected + displaced * slope)
        assert (ratio[keep] <= 1).all(), ratio[keep]
    # A slope is as uncertain as the curvature times the displacement.
    assert (np.abs(got[3] - pdf) <= 100 * eps * pdf * (1 + x / distance))[keep].all()


@every_case
def test_bands(name):
    law = make(name)
    with mpmath.workdps(60):
        expected = np.array(ends(name), float)
    mass = ATOMS.get(name, 0.0)
    locations, masses = law.atoms()
    np.testing.assert_allclose(masses, [mass], rtol=1e-15)
    np.testing.assert_allclose(law.support(), [0.0 if mass else expected[0], expected[-1]], rtol=1e-14, atol=1e-30)
    assert locations[0] == law.support()[0]
    points = np.asarray(law.breakpoints())
    for end in expected:
        assert np.abs(points - end).min() <= 1e-13 * expected[-1]
    # In a gap the density is 0, and the mass below is the mass of whole points, or of the atom.
    gaps = np.stack([expected[1:-1:2], expected[2::2]], axis=1)
    if mass and expected[0] > 0:
        gaps = np.concatenate([[[0.0, expected[0]]], gaps])
    population, weights = np.array(CASES[name][1]), np.array(CASES[name][2])
    possible = [mass, *(weights[population <= t].sum() for t in population)]
    inside = np.array([*(lower + (upper - lower) * np.array([0.01, 0.5, 0.99]) for lower, upper in gaps)]).ravel()
    inside = np.pad(inside, (0, 14 - inside.size), constant_values=-1.0)
    pdf, cdf, _, slope = map(np.asarray, tabulate(law, jnp.asarray(inside)))
    np.testing.assert_array_equal(pdf, 0)
    np.testing.assert_array_equal(slope, 0)
    assert (np.abs(cdf[inside > 0, None] - possible).min(-1) < 1e-14).all()


@pytest.mark.parametrize(
    ("name", "number"), [("merged", 1), ("two intervals", 2), ("three intervals", 3), ("spike", 2)]
)
def test_numbers_of_bands(name, number):
    with mpmath.workdps(60):
        assert len(ends(name)) == 2 * number


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize("ratio", [0.25, 2.0**-10, 1.0, 2.25, 100.0])
def test_a_single_point_is_the_law_of_marchenko_and_pastur(ratio, dtype):
    law, other = GeneralMarchenkoPastur(ratio, np.array([1.5**2] * 3, dtype)), MarchenkoPastur(ratio, dtype(1.5))
    eps = np.finfo(dtype).eps
    lower, upper = map(float, other._ends())
    np.testing.assert_allclose(law._ends(), (lower, upper), rtol=8 * eps)
    x = np.array(lower + (upper - lower) * np.array([-2.0, -1e-3, *np.linspace(0.05, 0.95, 11), 2.0]), dtype)
    got, expected = tabulate(law, jnp.asarray(x)), tabulate(other, jnp.asarray(x))
    relative = 100 * eps * max(upper / (upper - lower), 1)
    for one, two in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=relative)
    numbers = lambda law: [law.mean(), law.var(), *(law.moment(k) for k in range(7)), law.free_cumulant(4)]
    np.testing.assert_allclose(jax.jit(numbers)(law), jax.jit(numbers)(other), rtol=200 * eps, atol=10 * eps * upper**4)
    p = np.array([0.1, 0.9, 0.999], dtype)
    np.testing.assert_allclose(law.ppf(p), other.ppf(p), rtol=relative, atol=8 * eps * upper)


@every_dtype
@pytest.mark.parametrize("name", ["square", "null and square"])
def test_close_to_0_where_the_density_diverges(name, dtype):
    law, x = make(name, dtype), np.array([1e-24, 3e-18] + [1e-16] * 12, dtype)
    ratio, population, weights = CASES[name]
    inverse = sum(w / t for t, w in zip(population, weights, strict=True) if t > 0)
    # Near 0, ω² ~ -x/(c E t⁻¹).
    pdf, cdf, _, slope = tabulate(law, jnp.asarray(x))
    expected = np.sqrt(inverse / ratio) / np.pi / np.sqrt(x.astype(float))
    rtol = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(pdf, expected, rtol=rtol, atol=0)
    np.testing.assert_allclose(slope, expected, rtol=rtol)
    np.testing.assert_allclose(cdf, ATOMS.get(name, 0) + 2 * expected * x, rtol=rtol)


@every_dtype
@every_case
def test_stieltjes_transform(name, dtype):
    law = make(name)
    lower, upper = (float(end) for end in law._ends())
    width = upper - lower
    z = [0.3 + 0.5j, 0.7 + 1e-3j, 0.2 + 1e-12j, 0.9 + 1e-30j, -0.5 + 1e-20j, 1.5 + 1e-6j, 30 - 4j, 1e8 + 1e5j]
    z = [complex(np.complex64(lower + width * point)) for point in z]
    with mpmath.workdps(80):
        expected = [transform(mpmath.mpc(point.real, abs(point.imag)), name) for point in z]
        expected = np.array([complex(mpmath.conj(g) if p.imag < 0 else g) for p, g in zip(z, expected, strict=True)])
    got = np.asarray(make(name, dtype).stieltjes(np.array(z, np.result_type(dtype, np.complex64))))
    assert got.dtype == np.result_type(dtype, np.complex64)
    error = np.abs(got - expected) / np.abs(expected) / np.finfo(dtype).eps
    assert (error < 100).all(), error


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", ["three intervals", "more variables", "square"])
def test_on_the_axis_the_transform_is_the_density(name):
    law, (lower, upper) = make(name, jnp.zeros(()).dtype), make(name).support()
    # The points are inside and outside the bands; exactly at an edge the two formulas round differently.
    x = lower + (upper - lower) * jnp.linspace(-0.15, 1.15, 8)
    values = law.stieltjes(x)
    scale = float(jnp.abs(values).max())
    tolerance = 200 * jnp.finfo(x.dtype).eps
    np.testing.assert_allclose(-values.imag / np.pi, law.pdf(x), rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(law.hilbert(x), values.real / np.pi, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.float32
@every_case
def test_moments_by_traces(name):
    # E tr W^k/n to leading order, k ≤ 4, as sums over non-crossing pairings (Yin and Krishnaiah).
    ratio, population, weights = CASES[name]
    c, (_, a, b, d, e) = ratio, [np.sum(np.array(weights) * np.array(population) ** k) for k in range(5)]
    fourth = e + c * (4 * d * a + 2 * b**2) + 6 * c**2 * b * a**2 + c**3 * a**4
    expected = [1, a, b + c * a**2, d + 3 * c * b * a + c**2 * a**3, fourth]
    law = make(name, jnp.zeros(()).dtype)
    rtol = 50 * jnp.finfo(law.mean().dtype).eps
    got = jax.jit(lambda law: [law.moment(k) for k in range(5)])(law)
    np.testing.assert_allclose(got, expected, rtol=rtol)
    np.testing.assert_allclose(law.var(), expected[2] - a**2, rtol=rtol)


@pytest.mark.float32
@pytest.mark.parametrize("ratio", [2.0**-20, 0.75])
def test_skewness_and_kurtosis(ratio):
    # For a small ratio and a narrow population, sums over moments about 0 cancel.
    population, weights = [4.0, 4.015625, 3.96875], [0.25, 0.5, 0.25]
    with mpmath.workdps(60):
        moments = [mpmath.fdot(weights, [mpmath.mpf(t) ** k for t in population]) for k in (1, 2, 3, 4)]
        c, (a, b, d, e) = mpmath.mpf(ratio), moments
        fourth = e + c * (4 * d * a + 2 * b**2) + 6 * c**2 * b * a**2 + c**3 * a**4
        m2, m3 = b + c * a**2, d + 3 * c * b * a + c**2 * a**3
        variance, third = m2 - a**2, m3 - 3 * a * m2 + 2 * a**3
        kurtosis = (fourth - 4 * a * m3 + 6 * a**2 * m2 - 3 * a**4) / variance**2
    law = GeneralMarchenkoPastur(ratio, population, weights)
    # The mean of the population is known up to its rounding, which is this large relative to the standard deviation.
    rtol = 20 * float(jnp.finfo(law.mean().dtype).eps) * float(a / mpmath.sqrt(variance))
    np.testing.assert_allclose(law.skewness(), float(third / variance**1.5), rtol=rtol)
    np.testing.assert_allclose(law.kurtosis() + 3, float(kurtosis), rtol=rtol)


def test_twenty_points_by_the_fixed_point():
    t = np.geomspace(0.1, 10, 20)
    law, ratio = GeneralMarchenkoPastur(0.4, t), 0.4
    for z in (1.0 + 0.5j, 8.0 + 0.3j):
        omega = z
        for _ in range(2000):
            omega = z / (1 + ratio * np.mean(t / (omega - t)))
        np.testing.assert_allclose(law.stieltjes(z), omega / z * np.mean(1 / (omega - t)), rtol=1e-12)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    lower, upper = map(float, law.support())
    angle = np.pi / 2 * (nodes + 1)
    x = lower + (upper - lower) * np.sin(angle / 2) ** 2
    measure = np.asarray(law.pdf(x)) * weights * np.sin(angle) * (upper - lower) * np.pi / 4
    np.testing.assert_allclose([measure.sum(), (measure * x).sum()], [1, t.mean()], rtol=1e-6)


def test_weights_of_single_precision():
    weights = np.full(3, 1 / 3, np.float32)
    law = GeneralMarchenkoPastur(0.5, np.array([1.0, 2.0, 3.0]), weights)
    np.testing.assert_allclose(law.cdf(1.5) + law.sf(1.5), 1, rtol=1e-15)
    np.testing.assert_allclose(law.mean(), 2, rtol=1e-15)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("more variables", "two intervals")]


@pytest.mark.parametrize("name", [pytest.param("null", marks=pytest.mark.slow), *SLOW])
def test_derivatives(name):
    law = make(name)
    lower, upper = map(float, law._ends())
    x = lower + (upper - lower) * jnp.array([0.15, 0.8])

    def formulas(law, x):
        many = law.ppf(0.9), law.moment(3), law.var(), law._ends()
        return law.pdf(x), law.cdf(x), law.stieltjes(jax.lax.complex(x, 0.1 + 0 * x)), many

    if name == "null":  # the null eigenvalue must stay at 0
        null, law = law, (law.ratio, law.population[1:], law.weights)
        rebuilt = lambda parts: GeneralMarchenkoPastur(parts[0], jnp.append(0.0, parts[1]), parts[2])
        check_derivatives(lambda parts, x: formulas(rebuilt(parts), x), law, x)
        assert null.population[0] == 0
        return
    check_derivatives(formulas, law, x)
    if name == "two intervals":
        check_second_derivative(lambda law, x: law.cdf(x), law, x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [1.0]), "`ratio` must be positive and finite"),
        ((1.0, []), "`population` must be a vector of at least one number"),
        ((1.0, 1.0), "`population` must be a vector of at least one number"),
        ((1.0, [1j]), "`population` must be real"),
        ((1.0, [np.inf]), "`population` must be finite, not negative and not all 0"),
        ((1.0, [-1.0, 1.0]), "`population` must be finite, not negative and not all 0"),
        ((1.0, [0.0, 0.0]), "`population` must be finite, not negative and not all 0"),
        ((1.0, [0.0, 1.0], [1.0]), r"`weights` must have the shape \(2,\), got \(1,\)"),
        ((1.0, [0.0, 1.0], [1.0, 0.0]), "`weights` must be positive and sum to 1"),
        ((1.0, [0.0, 1.0], [0.5, 0.6]), "`weights` must be positive and sum to 1"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        GeneralMarchenkoPastur(*arguments)
