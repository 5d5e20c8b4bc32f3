"""Haar distributed isometries, as products of random reflections."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax._promotion import like
from rmtjax._stored import stored
from rmtjax._typing import KeyScalar
from rmtjax.random._normal_matrices import gaussian_matrix, quaternions


def haar_isometry(
    key: KeyScalar, rows: int, columns: int, beta: int, dtype: jnp.dtype
) -> Inexact[Array, "rows columns"]:
    r"""Uniformly distributed orthonormal columns, in the precision of the given real dtype.

    Entries are real for β = 1, complex for β = 2, and quaternions for β = 4, each a 2×2 block as in `quaternions`.

    The orthogonal factor of a matrix of independent normal entries is Haar distributed if the diagonal of the
    triangular factor is positive. Householder's reflections leave the rest of the matrix independent and normal. So
    each is made from a fresh normal vector, and the factorisation, half of the work, is not needed.

    References:
        Stewart (1980), SIAM J. Numer. Anal. 17, 403, section 3; Mezzadri (2007), Notices AMS 54, 592, section 4, for
        the signs, and section 6 for quaternions.
    """
    if beta == 4:
        return _symplectic_isometry(key, rows, columns, dtype)
    product, sign = _reflections(key, rows, columns, beta, dtype)
    return product * like(product, sign)[None]


def special_orthogonal(key: KeyScalar, n: int, dtype: jnp.dtype) -> Float[Array, "n n"]:
    """A Haar distributed orthogonal matrix of determinant 1."""
    product, sign = _reflections(key, n, n, 1, dtype)
    determinant = (-1) ** n * jnp.prod(sign)  # each of the n reflections has the determinant -1
    return product * sign.at[-1].multiply(determinant)[None]


def _reflections(
    key: KeyScalar, rows: int, columns: int, beta: int, dtype: jnp.dtype
) -> tuple[Inexact[Array, "rows columns"], Float[Array, " columns"]]:
    """The first columns of a product of reflections, and the signs that make them Haar distributed."""
    g = stored(jnp.tril(gaussian_matrix(key, rows, columns, beta, dtype)))
    corner = jnp.diagonal(g)
    # LAPACK's convention: the reflection takes g to a real multiple of the first unit vector.
    pivot = -jnp.where(corner.real < 0, -1, 1) * jnp.sqrt(jnp.sum(jnp.abs(g) ** 2, axis=0))
    length = like(g, pivot)
    reflectors = g / (corner - length)[None]
    product = jax.lax.linalg.householder_product(reflectors, (length - corner) / length)
    return product, jnp.sign(pivot)


def _symplectic_isometry(
    key: KeyScalar, rows: int, columns: int, dtype: jnp.dtype
) -> Complex[Array, "2*rows 2*columns"]:
    """Same as `haar_isometry`, for quaternions a + b j, whose corner has a phase instead of a sign.

    If the corner of a quaternion vector is real, its two columns are orthogonal and have their zeros where LAPACK needs
    them, so its reflection is the product of two complex ones. The phases are independent of all else and come last.
    """
    a, b = (stored(jnp.tril(gaussian_matrix(part, rows, columns, 2, dtype))) for part in jax.random.split(key))
    square = jnp.abs(a) ** 2 + jnp.abs(b) ** 2
    corner, norm = jnp.sqrt(jnp.diagonal(square)), jnp.sqrt(jnp.sum(square, axis=0))
    scale = like(a, corner + norm)[None]
    reflectors = quaternions(jnp.tril(a, -1) / scale, jnp.tril(b, -1) / scale)
    product = jax.lax.linalg.householder_product(reflectors, jnp.repeat(1 + corner / norm, 2).astype(a.dtype))
    x, y = product[::2, ::2], product[::2, 1::2]
    # A reflection takes its vector to the negative unit vector.
    u, v = (-(jnp.diagonal(part) / like(part, corner))[None] for part in (a, b))
    return quaternions(x * u - y * v.conj(), x * v + y * u.conj())
