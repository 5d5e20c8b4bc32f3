"""The common base of ensembles, laws and the other small immutable objects."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

# Longer vectors are shown by their shapes.
_MOST_SHOWN = 8


class AbstractModule(eqx.Module):
    """An immutable pytree whose bound methods are ordinary functions to JAX.

    Equinox turns bound methods into pytrees, which makes `jax.jit(module.method)` raise "unhashable type" as soon
    as a field is an array. Plain attribute access gives Python's own bound methods, hashable by identity, so
    `jit`, `vmap`, `grad`, `checkpoint`, `lax.map`, `lax.scan` and `shard_map` all take them. The module itself
    stays a pytree and can be passed into a transformed function.

    Numbers and short vectors are shown with their values, as `Semicircle(radius=2.0)`.
    """

    __getattribute__ = object.__getattribute__  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        fields = (f"{field.name}={_shown(getattr(self, field.name))}" for field in dataclasses.fields(self))
        return f"{type(self).__name__}({', '.join(fields)})"


def _shown(value: object) -> str:
    """A field, as one line if it is short."""
    if isinstance(value, jax.Array | np.ndarray) and not isinstance(value, Tracer):
        if value.ndim < 2 and value.size <= _MOST_SHOWN and np.issubdtype(value.dtype, np.number):
            numbers = np.asarray(value)
            return str(numbers[()]) if numbers.ndim == 0 else np.array2string(numbers, separator=", ")
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))}{',' * (len(value) == 1)})"
    return repr(value) if isinstance(value, AbstractModule) else eqx.tree_pformat(value)
