"""Chebyshev series, whole and piecewise."""

import functools
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import RealLike, RealScalarLike


def chebyshev_nodes(num_nodes: int) -> np.ndarray:
    r"""The nodes $\cos\frac{(2k+1)\pi}{2q}$, k = 0, …, q - 1, descending, in float64 on the host.

    Args:
        num_nodes: number of nodes q, at least 1.

    Raises:
        ValueError: `num_nodes` is not an integer of at least 1.

    Example:
        >>> print(chebyshev_nodes(3).round(4) + 0.0)
        [ 0.866  0.    -0.866]

    References:
        NIST Digital Library of Mathematical Functions, 3.5.23.
    """
    return _nodes(_checks.integer("num_nodes", num_nodes, at_least=1))


@functools.cache
def _nodes(num_nodes: int) -> np.ndarray:
    nodes = np.sin(np.arange(num_nodes - 1, -num_nodes, -2) * np.pi / (2 * num_nodes))
    nodes.setflags(write=False)
    return nodes


def chebyshev_coefficients(values: Annotated[RealLike, "... q"]) -> Float[Array, "... q"]:
    r"""Coefficients of the polynomial through values at the nodes of `chebyshev_nodes`.

    Args:
        values: the value at each node, on the last axis.

    Returns:
        The $c_k$ of $\sum_k c_k T_k(x)$ on the last axis.

    Example:
        >>> print(chebyshev_coefficients(jnp.asarray(chebyshev_nodes(4)) ** 2).round(4) + 0.0)
        [0.5 0.  0.5 0. ]

    References:
        Trefethen (2013), Approximation Theory and Approximation Practice, chapter 3 and exercise 3.8.
    """
    values = _checks.numbers("values", values)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise _checks.refusal("values", "have the values at the nodes on its last axis", values.shape)
    q = values.shape[-1]
    angles = (2 * np.arange(q) + 1) * np.pi / (2 * q)
    transform = 2 / q * np.cos(np.arange(q)[:, None] * angles)
    transform[0] /= 2
    return jnp.matmul(values, jnp.asarray(transform.T, values.dtype), precision="highest")


@on_automatic_axes
def chebyshev_series(coefficients: Annotated[RealLike, "q ..."], x: RealLike) -> Float[Array, "..."]:
    r"""The sum $\sum_k c_k T_k(x)$, by Clenshaw's recurrence.

    Args:
        coefficients: the $c_k$ on the first axis, or in a sequence; further axes broadcast with x.
        x: points in [-1, 1].

    Example:
        >>> print(chebyshev_series(jnp.array([0.5, 0.0, 0.5]), jnp.array([0.0, 0.5, 1.0])))
        [0.   0.25 1.  ]

    References:
        Clenshaw (1955), Math. Tables Aids Comput. 9, 118; DLMF 3.11.15.
    """
    terms, x = _checks.floating("coefficients", coefficients), _checks.numbers("x", x)
    if (not isinstance(terms, list) and np.ndim(terms) == 0) or len(terms) == 0:
        raise _checks.refusal("coefficients", "be at least one number", coefficients)
    if any(isinstance(term, jax.Array | np.ndarray | np.generic) for term in jax.tree.leaves(terms)):
        terms, x = in_one_precision((terms, x))
    rows = [terms[k] for k in range(len(terms))]
    rank = max(map(jnp.ndim, (x, *rows)))
    first, *others = (row if jnp.ndim(row) == 0 else jax.lax.broadcast_to_rank(row, rank) for row in rows)
    x = jax.lax.broadcast_to_rank(x, rank)
    ahead = further = jnp.zeros_like(x)
    for row in reversed(others):
        ahead, further = row + 2 * x * ahead - further, ahead
    return first + x * ahead - further


@on_automatic_axes
def piecewise_chebyshev(
    table: Annotated[RealLike, "panels q"], lower: RealScalarLike, width: RealScalarLike, x: RealLike
) -> Float[Array, "..."]:
    """A function given by a Chebyshev series on each of several panels of equal width.

    Args:
        table: a row of coefficients for each panel, in ascending order.
        lower: left end of the first panel.
        width: width of each panel.
        x: points; outside of the panels the outermost series is continued, which is not a useful value.

    Returns:
        The values, in the dtype of x.

    Example:
        >>> table = np.array([[0.5, 0.5], [1.0, 0.0]])  # x on [0, 1], then 1
        >>> print(piecewise_chebyshev(table, 0.0, 1.0, jnp.array([0.25, 1.5])))
        [0.25 1.  ]
    """
    x = _checks.real("x", x)
    rows = _checks.floating("table", table) if isinstance(table, np.ndarray) else _checks.real("table", table)
    if rows.ndim != 2 or rows.size == 0:
        raise _checks.refusal("table", "have a row for each panel", rows.shape)
    ends = (("lower", lower), ("width", width))
    lower, width = (float(end) if isinstance(end, float) else like(x, _checks.scalar(name, end)) for name, end in ends)
    panel = jnp.floor((x - lower) / width)
    # The quotient may round up to the next joint of panels; the comparison with that joint is exact.
    panel = jnp.clip(jnp.where(x < lower + width * panel, panel - 1, panel), 0, len(rows) - 1)
    t = 2 * ((x - (lower + width * panel)) / width) - 1
    # The coefficients are looked up one by one: each lookup is then fused into the loop over the points, and nothing of
    # size q is stored. An unsigned index makes a shorter program, as it cannot be negative.
    row = panel.astype(jnp.uint32)
    look_up = lambda column: jnp.asarray(column, x.dtype).at[row].get(mode="promise_in_bounds")
    return chebyshev_series([look_up(column) for column in rows.T], t)
