r"""Optimal levels of a spiked covariance matrix for a named loss.

Convention: all levels of Σ are σ² except for a few spikes σ²ℓ. In units of σ² and with γ = p/n, a spike $\ell > 1 +
    \sqrt\gamma$ has the sample level $\lambda = \ell + \gamma \ell/(\ell - 1)$, and the cosine between its vectors in
    sample and population is c, $c^2 = \frac{1 - \gamma/(\ell - 1)^2}{1 + \gamma/(\ell - 1)}$,
    $s^2 = 1 - c^2$. For one such pair the loss of the level η is the loss of the 2×2 matrices $A =
    \operatorname{diag}(\ell, 1)$ and $B = 1 + (\eta - 1) (c, s)(c, s)^*$.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax._typing import SpikedLoss
from rmtjax.inference._core.noise_law import median_level, spike, squared_cosine
from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes, filled

# The level that minimises each loss, as a function of ℓ, c² and s².
_OPTIMA: dict[SpikedLoss, Callable[..., Array]] = {
    "frobenius": lambda x, c, s: x * c + s,
    "operator": lambda x, c, s: x,
    "nuclear": lambda x, c, s: jnp.maximum(1 + (x - 1) * (1 - 2 * s), 1),
    "stein": lambda x, c, s: x / (c + x * s),
    "entropy": lambda x, c, s: x * c + s,
    "divergence": lambda x, c, s: jnp.sqrt((x**2 * c + x * s) / (c + x * s)),
    "frechet": lambda x, c, s: (jnp.sqrt(x) * c + s) ** 2,
}


def spiked(
    levels: Float[Array, "*batch k"], n: int, p: int, noise: Float[Array, "*batch"] | None = None, *, loss: SpikedLoss
) -> Levels:
    r"""The optimal level of each spike above the edge $\sigma^2(1 + \sqrt\gamma)^2$, and σ² for all others.

    For p ≤ n levels of 0 are not noise: they stay, and p is the number of the other levels. Where the noise σ is None,
    the median level gives it.

    References:
        Donoho, Gavish and Johnstone (2018), Ann. Statist. 46, 1742, equations 1.6 to 1.9 and table 2.
    """
    count, observations, variables = effective_sizes(levels, n, p)
    if noise is None:
        variance = _middle(levels, count) / _median_of_noise(observations, variables)
    else:
        variance = jnp.broadcast_to(noise**2, levels.shape[:-1]).astype(levels.dtype)
    gamma = (variables / observations)[..., None]
    present = variance[..., None] > 0
    unit = levels / jnp.where(present, variance[..., None], 1)
    above, excess = spike(unit, gamma)
    above = above & present
    cosine = squared_cosine(excess, gamma)
    new = _OPTIMA[loss](1 + excess, cosine, 1 - cosine)
    return filled(
        variance[..., None] * jnp.where(above, new, 1), jnp.zeros_like(variance) if p <= n else variance, count
    )


def _middle(levels: Float[Array, "*batch k"], count: Bool[Array, "*batch k"]) -> Float[Array, "*batch"]:
    """The median of the levels that count, which are the largest ones."""
    k = levels.shape[-1]
    number = jnp.maximum(jnp.sum(count, -1, keepdims=True), 1)
    places = jnp.concatenate([k - 1 - number // 2, k - 1 - (number - 1) // 2], -1)
    return jnp.mean(jnp.take_along_axis(levels, places, axis=-1), -1)


def _median_of_noise(n: Float[Array, "*batch"], p: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """The median of the largest min(n, p) levels of noise of unit variance."""
    # For p > n they are the levels of the transposed data in units of p rather than of n.
    return median_level(jnp.minimum(p, n) / jnp.maximum(p, n)) * jnp.maximum(1, p / n)
