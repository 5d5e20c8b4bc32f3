"""A pytree of reducers as one reducer, whose result has the same structure."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr
from jaxtyping import PyTree

from rmtjax import _checks
from rmtjax.simulation._digest import without_addresses
from rmtjax.simulation._reducers.base import AbstractReducer, Draws


def _is_reducer(node: object) -> bool:
    return isinstance(node, AbstractReducer)


def _reducers(reduce: PyTree) -> list[AbstractReducer]:
    return jax.tree.leaves(reduce, is_leaf=_is_reducer)


def check_reducers(reduce: PyTree, name: str = "reduce") -> None:
    """Refuse a tree that holds anything but reducers, or none; `name` is the name of the argument."""
    leaves = jax.tree.leaves(reduce, is_leaf=lambda node: node is None or _is_reducer(node))
    if not leaves or not all(map(_is_reducer, leaves)):
        must = "be a reducer, an instance such as `rmt.Histogram(edges)`, or a tuple, list or dict of reducers"
        raise _checks.refusal(name, must, reduce)
    for reducer in leaves:
        reducer._valid()


def are_states(
    reduce: PyTree, states: list[PyTree], draws: int, leaves: Sequence[tuple[np.dtype, tuple[int, ...]]]
) -> bool:
    """Whether arrays of these dtypes and shapes may be states after so many draws, given the states after none.

    A state that keeps draws grows along its first axis, by one for each draw at most.
    """
    reducers = zip(_reducers(reduce), states, strict=True)
    models = [(leaf, reducer.keeps_draws) for reducer, state in reducers for leaf in jax.tree.leaves(state)]
    grown = lambda model, shape: shape[1:] == model.shape[1:] and shape[:1] <= (len(model) + draws,)
    return (
        0 < draws
        and len(models) == len(leaves)
        and all(
            dtype == model.dtype and (shape == model.shape or (grows and model.ndim > 0 and grown(model, shape)))
            for (model, grows), (dtype, shape) in zip(models, leaves, strict=True)
        )
    )


def keeps_draws(reduce: PyTree) -> bool:
    """Whether a state grows with the number of draws, so that it cannot be carried through a loop."""
    return any(reducer.keeps_draws for reducer in _reducers(reduce))


def init(reduce: PyTree, draw: PyTree[jax.ShapeDtypeStruct]) -> list[PyTree]:
    """The state of no draws of each reducer, as numpy arrays."""
    return [_begun(reducer, draw) for reducer in _reducers(reduce)]


def _begun(reducer: AbstractReducer, draw: PyTree[jax.ShapeDtypeStruct]) -> PyTree:
    state = jax.tree.map(np.asarray, reducer.init(draw))
    for leaf in jax.tree.leaves(state):
        on_device = jax.dtypes.canonicalize_dtype(leaf.dtype)
        if leaf.dtype.kind in "iu" and not (leaf.astype(on_device) == leaf).all():
            name = f"{type(reducer).__name__}.init"
            raise _checks.refusal(name, f"hold integers of {on_device.name}, which a device computes with", leaf)
    return state


def update(reduce: PyTree, states: list[PyTree], draws: Draws) -> list[PyTree]:
    """The states with these draws added."""
    return [_updated(*each, draws) for each in zip(_reducers(reduce), states, strict=True)]


def _updated(reducer: AbstractReducer, state: PyTree, draws: Draws) -> PyTree:
    updated = jax.tree.map(jnp.asarray, reducer.update(state, draws))
    before, after = (jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype.name), each) for each in (state, updated))
    if before != after and not reducer.keeps_draws:
        name = f"{type(reducer).__name__}.update"
        raise _checks.refusal(name, f"keep the structure, shapes and dtypes of the state, {before}", after)
    return updated


def program(reduce: PyTree, states: list[PyTree], draw: PyTree[jax.ShapeDtypeStruct]) -> ClosedJaxpr:
    """The operations that add two draws to the states."""
    two = lambda leaf: jnp.zeros((2, *leaf.shape), leaf.dtype)
    draws = Draws(jax.tree.map(two, draw), jnp.zeros(2, jnp.uint32), jnp.ones(2, bool))
    return jax.make_jaxpr(functools.partial(update, reduce))(jax.tree.map(jnp.asarray, states), draws)


def merge(reduce: PyTree, left: list[PyTree], right: list[PyTree]) -> list[PyTree]:
    """The states of two sets of draws together, in the dtypes of the left one."""
    return [
        jax.tree.map(functools.partial(_merged, reducer), a, reducer.merge(a, jax.tree.map(_like, a, b)))
        for reducer, a, b in zip(_reducers(reduce), left, right, strict=True)
    ]


def _like(model: np.ndarray, array: Any) -> np.ndarray:
    return np.asarray(array).astype(model.dtype, copy=False)


def _merged(reducer: AbstractReducer, model: np.ndarray, array: Any) -> np.ndarray:
    array = np.asarray(array)
    if not np.can_cast(array.dtype, model.dtype, "same_kind"):
        name = f"{type(reducer).__name__}.merge"
        raise _checks.refusal(name, f"keep the dtype of the state, {model.dtype.name}", array.dtype.name)
    return array.astype(model.dtype, copy=False)


def described(reduce: PyTree) -> str:
    """The reducers with all but long arrays, in words that do not depend on the process."""
    placed = jax.tree_util.tree_leaves_with_path(reduce, is_leaf=_is_reducer)
    words = (f"{jax.tree_util.keystr(path)}: {reducer!r}" if path else repr(reducer) for path, reducer in placed)
    return without_addresses(", ".join(words))


def finish(reduce: PyTree, states: list[PyTree]) -> Any:
    """The result of each reducer, in the structure of the tree."""
    results = [reducer.finish(state) for reducer, state in zip(_reducers(reduce), states, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(reduce, is_leaf=_is_reducer), results)
