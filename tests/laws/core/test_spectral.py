"""Transforms of spectral laws: textbook formulas in mpmath in the whole plane, cumulants by partitions, types."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import (
    AbstractSpectralLaw,
    Arcsine,
    FreePoisson,
    FussCatalan,
    InverseMarchenkoPastur,
    KestenMcKay,
    MarchenkoPastur,
    QuarterCircle,
    Semicircle,
    Uniform,
    Wachter,
)
from rmtjax.laws._core.free_cumulants import free_cumulant_of_moments
from rmtjax.testing import check_derivatives
from tests.cases import daily, every_dtype, further


class Case(NamedTuple):
    law: AbstractSpectralLaw
    transform: Callable[[Any], Any]  # as textbooks have it, in mpmath
    lower: float  # ends of the continuous part
    upper: float


def root(z, lower, upper):
    return mpmath.sqrt(z - lower) * mpmath.sqrt(z - upper)


def semicircle(radius):
    return Case(Semicircle(radius), lambda z: 2 * (z - root(z, -radius, radius)) / radius**2, -radius, radius)


def marchenko_pastur(ratio, scale):
    c, square = mpmath.mpf(ratio), mpmath.mpf(scale) ** 2
    ends = lambda: [square * (1 + sign * mpmath.sqrt(c)) ** 2 for sign in (-1, 1)]
    transform = lambda z: (z + square * (c - 1) - root(z, *ends())) / (2 * c * square * z)
    return Case(MarchenkoPastur(ratio, scale), transform, *map(float, ends()))


def free_poisson(rate, jump):
    rate, jump = mpmath.mpf(rate), mpmath.mpf(jump)
    ends = lambda: [jump * (1 + sign * mpmath.sqrt(rate)) ** 2 for sign in (-1, 1)]
    transform = lambda z: (z + jump * (1 - rate) - root(z, *ends())) / (2 * jump * z)
    return Case(FreePoisson(float(rate), float(jump)), transform, *map(float, ends()))


def inverse_marchenko_pastur(ratio, scale):
    """The transform of the law, from the transform of the inverse variate."""
    square, inverse = mpmath.mpf(scale) ** 2, marchenko_pastur(ratio, 1.0).transform

    def transform(z):
        # Inversion takes a point just above the axis to one just below it.
        point = mpmath.conj(square / z)
        return 1 / z - square / z**2 * mpmath.conj(inverse(point))

    ends = [float(square / (1 + sign * mpmath.sqrt(ratio)) ** 2) for sign in (1, -1)]
    return Case(InverseMarchenkoPastur(ratio, scale), transform, *ends)


def wachter(a, b):
    law, a, b = Wachter(a, b), mpmath.mpf(a), mpmath.mpf(b)
    total = a + b
    sides = lambda: (mpmath.sqrt(a * (total - 1)), mpmath.sqrt(b))
    ends = lambda: [((sides()[0] + sign * sides()[1]) / total) ** 2 for sign in (-1, 1)]
    transform = lambda z: (1 - a + (total - 2) * z - total * root(z, *ends())) / (2 * z * (1 - z))
    return Case(law, transform, *map(float, ends()))


def kesten_mckay(degree):
    d = mpmath.mpf(degree)
    end = lambda: 2 * mpmath.sqrt(d - 1)
    transform = lambda z: ((d - 2) * z - d * root(z, -end(), end())) / (2 * (d**2 - z**2))
    return Case(KestenMcKay(degree), transform, -float(end()), float(end()))


def uniform(lower, upper):
    transform = lambda z: (mpmath.log(z - lower) - mpmath.log(z - upper)) / (upper - lower)
    return Case(Uniform(lower, upper), transform, lower, upper)


def arcsine(radius):
    return Case(Arcsine(radius), lambda z: 1 / root(z, -radius, radius), -radius, radius)


def quarter_circle(radius):
    def transform(z):
        # The arc tangent has its cut on the support.
        u = (z if z.imag else mpmath.mpc(z.real, mpmath.eps**0.8)) / radius
        s = root(u, -1, 1)
        return 4 / (mpmath.pi * radius) * (mpmath.pi / 2 * (u - s) + 1 - s * mpmath.atan(1 / s))

    return Case(QuarterCircle(radius), transform, 0.0, radius)


def fuss_catalan(order):
    """The root of w^{s+1} = z(w - 1) that is continued from infinity down to z."""

    def transform(z):
        w = mpmath.mpf(1)
        for k in range(30, -170, -1):
            point = z + mpmath.mpc(0, mpmath.mpf(2) ** k)
            for _ in range(4):
                w -= (w ** (order + 1) - point * (w - 1)) / ((order + 1) * w**order - point)
        return w / z

    return Case(FussCatalan(order), transform, 0.0, (order + 1) ** (order + 1) / order**order)


CASES = {
    "semicircle": semicircle(1.5),
    "marchenko_pastur": marchenko_pastur(0.25, 1.5),
    "marchenko_pastur, ratio 1": marchenko_pastur(1.0, 0.75),
    "marchenko_pastur with an atom": marchenko_pastur(2.25, 1.5),
    "free_poisson with an atom": free_poisson(0.25, 1.5),
    "inverse_marchenko_pastur": inverse_marchenko_pastur(0.25, 1.5),
    "wachter": wachter(1.5, 3.0),
    "wachter with an atom at 0": wachter(0.5, 2.0),
    "wachter with an atom at 1": wachter(2.0, 0.5),
    "wachter with both": wachter(0.75, 0.625),
    "wachter, arcsine": wachter(1.0, 1.0),
    "kesten_mckay": kesten_mckay(5.0),
    "kesten_mckay, arcsine": kesten_mckay(2.0),
    "uniform": uniform(-1.0, 1.5),
    "arcsine": arcsine(1.5),
    "quarter_circle": quarter_circle(1.5),
    "fuss_catalan": fuss_catalan(2),
}
# Every day other cases test what these do.
LIKE_OTHERS = ["kesten_mckay", "marchenko_pastur", "wachter", "wachter with an atom at 0", "wachter with an atom at 1"]
LIKE_OTHERS += ["free_poisson with an atom", "kesten_mckay, arcsine"]
# Points from the middle of the support in units of half of it: in the bulk, on and near the axis, near the ends, far.
POINTS = [0.3, -0.7, 0.98, 1.001, 1.5, -1.02, -1.7, -7.0, 0.4 + 0.5j, -0.6 + 1e-3j, 0.2 + 1e-7j, -0.9 + 1e-30j]
POINTS += [0.9999 + 1e-5j, -1.0001 + 1e-6j, 1.6 + 1e-12j, 2.0j, -30 + 1j, 3e4 + 2e4j, -1e9 + 1e3j, 1e30 - 1e29j]
POINTS += [0.4 - 0.5j, -0.6 - 1e-3j, 0.2 - 1e-12j, 1.6 - 1e-3j, -3.0 - 1e-9j, 1e6 - 1e7j]
FAR = [1e100 + 1e100j, -1e200 + 1e190j, 1e290 - 1e280j]


@functools.cache
def table(name):
    """Points, which are exact in float32 unless far away, and the transform there."""
    case = CASES[name]
    half, middle = (case.upper - case.lower) / 2, (case.upper + case.lower) / 2
    z = [complex(np.complex64(middle + half * complex(point))) for point in POINTS] + FAR
    with mpmath.workdps(1000 if not name.startswith("fuss") else 50):
        upper = [case.transform(mpmath.mpc(point.real, abs(point.imag))) for point in z]
        values = [complex(mpmath.conj(g) if point.imag < 0 else g) for point, g in zip(z, upper, strict=True)]
    return np.array(z), np.array(values)


@pytest.mark.parametrize("name", CASES)
def test_the_reference_is_the_transform_of_the_density(name):
    case = CASES[name]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    power = 6 if name == "fuss_catalan" else 1  # removes the singularity at 0
    unit = (nodes + 1) / 2
    angle = np.pi * unit**power
    half = (case.upper - case.lower) / 2
    x = case.lower + 2 * half * np.sin(angle / 2) ** 2
    x = np.minimum(x, np.nextafter(case.upper, case.lower))
    measure = np.asarray(case.law.pdf(x)) * half * np.sin(angle) * np.pi / 2 * weights * power * unit ** (power - 1)
    locations, masses = map(np.asarray, case.law.atoms())
    for point in (0.3 + 0.6j, -0.8 + 1.0j, 2.0 + 0.1j, -3.0 + 0.0j):
        z = (case.upper + case.lower) / 2 + half * point
        expected = np.sum(measure / (z - x)) + np.sum(masses / (z - locations))
        np.testing.assert_allclose(complex(case.transform(mpmath.mpmathify(z))), expected, rtol=2e-10)


@every_dtype
@pytest.mark.parametrize("name", CASES)
def test_a_few_ulp_in_the_whole_plane(name, dtype):
    z, expected = (column if dtype == np.float64 else column[: len(POINTS)] for column in table(name))
    got = np.asarray(CASES[name].law.stieltjes(z.astype(np.result_type(dtype, np.complex64))))
    assert got.dtype == np.result_type(dtype, np.complex64)
    # Rounding of the ends moves the singularity, which matters at the points nearest to them.
    case = CASES[name]
    distance = np.minimum(np.abs(z - case.lower), np.abs(z - case.upper))
    moved = np.maximum(abs(case.lower), abs(case.upper)) / distance
    eps = np.finfo(dtype).eps
    assert (np.abs(got - expected) <= eps * np.abs(expected) * (12 + moved)).all(), np.abs(got / expected - 1) / eps


@pytest.mark.float32
@pytest.mark.parametrize("name", daily(CASES, but=LIKE_OTHERS))
def test_on_the_axis_it_is_the_density_and_the_hilbert_transform(name):
    law, lower, upper = CASES[name].law, CASES[name].lower, CASES[name].upper
    x = jnp.linspace(lower, upper, 9)[1:-1]
    # One call for all complex points compiles only once.
    z = x.astype(complex)
    points = jnp.stack([z, jax.lax.complex(x, -0 * x), z + 0.1j, z - 0.1j])
    from_real, from_complex, above, below = law.stieltjes(points)
    rtol = 30 * jnp.finfo(x.dtype).eps
    np.testing.assert_allclose(-from_real.imag / np.pi, law.pdf(x), rtol=rtol)
    np.testing.assert_array_equal(from_real, from_complex)
    np.testing.assert_array_equal(above, jnp.conj(below))
    hilbert = law.hilbert(jnp.array([*x, np.nan, -np.inf]))
    np.testing.assert_allclose(hilbert[:-2], from_real.real / np.pi, rtol=rtol, atol=rtol)
    assert jnp.isnan(hilbert).tolist()[-2:] == [True, False]
    assert hilbert[-1] == 0


@pytest.mark.float32
def test_nan_and_infinity():
    z = jnp.array([np.nan, complex(np.nan, 1), complex(1, np.nan), np.inf, -np.inf, complex(0, np.inf), 1j])
    for law in (Semicircle(), Uniform(), FussCatalan(2)):
        got = law.stieltjes(z)
        assert jnp.isnan(got).tolist() == [True, True, True, False, False, False, False]
        np.testing.assert_array_equal(got[3:6], 0)


def test_hilbert_transform_of_the_semicircle_is_the_force_of_the_potential():
    # 2 p.v. ∫ f(y)/(x - y) dy = V'(x) for V = x²/2 and the radius 2.
    x = np.array([-1.7, 0.0, 0.4, 1.9])
    np.testing.assert_allclose(2 * np.pi * Semicircle(2.0).hilbert(x), x, rtol=1e-14)
    # Far outside the support it is 1/(πx).
    np.testing.assert_allclose(np.pi * Semicircle(2.0).hilbert(1e6), 1e-6, rtol=1e-11)


@pytest.mark.parametrize("name", [name for name in CASES if "atom" in name or "both" in name])
def test_atoms_are_poles(name):
    law = CASES[name].law
    locations, masses = law.atoms()
    present = masses > 0
    assert present.any()
    near = 2.0**-40  # 1 + near is exact
    for direction in (near, near * 1j, -near * 1j):
        residues = direction * law.stieltjes(np.asarray(locations[present]) + direction)
        np.testing.assert_allclose(residues, masses[present], rtol=1e-9)
    assert (law.stieltjes(locations[present]).real == jnp.inf).all()


def test_the_sign_is_that_of_spectra():
    law, z = Arcsine(1.5), jnp.array([0.3 + 0.5j, 1.5 - 0.5j, 3.0])
    levels = law.ppf((jnp.arange(100.0) + 0.5) / 100)
    np.testing.assert_allclose(law.stieltjes(z), rmt.statistics.stieltjes(levels, z), rtol=1e-12)


# Derivatives


@pytest.mark.parametrize("name", ["semicircle", "wachter with both", "uniform", "quarter_circle", "fuss_catalan"])
def test_derivatives_in_z(name):
    case = CASES[name]
    z = jnp.array([0.3 + 0.2j, 0.6 - 0.1j, -2.0 + 0.0j, 0.4 + 0.0j, 1e3 + 1e3j])
    slope = jax.jit(jax.vmap(jax.grad(case.law.stieltjes, holomorphic=True)))(z)
    with mpmath.workdps(60):
        upper = [mpmath.mpc(complex(point).real, abs(complex(point).imag)) for point in z]
        h = mpmath.mpc(0, 1e-20)  # away from the axis
        expected = [complex((case.transform(point + h) - case.transform(point)) / h) for point in upper]
    expected = np.where(z.imag < 0, np.conj(expected), expected)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


# Laws at a kink of the masses or at the end of a parameter's range are left out, and those that equal another law.
SMOOTH = ["semicircle", "marchenko_pastur", "marchenko_pastur with an atom", "inverse_marchenko_pastur", "kesten_mckay"]
SMOOTH += ["wachter", "wachter with both", "uniform", "arcsine", "quarter_circle", "fuss_catalan"]


@pytest.mark.parametrize("name", daily(SMOOTH, only=["semicircle", "wachter with both", "fuss_catalan"]))
def test_derivatives_by_points_and_parameters(name):
    case = CASES[name]
    z = jnp.array([0.35 + 0.2j, 0.55 - 1e-2j, -1.3 + 1e-3j])
    check_derivatives(lambda law, z: (law.stieltjes(z), law.hilbert(z.real)), case.law, z, rtol=1e-5)


AT_LIMITS = ["marchenko_pastur, ratio 1", *further("wachter, arcsine", "kesten_mckay, arcsine")]


@pytest.mark.parametrize("name", [*daily(SMOOTH, but=["arcsine", *LIKE_OTHERS[:3]]), *AT_LIMITS])
def test_derivatives_are_finite_at_the_ends(name):
    case = CASES[name]
    total = lambda law, x: jnp.nan_to_num(jnp.real(law.stieltjes(x)), posinf=0, neginf=0)
    x = jnp.array([case.lower, case.upper, *case.law.support()])
    by_law, by_x = jax.jit(jax.vmap(jax.grad(total, (0, 1)), (None, 0)))(case.law, x)
    assert all(jnp.isfinite(leaf).all() for leaf in [*jax.tree.leaves(by_law), by_x])


# Cumulants and the transforms of Voiculescu


def non_crossing_moment(k, cumulants):
    """The moment as a sum over non-crossing partitions, by the block of the first element."""

    @functools.cache
    def moment(n):
        return 1 if n == 0 else sum(cumulants[size - 1] * gaps(size, n - size) for size in range(1, n + 1))

    @functools.cache
    def gaps(number, n):
        """Sum over the ways to leave n elements in `number` gaps, each of which is partitioned separately."""
        return moment(n) if number == 1 else sum(moment(m) * gaps(number - 1, n - m) for m in range(n + 1))

    return moment(k)


@pytest.mark.float32
@pytest.mark.parametrize("name", CASES)
def test_free_cumulants_make_the_moments(name):
    law = CASES[name].law
    numbers = lambda law: [[method(k) for k in range(1, 9)] for method in (law.moment, law.free_cumulant)]
    moments, cumulants = jax.jit(numbers)(law)
    eps, cumulants = float(jnp.finfo(moments[0].dtype).eps), [float(cumulant) for cumulant in cumulants]
    # The terms that cancel in the sum are of the size of the sum without signs.
    sizes = [abs(cumulant) for cumulant in cumulants]
    for k, moment in enumerate(moments, start=1):
        bound = 20 * eps * max(non_crossing_moment(k, sizes), 1e-3)
        assert abs(float(moment) - non_crossing_moment(k, cumulants)) <= bound, k
    np.testing.assert_allclose(cumulants[:2], [law.mean(), law.var()], rtol=20 * eps, atol=1e-30)


@functools.cache
def skewness_and_kurtosis(name):
    """Both by Cauchy's formula: the transform times powers, summed over a circle of twice the size of the support."""
    case, (lower, upper) = CASES[name], map(mpmath.mpf, map(float, CASES[name].law.support()))
    with mpmath.workdps(40):
        arms = [(upper - lower) * mpmath.expjpi((j + mpmath.mpf(1) / 2) / 60) for j in range(60)]
        masses = [arm * case.transform((upper + lower) / 2 + arm) / 60 for arm in arms]
        moment = lambda k, about: sum(
            mpmath.re(mass * ((upper + lower) / 2 + arm - about) ** k) for mass, arm in zip(masses, arms, strict=True)
        )
        mean = moment(1, 0)
        variance, third, fourth = (moment(k, mean) for k in (2, 3, 4))
        return float(third / variance**1.5), float(fourth / variance**2 - 3)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(CASES, but=LIKE_OTHERS))
