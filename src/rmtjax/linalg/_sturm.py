r"""Sturm sequences: the sweep behind every computation in O(n) memory, and tridiagonal matrices prepared for it.

For a tridiagonal T with diagonal $d_i$ and off-diagonal $e_i$ the leading principal minors of $T - x$ satisfy

$$p_i = (d_i - x)\,p_{i-1} - e_{i-1}^2\,p_{i-2}, \qquad p_0 = 1,\ p_{-1} = 0,$$

and the number of eigenvalues below x is the number of sign changes in $p_0, p_1, \dots, p_n$ (Givens 1954; Wilkinson
1965, chapter 5). Each rounding error is a small relative change of $d_i - x$ and $e_i$. Rows and columns can be scaled
until only the $e_i$ have changed, so rounding leaves the signs of a matrix with the same $d_i$ and with $e_i$ within a
few units in the last place (Kahan 1966, Stanford report CS41). The usual form (Barth, Martin and Wilkinson 1967, Numer.
Math. 9, 386) divides in every row, $q_i = p_i / p_{i-1}$. A division costs as much as ten multiplications, so here a
block of rows runs on the minors themselves, and one division at its end brings the pair $(p_i, p_{i-1})$ back to
$(q_i, 1)$: this makes 4 instead of 1.4 billion rows times points per second and core in float64.

Range. A block must neither overflow nor underflow. `prepare` scales T by a power of 2 to a Gershgorin bound of at most
1 and raises off-diagonals to a floor below eps/5 (see `_Range`). In each row a pair then grows by a factor of less than
4 and shrinks by at most $5/e^2$, a bound of the norm of the inverse transfer matrix at every shift used.

The two parts of one complex array carry the whole state. XLA computes the chain of a block once for each array that
comes out of it, so a state of two arrays would take twice the time.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial, reduce
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._mesh import spread
from rmtjax._module import AbstractModule
from rmtjax._varying import varying_like

# The default number of rows in one step of the scan: enough to hide the cost of a step.
ROWS = 16
# The shifts of a sweep are clipped to this multiple of the Gershgorin bound.
FARTHEST = 1.5
# The diagonal entry of padding rows, which counts as above every shift.
ABOVE_ALL = 2.0
# XLA cuts a sweep with many lanes into parts for the cores of a CPU. Where their number is odd, as with 625 lanes, the
# parts are unequal, and the sweep takes three times as long.
MANY_LANES = 256
EVEN = 16


class _Range(NamedTuple):
    """Powers of 2 that keep a block of rows inside the exponent range of a dtype."""

    block: int  # rows between two divisions, for a transfer matrix of determinant e²
    lift: int  # a block starts from the pair (q, 1) times 2^lift
    largest: int  # |q| is cut at 2^largest, which moves the next diagonal entry by e²/2^largest, far below eps
    floor: int  # e² is raised to 2^floor; levels move by at most 2^(1 + floor/2), below eps/2
    offset: int  # 2^offset is added to every pivot, so that no entry of a diagonal matrix counts as below itself
    window: int  # exponents of the last minor are kept modulo 2^window

    # No overflow: largest + lift + 2 block < maxexp. No underflow: lift + block (floor - log2 5) >= minexp.


_RANGES = {
    np.dtype(np.float64): _Range(block=8, lift=0, largest=60, floor=-116, offset=-100, window=9),
    np.dtype(np.float32): _Range(block=4, lift=90, largest=28, floor=-51, offset=-44, window=6),
}


# The bands of a matrix, the order of its trailing block, and numbers for each point.
Diagonal = Float[Array, " n"]
Beside = Float[Array, " n-1"]
Order = Int[Array, ""]
Numbers = Float[Array, "*shape"]
Shift = tuple[Numbers, ...]
BlockResult = tuple[Numbers, list[Numbers]]
Scaling = tuple[Int[Array, ""], list[Float[Array, ""]], Bool[Array, ""]]


class AbstractSturm(AbstractModule):
    """A matrix prepared for sweeps: its rows, scaled, floored, padded and packed, and the recurrence on them."""

    rows: eqx.AbstractVar[Float[Array, "steps columns rows"]]
    exponent: eqx.AbstractVar[Int[Array, ""]]  # the rows were multiplied by 2^-exponent
    lower: eqx.AbstractVar[Float[Array, ""] | float]  # bounds of the eigenvalues, in the units of the rows
    upper: eqx.AbstractVar[Float[Array, ""] | float]
    factors: eqx.AbstractClassVar[int]  # number of floored entries in the determinant of a row's transfer matrix
    behind: eqx.AbstractClassVar[int]  # the divisor at the end of a block is this many minors before the last one

    @abstractmethod
    def shift(self, x: Numbers) -> Shift:
        """The functions of the points x that the recurrence needs."""

    @abstractmethod
    def start(self, x: Numbers) -> Numbers:
        """The ratio before the first row."""

    @abstractmethod
    def block(self, row: Float[Array, "columns block"], ratio: Numbers, shift: Shift) -> BlockResult:
        """The ratio after a block of rows, and the minors from the one before the block on, up to a power of 2."""


class Tridiagonal(AbstractSturm):
    """A symmetric tridiagonal matrix; the ratio is q."""

    rows: Float[Array, "steps 2 rows"]  # diagonal, and squares of the off-diagonal to the left
    exponent: Int[Array, ""]
    lower: Float[Array, ""] | float
    upper: Float[Array, ""] | float
    # The floor under the off-diagonal δ spreads equal entries of a diagonal matrix over (-2δ, 2δ). Where counts are the
    # result, 2δ is added to every pivot, so that none of them is below itself.
    ties_are_above: bool = eqx.field(static=True, default=False)
    factors: ClassVar[int] = 1
    behind: ClassVar[int] = 1

    def shift(self, x: Numbers) -> Shift:
        return (x,)

    def start(self, x: Numbers) -> Numbers:
        return jnp.ones_like(x)

    def block(self, row: Float[Array, "2 block"], ratio: Numbers, shift: Shift) -> BlockResult:
        (ratio, lift), (x,) = cut(ratio), shift
        limits = _RANGES[np.dtype(row.dtype)]
        offset = row.dtype.type(2.0 ** (1 + (limits.floor + 1) // 2 if self.ties_are_above else limits.offset))
        minors = [jnp.broadcast_to(lift, ratio.shape), ratio * lift]
        for j in range(row.shape[1]):
            minors.append((row[0, j] - x + offset) * minors[-1] - row[1, j] * minors[-2])
        return minors[-1] / nonzero(minors[-2]), minors[1:]


def cut(ratio: Numbers) -> tuple[Numbers, Float[Array, ""]]:
    """The ratio, cut to a bounded size, and the power of 2 that a block begins with."""
    limits = _RANGES[np.dtype(ratio.dtype)]
    largest, lift = (ratio.dtype.type(2.0**k) for k in (limits.largest, limits.lift))
    # A block cuts at its start: at its end XLA would fuse the comparison into every sign count, at 2/3 of the speed.
    return jnp.where(ratio > largest, largest, jnp.where(ratio < -largest, -largest, ratio)), lift


def nonzero(x: Numbers) -> Numbers:
    """A divisor, with 0 replaced by the smallest normal number."""
    return jnp.where(x == 0, x.dtype.type(jnp.finfo(x.dtype).tiny), x)


def block(dtype: np.dtype) -> int:
    """Number of rows between two divisions; a step of so many rows makes small programs for sweeps of many points."""
    return _RANGES[np.dtype(dtype)].block


def pack(diagonal: Diagonal, squares: Float[Array, " n"], rows: int = ROWS) -> Float[Array, "steps 2 rows"]:
    """Scaled rows for the scan, with e² to the left of each in `squares`; padding counts as above every shift."""
    return packed(rows, (diagonal, ABOVE_ALL), (floored(squares), floor(squares.dtype)))


def packed(rows: int, *columns: tuple[Float[Array, " n"], float]) -> Float[Array, "steps columns rows"]:
    """Columns, each given with its padding, for a scan of at least two steps with at most `rows` rows in each."""
    size = columns[0][0].shape[0]
    # XLA dissolves a loop of one step and repeats it for each array that depends on it, with other roundings. Next to a
    # zero the parts of a search would then disagree about a sign.
    rows = max(min(rows, -(-size // 2)), 1)
    padding = (0, max(-size % rows, 2 * rows - size))
    padded = [jnp.pad(column, padding, constant_values=value) for column, value in columns]
    return jnp.stack([column.reshape(-1, rows) for column in padded], axis=1)


def floor(dtype: np.dtype) -> float:
    """The smallest square of an entry that a transfer matrix may have."""
    return 2.0 ** _RANGES[np.dtype(dtype)].floor


def floored(squares: Float[Array, " n"]) -> Float[Array, " n"]:
    """Squares of entries, raised to the floor."""
    return jnp.maximum(squares, floor(squares.dtype))


def scaled(x: Float[Array, "..."], exponent: Int[Array, ""]) -> Float[Array, "..."]:
    """x·2^exponent as a product with two powers, since 2^exponent itself may be out of range."""
    half = exponent // 2
    return x * _power(half, x.dtype) * _power(exponent - half, x.dtype)


def exponent_above(x: Float[Array, "..."]) -> Int[Array, "..."]:
    """The exponent k of `frexp`, with a tenth of its operations: 2^(k-1) ≤ x < 2^k for normal x > 0, and 0 for 0."""
    info = np.finfo(x.dtype)
    bits = jax.lax.bitcast_convert_type(x, _integer(x.dtype))
    return jnp.where(x == 0, 0, (bits >> info.nmant) + info.minexp).astype(jnp.int32)


def _power(exponent: Int[Array, "..."], dtype: np.dtype) -> Float[Array, "..."]:
    """2^exponent, which must be a normal number."""
    info = np.finfo(dtype)
    biased = exponent.astype(_integer(dtype)) + (1 - info.minexp)
    return jax.lax.bitcast_convert_type(biased << info.nmant, dtype)


def _integer(dtype: np.dtype) -> type:
    """The integers as wide as a floating-point type."""
    return jnp.int64 if dtype == jnp.float64 else jnp.int32


def normalised(diagonal: Diagonal, off_diagonal: Beside) -> tuple[Diagonal, Beside, Int[Array, ""], Bool[Array, ""]]:
    """The entries times 2^-exponent, with a Gershgorin bound in [1/2, 1); no entry that matters is rounded.

    The exponent, and whether the entries are finite, come last; if they are not finite, all entries are 0.
    """
    exponent, _, finite = _gershgorin(*jax.lax.stop_gradient((diagonal, off_diagonal)))
    diagonal, off_diagonal = (scaled(jnp.where(finite, a, 0), -exponent) for a in (diagonal, off_diagonal))
    return diagonal, off_diagonal, exponent, finite


def _gershgorin(diagonal: Diagonal, off_diagonal: Beside) -> Scaling:
    """The exponent that brings the Gershgorin bound into [1/2, 1), scaled bounds of -T and T, whether T is finite."""
    e = jnp.pad(jnp.abs(off_diagonal), 1)

    def bounds(unit: float) -> list[Float[Array, " n"]]:
        radius = unit * e[1:] + unit * e[:-1]
        return [radius - unit * diagonal, radius + unit * diagonal]

    return scaling(diagonal.dtype, bounds)


def scaling(dtype: np.dtype, bounds: Callable[[float], list[Float[Array, " n"]]]) -> Scaling:
    """The exponent of the largest bound, the largest bound of each kind times 2^-exponent, and whether all are finite.

    `bounds(unit)` gives sums of up to three entries in any unit. They are computed in two units: in the first they
    cannot overflow, and in the second, used where they do not overflow, no term underflows. If a bound is not finite,
    all of them are 0.
    """
    powers = -2, np.finfo(dtype).maxexp // 2
    columns = [column for power in powers for column in bounds(2.0**power)]
    # One kernel finds all maxima; for a maximum by itself XLA makes three kernels on a CPU.
    lowest = tuple(jnp.full((), -jnp.inf, dtype) for _ in columns)
    largest = jax.lax.reduce(tuple(columns), lowest, lambda a, b: tuple(map(jnp.maximum, a, b)), (0,))
    small, large = largest[: len(largest) // 2], largest[len(largest) // 2 :]
    finite, fits = (reduce(jnp.maximum, some) < jnp.inf for some in (small, large))
    found = [jnp.where(finite, jnp.where(fits, b, a), 0) for a, b in zip(small, large, strict=True)]
    exponent = exponent_above(reduce(jnp.maximum, found))
    unit = jnp.where(fits, powers[1], powers[0]).astype(jnp.int32)
    return exponent - unit, [scaled(bound, -exponent) for bound in found], finite


def prepare(
    diagonal: Diagonal, off_diagonal: Beside, inside: Bool[Array, " n"], rows: int = ROWS
) -> tuple[Tridiagonal, Bool[Array, ""]]:
    """The matrix for `count` and `last_minor`, and whether it is finite; if it is not, the zero matrix replaces it.

    Rows that are not `inside` the trailing block count as above every shift; their entries must be 0.
    """
    exponent, bounds, finite = _gershgorin(diagonal, off_diagonal)
    # For the zero matrix, the smallest exponent keeps all points but 0 away from its levels.
    exponent = jnp.where((bounds[0] != 0) | (bounds[1] != 0), exponent, jnp.finfo(diagonal.dtype).minexp)
    d, e = (scaled(jnp.where(finite, a, 0), -exponent) for a in (diagonal, off_diagonal))
    packed = pack(jnp.where(inside, d, ABOVE_ALL), jnp.pad(e**2, (1, 0)), rows)
    return Tridiagonal(packed, exponent, -bounds[0], bounds[1]), finite


def shifts(x: Numbers, exponent: Int[Array, ""]) -> Numbers:
    """Points in the units of the scaled matrix; distant ones are moved nearer, but stay beyond its Gershgorin bound."""
    return jnp.clip(scaled(x, -exponent), -FARTHEST, FARTHEST)


def count(matrix: AbstractSturm, ratio: Numbers, x: Numbers) -> tuple[Numbers, Int[Array, "*shape"]]:
    """Go on from a ratio over the rows of `matrix`: the new ratio, and how many eigenvalues below x these rows add.

    There may be up to 2²⁴ rows, as the count is a floating-point number; longer matrices must be cut in pieces.
    """
    integer, shift = _integer(x.dtype), matrix.shift(x)
    sign_bit = integer(jnp.finfo(x.dtype).bits - 1)

    def step(state: Complex[Array, "*shape"], row: Float[Array, "columns rows"]) -> tuple:
        ratio, total = state.real, state.imag
        blocks, changes = _blocks(matrix, row), jnp.zeros(x.shape, integer)
        for some in blocks:
            ratio, minors = matrix.block(some, ratio, shift)
            bits = [jax.lax.bitcast_convert_type(p, integer) for p in minors]
            for p, previous in zip(bits[1:], bits[:-1], strict=True):
                changes -= jax.lax.shift_right_arithmetic(p ^ previous, sign_bit)
        return jax.lax.complex(ratio, total + changes.astype(x.dtype)), None

    start = varying_like(jax.lax.complex(ratio, jnp.zeros_like(ratio)), matrix, x)
    state, _ = jax.lax.scan(step, start, matrix.rows)
    return state.real, state.imag.astype(jnp.int32)


def total_count(matrix: AbstractSturm, x: Numbers) -> Int[Array, "*shape"]:
    """Number of eigenvalues strictly below each x, for any number of rows; the devices of a mesh share the points."""
    return at_points(partial(_total_count, matrix), x)


def at_points(counts: Callable[[Float[Array, " k"]], Int[Array, " k"]], x: Numbers) -> Int[Array, "*shape"]:
    """The counts at points of any shape, which the devices of a mesh share."""
    return spread(counts, x.ravel(), EVEN if x.size > MANY_LANES else 1).reshape(x.shape)


def _total_count(matrix: AbstractSturm, x: Float[Array, " k"]) -> Int[Array, " k"]:
    rows, (steps, piece) = matrix.rows, (matrix.rows.shape[0], (1 << 20) // matrix.rows.shape[2])
    if steps <= piece:
        return count(matrix, matrix.start(x), x)[1]

    def go_on(state: tuple, rows: Float[Array, "piece columns rows"]) -> tuple[tuple, None]:
        ratio, total = state
        ratio, more = count(eqx.tree_at(lambda m: m.rows, matrix, rows), ratio, x)
        return (ratio, total + more), None

    start = varying_like((matrix.start(x), jnp.zeros(x.shape, jnp.int32)), matrix, x)
    state, _ = jax.lax.scan(go_on, start, rows[: steps // piece * piece].reshape(-1, piece, *rows.shape[1:]))
    return go_on(state, rows[steps // piece * piece :])[0][1] if steps % piece else state[1]


def last_minor(matrix: AbstractSturm, x: Numbers) -> Numbers:
    """det(T - x) up to a positive, smooth and slowly varying factor, with its exponent modulo the window."""
    shift = matrix.shift(x)

    def step(state: Complex[Array, "*shape"], row: Float[Array, "columns rows"]) -> tuple:
        ratio, product = state.real, state.imag
        for some in _blocks(matrix, row):
            ratio, minors = matrix.block(some, ratio, shift)
            product = reduced(product * reduced(minors[-1 - matrix.behind]))
        return jax.lax.complex(ratio, product), None

    start = varying_like(jax.lax.complex(matrix.start(x), jnp.ones_like(x)), matrix)
    state, _ = jax.lax.scan(step, start, matrix.rows)
    # If the divisors are one minor behind, the ratio of the last minor to the last divisor is still missing.
    return reduced(state.imag * reduced(state.real)) if matrix.behind else state.imag


def ratio(a: Numbers, b: Numbers) -> Numbers:
    """a/b for two values of `last_minor`, with the exponent in the middle of the window."""
    # `reduced` maps the exponent k to ((k - 1) mod 2^window) - 2^(window - 1).
    half = 1 << _RANGES[np.dtype(a.dtype)].window - 1
    return reduced(a / b * a.dtype.type(2.0 ** (half + 1)))


def reduced(x: Numbers) -> Numbers:
    """The number with its exponent taken modulo the window, so that products of any length stay in range."""
    window = _RANGES[np.dtype(x.dtype)].window
    info = np.finfo(x.dtype)
    integer = _integer(x.dtype)
    kept = (1 << info.bits - 1) | ((1 << info.nmant + window) - 1)
    centre = (1 - info.minexp - (1 << window - 1)) << info.nmant
    bits = jax.lax.bitcast_convert_type(x, integer)
    return jax.lax.bitcast_convert_type((bits & np.array(kept).astype(integer)) + integer(centre), x.dtype)


def _blocks(matrix: AbstractSturm, row: Float[Array, "columns rows"]) -> list[Float[Array, "columns block"]]:
    size = block(row.dtype) // matrix.factors
    return [row[:, first : first + size] for first in range(0, row.shape[1], size)]
