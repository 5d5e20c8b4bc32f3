"""Isometries with the Haar measure, as products of random reflections."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from rmtjax._typing import KeyScalar
from rmtjax.random._gaussian import gaussian_matrix


def haar_isometry(
    key: KeyScalar, rows: int, columns: int, beta: int, dtype: jnp.dtype
) -> Inexact[Array, "rows columns"]:
    r"""Orthonormal columns, uniformly distributed; real for β = 1, complex for β = 2, of the given real dtype.

    The orthogonal factor of a matrix of independent normals, with the diagonal of the triangular factor positive, is
    Haar distributed. Householder's reflections leave the rest of the matrix independent and normal, so each may be
    made from a fresh normal vector, and the factorisation, half of the work, need not be done.

    References:
        Stewart (1980), SIAM J. Numer. Anal. 17, 403, section 3; Mezzadri (2007), Notices AMS 54, 592, section 4, for
        the signs.
    """
    g = jnp.tril(gaussian_matrix(key, rows, columns, beta, dtype))
    corner = jnp.diagonal(g)
    # LAPACK's convention: the reflection takes g to a real multiple of the first unit vector.
    pivot = -jnp.where(corner.real < 0, -1, 1) * jnp.sqrt(jnp.sum(jnp.abs(g) ** 2, axis=0))
    reflectors = g / (corner - pivot)
    columns_of_q = jax.lax.linalg.householder_product(reflectors, ((pivot - corner) / pivot).astype(g.dtype))
    return columns_of_q * jnp.sign(pivot)
