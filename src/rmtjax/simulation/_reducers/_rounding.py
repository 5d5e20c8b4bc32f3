"""Sums that keep their rounding errors, and units that keep their powers in range."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from rmtjax._promotion import like
from rmtjax._units import largest_part, over, unit_of


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its rounding error, which is 0 for an infinite sum; on a device or on the host.

    Knuth (1997), The Art of Computer Programming 2, section 4.2.2, theorem B.
    """
    total = a + b
    of_b = total - a
    error = (a - (total - of_b)) + (b - of_b)
    # The error of an infinite sum would be NaN.
    return total, (jnp if isinstance(total, jax.Array) else np).where(abs(error) < np.inf, error, 0)


def common(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The larger of two units, and both divided by it, on a device or on the host; 0 is the unit of zeros alone."""
    unit = (jnp if isinstance(a, jax.Array) else np).maximum(a, b)
    divisor = unit + (unit == 0).astype(unit.dtype)
    return unit, a / divisor, b / divisor


def rounded(values: Array, dtype: Any) -> tuple[Array, Array | None]:
    """Numbers in a floating-point dtype, and the rounding errors of integers; None if the dtype holds them exactly."""
    nearest = values.astype(dtype)
    if not jnp.issubdtype(values.dtype, jnp.integer) or jnp.iinfo(values.dtype).bits <= jnp.finfo(dtype).nmant:
        return nearest, None
    # Each half of the bits is exact, and so is the difference of two numbers that are near each other.
    half = 4 * values.dtype.itemsize
    upper, lower = (values >> half) << half, values & ((1 << half) - 1)
    return nearest, (upper.astype(dtype) - nearest) + lower.astype(dtype)


def centred(values: Any, mask: Any, count: Any, left_out: Any = None) -> tuple[Any, Any, Any, Any]:
    """Deviations of a batch of numbers from their mean, the mean, its rounding error, and their unit, on a device.

    The unit is a power of two near the largest number, and 0 for zeros alone. Numbers outside of the mask must be 0.
    The numbers and `left_out` come from `rounded`.
    """
    size = largest_part(values, 0)
    scaled = over(values, unit_of(size))
    counted = like(scaled, jnp.maximum(count, 1))
    mean = jnp.sum(scaled, axis=0) / counted
    deviation = scaled - mean[None]
    if left_out is not None:
        deviation = deviation + over(left_out, unit_of(size))
    deviation = jnp.where(mask, deviation, 0)
    rest = jnp.sum(deviation, axis=0) / counted
    deviation = jnp.where(mask, deviation - rest[None], 0)
    rest = jnp.where(jnp.isfinite(rest), rest, 0)
    return deviation, mean, rest, jnp.where(size > 0, unit_of(size), 0)[0]
