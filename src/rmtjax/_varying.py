"""Starting values of loops inside `shard_map`, where an array's type says whether it may differ between devices."""

from typing import Any

import jax
from jaxtyping import Array


def varying_like(start: Array, *kinds: Any) -> Array:
    """The array, marked as differing between devices wherever one of these types does, as the carry of a loop must be.

    The types come from `jax.typeof`.
    """
    axes = tuple(frozenset().union(*map(_varies_over, kinds)) - _varies_over(jax.typeof(start)))
    if not axes:
        return start
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(start, axes, to="varying")
    return jax.lax.pvary(start, axes)  # pyright: ignore[reportAttributeAccessIssue] # Its name in JAX 0.8.


def varies(array: Array) -> bool:
    """Whether the array may differ between devices."""
    return bool(_varies_over(jax.typeof(array)))


def _varies_over(kind: Any) -> frozenset:
    """Names of the device axes over which arrays of this type differ."""
    if hasattr(kind, "manual_axis_type"):
        return kind.manual_axis_type.varying
    return getattr(kind, "vma", frozenset())  # Its name in JAX 0.8.