def test_skewness_and_kurtosis(name):
    law = CASES[name].law
    eps = float(jnp.finfo(law.mean().dtype).eps)
    skewness, kurtosis = skewness_and_kurtosis(name)
    np.testing.assert_allclose(law.skewness(), skewness, rtol=8 * eps, atol=8 * eps)
    np.testing.assert_allclose(law.kurtosis(), kurtosis, rtol=0, atol=4 * eps * (3 + kurtosis))


def test_free_cumulants_of_moments_against_exact_integers():
    catalan = [math.comb(2 * k, k) // (k + 1) for k in range(13)]
    for k in range(1, 13):
        moments = [jnp.asarray(float(m)) for m in catalan[: k + 1]]
        got = free_cumulant_of_moments(moments)  # for Marčenko and Pastur's law all are 1
        np.testing.assert_allclose(got, 1, rtol=1e-13 * catalan[k])


WITH_R = [name for name in CASES if name != "quarter_circle"]
KINDS_WITH_S = ("marchenko_pastur", "free_poisson", "inverse_marchenko_pastur", "wachter", "fuss_catalan")
WITH_S = [name for name in CASES if name.startswith(KINDS_WITH_S)]


@jax.jit
def transform_and_inverse(law, g):
    r = law.r_transform(g)
    return r, law.stieltjes(r + 1 / g), sum(law.free_cumulant(k).astype(g.dtype) * g ** (k - 1) for k in range(1, 12))


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(WITH_R, but=LIKE_OTHERS))
def test_r_transform_inverts_the_stieltjes_transform(name):
    law = CASES[name].law
    scale = float(jnp.max(jnp.abs(jnp.stack(law.support()))))
    eps = float(jnp.finfo(law.mean().dtype).eps)

    for g in (jnp.array([0.05, -0.07, 0.1]) / scale, jnp.array([0.1j, 0.05 - 0.05j, 1e-3 + 0.06j]) / scale):
        r, back, series = transform_and_inverse(law, g)
        assert r.dtype == g.dtype
        np.testing.assert_allclose(back, g.astype(r.dtype), rtol=30 * eps)
        np.testing.assert_allclose(r, series, rtol=max(100 * eps, 1e-6), atol=1e-12 * scale)


