"""What all unfoldings have in common: which levels they leave out, and the record of how well they did."""

from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax.linalg import MaskedValues
from rmtjax.statistics._levels import Levels, in_order, outermost
from rmtjax.statistics._unfolded import Unfolded

DROP = _checks.Rule(lambda x: (x >= 0) & (x < 0.5), "lie in [0, 1/2)")


def middle(spectra: Levels, share: Float[Array, ""]) -> Bool[Array, "*batch n"]:
    """The levels that count without this share at either end."""
    number, rank = spectra.number, spectra.ranks
    share = like(rank, share)
    return spectra.mask & (rank > share * number) & (rank < (1 - share) * number)


def together(spectra: Levels) -> Levels:
    """Spectra of a pool, of which one that is not valid spoils all."""
    return spectra if spectra.valid is True else spectra.where(spectra.valid.all())


@partial(compiled, nan_is_an_answer=True)
def recorded(
    spectra: Levels, values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], offset: Any = 0
) -> Unfolded:
    """The record of unfolded values, of which `mask` says which are left; a program that all unfoldings share."""
    values = spectra.masked(values, 1)
    rank = spectra.ranks.astype(values.dtype) + offset
    number, kept = (like(values, jnp.sum(each, axis=-1)) for each in (spectra.mask, mask))
    mean = lambda x: jnp.sum(jnp.where(mask, x, 0), axis=-1) / jnp.maximum(kept, 1)
    residual = jnp.where(mask, values - rank, 0)
    centred = jnp.where(mask, rank - mean(rank)[..., None], 0)
    squares, spread = mean(residual**2), jnp.sum(centred**2, axis=-1)
    place = jnp.arange(mask.shape[-1]).reshape((1,) * (mask.ndim - 1) + (-1,))
    first = jnp.min(jnp.where(mask, place, place.size), axis=-1, keepdims=True, initial=place.size)
    dropped = lambda where: jnp.sum(spectra.mask & ~mask & where, axis=-1)
    share = lambda where: spectra.masked(like(values, dropped(where)) / jnp.maximum(number, 1), 0)
    low, high = outermost(values, mask)
    several, exact = kept > 1, squares == 0
    residual_size = jnp.where(exact, 0, jnp.sqrt(jnp.where(exact, 1, squares)))
    return Unfolded(
        levels=MaskedValues(jnp.where(mask, values, jnp.nan), mask),
        deviation=jnp.where(mask, residual, jnp.nan),
        mean_spacing=jnp.where(several, (high - low) / jnp.where(several, kept - 1, 1), jnp.nan),
        residual=jnp.where(kept > 0, residual_size, jnp.nan),
        trend=jnp.where(several, jnp.sum(centred * residual, axis=-1) / jnp.where(several, spread, 1), jnp.nan),
        below=share(place < first),
        above=share(place > first),
        monotone=in_order(values, mask, spectra.at_end).all(-1),
    )
