"""The part of the axis, or the circle, on which levels are looked at, as several statistics take it."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax.spectra import Circle, Interval
from rmtjax.spectra.internal import AbstractDomain, Levels, extent, of_each, origin


class Stretch(NamedTuple):
    """Spectra and where they are looked at, measured from their origins, with one axis for the batch.

    Args:
        levels: ascending, `+inf` behind the last one; at least one place.
        number: how many there are.
        start, end: of the interval, or of a first round on the circle, which begins with a level.
        length: of the interval or of the circle.
    """

    levels: Float[Array, "batch n"]
    number: Int[Array, " batch"]
    start: Float[Array, " batch"]
    end: Float[Array, " batch"]
    length: Float[Array, " batch"]

    @property
    def two_rounds(self) -> Float[Array, "batch m"]:
        """On a circle the levels and those of the next round."""
        return jnp.sort(jnp.concatenate([self.levels, self.levels + self.length[:, None]], axis=1), axis=1)


def refuse_longer(name: str, sizes: Array, spectra: Levels, *, whole: bool = False) -> None:
    """Refuse sizes that no spectrum has; under a transformation nothing, as the results are NaN one by one.

    Args:
        name: of the argument.
        sizes: distances or lengths.
        spectra: those in which they have to fit.
        whole: whether it may be all of an interval.
    """
    place = spectra.domain, spectra.values, spectra.mask
    if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((sizes, place))):
        (_NOT_LONGER if whole or isinstance(spectra.domain, Circle) else _SHORTER).kept(name, sizes, *place)


def stretch(spectra: Levels) -> Stretch:
    """Spectra where they are looked at, a part of a compiled function; whether they are valid is not looked at."""
    values, mask, domain = spectra.values, spectra.mask, spectra.domain
    batch, n = math.prod(values.shape[:-1]), values.shape[-1]
    levels = spectra.compact.reshape(batch, n)
    if n == 0:
        levels = jnp.full((batch, 1), jnp.inf, values.dtype)  # a place for no level
    number = jnp.sum(mask, axis=-1).ravel()
    first, last = levels[:, 0], jnp.take_along_axis(levels, jnp.maximum(number[:, None] - 1, 0), axis=1)[:, 0]
    by = origin(first, last)
    levels, first, last = levels - by[:, None], first - by, last - by
    if isinstance(domain, Circle):
        period = jnp.asarray(domain.period).ravel()
        return Stretch(levels, number, first, first + period, period)
    if isinstance(domain, Interval):
        start, end = jnp.asarray(domain.start).ravel() - by, jnp.asarray(domain.end).ravel() - by
    else:
        start, end = first, last
    return Stretch(levels, number, start, end, end - start)


def pair(name: str, value: Any, must: str, spectra: Levels) -> tuple[Any, Any]:
    """Two numbers, or two for each spectrum, of one shape."""
    if isinstance(value, Array | np.ndarray):
        value = _checks.real(name, value)
    if not isinstance(value, tuple | list | Array) or getattr(value, "ndim", 1) != 1 or len(value) != 2:
        raise _checks.refusal(name, must, value)
    one, two = (of_each(name, each, spectra.values) for each in value)
    return one, two


def _longest(domain: AbstractDomain, values: Any, mask: Any) -> Any:
    """The length of the longest interval or circle."""
    if isinstance(domain, Circle):
        return domain.period.max(initial=0)
    lengths = domain.end - domain.start if isinstance(domain, Interval) else extent(values, mask)
    return lengths.max(initial=0)


def _shorter(sizes: Any, *place: Any) -> Any:
    longest = _longest(*place)
    return (sizes < longest).all() | (longest <= 0)  # without two levels there is no interval of any length


def _not_longer(sizes: Any, *place: Any) -> Any:
    longest = _longest(*place)
    return (sizes <= longest).all() | (longest <= 0)


def _place(domain: AbstractDomain, *_: Any) -> str:
    """What lengths are held against."""
    return {Circle: "the period", Interval: "the interval"}.get(type(domain), "a spectrum")


_SHORTER = _checks.Rule(_shorter, lambda *place: f"be shorter than {_place(*place)}")
_NOT_LONGER = _checks.Rule(_not_longer, lambda *place: f"be no longer than {_place(*place)}")
