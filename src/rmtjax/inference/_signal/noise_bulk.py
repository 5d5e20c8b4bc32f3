r"""How many levels of a small matrix are noise, and the matrix that keeps the others.

Let a matrix Y have the larger side N, the smaller side q, and the ascending squares
$\lambda_1 \le \dots \le \lambda_q$ of its singular values. The c smallest are taken for the levels of a
$c \times (N - q + c)$ matrix of noise, because the q - c components of the signal take as many dimensions from either
side. That noise has a mean square of

$$\sigma_c^2 = \frac{\lambda_1 + \dots + \lambda_c}{c\,(N - q + c)},$$

and by the law of Marčenko and Pastur its levels are spread over $4\sqrt{c\,(N - q + c)}\,\sigma_c^2$. The noise is
the largest c whose levels are spread over no more.
"""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax._promotion import like
from rmtjax.inference._core.data import rounding_of_zero
from rmtjax.inference._signal.singular_values import Loss, shrunk
from rmtjax.linalg.internal import adjoint, decompose, divided_differences

Rule = Literal["mp-pca", Loss]


def noise_levels(
    levels: Float[Array, "*batch q"], larger: int, least: Float[Array, "*batch"]
) -> tuple[Int[Array, "*batch"], Float[Array, "*batch"]]:
    """The number of ascending levels that are noise, and its level σ, by the formula at the top of the file.

    Levels are equal if they differ by no more than `least`, the largest rounding of a level of 0.
    """
    q = levels.shape[-1]
    count = jnp.arange(1, q + 1)
    size = (count * (larger - q + count)).astype(levels.dtype)
    variance = jnp.cumsum(levels, axis=-1) / size
    spread = levels - levels[..., :1]
    fits = spread <= 4 * jnp.sqrt(size) * variance + least[..., None]
    largest = jnp.max(jnp.where(fits, count, 1), axis=-1)
    chosen = jnp.take_along_axis(variance, largest[..., None] - 1, axis=-1)[..., 0]
    return largest, jnp.sqrt(jnp.where(chosen > 0, chosen, 0))


def weights(
    levels: Float[Array, "*batch q"],
    noise: Float[Array, "*batch"] | None,
    larger: int,
    rule: str,
    least: Float[Array, "*batch"],
) -> tuple[Float[Array, "*batch q"], Float[Array, "*batch"]]:
    """The factor of each component, and the noise level, which is estimated if it is None."""
    q = levels.shape[-1]
    count, estimate = noise_levels(levels, larger, least)
    sigma = estimate if noise is None else noise
    if rule == "mp-pca":
        if noise is None:
            kept = jnp.arange(q) >= count[..., None]
        else:
            edge = ((larger**0.5 + q**0.5) * sigma) ** 2
            kept = levels > jnp.maximum(edge, least)[..., None]
        return kept.astype(levels.dtype), sigma
    return _multiplier(levels, _scale(sigma, q, larger, least)[..., None], q / larger, rule), sigma


def _scale(sigma: Float[Array, "..."], q: int, larger: int, least: Float[Array, "..."]) -> Float[Array, "..."]:
    """The root of c for `shrunk`; it keeps the edge of the noise above the rounding of a level of 0."""
    return jnp.maximum(sigma * larger**0.5, jnp.sqrt(least) / (1 + (q / larger) ** 0.5))


def _multiplier(levels: Float[Array, "..."], scale: Float[Array, "..."], beta: float, loss: str) -> Float[Array, "..."]:
    """The quotient of a singular value after shrinkage and before it."""
    positive = levels > 0
    s = jnp.sqrt(jnp.where(positive, levels, 1))
    return jnp.where(positive, shrunk(s, scale, beta, loss) / s, 0)


@partial(jax.custom_jvp, nondiff_argnums=(3, 4, 5))
def keeping_filter(
    gram: Inexact[Array, "k k"], noise: Float[Array, ""], common: Float[Array, ""], larger: int, rule: str, known: bool
) -> tuple[Inexact[Array, "k k"], Float[Array, " q"], Float[Array, ""]]:
    """The matrix that keeps what is signal, its weights, and the noise level.

    Args:
        gram: $A = Y^* Y$; if its order exceeds `larger`, its remaining levels are 0 and ignored.
        noise: σ, used if it is `known`.
        common: the square of the subtracted part of the matrix, which decides its rounding; constant to derivatives.
        larger: the number N or, if the order of the matrix is larger, the smaller side.
        rule: name of the rule.
        known: whether σ is known.
    """
    levels, v = decompose(gram)
    k = levels.shape[-1]
    q = min(k, larger)
    ascending, least = jnp.maximum(levels[k - q :], 0), _least(levels, common)
    kept, sigma = weights(ascending, noise if known else None, max(k, larger), rule, least)
    v = v[:, k - q :]
    return (v * like(v, kept)[None]) @ adjoint(v), kept, sigma


def _least(levels: Float[Array, " k"], common: Float[Array, ""]) -> Float[Array, ""]:
    """The largest rounding of a level of 0."""
    return rounding_of_zero(levels.shape[-1], levels.dtype) * jax.lax.stop_gradient(levels[-1] + common)


@keeping_filter.defjvp
def _keeping_filter_jvp(larger: int, rule: str, known: bool, primals: tuple, tangents: tuple) -> tuple:
    (gram, noise, common), (tangent, noise_tangent, _) = primals, tangents
    levels, v = decompose(gram)
    k = levels.shape[-1]
    zeros, least = k - min(k, larger), _least(levels, common)
    inside = adjoint(v) @ tangent @ v

    def values(levels: Float[Array, " k"], noise: Array) -> tuple[Array, Array]:
        found, sigma = weights(jnp.maximum(levels[zeros:], 0), noise if known else None, max(k, larger), rule, least)
        return jnp.concatenate([jnp.zeros(zeros, levels.dtype), found]), sigma

    along = (jnp.real(jnp.diagonal(inside)), noise_tangent)
    (kept, sigma), (kept_tangent, sigma_tangent) = jax.jvp(values, (levels, noise), along)
    if rule == "mp-pca":
        gaps = levels[:, None] - levels[None]
        differences = jnp.where(gaps == 0, 0, (kept[:, None] - kept[None]) / jnp.where(gaps == 0, 1, gaps))
    else:
        q, n = min(k, larger), max(k, larger)
        scale, beta = _scale(sigma, q, n, least), q / n
        differences = divided_differences(lambda x: _multiplier(jnp.maximum(x, 0), scale, beta, rule), levels)
    off_diagonal = 1 - jnp.eye(k, dtype=levels.dtype)
    core = like(inside, off_diagonal * differences) * inside + like(inside, jnp.diag(kept_tangent))
    matrix_tangent = v @ core @ adjoint(v)
    primal = ((v * like(v, kept)[None]) @ adjoint(v), kept[zeros:], sigma)
    return primal, (matrix_tangent, kept_tangent[zeros:], sigma_tangent)
