"""Starting values of loops inside of `shard_map`, which tells arrays that differ between devices from others."""

from typing import Any

import jax
from jaxtyping import Array


def varying_like(start: Array, *kinds: Any) -> Array:
    """An array that may differ between devices wherever one of these kinds does, as the carry of a loop must.

    Args:
        start: the array.
        kinds: the types of others, as `jax.typeof` gives them.
    """
    axes = tuple(frozenset().union(*map(_varies_over, kinds)) - _varies_over(jax.typeof(start)))
    if not axes:
        return start
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(start, axes, to="varying")
    return jax.lax.pvary(start, axes)  # pyright: ignore[reportAttributeAccessIssue] # Its name in JAX 0.8.


def _varies_over(kind: Any) -> frozenset:
    """Names of the axes of devices over which arrays of a kind differ."""
    if hasattr(kind, "manual_axis_type"):
        return kind.manual_axis_type.varying
    return getattr(kind, "vma", frozenset())  # Its name in JAX 0.8.
