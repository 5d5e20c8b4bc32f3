"""Orders of moments and free cumulants, and the large numbers that some of them are."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks


def no_more_than(largest: int, k: int) -> int:
    """The order of a moment or a free cumulant, which must not be larger."""
    if k > largest:
        raise _checks.refusal("k", f"be at most {largest} for this law", k)
    return k


def as_number(value: int | float) -> Float[Array, ""]:
    """A number of JAX's default precision; infinite if it overflows."""
    largest = int(jnp.finfo(jnp.result_type(float)).max)
    return jnp.asarray(float(value) if abs(value) <= largest else jnp.inf if value > 0 else -jnp.inf)
