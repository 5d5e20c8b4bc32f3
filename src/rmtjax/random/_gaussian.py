"""Matrices of independent real, complex or quaternion normal entries."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Inexact

from rmtjax._typing import KeyScalar


def gaussian_matrix(
    key: KeyScalar, rows: int, columns: int, beta: int, dtype: jnp.dtype
) -> Inexact[Array, "rows columns"]:
    """Entries x of β = 1, 2 or 4 real components with E|x|² = 1; a quaternion is a 2×2 block, see `quaternions`."""
    components = beta**-0.5 * jax.random.normal(key, (beta, rows, columns), dtype)
    if beta == 1:
        return components[0]
    if beta == 2:
        return jax.lax.complex(*components)
    return quaternions(jax.lax.complex(*components[:2]), jax.lax.complex(*components[2:]))


def quaternions(a: Complex[Array, "n m"], b: Complex[Array, "n m"]) -> Complex[Array, "2n 2m"]:
    r"""The matrix of the quaternions a + b j: blocks $\begin{pmatrix} a & b \\ -\bar b & \bar a \end{pmatrix}$."""
    upper, lower = jnp.stack([a, b], axis=-1), jnp.stack([-b.conj(), a.conj()], axis=-1)
    return jnp.stack([upper, lower], axis=1).reshape(2 * a.shape[0], 2 * a.shape[1])


def self_dual(h: Complex[Array, "2n 2n"]) -> Complex[Array, "2n 2n"]:
    """The matrix with its blocks made quaternions again after rounding."""
    a = (h[::2, ::2] + h[1::2, 1::2].conj()) / 2
    b = (h[::2, 1::2] - h[1::2, ::2].conj()) / 2
    return quaternions(a, b)
