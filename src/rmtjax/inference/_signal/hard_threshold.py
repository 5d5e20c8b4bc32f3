r"""The best threshold for singular values, for white noise of a known or an unknown level.

The singular values of n × p independent entries of mean 0 and $E|z|^2 = \sigma^2$ fill, for large sizes with
$\beta = \min(n, p)/\max(n, p)$, the interval $\sqrt{\max(n, p)}\,\sigma\,[1 - \sqrt\beta,\, 1 + \sqrt\beta]$: their
squares over $\max(n, p)\,\sigma^2$ follow `laws.MarchenkoPastur` of ratio β, which at β ≤ 1 has no atom.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned
from rmtjax._typing import RealLike
from rmtjax.inference._core.noise_law import median_level


class HardThreshold(AbstractModule):
    r"""Where to cut singular values, as `optimal_hard_threshold` returns it.

    Args:
        known_noise: λ; the threshold is $\lambda \sqrt{\max(n, p)}\,\sigma$ where the noise level σ is known.
        median_rule: ω; the threshold is ω times the median singular value of the data where it is not.

    Example:
        >>> import jax.numpy as jnp
        >>> threshold = optimal_hard_threshold(jnp.array([100, 50]), 50)
        >>> print(threshold.median_rule.round(3))
        [2.171 2.858]
    """

    known_noise: Float[Array, "..."]
    median_rule: Float[Array, "..."]


def optimal_hard_threshold(n: RealLike, p: RealLike) -> HardThreshold:
    r"""The optimal hard threshold for singular values of an n × p matrix of low rank in white noise.

    Singular values above the threshold are kept, the others are set to 0. For large matrices no other threshold has a
    smaller mean squared error, whatever the signal is. With $\beta = \min(n, p)/\max(n, p)$,

    $$\lambda = \sqrt{2(\beta + 1) + \frac{8\beta}{\beta + 1 + \sqrt{\beta^2 + 14\beta + 1}}}, \qquad
    \omega = \frac{\lambda}{\sqrt{\mu_\beta}},$$

    where $\mu_\beta$ is the median of `laws.MarchenkoPastur` of the ratio β, to all digits, so that
    $\sqrt{\max(n, p)\,\mu_\beta}\,\sigma$ is the median singular value of noise alone. A matrix and its transpose have
    the same threshold.

    Convention: $\sigma^2 = E|z|^2$ for an entry z of the noise, both parts together where it is complex. The median is
    over the $\min(n, p)$ singular values.

    Args:
        n: number of rows, a number or an array of finite numbers, n ≥ 1.
        p: number of columns, p ≥ 1; its shape broadcasts with the shape of n.

    Returns:
        λ as `known_noise` and ω as `median_rule`. For square matrices they are 4/√3 and 2.8584.

    Example:
        >>> threshold = optimal_hard_threshold(1000, 1000)
        >>> print(f"{threshold.known_noise:.4f} {threshold.median_rule:.4f}")
        2.3094 2.8584

    References:
        Gavish and Donoho (2014), IEEE Trans. Inf. Theory 60, 5040.
    """
    n, p = aligned(_checks.real("n", n), _checks.real("p", p))
    valid = _checks.all_kept(_SIZE.kept("n", n), _SIZE.kept("p", p))
    return _checks.masked(valid, _threshold(n, p))


_SIZE = _checks.Rule(lambda size: (size >= 1) & (size < jnp.inf), "be a finite size of at least 1")


def ratio(n: Float[Array, "..."], p: Float[Array, "..."]) -> Float[Array, "..."]:
    """The smaller size over the larger one, β."""
    return jnp.minimum(n, p) / jnp.maximum(n, p)


def known_noise(beta: Float[Array, "..."]) -> Float[Array, "..."]:
    """The threshold λ: the best cut for noise of level 1, over the root of the larger size."""
    return jnp.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + jnp.sqrt(beta**2 + 14 * beta + 1)))


@compiled
def _threshold(n: Float[Array, "..."], p: Float[Array, "..."]) -> HardThreshold:
    beta = ratio(n, p)
    threshold = known_noise(beta)
    return HardThreshold(threshold, threshold / jnp.sqrt(median_level(beta)))
