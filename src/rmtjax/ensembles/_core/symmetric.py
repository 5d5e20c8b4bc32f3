"""Symmetric matrices made of their entries."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped


def diagonal_places(n: int) -> Bool[Array, "n n"]:
    """True on the diagonal of an n×n matrix."""
    return jnp.eye(n, dtype=bool)


def mirrored(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries on and below the diagonal, symmetric to the last bit."""
    index, entries = jnp.arange(entries.shape[-1]), stored(entries)
    return jnp.where(index[:, None] >= index[None, :], entries, entries.T)


def stored(x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The array itself, written to memory, so that all who read it see the same bits.

    XLA fuses the entries of a random matrix with what reads them, and makes them anew for the transpose, in code that
    may round otherwise; an optimization barrier is gone by then. It does not look through the turns of a loop.
    """
    return jax.lax.fori_loop(0, 2, lambda _, y: ~y if y.dtype == bool else -y, x)
