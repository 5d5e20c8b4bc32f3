"""Check of a law against the contract of laws."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from rmtjax.laws import AbstractLaw
from rmtjax.testing._compare import host, magnitude, require, require_close, require_finite
from rmtjax.testing._law_evaluation import METHODS, WEIGHTS, evaluate, gradients
from rmtjax.testing._law_sampling import check_sampler
from rmtjax.testing._transformations import require_hashable

_CHECK = "check_law"
# The exact values below and above the support.
_OUTSIDE = {
    "pdf": (0, 0),
    "logpdf": (-np.inf, -np.inf),
    "cdf": (0, 1),
    "logcdf": (-np.inf, 0),
    "sf": (1, 0),
    "logsf": (0, -np.inf),
}
# Of the quadrature in each panel, and if that is not enough, as beside an atom that has just vanished.
_NUM_NODES, _MANY_NODES = 64, 512
# Relative positions of the points in a panel.
_FRACTIONS = (0.15, 0.4, 0.65, 0.9)
_MOST_PANELS = 8  # with points in them


def check_law(
    law: Any,
    *,
    rtol: float | None = None,
    breakpoints: Sequence[float] | None = None,
    num_draws: int = 10_000,
    reverse_mode: bool = True,
) -> None:
    r"""Check the contract of a law.

    With F the cdf and f the pdf, the check demands:

    - f ≥ 0; the integral of f and the atoms give F at every point and 1 in total; F' = f by automatic differentiation;
    - ppf inverts F, and isf inverts 1 - F;
    - logpdf, logcdf, sf and logsf agree with pdf and cdf;
    - mean, variance and moments agree with quadrature; where they are infinite, the most is added next to an
      infinite end of the support;
    - draws lie in the support, and their number in each of 16 bins is within two-sided binomial limits at 1e-6;
    - values outside the support are exact, and NaN gives NaN;
    - derivatives by x and by the parameters are finite inside, at and outside the ends of the support, and those by x
      are equal in forward and reverse mode;
    - methods give the same under `jit` and `vmap`.

    Args:
        law: an `AbstractLaw`, or any pytree with its public methods.
        rtol: allowed deviation of probabilities, and of results under transformations. If None, 2000 ulp of the law's
            dtype for probabilities, and 100 ulp for transformations.
        breakpoints: points between which the density is smooth, with the ends of the support; by default the points
            that the law states for its own quadrature.
        num_draws: number of draws.
        reverse_mode: whether to check derivatives by the parameters and in reverse mode. Their compilation takes longer
            than all other checks.

    Raises:
        AssertionError: the contract is broken; the message says where.

    Example:
        >>> import rmtjax as rmt
        >>> check_law(rmt.laws.Semicircle(radius=1.5))
    """
    lower, upper = (host(jnp.asarray(end)) for end in law.support())
    require(lower < upper, _CHECK, f"the support [{lower}, {upper}] is empty.")
    panels = np.unique(host(law.breakpoints() if breakpoints is None else jnp.asarray(breakpoints)))
    require(np.isfinite(panels), _CHECK, f"the breakpoints {panels} are not finite.")
    # Two breakpoints that differ by rounding only are one.
    apart = np.diff(panels) > 64 * np.finfo(panels.dtype).eps * np.abs(panels[1:])
    panels = panels[np.append(True, apart)]
    between_calls = {} if rtol is None else {"rtol": rtol, "atol": rtol}
    rtol = 2000 * float(jnp.finfo(panels.dtype).eps) if rtol is None else rtol
    x = _interior(law, panels)
    ends = np.unique(np.concatenate([panels, x]))
    width = panels[-1] - panels[0]
    outside = np.array([lower - width, -np.inf, upper + width, np.inf, np.nan], x.dtype)
    parts = slice(x.size), slice(x.size, -5), slice(-5, None)
    table = _tabulate(law, np.concatenate([x, ends, outside]), parts[1], between_calls)
    inside, at_ends, beyond = ({name: column[part] for name, column in table.items()} for part in parts)
    _check_beyond(beyond)
    _check_integral(law, ends, at_ends["cdf"], rtol)
    _check_logarithms(inside, rtol)
    points, slopes = _check_slopes(law, x, inside, np.array([lower, upper]), panels, rtol)
    if reverse_mode:
        by_parameters, by_x = gradients(law, points)
        _require_finite_gradients(law, points, METHODS, by_parameters, by_x)
        _check_modes(x, {name: slope[: x.size] for name, slope in slopes.items()}, by_x[: x.size], inside, rtol)
    _check_quantile(law, x, inside, np.array([lower, upper]), width, rtol)
    check_sampler(law, lower, upper, num_draws)


def _tabulate(law: Any, x: np.ndarray, at_ends: slice, tolerance: dict[str, float]) -> dict[str, np.ndarray]:
    """All methods at all points. They must be the same when compiled, eager, and mapped over the points."""
    for name in METHODS:
        require_hashable(getattr(law, name), f"{_CHECK}, {name}")
    table = evaluate(law, x)
    compiled = table["values"]
    # The methods of `AbstractLaw` always run compiled. Only methods of other classes can be eager.
    own = [name for name in METHODS if getattr(type(law), name, None) is not getattr(AbstractLaw, name)]
    eager = {name: host(getattr(law, name)(jnp.asarray(x))) for name in own}
    require_close(_CHECK, "jit against eager", {name: compiled[name] for name in own}, eager, **tolerance)
    both = table["mapped"], compiled
    if _searches_for_ends(law):
        ends, apart = x[at_ends], _rounding_of_ends(x[at_ends])
        beside = [evaluate(law, ends + distance)["values"] for distance in (-apart, apart)]
        both = (_with_rounded_ends(values, at_ends, beside) for values in both)
    require_close(_CHECK, "vmap against an array", *both, **tolerance)
    return compiled


def _searches_for_ends(law: Any) -> bool:
    """Whether the ends of the support come from a search, so that each program may round them in its own way."""
    return isinstance(law, AbstractLaw) and type(law)._carrier is not AbstractLaw._carrier


def _rounding_of_ends(ends: np.ndarray) -> float:
    """How far from their place ends that come from a search may lie."""
    return 64 * float(np.finfo(ends.dtype).eps) * magnitude(ends)


def _with_rounded_ends(
    values: dict[str, np.ndarray], at_ends: slice, beside: list[dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """The values, where those at the ends of panels are at least the values beside the ends.

    One program may see a rounded end inside of the support and another outside. There the density may grow like a
    square root.
    """
    rounded = {name: values[name].copy() for name in ("pdf", "logpdf", "logcdf", "logsf")}
    for name, column in rounded.items():
        column[at_ends] = np.max([column[at_ends], *(near[name] for near in beside)], axis=0)
    return values | rounded


def _interior(law: Any, panels: np.ndarray) -> np.ndarray:
    """A few points in the panels of most probability, away from the ends, where the density may jump or diverge."""
    mass = np.diff(evaluate(law, panels)["values"]["cdf"])
    chosen = np.sort(np.argsort(mass)[-_MOST_PANELS:])
    fractions = np.array(_FRACTIONS, panels.dtype)
    return (panels[chosen, None] + np.diff(panels)[chosen, None] * fractions).ravel()


def _quadrature(law: Any, ends: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Abscissae and weighted densities of the Gauss-Legendre rule in the angle, one row for each panel."""
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    angle = np.pi * (nodes + 1) / 2
    half = np.diff(ends.astype(float))[:, None] / 2
    middle = ends[:-1, None] + half
    x = (middle - half * np.cos(angle)).astype(ends.dtype)
    density = host(law.pdf(jnp.asarray(x)))
    worst = density.argmin()
    require(density >= 0, _CHECK, f"the pdf is {density.flat[worst]} at x = {x.flat[worst]}.")
    return x.astype(float), density * (half * np.pi / 2 * weights * np.sin(angle))


