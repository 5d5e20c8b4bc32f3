r"""All eigenvalues of a symmetric tridiagonal matrix, or a range of them, from Sturm sweeps alone.

The search has two rounds of two bounded loops; each turn is one sweep with a lane for every wanted level.

*Divide.* Every level k has a bracket $[a, b)$ with the counts $N(a) \le k < N(b)$. The levels that share a bracket
divide it evenly among their lanes, all levels learn from all counts, and the lanes of finished levels are lent to the
rest. The bracket of a cluster of m levels thus shrinks (m+1)-fold in a turn; the brackets of the last few clusters
shrink a hundredfold. The loop ends when every level is alone or its bracket has the width of rounding, after 3 or 4
turns for a random spectrum.

*Polish.* Alone in its bracket, a level is a simple zero of $\det(T - x)$, and the method of Chandrupatla (1997,
Advances in Engineering Software 28, 145) closes the bracket by inverse quadratic interpolation where that is safe, and
by bisection elsewhere. Only ratios of determinants matter, so their exponents may wrap. No step is smaller than the
final width, so the last steps land on both sides of the level, and the bracket itself is the certificate. This takes 8
to 12 turns in float64.

The first round may leave a few brackets open. The second round divides until all are closed. This takes a turn or two,
because these few brackets have the lanes of all levels. Two rounds of the same loops put each loop into the program
only once.

A point and the result of a sweep there are one complex number, x + i·count or x + i·minor, because the time that XLA
takes to compile a loop is proportional to the number of arrays that leave it.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._mesh import in_parts, spread
from rmtjax._ordering import in_order
from rmtjax._promotion import like
from rmtjax._varying import varying_like
from rmtjax.linalg import _sturm

# A sweep with fewer lanes than this is hardly cheaper.
_FEWEST_LANES = 16
# Comparing up to this many pairs of a point and a level takes no longer than a binary search, and compiles faster.
_FEW_PAIRS = 1 << 14
# Up to this many levels have a lane each. Of more levels, a quarter is served in a turn: levels need different numbers
# of turns, and with a queue no lane is idle. A queue takes half the time at n = 1000, but twice the time in batches of
# n = 50 to 200.
_FEW_LEVELS = 256
# Polishing leaves the last 1/500 of the levels to the second round.
_STRAGGLERS = 500
# This many halvings exhaust the digits of a bracket.
_TURNS = 64

Points = Complex[Array, "..."]
# The lower and upper ends of a bracket for each wanted level, with the counts there minus the number of the first
# wanted level. The time to compile a program is proportional to the number of its kernels, so both ends are one array.
Ends = Complex[Array, "2 k"]


def _alone(ends: Ends) -> Bool[Array, " k"]:
    return ends[1].imag - ends[0].imag == 1


def _wide(ends: Ends) -> Bool[Array, " k"]:
    return ends[1].real - ends[0].real > _width(ends.real.dtype)


def eigenvalues(matrix: _sturm.AbstractSturm, order: int | _sturm.Order, first: int, last: int) -> Float[Array, " k"]:
    """Eigenvalues `first` to `last - 1`, ascending, within 4 eps of the norm.

    The matrix has `order` eigenvalues, which may be traced; later entries of the result have no meaning. The devices of
    a mesh search for a range of levels each.
    """
    levels = spread(partial(_some_levels, matrix, order), jnp.arange(first, last, dtype=jnp.int32))
    return _sturm.scaled(in_parts(in_order(levels)), matrix.exponent)


def _some_levels(
    matrix: _sturm.AbstractSturm, order: int | _sturm.Order, level: Int[Array, " k"]
) -> Float[Array, " k"]:
    """The levels from number `level[0]` on, as many as there are numbers, nearly in order and in the units of the rows.

    The numbers ascend.
    """
    first, size, dtype = level[0], level.size, matrix.rows.dtype
    # Rounding and the floor under off-diagonals may move levels out of the bounds, but no farther than this.
    low, high = (jnp.asarray(x, dtype) for x in (matrix.lower - _width(dtype), matrix.upper + _width(dtype)))
    # The numbers that fill up the part of the last device repeat a number, but each lane here needs another level.
    present = first + jnp.arange(size, dtype=first.dtype) < like(first, order)
    counts = [_wanted(jnp.int32(n), first, size, dtype) for n in (0, order)]
    ends = _points(
        jnp.stack([jnp.where(present, low, high), jnp.broadcast_to(high, (size,))]), jnp.stack(counts)[:, None]
    )
    ends = varying_like(ends, matrix, ends)
    ends = jax.lax.fori_loop(0, 2, lambda number, b: _polish(matrix, _divide(matrix, b, first, number > 0)), ends)
    return jnp.clip((ends[0].real + ends[1].real) / 2, matrix.lower, matrix.upper)


def _width(dtype: jnp.dtype) -> float:
    """The final width of a bracket, for a Gershgorin bound in [1/2, 1), which is at most √3 times the norm."""
    return float(jnp.finfo(dtype).eps)


def rows_in_a_step(size: int, dtype: jnp.dtype) -> int:
    """Rows in a step: few for up to 256 levels, for a small program; more for more levels, which is twice as fast."""
    return _sturm.block(dtype) if size <= _FEW_LEVELS else _sturm.ROWS


def _lanes(size: int) -> int:
    """The number of lanes of a sweep for `size` levels."""
    if size <= _FEW_LEVELS:
        return size * -(-_FEWEST_LANES // size)
    return -(-size // (4 * _sturm.EVEN)) * _sturm.EVEN


def _turns(size: int) -> int:
    """A sufficient number of turns: each halves the brackets that have a lane; later turns serve the other levels."""
    return _TURNS * -(-size // _lanes(size))


def _points(x: Float[Array, "*shape"], value: Float[Array, "..."]) -> Complex[Array, "*shape"]:
    return jax.lax.complex(x, jnp.broadcast_to(value, x.shape))


def _wanted(count: Int[Array, "*shape"], first: Int[Array, ""], size: int, dtype: jnp.dtype) -> Float[Array, "*shape"]:
    """Counts from the first wanted level on; those outside of the wanted range are clipped."""
    return jnp.clip(count - first, -1, size + 1).astype(dtype)


def _divide(matrix: _sturm.AbstractSturm, ends: Ends, first: Int[Array, ""], all_levels: Bool[Array, ""]) -> Ends:
    """Divide brackets by counts until every level is alone; if `all_levels`, until every bracket is closed."""
    size, dtype = ends.shape[1], matrix.rows.dtype
    lane = jnp.arange(_lanes(size), dtype=jnp.int32)

    def in_need(ends: Ends) -> Bool[Array, " k"]:
        return _wide(ends) & (all_levels | ~_alone(ends))

    def turn(carry: tuple[Int[Array, ""], Ends]) -> tuple[Int[Array, ""], Ends]:
        number, ends = carry
        needy = in_need(ends)
        served = _how_many(needy)
        share = jnp.maximum(jax.lax.div(jnp.int32(lane.size), jnp.maximum(served, 1)), 1)
        turn_of = jax.lax.div(lane, share)
        mine = _first(needy)[jnp.minimum(turn_of, size - 1)]
        lower, upper = ends.at[:, mine].get(mode="clip")
        lowest = jnp.maximum(lower.imag, 0)
        members = jnp.minimum(upper.imag, size) - lowest
        lanes = like(lowest, share)
        place = (like(lowest, mine) - lowest) * lanes + like(lowest, lane - turn_of * share + 1)
        x = lower.real + place / (members * lanes + 1) * (upper.real - lower.real)
        x = jnp.where(turn_of < served, x, _sturm.FARTHEST)
        # Rounding may have made the counts descend somewhere; the sort repairs this.
        below = _wanted(jnp.sort(_sturm.total_count(matrix, x)), first, size, dtype)
        return number + 1, _narrowed(ends, _points(x, below))

    def goes_on(carry: tuple[Int[Array, ""], Ends]) -> Bool[Array, ""]:
        return (carry[0] < _turns(size)) & (_how_many(in_need(carry[1])) > 0)

    return jax.lax.while_loop(goes_on, turn, (jnp.int32(0), ends))[1]


def _how_many(wanted: Bool[Array, " k"]) -> Int[Array, ""]:
    """The number of wanted entries."""
    # XLA makes three kernels of a sum alone. Beside another reduction it makes one; `some` is there for this only.
    parts, start = (wanted.astype(jnp.int32), wanted), (jnp.int32(0), jnp.bool_(False))
    total, some = jax.lax.reduce(parts, start, lambda a, b: (a[0] + b[0], a[1] | b[1]), (0,))
    return jnp.where(some, total, 0)


def _narrowed(ends: Ends, points: Complex[Array, " lanes"]) -> Ends:
    """The brackets, narrowed by the counts at ascending points."""
    level = jnp.arange(ends.shape[1], dtype=ends.real.dtype)
    few = points.size * level.size <= _FEW_PAIRS
    right = jnp.searchsorted(points.imag, level, side="right", method="compare_all" if few else "scan")
    is_lower = np.array([[True], [False]])
    near = points[jnp.where(is_lower, jnp.maximum(right - 1, 0)[None], jnp.minimum(right, points.size - 1)[None])]
    inward = jnp.where(is_lower, near.real > ends.real, near.real < ends.real)
    return jnp.where(inward & ((near.imag <= level[None]) == is_lower), near, ends)


def _first(wanted: Bool[Array, " k"]) -> Int[Array, " k"]:
    """Ascending indices of the wanted entries, followed by larger numbers; the sort compiles quickly."""
    index = jnp.arange(wanted.size, dtype=jnp.int32)
    return jnp.sort(jnp.where(wanted, index, wanted.size))


class _Search(NamedTuple):
    """Chandrupatla's three points with their minors: the newest, the one across the zero, and the previous one."""

    a: Points
    b: Points
    c: Points

    @property
    def open(self) -> Bool[Array, " k"]:
        return jnp.abs(self.b.real - self.a.real) > _width(self.a.real.dtype)

    @property
    def across(self) -> Bool[Array, " k"]:
        return jnp.sign(self.a.imag) * jnp.sign(self.b.imag) < 0


