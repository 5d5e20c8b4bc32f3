"""Helpers that build symmetric matrices from their entries."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped


def diagonal_places(n: int) -> Bool[Array, "n n"]:
    """A mask that is True on the diagonal of an n×n matrix."""
    return jnp.eye(n, dtype=bool)


def mirrored(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries on and below the diagonal, symmetric to the last bit."""
    index, entries = jnp.arange(entries.shape[-1]), stored(entries)
    return jnp.where(index[:, None] >= index[None, :], entries, entries.T)


def stored(x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The array itself, forced into memory so that all code that reads it sees the same bits.

    XLA fuses the drawing of random entries into the code that reads them and repeats it for the transpose, where it may
    round differently. Optimization barriers are gone by then, but XLA does not see through a loop that negates twice.
    """
    return jax.lax.fori_loop(0, 2, lambda _, y: ~y if y.dtype == bool else -y, x)
