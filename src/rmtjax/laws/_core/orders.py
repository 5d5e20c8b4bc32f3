"""Orders of moments and free cumulants, and large integers among their values."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks


def no_more_than(largest: int, k: int) -> None:
    """Refuse a moment or free cumulant of a larger order."""
    if k > largest:
        raise _checks.refusal("k", f"be at most {largest} for this law", k)


def as_number(value: int | float) -> Float[Array, ""]:
    """The value in JAX's default precision; infinite if it overflows."""
    largest = int(jnp.finfo(jnp.result_type(float)).max)
    return jnp.asarray(float(value) if abs(value) <= largest else jnp.inf if value > 0 else -jnp.inf)
