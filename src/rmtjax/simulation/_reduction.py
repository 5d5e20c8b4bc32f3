"""Reduction of draws by one reducer, or by a pytree of reducers, whose result has the same structure."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree

from rmtjax import _checks
from rmtjax.simulation._reducers import AbstractReducer


def _is_reducer(node: object) -> bool:
    return isinstance(node, AbstractReducer)


def check_reducers(reduce: PyTree) -> None:
    """Refuse a tree that holds anything but reducers, or none at all."""
    leaves = jax.tree.leaves(reduce, is_leaf=lambda node: node is None or _is_reducer(node))
    if not leaves or not all(map(_is_reducer, leaves)):
        must = "be a reducer, an instance such as `rmt.Histogram(edges)`, or a tuple, list or dict of reducers"
        raise _checks.refusal("reduce", must, reduce)
    for reducer in leaves:
        reducer._valid()


def summarize(reduce: PyTree, samples: PyTree, valid: Bool[Array, " m"]) -> PyTree:
    """The summary of each reducer."""
    summaries = jax.tree.map(lambda reducer: reducer.summarize(samples, valid), reduce, is_leaf=_is_reducer)
    return jax.tree.map(jnp.asarray, summaries)


def merge_and_finish(reduce: PyTree, summaries: Iterator[PyTree]) -> Any:
    """The result of each reducer, from summaries on the host."""
    merge = lambda reducer, left, right: reducer.merge(left, right)
    total = next(summaries)
    for summary in summaries:
        total = jax.tree.map(merge, reduce, total, summary, is_leaf=_is_reducer)
    return jax.tree.map(lambda reducer, each: reducer.finish(each), reduce, total, is_leaf=_is_reducer)


def on_host(chunks: Iterator[PyTree]) -> Iterator[PyTree]:
    """Each device's summary of each chunk, one chunk behind the devices so that they never wait."""
    pending = next(chunks)
    for chunk in chunks:
        yield from _of_each_device(pending)
        pending = chunk
    yield from _of_each_device(pending)


def _of_each_device(chunk: PyTree) -> Iterator[PyTree]:
    leaves, treedef = jax.tree.flatten(jax.tree.map(np.asarray, chunk))
    for of_device in zip(*leaves, strict=True):
        yield jax.tree.unflatten(treedef, of_device)
