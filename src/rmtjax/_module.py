"""The common base of ensembles, laws and the other small immutable objects."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
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
        # A half-built object, as a debugger meets it, lacks fields.
        names = [field.name for field in dataclasses.fields(self) if field.repr and hasattr(self, field.name)]
        return f"{type(self).__name__}({', '.join(f'{name}={_shown(getattr(self, name))}' for name in names)})"


def _shown(value: object) -> str:
    """A field, as one line if it is short."""
    if isinstance(value, AbstractModule):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, jax.Array | np.ndarray) and value.ndim < 2 and value.size <= _MOST_SHOWN and _at_hand(value):
        numbers = np.asarray(value)
        return str(numbers[()]) if numbers.ndim == 0 else f"[{', '.join(map(str, numbers))}]"
    return eqx.tree_pformat(value)


def _at_hand(value: jax.Array | np.ndarray) -> bool:
    """Whether an array holds numbers that can be read here and now."""
    if isinstance(value, Tracer) or not jnp.issubdtype(value.dtype, jnp.number):
        return False
    return isinstance(value, np.ndarray) or (not value.is_deleted() and value.is_fully_addressable)
