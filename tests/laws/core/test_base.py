"""The contract of laws, for every law of the table."""

import functools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rmtjax import laws
from rmtjax.laws._core import fallbacks
from rmtjax.testing import check_law
from tests.cases import further
from tests.laws.core.methods import METHODS, check_slopes
from tests.laws.reference import CASES

BELOW = {"pdf": 0, "logpdf": -np.inf, "cdf": 0, "logcdf": -np.inf, "sf": 1, "logsf": 0}
ABOVE = {"pdf": 0, "logpdf": -np.inf, "cdf": 1, "logcdf": 0, "sf": 0, "logsf": -np.inf}
# Nearly all of the time is compilation, once for each structure of a law; laws that differ only in parameters share it.


def every(names, *, but=()):
    """These laws as cases of a test; those with a part from `but` in their names run less often (`further`)."""
    later = [name for name in names if any(part in name for part in but)]
    return pytest.mark.parametrize("name", [*(name for name in names if name not in later), *further(*later)])


# Each order is compiled anew, so only one of each arrangement is tested every day: the middle one or the limit.
FURTHER = ("N=1 ", "N=2 ", "N=1000", "ascending N=None", "magnitude N=8", "cat N=None", "binomial semicircle N=None")
every_law = every(CASES, but=FURTHER)
MIDDLE = [name for name in CASES if not any(order in name for order in ("N=1 ", "N=2 ", "N=1000"))]
every_middle_law = every(MIDDLE, but=FURTHER)
STARTS = ("semicircle", "uniform", "mixture", "binomial", "ascending N=8", "magnitude N=None", "cat N=None")
WITH_GRADIENTS = [name for name in MIDDLE if name.startswith(STARTS)]
# One case of each way of computing a law.
KINDS = ["semicircle of radius 0.7", "uniform", "mixture with a gap", "binomial semicircle N=8 μ=0.9"]
KINDS += ["magnitude N=None μ=0.9", "cat N=8 μ=0.9"]
every_kind = every(KINDS, but=("uniform", "magnitude", "cat"))
# All laws with their own sampler, and the uniform law with the inverse transform, which all others use.
every_sampler = pytest.mark.parametrize("name", [*KINDS[:4], "symmetrised"])


@jax.jit
def tabulate(law, x):
    slope = jax.vmap(jax.grad(law.cdf))(x)
    return {name: getattr(law, name)(x) for name in METHODS} | {"slope": slope}


@jax.jit
def inverse(law, p):
    return law.ppf(p)


@jax.jit
def averages(law):
    return law.moment(0), law.mean(), law.var(), law.moment(3), law.breakpoints()


@functools.cache
def ends(name):
    return tuple(map(float, CASES[name].law.support()))


@functools.cache
def points(name):
    """Points inside the support without a pattern, so that none is a jump of the density."""
    lower, upper = ends(name)
    return lower + (upper - lower) * np.sort(np.arange(1, 49) * (np.sqrt(5) - 1) / 2 % 1)


@functools.cache
def table(name):
    return {key: np.asarray(v) for key, v in tabulate(CASES[name].law, jnp.asarray(points(name))).items()}


