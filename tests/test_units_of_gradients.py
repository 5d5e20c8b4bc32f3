"""No derivative depends on the unit: of what has no unit it is divided by c where all lengths are multiplied by c."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._promotion import complex_dtype
from rmtjax._units import quotient, times
from tests.cases import daily
from tests.ensembles import test_units as ensembles
from tests.instances import ENSEMBLES, made
from tests.laws import test_units as of_laws
from tests.test_units_of_data import CASES, LEVELS, Scaled, exponents

pytestmark = pytest.mark.float32

statistics, laws = rmt.statistics, rmt.laws
DTYPE = np.dtype(jnp.zeros(0).dtype)
INFO = np.finfo(DTYPE)
EPS = float(INFO.eps)


def weighed(x: Any) -> Any:
    """One number of an array, on which each finite entry has its own influence."""
    x = jnp.ravel(x)
    x = jnp.where(jnp.isfinite(x), x, 0)
    return jnp.sum((x.real + x.imag if jnp.iscomplexobj(x) else x) * jnp.cos(jnp.arange(x.size, dtype=DTYPE)))


def numbers(ensemble, points, per_unit):
    """What an ensemble says of these points, and of its own levels, without a unit."""
    found = {"levels": times(jax.tree.leaves(ensemble.eigenvalues(jax.random.key(5)))[0], per_unit)}
    known = partial(ensembles.known, found)
    known("joint density", lambda: ensemble.joint_logpdf(points))
    known("outliers", lambda: ensemble.outliers() * per_unit)
    for side in ("upper", "lower"):
        known(f"{side} edge", lambda side=side: ensemble.soft_edge(side).standardize(points))
    if not isinstance(ensemble, rmt.LaguerreBeta):  # whose law needs a static β
        known("hard edge", lambda: ensemble.hard_edge().standardize(points))
    return {name: weighed(result) for name, result in found.items()}


@partial(jax.jit, static_argnums=3)
def slopes(ensemble, c, points, degrees):
    """Derivatives by the parameters that carry the unit, in both modes, and by the points."""
    by_scale = lambda t: numbers(ensembles.times(ensemble, t, dict(degrees)), c * points, 1 / c)
    by_points = lambda x: numbers(ensembles.times(ensemble, c, dict(degrees)), x, 1 / c)
    forward = jax.jvp(by_scale, (c,), (jnp.ones_like(c),))[1]
    # One by one: in a Jacobian an edge that does not exist makes all NaN.
    each = lambda fn, x: {name: jax.grad(lambda x, name=name: fn(x)[name])(x) for name in forward}
    return {"forward": forward, "scale": each(by_scale, c), "points": each(by_points, c * points)}


def close(one, other, c, ulps):
    """Hold derivatives in a unit against those of order 1."""
    for expected, got in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        expected, got = np.asarray(expected, np.clongdouble), np.asarray(got, np.clongdouble) * c
        assert np.isfinite(expected).all() or np.isnan(expected).all()  # of an edge that does not exist
        np.testing.assert_allclose(got, expected, rtol=0, atol=ulps * EPS * abs(expected).max(initial=0))


@pytest.mark.parametrize("case", daily(ensembles.CASES, only=["GSE", "LaguerreBeta", "Ginibre", "InverseWishart"]))
def test_slopes_of_an_ensemble(case):
    name, degrees = ensembles.CASES[case]
    ensemble = made(ENSEMBLES[name], DTYPE)
    if degrees == {"variances": 2}:
        degrees = {"variances": -2}
    levels = np.asarray(jax.tree.leaves(jax.jit(ensemble.eigenvalues)(jax.random.key(9)))[0])
    points = levels[-2:] if name == "AltlandZirnbauer" else np.nan_to_num(levels, posinf=2.0)
    points = abs(points) if name in ensembles.IN_THE_PLANE else points
    points = jnp.asarray(np.where(points == 0, 0.1, points), DTYPE)  # the logarithm of 0 has no derivative
    program = lambda c: slopes(ensemble, jnp.asarray(c, DTYPE), points, tuple(degrees.items()))
    # In reverse mode the reciprocal of the unit goes through all steps, with all of its digits.
    most = (INFO.maxexp - INFO.nmant - 8) // (4 if degrees == {"variances": -2} else 2)
    one = program(1.0)
    for k in (-most, -most // 2, 11, most // 2, most):
        scaled = program(4.0**k)
        for kind, results in one.items():
            for what, expected in results.items():
                try:
                    close(expected, scaled[kind][what], np.longdouble(4.0) ** k, 300)
                except AssertionError as error:
                    raise AssertionError(f"{what} by {kind} at 4^{k}") from error


def numbers_of_law(law, x, per_unit):
    """What a law says of these points, and of its levels, without a unit."""
    p = jnp.asarray([0.2, 0.7], DTYPE)
    z = jax.lax.complex(x, x / 3)
    if isinstance(law, laws.AbstractPlanarLaw):
        found = {"cdf": law.radial_cdf(x), "logpdf": law.logpdf(z), "ppf": law.radial_ppf(p) * per_unit}
    else:
        levels = jnp.concatenate([law.ppf(p), jnp.stack([law.mean(), law.std()])])
        found = {"cdf": law.cdf(x), "logpdf": law.logpdf(x), "levels": levels * per_unit}
    if isinstance(law, laws.AbstractSpectralLaw):
        found["stieltjes"] = times(law.stieltjes(z), 1 / per_unit)
    return {name: weighed(result) for name, result in found.items()}


@jax.jit
def slopes_of_law(law, c, x):
    by_unit = lambda t: numbers_of_law(of_laws.times(law, t), c * x, 1 / c)
    by_points = lambda x: numbers_of_law(of_laws.times(law, c), x, 1 / c)
    return {"unit": jax.jacrev(by_unit)(c), "points": jax.jacrev(by_points)(c * x)}


@pytest.mark.parametrize("name", daily(of_laws.DEGREES, only=[]))
def test_slopes_of_a_law(name):
    law = made(of_laws.EXAMPLES[name], DTYPE)
    p = jnp.asarray([0.2, 0.7], DTYPE)
    x = law.radial_ppf(p) if isinstance(law, laws.AbstractPlanarLaw) else law.ppf(p)
    program = lambda c: slopes_of_law(law, jnp.asarray(c, DTYPE), x)
    most = (INFO.maxexp - INFO.nmant - 8) // 2
    one = program(1.0)
    for k in (-most, -most // 2, most // 2, most):
        close(one, program(4.0**k), np.longdouble(4.0) ** k, 300)


DAILY = [
    "statistics.gap_ratios",
    "statistics.complex_spacing_ratios",
    "statistics.condition_number",
    "statistics.unfold_local",
    "laws.gaussian_number_variance",
    "ensembles.Edge",
]


def of_window(x: Any, c: Any) -> dict[int, Any]:
    times = jax.lax.stop_gradient(jnp.asarray([0.2, 1.5], x.dtype) / c)
    return {0: statistics.form_factor(x, times, window=(0 * c, c)).raw}


FURTHER: dict[str, Scaled] = {
    "statistics.form_factor": Scaled(of_window, (LEVELS, np.array(1.0)), 1e3),
    "laws.gaussian_number_variance": Scaled(
        lambda a, b, s: {0: laws.gaussian_number_variance(a, b, 5, 2, s)},
        (np.array(-1.0), np.array(0.5), np.array(1.25)),
        1e3,
    ),
    "ensembles.Edge": Scaled(
        lambda x, a, s: {0: rmt.ensembles.Edge(a, s, laws.TracyWidom(2), "upper", "soft").standardize(x)},
        (LEVELS[0], np.array(2.0), np.array(0.3)),
    ),
}
SLOPES = {
    name: case
    for name, case in CASES.items()
    if name.startswith("statistics.") and name != "statistics.form_factor on a grid"  # divides by c itself
} | FURTHER


def slopes_of_data(case: Scaled, c: float) -> list[tuple[Any, ...]]:
    """Derivatives of each result, in a power of c in which it has no unit, by the operands."""
    kind = jax.dtypes.canonicalize_dtype
    operands = [jnp.asarray(np.asarray(x * c).astype(kind(x.dtype))) for x in case.operands]

    def total(operands: list, degree: int) -> Any:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(case.fn(*operands)[degree])]
        inexact = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        return sum((weighed(leaf) for leaf in inexact), jnp.zeros(())) * c**-degree

    return [jax.grad(partial(total, degree=degree))(operands) for degree in case.fn(*operands)]


@pytest.mark.parametrize("name", daily(SLOPES, only=DAILY))
def test_slopes_of_data(name):
    case = SLOPES[name]
    kind = jax.dtypes.canonicalize_dtype
    degrees = case.fn(*(jnp.asarray(x.astype(kind(x.dtype))) for x in case.operands))
    # Of results, of their derivatives, and of what goes through all steps in reverse mode.
    low, high = exponents(power for degree in degrees for power in (degree, degree - 1, -degree))
    one = slopes_of_data(case, 1.0)
    for exponent in (low, -60, 60, high):
        c = math.ldexp(1, min(max(exponent, low), high))
        close(one, slopes_of_data(case, c), c, case.ulps)


def test_a_quotient():
    x, unit = jnp.asarray([1.0, -3.0], DTYPE), jnp.asarray(2.0, DTYPE)
    again = lambda x, unit: jnp.sum(jax.lax.map(jax.checkpoint(lambda x: quotient(x, unit) ** 2), x))
    plain = lambda x, unit: jnp.sum((x / unit) ** 2)
    for derivative in (jax.grad, jax.hessian):
        one, other = (jax.tree.leaves(derivative(fn, (0, 1))(x, unit)) for fn in (plain, again))
        for expected, got in zip(one, other, strict=True):
            np.testing.assert_allclose(got, expected, rtol=32 * EPS)
    slope = jax.vmap(jax.grad(quotient, 1), (0, None))(x, unit)
    np.testing.assert_array_equal(slope, -x / unit**2)
    assert jax.grad(quotient, 1)(jnp.asarray(jnp.inf, DTYPE), unit) == 0
    assert jax.typeof(quotient(1.0, 2.0)).weak_type
    assert quotient(x.astype(jnp.float32), unit).dtype == DTYPE
    assert quotient(jax.lax.complex(x, x), unit).dtype == complex_dtype(DTYPE)
