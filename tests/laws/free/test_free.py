"""Sums, powers, corners and products of free variables against closed forms, and their own consistency."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import (
    Affine,
    Arcsine,
    DeformedSemicircle,
    Empirical,
    FreeCompression,
    FreePoisson,
    FreePower,
    FreeProduct,
    FreeSum,
    FussCatalan,
    GeneralMarchenkoPastur,
    KestenMcKay,
    MarchenkoPastur,
    Semicircle,
    Uniform,
    Wachter,
)
from tests.cases import daily

COIN = Empirical([-1.0, 1.0])
TWO = Empirical([1.0, 5.0])
# A law, a closed form, and the size of the density where it is compared; absolute errors are in its units.
CLOSED = {
    "semicircles": (FreeSum(Semicircle(1.2), Semicircle(1.6)), Semicircle(2.0)),
    "signs": (FreeSum(COIN, COIN), Arcsine(2.0)),
    "free Poisson": (FreeSum(MarchenkoPastur(0.5), MarchenkoPastur(0.5)), FreePoisson(4.0, 0.5)),
    "a hard edge": (FreeSum(MarchenkoPastur(2.0), MarchenkoPastur(2.0)), FreePoisson(1.0, 2.0)),
    "an atom": (FreeSum(MarchenkoPastur(3.0), MarchenkoPastur(3.0)), FreePoisson(2 / 3, 3.0)),
    "a gap": (FreeSum(COIN, Semicircle(1.0)), DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 1.0)),
    "a narrow gap": (FreeSum(COIN, Semicircle(1.999)), DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 1.999)),
    "no gap": (FreeSum(Semicircle(2.001), COIN), DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 2.001)),
    "a tree": (FreePower(COIN, 3.0), KestenMcKay(3.0)),
    "a tree of 2.5 branches": (FreePower(COIN, 2.5), KestenMcKay(2.5)),
    "a corner": (FreeCompression(Semicircle(2.0), 0.25), Semicircle(1.0)),
    "two Wishart matrices": (FreeProduct(MarchenkoPastur(1.0), MarchenkoPastur(1.0)), FussCatalan(2)),
    "a population": (FreeProduct(TWO, MarchenkoPastur(0.1)), GeneralMarchenkoPastur(0.1, [1.0, 5.0])),
    "a population and an atom": (FreeProduct(TWO, MarchenkoPastur(2.0)), GeneralMarchenkoPastur(2.0, [1.0, 5.0])),
    "a reflected part": (FreeSum(MarchenkoPastur(0.5).scaled(-1.0), Uniform(-1.0, 1.0).shifted(2.0)), None),
}
COMPARED = {name: pair for name, pair in CLOSED.items() if pair[1] is not None}


def _bands(law):
    """Both ends of each interval between breakpoints that has mass."""
    ends = np.unique(law.breakpoints())
    mass = np.diff(law.cdf(jnp.asarray(ends)))
    return np.stack([ends[:-1], ends[1:]], axis=-1)[mass > 1e-6]


def _points(law):
    """Points in all bands, near their ends too, in the gaps and beyond."""
    share = np.array([1e-6, 1e-3, 0.03, 0.2, 0.5, 0.81, 0.97, 0.999, 1 - 1e-6])
    ends = np.concatenate([_bands(law).ravel(), [np.ptp(_bands(law)) + 8]])
    return np.sort(np.concatenate([low + (high - low) * share for low, high in itertools.pairwise(ends)]))


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(COMPARED, only=["an atom", "a narrow gap", "a tree", "a population"]))
def test_closed_forms(name):
    law, closed = COMPARED[name]
    eps = np.finfo(jnp.zeros(0).dtype).eps
    scale = float(np.ptp(np.asarray(closed.support())))
    x = _points(closed)
    # A density that diverges could be anything next to its end.
    x = jnp.asarray(x[np.abs(x[:, None] - np.asarray(closed.support())).min(axis=1) > 32 * eps * scale])
    # A point may be moved by 16 ulp of the scale, and the values by a few ulp.
    moved = [closed.pdf(x + shift * 16 * eps * scale) for shift in (-1, 0, 1)]
    low, high = np.min(moved, axis=0), np.max(moved, axis=0)
    density = np.asarray(law.pdf(x))
    room = 450 * eps * np.maximum(1 / scale, high)
    np.testing.assert_array_less(low - room, density + 1e-300)
    np.testing.assert_array_less(density, high + room + 1e-300)
    np.testing.assert_allclose(law.cdf(x), closed.cdf(x), rtol=0, atol=20 * eps)
    np.testing.assert_allclose(law.sf(x), closed.sf(x), rtol=0, atol=20 * eps)
    np.testing.assert_allclose(law.support(), closed.support(), rtol=0, atol=4 * eps * scale)


@pytest.mark.parametrize("name", daily(COMPARED, only=["an atom", "a tree"]))
def test_transforms_and_moments_of_closed_forms(name):
    law, closed = COMPARED[name]
    np.testing.assert_allclose(
        [law.moment(k) for k in (1, 2, 3, 6)], [closed.moment(k) for k in (1, 2, 3, 6)], 1e-13, 1e-12
    )
    np.testing.assert_allclose(law.var(), closed.var(), 1e-13)
    np.testing.assert_allclose(np.sum(law.atoms()[1]), np.sum(closed.atoms()[1]), rtol=0, atol=1e-15)
    if isinstance(closed, rmt.laws.AbstractSpectralLaw):
        z = np.array([0.3 + 1e-16j, 1.0 + 1e-9j, 1.2 + 0.1j, -1.0 + 1.0j, 3.0 + 10.0j])
        exact = closed.stieltjes(z)
        # A point that is moved by 16 ulp of the scale, which counts beside an end.
        moved = np.abs(closed.stieltjes(z + 32 * np.finfo(float).eps) - exact)
        assert (np.abs(law.stieltjes(z) - exact) < 2e-13 * np.abs(exact) + moved).all()


def test_small_tails_have_their_digits():
    law, closed = COMPARED["semicircles"]
    distance = jnp.array([1e-12, 1e-8, 1e-4])
    for log, x in (("logcdf", distance - 2), ("logsf", 2 - distance)):
        error = np.abs(getattr(law, log)(x) - getattr(closed, log)(x))
        # A point that is moved by 16 ulp of the scale.
        assert (error < 1.5 * 16 * 4 * np.finfo(float).eps / distance).all()


def test_where_bands_meet_the_quantile_has_its_derivative():
    made = lambda t: FreeSum(Empirical([-1.0 - t, 0.5], [0.3, 0.7]), Semicircle(3.0 + t))
    meeting = lambda t: made(t).bands()[0][1]
    np.testing.assert_allclose(meeting(0.0), made(0.0).ppf(0.3), rtol=1e-13)
    slope = (meeting(1e-5) - meeting(-1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(meeting)(0.0), slope, rtol=1e-7)
    assert abs(slope) > 0.1


def test_a_cusp():
    # Where the two bands meet, F(x) = 1/2 + c x^(4/3), and the solution is the root of a cubic equation.
    law, closed = FreeSum(COIN, Semicircle(2.0)), DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 2.0)
    x = jnp.array([1e-12, 1e-9, 1e-6, 1e-3])
    np.testing.assert_allclose(law.pdf(x), closed.pdf(x), rtol=1e-2, atol=3e-5)
    np.testing.assert_allclose(law.pdf(x[1:]), closed.pdf(x[1:]), rtol=1e-5)
    np.testing.assert_allclose(law.cdf(x), closed.cdf(x), rtol=0, atol=2e-15)


def test_a_map_that_is_the_identity():
    # At 0 the self-map of two signs is the identity. Beside it, rounding is divided by the distance from there.
    x = jnp.array([0.0, 1e-12, 1e-6, 1e-3])
    error = jnp.abs(FreeSum(COIN, COIN).pdf(x) - Arcsine(2.0).pdf(x))
    np.testing.assert_array_less(error, jnp.array([1e-8, 1e-8, 1e-8, 1e-11]))
    np.testing.assert_allclose(FreeSum(COIN, COIN).cdf(x), Arcsine(2.0).cdf(x), rtol=0, atol=1e-14)


def test_projections():
    # The product of two free projections is the law of Wachter, by atoms, ends and density.
    p, q = 0.4, 0.7
    law = FreeProduct(Empirical([0.0, 1.0], [1 - p, p]), Empirical([0.0, 1.0], [1 - q, q]))
    lower, upper = (p + q - 2 * p * q + sign * np.sqrt(4 * p * q * (1 - p) * (1 - q)) for sign in (-1, 1))
    x = jnp.linspace(0.01, 0.99, 50)
    inside = (x > lower) & (x < upper)
    density = jnp.where(inside, jnp.sqrt(jnp.abs((upper - x) * (x - lower))) / (2 * jnp.pi * x * (1 - x)), 0)
    np.testing.assert_allclose(law.pdf(x), density, rtol=0, atol=1e-13)
    masses = {float(place): float(mass) for place, mass in zip(*law.atoms(), strict=True) if mass > 1e-12}
    assert masses == pytest.approx({0.0: 1 - p, 1.0: p + q - 1})
    np.testing.assert_allclose(
        law.cdf(jnp.array([-1.0, 0.0, 0.5 * lower, 0.5 * (1 + upper), 1.0])), [0, 0.6, 0.6, 0.9, 1], rtol=0, atol=1e-14
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (COIN, Empirical([0.0, 0.7, 2.0], [0.2, 0.5, 0.3])),
        (MarchenkoPastur(0.3), Uniform(-1.0, 1.0)),
        (Empirical([-2.0, 0.5], [0.3, 0.7]), MarchenkoPastur(2.0).scaled(-0.4)),
    ],
)
def test_both_orders_agree(first, second):
    one, other = FreeSum(first, second), FreeSum(second, first)
    x = jnp.linspace(*one.support(), 202)[1:-1]
    np.testing.assert_allclose(one.pdf(x), other.pdf(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.cdf(x), other.cdf(x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.breakpoints(), other.breakpoints(), rtol=0, atol=1e-9)


def test_nested_laws():
    # Sums are associative, and the square of a power is a power.
    left, right = FreeSum(FreeSum(COIN, Semicircle(0.5)), Uniform()), FreeSum(COIN, FreeSum(Semicircle(0.5), Uniform()))
    x = jnp.linspace(-1.4, 2.4, 39)
    # In the middle of the gap, at 0.5, the fixed point is infinite.
    np.testing.assert_allclose(left.pdf(x), right.pdf(x), rtol=0, atol=1e-10)
    np.testing.assert_allclose(left.cdf(x), right.cdf(x), rtol=0, atol=1e-14)
    power, direct = FreePower(FreePower(MarchenkoPastur(0.5), 1.5), 2.0), FreePower(MarchenkoPastur(0.5), 3.0)
    x = jnp.linspace(0.5, 6.0, 39)
    np.testing.assert_allclose(power.pdf(x), direct.pdf(x), rtol=0, atol=1e-13)


@pytest.mark.slow
def test_atoms_of_parts_with_atoms():
    # Pairs of levels without a mass stand at the places of those with one.
    one, other = Empirical([0.0, 1.0], [0.7, 0.3]), Empirical([0.0, 1.0], [0.6, 0.4])
    for inner in (FreeSum(one, other), FreeSum(other, one)):
        for law, place, mass, above in (
            (FreeSum(inner, Empirical([0.0, 3.0], [0.95, 0.05])), 1.0, 0.05, 0.35),
            (FreePower(inner, 1.05), 1.05, 1 - 1.05 * 0.9, 1.05 * 0.3),
        ):
            places, masses = law.atoms()
            nearest = np.argmin(np.abs(places - place))
            there = places[nearest]
            np.testing.assert_allclose(masses[nearest], mass, rtol=0, atol=1e-15)
            np.testing.assert_allclose(law.sf(there), above, rtol=0, atol=1e-14)
            np.testing.assert_allclose(law.cdf(there), 1 - above, rtol=0, atol=1e-14)
            lower, upper, _ = map(np.asarray, law.bands())
            assert (lower[1:] >= upper[:-1] - 1e-12).all()


@pytest.mark.slow
def test_bands_of_many_points():
    points = np.linspace(-2, 2, 40)
    law, closed = FreeSum(Empirical(points), Semicircle(0.05)), DeformedSemicircle(points, np.full(40, 1 / 40), 0.05)
    np.testing.assert_allclose(law.breakpoints(), closed.breakpoints(), rtol=0, atol=1e-14)
    x = jnp.asarray(_points(closed))
    np.testing.assert_allclose(law.pdf(x), closed.pdf(x), rtol=1e-7, atol=1e-12)
    with pytest.warns(UserWarning, match="80 gaps"):
        assert FreeSum(Empirical(np.arange(81.0)), Semicircle(0.1)).breakpoints().shape == (2,)


@pytest.mark.slow
def test_derivatives():
    sums = lambda radius: FreeSum(COIN, Semicircle(radius))
    closed = lambda radius: DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], radius)
    for quantity in ("pdf", "cdf"):
        value = lambda law, quantity: lambda radius, x: getattr(law(radius), quantity)(x)
        got, right = value(sums, quantity), value(closed, quantity)
        for argument in (0, 1):
            np.testing.assert_allclose(
                jax.grad(got, argument)(1.0, 0.9), jax.grad(right, argument)(1.0, 0.9), rtol=1e-12
            )
        np.testing.assert_allclose(
            jax.grad(jax.grad(got))(1.0, 0.9), jax.grad(jax.grad(right))(1.0, 0.9), rtol=1e-11, err_msg=quantity
        )
    end = lambda law: lambda radius: law(radius).support()[1]
    np.testing.assert_allclose(jax.grad(end(sums))(1.0), jax.grad(end(closed))(1.0), rtol=1e-9)


@pytest.mark.slow
def test_second_derivatives_of_ends():
    # Soft ends, and the quantile between two bands that have merged.
    def ends(t):
        law = FreeSum(Empirical(jnp.stack([-jnp.ones_like(t), t]), [0.4, 0.6]), Semicircle(1.3 * t))
        return jnp.concatenate(law.bands()[:2])

    slopes = jax.jit(jax.jacfwd(ends))
    for t in (0.9, 1.7):
        t = jnp.asarray(t)
        curvatures = jax.jit(jax.jacfwd(jax.jacfwd(ends)))(t)
        step = 1e-4
        differences = (slopes(t + step) - slopes(t - step)) / (2 * step)
        np.testing.assert_allclose(curvatures, differences, rtol=1e-6, atol=1e-6)


def test_fallbacks_of_laws_without_formulas():
    # The potential is a primitive of the transform, and its angle is the mass above; both come from a quadrature.
    for law in (Wachter(2.5, 1.5), rmt.laws.QuarterCircle(2.0), rmt.laws.InverseMarchenkoPastur(0.4), FussCatalan(2)):
        z = jnp.array([0.3 + 0.01j, 1 + 0.5j, 2 + 1e-3j])
        _, slope = jax.jvp(law._log_potential, (z,), (jnp.ones_like(z),))
        np.testing.assert_allclose(slope[0], law.stieltjes(z), rtol=1e-12)
        x = law.ppf(jnp.array([0.65, 0.8, 0.95]))
        above, below = jnp.imag(law._log_potential(jax.lax.complex(x, 0 * x))) / jnp.pi
        np.testing.assert_allclose(above, law.sf(x), rtol=0, atol=1e-10)
        np.testing.assert_allclose(-below, law.cdf(x), rtol=0, atol=1e-10)


@pytest.mark.heavy
def test_levels_of_matrices(getkey):
    n = 400
    a, b = jnp.repeat(jnp.array([-1.0, 1.0]), n // 2), rmt.Wishart(n, 2 * n).eigenvalues(getkey())
    rotation = rmt.HaarOrthogonal(n).sample(getkey())
    levels = rmt.eigvalsh(jnp.diag(a) + (rotation * b[None]) @ rotation.T)
    law = FreeSum(COIN, MarchenkoPastur(0.5))
    # Levels of a matrix are rigid: the distance is of order log(n)/n.
    assert np.max(np.abs(law.cdf(levels) - (np.arange(n) + 0.5) / n)) < 0.01
    corner = rmt.eigvalsh((rotation * a[None] @ rotation.T)[: n // 4, : n // 4])
    assert np.max(np.abs(FreeCompression(COIN, 0.25).cdf(corner) - (np.arange(n // 4) + 0.5) / (n // 4))) < 0.03


@pytest.mark.parametrize("c", [2.0**-80, 2.0**80])
def test_units(c):
    x = jnp.array([0.5, 0.9, 1.3])
    law = FreeSum(Empirical([-1.0 * c, 1.0 * c]), Semicircle(1.0 * c))
    np.testing.assert_allclose(c * law.pdf(c * x), FreeSum(COIN, Semicircle(1.0)).pdf(x), rtol=1e-12)
    law = FreeProduct(Empirical([1.0 * c, 5.0 * c]), Empirical([1.0 * c, 2.0 * c]))
    one = FreeProduct(TWO, Empirical([1.0, 2.0]))
    np.testing.assert_allclose(c * c * law.pdf(c * c * x * 4), one.pdf(4 * x), rtol=1e-12)


def test_affine_images():
    base = MarchenkoPastur(2.0, 1.2)
    law = base.scaled(-0.5).shifted(3.0)
    x = jnp.linspace(-1, 3.5, 9)
    np.testing.assert_allclose(law.pdf(x), 2 * base.pdf((x - 3) / -0.5), rtol=1e-13)
    np.testing.assert_allclose(law.cdf(x[:-2]), base.sf((x[:-2] - 3) / -0.5), rtol=1e-13)
    np.testing.assert_allclose(
        (law.mean(), law.var(), law.skewness()), (3 - 0.72, base.var() / 4, -base.skewness()), rtol=1e-13
    )
    np.testing.assert_allclose(law.free_cumulant(3), -base.free_cumulant(3) / 8, rtol=1e-13)
    np.testing.assert_allclose(law.stieltjes(1 + 1j), -2 * base.stieltjes((1 + 1j - 3) / -0.5), rtol=1e-13)
    np.testing.assert_allclose(Affine(Semicircle(2.0), 0.5, 1.0).r_transform(0.3), 1 + 0.25 * 0.3, rtol=1e-13)


def test_given_levels():
    law = Empirical([2.0, -1.0, 0.5], [0.25, 0.5, 0.25])
    x = jnp.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(law.cdf(x), [0, 0.5, 0.5, 0.75, 0.75, 1, 1])
    np.testing.assert_allclose(law.sf(x), [1, 0.5, 0.5, 0.25, 0.25, 0, 0])
    np.testing.assert_array_equal(law.pdf(x), 0)
    np.testing.assert_array_equal(law.ppf(jnp.array([0.1, 0.5, 0.6, 0.75, 0.8])), [-1, -1, 0.5, 0.5, 2])
    np.testing.assert_allclose(law.moment(3), 0.25 * 8 - 0.5 + 0.25 / 8)


def test_refusals():
    for wrong in (lambda: FreeSum(COIN, 2.0), lambda: FreePower(rmt.laws.TracyWidom(2), 2.0)):
        with pytest.raises(ValueError, match="be a law of one eigenvalue with transforms"):
            wrong()
    with pytest.raises(ValueError, match="law of numbers that are not negative"):
        FreeProduct(Semicircle(2.0), MarchenkoPastur(0.5))
    with pytest.raises(ValueError, match="not all 0"):
        FreeProduct(MarchenkoPastur(0.5), Empirical([0.0]))
    with pytest.raises(ValueError, match="`copies` must be finite and at least 1"):
        FreePower(COIN, 0.5)
    with pytest.raises(ValueError, match="`share` must be in"):
        FreeCompression(COIN, 1.5)


BANDS = {
    "one": (Semicircle(2.0), [[-2, 2, 1]]),
    "no atom": (MarchenkoPastur(0.25), [[0.25, 0.25, 0], [0.25, 2.25, 1]]),
    "an atom": (MarchenkoPastur(4.0), [[0, 0, 0.75], [1, 9, 0.25]]),
    "levels": (Empirical([3.0, 1.0], [0.25, 0.75]), [[1, 1, 0.75], [3, 3, 0.25]]),
    "a reflection": (MarchenkoPastur(4.0).scaled(-1.0), [[-9, -1, 0.25], [0, 0, 0.75]]),
    "merged": (FreeSum(COIN, Semicircle(2.0)), [[-1.5 * 3**0.5, 0, 0.5], [0, 1.5 * 3**0.5, 0.5]]),
}


@pytest.mark.parametrize("name", BANDS)
def test_bands(name):
    law, right = BANDS[name]
    np.testing.assert_allclose(jnp.stack(law.bands(), axis=-1), right, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "law",
    [
        GeneralMarchenkoPastur(2.0, [0.0, 1.0, 30.0], [0.25, 0.5, 0.25]),
        DeformedSemicircle([-1, 1], [0.3, 0.7], 1.0),
        FreeSum(Empirical([-2.0, 2.0]), MarchenkoPastur(0.25)),  # the level of its gap is there twice
        FreePower(Empirical([-0.8, 0.5, 1.5], [0.2, 0.16, 0.64]), 1.6),  # a gap below the outermost atom
        FreeCompression(Empirical([0.0, 1.0], [0.4, 0.6]), 0.8),  # two atoms, and a band between them
    ],
)
def test_bands_carry_their_masses(law):
    lower, upper, masses = law.bands()
    np.testing.assert_allclose(masses.sum(), 1, rtol=1e-14)
    np.testing.assert_allclose(jnp.cumsum(masses), law.cdf(upper), rtol=0, atol=1e-13)
    assert np.all(lower[1:] >= upper[:-1])
    assert np.any(lower[1:] > upper[:-1] + 0.1)
    assert np.all((upper - lower)[masses == 0] == 0)


def test_the_deformed_semicircle_has_the_transform_of_its_equation():
    law, z = DeformedSemicircle([-1.0, 0.5], [0.25, 0.75], 1.2), jnp.array([0.3, -1.4 + 0.1j, 2.0])
    g = law.stieltjes(z)
    right = sum(w / (z - 0.36 * g - a) for w, a in ((0.25, -1.0), (0.75, 0.5)))
    np.testing.assert_allclose(g, right, rtol=1e-13)


def test_next_to_the_support_both_tails_are_exact():
    law = FreeCompression(Empirical([-0.488, 0.2025], [0.135, 0.865]), 0.15)
    x = jnp.linspace(-0.48, float(law.support()[0]) - 1e-6, 100)  # in the support of the part
    np.testing.assert_array_equal(law.cdf(x), 0)
    np.testing.assert_array_equal(law.sf(x), 1)


def test_more_gaps_than_are_searched_for_are_no_silence():
    with pytest.warns(UserWarning, match="There may be 80 gaps"):
        assert FreePower(Empirical(np.arange(81.0)), 1.5).breakpoints().shape == (2,)


def test_beside_an_atom_at_zero_products_keep_their_digits():
    law, x = FreeProduct(Empirical([0.0, 1.0]), MarchenkoPastur(0.5)), jnp.logspace(-14, -1, 14)
    np.testing.assert_array_equal(law.cdf(x), 0.5)
    np.testing.assert_array_equal(law.pdf(x), 0)
    assert law.support()[0] == 0
    lower, upper, masses = law.bands()
    np.testing.assert_allclose(jnp.stack([lower, upper, masses])[:, masses > 0], [[0, 0.25], [0, 2.25], [0.5, 0.5]])


@pytest.mark.parametrize("factor", [0.3, 2.0])
def test_a_product_with_a_single_point_is_a_scaled_law(factor):
    """Its map is constant and on the axis, so that the half plane's metric has no number for the step."""
    law, x = FreeProduct(MarchenkoPastur(0.5), Empirical([factor])), jnp.linspace(-0.1, 3.2, 60)
    np.testing.assert_allclose(law.pdf(factor * x) * factor, MarchenkoPastur(0.5).pdf(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(law.cdf(factor * x), MarchenkoPastur(0.5).cdf(x), rtol=1e-13)