@every_law
def test_values_are_those_of_the_definition(name):
    case, x, got = CASES[name], points(name), table(name)
    np.testing.assert_allclose(got["pdf"], case.pdf(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got["cdf"], case.cdf(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got["sf"], 1 - case.cdf(x), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(got["slope"], got["pdf"], rtol=1e-11, atol=1e-13)
    for key in ("pdf", "cdf", "sf"):
        np.testing.assert_allclose(np.exp(got["log" + key]), got[key], rtol=1e-13, atol=1e-300)


@every(MIDDLE, but=("magnitude N=None", *FURTHER))
def test_moments_against_quadrature(name):
    total, mean, variance, third, panels = map(np.asarray, averages(CASES[name].law))
    panels = np.unique(panels)
    assert (panels[0], panels[-1]) == ends(name)
    # The midpoint rule in the angle, which is not the rule that the library uses.
    angles = (np.arange(400) + 0.5) * np.pi / 400
    half = np.diff(panels)[:, None] / 2
    x = panels[:-1, None] + half * (1 - np.cos(angles))
    measure = CASES[name].pdf(x) * half * np.sin(angles) * np.pi / 400
    powers = [np.sum(x**k * measure) for k in range(4)]
    np.testing.assert_allclose(powers[0], 1, rtol=1e-4)
    np.testing.assert_allclose(total, 1, rtol=1e-12)
    np.testing.assert_allclose(mean, powers[1], rtol=0, atol=1e-4)
    np.testing.assert_allclose(variance, powers[2] - powers[1] ** 2, rtol=0, atol=2e-4)
    np.testing.assert_allclose(third, powers[3], rtol=0, atol=5e-4)


@every_middle_law
def test_quantile_inverts_the_distribution(name):
    law, x = CASES[name].law, points(name)
    p = table(name)["cdf"]
    got = np.asarray(inverse(law, jnp.asarray(p)))
    inside = table(name)["pdf"] > 1e-3
    assert inside.sum() > 20
    np.testing.assert_allclose(got[inside], x[inside], rtol=0, atol=1e-12)
    special = np.asarray(inverse(law, jnp.array([0.0, 1.0, -0.1, 1.1, np.nan] + [0.5] * 43)))
    np.testing.assert_array_equal(special[:5], [*ends(name), np.nan, np.nan, np.nan])


def test_quantile_in_a_gap_is_the_smallest_point():
    law, rest = CASES["mixture with a gap"].law, [0.5] * 45  # the number of points of the programs above
    got = inverse(law, jnp.array([0.25, 0.25 - 1e-9, 0.25 + 1e-9, *rest]))
    np.testing.assert_allclose(got[0], -1.0, rtol=1e-14)
    np.testing.assert_allclose(got[1:3], [-1.0, 0.5], rtol=0, atol=1e-8)
    got = tabulate(law, jnp.array([-0.5, 0.0, 0.1, *rest]))
    np.testing.assert_array_equal(got["pdf"][:3], [0, 0, 0])
    np.testing.assert_allclose(got["cdf"][:3], [0.25, 0.25, 0.25], rtol=1e-14)


@every(["uniform", "mixture with a gap", "magnitude N=None μ=0.9", "cat N=None μ=0.9"], but=("N=None",))
def test_derivative_of_the_quantile_is_the_inverse_density(name):
    slope, density = quantile_slope(CASES[name].law, jnp.array([0.2, 0.8]))
    np.testing.assert_allclose(slope, 1 / density, rtol=1e-9)


@jax.jit
def quantile_slope(law, p):
    x, slope = jax.vmap(jax.value_and_grad(law.ppf))(p)
    return slope, law.pdf(x)


@every_law
def test_outside_the_support_and_at_nan(name):
    law, (lower, upper) = CASES[name].law, ends(name)
    x = np.array([-np.inf, lower - 1, lower, upper, upper + 1, np.inf, np.nan] + [np.nan] * 41)
    for key, got in tabulate(law, jnp.asarray(x)).items():
        if key != "slope":
            expected = [BELOW[key]] * 3 + [ABOVE[key]] * 3 + [np.nan]
            np.testing.assert_array_equal(got[:7], expected, err_msg=key)


@every(WITH_GRADIENTS, but=("uniform", "magnitude N=None", "cat N=None", "ascending"))
def test_gradients_are_finite_at_inside_and_outside_the_edges(name):
    law, (lower, upper) = CASES[name].law, ends(name)
    near = 4 * np.spacing(max(abs(lower), abs(upper)))
    x = np.array([lower - 1, lower, lower + near, 0.7 * lower + 0.3 * upper, upper - near, upper, upper + 1])
    check_slopes(law, x, flat=(0, 1, 5, 6))


@every_sampler
def test_draws_fall_into_bins_as_the_distribution_says(name):
    law, (lower, upper) = CASES[name].law, ends(name)
    num_draws = 4000
    draws = np.asarray(draw(law, jax.random.key(7)))
    assert draws.shape == (num_draws,)
    assert ((draws >= lower) & (draws <= upper)).all()
    edges = np.linspace(lower, upper, 17)
    counts, _ = np.histogram(draws, edges)
    low, high = stats.binom.interval(1 - 1e-6, num_draws, np.clip(np.diff(CASES[name].cdf(edges)), 0, 1))
    assert ((counts >= low) & (counts <= high)).all(), (low, counts, high)
    assert not np.array_equal(draws, draw(law, jax.random.key(8)))


@jax.jit
def draw(law, key):
    return law.sample(key, (4000,))


@every_sampler
def test_shapes_of_draws_and_keys(name):
    law = CASES[name].law
    shape = lambda *size: jax.eval_shape(lambda key: law.sample(key, *size), jax.random.key(0)).shape
    assert shape() == ()
    assert shape((2, 3)) == (2, 3)
    with pytest.raises(ValueError, match="`key` must be a typed key"):
        law.sample(jax.random.PRNGKey(0))


@every_kind
def test_python_numbers_as_parameters_leave_the_dtype_alone(name):
    for method in (*METHODS, "ppf"):
        for dtype in (np.float32, np.float64):
            x = jax.ShapeDtypeStruct((3,), dtype)
            assert jax.eval_shape(getattr(CASES[name].law, method), x).dtype == dtype, method


@every_kind
def test_single_precision(name):
    law, x = CASES[name].law, points(name).astype(np.float32)
    arrays, rest = eqx.partition(law, eqx.is_array)
    single = eqx.combine(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), arrays), rest)
    pdf, cdf, sf, quantile, mean, variance = map(np.asarray, in_single_precision(single, jnp.asarray(x)))
    assert {a.dtype for a in (pdf, cdf, sf, quantile, mean, variance)} == {np.dtype(np.float32)}
    np.testing.assert_allclose(pdf, CASES[name].pdf(x.astype(float)), rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(cdf, CASES[name].cdf(x.astype(float)), rtol=0, atol=4e-6)
    np.testing.assert_allclose(sf, 1 - CASES[name].cdf(x.astype(float)), rtol=0, atol=4e-6)
    np.testing.assert_allclose(quantile[pdf > 0.05], x[pdf > 0.05], rtol=0, atol=1e-4)
    np.testing.assert_allclose((mean, variance), averages(law)[1:3], rtol=1e-4, atol=1e-4)


@jax.jit
def in_single_precision(law, x):
    cdf = law.cdf(x)
    return law.pdf(x), cdf, law.sf(x), law.ppf(cdf), law.mean(), law.var()


# Laws with formulas that test the fall-backs: panels that are few, many, apart, and at a jump.
@pytest.mark.parametrize("name", [*KINDS[:1], *KINDS[2:4], "symmetrised", *further("ascending N=None μ=0.9")])
def test_formula_and_fall_back_agree(name):
    law, x = CASES[name].law, points(name)[::4]
    cdf, moments = fall_backs(law, jnp.asarray(x))
    np.testing.assert_allclose(cdf, table(name)["cdf"][::4], rtol=0, atol=1e-12)
    _, mean, variance, third, _ = averages(law)
    np.testing.assert_allclose(moments, (mean, variance + mean**2, third), rtol=0, atol=1e-11)


@jax.jit
def fall_backs(law, x):
    return fallbacks.cdf(law, x), [fallbacks.moment(law, k) for k in (1, 2, 3)]


MAKERS = {
    "mixture": lambda s: laws.Mixture(jnp.stack([s / 2, 1 - s / 2]), [laws.Semicircle(s), laws.Semicircle(2.0)]),
    "binomial": lambda s: laws.BinomialSemicircle(8, s, 1.5),
    "cat": lambda s: laws.wigner_cat(s, order=8),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_vmap_over_parameters_and_one_compilation_for_all(make):
    parameters = jnp.array([0.3, 0.71, 1.0])
    value = jax.jit(lambda s: make(s).cdf(-0.2))
    one_by_one = [value(s) for s in parameters]
    assert value._cache_size() == 1
    assert len(np.unique(one_by_one)) == 3

    @jax.jit
    def mapped(s):
        stacked = jax.vmap(make)(s)
        return jax.vmap(lambda s: make(s).cdf(-0.2))(s), jax.vmap(lambda law: law.cdf(-0.2))(stacked)

    for got in mapped(parameters):
        np.testing.assert_allclose(got, one_by_one, rtol=1e-13)


@pytest.mark.float32
@pytest.mark.parametrize("x", [np.array([1 + 1j]), 1j])
def test_a_complex_point_is_refused(x):
    with pytest.raises(ValueError, match="`x` must be real"):
        laws.Semicircle().pdf(x)


@pytest.mark.float32
@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_a_bad_order_of_a_moment_is_refused(k):
    with pytest.raises(ValueError, match=f"`k` must be an integer of at least 0, got {k}"):
        laws.Semicircle().moment(k)


class Spike(laws.AbstractLaw):
    """A point mass of weight 1/4 at `place`, the rest uniform on [0, 1]."""

    place: jax.Array

    def _support(self):
        return jnp.zeros(()), jnp.ones(())

    def _pdf(self, x):
        return jnp.full_like(x, 0.75)

    def _atoms(self):
        return self.place[None], jnp.full(1, 0.25)


@pytest.mark.parametrize("place", [0.0, 0.4, 1.0])
def test_a_point_mass(place):
    law = Spike(jnp.asarray(place))
    below, above = place - 1e-13, place + 1e-13
    np.testing.assert_allclose(
        law.cdf(np.array([below, place, above])), 0.75 * place + np.array([0, 0.25, 0.25]), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(law.sf(place), 0.75 * (1 - place), rtol=0, atol=1e-12)
    np.testing.assert_allclose(law.mean(), 0.375 + 0.25 * place, rtol=1e-12)
    np.testing.assert_allclose(law.ppf(0.75 * place + 0.1), place, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law.moment(0), 1, rtol=1e-12)


class Halves(laws.AbstractLaw):
    """Uniform on [0, 1], with both masses from one computation, which notes that it was asked for."""

    asked: ClassVar[list] = []

    def _support(self):
        return jnp.zeros(()), jnp.ones(())

    def _pdf(self, x):
        return jnp.ones_like(x)

    def _tails(self, x):
        self.asked.append(x)
        return x, 1 - x


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "ppf"])
def test_both_masses_are_one_computation(method):
    Halves.asked.clear()
    p = np.array([1e-3, 0.3, 0.8])
    expected = getattr(stats.uniform, method)(p)
    np.testing.assert_allclose(jax.jit(lambda p: getattr(Halves(), method)(p))(p), expected, rtol=1e-14)
    assert len(Halves.asked) == 1


class Exponential(laws.AbstractLaw):
    """A law on a half-line with a nonzero density at its end; everything else is a fall-back."""

    rate: jax.Array

    def _support(self):
        return 0 * self.rate, jnp.full_like(self.rate, jnp.inf)

    def _breakpoints(self):
        return jnp.array([0.0, 10.0, 50.0]) / self.rate

    def _pdf(self, x):
        return self.rate * jnp.exp(-self.rate * x)

    def _pdf_at_ends(self):
        return self.rate, 0.0


class Logistic(laws.AbstractLaw):
    """A law on the whole line with its own tails."""

    scale: jax.Array

    def _support(self):
        return jnp.full_like(self.scale, -jnp.inf), jnp.full_like(self.scale, jnp.inf)

    def _breakpoints(self):
        return jnp.array([-750.0, -50.0, -10.0, 0.0, 10.0, 50.0, 750.0]) * self.scale

    def _pdf(self, x):
        return self._cdf(x) * self._sf(x) / self.scale

    def _cdf(self, x):
        return jnp.exp(self._logcdf(x))

    def _sf(self, x):
        return jnp.exp(self._logsf(x))

    def _logcdf(self, x):
        return -jnp.logaddexp(0, -x / self.scale)

    def _logsf(self, x):
        return -jnp.logaddexp(0, x / self.scale)


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (Exponential(jnp.asarray(2.5)), stats.expon(scale=0.4)),
        *further((Logistic(jnp.asarray(0.7)), stats.logistic(scale=0.7))),
    ],
    ids=["half-line", "line"],
)
def test_infinite_supports(law, reference):
    x = np.array([0.1, 0.9, 2.0, 7.0])
    for name in METHODS:
        # The fall-back for the upper tail is 1 - cdf, which is right up to rounding but not in relative error.
        scale = np.exp if name.startswith("log") else np.asarray
        expected = scale(getattr(reference, name)(x))
        np.testing.assert_allclose(scale(getattr(law, name)(x)), expected, rtol=1e-12, atol=1e-14)
    p = np.array([1e-200, 1e-9, 0.3, 0.99])
    np.testing.assert_allclose(law.ppf(p), reference.ppf(p), rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(law.var(), reference.var(), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Exponential(jnp.asarray(2.5)), Logistic(jnp.asarray(0.7))], ids=["half-line", "line"])
