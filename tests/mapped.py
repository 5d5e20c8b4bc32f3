"""Public functions and methods with example arguments, to be mapped over an axis of a mesh."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import rmtjax as rmt
from tests.methods import INSTANCES, methods
from tests.registry import PUBLIC, Call


def _mapped() -> dict[str, tuple[Callable, tuple]]:
    found = {name: (call.fn, call.args) for name, call in PUBLIC.items() if isinstance(call, Call)}
    for name, instance in INSTANCES.items():
        found |= {f"{name}.{method}": (getattr(instance, method), args) for method, args in methods(instance).items()}
    return {name: (fn, args) for name, (fn, args) in found.items() if args}


MAPPED = _mapped()


def _with_parameters() -> dict[str, tuple[Callable, tuple]]:
    """Methods of objects with real parameters, as functions of the object too."""
    found = {}
    for name, instance in INSTANCES.items():
        of_object = methods(instance)
        if of_object and any(jnp.issubdtype(jnp.result_type(leaf), jnp.floating) for leaf in jax.tree.leaves(instance)):
            found |= {f"{name}.{method}": (_called(method), (instance, *args)) for method, args in of_object.items()}
    return found


def _called(method: str) -> Callable:
    return lambda instance, *args: getattr(instance, method)(*args)


WITH_PARAMETERS = _with_parameters()


def exists(fn: Callable, args: tuple) -> bool:
    """Whether the formula is known for this law or ensemble."""
    try:
        jax.eval_shape(fn, *args)
    except NotImplementedError:
        return False
    return True


def on_axis(leaf: Any, mesh: Mesh) -> Any:
    """An array sharded along its first axis over the first axis of the mesh; anything else unchanged."""
    if not isinstance(leaf, jax.Array) or leaf.ndim == 0:
        return leaf
    return jax.device_put(leaf, NamedSharding(mesh, PartitionSpec(mesh.axis_names[0])))


def dependent(result: Any) -> list[Any]:
    """The arrays of a result that depend on its arguments; a function knows that its own spectra are valid."""
    is_spectrum = lambda node: isinstance(node, rmt.Spectrum)
    known = [node._is_valid for node in jax.tree.leaves(result, is_leaf=is_spectrum) if is_spectrum(node)]
    return [leaf for leaf in jax.tree.leaves(result) if all(leaf is not each for each in known)]


def stacked(leaf: Any, mesh: Mesh) -> jax.Array:
    """A copy of an array or a number for each device."""
    return on_axis(jnp.stack([jnp.asarray(leaf)] * mesh.size), mesh)
