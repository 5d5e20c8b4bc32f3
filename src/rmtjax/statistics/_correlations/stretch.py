"""The part of the axis, or the circle, on which several statistics look at levels."""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._ordering import in_order
from rmtjax._staging import is_traced
from rmtjax.spectra import Circle, Interval
from rmtjax.spectra.internal import AbstractDomain, Levels, extent, origin


class Stretch(NamedTuple):
    """Spectra and where they are looked at, measured from their origins, with one axis for the batch.

    Args:
        levels: ascending, `+inf` behind the last one; at least one place.
        number: number of levels.
        start, end: ends of the interval, or of a first round on the circle, which begins with a level.
        length: length of the interval or circle.
    """

    levels: Float[Array, "batch n"]
    number: Int[Array, " batch"]
    start: Float[Array, " batch"]
    end: Float[Array, " batch"]
    length: Float[Array, " batch"]

    @property
    def two_rounds(self) -> Float[Array, "batch m"]:
        """The levels on a circle, with those of the next round."""
        return in_order(jnp.concatenate([self.levels, self.levels + self.length[:, None]], axis=1))


def refuse_longer(name: str, sizes: Array, spectra: Levels, *, whole: bool = False) -> None:
    """Refuse sizes that are too long for every spectrum; under a transformation none, as single results are NaN.

    Args:
        name: name of the argument.
        sizes: distances or lengths.
        spectra: the spectra in which they must fit.
        whole: whether a size may be all of an interval.
    """
    place = spectra.domain, spectra.values, spectra.mask
    if not is_traced((sizes, place)):
        (_NOT_LONGER if whole or isinstance(spectra.domain, Circle) else _SHORTER).kept(name, sizes, *place)


def stretch(spectra: Levels) -> Stretch:
    """The stretch of each spectrum, in a compiled function; spectra are not checked."""
    values, mask, domain = spectra.values, spectra.mask, spectra.domain
    batch, n = math.prod(values.shape[:-1]), values.shape[-1]
    levels = spectra.compact.reshape(batch, n)
    if n == 0:
        levels = jnp.full((batch, 1), jnp.inf, values.dtype)  # one empty place
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


def _fit(compare: Callable[[Any, Any], Any], sizes: Any, domain: AbstractDomain, values: Any, mask: Any) -> Any:
    """Whether sizes compare with the length of the longest interval or circle."""
    if isinstance(domain, Circle):
        lengths = domain.period
    else:
        lengths = domain.end - domain.start if isinstance(domain, Interval) else extent(values, mask)
    longest = lengths.max(initial=0)
    return compare(sizes, longest).all() | (longest <= 0)  # without two levels there is no interval to compare with


def _place(domain: AbstractDomain) -> str:
    return {Circle: "the period", Interval: "the interval"}.get(type(domain), "a spectrum")


_SHORTER = _checks.Rule(partial(_fit, operator.lt), lambda domain, *_: f"be shorter than {_place(domain)}")
_NOT_LONGER = _checks.Rule(partial(_fit, operator.le), lambda domain, *_: f"be no longer than {_place(domain)}")
