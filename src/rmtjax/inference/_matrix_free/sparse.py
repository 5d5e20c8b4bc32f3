"""Sparse matrices of SciPy: what is asked of them, and their product with a vector in JAX."""

from typing import Any, Protocol

import jax
import numpy as np
from jaxtyping import Array, Inexact, Int

from rmtjax import _checks


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy, in any of its formats."""

    shape: Any
    dtype: Any

    def tocsr(self) -> Any: ...


def is_sparse(value: object) -> bool:
    """Whether it is a sparse matrix of SciPy, without an import of `scipy.sparse`."""
    return callable(getattr(value, "tocsr", None))


def rows_of(name: str, matrix: object) -> Any:
    """A square sparse matrix of SciPy as finite numbers, by its rows.

    Raises:
        ValueError: it is no sparse matrix, not square, or its entries are no finite numbers.
    """
    if not is_sparse(matrix):
        raise _checks.refusal(name, "be a sparse matrix of SciPy (`scipy.sparse.csr_array` makes one)", matrix)
    shape = matrix.shape  # pyright: ignore[reportAttributeAccessIssue]
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise _checks.refusal(name, "be square", _checks.Words(f"a shape of {shape}"))
    rows = matrix.tocsr()  # pyright: ignore[reportAttributeAccessIssue]
    if rows.dtype.kind in "biu":
        rows = rows.astype(float)
    if rows.dtype.kind not in "fc":
        raise _checks.refusal(name, "have numbers for entries", _checks.Words(f"the dtype {rows.dtype}"))
    _checks.full_precision(name, rows.data)
    if not np.isfinite(rows.data).all():
        raise _checks.refusal(name, "be finite", rows.data)
    return rows


def operands(rows: Any) -> tuple[Inexact[np.ndarray, " k"], Int[np.ndarray, " k"], Int[np.ndarray, " k"]]:
    """The entries, and their rows and columns, row after row."""
    narrow = lambda places: places.astype(np.int32 if max(rows.shape) < 2**31 else np.int64)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return rows.data, narrow(row), narrow(rows.indices)


def product(
    v: Inexact[Array, " n"], entries: Inexact[Array, " k"], row: Int[Array, " k"], column: Int[Array, " k"]
) -> Inexact[Array, " n"]:
    """The product with a sparse matrix."""
    return jax.ops.segment_sum(entries * v[column], row, num_segments=v.size, indices_are_sorted=True)