@jax.jit
def product_of_transforms(law, z):
    return law.s_transform(z * law.r_transform(z)) * law.r_transform(z)


@pytest.mark.float32
@pytest.mark.parametrize("name", WITH_S)
def test_s_transform_inverts_the_r_transform(name):
    law = CASES[name].law
    scale = float(law.support()[1])
    for z in (jnp.array([0.05, -0.07]) / scale, jnp.array([0.1j, 0.05 - 0.05j]) / scale):
        np.testing.assert_allclose(product_of_transforms(law, z), 1, rtol=30 * jnp.finfo(z.dtype).eps)


def test_r_transform_far_from_0():
    # For the uniform law it is a Langevin function, with poles on the imaginary axis only.
    law, g = Uniform(-1.0, 3.0), np.array([0.4999, 0.5001, -0.5001, 3.0, -300.0, 1e4, 0.1 + 5j, -7.0 - 0.3j])
    with mpmath.workdps(40):
        expected = [complex(1 + 2 * mpmath.coth(2 * mpmath.mpc(x)) - 1 / mpmath.mpc(x)) for x in g]
    np.testing.assert_allclose(law.r_transform(g), expected, rtol=1e-14)
    assert np.isnan(FussCatalan(2).r_transform(0.3))
    np.testing.assert_allclose(FussCatalan(2).r_transform(0.25), 4, rtol=1e-7)
    np.testing.assert_allclose(FussCatalan(1).r_transform(np.array([0.5, 3.0])), [2, -0.5], rtol=1e-15)
    assert np.isnan(InverseMarchenkoPastur(0.25).r_transform(1.0))