def _check_integral(law: Any, ends: np.ndarray, cdf: np.ndarray, rtol: float) -> None:
    locations, masses = map(host, law.atoms())
    require(masses >= 0, _CHECK, f"an atom has negative mass: {masses}.")
    nodes, measure = _quadrature(law, ends, _NUM_NODES)
    if abs(measure.sum() + masses.sum() - 1) > rtol:
        nodes, measure = _quadrature(law, ends, _MANY_NODES)
    _close("∫ pdf and the atoms together", measure.sum() + masses.sum(), 1.0, rtol)
    below = (np.where(locations[:, None] <= ends, masses[:, None], 0)).sum(0)
    integral = np.append(0, np.cumsum(measure.sum(1))) + below
    compared = slice(1, -1)
    if _searches_for_ends(law):
        # A rounded end lies on one side of an atom or on the other.
        apart = np.abs(locations[:, None] - ends) > _rounding_of_ends(ends)
        compared = 1 + np.flatnonzero(np.all(apart[:, 1:-1], axis=0))
    _close("the cdf against ∫ pdf", cdf[compared], integral[compared], rtol)
    size = np.abs(ends).max()
    raw = [(measure * nodes**k).sum() + (masses * locations**k).sum() for k in range(4)]
    variance = (measure * (nodes - raw[1]) ** 2).sum() + (masses * (locations - raw[1]) ** 2).sum()
    expected = {f"moment({k})": (raw[k], k) for k in range(4)} | {"mean()": (raw[1], 1), "var()": (variance, 2)}
    for name, got in _moments(law).items():
        value, degree = expected[name]
        if np.isinf(host(got)):
            signed = (measure * nodes**degree).sum(1)
            parts = np.abs(signed)
            at_infinity = parts[[0, -1]][np.isinf([host(end) for end in law.support()])]
            message = f"{name} is {host(got)}, but the parts of its integral are {parts}."
            same_sign = np.sign(signed[parts.argmax()]) == np.sign(host(got))
            require(same_sign & (at_infinity.max(initial=-1) == parts.max()), _CHECK, message)
            continue
        _close(name, host(got), value, rtol, size**degree)


