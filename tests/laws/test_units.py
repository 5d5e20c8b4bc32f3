"""No law depends on the unit of its levels: scaled by c it is the same, from the smallest numbers to the largest."""

import math
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rmtjax.laws import (
    AbstractLaw,
    AbstractPlanarLaw,
    AbstractSpectralLaw,
    DeformedSemicircle,
    GapRatioSurmise,
    MarchenkoPastur,
    Mixture,
    PeriodicPadding,
    Semicircle,
    Uniform,
)
from rmtjax.laws._core import fallbacks
from tests.cases import daily
from tests.instances import LAWS, made

DTYPE = np.dtype(jnp.zeros(0).dtype)
INFO = np.finfo(DTYPE)
EPS = float(INFO.eps)

# The parameters that carry the unit, and the power of each that the levels are proportional to. What is not listed here
# or in `WITHOUT` is a failure.
DEGREES: dict[str, dict[str, int]] = {
    "Arcsine": {"radius": 1},
    "BinomialSemicircle": {"radius": 1},
    "BuresLaw": {"scale": 1},
    "CircularLaw": {"radius": 1, "inner": 1},
    "CircularPowerLaw": {"radius": 1},
    "CovarianceProfileLaw": {"variances": 1},
    "DeformedSemicircle": {"locations": 1, "radius": 1},
    "EllipticLaw": {"scale": 1},
    "FreeLevy": {"scale": 2},
    "FreePoisson": {"jump": 1},
    "FreePolynomial": {"coefficients": 1},
    "GeneralMarchenkoPastur": {"population": 1},
    "InverseMarchenkoPastur": {"scale": 2},
    "LevelDensity": {"unit": 1},
    "MarchenkoPastur": {"scale": 2},
    "Mixture": {"components": 1},
    "Normal": {"scale": 1},
    "PeriodicPadding": {"base": 1},
    "QuarterCircle": {"radius": 1},
    "Semicircle": {"radius": 1},
    "SingleRing": {"singular_values": 1},
    "Symmetrized": {"base": 1},
    "Uniform": {"lower": 1, "upper": 1},
}
# Laws of levels, spacings or components in a fixed unit.
WITHOUT = {
    *("FussCatalan", "KestenMcKay", "Wachter", "HardEdge", "StochasticAiry", "TracyWidom", "SphericalLaw"),
    *("BerryRobnik", "Brody", "CrossoverSurmise", "PoissonCrossoverSurmise", "PoissonSpacing", "Spacing"),
    *("SuperposedSpacing", "WignerSurmise", "InterpolatedSpacing", "ComplexSpacingRatio", "GapRatio"),
    *("GapRatioSurmise", "InterpolatedGapRatio", "PoissonGapRatio", "EigenvectorIntensity", "PorterThomas"),
    "TruncatedUnitaryLaw",
}
# The units of these are those of their parts, or of squares; laws/free has tests.
OF_PARTS = {
    "Affine",
    "Empirical",
    "EquilibriumMeasure",
    "FreeCompression",
    "FreePower",
    "FreeProduct",
    "FreeSum",
    "VarianceProfileLaw",
}

POINTS = jnp.array([0.04, 0.3, 0.5, 0.8, 0.97])
ARGUMENTS = jnp.array([0.04, 0.08])
# The power of the unit that a result has, and 0 for what is not listed.
POWERS = {"pdf": -1, "slope": -1, "ppf": 1, "isf": 1, "median": 1, "mean": 1, "var": 2, "std": 1, "support": 1}
POWERS |= {"breakpoints": 1, "locations": 1, "sample": 1, "stieltjes": -1, "hilbert": -1, "r": 1, "s": -1}
POWERS |= {f"moment{k}": k for k in (1, 2, 3, 4, 6)} | {f"cumulant{k}": k for k in (1, 2, 3, 4)}
LOGARITHMS = {"logpdf": -1, "planar_logpdf": -2, "potential": 1}
POWERS |= {"planar_pdf": -2, "radial_ppf": 1}
# Laws given by an equation are searched for in all of their functions.
SOLVED = ("DeformedSemicircle", "FreePolynomial", "GeneralMarchenkoPastur", "SingleRing")
# The ends of a search lie elsewhere in another unit, so that it may end within the rounding of the function.
SEARCHED = ("ppf", "isf", "median", "sample", "breakpoints")


def times(law, c):
    """The law of c X, made of its parameters alone."""
    for name, degree in DEGREES[type(law).__name__].items():
        value = getattr(law, name)
        if isinstance(value, tuple):
            new = tuple(times(part, c) for part in value)
        elif isinstance(value, AbstractLaw):
            new = times(value, c)
        else:
            new = value * (c if degree == 1 else jnp.sqrt(c))
        law = eqx.tree_at(lambda law, name=name: getattr(law, name), law, new)
    return law


