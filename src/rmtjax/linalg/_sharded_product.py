"""The product of a dense matrix with vectors, with the matrix in blocks over the devices of a mesh."""

import math
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._mesh import checked
from rmtjax._promotion import common_dtype
from rmtjax._typing import ArrayLike


def sharded_product(
    matrix: Annotated[ArrayLike, "n m"], vectors: Annotated[ArrayLike, "m ..."], mesh: Mesh
) -> Inexact[Array, "n ..."]:
    r"""The product $A v$, or $A V$ for several vectors, with A in blocks over the devices of a mesh.

    On a mesh x×y the rows of A are cut along x and its columns along y. Every device multiplies its block by its part
    of the vectors, and a sum over y completes the rows. This is for matrix-free algorithms, such as Lanczos' and the
    power method, on a matrix that is too large for one device.

    Accuracy: the error of each entry is at most $m\,\mathrm{eps}\,(|A|\,|v|)_i$ on every mesh; the results of two
    meshes differ by rounding. Products of float32 are computed in float32 on GPUs too.

    The product can be differentiated in both arguments, and `jax.vmap` takes more vectors or more matrices. A matrix
    that lies elsewhere is moved at every call: put it in place once, by
    `jax.device_put(A, NamedSharding(mesh, PartitionSpec("x", "y")))`. Sizes that the mesh does not divide are filled up
    with zeros, which copies A.

    Args:
        matrix: a real or complex matrix A of n rows and m columns.
        vectors: m numbers, or k columns of m numbers.
        mesh: devices along two axes of any names, the first for the rows of A and the second for its columns, or along
            one axis, for the rows.

    Returns:
        n numbers, or k columns of n numbers. They lie in parts along the first axis of the mesh if its size divides n.

    Raises:
        ValueError: the shapes do not match, the dtype is of half precision, or `mesh` has not one or two axes.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> mesh = jax.make_mesh((1, 1), ("x", "y"))
        >>> print(sharded_product(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([1.0, -1.0]), mesh))
        [-1. -1.]

    References:
        Higham (2002), Accuracy and Stability of Numerical Algorithms, equation 3.11, for the rounding.
    """
    mesh = checked(mesh)
    if len(mesh.axis_names) not in (1, 2):
        raise _checks.refusal("mesh", "have one or two axes", mesh.axis_names)
    a, v = _checks.numbers("matrix", matrix), _checks.numbers("vectors", vectors)
    if a.ndim != 2 or 0 in a.shape:
        raise _checks.refusal("matrix", "be a matrix of at least one entry (use `jax.vmap` for several)", a.shape)
    if v.ndim not in (1, 2) or v.shape[0] != a.shape[1]:
        raise _checks.refusal("vectors", f"have {a.shape[1]} entries on the first of one or two axes", v.shape)
    # Arrays of the host go to the devices in blocks; traced arrays are placed inside of the program.
    n = a.shape[0]
    a, v = (each if isinstance(each, Tracer) else _laid_out(each, mesh, spec) for each, spec in _cut((a, v), mesh))
    return _product(a, v, mesh, n)


def _cut(arrays: tuple[Array, Array], mesh: Mesh) -> list[tuple[Array, tuple[tuple[str, ...], ...]]]:
    """The matrix and the vectors, with the axes of the mesh along which their first axes are cut."""
    rows, columns = mesh.axis_names[:1], mesh.axis_names[1:]
    return list(zip(arrays, ((rows, columns), (columns,)), strict=True))


def _laid_out(a: Inexact[Array, "..."], mesh: Mesh, spec: tuple[tuple[str, ...], ...]) -> Inexact[Array, "..."]:
    """The array, cut along its first axes over axes of the mesh and filled up with zeros where necessary."""
    sizes = [math.prod(mesh.shape[name] for name in axes) for axes in spec]
    filling = [(0, -length % size) for length, size in zip(a.shape, sizes, strict=False)]
    if any(more for _, more in filling):
        a = jnp.pad(a, [*filling, *[(0, 0)] * (a.ndim - len(filling))])
    sharding = NamedSharding(mesh, PartitionSpec(*spec))
    return jax.lax.with_sharding_constraint(a, sharding) if isinstance(a, Tracer) else jax.device_put(a, sharding)


@partial(compiled, static_argnums=(2, 3))
def _product(a: Inexact[Array, "n m"], v: Inexact[Array, "m ..."], mesh: Mesh, n: int) -> Inexact[Array, "n ..."]:
    rows, columns, dtype = mesh.axis_names[:1], mesh.axis_names[1:], common_dtype(a, v)

    def on_device(a: Inexact[Array, "n m"], v: Inexact[Array, "m ..."]) -> Inexact[Array, "n ..."]:
        # By default a GPU may round the factors of a product of float32 to 10 bits.
        product = jnp.matmul(a.astype(dtype), v.astype(dtype), precision=jax.lax.Precision.HIGHEST)
        return jax.lax.psum(product, columns)

    a, v = (_laid_out(each, mesh, spec) for each, spec in _cut((a, v), mesh))
    specs = PartitionSpec(rows, columns), PartitionSpec(columns)
    return jax.shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(rows))(a, v)[:n]
