r"""All eigenvalues of a symmetric tridiagonal matrix, or a range of them, from Sturm sweeps alone.

Three bounded loops, of which a turn is one sweep with a lane for every level wanted.

*Isolate.* Every level k has a bracket $[a, b)$ with the counts $N(a) \le k < N(b)$. The levels that share a bracket
divide it evenly among their lanes, all lanes learn from all counts, and lanes of levels that need no more are lent to
the rest. A cluster of m levels so shrinks (m+1)-fold in a turn, and the last few clusters hundredfold. It ends when
every level is alone or its bracket has the width of rounding: after 3 or 4 turns for a random spectrum.

*Polish.* Alone in its bracket, a level is a simple zero of $\det(T - x)$, and the method of Chandrupatla (1997) closes
the bracket by inverse quadratic interpolation where that is safe, by bisection where it is not. Only ratios of
determinants matter, so their exponents may wrap. No step is smaller than the final width, which makes the last steps
land on both sides of the level: the bracket itself is the certificate. 8 to 12 turns in float64.

*Finish.* The stragglers go on as in the first loop, on an eighth of the lanes.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax.linalg import _sturm

# Fewer lanes than this cost a sweep hardly less.
_FEWEST_LANES = 16
# Comparing so many points and levels takes no longer than a binary search, and compiles sooner.
_FEW_PAIRS = 1 << 14
# Polishing leaves the last 1/64 of the levels to the finish.
_STRAGGLERS = 64
# A turn halves every bracket that has a lane, so this many exhaust its digits.
_TURNS = 64


class _Brackets(NamedTuple):
    """For each wanted level a bracket, and the counts at its ends."""

    lower: Float[Array, " k"]
    upper: Float[Array, " k"]
    below_lower: Int[Array, " k"]
    below_upper: Int[Array, " k"]

    @property
    def alone(self) -> Bool[Array, " k"]:
        return self.below_upper - self.below_lower == 1

    @property
    def wide(self) -> Bool[Array, " k"]:
        return self.upper - self.lower > _width(self.lower.dtype)


def eigenvalues(matrix: _sturm.AbstractSturm, order: int | Int[Array, ""], first: int, last: int) -> Float[Array, " k"]:
    """Eigenvalues `first` to `last - 1`, ascending; within 4 eps of the norm.

    The matrix has `order` of them, which may be traced; from there on the result has no meaning.
    """
    size = last - first
    order = jnp.int32(order)
    ones, none = jnp.ones(size, matrix.rows.dtype), jnp.zeros(size, jnp.int32)
    present = jnp.arange(first, last) < order
    brackets = _Brackets(jnp.where(present, matrix.lowest * ones, ones), ones, none, none + order)
    lanes = size * -(-_FEWEST_LANES // size)
    brackets = _divide(matrix, brackets, first, lanes, lambda b: b.wide & ~b.alone)
    brackets = _polish(matrix, brackets)
    brackets = _divide(matrix, brackets, first, max(_FEWEST_LANES, size // 8), lambda b: b.wide)
    return _sturm.scaled(jnp.sort((brackets.lower + brackets.upper) / 2), matrix.exponent)


def _width(dtype: jnp.dtype) -> float:
    """Final width of a bracket, for a Gershgorin bound in [1/2, 1), which is at most √3 times the norm."""
    return float(jnp.finfo(dtype).eps)


def _divide(
    matrix: _sturm.AbstractSturm,
    brackets: _Brackets,
    first: int,
    lanes: int,
    unresolved: Callable[[_Brackets], Bool[Array, " k"]],
) -> _Brackets:
    """Divide brackets by counts, sharing the lanes among those that are `unresolved`, until none is."""
    size = brackets.lower.size
    dtype = matrix.rows.dtype
    level = jnp.arange(first, first + size)
    lane = jnp.arange(lanes)

    def turn(carry: tuple[Int[Array, ""], _Brackets]) -> tuple[Int[Array, ""], _Brackets]:
        number, b = carry
        in_need = unresolved(b)
        served = jnp.sum(in_need)
        share = jnp.maximum(lanes // jnp.maximum(served, 1), 1)
        mine = _first(in_need)[jnp.minimum(lane // share, size - 1)]
        lowest = jnp.maximum(b.below_lower, first)[mine]
        members = jnp.minimum(b.below_upper, first + size)[mine] - lowest
        place = (level[mine] - lowest) * share + lane % share + 1
        part = place.astype(dtype) / (members * share + 1).astype(dtype)
        x = b.lower[mine] + part * (b.upper - b.lower)[mine]
        x = jnp.where(lane < served * share, x, _sturm.FARTHEST)
        # Sorted, should rounding have made counts descend somewhere.
        return number + 1, _narrowed(b, level, x, jnp.sort(_sturm.total_count(matrix, x)))

    def goes_on(carry: tuple[Int[Array, ""], _Brackets]) -> Bool[Array, ""]:
        # Where levels outnumber the lanes they are served one lot after the other.
        return (carry[0] < _TURNS * -(-size // lanes)) & jnp.any(unresolved(carry[1]))

    return jax.lax.while_loop(goes_on, turn, (jnp.int32(0), brackets))[1]


def _narrowed(
    b: _Brackets, level: Int[Array, " k"], x: Float[Array, " lanes"], below: Int[Array, " lanes"]
) -> _Brackets:
    """Brackets after the counts `below` at the ascending points x."""
    few = x.size * level.size <= _FEW_PAIRS
    right = jnp.searchsorted(below, level, side="right", method="compare_all" if few else "scan")
    left = jnp.maximum(right - 1, 0)
    right = jnp.minimum(right, x.size - 1)
    raised = (below[left] <= level) & (x[left] > b.lower)
    lowered = (below[right] > level) & (x[right] < b.upper)
    return _Brackets(
        jnp.where(raised, x[left], b.lower),
        jnp.where(lowered, x[right], b.upper),
        jnp.where(raised, below[left], b.below_lower),
        jnp.where(lowered, below[right], b.below_upper),
    )


def _first(wanted: Bool[Array, " k"]) -> Int[Array, " k"]:
    """Indices of the wanted entries, ascending, and then the others; by a sort, which compiles in a moment."""
    index = jnp.arange(wanted.size)
    return jnp.sort(jnp.where(wanted, index, index + wanted.size)) % wanted.size


class _Point(NamedTuple):
    """A shift for each level, and the last minor there."""

    x: Float[Array, " k"]
    minor: Float[Array, " k"]


class _Search(NamedTuple):
    """Chandrupatla's three points: the newest, the one across the zero, and the one before."""

    a: _Point
    b: _Point
    c: _Point


