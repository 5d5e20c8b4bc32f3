"""Work on one matrix, spread over the devices of a mesh: each device has the whole matrix and a part of the lanes.

A lane is a point of a count or a level of a spectrum. Lanes are independent, so the devices do not communicate until
their results are put together, and their loops may take different numbers of turns.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Shaped

from rmtjax import _checks
from rmtjax._staging import at_once

T = TypeVar("T")

# Hooks of ensembles, also of users' own, lie between a public method with an argument `mesh` and the sweeps. A context
# of JAX carries the mesh past them. It is a part of the key of JAX's caches, so programs of two meshes are kept apart.
_MESH = jax.make_user_context(None)
# The value of the context where all devices have work already.
_BUSY = "busy"


def devices_are_busy() -> bool:
    """Whether all devices have work already, as inside of `shard_map` and in the draws of a simulation."""
    return _MESH.value == _BUSY or AxisType.Manual in jax.sharding.get_abstract_mesh().axis_types


def mesh_around() -> Mesh | None:
    """The mesh of `jax.set_mesh`, also inside of compiled programs."""
    if not jax.sharding.get_abstract_mesh().axis_names:
        return None
    # JAX tells the devices of the mesh only outside of programs; an array that is made here lies on all of them.
    with at_once():
        return jnp.zeros(()).sharding.mesh  # pyright: ignore[reportAttributeAccessIssue]


def is_foreign(mesh: Mesh) -> bool:
    """Whether `jax.set_mesh` has set another mesh."""
    around = jax.sharding.get_abstract_mesh()
    return bool(around.axis_names) and (around.axis_names, around.axis_sizes) != (mesh.axis_names, mesh.axis_sizes)


def as_around(mesh: Mesh) -> Mesh:
    """The mesh, with the types of axes with which `jax.set_mesh` has set it."""
    around = jax.sharding.get_abstract_mesh()
    if not around.axis_names or is_foreign(mesh):
        return mesh
    return Mesh(mesh.devices, mesh.axis_names, axis_types=around.axis_types)


def inside_shard_map() -> AbstractContextManager:
    """The context of the mesh of `jax.set_mesh`, if there is one, as inside of a `shard_map` over all of its axes."""
    around = jax.sharding.get_abstract_mesh()
    manual = dict.fromkeys(around.axis_names, AxisType.Manual)
    return jax.sharding.use_abstract_mesh(around.update_axis_types(manual)) if manual else nullcontext()


def automatic(mesh: object) -> Mesh:
    """The mesh with automatic axes; `jax.make_mesh` makes explicit ones from jax 0.9 on."""
    if not isinstance(mesh, Mesh):
        raise _checks.refusal("mesh", "be a `jax.sharding.Mesh`", mesh)
    return Mesh(mesh.devices, mesh.axis_names)


def checked(mesh: object) -> Mesh:
    """The mesh for `shard_map`, which cannot be nested."""
    if devices_are_busy():
        raise _checks.refusal("mesh", "be None inside of `simulate` and `shard_map`", mesh)
    mesh = automatic(mesh)
    if is_foreign(mesh):
        raise _checks.refusal("mesh", "be that of `jax.set_mesh` inside of it", mesh)
    return mesh


def busy() -> AbstractContextManager:
    """A context in which every mesh is refused, because all devices have work already."""
    return _MESH(_BUSY)


def spread_over(mesh: Mesh | None) -> AbstractContextManager:
    """A context in which `spread` uses all devices of the mesh; None leaves everything as it is."""
    return nullcontext() if mesh is None else _MESH(checked(mesh))


def on_all_devices(mesh: Mesh | None, tree: T) -> T:
    """The arrays with a copy on every device of the mesh; None leaves them where they are."""
    if mesh is None:
        return tree
    everywhere = NamedSharding(as_around(checked(mesh)), PartitionSpec())
    return jax.tree.map(lambda leaf: jax.device_put(leaf, everywhere) if isinstance(leaf, jax.Array) else leaf, tree)


def spread(
    fn: Callable[[Shaped[Array, " part"]], Shaped[Array, " part"]], lanes: Shaped[Array, " k"], multiple: int = 1
) -> Shaped[Array, " k"]:
    """`fn(lanes)`, with an equal part of the lanes on each device if there is a mesh.

    Copies of the last lane fill each part up to a multiple of the given length.
    """
    mesh = _mesh()
    if lanes.size == 0:
        return fn(lanes)
    filled = jnp.pad(lanes, (0, -lanes.size % (multiple * (mesh.size if mesh else 1))), mode="edge")
    if mesh is None:
        return fn(filled)[: lanes.size]

    def on_device(lanes: Shaped[Array, " part"]) -> Shaped[Array, " part"]:
        with busy():
            return fn(lanes)

    parts = PartitionSpec(mesh.axis_names)
    # Loops begin with the same numbers on all devices, which the check of varying axes does not allow.
    run = jax.shard_map(on_device, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)
    return run(filled)[: lanes.size]


def in_parts(lanes: Shaped[Array, " k"]) -> Shaped[Array, " k"]:
    """The result of work on lanes, each part on the device that made it, if the size of a mesh divides their number."""
    mesh = _mesh()
    if mesh is None or lanes.size % mesh.size:
        return lanes
    return jax.lax.with_sharding_constraint(lanes, NamedSharding(mesh, PartitionSpec(mesh.axis_names)))


def gathered(lanes: Shaped[Array, " k"]) -> Shaped[Array, " k"]:
    """The opposite of `in_parts`: all lanes on every device of a mesh."""
    mesh = _mesh()
    return lanes if mesh is None else jax.lax.with_sharding_constraint(lanes, NamedSharding(mesh, PartitionSpec()))


def _mesh() -> Mesh | None:
    return _MESH.value if isinstance(_MESH.value, Mesh) else None
