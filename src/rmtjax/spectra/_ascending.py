"""Whether levels are ascending numbers."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax import _checks


def in_order(values: Any, mask: Any, adjacent: Any) -> Any:
    """Whether each level that counts is at least as high as all that count before it; True for the others.

    Where the levels that count are known to be adjacent, the one before is enough.
    """
    known = isinstance(values, np.ndarray) and isinstance(mask, np.ndarray)
    xp = np if known else jnp  # NumPy compiles nothing
    highest: Any = xp.where(mask, values, -math.inf)
    if not adjacent:
        highest = np.maximum.accumulate(highest, axis=-1) if known else jax.lax.cummax(highest, axis=values.ndim - 1)
    before = xp.concatenate([xp.full_like(highest[..., :1], -math.inf), highest[..., :-1]], axis=-1)
    return (values >= before) | ~mask


def _ascend(values: Any, mask: Any, at_end: Any) -> Any:
    """Whether the levels of each spectrum that count are numbers in ascending order."""
    if all_count(mask):
        # If no level is below the one before, none is NaN, and all are finite if the outermost are.
        steps = (values[..., 1:] >= values[..., :-1]).all(-1)
        return steps & (values[..., 0] > -math.inf) & (values[..., -1] < math.inf)
    return _finite(values, mask) & in_order(values, mask, at_end).all(-1)


def all_count(mask: Any) -> bool:
    """Whether all of some levels are known to count, as where no mask was given."""
    return isinstance(mask, np.ndarray) and mask.size > 0 and not any(mask.strides) and bool(mask.flat[0])


def _finite(values: Any, mask: Any) -> Any:
    return ((abs(values) < math.inf) | ~mask).all(-1)


def _fault(values: np.ndarray, mask: np.ndarray, at_end: Any = False) -> str:
    """What keeps known levels from being ascending numbers."""
    infinite = mask & ~(abs(values) < math.inf)
    if infinite.any():
        return f"{infinite.sum()} that are not finite, the first {_checks.entry(values, infinite)}"
    wrong = ~in_order(values, mask, at_end)
    *_, rows, columns = 1, *values.shape
    matrix = rows == columns > 1 and mask.all() and (values == values.swapaxes(-1, -2)).all()
    advice = "the levels of a matrix are `rmt.eigvalsh(matrix)`" if matrix else "`jnp.sort` puts levels in order"
    return f"a smaller one after a larger, {_checks.entry(values, wrong)}; {advice}"


ASCENDING = _checks.Rule(_ascend, "be ascending numbers, finite where they count", _fault)
FINITE = _checks.Rule(_finite, "be finite numbers", _fault)
