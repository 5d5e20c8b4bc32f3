"""The first argument of every statistic: levels, with a mask where not all of them count."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Real

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax.linalg import MaskedValues, PaddedSpectrum

Spectrum = Real[Array, "*batch n"] | PaddedSpectrum | MaskedValues
PlanarSpectrum = Inexact[Array, "*batch n"] | MaskedValues


def _ascend(values: Any, mask: Any) -> Any:
    """For each spectrum, whether those levels that count are numbers in ascending order."""
    is_number = (abs(values) < math.inf) | ~mask
    # A level is held against the highest that counts before it, also across others that do not.
    counted = jnp.where(mask, values, -math.inf)
    highest = jax.lax.cummax(counted, axis=counted.ndim - 1)
    in_order = (values[..., 1:] >= highest[..., :-1]) | ~mask[..., 1:]
    return is_number.all(-1) & in_order.all(-1)


_ASCENDING = _checks.Rule(_ascend, "be ascending numbers, finite where they count")
_FINITE = _checks.Rule(lambda values, mask: ((abs(values) < jnp.inf) | ~mask).all(-1), "be finite numbers")


class Levels(NamedTuple):
    """Levels whose padding is 0, which of them count, and whether each spectrum is valid."""

    values: Inexact[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]
    valid: Any
    # Whether what does not count is known to stand behind all that does.
    at_end: bool = False

    def masked(self, result: Any, axes: int) -> Any:
        """The result with NaN for spectra that are not valid; it has so many axes besides those of the batch."""
        valid = self.valid if self.valid is True else self.valid.reshape(*self.valid.shape, *(1,) * axes)
        return _checks.masked(valid, result)

    @property
    def compact(self) -> Float[Array, "*batch n"]:
        """The levels that count, ascending, with `+inf` behind them."""
        ascending = jnp.where(self.mask, self.values, jnp.inf)
        return ascending if self.at_end else jnp.sort(ascending, axis=-1)

    @property
    def filled(self) -> Inexact[Array, "*batch n"]:
        """The levels, with the lowest that counts in the place of those that do not, for a user's function."""
        return _filled(self.values, self.mask)


@compiled
def _filled(values: Inexact[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "*batch n"]:
    lowest = jnp.min(jnp.where(mask, jax.lax.stop_gradient(values), jnp.inf), axis=-1, keepdims=True, initial=jnp.inf)
    return jnp.where(mask, values, jnp.where(mask.any(-1, keepdims=True), lowest, 0))


def ranks(mask: Bool[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """The staircase at each level that counts, halfway up its step: 1/2, 3/2 and so on."""
    return jnp.cumsum(mask, axis=-1) - 0.5


def checked(levels: object, where: object, *, name: str = "levels") -> Levels:
    """Ascending levels on the last axis; what does not count need not be a number.

    Raises:
        ValueError: they are not real, not ascending where they count, or have no axis; `where` is no mask of them.
    """
    values, mask, at_end = _with_mask(levels, where, name)
    values = _checks.real(name, values)
    return Levels(jnp.where(mask, values, 0), mask, _ASCENDING.kept(name, values, mask), at_end)


def checked_in_plane(levels: object, where: object, *, name: str = "levels") -> Levels:
    """Real or complex levels in any order, finite where they count.

    Raises:
        ValueError: they are not finite where they count, or have no axis; `where` is no mask of them.
    """
    values, mask, at_end = _with_mask(levels, where, name)
    return Levels(jnp.where(mask, values, 0), mask, _FINITE.kept(name, values, mask), at_end)


def mask_of(name: str, mask: object, shape: tuple[int, ...]) -> Bool[Array, "*batch n"]:
    """Booleans, broadcast to the shape of the levels."""
    array = jnp.asarray(mask)
    if array.dtype != bool or array.ndim > len(shape):
        raise _checks.refusal(name, "be booleans that broadcast to the levels", array)
    try:
        return jnp.broadcast_to(array, shape)
    except ValueError:
        raise _checks.refusal(name, f"broadcast to the shape {shape} of the levels", array.shape) from None


def _with_mask(levels: Any, where: Any, name: str) -> tuple[Array, Array, bool]:
    """Levels, which of them count, and whether the others are known to be at the end."""
    mask: Any = True if where is None else where
    at_end = where is None and not isinstance(levels, MaskedValues)
    if isinstance(levels, PaddedSpectrum | MaskedValues):
        mask = levels.mask & mask
        levels = levels.values
    values = _checks.numbers(name, levels)
    if values.ndim == 0:
        raise _checks.refusal(name, "have an axis of levels", values.shape)
    return values, mask_of("where", mask, values.shape), at_end
