"""Programs of the library on meshes with explicit axes, as `jax.make_mesh` makes them by default.

On such a mesh the type of an array says how it is sharded. Most gathers and reshapes are errors there, because they
cannot tell how their results are sharded. So the library's programs run on the same mesh with automatic axes, where XLA
decides, and only their results get a sharding.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from itertools import takewhile
from typing import Any, ParamSpec, TypeVar

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, reshard, use_abstract_mesh
from jaxtyping import Array, PyTree

P = ParamSpec("P")
R = TypeVar("R")


def on_automatic_axes(fn: Callable[P, R], spec: PartitionSpec | None = None) -> Callable[P, R]:
    """The function, computed on automatic axes if its arguments or the mesh around the call have explicit ones.

    Args:
        fn: a function of pytrees of arrays and of static arguments.
        spec: how results are sharded on explicit axes. By default each result is sharded like the first argument that
            is sharded along leading axes which both have: levels like the matrices, values of a law like the points.
    """

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        mesh = explicit_mesh((args, kwargs))
        if mesh is None:
            return fn(*args, **kwargs)
        kinds = [jax.typeof(leaf) for leaf in jax.tree.leaves((args, kwargs)) if isinstance(leaf, jax.Array)]
        automatic = _with_automatic_axes(mesh)
        # `jax.sharding.auto_axes` does the same, but wants the shardings of the results beforehand.
        with use_abstract_mesh(automatic):
            args, kwargs = _resharded((args, kwargs), lambda leaf: NamedSharding(automatic, PartitionSpec()))
            results = fn(*args, **kwargs)
        return _resharded(results, lambda leaf: NamedSharding(mesh, spec or _spec_like(leaf, kinds)))

    return call


def whole(array: Array, axes: int = 1) -> Array:
    """The array, with its last axes whole on every device, so that no operation cuts a spectrum or a matrix."""
    mesh = explicit_mesh(array)
    if mesh is None:
        return array
    spec = jax.typeof(array).sharding.spec
    batch, last = spec[: len(spec) - axes], spec[len(spec) - axes :]
    return array if set(last) <= {None} else reshard(array, NamedSharding(mesh, PartitionSpec(*batch)))


def mesh_of(tree: PyTree) -> AbstractContextManager:
    """The context of the mesh of these arrays.

    Without it JAX does not map a loop over an explicit axis; before 0.9 it does not map `select` either.
    """
    mesh = explicit_mesh(tree)
    return nullcontext() if mesh is None else use_abstract_mesh(mesh)


def explicit_mesh(tree: PyTree) -> AbstractMesh | None:
    """The mesh with explicit axes around the caller, or of the arrays, if there is one."""
    around = jax.sharding.get_abstract_mesh()
    meshes = [around] if around.axis_names else [_mesh_of(leaf) for leaf in jax.tree.leaves(tree)]
    return next((mesh for mesh in meshes if mesh is not None and AxisType.Explicit in mesh.axis_types), None)


def _mesh_of(leaf: Any) -> AbstractMesh | None:
    return getattr(jax.typeof(leaf).sharding, "mesh", None) if isinstance(leaf, jax.Array) else None


def _with_automatic_axes(mesh: AbstractMesh) -> AbstractMesh:
    kinds = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return mesh.update_axis_types({name: AxisType.Auto for name, kind in kinds if kind == AxisType.Explicit})


def _resharded(tree: Any, sharding: Callable[[jax.Array], NamedSharding]) -> Any:
    return jax.tree.map(lambda leaf: reshard(leaf, sharding(leaf)) if isinstance(leaf, jax.Array) else leaf, tree)


def _spec_like(leaf: jax.Array, kinds: list[Any]) -> PartitionSpec:
    """The sharding of the leading axes that the array shares with the first of these types that is sharded there."""
    for kind in kinds:
        shared = takewhile(lambda sizes: sizes[0] == sizes[1], zip(leaf.shape, kind.shape, strict=False))
        spec = kind.sharding.spec[: len([*shared])]
        if any(part is not None for part in spec):
            return PartitionSpec(*spec)
    return PartitionSpec()
