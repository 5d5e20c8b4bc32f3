"""The part of the axis, or the circle, on which levels are looked at, as several statistics take it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax.statistics._levels import Levels


class Stretch(NamedTuple):
    """Spectra and where they are looked at.

    Args:
        levels: ascending, `+inf` behind the last one; at least one place.
        number: how many there are.
        first, last: the interval; None where it goes from the first level to the last.
        period: the length of the circle; None on the line.
    """

    levels: Float[Array, "*batch n"]
    number: Int[Array, "*batch"]
    first: Float[Array, ""] | None
    last: Float[Array, ""] | None
    period: Float[Array, ""] | None

    @property
    def start(self) -> Float[Array, "*#batch"]:
        """Where it begins."""
        return self.levels[..., 0] if self.first is None else self.first

    @property
    def end(self) -> Float[Array, "*#batch"]:
        """Where it ends on the line."""
        if self.last is not None:
            return self.last
        return jnp.take_along_axis(self.levels, jnp.maximum(self.number[..., None] - 1, 0), axis=-1)[..., 0]

    @property
    def flat(self) -> "Stretch":
        """The same with one axis for the batch."""
        levels = self.levels.reshape(self.number.size, self.levels.shape[-1])
        each = lambda end: end if end is None else jnp.broadcast_to(end, self.number.shape).ravel()
        return Stretch(levels, self.number.ravel(), each(self.first), each(self.last), self.period)

    @property
    def two_rounds(self) -> Float[Array, "*batch m"]:
        """On a circle the levels and those of the next round."""
        assert self.period is not None
        return jnp.sort(jnp.concatenate([self.levels, self.levels + self.period], axis=-1), axis=-1)

    def on_circle(self, spectra: Levels) -> Levels:
        """The spectra it was made of, which are valid only where their levels fit on the circle, if there is one."""
        if self.period is None:
            return spectra
        return spectra._replace(valid=_checks.both(spectra.valid, _ON_CIRCLE.kept("levels", *self)))

    def refuse_longer(self, name: str, lengths: Array) -> None:
        """Refuse lengths that no spectrum has; under a transformation nothing, as the results are NaN one by one."""
        if not any(isinstance(leaf, Tracer) for leaf in (lengths, *self)):
            _FITS.kept(name, lengths, *self)


def stretch(spectra: Levels, interval: object, period: Any) -> Stretch:
    """Spectra, and where they are looked at by the arguments `interval` and `period`.

    Raises:
        ValueError: `interval` is not ascending or given together with `period`, or `period` is not positive.
    """
    levels, dtype = spectra.compact, spectra.values.dtype
    if levels.shape[-1] == 0:
        levels = jnp.full((*levels.shape[:-1], 1), jnp.inf, dtype)  # a place for no level
    number = jnp.sum(spectra.mask, axis=-1)
    if period is not None:
        if interval is not None:
            raise _checks.refusal("interval", "be None on a circle", interval)
        return Stretch(levels, number, None, None, _checks.positive("period", period).astype(dtype))
    if interval is None:
        return Stretch(levels, number, None, None, None)
    first, last = _checks.interval("interval", interval)
    return Stretch(levels, number, first.astype(dtype), last.astype(dtype), None)


def _extent(part: Stretch) -> Any:
    """The distance from the first to the last level."""
    return jnp.where(part.number > 0, part._replace(last=None).end - part.levels[..., 0], 0)


def _some_fit(sizes: Any, *parts: Any) -> Any:
    """Whether at least one spectrum is longer than the longest size, and all fit on the circle."""
    if sizes.size == 0:
        return jnp.asarray(True)
    part, longest = Stretch(*parts), sizes.max()
    extent = _extent(part)
    if part.period is not None:
        return (longest <= part.period) & (extent <= part.period).all()
    if part.first is not None and part.last is not None:
        return longest < part.last - part.first
    most = extent.max(initial=0)
    return (longest < most) | (most <= 0)  # without two levels there is no window of any length


_FITS = _checks.Rule(_some_fit, "be shorter than a spectrum (on a circle, at most the period, which holds all levels)")
_ON_CIRCLE = _checks.Rule(lambda *parts: _extent(Stretch(*parts)) <= parts[-1], "fit on the circle")