@jax.jit
def _moments(law: Any) -> dict[str, jax.Array]:
    """All moments in one compilation."""
    return {f"moment({k})": law.moment(k) for k in range(4)} | {"mean()": law.mean(), "var()": law.var()}


def _check_logarithms(table: dict[str, np.ndarray], rtol: float) -> None:
    _close("sf against 1 - cdf", table["sf"], 1 - table["cdf"], rtol)
    for name in ("pdf", "cdf", "sf"):
        _close(f"exp(log{name}) against {name}", np.exp(table["log" + name]), table[name], rtol)


def _check_quantile(
    law: Any, x: np.ndarray, table: dict[str, np.ndarray], support: np.ndarray, width: float, rtol: float
) -> None:
    pdf = table["pdf"]
    for name, probability in (("ppf", "cdf"), ("isf", "sf")):
        column = table[probability]
        p = np.concatenate([column, np.array([0, 1, -0.5, 1.5, np.nan], column.dtype)])
        got = evaluate(law, np.resize(x, p.size), p)[name]
        values, ends, wrong = got[:-5], got[-5:-3], got[-3:]
        # The error of the inverse is the error of the probability over the slope. At slope 0 it is not unique.
        steep = pdf * width > 1e-3
        error = np.abs(values - x)[steep] * pdf[steep]
        worst = np.argmax(error, axis=0)
        message = f"{name}({probability}(x)) is {values[steep][worst]} at x = {x[steep][worst]}."
        require(error <= rtol * max(1.0, magnitude(pdf * x)), _CHECK, message)
        expected = support if name == "ppf" else support[::-1]
        # Two programs round a formula for an end in their own ways, and a search has more to round.
        rounding = _rounding_of_ends(support) / (1 if _searches_for_ends(law) else 32)
        close = np.isclose(ends, expected, rtol=0, atol=rounding)
        require(close, _CHECK, f"{name}(0), {name}(1) are {ends}, not {expected}.")
        require(np.isnan(wrong), _CHECK, f"{name} outside [0, 1] is {wrong}, not NaN.")


