"""The part of the axis, or the circle, on which levels are looked at, as several statistics take it."""

import math
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax.statistics._levels import Levels, extent, origin, outermost


class Bounds(NamedTuple):
    """The arguments `interval` and `period`, numbers or an array of one for each spectrum; None where not given."""

    first: Any = None
    last: Any = None
    period: Any = None


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


def bounded(spectra: Levels, interval: object, period: object) -> tuple[Levels, Bounds]:
    """The bounds, and the spectra, which are valid only where these are.

    Raises:
        ValueError: `interval` is no ascending pair, reaches far beyond the levels, or comes together with `period`;
            `period` is not positive or does not hold the levels; one of them does not broadcast to the batch.
    """
    if period is not None:
        if interval is not None:
            raise _checks.refusal("interval", "be None on a circle", interval)
        bounds = Bounds(period=_of_each("period", period, spectra))
        kept = _checks.POSITIVE.kept("period", bounds.period)
        kept = _checks.both(kept, _HOLDS.kept("period", bounds.period, spectra.values, spectra.mask))
    elif interval is None:
        bounds, kept = Bounds(), True
    else:
        ends = pair("interval", interval, str(_checks.ASCENDING_PAIR.must), spectra)
        bounds = Bounds(*ends)
        kept = _checks.ASCENDING_PAIR.kept("interval", ends)
        kept = _checks.both(kept, _NEAR.kept("interval", ends, spectra.values, spectra.mask))
    kept = _checks.both(kept, _UNFOLDED.kept("levels", spectra.values, spectra.mask, bounds))
    return spectra.where(kept), bounds


def refuse_longer(name: str, sizes: Array, spectra: Levels, bounds: Bounds, *, whole: bool = False) -> None:
    """Refuse sizes that no spectrum has; under a transformation nothing, as the results are NaN one by one.

    Args:
        name: of the argument.
        sizes: distances or lengths.
        spectra: those in which they have to fit.
        bounds: where on these.
        whole: whether it may be all of an interval.
    """
    place = bounds, spectra.values, spectra.mask
    if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((sizes, place))):
        (_NOT_LONGER if whole or bounds.period is not None else _SHORTER).kept(name, sizes, *place)


def stretch(spectra: Levels, bounds: Bounds) -> Stretch:
    """Spectra where they are looked at, a part of a compiled function.

    Args:
        spectra: whose validity is not looked at.
        bounds: from `bounded`.
    """
    values, mask = spectra.values, spectra.mask
    batch, n = math.prod(values.shape[:-1]), values.shape[-1]
    levels = spectra.compact.reshape(batch, n)
    if n == 0:
        levels = jnp.full((batch, 1), jnp.inf, values.dtype)  # a place for no level
    number = jnp.sum(mask, axis=-1).ravel()
    spread = lambda end: jnp.broadcast_to(jnp.asarray(end, values.dtype), values.shape[:-1]).ravel()
    first, last = levels[:, 0], jnp.take_along_axis(levels, jnp.maximum(number[:, None] - 1, 0), axis=1)[:, 0]
    by = origin(first, last)
    levels, first, last = levels - by[:, None], first - by, last - by
    if bounds.period is not None:
        period = spread(bounds.period)
        return Stretch(levels, number, first, first + period, period)
    if bounds.first is not None:
        start, end = spread(bounds.first) - by, spread(bounds.last) - by
    else:
        start, end = first, last
    return Stretch(levels, number, start, end, end - start)


def pair(name: str, value: Any, must: str, spectra: Levels) -> tuple[Any, Any]:
    """Two numbers, or two for each spectrum, of one shape."""
    if isinstance(value, Array | np.ndarray):
        value = _checks.real(name, value)
    if not isinstance(value, tuple | list | Array) or getattr(value, "ndim", 1) != 1 or len(value) != 2:
        raise _checks.refusal(name, must, value)
    ends = [_of_each(name, each, spectra) for each in value]
    one, two = (np if all(isinstance(end, np.ndarray) for end in ends) else jnp).broadcast_arrays(*ends)
    return one, two


