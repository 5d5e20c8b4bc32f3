r"""The rotationally invariant estimator with a regularisation of small levels.

The transform of levels at a distance η from the axis makes small levels too small. By how much is known for a
population with the inverse Wishart law, whose optimal levels are linear, $\xi = 1 + \alpha(\lambda - 1)$ with
$\alpha = \tau/(\tau + 2q)$, $q = p/n$ and the mean 1. The transform $g(z) = \frac1p
\operatorname{tr}(z - S)^{-1}$ of its samples is

$$g(z) = \frac{z(1 + \tau) - (1 - q) - \sqrt{z - \lambda_-}\sqrt{z - \lambda_+}}{z(\tau z + 2q)}, \qquad
\lambda_\pm = 1 + q + \tau \pm \sqrt{(2 + \tau)(2q + \tau)},$$

where τ = 1/κ of the source, and τ = 0 is the identity. The choice of τ makes the smallest level λ of the data the lower
edge: $\tau = ((1 + q - \lambda)^2 - 4q) / 2\lambda$.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax._promotion import like
from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes, filled, null_level, with_trace
from rmtjax.inference._covariance.transforms import squared_modulus


def rie(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    r"""Optimal levels by the transform at $\lambda - i p^{-1/2}$, in units of the mean level.

    Levels are then raised by the factor that would be right for the inverse Wishart law whose smallest level is the
    smallest level of the data, where this factor is more than 1. For p > n that law is not defined, and levels are not
    raised. The trace is kept. Levels of 0 mean fewer variables or observations, as in `nonlinear`.

    References:
        Bun, Bouchaud and Potters (2017), Phys. Rep. 666, 1, section 8.
    """
    count, observations, variables = effective_sizes(levels, n, p)
    mean = (jnp.sum(levels, -1) / variables)[..., None]
    unit = levels / jnp.where(mean > 0, mean, 1)
    q = (variables / observations)[..., None]
    z = jax.lax.complex(unit, jnp.broadcast_to(-1 / jnp.sqrt(variables)[..., None], unit.shape))
    ratio = like(z, q)
    squared = squared_modulus(1 - ratio + ratio * _z_times_transform(unit, z, count, variables, full=p <= n))
    new = unit / squared
    if p <= n:
        new = jnp.maximum(new, _for_inverse_wishart(unit, count, z, q) / squared)
    null = null_level(unit, count, n, p)
    return with_trace(*filled(new, null, count), p, levels)


def _z_times_transform(
    levels: Float[Array, "*batch k"],
    z: Complex[Array, "*batch k"],
    count: Bool[Array, "*batch k"],
    variables: Float[Array, "*batch"],
    *,
    full: bool,
) -> Complex[Array, "*batch k"]:
    """The mean of z/(z - λ) over all p levels; if `full`, each level leaves itself out."""
    k = levels.shape[-1]
    number = like(z, jnp.sum(count, -1, keepdims=True))
    omitted = ~count[..., None, :]
    if full:
        itself = jax.lax.broadcast_to_rank(jnp.eye(k, dtype=bool), levels.ndim + 1)
        omitted = omitted | (itself & (number.real[..., None] > 1))
    terms = jnp.where(omitted, 0, z[..., :, None] / (z[..., :, None] - like(z, levels)[..., None, :]))
    variables = like(z, variables)[..., None]
    return (jnp.sum(terms, -1) + (variables - number)) / variables


def _for_inverse_wishart(
    levels: Float[Array, "*batch k"], count: Bool[Array, "*batch k"], z: Complex[Array, "*batch k"], q: Array
) -> Float[Array, "*batch k"]:
    """The optimal levels of the law with the same smallest level, times |1 - q + qzg|²; 0 if no level counts."""
    smallest = jnp.min(jnp.where(count, levels, jnp.inf), -1, keepdims=True)
    present = smallest < jnp.inf
    safe = jnp.where(present, smallest, 1)
    tau = jnp.maximum((1 + q - safe) ** 2 - 4 * q, 0) / (2 * safe)
    half = jnp.sqrt((2 + tau) * (2 * q + tau))
    lower, upper = 1 + q + tau - half, 1 + q + tau + half
    optimal = 1 + tau / (tau + 2 * q) * (levels - 1)
    q, tau, lower, upper = (like(z, each) for each in (q, tau, lower, upper))
    root = jnp.sqrt(z - lower) * jnp.sqrt(z - upper)
    transformed = (z * (1 + tau) - (1 - q) - root) / (tau * z + 2 * q)
    return jnp.where(present, optimal * squared_modulus(1 - q + q * transformed), 0)
