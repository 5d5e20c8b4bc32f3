"""The common base of ensembles, laws and the other small immutable objects."""

import equinox as eqx


class AbstractModule(eqx.Module):
    """An immutable pytree whose bound methods are ordinary functions to JAX.

    Equinox turns bound methods into pytrees, which makes `jax.jit(module.method)` raise "unhashable type" as soon
    as a field is an array. Plain attribute access gives Python's own bound methods, hashable by identity, so
    `jit`, `vmap`, `grad`, `checkpoint`, `lax.map`, `lax.scan` and `shard_map` all take them. The module itself
    stays a pytree and can be passed into a transformed function.
    """

    __getattribute__ = object.__getattribute__  # pyright: ignore[reportAssignmentType]
