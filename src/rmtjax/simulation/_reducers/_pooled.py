"""The values of all arrays of all draws together."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax.simulation._reducers._rounding import rounded
from rmtjax.simulation._reducers.base import Draws, is_padded


def pooled_entries(draws: Draws, what: str) -> list[tuple[Float[Array, "m n"], Bool[Array, "m n"]]]:
    """The real values of each array, one row per draw, and which of them count; integers that it rounds become NaN."""

    def flat(values: Array, mask: Array) -> tuple[Array, Array]:
        if jnp.iscomplexobj(values):
            raise _checks.refusal("fn", f"return real values for {what}", values.dtype.name)
        shape = values.shape[0], math.prod(values.shape[1:])
        if jnp.issubdtype(values.dtype, jnp.integer):
            # A rounded integer would be counted in place of another one.
            values, rest = rounded(values, jnp.result_type(float))
            values = values if rest is None else jnp.where(rest == 0, values, jnp.nan)
        return _checks.real("fn", values).reshape(shape), jnp.broadcast_to(mask, values.shape).reshape(shape)

    return [flat(*entry) for entry in draws.entries()]


def pooled(draws: Draws, what: str, dtype: np.dtype) -> tuple[Float[Array, "m n"], Bool[Array, "m n"]]:
    """Same as `pooled_entries`, with all arrays in one."""
    values, masks = zip(*pooled_entries(draws, what), strict=True)
    return jnp.concatenate([each.astype(dtype) for each in values], axis=1), jnp.concatenate(masks, axis=1)


def pooled_dtype(draw: PyTree[jax.ShapeDtypeStruct]) -> np.dtype:
    """The floating-point dtype for the values of all arrays; integers get JAX's default one."""
    leaves = jax.tree.leaves(draw, is_leaf=is_padded)
    dtypes = [(leaf.values if is_padded(leaf) else leaf).dtype for leaf in leaves]
    real = [dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.result_type(float) for dtype in dtypes]
    return np.dtype(common_dtype(*real))


def nan_refused(number: int, total: int) -> ValueError:
    """The error for values that are NaN."""
    return ValueError(
        f"`fn` must return no NaN, got {number} of {total} values. Inside of a program a parameter out of range gives "
        "NaN; `EQX_ON_ERROR=raise`, set before Python starts, names it. An integer that JAX's default float rounds is "
        "taken for NaN: subtract an origin, set `jax_enable_x64`, or return `astype(float)`."
    )
