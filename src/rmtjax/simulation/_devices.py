"""The devices that a simulation runs on, in one process or in several."""

import functools
import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from rmtjax import _checks
from rmtjax._mesh import as_around, automatic, checked, devices_are_busy, is_foreign, mesh_around
from rmtjax._staging import is_staged

AXIS = "draws"


def resolve_mesh(mesh: Mesh | None) -> Mesh:
    """The mesh given, the mesh of `jax.set_mesh`, or a mesh of all devices along the axis "draws".

    If the devices are busy, as inside of `shard_map`, it is a mesh of one device.
    """
    if mesh is None:
        if devices_are_busy():
            return Mesh(np.asarray(jax.local_devices()[:1]), (AXIS,))
        return mesh_around() or Mesh(np.asarray(jax.devices()), (AXIS,))
    # Outside of programs a run sets its own mesh, whatever `jax.set_mesh` has set.
    mesh = checked(mesh) if devices_are_busy() or is_staged() else automatic(mesh)
    if AXIS not in mesh.axis_names:
        raise _checks.refusal("mesh", f"have an axis named {AXIS!r}", mesh.axis_names)
    if not mesh.is_multi_process and not local_devices(mesh):
        raise _checks.refusal("mesh", "have devices of this process", mesh.devices)
    if mesh.is_multi_process and len({device.process_index for device in mesh.devices.flat}) < jax.process_count():
        raise _checks.refusal("mesh", "have devices of one process or of all", mesh.devices)
    return as_around(mesh)


def draw_axes(mesh: Mesh) -> tuple[str, ...]:
    """The axes over which the draws are spread: the axis "draws", or all."""
    return (AXIS,) if AXIS in mesh.axis_names else mesh.axis_names


def width(mesh: Mesh) -> int:
    """The number of parts into which the draws are divided."""
    return math.prod(mesh.shape[name] for name in draw_axes(mesh))


def surrounded_by(mesh: Mesh) -> AbstractContextManager:
    """A context in which programs of this mesh run, also inside of `jax.set_mesh` with another one."""
    return jax.set_mesh(mesh) if is_foreign(mesh) and not devices_are_busy() else nullcontext()


def local_devices(mesh: Mesh) -> list[Any]:
    """The devices of the mesh that belong to this process."""
    return [device for device in mesh.devices.flat if device.process_index == jax.process_index()]


def on_every_device(tree: PyTree, mesh: Mesh) -> PyTree:
    """A copy of every array on every device."""
    if devices_are_busy():
        return tree
    everywhere = NamedSharding(mesh, PartitionSpec())
    if not mesh.is_multi_process:
        return jax.device_put(tree, everywhere)
    return jax.tree.map(functools.partial(_shared_leaf, mesh), tree)


def _shared_leaf(mesh: Mesh, leaf: Any) -> jax.Array:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        words = _shared(np.asarray(jax.random.key_data(leaf)), mesh)
        return jax.random.wrap_key_data(words, impl=jax.random.key_impl(leaf))
    return _weak_again(leaf, _shared(np.asarray(leaf), mesh))


def _shared(array: np.ndarray, mesh: Mesh) -> jax.Array:
    """An array on all devices; every process makes its own copies, so nothing travels between processes."""
    copies = [jax.device_put(array, device) for device in local_devices(mesh)]
    return jax.make_array_from_single_device_arrays(array.shape, NamedSharding(mesh, PartitionSpec()), copies)


def _weak_again(model: Any, array: jax.Array) -> jax.Array:
    if not getattr(model, "weak_type", False):
        return array
    kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[array.dtype.kind]
    return jax.lax.convert_element_type(array, kind)


def on_host(tree: PyTree) -> list[PyTree]:
    """The part of each device of this process, without the leading axis of devices, in their order."""
    leaves, structure = jax.tree.flatten(tree)
    parts = [_parts(leaf) for leaf in leaves]
    number = max((len(part) for part, leaf in zip(parts, leaves, strict=True) if leaf.size), default=1)
    # An empty array has no parts.
    nothing = lambda leaf: [np.zeros(leaf.shape[1:], leaf.dtype)] * number
    parts = [part if leaf.size else nothing(leaf) for part, leaf in zip(parts, leaves, strict=True)]
    return [jax.tree.unflatten(structure, part) for part in zip(*parts, strict=True)]


def is_ready(tree: PyTree) -> bool:
    """Whether the devices of this process have computed these arrays."""
    return all(isinstance(leaf, Tracer) or leaf.is_ready() for leaf in jax.tree.leaves(tree))


def _parts(array: jax.Array) -> list[np.ndarray]:
    # Where the mesh has further axes, several devices hold the same.
    shards = [shard for shard in array.addressable_shards if shard.replica_id == 0]
    return [np.asarray(shard.data)[0] for shard in sorted(shards, key=lambda shard: shard.index[0].start or 0)]
