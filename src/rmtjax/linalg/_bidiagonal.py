r"""Singular values of bidiagonal matrices, by Sturm counts of $B B^T$ that never form it.

For a lower bidiagonal B with diagonal $b_i$ and $c_i$ below it, the leading minors $q_i$ of $B B^T - x^2$ follow from

$$q_i = b_i^2\,q_{i-1} + p_{i-1}, \qquad p_i = c_i^2\,p_{i-1} - x^2 q_i, \qquad q_0 = 1,\ p_0 = -x^2.$$

$D_i = q_i/q_{i-1}$ and $s_{i+1} = p_i/q_i$ are the pivots and shifts of the differential stationary qd algorithm of
Fernando and Parlett (1994), here without a division in every row. Each rounding error is a small relative change of
$b_i$ and $c_i$, so small singular values keep the digits that they lose in $B B^T$ (Demmel and Kahan 1990). The number
of sign changes in $q_0, \dots, q_n$ is the number of singular values below x; the search runs in x, not x².
"""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax._compile import compiled
from rmtjax._mesh import gathered
from rmtjax.linalg import _sturm, _sturm_search
from rmtjax.linalg._sturm import Beside, Diagonal, Order
from rmtjax.linalg._tridiagonal import vectors_of_levels


class Bidiagonal(_sturm.AbstractSturm):
    """A lower bidiagonal matrix, whose singular values are counted instead of eigenvalues; the ratio is p/q."""

    rows: Float[Array, "steps 2 rows"]  # b² and c²
    exponent: Int[Array, ""]
    lower: float
    upper: float
    factors: ClassVar[int] = 2
    behind: ClassVar[int] = 0

    def shift(self, x: _sturm.Numbers) -> _sturm.Shift:
        return (x**2,)

    def start(self, x: _sturm.Numbers) -> _sturm.Numbers:
        return -(x**2)

    def block(self, row: Float[Array, "2 block"], ratio: _sturm.Numbers, shift: _sturm.Shift) -> _sturm.BlockResult:
        (ratio, lift), (square,) = _sturm.cut(ratio), shift
        q, p = jnp.broadcast_to(lift, ratio.shape), ratio * lift
        minors = [q]
        for j in range(row.shape[1]):
            q = row[0, j] * q + p
            p = row[1, j] * p - square * q
            minors.append(q)
        return p / _sturm.nonzero(q), minors


def _trailing(b: Diagonal, c: Beside, order: Order) -> tuple[Diagonal, Beside, Bool[Array, " n"]]:
    """|b| and |c| inside the trailing block, 0 outside, and a mask of its rows."""
    inside = jnp.arange(b.size, dtype=order.dtype) >= b.size - order
    return jnp.where(inside, jnp.abs(b), 0), jnp.where(inside[:-1], jnp.abs(c), 0), inside


def prepare(b: Diagonal, c: Beside, order: Order, rows: int = _sturm.ROWS) -> tuple[Bidiagonal, Bool[Array, ""]]:
    """The trailing block, whose order may be traced, prepared for sweeps, and whether all its entries are finite."""
    b, c, inside = _trailing(b, c, order)
    # ‖B‖ is at most the larger of its norms by row and column sums, which are below 1 after scaling.
    beside = jnp.pad(c, 1)
    beside = jnp.maximum(beside[1:], beside[:-1])
    exponent, _, finite = _sturm.scaling(b.dtype, lambda unit: [unit * b + unit * beside])
    b, c = _sturm.scaled(b, -exponent), _sturm.scaled(jnp.pad(c, (0, 1)), -exponent)
    b2, above = jnp.where(inside, _sturm.floored(b**2), _sturm.ABOVE_ALL**2), _sturm.ABOVE_ALL**2
    packed = _sturm.packed(rows, (b2, above), (_sturm.floored(c**2), _sturm.floor(c.dtype)))
    return Bidiagonal(packed, exponent, 0.0, 1.0), finite


@compiled
def block_singular_counts(b: Diagonal, c: Beside, order: Order, x: _sturm.Numbers) -> Int[Array, "*shape"]:
    """Number of singular values of the trailing block, whose order may be traced, strictly below each x."""
    b, c, x = jax.lax.stop_gradient((b, c, x))
    matrix, _ = prepare(b, c, order)
    points = jnp.clip(_sturm.scaled(x.astype(b.dtype), -matrix.exponent), 0, _sturm.FARTHEST)
    return _sturm.total_count(matrix, points)


def block_square_counts(b: Diagonal, c: Beside, order: Order, x: _sturm.Numbers) -> Int[Array, "*shape"]:
    """Number of squared singular values of the trailing block strictly below each x: 0 where x is not positive."""
    positive = x > 0
    return block_singular_counts(b, c, order, jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0))


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _block_singular_values(first: int, last: int, b: Diagonal, c: Beside, order: Order) -> Float[Array, " k"]:
    matrix, finite = prepare(b, c, order, _sturm_search.rows_in_a_step(last - first, b.dtype))
    levels = _sturm_search.eigenvalues(matrix, order, first, last)
    return jnp.where(jnp.arange(first, last, dtype=order.dtype) < order, jnp.where(finite, levels, jnp.nan), jnp.inf)


@_block_singular_values.defjvp
def _block_singular_values_jvp(first: int, last: int, primals: tuple, tangents: tuple) -> tuple:
    """The derivative, from eigenvectors of Golub and Kahan's matrix: 0 on the diagonal, $b_1, c_1, b_2, …$ beside it.

    The eigenvalues of that matrix are ±σ. Rows outside the block get singular values far above those of the block.
    """
    (b, c, order), (b_dot, c_dot, _) = primals, tangents
    n = b.size
    size_b, size_c, inside = _trailing(b, c, order)
    above = jnp.max(size_b) + jnp.max(size_c, initial=0) + jnp.finfo(b.dtype).tiny
    far = above * (2 + jnp.arange(n, dtype=b.dtype))
    entries = _interleaved(jnp.where(inside, b, far), jnp.where(inside[:-1], c, 0))
    levels, level = block_singular_values(first, last, *primals), jnp.arange(first, last, dtype=order.dtype)
    known = jnp.where(level < order, gathered(levels), far[jnp.maximum(level - order, 0)])
    v = vectors_of_levels(n + first, n + last, jnp.zeros(2 * n, b.dtype), entries, jnp.int32(2 * n), known)
    rates = _interleaved(jnp.where(inside, b_dot, 0), jnp.where(inside[:-1], c_dot, 0))
    change = 2 * rates @ (v[1:] * v[:-1])
    return levels, jnp.where(level < order, change, 0)


def _interleaved(b: Diagonal, c: Beside) -> Float[Array, " 2n-1"]:
    return jnp.stack([b, jnp.pad(c, (0, 1))], axis=1).ravel()[:-1]


_program = compiled(_block_singular_values, static_argnums=(0, 1))


def block_singular_values(first: int, last: int, b: Diagonal, c: Beside, order: Order) -> Float[Array, " k"]:
    """Ascending singular values of the trailing block in a range, padded with +inf; NaN if the block is not finite.

    Args:
        first: index of the first value, counted from 0; static.
        last: index after the last value, at least `first`; static.
        b: the diagonal.
        c: the entries above or below the diagonal.
        order: size of the block, which consists of the last rows; may be traced.
    """
    return _program(first, last, b, c, order) if first < last else jnp.zeros(0, b.dtype)
