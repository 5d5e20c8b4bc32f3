"""Promotion of numbers to one dtype, which JAX leaves to its caller under `jax_numpy_dtype_promotion="strict"`.

The library is written for that mode. Arguments and parameters of several precisions are brought to one precision when
they come in, by the rules of JAX's standard mode. Inside, a number is cast to the dtype of the array that it meets.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

T = TypeVar("T")


def common_dtype(*values: Any) -> np.dtype:
    """The dtype of real and complex numbers together: `jnp.result_type` in standard mode, but never an integer dtype.

    Python's numbers, weakly typed arrays and integers follow the others.
    """
    dtypes = list(map(jnp.result_type, values))
    inexact = [dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)]
    strong = [dtype for dtype, value in zip(dtypes, values, strict=True) if dtype in inexact and not _follows(value)]
    dtype = np.result_type(*strong) if strong else jnp.result_type(float)
    return complex_dtype(dtype) if any(jnp.issubdtype(each, jnp.complexfloating) for each in inexact) else dtype


def complex_dtype(dtype: Any) -> np.dtype:
    """The complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


def in_one_precision(tree: T) -> T:
    """The tree with all its floating-point and complex numbers in the precision of `common_dtype`.

    If all are Python's numbers, they stay weakly typed, so that later inputs decide the dtype.
    """
    numbers = [leaf for leaf in jax.tree.leaves(tree) if _is_inexact(leaf)]
    if all(map(_follows, numbers)):
        return tree
    real = jnp.finfo(common_dtype(*numbers)).dtype
    cast = lambda leaf: jnp.asarray(leaf, complex_dtype(real) if jnp.iscomplexobj(leaf) else real)
    return jax.tree.map(lambda leaf: cast(leaf) if _is_inexact(leaf) else leaf, tree)


def aligned(*arrays: Array | complex) -> list[Array]:
    """Arrays to be broadcast against each other: the inexact ones in one dtype, all with the same number of axes."""
    rank, numbers = max(map(jnp.ndim, arrays)), [array for array in arrays if _is_inexact(array)]
    dtype = None if all(map(_follows, numbers)) else common_dtype(*numbers)
    cast = lambda array: array if dtype is None or not _is_inexact(array) else jnp.asarray(array, dtype)
    return [jax.lax.broadcast_to_rank(cast(array), rank) for array in arrays]


def like(x: Array, value: Any) -> Array:
    """Numbers in the dtype of x, such as counts, or real numbers among complex ones."""
    return jnp.asarray(value, x.dtype)


def _is_inexact(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return isinstance(leaf, float | complex) if dtype is None else jnp.issubdtype(dtype, jnp.inexact)


def _follows(value: Any) -> bool:
    """Whether other numbers decide the precision of this one."""
    return getattr(value, "weak_type", isinstance(value, float | complex) and not isinstance(value, np.generic))
