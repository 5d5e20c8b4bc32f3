r"""The sample covariance matrix with other levels, and its derivative.

Convention: rows y_i of mean 0 have the covariance matrix $S = \frac1n \sum_i y_i y_i^*$ with the levels
$\lambda_1, \dots, \lambda_k$, $k = \min(n, p)$, and vectors V. A method turns them into levels d, and gives one level
$d_0$ for the p - k directions in which there are no data: $\hat\Sigma = V D V^* + d_0 (1 - V V^*)$.

With weights $w_i \ge 0$ of the rows, $S = \frac1n \sum_i w_i y_i y_i^*$.

Derivative. With $E = V^* \dot S V$, so that $\dot\lambda_i = E_{ii}$, first-order perturbation theory gives

$$\dot{\hat\Sigma} = V (F \circ E + \dot D) V^* + \dot d_0 (1 - V V^*) + W G V^* + V G W^*, \quad
W = (1 - VV^*) \dot S V,$$

with $F_{ij} = (d_i - d_j)/(\lambda_i - \lambda_j)$, 0 on the diagonal, and $G_i = (d_i - d_0)/\lambda_i$. For equal
levels $F_{ij} = \partial d_i/\partial\lambda_i - \partial d_i/\partial\lambda_j$, because the method treats all levels
alike. So one derivative in the direction $r_i = i$ gives all of these, as $(\dot d_i - \dot d_j)/(r_i - r_j)$: other
levels change $d_i$ and $d_j$ by the same amount. The rows have
no component along a vector of level 0, so that its column of W vanishes and its quotient does not matter: the
derivative is finite where rows or columns repeat, unlike the derivative of a QR decomposition. $\dot S = \frac1n
\sum_i (z_i y_i^* + y_i z_i^*)$ with $z_i = w_i \dot y_i + \dot w_i y_i / 2$ contains no root of a weight, and is right
for the weight 0.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import aligned, like
from rmtjax.inference._core.sample_spectrum import SampleSpectrum, sample_spectrum
from rmtjax.inference._covariance.transforms import counted
from rmtjax.linalg.internal import adjoint

# From levels and further operands to new levels and the level of the directions without data.
Method = Callable[..., tuple[Float[Array, "*batch k"], Float[Array, "*batch"]]]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def with_levels_of(
    method: Method, rows: Inexact[Array, "*batch n p"], weights: Float[Array, " n"] | None, *operands: Any
) -> Inexact[Array, "*batch p p"]:
    """The covariance matrix of rows of mean 0, all of weight 1 if None, with the levels `method(levels, *operands)`."""
    return _decomposed(method, rows, weights, *operands)[-1]


def _decomposed(
    method: Method, rows: Inexact[Array, "*batch n p"], weights: Float[Array, " n"] | None, *operands: Any
) -> tuple[SampleSpectrum, Inexact[Array, "*batch p p"]]:
    if weights is not None:
        rows, roots = aligned(rows, jnp.sqrt(weights)[:, None])
        rows = rows * roots
    spectrum = sample_spectrum(rows)
    return spectrum, spectrum.matrix(*method(spectrum.levels, *operands))


@with_levels_of.defjvp
def _with_levels_of_jvp(method: Method, primals: tuple, tangents: tuple) -> tuple:
    (rows, weights, *operands), (tangent, weights_tangent, *operand_tangents) = primals, tangents
    n = rows.shape[-2]
    spectrum, matrix = _decomposed(method, rows, weights, *operands)
    if weights is not None:
        tangent, first, second = aligned(tangent, weights[:, None], weights_tangent[:, None])
        tangent = first * tangent + second * rows / 2
    levels, v = spectrum.levels, spectrum.vectors
    # ΔS V for ΔS = (Z^T Ȳ + Y^T Z̄) / n.
    moved = jnp.swapaxes(tangent, -1, -2) @ (jnp.conj(rows) @ v) + jnp.swapaxes(rows, -1, -2) @ (jnp.conj(tangent) @ v)
    moved = moved / n
    e = adjoint(v) @ moved
    slopes = jnp.real(jnp.diagonal(e, axis1=-2, axis2=-1))
    (new, null), (new_dot, null_dot) = jax.jvp(method, (levels, *operands), (slopes, *operand_tangents))
    one = lambda size: jax.lax.broadcast_to_rank(jnp.eye(size, dtype=e.dtype), e.ndim)
    ramp = jnp.broadcast_to(jnp.arange(levels.shape[-1], dtype=levels.dtype), levels.shape)
    risen = jax.jvp(lambda levels: method(levels, *operands)[0], (levels,), (ramp,))[1]
    inside = like(e, _quotients(new, levels, risen, ramp)) * e + like(e, new_dot)[..., None] * one(levels.shape[-1])
    change = v @ inside @ adjoint(v)
    if v.shape[-2] > v.shape[-1]:
        outside = moved - v @ e
        # Levels of 0 are left out, because a quotient of roundings is not a slope.
        present = counted(levels, *rows.shape[-2:])
        slope = jnp.where(present, (new - null[..., None]) / jnp.where(present, levels, 1), 0)
        cross = (outside * like(e, slope)[..., None, :]) @ adjoint(v)
        complement = one(v.shape[-2]) - v @ adjoint(v)
        change = change + cross + adjoint(cross) + like(e, null_dot)[..., None, None] * complement
    return matrix, change


def _quotients(
    new: Float[Array, "*batch k"],
    levels: Float[Array, "*batch k"],
    risen: Float[Array, "*batch k"],
    ramp: Float[Array, "*batch k"],
) -> Float[Array, "*batch k k"]:
    """The divided differences F; `risen` is the derivative of the new levels in the direction `ramp`."""
    differences = lambda x: x[..., :, None] - x[..., None, :]
    gaps, size = differences(levels), jnp.max(jnp.abs(new), -1)[..., None, None]
    # The rounding of k levels, and of sums over these.
    rounding = 4 * levels.shape[-1] * jnp.finfo(levels.dtype).eps
    one_level = jnp.abs(gaps) <= rounding * levels[..., -1:, None]
    safe = jnp.where(one_level, 1, gaps)
    quotient = differences(new) / safe
    steps = differences(ramp)
    limit = differences(risen) / jnp.where(steps == 0, 1, steps)
    # Close levels lose digits in the quotient; the limit is taken where it is as near as these allow.
    agrees = jnp.abs(limit - quotient) <= rounding * size / jnp.abs(safe)
    return jnp.where(jax.lax.stop_gradient(one_level | agrees), limit, quotient)
