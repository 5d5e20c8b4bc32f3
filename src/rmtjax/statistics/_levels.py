"""The first argument of every statistic: ascending levels, with a mask where not all of them count."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Real

from rmtjax import _checks
from rmtjax.linalg import MaskedValues, PaddedSpectrum

Spectrum = Real[Array, "*batch n"] | PaddedSpectrum | MaskedValues


def _ascend(values: Any, mask: Any) -> Any:
    """For each spectrum, whether those levels that count are numbers in ascending order."""
    is_number = (values == values) | ~mask
    in_order = (values[..., 1:] >= values[..., :-1]) | ~mask[..., 1:] | ~mask[..., :-1]
    return is_number.all(-1) & in_order.all(-1)


_ASCENDING = _checks.Rule(_ascend, "be ascending numbers")


class Levels(NamedTuple):
    """Levels whose padding is 0, which of them count, and whether each spectrum is valid."""

    values: Float[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]
    valid: Any

    def masked(self, result: Any, axes: int) -> Any:
        """The result with NaN for spectra that are not valid; it has so many axes besides those of the batch."""
        valid = self.valid if self.valid is True else self.valid.reshape(*self.valid.shape, *(1,) * axes)
        return _checks.masked(valid, result)

    @property
    def compact(self) -> Float[Array, "*batch n"]:
        """The levels that count, ascending, with `+inf` behind them."""
        return jnp.sort(jnp.where(self.mask, self.values, jnp.inf), axis=-1)


def checked(levels: object, where: object, *, name: str = "levels") -> Levels:
    """Ascending levels on the last axis; what does not count need not be a number.

    Raises:
        ValueError: they are not real, not ascending where they count, or have no axis; `where` is no mask of them.
    """
    mask: Any = True if where is None else where
    if isinstance(levels, PaddedSpectrum | MaskedValues):
        mask = levels.mask & mask
        levels = levels.values
    values = _checks.full_precision(name, _checks.real(name, levels))
    if values.ndim == 0:
        raise _checks.refusal(name, "have an axis of levels", values.shape)
    mask = jnp.asarray(mask)
    if mask.dtype != bool or mask.ndim > values.ndim:
        raise _checks.refusal("where", "be booleans that broadcast to the levels", mask)
    try:
        mask = jnp.broadcast_to(mask, values.shape)
    except ValueError:
        raise _checks.refusal("where", f"broadcast to the shape {values.shape} of the levels", mask.shape) from None
    valid = _ASCENDING.kept(name, values, mask)
    return Levels(jnp.where(mask, values, 0), mask, valid)
