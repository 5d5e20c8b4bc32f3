"""LAPACK's driver for eigenvalues without eigenvectors, which `jax.lax.linalg.eigh` does not offer on a CPU."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Inexact, Real

from rmtjax._varying import varying_like

# JAX keeps these names stable, because exported programs refer to them.
_DRIVERS = {
    "float32": "lapack_ssyevd_ffi",
    "float64": "lapack_dsyevd_ffi",
    "complex64": "lapack_cheevd_ffi",
    "complex128": "lapack_zheevd_ffi",
}


@jax.custom_batching.custom_vmap
def levels(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    """Ascending eigenvalues of Hermitian matrices on a CPU, of which the lower triangle is read; NaN if that fails."""
    _load()
    *batch, _, n = a.shape
    real, axes = jnp.finfo(a.dtype).dtype, range(a.ndim)
    by_columns = (*axes[:-2], axes[-1], axes[-2])
    call = jax.ffi.ffi_call(
        _DRIVERS[a.dtype.name],
        tuple(jax.ShapeDtypeStruct(*each) for each in ((a.shape, a.dtype), ((*batch, n), real), (batch, jnp.int32))),
        input_layouts=[by_columns],
        output_layouts=[by_columns, None, None],
        input_output_aliases={0: 0},
    )
    # The devices that share a batch must not gather it first: they read this attribute, which JAX's own calls have too.
    with set_xla_metadata(num_batch_dims=str(len(batch))):
        _, found, failed = call(a, mode=np.uint8(ord("N")), uplo=np.uint8(ord("L")))
    # A row of the matrix tells how the levels are shared; the call itself does not.
    row = a[..., 0, :]
    return varying_like(jnp.where((failed[..., None] == 0) & (row == row), found, jnp.nan), a)


@levels.def_vmap
def _levels_of_a_batch(
    axis_size: int, in_batched: list[bool], a: Inexact[Array, "size *batch n n"]
) -> tuple[Real[Array, "size *batch n"], bool]:
    return levels(a), True


@functools.cache
def _load() -> None:
    """Let JAX load LAPACK, as it does for its own functions; without it the call would crash."""
    jax.jit(jax.lax.linalg.eigh).trace(jax.ShapeDtypeStruct((1, 1), np.float32)).lower(lowering_platforms=("cpu",))
