"""Sums that keep their rounding errors, and units that keep their powers in range."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from rmtjax._promotion import like
from rmtjax._units import largest_part, over, unit_of


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its rounding error, 0 for an infinite sum; on a device or on the host.

    Knuth (1997), The Art of Computer Programming 2, section 4.2.2, theorem B.
    """
    total = a + b
    of_b = total - a
    error = (a - (total - of_b)) + (b - of_b)
    # An infinite sum has an error of NaN.
    return total, (jnp if isinstance(total, jax.Array) else np).where(abs(error) < np.inf, error, 0)


def common(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The larger of two units, and both over it; 0 is the unit of nothing but zeros. On a device or on the host."""
    unit = (jnp if isinstance(a, jax.Array) else np).maximum(a, b)
    divisor = unit + (unit == 0).astype(unit.dtype)
    return unit, a / divisor, b / divisor


def rounded(values: Array, dtype: Any) -> tuple[Array, Array | None]:
    """Numbers in a floating-point dtype, and what it leaves out of integers; None where it holds all of their dtype."""
    nearest = values.astype(dtype)
    if not jnp.issubdtype(values.dtype, jnp.integer) or jnp.iinfo(values.dtype).bits <= jnp.finfo(dtype).nmant:
        return nearest, None
    # Either half of the bits is exact, and so is the difference of numbers that are near each other.
    half = 4 * values.dtype.itemsize
    upper, lower = (values >> half) << half, values & ((1 << half) - 1)
    return nearest, (upper.astype(dtype) - nearest) + lower.astype(dtype)


def centred(values: Any, mask: Any, count: Any, left_out: Any = None) -> tuple[Any, Any, Any, Any]:
    """Numbers of a batch less their mean, the mean, its rounding error, and the unit of all three, on a device.

    The unit is a power of two near the largest, and 0 where there are zeros only. What does not count is 0; the numbers
    and what they leave out are those of `rounded`.
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
