"""The matrices in a pytree of weights, by the names of their leaves."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from rmtjax import _checks

Unfolding = Literal["channels-first", "channels-last", "stacked"]
# Fewer singular values than this have no bulk and no tail.
FEWEST = 10


class Leaf(NamedTuple):
    """A leaf of the tree: a matrix of weights, or something else.

    The matrix has no rows and columns of zeros, and is None for something else. The shape, otherwise (0, 0), still has
    them. The note says why the leaf has no numbers in the table, or is empty.
    """

    name: str
    shape: tuple[int, int]
    matrix: Any
    note: str


def leaves(tree: PyTree, unfolding: Unfolding) -> list[Leaf]:
    """All leaves that are arrays of numbers; stacked matrices are a leaf each.

    Raises:
        ValueError: there is none, or a leaf is traced, masked, deleted or not finite.
    """
    places, _ = jax.tree_util.tree_flatten_with_path(tree)
    found = []
    for path, value in places:
        if not isinstance(value, jax.Array | np.ndarray) or not jnp.issubdtype(value.dtype, jnp.number):
            continue
        name = _name(path)
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            # Counts and indices are vectors. A matrix of integers may be quantised weights, so it gets a note.
            found += [Leaf(name, (0, 0), None, "integers")] * (value.ndim > 1)
            continue
        if isinstance(value, Tracer):
            raise _checks.refusal("tree", "hold known arrays, outside of transformations", f"a traced {name}")
        if isinstance(value, np.ma.MaskedArray):
            raise _checks.refusal("tree", "hold arrays without a mask (fill it, e.g. by 0)", f"a masked {name}")
        if isinstance(value, jax.Array) and value.is_deleted():
            raise _checks.refusal("tree", "hold arrays that are not deleted", f"a deleted {name}")
        array = np.asarray(value)
        if jnp.finfo(array.dtype).bits not in (32, 64):
            array = array.astype(_LAPACK[np.iscomplexobj(array)][jnp.finfo(array.dtype).bits > 64])
        _FINITE.kept(f"tree: {name}" if name else "tree", array)
        found += _unfolded(name, array, unfolding)
    if all(leaf.note == "integers" for leaf in found):
        must = "have leaves that are arrays of real or complex numbers"
        raise _checks.refusal("tree", must, _checks.Words(_others(places)))
    return found


def _others(places: list[tuple]) -> str:
    """Names and kinds of the leaves that are no weights."""
    kind = lambda value: f"{value.dtype} array" if hasattr(value, "dtype") else type(value).__name__
    shown = [f"{_name(path) or 'the tree itself'} ({kind(value)})" for path, value in places[:_MOST_SHOWN]]
    more = ["…"] if len(places) > _MOST_SHOWN else []
    return "none" if not places else f"{len(places)} of other kinds: " + ", ".join(shown + more)


_MOST_SHOWN = 8

# The dtypes in which LAPACK takes numbers of half precision and of more than double, real and complex.
_LAPACK = (np.float32, np.float64), (np.complex64, np.complex128)

_FINITE = _checks.Rule(
    lambda array: np.isfinite(array).all(),
    "be finite",
    lambda array: f"{(~np.isfinite(array)).sum()} of {array.size} numbers NaN or infinite",
)


def _name(path: tuple) -> str:
    """A place in a tree as one writes it: `layers[0].weight`, `block.kernel`."""
    text = ""
    for key in path:
        if isinstance(key, jax.tree_util.SequenceKey | jax.tree_util.FlattenedIndexKey):
            text += f"[{getattr(key, 'idx', getattr(key, 'key', ''))}]"
        else:
            text += f".{getattr(key, 'name', getattr(key, 'key', ''))}"
    return text.removeprefix(".")


def _unfolded(name: str, array: np.ndarray, unfolding: Unfolding) -> list[Leaf]:
    if array.ndim < 2 or not array.size:
        return [Leaf(name, (0, 0), None, "no matrix")]
    if unfolding == "stacked":
        stack = array.reshape(-1, *array.shape[-2:])
        index = list(np.ndindex(array.shape[:-2]))
        names = [name + "".join(f"[{i}]" for i in each) for each in index]
        return [_leaf(each, matrix) for each, matrix in zip(names, stack, strict=True)]
    if unfolding == "channels-last":
        # The last two axes are in and out; the axes of the kernel go with the former.
        return [_leaf(name, array.reshape(-1, array.shape[-1]).T if array.ndim > 2 else array)]
    return [_leaf(name, array.reshape(array.shape[0], -1))]


def _leaf(name: str, matrix: np.ndarray) -> Leaf:
    """A matrix without rows and columns of zeros: units that were pruned are no part of the noise."""
    there = matrix != 0
    rows, columns = there.any(1), there.any(0)
    some = matrix if not rows.any() or (rows.all() and columns.all()) else matrix[rows][:, columns]
    note = f"fewer than {FEWEST} singular values" if min(some.shape) < FEWEST else ""
    return Leaf(name, (matrix.shape[0], matrix.shape[1]), some, note)