def test_laws_on_infinite_supports_keep_the_contract(law):
    check_law(law)


def test_density_and_tails_at_and_beyond_infinite_ends():
    law, line = Exponential(jnp.asarray(2.5)), Logistic(jnp.asarray(0.7))
    np.testing.assert_array_equal(law.pdf(jnp.array([-1.0, 0.0, jnp.inf])), [0, 2.5, 0])
    np.testing.assert_array_equal(law.logpdf(jnp.array([-1.0, 0.0, jnp.inf])), [-np.inf, np.log(2.5), -np.inf])
    np.testing.assert_allclose(line.logsf(2000.0), -2000 / 0.7)
    np.testing.assert_array_equal(line.logcdf(jnp.array([-jnp.inf, jnp.inf])), [-np.inf, 0])


class Steps(laws.AbstractLaw):
    """A user's law with a constant density and with a function among its fields."""

    width: jax.Array
    density: object = eqx.field(default=lambda x: x)

    def _support(self):
        return 0 * self.width, self.width

    def _breakpoints(self):
        return self.width * jnp.array([0, 0.2, 1])

    def _pdf(self, x):
        return self.density(1 / self.width)


def test_moments_of_a_constant_density_on_several_panels():
    law = Steps(jnp.asarray(1.5))
    np.testing.assert_allclose((law.mean(), law.moment(2)), (0.75, 0.75), rtol=1e-13)
    np.testing.assert_allclose((law.var(), law.kurtosis()), (1.5**2 / 12, -1.2), rtol=1e-12)
    np.testing.assert_allclose(law.skewness(), 0, rtol=0, atol=1e-13)


