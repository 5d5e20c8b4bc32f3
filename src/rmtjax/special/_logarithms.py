"""Logarithms of probabilities."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def log_one_minus_exp(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Log(1 - exp y) for y < 0; XLA's log1p loses two digits near -0.41 and is only asked for small arguments."""
    small = y > -1
    # Each branch sees only its own side: the other one has no derivative towards 0.
    near, far = jnp.where(small, y, -1), jnp.where(small, -1, y)
    return jnp.where(small, jnp.log(-jnp.expm1(near)), jnp.log1p(-jnp.exp(far)))
