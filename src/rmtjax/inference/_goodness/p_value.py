"""The p-value of a statistic among its draws under the null hypothesis."""

from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._compile import compiled
from rmtjax._promotion import in_one_precision, like


@partial(compiled, static_argnums=2)
def monte_carlo_p_value(
    statistic: Float[Array, ""], null: Float[Array, " draws"], rounding: int = 0
) -> Float[Array, ""]:
    r"""The share $(1 + \#\{T^* \ge T\})/(\text{draws} + 1)$, which counts the observed statistic as one of the draws.

    A draw counts as equal up to `rounding` eps below the statistic.
    """
    dtype = statistic.dtype
    statistic, null = in_one_precision((statistic, null))
    least = statistic - rounding * jnp.finfo(null.dtype).eps * jnp.abs(statistic) if rounding else statistic
    share = like(statistic, 1 + jnp.sum(null >= least)) / (null.size + 1)
    # A draw without a statistic makes the share unknown, not smaller.
    return jnp.where(jnp.isnan(statistic) | jnp.isnan(null).any(), jnp.nan, share).astype(dtype)
