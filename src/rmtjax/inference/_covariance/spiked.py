r"""Optimal levels of a spiked covariance matrix for a named loss.

Convention: all levels of Σ are σ² but for few spikes σ²ℓ. In units of σ² and with γ = p/n, a spike $\ell > 1 +
    \sqrt\gamma$ has the sample level $\lambda = \ell + \gamma \ell/(\ell - 1)$, and a vector whose cosine to its own is
    c, $c^2 = \frac{1 - \gamma/(\ell - 1)^2}{1 + \gamma/(\ell - 1)}$, $s^2 = 1 - c^2$. For one such pair the loss of the
    level η is that of the 2×2 matrices $A = \operatorname{diag}(\ell, 1)$ and $B = 1 + (\eta - 1) (c, s)(c, s)^*$.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax.inference._covariance.nonlinear import Levels
from rmtjax.laws import MarchenkoPastur

# The level that minimises each loss, as a function of ℓ, c² and s².
_OPTIMA = {
    "frobenius": lambda x, c, s: x * c + s,
    "operator": lambda x, c, s: x,
    "nuclear": lambda x, c, s: jnp.maximum(1 + (x - 1) * (1 - 2 * s), 1),
    "stein": lambda x, c, s: x / (c + x * s),
    "entropy": lambda x, c, s: x * c + s,
    "divergence": lambda x, c, s: jnp.sqrt((x**2 * c + x * s) / (c + x * s)),
    "frechet": lambda x, c, s: (jnp.sqrt(x) * c + s) ** 2,
}
LOSSES = tuple(_OPTIMA)


def spiked(
    levels: Float[Array, "*batch k"],
    n: int,
    p: int,
    noise: Float[Array, ""],
    *,
    loss: str,
    known: bool,
) -> Levels:
    r"""The optimal level of each spike above the edge $\sigma^2(1 + \sqrt\gamma)^2$, and σ² for all others.

    Args:
        levels: those of the sample, ascending.
        n: number of rows.
        p: number of variables.
        noise: σ, or the median of the levels for σ = 1 where σ is to be estimated.
        loss: a name of `LOSSES`.
        known: whether σ is known.

    References:
        Donoho, Gavish and Johnstone (2018), Ann. Statist. 46, 1742, equations 1.6 to 1.9 and table 2.
    """
    gamma = p / n
    middle = jnp.median(levels[..., levels.shape[-1] - min(n, p) :], axis=-1)
    variance = jnp.broadcast_to(noise**2, middle.shape).astype(levels.dtype) if known else middle / noise
    present = variance[..., None] > 0
    unit = levels / jnp.where(present, variance[..., None], 1)
    edge = (1 + gamma**0.5) ** 2
    above = (unit > edge) & present
    centre = jnp.where(above, unit, 2 * edge) + 1 - gamma
    spike = (centre + jnp.sqrt(centre**2 - 4 * (centre - 1 + gamma))) / 2
    cosine = (1 - gamma / (spike - 1) ** 2) / (1 + gamma / (spike - 1))
    new = _OPTIMA[loss](spike, cosine, 1 - cosine)
    return variance[..., None] * jnp.where(above, new, 1), variance


def median_of_noise(n: int, p: int) -> Float[Array, ""]:
    """The median of the largest min(n, p) levels of noise of unit variance, from the law of Marčenko and Pastur."""
    # For p > n they are those of the transposed data, in units of p rather than of n.
    return MarchenkoPastur(min(p / n, n / p)).median() * max(1, p / n)


def checked_loss(loss: object) -> str:
    """A name of `LOSSES`, by default the first."""
    return LOSSES[0] if loss is None else _checks.choice("loss", str(loss), LOSSES)
