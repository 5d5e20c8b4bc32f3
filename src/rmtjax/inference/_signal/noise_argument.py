"""The noise level as an argument."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks


def noise_level(noise: Any, batch: tuple[int, ...], dtype: Any) -> tuple[Float[Array, "*batch"], Any]:
    """A level for each matrix of a batch, 1 if the level is unknown, and whether it is valid.

    Raises:
        ValueError: the level is not positive, or does not broadcast to the batch.
    """
    if noise is None:
        return jnp.ones(batch, dtype), True
    level = _checks.real("noise", noise)
    axes = len(batch) - level.ndim
    if axes < 0 or any(mine not in (1, size) for mine, size in zip(level.shape, batch[axes:], strict=True)):
        raise _checks.refusal("noise", f"be a number, or have the shape {batch} of the batch", np.shape(noise))
    return jnp.broadcast_to(level.astype(dtype), batch), _checks.POSITIVE.kept("noise", level)