@pytest.mark.parametrize("law", [Semicircle(), KestenMcKay(3), Uniform(), Arcsine(), QuarterCircle()])
def test_what_has_no_closed_form_says_so(law):
    with pytest.raises(NotImplementedError, match=f"S-transform of {type(law).__name__}"):
        law.s_transform(0.1)
    if isinstance(law, QuarterCircle):
        with pytest.raises(NotImplementedError, match="R-transform of QuarterCircle"):
            law.r_transform(0.1)


# Types and arguments


@pytest.mark.float32
def test_dtypes():
    law, wide = Semicircle(1.5), jnp.zeros(0).dtype
    assert law.stieltjes(np.complex64(1j)).dtype == np.complex64
    assert law.stieltjes(np.float32(1)).dtype == np.complex64
    assert law.stieltjes(1).dtype == law.stieltjes(0.5).dtype == jnp.zeros((), complex).dtype
    assert law.hilbert(np.float32(1)).dtype == np.float32
    assert law.r_transform(np.float32(1)).dtype == np.float32
    assert law.r_transform(np.complex64(1)).dtype == np.complex64
    assert Semicircle(np.float32(1.5)).stieltjes(0.5).dtype == np.complex64
    assert FussCatalan(2).stieltjes(np.float32(1)).dtype == np.complex64
    assert FussCatalan(2).free_cumulant(2).dtype == wide


@pytest.mark.parametrize("value", ["x", np.float16(1)])
def test_bad_arguments(value):
    for method in ("stieltjes", "hilbert", "r_transform"):
        with pytest.raises(ValueError, match=r"`(z|x|g)` must be"):
            getattr(Semicircle(), method)(value)


def test_bad_orders():
    for k in (0, -1, 1.0, True):
        with pytest.raises(ValueError, match="`k` must be an integer of at least 1"):
            Semicircle().free_cumulant(k)
    with pytest.raises(ValueError, match="`x` must be real"):
        Semicircle().hilbert(1j)
