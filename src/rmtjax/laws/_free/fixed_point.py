r"""The fixed point of a self-map of the upper half plane.

Derivation. Let f map the upper half plane into itself, $W = f(w)$ and $Q = W - \bar w$. In the disc
$u = (\cdot - w)/(\cdot - \bar w)$ the map with this value and this derivative at w is the Möbius map

$$u \mapsto \frac{r + c u}{1 + \bar r c u}, \qquad r = \frac{W - w}Q, \qquad
c = -f'(w)\,\frac{\operatorname{Im} w}{\operatorname{Im} W}\,\frac{\bar Q}{Q},$$

and $|c| \le 1$ by Schwarz and Pick. Its fixed points are $u = 2r/(1 - c \pm s)$ with $s^2 = (1 - c)^2 + 4 |r|^2 c$. The
one in the closed disc has $\operatorname{Re}[(1 - \bar c) s] \ge 0$, and the one that attracts has
$\operatorname{Re}[(1 + \bar c) s] \ge 0$. Both hold for the root with $\operatorname{Re} s \ge 0$. On the boundary of
the disc, $|c| = 1$, one of the two conditions is an equation, and the other decides.

A step goes to this fixed point, from w to

$$w + \frac{W - w}{1 + 4 i c \operatorname{Im} W/[\bar Q (1 + c + s)]},$$

which keeps its digits where W is far larger than w. It is exact for a Möbius map, and Newton's step where r is small.
Plain iteration of f does not converge for laws of two points, whose map is an isometry of the half plane. At an
isolated z it may be the identity, as for two equal signs at 0; the limit is then taken from a point beside z, half of
the digits away.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._promotion import like
from rmtjax._units import largest_part, over, times, unit_near
from rmtjax._varying import varying_like
from rmtjax.laws._core.half_plane import in_plane

_MOST_STEPS = 64
# Rounding of the map, in ulp of its value or of the spread of the levels.
_ROUNDING = 16
# The square of the relative movement at a point that is no fixed point.
_LOST = 1e-4

# The function h of each part and its derivative, at the subordinate point of the part.
Parts = tuple[tuple[Complex[Array, "..."], Complex[Array, "..."]], ...]

# What the map is evaluated for next. Steps are made until they end. The point of the axis below is tried as soon as a
# step changes no digit, and again at the end.
_SEARCH, _EARLY_TRIAL, _SEARCH_ON, _LAST_TRIAL, _DONE = range(5)


class _Search(NamedTuple):
    """Where the search stands at each point."""

    at: Complex[Array, "..."]  # where the map is evaluated next
    off_axis: Complex[Array, "..."]  # where to go on if a trial on the axis fails
    best: Complex[Array, "..."]  # the point that f moved least
    moved: Float[Array, "..."]  # the square of the relative distance
    stage: Int[Array, "..."]
    beside: Bool[Array, "..."]  # whether the point beside z is searched, as at z the map is the identity
    steps: Int[Array, ""]


class _State(NamedTuple):
    """The loop holds the only copy of the parts, so that the program of a nested law does not grow with its depth."""

    search: _Search
    parts: Parts  # where the map was evaluated last
    over: Bool[Array, ""]  # whether every point was done before that


@jax.custom_jvp
def fixed_point(law: Any, z: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Parts]:
    """The fixed point w of the self-map of a law at z, elementwise, for z in the closed upper half plane.

    It is real where the map is real on the axis and attracts there. Derivatives are those of the implicit function
    theorem, and 0 where f' is 1.

    Args:
        law: it has `_parts()`, laws; `_at_parts(z, w)`, which returns h and its derivative for each of them;
            `_self_map(z, parts)`, which makes f(w) and f'(w) of these; `_spread()`, roughly the size of the support;
            and `_scale_at(z)`, the size of what is next to z.
        z: points of any shape.

    Returns:
        w, and the parts there.
    """
    spread = law._scale_at(z).astype(jnp.real(z).dtype)
    start = jax.lax.complex(jnp.real(z), jnp.imag(z) + spread)
    stage, zero = jnp.full_like(jnp.real(start), _SEARCH, jnp.int32), jnp.zeros((), jnp.int32)
    moved, never = jnp.full_like(jnp.real(start), jnp.inf), jnp.zeros_like(start, bool)
    nothing = ((jnp.zeros_like(start), jnp.zeros_like(start)),) * len(law._parts())
    first = _State(_Search(start, start, start, moved, stage, never, zero), nothing, jnp.zeros((), bool))
    advanced = lambda state: _advanced(law, z, spread, state.search)
    end = jax.lax.while_loop(lambda state: ~state.over, advanced, varying_like(first, law, z))
    return end.search.at, end.parts


@fixed_point.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[tuple[Array, Parts], tuple[Array, Parts]]:
    w, parts = fixed_point(*primals)

    def around(law: Any, z: Complex[Array, "..."], w: Complex[Array, "..."]) -> tuple:
        parts = law._at_parts(z, w)
        return law._self_map(z, parts), parts

    ((_, slope), _), change = jax.linearize(around, *primals, w)
    (move, _), _ = change(*tangents, jnp.zeros_like(w))
    rest = 1 - slope
    moved = jnp.where(rest == 0, 0, move / jnp.where(rest == 0, 1, rest))
    return (w, parts), (moved, change(*tangents, moved)[1])


def _advanced(law: Any, z: Complex[Array, "..."], spread: Float[Array, "..."], search: _Search) -> _State:
    at, stage, all_done = search.at, search.stage, jnp.all(search.stage == _DONE)
    searched, last = (stage == _SEARCH) | (stage == _SEARCH_ON), stage == _LAST_TRIAL
    eps = float(jnp.finfo(spread.dtype).eps)
    z = z + like(z, jnp.where(search.beside & searched, eps**0.5 * spread, 0))
    parts = law._at_parts(z, at)
    image, slope = law._self_map(z, parts)
    # Beside a hard edge at 0, squares of points would underflow.
    unit = unit_near(jnp.maximum(largest_part(at, ()), spread))
    there, stepped, ended = _step(image, slope, spread, unit, search)
    ended = ended | (search.steps >= _MOST_STEPS)
    # In a gap the steps end close to the axis.
    longest = lambda w: eps**0.375 * jnp.maximum(jnp.abs(jnp.real(w)), spread)
    is_near = lambda w: jnp.imag(w) <= longest(w)
    is_fixed = lambda ulp: _square(over(image - at, unit)) <= (ulp * eps) ** 2 * _square(over(at, unit))
    # No step comes near a fixed point that is infinite to rounding, as where G is 0 in a gap. Beside a hard edge at 0
    # none may come near to one that is tiny.
    infinite = ended & (stepped.moved >= _LOST) & (jnp.abs(stepped.best) >= law._spread())
    off_axis = jnp.where(ended, jnp.where(infinite, like(z, law._spread() / eps), stepped.best), there)
    tried = jnp.where(ended, ~infinite & is_near(stepped.best), (stage == _SEARCH) & is_fixed(1 / 4) & is_near(at))
    on_axis = in_plane(jnp.real(jnp.where(ended, stepped.best, at)))
    next_stage = jnp.where(ended, jnp.where(tried, _LAST_TRIAL, _DONE), jnp.where(tried, _EARLY_TRIAL, stage))
    # Newton's step from the axis is short in a gap. In a band, where f' is nearly 1 at such a point, it is long. Beside
    # an end it may be short as well, but not as short as it is at a fixed point.
    short = jnp.abs(jnp.real(image - at)) < longest(at) * (1 - jnp.real(slope))
    is_real = (jnp.imag(image) == 0) & short & (last | is_fixed(4))
    after_trial = jnp.where(is_real | last, _DONE, _SEARCH_ON)
    chosen = lambda in_search, in_trial, done: jnp.where(searched, in_search, jnp.where(stage == _DONE, done, in_trial))
    kept = lambda new, old: jnp.where(searched, new, old)
    search = _Search(
        at=chosen(jnp.where(tried, on_axis, off_axis), jnp.where(is_real, at, search.off_axis), at),
        off_axis=kept(off_axis, search.off_axis),
        best=kept(stepped.best, search.best),
        moved=kept(stepped.moved, search.moved),
        stage=chosen(next_stage, after_trial, stage),
        beside=kept(stepped.beside, search.beside),
        steps=search.steps + 1,
    )
    return _State(search, parts, all_done)


def _step(
    image: Complex[Array, "..."],
    slope: Complex[Array, "..."],
    spread: Float[Array, "..."],
    unit: Float[Array, "..."],
    search: _Search,
) -> tuple[Complex[Array, "..."], _Search, Bool[Array, "..."]]:
    """The next points, from the values of the map and its derivative at the last ones, and where the search ends."""
    info = jnp.finfo(spread.dtype)
    image, w, spread = (over(number, unit) for number in (image, search.at, spread))
    small = float(info.eps) ** 0.5
    identity = (_square(image - w) <= info.eps * _square(w)) & (_square(slope - 1) <= info.eps)
    # Close to the axis other maps are as near to it, beside an end; the start is far from the axis.
    identity = identity & (search.steps == 0)
    # Rounding may put an image below the axis.
    image = _above(image, float(info.tiny))
    across, move = image - jnp.conj(w), image - w
    width, moved = _square(across), _square(move) / jnp.maximum(_square(w), spread**2)
    # A slope below its rounding is 0, also where the image is on the axis.
    c = -slope * like(w, jnp.minimum(jnp.imag(w) / jnp.imag(image), 1 / info.eps)) * jnp.conj(across) / across
    c = c * like(w, jax.lax.rsqrt(jnp.maximum(_square(c), 1)))
    square = _square(move) / width
    root = jnp.sqrt((1 - c) ** 2 + like(w, 4 * square) * c)
    # Where c is nearly 1, at an end, a small r makes a long step.
    distance = 4 * square / _square(1 - c + root)
    step = move / (1 + like(w, 4 * jnp.imag(image)) * 1j * c / (jnp.conj(across) * (1 + c + root)))
    # Rounding may end a step on the axis, where no further step leads off it. Next to it s has half of the digits.
    least = small * jnp.minimum(jnp.abs(step), jnp.abs(w + step))
    there = _above(times(w + step, unit), jnp.maximum(least * unit, float(info.tiny)))
    # The next step would square the distance from the fixed point. On the axis steps go on as long as they help.
    still = (moved <= (_ROUNDING * float(info.eps)) ** 2) & (moved >= search.moved / 16)
    last = distance < float(info.eps) ** 1.1
    better, usable = (moved < search.moved) & ~identity, _is_finite(there)
    best = jnp.where(better, jnp.where(last & ~still & usable, there, search.at), search.best)
    moved = jnp.where(better, moved, search.moved)
    stepped = search._replace(best=best, moved=moved, beside=search.beside | identity)
    return jnp.where(identity, search.at, there), stepped, (still | last | ~usable) & ~identity


def _square(w: Complex[Array, "..."]) -> Float[Array, "..."]:
    return jnp.real(w) ** 2 + jnp.imag(w) ** 2


def _is_finite(w: Complex[Array, "..."]) -> Bool[Array, "..."]:
    return jnp.isfinite(jnp.real(w)) & jnp.isfinite(jnp.imag(w))


def _above(w: Complex[Array, "..."], floor: Float[Array, "..."] | float) -> Complex[Array, "..."]:
    """The point at least so far above the axis."""
    return jax.lax.complex(jnp.real(w), jnp.maximum(jnp.imag(w), floor))
