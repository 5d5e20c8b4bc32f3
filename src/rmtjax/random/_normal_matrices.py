"""Matrices of independent real, complex or quaternion normal entries."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax._typing import KeyScalar


def gaussian_matrix(
    key: KeyScalar, rows: int, columns: int, beta: int, dtype: jnp.dtype
) -> Inexact[Array, "rows columns"]:
    """Entries x of β = 1, 2 or 4 real components with E|x|² = 1; a quaternion is a 2×2 block, as in `quaternions`."""
    return from_components(beta**-0.5 * jax.random.normal(key, (beta, rows, columns), dtype))


def from_components(components: Float[Array, "beta n m"]) -> Inexact[Array, "rows columns"]:
    """The real, complex or quaternion matrix of one, two or four real components."""
    if len(components) == 1:
        return components[0]
    if len(components) == 2:
        return jax.lax.complex(*components)
    return quaternions(jax.lax.complex(*components[:2]), jax.lax.complex(*components[2:]))


def quaternions(a: Complex[Array, "n m"], b: Complex[Array, "n m"]) -> Complex[Array, "2n 2m"]:
    r"""The matrix of the quaternions a + b j: blocks $\begin{pmatrix} a & b \\ -\bar b & \bar a \end{pmatrix}$."""
    upper, lower = jnp.stack([a, b], axis=-1), jnp.stack([-b.conj(), a.conj()], axis=-1)
    return jnp.stack([upper, lower], axis=1).reshape(2 * a.shape[0], 2 * a.shape[1])


def dual(s: Complex[Array, "2n 2n"]) -> Complex[Array, "2n 2n"]:
    """The dual Z Sᵀ Zᵀ: blocks are transposed; in each of them the diagonal entries swap and the others change sign."""
    n = s.shape[0] // 2
    blocks = s.reshape(n, 2, n, 2).transpose(2, 3, 0, 1)[:, ::-1, :, ::-1]
    sign = jnp.array([[1, -1], [-1, 1]], s.dtype)
    return (blocks * sign[None, :, None, :]).reshape(2 * n, 2 * n)


def self_dual_part(s: Complex[Array, "2n 2n"]) -> Complex[Array, "2n 2n"]:
    """The part of a matrix that equals its dual; for a Hermitian matrix, the part whose blocks are quaternions."""
    return s / 2 + dual(s) / 2
