"""Numbers of the host that lose their size, their order or their variation as arrays of single precision."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from rmtjax._refusal import Words, refusal


def _is_of_host(value: Any, *arrays: Any) -> bool:
    """Whether JAX has made these arrays of known numbers of the host: only those may have lost digits."""
    made = isinstance(value, jax.Array | eqx.Module) or hasattr(value, "__jax_array__")
    return not made and not any(isinstance(array, Tracer) for array in arrays)


def in_range(name: str, value: object, array: Array, *, nonzero: bool = False) -> None:
    """Refuse finite numbers of the host that overflow the array's dtype, or that are 0 in it if `nonzero`."""
    if not _is_of_host(value, array):
        return
    found, info = np.asarray(array), jnp.finfo(array.dtype)
    infinite, small = ~np.isfinite(found), np.abs(found) < info.tiny if nonzero else np.False_
    if not (infinite.any() or small.any()):
        return
    given, more = np.asarray(value, complex if np.iscomplexobj(found) else float), "(`jax_enable_x64` allows for"
    if (infinite & np.isfinite(given)).any():
        raise refusal(name, f"not exceed {info.max:.2g}, the largest {array.dtype.name} {more} more)", value)
    if (small & (given > 0)).any():
        must = f"be positive, and at least {info.tiny:.2g}, the smallest {array.dtype.name} {more} smaller)"
        raise refusal(name, must, value)


def told_apart(name: str, value: Any, array: Any) -> None:
    """Refuse ascending numbers of the host that are equal in the array's dtype."""
    leaves = jax.tree.leaves((value, array))
    if isinstance(value, jax.Array) or any(
        isinstance(each, Tracer) or hasattr(each, "__jax_array__") for each in leaves
    ):
        return
    with np.errstate(invalid="ignore"):  # the difference of two infinite ones
        lost = (np.diff(np.asarray(value, float)) > 0) & (np.diff(np.asarray(array)) == 0)
    if lost.any():
        must = f"be numbers that {np.asarray(array).dtype.name} tells apart (`jax_enable_x64`, or subtract an origin)"
        raise refusal(name, must, value)


def deviations_kept(name: str, value: Any, array: Array, axis: int | None, where: Any = True) -> None:
    """Refuse numbers of the host whose variation along an axis is lost in single precision, by its relative step eps.

    The axis None stands for all numbers together. `where` tells which numbers count.
    """
    if not _is_of_host(value, array, where):
        return
    if array.dtype not in (jnp.float32, jnp.complex64):
        return
    given = np.asarray(value)
    if given.dtype.kind not in "iufc" or given.dtype in (np.float32, np.complex64) or given.shape != array.shape:
        return
    given = np.where(where, given, 0)
    size = np.max(np.abs(given), axis=axis, initial=0)
    with np.errstate(invalid="ignore", over="ignore"):  # Numbers that are not finite are refused elsewhere, or allowed.
        deviation = np.std(given, axis=axis, where=where)
        # The rounding of a mean makes the deviation of equal numbers positive.
        varies = deviation > 100 * np.finfo(np.float64).eps * size
        lost = varies & (np.finfo(np.float32).eps * size > 0.1 * deviation)
    if lost.any():
        must = (
            "vary by more than single precision keeps beside the mean (`jax_enable_x64`, or take the mean away first)"
        )
        raise refusal(name, must, Words(f"{lost.sum()} of {lost.size} columns that do not") if lost.size > 1 else given)
