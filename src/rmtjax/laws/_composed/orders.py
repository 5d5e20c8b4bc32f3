"""The binomial distribution of matrix orders, which the mixed ensembles and their laws share."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._promotion import like

# A mixed ensemble draws no order below 2, because one level alone has no spacing.
SMALLEST_ORDER = 2


def clip_order(order: Int[Array, "..."], largest: int) -> Int[Array, "..."]:
    """The order clipped as in a mixed ensemble: at least 2, but at most the largest order, which may be 1."""
    return jnp.clip(order, min(SMALLEST_ORDER, largest), largest)


def order_distribution(largest: int, mixture: Float[Array, ""]) -> tuple[Int[Array, " w"], Float[Array, " w"]]:
    r"""Orders $n = \mathrm{clip}(k, 2, N)$ with $k \sim \mathrm{Bin}(N, \mu)$, and their probabilities.

    Only a window of 10 standard deviations (of the widest binomial, $\sqrt N/2$) around the mode is kept; orders beyond
    it have a probability below 1e-20. The probabilities follow from the mode outwards by the ratio
    $p_{k+1}/p_k = \frac{N-k}{k+1}\frac{\mu}{1-\mu}$, which never overflows, and are normalised at the end. So they are
    right to rounding, and differentiable up to and including μ = 1. An order can occur more than once.

    Args:
        largest: N.
        mixture: μ in (0, 1].

    Returns:
        The orders and their probabilities, which sum to 1.
    """
    reach = min(largest, 5 * math.isqrt(largest) + 20)
    steps = jnp.arange(1, reach + 1)
    mode = jnp.clip(jnp.floor((largest + 1) * mixture), 0, largest).astype(int)

    k = mode + steps
    # The ratio is (N-k+1)/k · μ/(1-μ). For μ = 1 the mode is N, and nothing lies above it.
    rest = jnp.where(mixture < 1, 1 - mixture, 1)
    up = jnp.where(k <= largest, like(mixture, largest - k + 1) * mixture, 0) / (like(mixture, k) * rest)
    above = k, jnp.cumprod(up)
    k = mode - steps
    down = jnp.where(k >= 0, like(mixture, k + 1) * (1 - mixture) / (like(mixture, largest - k) * mixture), 0)
    below = k[::-1], jnp.cumprod(down)[::-1]

    orders = jnp.concatenate([below[0], mode[None], above[0]])
    relative = jnp.concatenate([below[1], jnp.ones(1, up.dtype), above[1]])
    return clip_order(orders, largest), (relative / relative.sum()).astype(jnp.result_type(mixture))
