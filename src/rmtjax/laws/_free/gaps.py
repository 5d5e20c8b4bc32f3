r"""The ends of the support of a composed law, and of the gaps in it.

In a gap the distribution function is a number that the levels of the gaps of the parts determine. The imaginary part
of a potential there is π times the mass above, and the potentials add up, but for a logarithm of a real number, whose
imaginary part is 0 or π. So the number is α + β or α + β - 1 for sums and products, tα or 1 - t(1 - α) for powers, and
a bisection of the distribution function at this number ends in the gap, or at the quantile if there is none. From a
point in the gap, bisections find its ends. There the self-map f at x has the derivative 1 at its real fixed point, and
x is stationary along the curve of fixed points: an error of w by δ moves x by δ².
"""

import itertools
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

from rmtjax._varying import varying_like
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._free.atoms import with_atoms
from rmtjax.laws._free.fixed_point import fixed_point
from rmtjax.laws._free.from_transforms import mass_below

# More gaps than this are not searched for.
_MOST_GAPS = 64
_POLISHING_STEPS = 4


class Lanes(NamedTuple):
    """One bisection for each end."""

    lower: Float[Array, " m"]
    upper: Float[Array, " m"]
    found: Bool[Array, " m"]  # whether a point in the gap is known
    kept: Float[Array, " m"]  # what the probe gives at the last point in the gap, such as the fixed point

    def middle(self) -> Float[Array, " m"]:
        return self.lower + (self.upper - self.lower) / 2


def are_few(number: int) -> bool:
    """Whether so many gaps are searched for. The warning says that they are not."""
    if number > _MOST_GAPS:
        ends = "`bands` and `breakpoints` have only the ends of the support"
        warnings.warn(f"There may be {number} gaps, more than {_MOST_GAPS}; {ends}.", stacklevel=2)
    return number <= _MOST_GAPS


