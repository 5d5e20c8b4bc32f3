"""Chebyshev series, whole and piecewise."""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax._automatic import on_automatic_axes
from rmtjax._promotion import in_one_precision, like


@functools.cache
def chebyshev_nodes(num_nodes: int) -> np.ndarray:
    r"""The nodes $\cos\frac{(2k+1)\pi}{2q}$, k = 0, …, q - 1, descending, in float64 on the host, read-only.

    Example:
        >>> print(chebyshev_nodes(3).round(4) + 0.0)
        [ 0.866  0.    -0.866]
    """
    nodes = np.sin(np.arange(num_nodes - 1, -num_nodes, -2) * np.pi / (2 * num_nodes))
    nodes.setflags(write=False)
    return nodes


def chebyshev_coefficients(values: Float[Array, "... q"]) -> Float[Array, "... q"]:
    r"""The coefficients $c_k$ of the polynomial $\sum_k c_k T_k(x)$ through the values at the `chebyshev_nodes`.

    Example:
        >>> print(chebyshev_coefficients(jnp.asarray(chebyshev_nodes(4)) ** 2).round(4) + 0.0)
        [0.5 0.  0.5 0. ]

    References:
        Trefethen (2013), Approximation Theory and Approximation Practice, chapter 3 and exercise 3.8.
    """
    q = values.shape[-1]
    angles = (2 * np.arange(q) + 1) * np.pi / (2 * q)
    transform = 2 / q * np.cos(np.arange(q)[:, None] * angles)
    transform[0] /= 2
    return jnp.matmul(values, jnp.asarray(transform.T, values.dtype), precision="highest")


@on_automatic_axes
def chebyshev_series(
    coefficients: Float[Array, "q ..."] | np.ndarray | Sequence[Array | float], x: Float[Array, "..."]
) -> Float[Array, "..."]:
    r"""The sum $\sum_k c_k T_k(x)$ for x in [-1, 1], by Clenshaw's recurrence.

    The coefficients $c_k$ lie on the first axis, or in a sequence; further axes broadcast with x.

    Example:
        >>> print(chebyshev_series(jnp.array([0.5, 0.0, 0.5]), jnp.array([0.0, 0.5, 1.0])))
        [0.   0.25 1.  ]

    References:
        Clenshaw (1955), Math. Tables Aids Comput. 9, 118; Olver et al. (2010), NIST Digital Library of Mathematical
        Functions, equation 3.11.15.
    """
    terms = coefficients
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
    table: Float[Array, "panels q"] | np.ndarray, lower: Array | float, width: Array | float, x: Float[Array, "..."]
) -> Float[Array, "..."]:
    """A function given by a Chebyshev series on each of several panels of equal width, in the dtype of x.

    The table has a row of coefficients for each panel, in ascending order; the first panel begins at `lower`. Outside
    of the panels the outermost series is continued, which is not a useful value.

    Example:
        >>> table = np.array([[0.5, 0.5], [1.0, 0.0]])  # x on [0, 1], then 1
        >>> print(piecewise_chebyshev(table, 0.0, 1.0, jnp.array([0.25, 1.5])))
        [0.25 1.  ]
    """
    lower, width = (float(end) if isinstance(end, float) else like(x, end) for end in (lower, width))
    panel = jnp.floor((x - lower) / width)
    # The quotient may round up to the next joint of panels; the comparison with that joint is exact.
    panel = jnp.clip(jnp.where(x < lower + width * panel, panel - 1, panel), 0, len(table) - 1)
    t = 2 * ((x - (lower + width * panel)) / width) - 1
    # The coefficients are looked up one by one: XLA then fuses each lookup into the loop over the points, and stores
    # nothing of size q. An unsigned index makes a shorter program, as it cannot be negative.
    row = panel.astype(jnp.uint32)
    look_up = lambda column: jnp.asarray(column, x.dtype).at[row].get(mode="promise_in_bounds")
    return chebyshev_series([look_up(column) for column in table.T], t)
