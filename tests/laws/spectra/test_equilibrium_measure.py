"""Equilibrium measures: closed forms, two wells in many digits, Schwinger-Dyson equations, derivatives, refusals."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import EquilibriumMeasure, FreeSum, Semicircle
from tests.cases import DTYPES

EXACT = {np.float32: 4e-6, np.float64: 1e-14}
WELLS = [0.1, -2.0, 0.05, 0.25]
# Between the cuts of this potential, pieces of negative charge are in the midst of others.
THREE_WELLS = [2.811125, 6.949915, -3.053592, -4.454462, 0.971590, 0.969812]


def quartic(a, b):
    """The law of a x²/2 + b x⁴/4, where it has one cut, in closed form: the end and the density."""
    square = 2 * (np.sqrt(a**2 + 12 * b) - a) / (3 * b)
    height = lambda x: (b * x**2 + a + b * square / 2) / (2 * np.pi)
    return np.sqrt(square), lambda x: height(x) * np.sqrt(np.maximum(square - x**2, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("a", "b"), [(1.0, 1e-3), (1.0, 1.0), (-1.0, 1.0), (-1.9, 1.0), (0.0, 1.0), (30.0, 400.0)])
def test_one_cut_of_a_quartic_potential(dtype, a, b):
    law = EquilibriumMeasure(np.asarray([0, a / 2, 0, b / 4], dtype))
    end, density = quartic(a, b)
    np.testing.assert_allclose(law.support(), (-end, end), rtol=EXACT[dtype])
    x = np.linspace(-1.1 * end, 1.1 * end, 101, dtype=dtype)
    assert law.pdf(x).dtype == dtype
    np.testing.assert_allclose(law.pdf(x), density(x.astype(float)), rtol=0, atol=30 * EXACT[dtype] / end)
    # Brézin, Itzykson, Parisi and Zuber 1978, for the second moment: with E X V'(X) = 1 the fourth one follows.
    variance = end**2 / 12 * (4 - end**2 * a / 4)
    np.testing.assert_allclose(law.var(), variance, rtol=20 * EXACT[dtype])
    np.testing.assert_allclose(law.moment(4), (1 - a * variance) / b, rtol=500 * EXACT[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_parabola_is_a_semicircle(dtype):
    law, closed = EquilibriumMeasure(np.asarray([-1.0, 0.5], dtype)), Semicircle(np.asarray(2.0, dtype)).shifted(1.0)
    x = np.linspace(-1.2, 3.2, 41, dtype=dtype)
    for method in ("pdf", "cdf", "sf", "hilbert"):
        np.testing.assert_allclose(getattr(law, method)(x), getattr(closed, method)(x), rtol=0, atol=EXACT[dtype])
    z = x + np.asarray([0, 1e-3, 1, 1e6], dtype)[:, None] * np.asarray(1j, np.result_type(dtype, np.complex64))
    np.testing.assert_allclose(law.stieltjes(z), closed.stieltjes(z), rtol=8 * EXACT[dtype])
    np.testing.assert_allclose(law.log_potential(z), closed.log_potential(z), rtol=8 * EXACT[dtype], atol=EXACT[dtype])
    far = np.asarray([1e5 + 1j, 1e3j], z.dtype)
    for ours, exact in zip(law._subordination(jnp.asarray(far)), closed._subordination(jnp.asarray(far)), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=8 * EXACT[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("a", [2.02, 3.0, 4.0, 30.0])
def test_two_cuts_of_a_double_well(dtype, a):
    """In x⁴/4 - a x²/2 the squares of the ends are a ± 2."""
    law = EquilibriumMeasure(np.asarray([0, -a / 2, 0, 0.25], dtype), 2)
    inner, outer = np.sqrt(a - 2), np.sqrt(a + 2)
    # Near a = 2 the inner ends depend on a like a square root.
    tolerance = EXACT[dtype] * (1 + outer / inner**2)
    lower, upper, masses = law.bands()
    np.testing.assert_allclose(lower, [-outer, inner], rtol=0, atol=tolerance)
    np.testing.assert_allclose(upper, [-inner, outer], rtol=0, atol=tolerance)
    np.testing.assert_allclose(masses, [0.5, 0.5], rtol=20 * tolerance)
    x = np.linspace(-outer - 0.1, outer + 0.1, 201, dtype=dtype)
    square = x.astype(float) ** 2
    exact = np.sqrt(square * np.maximum((square - inner**2) * (outer**2 - square), 0)) / (2 * np.pi)
    np.testing.assert_allclose(law.pdf(x) ** 2, exact**2, rtol=0, atol=30 * tolerance * a**2)
    np.testing.assert_allclose(law.var(), a, rtol=20 * tolerance)
    assert (law.pdf(np.linspace(-inner, inner, 9, dtype=dtype)[1:-1]) == 0).all()
    # G(z) = (z³ - a z - z √((z² - a)² - 4))/2, in the form without cancellation.
    z = np.asarray([0.3 + 0.1j, 1 + 1e-3j, outer + 1j, 20 + 3j, 300j])
    root = np.sqrt(z - inner) * np.sqrt(z + inner) * np.sqrt(z - outer) * np.sqrt(z + outer)
    got = law.stieltjes(z.astype(np.result_type(dtype, np.complex64)))
    np.testing.assert_allclose(got, 2 * z / (z**2 - a + root), rtol=30 * tolerance * a)


def ends_in_many_digits(c, start):
    """The ends of two cuts in a quartic potential: the transform at infinity, and the integral over the gap."""
    c = [mpmath.mpf(each) for each in c]

    def equations(*ends):
        height = lambda x: 4 * c[3] * x + 3 * c[2] + 2 * c[3] * sum(ends)
        # In w = 1/z: 2 G = V' - h √R, times w³.
        inverse_root = lambda w: mpmath.sqrt(mpmath.fprod(1 - end * w for end in ends))
        series = mpmath.taylor(
            lambda w: w * height(1 / w) * inverse_root(w) if w else 4 * c[3], 0, 4, radius=1 / mpmath.mpf(64)
        )
        force = [4 * c[3], 3 * c[2], 2 * c[1], c[0], 0]
        inside = mpmath.quad(
            lambda x: height(x) * mpmath.sqrt(abs(mpmath.fprod(x - end for end in ends))),
            mpmath.linspace(*ends[1:3], 3),
        )
        return [force[k] - series[k] for k in (2, 3)] + [2 + series[4], inside]

    return list(mpmath.findroot(equations, [mpmath.mpf(float(each)) for each in start], tol=1e-40)), c


def test_two_unequal_wells_in_many_digits():
    law = EquilibriumMeasure(WELLS, 2)
    with mpmath.workdps(40):
        ends, c = ends_in_many_digits(WELLS, law.breakpoints())
        np.testing.assert_allclose(law.breakpoints(), np.array(ends, float), rtol=0, atol=3e-15)
        height = lambda x: abs(4 * c[3] * x + 3 * c[2] + 2 * c[3] * sum(ends)) / (2 * mpmath.pi)
        density = lambda x: height(x) * mpmath.sqrt(abs(mpmath.fprod(x - end for end in ends)))
        mass = lambda a, b: mpmath.quad(density, mpmath.linspace(a, b, 4))
        below = mass(ends[0], ends[1])
        np.testing.assert_allclose(law.bands()[2], [float(below), float(1 - below)], rtol=1e-14)
        # Both tails, in relative error.
        for x, start in ((-2.4, 0), (-1.7, 0), (2.3, 3), (1.7, 3)):
            exact = mass(*sorted((ends[start], mpmath.mpf(x))))
            np.testing.assert_allclose((law.sf if start else law.cdf)(x), float(exact), rtol=3e-14)
        # The potential in the plane and on the axis, with the masses as angles.
        for z in (0.4 + 0.7j, 1.7 + 1e-3j, 3.0 + 0j, 4.0 + 5.0j):
            exact = sum(
                mpmath.quad(lambda y, z=z: density(y) * mpmath.log(mpmath.mpc(z) - y), mpmath.linspace(*pair, 7))
                for pair in (ends[:2], ends[2:])
            )
            np.testing.assert_allclose(law.log_potential(z), complex(exact), rtol=1e-12 if z.imag < 0.01 else 2e-14)


POTENTIALS = {
    "sextic": ([1.0, 2.0, -2.5, -5.5, 0.2, 2.2], 2),
    "sextic, symmetric": ([0.0, 3.0, 0.0, -2.5, 0.0, 0.3], 2),
    "sextic, two of three wells": (THREE_WELLS, 2),
    "narrow": ([0.1, -50.0, 0.0, 25.0], 2),
    "far from two other wells": ([0.37, 0.61, -0.15, -1.47, 1.03, -1.93, -0.24, 0.25], 1),
    "degree ten": ([0.3, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1], 1),
}


@pytest.mark.parametrize("name", POTENTIALS)
def test_schwinger_dyson_equations(name):
    """The moments satisfy E X^(k+1) V'(X) = Σ E X^j E X^(k-j), where the sum is 0 for k = -1."""
    c, cuts = POTENTIALS[name]
    law = EquilibriumMeasure(c, cuts)
    moments = jax.jit(lambda law: jnp.stack([law.moment(k) for k in range(len(c) + 4)]))(law)
    for k in range(-1, 4):
        terms = [(j + 1) * c[j] * moments[k + 1 + j] for j in range(len(c))]
        right = sum(moments[j] * moments[k - j] for j in range(k + 1))
        np.testing.assert_allclose(sum(terms), right, rtol=0, atol=1e-14 * np.abs(c).sum() * abs(moments).max())
    # It is the density of the transform, and the potential is least on the cuts.
    lower, upper = law.support()
    x = np.linspace(lower - 0.1, upper + 0.1, 101)
    np.testing.assert_allclose(
        law.pdf(x), -law.stieltjes(x).imag / np.pi, rtol=0, atol=1e-13 * len(c) / (upper - lower)
    )
    energy = sum(c[j] * x ** (j + 1) for j in range(len(c))) - 2 * law.log_potential(x).real
    inside = law.pdf(x) > 0
    np.testing.assert_allclose(energy[inside], energy[inside][0], rtol=0, atol=1e-11)
    assert (energy >= energy[inside][0] - 1e-11).all()