def lie_above(number: int) -> np.ndarray:
    """Whether each of so many ends lies above its gap. The gaps outside of the support reach to infinity."""
    return np.array([True, *[False, True] * (number // 2 - 1), False])


def levels_of_ends(levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
    """The level of the gap at each end: 0 and 1 for the gaps outside of the support."""
    return jnp.pad(jnp.repeat(levels, 2), 1, constant_values=(0, 1))


def bisected(
    probe: Callable[[Array, Array], tuple[Array, Array, Array]],
    levels: Float[Array, " k"],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
    is_narrow: Callable[[Lanes], Bool[Array, " m"]],
) -> Lanes:
    """A bisection for the lower end of the support, both ends of the gap at each level, and the upper end.

    The ends of a gap that does not exist are both the quantile of its level.

    Args:
        probe: whether a point lies in the gap of a level, the mass below the point, and a number to keep.
        levels: the levels of the gaps.
        lower: a number below the support.
        upper: a number above the support.
        is_narrow: which bisections have ended.
    """
    levels = jax.lax.stop_gradient(levels).astype(lower.dtype)
    zero, levels = jnp.zeros_like(lower), levels_of_ends(levels)
    above, outer = lie_above(levels.size), np.array([True, *[False] * (levels.size - 2), True])
    spread_out = lambda value: value + jnp.zeros_like(levels)

    def halved(lanes: Lanes) -> Lanes:
        middle = lanes.middle()
        inside, mass, number = probe(middle, levels)
        # A mass that is no number, as of parameters that are none, ends the search, and so is the end.
        middle = jnp.where(jnp.isnan(mass), jnp.nan, middle)
        right = jnp.where(inside, above, jnp.where(lanes.found, ~above, mass < levels))
        ended = is_narrow(lanes)
        return Lanes(
            jnp.where(right & ~ended, middle, lanes.lower),
            jnp.where(right | ended, lanes.upper, middle),
            lanes.found | inside,
            jnp.where(inside, number, lanes.kept),
        )

    first = Lanes(spread_out(lower), spread_out(upper), jnp.asarray(outer), spread_out(zero))
    goes_on = lambda lanes: jnp.any(~is_narrow(lanes) & (lanes.upper > lanes.lower))
    return jax.lax.while_loop(goes_on, halved, varying_like(first, lower, upper, levels))


def in_gap(
    is_real: Bool[Array, " m"], potentials: Complex[Array, "2 m"], levels: Float[Array, " m"]
) -> tuple[Bool[Array, " m"], Float[Array, " m"]]:
    """Whether points are in the gaps of levels, and the masses below them.

    Args:
        is_real: where the solution of the equation of the law is.
        potentials: those at the points.
        levels: one for each point.
    """
    mass = mass_below(potentials)
    return is_real & (jnp.abs(mass - levels) < float(jnp.finfo(mass.dtype).eps) ** 0.4), mass


def with_quantiles(law: Any, ends: Float[Array, " m"], lanes: Lanes, levels: Float[Array, " k"]) -> Float[Array, " m"]:
    """The ends; those of a gap that was not found are quantiles, with the derivatives of these."""
    if not levels.size:
        return ends
    quantiles = moved_with_the_mass(law, lanes.middle(), lanes.middle(), levels_of_ends(levels))
    return jnp.where(lanes.found, ends, quantiles)


@jax.custom_jvp
def moved_with_the_mass(
    law: Any, ends: Float[Array, " m"], inside: Float[Array, " m"], levels: Float[Array, " m"]
) -> Float[Array, " m"]:
    r"""The points where the distribution function F has values L, with their derivatives by the parameters of the law.

    From $F(e) = L$ it follows that $F'\,\partial_\theta e = \partial_\theta L - \partial_\theta F$. Beside an end at
    which the density jumps or is infinite this holds in the limit.

    Args:
        law: the law.
        ends: the points, constant.
        inside: the points at which the derivatives are taken.
        levels: the values of F.
    """
    del law, inside, levels
    return ends


@moved_with_the_mass.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    law, ends, inside, _ = primals
    moved = moved_with_the_mass(*primals)
    inside = inside + (moved - ends)  # for derivatives of this one
    (_, density), (change, _) = jax.jvp(lambda law: law._mass_and_density(inside), (law,), tangents[:1])
    excess = tangents[3].astype(ends.dtype) - change
    return moved, jnp.where(density > 0, excess / jnp.where(density > 0, density, 1), 0)


def ends_of(law: Any, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
    """The ends of a law with a self-map, at its gaps at some levels."""
    constant = jax.tree.map(jax.lax.stop_gradient, law)
    lower, upper = constant._extent()
    spread = constant._spread()
    least = float(jnp.finfo(lower.dtype).eps) * jnp.maximum(spread, jnp.maximum(jnp.abs(lower), jnp.abs(upper)))
    around = spread / 64
    is_narrow = lambda lanes: lanes.upper - lanes.lower <= least
    lanes = bisected(partial(_probe, constant), levels, lower - around, upper + around, is_narrow)
    ends = with_quantiles(law, _polished(law, constant, lanes), lanes, levels)
    ends = _with_ends_of_carrier(law, ends)
    ends = with_atoms(law._jumps(), ends, levels_of_ends(levels), lie_above(ends.size))
    # At a level of 0 or 1 there is no gap, and the bisection ends somewhere outside.
    return jnp.clip(ends, ends[0], ends[-1])


def _probe(law: Any, x: Float[Array, " m"], levels: Float[Array, " m"]) -> tuple[Array, Array, Array]:
    """Whether x lies in the gap of a level, the mass below x, and the fixed point, if it is real.

    Where a part is a single point, or a power is 1, the fixed point is real in bands too, and only h is not.
    """
    z = in_plane(x)
    w, parts = fixed_point(law, z)
    is_real = (jnp.imag(w) == 0) & (jnp.imag(law._h_at(z, w, parts)[0]) == 0)
    return *in_gap(is_real, law._log_potential_at(z, w, parts), levels), jnp.real(w)


def _polished(law: Any, constant: Any, lanes: Lanes) -> Float[Array, " m"]:
    """The ends by Newton's method for f' = 1 and f = w."""
    start, spread = lanes.middle(), constant._spread()
    eps, one, zero = float(jnp.finfo(start.dtype).eps), in_plane(jnp.ones_like(start)), in_plane(0 * start)

    def step(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, w, _ = state
        # Differences would cross the end of a part, which may be as near to w as half of the digits.
        (image, slope), slopes = jax.linearize(partial(_mapped, constant), in_plane(x), in_plane(w))
        (rate, _), (_, curvature) = slopes(one, zero), slopes(zero, one)
        image, slope, rate, curvature = map(jnp.real, (image, slope, rate, curvature))
        x = x - (image - w) / jnp.where(rate == 0, jnp.inf, rate)
        return x, w + (1 - slope) / jnp.where(curvature == 0, jnp.inf, curvature), slope

    x, w, slope = jax.lax.fori_loop(0, _POLISHING_STEPS, step, (start, lanes.kept, 0 * start))
    # An atom at the end, or an end that no density reaches like a square root, is where the bisection found it. The
    # bisection of a nested law may end farther from a soft end, as its parts are less exact.
    near = jnp.abs(x - start) < eps**0.625 * spread
    soft = lanes.found & (jnp.abs(slope - 1) < 0.01) & near
    ends, _ = _stationary(law, jnp.where(soft, x, start), jnp.where(soft, w, lanes.kept), jnp.where(soft, 0, spread))
    return jnp.where(soft, ends, start)


@jax.custom_jvp
def _stationary(
    law: Any, x: Float[Array, " m"], w: Float[Array, " m"], height: Float[Array, " m"]
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Points x and w with f(x, w) = w and f' = 1, with their derivatives by the parameters of the law.

    Args:
        law: the law.
        x: the ends.
        w: the fixed points there.
        height: 0. Other points have derivatives without a meaning, which are finite high enough above the axis.
    """
    del law, height
    return x, w


@_stationary.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    x, w = _stationary(*primals)
    at, one = tuple(jax.lax.complex(each, primals[3]) for each in (x, w)), in_plane(jnp.ones_like(x))
    real = lambda values: tuple(map(jnp.real, values))
    over = lambda number, rate: jnp.where(rate == 0, 0, -number / jnp.where(rate == 0, 1, rate))
    _, by_law = jax.jvp(lambda law: _mapped(law, *at), primals[:1], tangents[:1])
    _, slopes = jax.linearize(partial(_mapped, primals[0]), *at)
    (change, turn), (rate, twist), (_, curvature) = map(real, (by_law, slopes(one, 0 * one), slopes(0 * one, one)))
    move = over(change, rate)
    return (x, w), (move, over(turn + twist * move, curvature))


def _mapped(law: Any, z: Complex[Array, " m"], w: Complex[Array, " m"]) -> tuple[Array, Array]:
    return law._self_map(z, law._at_parts(z, w))


def _with_ends_of_carrier(law: Any, ends: Float[Array, " m"]) -> Float[Array, " m"]:
    """The ends; those that are ends of the carrier, exactly."""
    near = 64 * float(jnp.finfo(ends.dtype).eps) * law._spread()
    for end in law._extent():
        ends = jnp.where(jnp.abs(jax.lax.stop_gradient(ends - end)) <= near, end, ends)
    return ends


def sums_of_levels(size: int, most: int, fewest: int) -> np.ndarray:
    """How often each of so many levels occurs in sums of up to `most` of them less sums of up to `fewest`."""
    units = np.eye(size + 1, size, dtype=int)  # the last stands for no level
    chosen = lambda number: itertools.combinations_with_replacement(range(size + 1), number)
    sums = lambda number: {tuple(units[np.array(each, int)].sum(0)) for each in chosen(number)}
    found = {tuple(np.subtract(a, b)) for a in sums(most) for b in sums(fewest)}
    return np.array(sorted(found, key=lambda each: (any(each), each))).reshape(len(found), size)