def _polish(matrix: _sturm.AbstractSturm, brackets: _Brackets) -> _Brackets:
    """Close the brackets of levels that are alone, but for a few stragglers."""
    size = brackets.lower.size
    unknown = jnp.ones_like(brackets.lower)
    s = _Search(_Point(brackets.lower, unknown), *2 * [_Point(brackets.upper, unknown)])
    few = size // _STRAGGLERS
    half = size // 2
    if half < _FEWEST_LANES:
        s = _search(matrix, s, brackets.alone, 0, few)
    else:
        # Levels need different numbers of turns: the slower half goes on alone.
        s = _search(matrix, s, brackets.alone, 0, half)
        unfinished = _is_open(s) & brackets.alone
        slow = _first(unfinished)[:half]
        some = _search(matrix, jax.tree.map(lambda a: a[slow], s), unfinished[slow], 2, few)
        s = jax.tree.map(lambda a, b: a.at[slow].set(b), s, some)
    # Should rounding give both ends of a bracket one sign, it stays as it was, for the finish.
    closed = brackets.alone & ((s.a.minor > 0) != (s.b.minor > 0))
    lower, upper = jnp.minimum(s.a.x, s.b.x), jnp.maximum(s.a.x, s.b.x)
    return brackets._replace(
        lower=jnp.where(closed, lower, brackets.lower), upper=jnp.where(closed, upper, brackets.upper)
    )


def _is_open(s: _Search) -> Bool[Array, " k"]:
    return jnp.abs(s.b.x - s.a.x) > _width(s.a.x.dtype)


def _search(matrix: _sturm.AbstractSturm, s: _Search, alone: Bool[Array, " k"], known: int, few: int) -> _Search:
    """Chandrupatla's method until no more than a `few` brackets are open; 0 or 2 minors of s are `known`."""

    def turn(carry: tuple[Int[Array, ""], _Search]) -> tuple[Int[Array, ""], _Search]:
        number, s = carry
        # The first two turns evaluate the ends of the bracket.
        x = jnp.where(number == 0, s.a.x, jnp.where(number == 1, s.b.x, _proposal(s)))
        new = _Point(x, _sturm.last_minor(matrix, x))
        across = (new.minor > 0) != (s.a.minor > 0)
        later = _Search(new, _chosen(across, s.a, s.b), _chosen(across, s.b, s.a))
        later = _chosen(_is_open(s) & alone, later, s)
        ends = _chosen(number == 0, _Search(new, s.b, s.c), _Search(s.a, new, new))
        return number + 1, _chosen(number < 2, ends, later)

    def goes_on(carry: tuple[Int[Array, ""], _Search]) -> Bool[Array, ""]:
        number, s = carry
        return (number < 2) | (number < _TURNS) & (jnp.sum(_is_open(s) & alone) > few)

    return jax.lax.while_loop(goes_on, turn, (jnp.int32(known), s))[1]


T = TypeVar("T", bound=tuple)


def _chosen(condition: Bool[Array, "..."], yes: T, no: T) -> T:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _proposal(s: _Search) -> Float[Array, " k"]:
    """The next point, by Chandrupatla's rule."""
    a, b, c = (p.x for p in s)
    # In units of the minor at b, which takes the common exponent out.
    at_a, at_c = (_sturm.ratio(p.minor, s.b.minor) for p in (s.a, s.c))
    xi, phi = (a - b) / (c - b), (at_a - 1) / (at_c - 1)
    safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    quadratic = at_a / (1 - at_a) * at_c / (1 - at_c) + (c - a) / (b - a) * at_a / (at_c - at_a) / (at_c - 1)
    t = jnp.where(safe, quadratic, 0.5)
    least = jnp.minimum(_width(a.dtype) / jnp.abs(b - a), 0.5)
    return a + jnp.clip(t, least, 1 - least) * (b - a)