def test_where_a_cut_splits():
    """The law of x⁴/4 - a x²/2 around a = 2, where both numbers of cuts are accepted."""
    for a in (2 - 1e-9, 2.0, 2 + 1e-9):
        for cuts in (1, 2) if a == 2 else (1,):
            law = EquilibriumMeasure([0, -a / 2, 0, 0.25], cuts)
            x = np.linspace(-1.9, 1.9, 39)
            np.testing.assert_allclose(law.pdf(x), x**2 * np.sqrt(4 - x**2) / (2 * np.pi), rtol=0, atol=1e-5)
            np.testing.assert_allclose(law.support(), (-2, 2), rtol=0, atol=1e-5)
    for delta in (1e-2, 1e-4, 1e-6):
        inner = np.sqrt(delta)
        law = EquilibriumMeasure([0, -1 - delta / 2, 0, 0.25], 2)
        np.testing.assert_allclose(law.breakpoints()[1:3], [-inner, inner], rtol=1e-11 / delta)


@pytest.mark.parametrize(("c", "cuts"), [([0.3, -0.5, 0.1, 0.25], 1), (WELLS, 2)])
def test_derivatives_are_those_of_differences(c, cuts):
    c, along = jnp.asarray(c), jnp.asarray([0.3, 1.0, -0.5, 0.2])
    x = jnp.array([-2.0, -1.6, 1.7])

    @jax.jit
    def quantities(t):
        law = EquilibriumMeasure(c + t * along, cuts)
        numbers = jnp.stack([law.moment(3), law.var(), law.log_potential(2.0 + 0.3j).imag])
        return jnp.concatenate([law.breakpoints(), law.pdf(x), law.cdf(x), law.bands()[2], numbers])

    slope = jax.jacfwd(quantities)(0.0)
    np.testing.assert_allclose(slope, (quantities(1e-5) - quantities(-1e-5)) / 2e-5, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(jax.jacrev(quantities)(0.0), slope, rtol=1e-10, atol=1e-12)
    end = jax.jit(jax.grad(lambda t: EquilibriumMeasure(c + t * along, cuts).support()[1]))
    np.testing.assert_allclose(jax.grad(end)(0.0), (end(1e-5) - end(-1e-5)) / 2e-5, rtol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "power"), [pytest.param(np.float32, 28, marks=pytest.mark.float32), (np.float64, 240)]
)
def test_units_change_nothing(dtype, power):
    c, k = np.asarray(WELLS, dtype), np.arange(1, 5)
    one = EquilibriumMeasure(c, 2)
    x = np.asarray([-2.1, -1.6, 1.9], dtype)
    for exponent in (-power, power):
        unit = np.asarray(2.0, dtype) ** exponent
        scaled = EquilibriumMeasure(np.ldexp(c, -exponent * k).astype(dtype), 2)
        np.testing.assert_allclose(scaled.cdf(unit * x), one.cdf(x), rtol=20 * EXACT[dtype])
        np.testing.assert_allclose(unit * scaled.pdf(unit * x), one.pdf(x), rtol=20 * EXACT[dtype])
        np.testing.assert_allclose(np.stack(scaled.support()) / unit, np.stack(one.support()), rtol=EXACT[dtype])
        np.testing.assert_allclose(scaled.std() / unit, one.std(), rtol=EXACT[dtype])