@jax.jit
def table(law, c, x, p, g):
    """Everything about a law on the line; also how it changes with its unit, which is -x f for the mass up to x."""
    law, x, key = times(law, c), c * x, jax.random.key(3)
    lower, upper = law.support()
    found = {name: getattr(law, name)(x) for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")}
    found |= {name: getattr(law, name)(p) for name in ("ppf", "isf")}
    found |= {name: getattr(law, name)() for name in ("median", "mean", "var", "std", "skewness", "kurtosis")}
    found |= {f"moment{k}": law.moment(k) for k in (0, 1, 2, 3, 4, 6)}
    found |= {"support": jnp.stack([lower, upper]), "breakpoints": law.breakpoints(), "sample": law.sample(key, 3)}
    found["locations"], found["masses"] = law.atoms()
    found["slope"] = jax.vmap(jax.grad(law.cdf))(x)
    found["by unit"] = jax.jvp(lambda t: times(law, t).cdf(x), (jnp.ones_like(c),), (jnp.ones_like(c),))[1]
    if isinstance(law, AbstractSpectralLaw):
        z = jax.lax.complex(x, jnp.full_like(x, 0.3 * c))
        found |= {"stieltjes": law.stieltjes(z), "hilbert": law.hilbert(x), "potential": law.log_potential(z).real}
        found |= {f"cumulant{k}": law.free_cumulant(k) for k in (1, 2, 3, 4)}
        for name, transform, argument in (("r", law.r_transform, g / c), ("s", law.s_transform, g)):
            try:
                found[name] = transform(argument)
            except NotImplementedError:  # raised while this is traced: no formula is known
                pass
    return found


@jax.jit
def planar_table(law, c, x, p, g):
    """Everything about a law in the plane."""
    law, x = times(law, c), c * x
    z = jax.lax.complex(x, x[::-1] / 3)
    return {
        "planar_pdf": law.pdf(z),
        "planar_logpdf": law.logpdf(z),
        "radial_cdf": law.radial_cdf(x),
        "radial_ppf": law.radial_ppf(p),
        "sample": law.sample(jax.random.key(3), 3),
        "by unit": jax.jvp(lambda t: times(law, t).radial_cdf(x), (jnp.ones_like(c),), (jnp.ones_like(c),))[1],
    }


def reference(law):
    """The table at scale 1, and the points at which it was made: quantiles in the bulk."""
    planar = isinstance(law, AbstractPlanarLaw)
    p = POINTS.astype(DTYPE)
    x = jax.jit(lambda law, p: law.radial_ppf(p) if planar else law.ppf(p))(law, p)
    arguments = x, p, ARGUMENTS.astype(DTYPE)
    program = planar_table if planar else table
    one = jax.tree.map(np.asarray, program(law, jnp.ones((), DTYPE), *arguments))
    return one, lambda c: jax.tree.map(np.asarray, program(law, jnp.asarray(c, DTYPE), *arguments)), np.asarray(x)


def normal(values):
    """Whether numbers are neither subnormal nor infinite; of a complex one, whether both parts are."""
    if np.iscomplexobj(values):
        return normal(values.real) & normal(values.imag)
    return (abs(values) >= INFO.tiny) & (abs(values) <= INFO.max)


def compare(one, scaled, x, c, exact, solved):
    """Compare results where they and the points are normal numbers; in `exact`, up to the rounding of searches."""
    c = np.longdouble(c)
    points = normal(x * c) & (("planar_pdf" not in one) | normal(x[::-1] / 3 * c))
    arguments = normal(np.asarray(ARGUMENTS) / c)
    for name, values in one.items():
        kind = np.clongdouble if np.iscomplexobj(values) else np.longdouble
        if name in LOGARITHMS:
            expected, limit = values + LOGARITHMS[name] * np.log(c), 8 * EPS * (1 + abs(np.log(c)))
        else:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                expected = values.astype(kind) * c ** POWERS.get(name, 0)
                size = np.where(np.isfinite(expected), abs(expected), 0)
            limit = (16 * (solved or name in SEARCHED) if exact else 300) * EPS * size
        there = normal(expected) | (values == 0) | ~np.isfinite(values) | (name in LOGARITHMS)
        if values.shape == points.shape:
            there = there & points
        if name == "r":
            there = there & arguments
        with np.errstate(invalid="ignore"):
            same = (scaled[name] == expected) | (np.isnan(scaled[name]) & np.isnan(expected))
            error = np.where(same, 0, abs(scaled[name] - expected))
        # What is 0 up to rounding has the size of a unit.
        size = c ** POWERS.get(name, 0) if (name == "by unit" or not exact) and name not in LOGARITHMS else 0
        bad = there & ~(error <= limit + 300 * EPS * size * (abs(values) < 1))
        assert not bad.any(), (name, float(c), scaled[name], expected)


SPECIAL = {
    "GeneralMarchenkoPastur, wide": "GeneralMarchenkoPastur(2.0, [0.0, 1.0, 1e4], [0.25, 0.5, 0.25])",
    "Mixture, unequal": "Mixture([0.25, 0.75], [MarchenkoPastur(2.0), Uniform(0.5, 2.0)])",
    "LevelDensity, atom": "LevelDensity(Wishart(4, 2, 2, 0.8))",
}
EXAMPLES = {name: LAWS[name].example for name in DEGREES} | SPECIAL


def test_every_law_is_in_the_table():
    kinds = {name for name in LAWS if name != "wigner_cat"}
    assert kinds == DEGREES.keys() | WITHOUT | OF_PARTS
    assert not DEGREES.keys() & WITHOUT


@pytest.mark.float32
@pytest.mark.parametrize("name", daily(EXAMPLES, only=["GeneralMarchenkoPastur", "CircularLaw", "Mixture, unequal"]))
def test_a_law_is_the_same_in_every_unit(name):
    one, scaled, x = reference(made(EXAMPLES[name], DTYPE))
    solved = name.startswith(SOLVED)
    # Powers of 4, whose square roots are powers of two: nothing is rounded.
    most = INFO.maxexp // 2 - (12 if name in SPECIAL else 4)

    @settings(max_examples=20)
    @given(st.integers(-most, most))
    @example(-most)
    @example(most)
    @example(12)
    def in_powers_of_two(k):
        compare(one, scaled(4.0**k), x, 4.0**k, exact=True, solved=solved)

    @settings(max_examples=10)
    @given(st.integers(-int(most * 0.6), int(most * 0.6)))
    def in_powers_of_ten(k):
        # Each parameter and each point is rounded, and at these points the condition numbers are up to a hundred.
        c = float(np.asarray(10.0**k, DTYPE))
        compare(one, scaled(c), x, c, exact=False, solved=solved)

    in_powers_of_two()
    in_powers_of_ten()
    # Euler's identity for a distribution function of x/c.
    density = one["pdf"] if "pdf" in one else None
    if density is not None:
        np.testing.assert_allclose(one["by unit"], -x * density, rtol=1e4 * EPS, atol=100 * EPS)


# Offsets that the parameters hold exactly. Means of components have them rounded, and so do points of a quadrature.
SHIFTED = {
    "uniform": (lambda c: Uniform(c - 0.5, c + 1.25), 0),
    "deformed": (lambda c: DeformedSemicircle(jnp.stack([c - 1, c + 1, c + 0.5]), [0.25, 0.25, 0.5], 1.5), 0),
    "mixture": (lambda c: Mixture([0.25, 0.75], [Uniform(c - 1, c + 0.5), Uniform(c, c + 2)]), 2),
    "mixture of mixtures": (
        lambda c: Mixture(
            [0.5, 0.5], [Mixture([0.25, 0.75], [Uniform(c - 1, c), Uniform(c, c + 2)]), Uniform(c, c + 1)]
        ),
        4,
    ),
    "padding": (lambda c: PeriodicPadding(Uniform(c - 1, c + 1), 0.75, "ascending"), 8),
}


@jax.jit
def shapes(law):
    return law.var(), law.std(), law.skewness(), law.kurtosis()


@pytest.mark.float32
@pytest.mark.parametrize("name", daily(SHIFTED, but=["mixture of mixtures", "padding"]))
def test_the_shape_of_a_law_does_not_depend_on_where_it_is(name):
    make, ulps_of_offset = SHIFTED[name]
    expected = shapes(make(jnp.zeros((), DTYPE)))
    for k in (3, 8, 12, 18 if DTYPE == np.float32 else 40):
        for offset in (2.0**k, -(2.0**k)):
            got = shapes(make(jnp.asarray(offset, DTYPE)))
            np.testing.assert_allclose(got, expected, rtol=0, atol=EPS * (16 + ulps_of_offset * 2.0**k))


def exact_moments():
    """Moments by rational arithmetic: an expression, the order, and the moment."""
    choose = math.comb
    catalan = lambda m: Fraction(choose(2 * m, m), m + 1)
    narayana = lambda k, c: sum(Fraction(choose(k, j) * choose(k, j - 1), k) * c ** (j - 1) for j in range(1, k + 1))
    for k in (2, 10, 100, 1000):
        yield "Semicircle(2.0)", k, catalan(k // 2)
        yield "Arcsine(2.0)", k, Fraction(choose(k, k // 2))
        yield "Arcsine(0.5)", k, Fraction(choose(k, k // 2), 4**k)
        yield "MarchenkoPastur(0.25)", k, narayana(k, Fraction(1, 4))
        yield "MarchenkoPastur(4.0, 0.5)", k, narayana(k, Fraction(4)) / 4**k
        yield "FreePoisson(4.0, 0.125)", k, narayana(k, Fraction(1, 4)) / 2**k
        yield "InverseMarchenkoPastur(0.5, 0.5)", k, narayana(k - 1, Fraction(1, 2)) * 2 ** (2 * k - 1) / 4**k
        yield "Uniform(-1.0, 0.5)", k, (Fraction(1, 2 ** (k + 1)) + 1) / (k + 1) / Fraction(3, 2)
        yield "KestenMcKay(2.0)", k, Fraction(choose(k, k // 2))
        yield "FussCatalan(3)", k, Fraction(choose(4 * k, k), 3 * k + 1)
        yield "BuresLaw(0.25)", k, Fraction(math.prod(range(k + 1, 3 * k, 2)), math.factorial(k + 1)) / 4**k
        if k <= 100:
            yield "GeneralMarchenkoPastur(0.25, [1.0])", k, narayana(k, Fraction(1, 4))
            yield "DeformedSemicircle([0.0], [1.0], 2.0)", k, catalan(k // 2)
            yield "Wachter(1.0, 1.0)", k, Fraction(choose(2 * k, k), 4**k)
            yield "LevelDensity(GUE(1))", k, Fraction(math.prod(range(1, k, 2)))


EXACT = list(exact_moments())


@pytest.mark.float32(further=True)
@pytest.mark.parametrize(
    "of", daily(dict.fromkeys(of for of, *_ in EXACT), only=["MarchenkoPastur(0.25)", "Semicircle(2.0)"])
)
def test_moments_of_every_order(of):
    law = made(of, DTYPE)
    for k, expected in [(k, value) for name, k, value in EXACT if name == of]:
        got = float(law.moment(k))
        if expected > Fraction(float(INFO.max)):
            assert got == np.inf
        elif expected > Fraction(float(INFO.tiny)):
            np.testing.assert_allclose(got, float(expected), rtol=4 * k * EPS)


@pytest.mark.float32
def test_orders_that_overflow_are_infinite_and_larger_ones_are_refused():
    assert MarchenkoPastur(0.5).moment(10**4) == np.inf
    assert Semicircle().moment(10**4) == np.inf
    assert Semicircle().moment(10**4 - 1) == 0
    assert Semicircle(0.5).moment(10**4) == 0
    for law, k in ((Semicircle(), 3 * 10**15), (MarchenkoPastur(0.5), 10**30), (Mixture([1.0], [Uniform()]), 10**5)):
        with pytest.raises(ValueError, match=f"`k` must be at most 10000, got {k}"):
            law.moment(k)
    with pytest.raises(ValueError, match="`k` must be at most 100 for this law, got 101"):
        GapRatioSurmise(1.0).moment(101)
    with pytest.raises(ValueError, match="`k` must be at most 10000, got 20000"):
        Semicircle().free_cumulant(20000)


FREE = {
    "Arcsine(2.0)": lambda k: 2 * (-1) ** (k // 2 - 1) * Fraction(math.comb(k - 2, k // 2 - 1), k // 2),
    "KestenMcKay(3.0)": lambda k: 3 * (-1) ** (k // 2 - 1) * Fraction(math.comb(k - 2, k // 2 - 1), k // 2),
    "InverseMarchenkoPastur(0.5, 0.5)": lambda k: (
        Fraction(math.comb(2 * k - 2, k - 1), k) * Fraction(1, 2) ** (k - 1) * Fraction(1, 4) ** k * 2 ** (2 * k - 1)
    ),
    "MarchenkoPastur(0.5, 0.5)": lambda k: Fraction(1, 4) ** k * Fraction(1, 2) ** (k - 1),
    "FussCatalan(2)": lambda k: Fraction(math.comb(2 * k + 1, k), 2 * k + 1),
}


@pytest.mark.parametrize("of", daily(FREE, only=["Arcsine(2.0)"]))
def test_free_cumulants_of_every_order(of):
    law = made(of)
    for k in (2, 10, 100, 1000, 10000):
        expected = FREE[of](k)
        if abs(expected) > Fraction(float(INFO.max)):
            expected = math.inf if expected > 0 else -math.inf
        np.testing.assert_allclose(float(law.free_cumulant(k)), float(expected), rtol=4 * k * EPS)


@pytest.mark.parametrize("law", daily([Semicircle(1.5), MarchenkoPastur(0.25)], only=[]))
def test_the_quadrature_of_moments_keeps_its_digits_up_to_the_largest_order(law):
    for k in (10, 40, 100):
        np.testing.assert_allclose(fallbacks.moment(law, k), law.moment(k), rtol=1e-10)
