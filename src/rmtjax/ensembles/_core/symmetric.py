"""Helpers that build symmetric and antisymmetric matrices from their entries."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax._stored import stored


def mirrored(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries on and below the diagonal, symmetric to the last bit."""
    entries = stored(entries)
    # Where XLA reads a transpose in the code that multiplies the result by a number, it compiles for minutes.
    return jnp.where(_lower(entries), entries, stored(entries.T))


def antisymmetric(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries below the diagonal, antisymmetric to the last bit."""
    return with_signs(mirrored(entries))


def both_mirrored(entries: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """The symmetric matrices of the lower triangle and of the upper one, both with the diagonal."""
    entries = stored(entries)
    # The parts of a complex matrix read the transpose faster from here than from a copy.
    lower, transpose = _lower(entries), entries.T
    return jnp.where(lower, entries, transpose), jnp.where(lower, transpose, entries)


def _lower(entries: Float[Array, "n n"]) -> Bool[Array, "n n"]:
    index = jnp.arange(entries.shape[-1])
    return index[:, None] >= index[None, :]


def with_signs(symmetric: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The antisymmetric matrix with these entries below the diagonal."""
    index = jnp.arange(symmetric.shape[-1], dtype=symmetric.dtype)
    return jnp.sign(index[:, None] - index[None]) * symmetric
