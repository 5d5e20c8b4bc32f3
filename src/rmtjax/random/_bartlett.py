"""Triangular bands that represent matrices of normal entries up to rotations."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._typing import KeyScalar
from rmtjax.random._gamma import unchecked_chi
from rmtjax.random._normal_matrices import from_components


def lower_band(
    inner: Float[Array, "beta width columns"], edge: Float[Array, " columns"], rows: int
) -> Inexact[Array, "rows columns"]:
    """The matrix with components `inner[:, d, j]` in row j + d of column j, and the real `edge[j]` in row j + width."""
    beta, width, columns = inner.shape
    last = jnp.zeros((beta, 1, columns), inner.dtype).at[0, 0].set(edge)
    depth = jnp.arange(rows)[:, None] - jnp.arange(columns)[None]
    entries = jnp.concatenate([inner, last], axis=1)[:, jnp.clip(depth, 0, width), jnp.arange(columns)]
    return from_components(jnp.where((depth >= 0) & (depth <= width), entries, 0))


def triangular_band(
    key: KeyScalar, n: int, m: Float[Array, ""] | int, beta: int, width: int, dtype: jnp.dtype, rank: int | None = None
) -> Inexact[Array, "rows columns"]:
    r"""The band form of an n×m matrix whose normal entries have β components, each N(0, 1).

    The matrix is reflected in its columns, and in its rows below the first w = `width`. This leaves
    $\chi_{\beta m}, \chi_{\beta(m-1)}, …$ on the diagonal, $\chi_{\beta(n - w)}, \chi_{\beta(n - w - 1)}, …$ on the
    w-th diagonal below it, and independent normal entries between the two. Only min(n, m + w) rows and min(n, m)
    columns are not 0. Width n gives Bartlett's decomposition, and width 1 the bidiagonal Laguerre model.

    In this form m need not be an integer. Then the number of columns, `rank`, must be given.

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorem 3.2.14; Bloemendal and Virág (2016), Ann.
        Probab. 44, 2726, section 2.
    """
    columns = min(n, int(m)) if rank is None else rank
    rows = min(n, columns + width)
    key_inner, key_rims = jax.random.split(key)
    column = jnp.arange(columns, dtype=dtype)
    inner = jax.random.normal(key_inner, (beta, width, columns), dtype)
    diagonal, edge = unchecked_chi(
        key_rims, beta * jnp.stack([jnp.asarray(m, dtype) - column, jnp.maximum(n - width - column, 0)])
    )
    return lower_band(inner.at[:, 0].set(0).at[0, 0].set(diagonal), edge, rows)