class GapAtZero(laws.AbstractLaw):
    """Two densities with inverse square roots at the edges of the gap (-g, g), which may be closed."""

    gap: jax.Array

    def _support(self):
        return -1 - self.gap, 1 + self.gap

    def _breakpoints(self):
        return jnp.stack([-1 - self.gap, -self.gap, self.gap, 1 + self.gap])

    def _pdf(self, x):
        beyond = jnp.abs(x) - self.gap
        return jnp.where(beyond > 0, 1 / jnp.sqrt(jnp.where(beyond > 0, beyond, 1)), jnp.where(x == 0, jnp.inf, 0)) / 4


def test_a_gap_that_closes_at_a_singular_point():
    variance = lambda gap: GapAtZero(gap).var()
    # E (g + U)² with the density U^(-1/2)/2 on (0, 1).
    np.testing.assert_allclose(variance(jnp.asarray(0.0)), 1 / 5, rtol=1e-12)
    np.testing.assert_allclose(variance(jnp.asarray(0.5)), 1 / 5 + 2 / 3 * 0.5 + 0.25, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(variance)(0.5), 2 / 3 + 1, rtol=1e-12)


def test_skewness_far_from_0_in_single_precision():
    one = jnp.float32(1)
    parts = [laws.Uniform(1000 * one, 1001 * one), laws.Uniform(1001 * one, 1004 * one)]
    law = laws.Mixture(jnp.array([0.3, 0.7], jnp.float32), parts)
    # Central moments of two uniform laws, of the widths 1 and 3, about the mean of the mixture.
    mean = 0.3 * 0.5 + 0.7 * 2.5
    part = lambda lower, upper, k: ((upper - mean) ** (k + 1) - (lower - mean) ** (k + 1)) / (k + 1) / (upper - lower)
    exact = lambda k: 0.3 * part(0, 1, k) + 0.7 * part(1, 4, k)
    np.testing.assert_allclose(law.skewness(), exact(3) / exact(2) ** 1.5, rtol=0, atol=2e-3)
    np.testing.assert_allclose(law.kurtosis(), exact(4) / exact(2) ** 2 - 3, rtol=0, atol=2e-3)


class ManyPanels(laws.AbstractLaw):
    """The density 2x on (0, 1), on forty panels."""

    def _support(self):
        return jnp.asarray(0.0), jnp.asarray(1.0)

    def _breakpoints(self):
        return jnp.linspace(0.0, 1.0, 41)

    def _pdf(self, x):
        return 2 * x


def test_memory_of_the_distribution_function_by_the_fall_back():
    program = jax.jit(ManyPanels().cdf).lower(jnp.linspace(0.0, 1.0, 20_000)).compile()
    # For every point only the nodes of one panel are in memory, not the nodes of all panels.
    assert program.memory_analysis().temp_size_in_bytes < 10 * 20_000 * 64 * 8


def test_parameters_and_points_of_different_precision():
    cat = lambda mixture: laws.PeriodicPadding(laws.Semicircle(jnp.float32(2)), mixture, "magnitude").cdf(0.3)
    same = lambda mixture: laws.PeriodicPadding(laws.Semicircle(2.0), mixture, "magnitude").cdf(0.3)
    np.testing.assert_allclose(jax.grad(cat)(jnp.float64(0.8)), jax.grad(same)(0.8), rtol=1e-6)
