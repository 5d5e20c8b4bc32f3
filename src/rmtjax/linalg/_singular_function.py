r"""The derivative of a matrix with the same singular vectors and other singular values.

Let $C = U S V^*$, and let H and K be the Hermitian and the anti-Hermitian part of $U^* \dot C V$. In the bases U and V
the derivative of $U\,f(S)\,V^*$ has the entries

$$f[s_i, s_j]\,H_{ij} + \frac{f_i + f_j}{s_i + s_j} K_{ij} + \dot f_i \delta_{ij}$$

with divided differences off the diagonal. Where one of the bases ends, it is $f_j/s_j$ times $\dot C$. The formula does
not tell singular vectors apart, so it holds for equal singular values too.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like
from rmtjax.linalg._decompose import adjoint


def singular_function_tangent(
    decomposed: tuple[Array, Array, Array],
    tangent: Inexact[Array, "*batch p q"],
    quotients: Float[Array, "*batch k"],
    differences: Float[Array, "*batch k k"],
    values_tangent: Float[Array, "*batch k"],
) -> Inexact[Array, "*batch p q"]:
    """The derivative of U f(S) V* in a direction.

    Args:
        decomposed: U, the k singular values and V* of C.
        tangent: the direction, a change of C.
        quotients: f/s, or its replacement where s = 0.
        differences: f[s_i, s_j]; the diagonal is ignored.
        values_tangent: the derivatives of the values f along the direction.
    """
    u, s, vh = decomposed
    v = adjoint(vh)
    inside = adjoint(u) @ tangent @ v
    hermitian, anti = (inside + adjoint(inside)) / 2, (inside - adjoint(inside)) / 2
    values, one = s * quotients, jax.lax.broadcast_to_rank(jnp.eye(s.shape[-1], dtype=s.dtype), s.ndim + 1)
    sums = s[..., :, None] + s[..., None, :]
    means = (values[..., :, None] + values[..., None, :]) / jnp.where(sums > 0, sums, 1)
    means = jnp.where(sums > 0, means, quotients[..., None, :])
    means, differences, diagonal = (
        like(inside, each) for each in (means, (1 - one) * differences, one * values_tangent[..., None, :])
    )
    core = differences * hermitian + means * anti + diagonal
    change = u @ core @ vh
    p, q = tangent.shape[-2:]
    quotients = like(inside, quotients)
    if p > q:
        change += ((tangent @ v - u @ inside) * quotients[..., None, :]) @ vh
    elif q > p:
        change += (u * quotients[..., None, :]) @ (adjoint(u) @ tangent - inside @ vh)
    return change
