"""Sturm counts of tridiagonal matrices that are too large to be stored."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax.linalg import _sturm

Rows = tuple[Float[Array, " rows"], Float[Array, " rows"], Bool[Array, " rows"]]


def counts_of_stream(
    rows: Callable[[Int[Array, ""]], Rows], steps: int, bound: Float[Array, ""], x: Float[Array, "*shape"]
) -> Int[Array, "*shape"]:
    """Number of eigenvalues below each x, for a symmetric tridiagonal matrix whose rows are made during the sweep.

    The devices of a mesh share the points; each makes all rows.

    Args:
        rows: gives for each step the next diagonal entries, the off-diagonal entries to their right, and a mask of the
            rows that exist. It is called in one compiled program.
        steps: number of steps; static.
        bound: an upper bound of the norm, known before any row; the sweep has its dtype.
        x: points.
    """
    dtype = bound.dtype
    exponent = _sturm.exponent_above(bound)
    points = _sturm.shifts(jax.lax.stop_gradient(x).astype(dtype), exponent)

    def sweep(points: Float[Array, " k"], state: tuple, step: Int[Array, ""]) -> tuple[tuple, None]:
        q, total, left = state
        diagonal, right, there = rows(step)
        squares = _sturm.scaled(jnp.concatenate([left[None], right[:-1]]), -exponent) ** 2
        diagonal = jnp.where(there, _sturm.scaled(diagonal, -exponent), _sturm.ABOVE_ALL)
        q, more = _sturm.count(_sturm.Tridiagonal(_sturm.pack(diagonal, squares), exponent, -1.0, 1.0), q, points)
        return (q, total + more, right[-1]), None

    def total(points: Float[Array, " k"]) -> Int[Array, " k"]:
        state = jnp.ones_like(points), jnp.zeros(points.shape, jnp.int32), jnp.zeros((), dtype)
        return jax.lax.scan(partial(sweep, points), state, jnp.arange(steps))[0][1]

    return _sturm.at_points(total, points)