def _of_each(name: str, value: object, spectra: Levels) -> Array | np.ndarray:
    """A number, or one for each spectrum; in NumPy, which compiles nothing, where it is known."""
    array = _checks.real(name, value)
    batch = spectra.values.shape[:-1]
    sizes = zip(array.shape[::-1], batch[::-1], strict=False)
    if array.ndim > len(batch) or any(size not in (1, n) for size, n in sizes):
        raise _checks.refusal(name, f"broadcast to the shape {batch} of the batch", array.shape)
    array = array.reshape((1,) * (len(batch) - array.ndim) + array.shape).astype(spectra.values.dtype)
    return array if isinstance(array, Tracer) else np.asarray(array)


def _longest(bounds: Bounds, values: Any, mask: Any) -> Any:
    """The length of the longest interval or circle."""
    if bounds.period is not None:
        return bounds.period.max(initial=0)
    lengths = extent(values, mask) if bounds.first is None else bounds.last - bounds.first
    return lengths.max(initial=0)


def _density(values: Any, mask: Any, bounds: Bounds) -> tuple[Any, Any]:
    """How many levels there are in which length."""
    if bounds.period is not None:
        return mask.sum(axis=-1), bounds.period
    if bounds.first is not None:
        inside = mask & (values > bounds.first[..., None]) & (values <= bounds.last[..., None])
        return inside.sum(axis=-1), bounds.last - bounds.first
    return (mask.sum(axis=-1) - 1).clip(0), extent(values, mask)


def _unfolded(values: Any, mask: Any, bounds: Bounds) -> Any:
    """Whether independent levels of unit density could be so many or so few, for each spectrum that has any.

    By Chernoff's bound the probability is at most exp(N - W - N log(N/W)) for N levels in a length W.
    """
    number, length = _density(values, mask, bounds)
    some = (number > 0) & (length > 0)
    xp = np if isinstance(some, np.ndarray) else jnp
    number = number if xp is np else like(values, number)
    logarithm = xp.log(xp.where(some, number, 1) / xp.where(some, length, 1))
    return (length - number + number * logarithm <= _FARTHEST) | (length <= 0) | ~mask.any(axis=-1)


def _spacing(values: np.ndarray, mask: np.ndarray, bounds: Bounds) -> str:
    number, length = np.broadcast_arrays(*_density(values, mask, bounds))
    wrong = ~np.broadcast_to(_unfolded(values, mask, bounds), number.shape)
    return f"{length[wrong][0] / max(number[wrong][0], 1):.3g}"


def _near(interval: Any, values: Any, mask: Any) -> Any:
    """Whether it ends near the levels, for each spectrum that has any."""
    lowest, highest = outermost(values, mask)
    return (lowest - interval[0] <= _FARTHEST) & (interval[1] - highest <= _FARTHEST) | (lowest > highest)


def _shorter(sizes: Any, *place: Any) -> Any:
    longest = _longest(*place)
    return (sizes < longest).all() | (longest <= 0)  # without two levels there is no interval of any length


def _not_longer(sizes: Any, *place: Any) -> Any:
    longest = _longest(*place)
    return (sizes <= longest).all() | (longest <= 0)


def _place(bounds: Bounds, *_: Any) -> str:
    """What lengths are held against."""
    return "the period" if bounds.period is not None else "a spectrum" if bounds.first is None else "the interval"


# e⁻³⁶ is the rounding unit of float64. Beyond the ends of independent levels of mean spacing 1 a longer stretch is
# empty with a smaller probability, and for levels that repel even more so: no spectrum is lost by chance.
_FARTHEST = -math.log(sys.float_info.epsilon)
_NEAR = _checks.Rule(
    _near, f"be observed, and so end at most {_FARTHEST:.0f} mean spacings beyond the levels of each spectrum"
)
_UNFOLDED = _checks.Rule(_unfolded, "have a mean spacing of 1, as an unfolding gives it", _spacing)
_HOLDS = _checks.Rule(
    lambda period, *levels: period >= extent(*levels), "be at least the distance from the first level to the last"
)
_SHORTER = _checks.Rule(_shorter, lambda *place: f"be shorter than {_place(*place)}")
_NOT_LONGER = _checks.Rule(_not_longer, lambda *place: f"be no longer than {_place(*place)}")