def test_as_a_part_of_a_sum():
    x = np.linspace(-2.4, 2.4, 21)
    law, whole = FreeSum(EquilibriumMeasure([0.0, 0.5]), Semicircle(1.0)), Semicircle(np.sqrt(5.0))
    np.testing.assert_allclose(law.pdf(x), whole.pdf(x), rtol=0, atol=1e-14)
    np.testing.assert_allclose(law.cdf(x), whole.cdf(x), rtol=0, atol=1e-14)
    # The moments of a sum are those of its free cumulants.
    wells = EquilibriumMeasure(WELLS, 2)
    law = FreeSum(wells, Semicircle(1.0))
    for k in range(1, 7):
        np.testing.assert_allclose(law.free_cumulant(k), wells.free_cumulant(k) + 0.25 * (k == 2), rtol=0, atol=1e-11)
    from_density = jnp.trapezoid(law.pdf(jnp.linspace(-4, 4, 4001)), dx=0.002)
    np.testing.assert_allclose(from_density, 1, rtol=0, atol=1e-4)
    lower, upper, masses = law.bands()
    np.testing.assert_allclose(masses, wells.bands()[2], rtol=0, atol=1e-12)
    assert lower[1] > upper[0]


def test_refusals():
    for arguments, message in (
        (([1.0],), "which does not confine"),
        (([0.0, 0.5, 0.1],), "which does not confine"),
        (([0.0, 0.5, 0.0, -0.1],), "which does not confine"),
        (([0.0, 0.0],), "which does not confine"),
        (([0.0, 0.5, 0.0, 0.0],), "be an even number of finite values, .*, which ends with zeros: leave these out"),
        (([0.0, -2.0, 0.0, 0.25],), "with a support of cuts=1, got .*, which needs cuts=2"),
        (([0.0, 0.5], 2), "with a support of cuts=2, got .*, which needs cuts=1"),
        (([0.0, 0.5, 0.0, 1.0], 2), "which needs cuts=1"),
        (([0.0, 2.0, 0.0, -1.0, 0.0, 0.1],), "needs cuts=2"),
        (([0.0, 9.0, 0.0, -6.0, 0.0, 1.0],), "needs more of them"),
        (([0.0, 9.0, 0.0, -6.0, 0.0, 1.0], 2), "needs more of them"),
        # One of these wells is not the support, although it is easily overlooked.
        (([0.0, -2e12, 0.0, 1e12], 1), "needs more of them"),
        (([0.0, 0.5], 3), "`cuts` must be at most 2, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            EquilibriumMeasure(*arguments)
    # Inside of a program the result is NaN.
    values = jax.vmap(lambda a: EquilibriumMeasure(jnp.stack([0.0 * a, a, 0 * a, 0 * a + 0.25])).pdf(0.5))(
        jnp.array([-2.0, 1.0])
    )
    np.testing.assert_array_equal(np.isnan(values), [True, False])