def _check_beyond(beyond: dict[str, np.ndarray]) -> None:
    """Check the values below the support (at two points), above it (at two points), and at NaN."""
    for name, (below, above) in _OUTSIDE.items():
        expected = np.array([below, below, above, above, np.nan])
        message = f"{name} below the support, above it and at NaN is {beyond[name]}, not {expected}."
        require((beyond[name] == expected) | (np.isnan(beyond[name]) & np.isnan(expected)), _CHECK, message)


def _check_slopes(
    law: Any, x: np.ndarray, inside: dict[str, np.ndarray], support: np.ndarray, panels: np.ndarray, rtol: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Check that the cdf has the slope pdf, and that all slopes are finite inside and at, near and beyond the ends.

    Returns:
        The points, inner ones first and including infinite ends; and the slopes at them.
    """
    first, last = panels[0], panels[-1]
    width = last - first
    near = 4 * np.finfo(panels.dtype).eps * max(abs(first), abs(last), width)
    offsets = [-width, -near, 0, near]
    edges = [*(first + d for d in offsets), first + width / 3, *(last - d for d in offsets), *support]
    points = np.concatenate([x, np.array(edges, panels.dtype)])
    slopes = evaluate(law, points)["slopes"]
    _close("the derivative of the cdf against the pdf", slopes["cdf"][: x.size], inside["pdf"], rtol)
    for name in METHODS:
        require_finite(_CHECK, f"the derivative of {name} by x at the points {points}", slopes[name])
    return points, slopes


def _check_modes(
    x: np.ndarray, forward: dict[str, np.ndarray], reverse: np.ndarray, inside: dict[str, np.ndarray], rtol: float
) -> None:
    """Check that the derivatives by x in the two modes differ by rounding only.

    A logarithm divides the rounding by its argument, which in a tail may be as small as rounding.
    """
    terms = {name: WEIGHTS[name] * forward[name].astype(float) for name in METHODS}
    least = np.finfo(x.dtype).eps ** 2
    sizes = [np.abs(terms[name]) / np.clip(inside[name[3:]], least, 1) for name in METHODS if name.startswith("log")]
    sizes += [np.abs(terms[name]) for name in ("pdf", "cdf", "sf")]
    expected = np.sum(list(terms.values()), axis=0)
    deviation = np.abs(reverse - expected) / (1 + np.sum(sizes, axis=0))
    worst = np.argmax(deviation)
    values = f"{reverse[worst]} in reverse mode and {expected[worst]} in forward mode"
    message = f"the derivative by x of the weighted sum of methods is {values} at {x[worst]}."
    require(deviation <= max(rtol, 1e-9), _CHECK, message)


def _require_finite_gradients(
    law: Any, points: np.ndarray, names: tuple[str, ...], by_parameters: PyTree, by_x: np.ndarray
) -> None:
    """End the check at the first method with a derivative that is not finite, found by one program for each method."""
    if all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((by_parameters, by_x))):
        return
    for name in names if len(names) > 1 else ():
        _require_finite_gradients(law, points, (name,), *gradients(law, points, (name,)))
    what = " and ".join(names)
    require_finite(_CHECK, f"the derivative of {what} by x at the points {points}", by_x)
    require_finite(_CHECK, f"the derivative of {what} by the parameters at the points {points}", by_parameters)


def _close(what: str, got: Any, expected: Any, rtol: float, size: float = 1.0) -> None:
    """End the check unless values agree on the scale of the expected ones, or of `size` if that is larger."""
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    require_close(_CHECK, what, got, expected, rtol=rtol, atol=rtol * size)
