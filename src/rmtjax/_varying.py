"""Starting values of loops inside `shard_map`, where an array's type says whether it may differ between devices."""

from typing import Any, TypeVar

import jax
from jaxtyping import Array

T = TypeVar("T")


def varying_like(start: T, *read: Any) -> T:
    """The carry of a loop, marked as differing between devices wherever an array does that the loop reads.

    Args:
        start: an array or a tree of them.
        read: trees of arrays or of their types.
    """
    over = frozenset().union(*map(_varies_over, jax.tree.leaves(read)))
    return jax.tree.map(lambda leaf: _varying_over(leaf, tuple(over - _varies_over(leaf))), start)


def varies(array: Array) -> bool:
    """Whether the array may differ between devices."""
    return bool(_varies_over(array))


def _varying_over(array: Array, axes: tuple) -> Array:
    if not axes:
        return array
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, axes, to="varying")
    return jax.lax.pvary(array, axes)  # pyright: ignore[reportAttributeAccessIssue] # Its name in JAX 0.8.


def _varies_over(array: Any) -> frozenset:
    """Names of the device axes over which an array differs, or arrays of a type do."""
    kind = jax.typeof(array) if isinstance(array, jax.Array | jax.ShapeDtypeStruct) else array
    if hasattr(kind, "manual_axis_type"):
        return kind.manual_axis_type.varying
    return getattr(kind, "vma", frozenset())  # Its name in JAX 0.8.
