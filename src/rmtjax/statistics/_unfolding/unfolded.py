"""The common part of all unfoldings: the levels that they leave out, and the report of their quality."""

from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax.spectra import Circle, Interval, Spectrum, Unfolding
from rmtjax.spectra.internal import ENDS, LINE, AbstractDomain, Levels, around, in_order, made, outermost

DROP = _checks.Rule(lambda x: (x >= 0) & (x < 0.5), "lie in [0, 1/2)")


def middle(spectra: Levels, share: Float[Array, ""]) -> Bool[Array, "*batch n"]:
    """The levels that count, without this share at either end."""
    number, rank = spectra.number, spectra.ranks
    share = like(rank, share)
    return spectra.mask & (rank > share * number) & (rank < (1 - share) * number)


def together(spectra: Levels) -> Levels:
    """The spectra of a pool: one invalid spectrum makes all invalid."""
    return spectra if spectra.valid is True else spectra.where(spectra.valid.all())


def off_circle(spectra: Levels) -> Levels:
    """Levels that do not lie on a circle, where no level is the first one to count from."""
    if isinstance(spectra.domain, Circle):
        raise _checks.refusal("levels", "lie on the line (`unfold_phases` unfolds a circle)", spectra.domain)
    return spectra


def recorded(
    spectra: Levels,
    values: Float[Array, "*batch n"],
    mask: Bool[Array, "*batch n"] | None = None,
    domain: AbstractDomain = LINE,
    offset: Any = 0,
) -> Spectrum:
    """The spectrum of unfolded values, of which `mask` keeps some, with its report."""
    kept = spectra.mask if mask is None else mask
    report, valid = _report(spectra, values, kept, offset)
    at_end = spectra.at_end and mask is None
    found = Levels(spectra.masked(values, 1), kept, valid, at_end, domain)
    return made(found.where(_in_domain(found, domain)) if isinstance(domain, Interval) else found, True, report)


@compiled
def _in_domain(spectra: Levels, domain: Interval) -> Bool[Array, "*batch"]:
    """Whether the ends of the interval are still around the levels after an unfolding."""
    ends = domain.start, domain.end
    return ENDS.holds(ends) & around(ends, spectra.values, spectra.mask)


@partial(compiled, nan_is_an_answer=True)
def _report(
    spectra: Levels, values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], offset: Any
) -> tuple[Unfolding, Bool[Array, "*batch"]]:
    """The report, and whether each spectrum ascends."""
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
    monotone = in_order(values, mask, spectra.at_end).all(-1)
    report = Unfolding(
        deviation=jnp.where(mask, residual, jnp.nan),
        mean_spacing=jnp.where(several, (high - low) / jnp.where(several, kept - 1, 1), jnp.nan),
        residual=jnp.where(kept > 0, residual_size, jnp.nan),
        trend=jnp.where(several, jnp.sum(centred * residual, axis=-1) / jnp.where(several, spread, 1), jnp.nan),
        below=share(place < first),
        above=share(place > first),
        monotone=monotone,
    )
    return report, spectra.valid & monotone & ((abs(values) < jnp.inf) | ~mask).all(-1)
