"""Sums that keep their rounding errors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its rounding error, 0 for an infinite sum; on a device or on the host.

    Knuth (1997), The Art of Computer Programming 2, section 4.2.2, theorem B.
    """
    total = a + b
    of_b = total - a
    error = (a - (total - of_b)) + (b - of_b)
    # An infinite sum has an error of NaN.
    return total, (jnp if isinstance(total, jax.Array) else np).where(abs(error) < np.inf, error, 0)