def _polish(matrix: _sturm.AbstractSturm, ends: Ends) -> Ends:
    """Close the brackets of levels that are alone, except for a few stragglers."""
    (lower, upper), size = ends, ends.shape[1]

    def turn(carry: tuple[Int[Array, ""], _Search]) -> tuple[Int[Array, ""], _Search]:
        number, every = carry
        if size <= _FEW_LEVELS:
            later = (jnp.where(every.open, new, old) for new, old in zip(_step(matrix, every), every, strict=True))
        else:
            mine = _first(every.open)[: _lanes(size)]
            some = _step(matrix, _Search(*(points.at[mine].get(mode="clip") for points in every)))
            later = _scattered(every, mine, some)
        return number + 1, _Search(*later)

    def goes_on(carry: tuple[Int[Array, ""], _Search]) -> Bool[Array, ""]:
        return (carry[0] < _turns(size)) & (_how_many(carry[1].open) > size // _STRAGGLERS)

    # A bracket of several levels counts as closed. A minor of 0 means that it is not known yet.
    a, b = (_points(x, jnp.zeros_like(x)) for x in (lower.real, jnp.where(_alone(ends), upper, lower).real))
    _, s = jax.lax.while_loop(goes_on, turn, (jnp.int32(0), _Search(a, b, b)))
    # If rounding gives both ends of a bracket the same sign, the bracket stays as it was, for the second round.
    found = jnp.stack([jnp.minimum(s.a.real, s.b.real), jnp.maximum(s.a.real, s.b.real)])
    return _points(jnp.where(s.across[None], found, ends.real), ends.imag)


def _scattered(every: _Search, mine: Int[Array, " lanes"], some: _Search) -> list[Points]:
    """All points, with those of the levels `mine` replaced."""
    # XLA scatters complex numbers of 128 bits on a GPU one after the other, each with a few launches.
    old, new = (jnp.stack([part for p in points for part in (p.real, p.imag)]) for points in (every, some))
    parts = old.at[:, mine].set(new, mode="drop")
    return [jax.lax.complex(x, value) for x, value in zip(parts[::2], parts[1::2], strict=True)]


def _step(matrix: _sturm.AbstractSturm, s: _Search) -> _Search:
    """One turn of Chandrupatla's method; the first two turns evaluate the ends of the bracket."""
    start = s.a.imag == 0
    x = jnp.where(start, s.a.real, _proposal(s))
    new = _points(x, _sturm.last_minor(matrix, x))
    across = (new.imag > 0) != (s.a.imag > 0)
    return _Search(
        jnp.where(start, s.b, new),
        jnp.where(start, new, jnp.where(across, s.a, s.b)),
        jnp.where(start, new, jnp.where(across, s.b, s.a)),
    )


def _proposal(s: _Search) -> Float[Array, " k"]:
    """The next point, by Chandrupatla's rule."""
    a, b, c = (p.real for p in s)
    # Division by the minor at b removes the common exponent.
    at_a, at_c = (_sturm.ratio(p.imag, s.b.imag) for p in (s.a, s.c))
    xi, phi = (a - b) / (c - b), (at_a - 1) / (at_c - 1)
    safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    quadratic = at_a / (1 - at_a) * at_c / (1 - at_c) + (c - a) / (b - a) * at_a / (at_c - at_a) / (at_c - 1)
    t = jnp.where(safe, quadratic, 0.5)
    least = jnp.minimum(_width(a.dtype) / jnp.abs(b - a), 0.5)
    return a + jnp.clip(t, least, 1 - least) * (b - a)
