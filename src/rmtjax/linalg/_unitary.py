"""Eigenphases of dense unitary matrices."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import like
from rmtjax.linalg._decompose import decompose, hermitian_part
from rmtjax.special.internal import unit_circle


@jax.default_matmul_precision("highest")
def unitary_phases(
    u: Complex[Array, "rows rows"], *, symmetric: bool = False, multiplicity: int = 1
) -> Float[Array, " n"]:
    r"""Ascending phases in (-π, π] of a unitary matrix, to a few eps; of a symmetric one by real arithmetic.

    Cayley's transform $C = i (1 - Q)(1 + Q)^{-1}$ of $Q = e^{-i\alpha} U$ is Hermitian and has the eigenvectors of U.
    It is as large as α + π is close to a phase. So a first transform finds the phases roughly, and α comes from the
    middle of their widest gap. The phase of $v^* U v$ has only the square of the error of a vector v.

    Args:
        u: the matrix.
        symmetric: whether u equals its transpose.
        multiplicity: how often each phase comes; it is returned once.
    """
    levels, _ = decompose(_cayley(u, jnp.asarray(math.sqrt(2), u.real.dtype), symmetric))
    rough = math.sqrt(2) + 2 * jnp.arctan(levels)  # ascending
    gaps = jnp.diff(rough, append=rough[:1] + 2 * math.pi)
    widest = jnp.argmax(gaps)
    # The pole, at α + π, is in the middle of the gap.
    angle = jax.lax.stop_gradient(rough[widest] + gaps[widest] / 2 - math.pi)
    _, vectors = decompose(_cayley(u, angle, symmetric))
    vectors = like(u, vectors)
    quotients = jnp.sum(vectors.conj() * (_turned(u, angle) @ vectors), axis=0)
    # Seen from α, no phase is near the cut of the angle, which could divide a double one.
    phases = angle + jnp.sort(jnp.angle(quotients))[::multiplicity]
    return jnp.sort(phases - 2 * math.pi * jnp.ceil((phases - math.pi) / (2 * math.pi)))


def _turned(u: Complex[Array, "rows rows"], angle: Float[Array, ""]) -> Complex[Array, "rows rows"]:
    return unit_circle(-angle) * u


def _cayley(u: Complex[Array, "rows rows"], angle: Float[Array, ""], symmetric: bool) -> Array:
    q, one = _turned(u, angle), jnp.eye(u.shape[0], dtype=u.dtype)
    c = hermitian_part(jnp.linalg.solve(one + q, like(u, 1j) * (one - q)))
    return c.real if symmetric else c
