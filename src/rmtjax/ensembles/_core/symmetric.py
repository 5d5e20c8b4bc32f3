"""Helpers that build symmetric and antisymmetric matrices from their entries."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from rmtjax._typing import KeyScalar


def mirrored(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries on and below the diagonal, symmetric to the last bit."""
    index, entries = jnp.arange(entries.shape[-1]), stored(entries)
    return jnp.where(index[:, None] >= index[None, :], entries, entries.T)


def antisymmetric(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries below the diagonal, antisymmetric to the last bit."""
    index = jnp.arange(entries.shape[-1], dtype=entries.dtype)
    return jnp.sign(index[:, None] - index[None]) * mirrored(entries)


def normal_square(key: KeyScalar, n: int, dtype: jnp.dtype) -> Float[Array, "n n"]:
    """Independent standard normal variates, stored."""
    return stored(jax.random.normal(key, (n, n), dtype))


def stored(x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The array itself, forced into memory so that all code that reads it sees the same bits.

    XLA fuses the drawing of random entries into the code that reads them and repeats it for the transpose, where it may
    round differently. XLA removes optimization barriers before, but it keeps a loop that negates twice.
    """
    return jax.lax.fori_loop(0, 2, lambda _, y: ~y if y.dtype == bool else -y, x)
