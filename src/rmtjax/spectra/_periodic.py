"""Counts of levels, and spectra repeated cyclically up to the length of their array, as for Wigner's cat."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Real

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._promotion import aligned, in_one_precision, like
from rmtjax._typing import Arrangement, KeyScalar


def inside_block(order: Int[Array, "*batch"], n: int) -> Bool[Array, "*batch n"]:
    """Which of the n rows belong to the leading block of the given order."""
    return jnp.less(*aligned(jnp.arange(n, dtype=order.dtype), order[..., None]))


@on_automatic_axes
def count_below(ascending: Real[Array, " n"], x: Real[Array, "..."]) -> Int[Array, "..."]:
    """Number of entries of an ascending array strictly below each x; -1 if any entry is NaN."""
    return _checks.masked(~jnp.isnan(ascending).any(), jnp.searchsorted(*in_one_precision((ascending, x)), side="left"))


def _ranks(score: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch n"]:
    """Rank of each level by its score, padding last; of two levels with equal scores the lower comes first."""
    return jnp.argsort(jnp.argsort(jnp.where(mask, score, jnp.inf), axis=-1), axis=-1)


def _random_precedence(key: KeyScalar, mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch n"]:
    return _ranks(jax.random.uniform(_checks.typed_key(key), mask.shape), mask)


def _multiplicity(precedence: Int[Array, " n"], order: Int[Array, ""]) -> Int[Array, " n"]:
    """How often periodic padding takes each level."""
    n = precedence.size
    copies, remainder = n // order, n % order
    extra = like(order, like(order, precedence) < remainder)
    return jnp.where(jnp.arange(n, dtype=order.dtype) < order, copies + extra, 0)


def _places_of_copies(multiplicity: Int[Array, " n"]) -> Int[Array, " n"]:
    """For each index of the padded spectrum, the index in the unpadded one that it copies."""
    ends = jnp.cumsum(multiplicity)
    return jnp.searchsorted(ends, jnp.arange(multiplicity.size, dtype=ends.dtype), side="right")


@on_automatic_axes
def repeated(
    values: Real[Array, "*batch n"], order: Int[Array, "*batch"], arrangement: str, key: KeyScalar | None
) -> Real[Array, "*batch n"]:
    n = values.shape[-1]
    mask = inside_block(order, n)
    if arrangement == "ascending":
        precedence = jnp.broadcast_to(jnp.arange(n), values.shape)
    elif arrangement == "magnitude":
        precedence = _ranks(-jnp.abs(values), mask)
    else:
        assert key is not None
        precedence = _random_precedence(key, mask)
    multiplicity = jnp.vectorize(_multiplicity, signature="(n),()->(n)")(precedence, order)
    place = jnp.vectorize(_places_of_copies, signature="(n)->(n)")(multiplicity)
    return jnp.take_along_axis(values, place, axis=-1)


def periodic_counts(
    below: Int[Array, "..."], order: Int[Array, ""], n: int, arrangement: Arrangement, key: KeyScalar
) -> Int[Array, "..."]:
    """Counts for the periodically padded spectrum, from counts for the unpadded one and without any eigenvalue.

    The arrangement may not be `"magnitude"`: there the levels themselves decide which of them are repeated.
    """
    if arrangement == "ascending":
        order = like(below, order)
        return n // order * below + jnp.minimum(below, n % order)
    multiplicity = _multiplicity(_random_precedence(key, inside_block(order, n)), order)
    return jnp.pad(jnp.cumsum(multiplicity), (1, 0))[below]
