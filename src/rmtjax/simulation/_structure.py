"""Which parts of a function are data, and which are program.

`jax.jit` keeps a program for a function *object*, so `GOE(30, s).eigenvalues`, a new object for every s, would be
compiled again and again. Here a pytree that contains functions is split into its arrays, the operands of a program, and
a hashable `Structure`, for which the program is kept. Two bound methods of modules that differ only in the values of
their parameters have the same structure.

A structure refers weakly to functions and to every other object that equals only itself. So a program for a lambda is
dropped together with the lambda, whereas JAX's caches would keep both for ever.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

# The number of results that are kept; a compiled simulation takes a few MiB.
_MOST_KEPT = 128

# The types of jitted functions. Inside another program `jit` does nothing, but the wrapped function may hold arrays.
_JITTED: tuple[type, ...] = (type(jax.jit(lambda: None)), type(eqx.filter_jit(lambda: None)))


class _Call(eqx.Module):
    """A bound method or a partial, as a pytree of its object and its arguments."""

    function: Any
    args: tuple
    keywords: dict[str, Any]


def _opened(tree: PyTree) -> PyTree:
    """The tree with a `_Call` for every bound method and partial, and without `jit`."""
    return jax.tree.map(_open, tree, is_leaf=lambda node: isinstance(node, (MethodType, functools.partial, *_JITTED)))


def _open(node: Any) -> PyTree:
    if isinstance(node, _JITTED):
        return _opened(node.__wrapped__)
    if isinstance(node, MethodType):
        return _Call(_opened(node.__func__), (_opened(node.__self__),), {})
    if isinstance(node, functools.partial):
        return _Call(_opened(node.func), _opened(node.args), _opened(node.keywords))
    return node


def _closed(tree: PyTree) -> PyTree:
    """The inverse of `_opened`, except that `jit` is not restored."""
    return jax.tree.map(_close, tree, is_leaf=lambda node: isinstance(node, _Call))


def _close(node: Any) -> Any:
    if isinstance(node, _Call):
        return jax.tree_util.Partial(_closed(node.function), *_closed(node.args), **_closed(node.keywords))
    return node


@dataclass(frozen=True)
class _Value:
    """A leaf that is compared by its value, like a number."""

    value: Any = field(compare=False)
    identity: Hashable


def _constant(leaf: Any) -> Hashable:
    """A hashable stand-in for a leaf that is not traced; leaves that make the same program have equal ones."""
    if type(leaf).__eq__ is object.__eq__:
        try:
            return weakref.ref(leaf)
        except TypeError:  # This object has slots. It is kept alive, so that its address is not used again.
            return _Value(leaf, (type(leaf), id(leaf)))
    # Python's 1, 1.0 and True are equal, and so are 0.0 and -0.0.
    if isinstance(leaf, float | complex | np.inexact):
        return _Value(leaf, (type(leaf), repr(leaf)))
    try:
        hash(leaf)
    except TypeError:  # A mutable object may change, so it never equals one that was seen before.
        return _Value(leaf, object())
    return _Value(leaf, (type(leaf), leaf))


def _is_traced(leaf: object) -> bool:
    if isinstance(leaf, np.ndarray):  # NumPy has arrays of strings and of objects too.
        return jnp.issubdtype(leaf.dtype, np.number) or leaf.dtype == np.bool_
    return isinstance(leaf, jax.Array)


@dataclass(frozen=True)
class Structure:
    """A pytree without its arrays, and therefore hashable."""

    treedef: Any
    constants: tuple[Hashable, ...]  # One for each leaf; None stands for an array.

    def combine(self, arrays: Sequence[Array]) -> PyTree:
        """The tree with these arrays; the caller must keep the functions in it alive."""
        remaining = iter(arrays)
        value = lambda each: each() if isinstance(each, weakref.ref) else each.value
        leaves = [next(remaining) if each is None else value(each) for each in self.constants]
        return _closed(jax.tree.unflatten(self.treedef, leaves))

    def on_death(self, forget: Callable[[Any], object]) -> list[weakref.ref]:
        """References that call `forget` when the first of the functions is freed, as long as they are kept."""
        return [weakref.ref(each(), forget) for each in self.constants if isinstance(each, weakref.ref)]


def split(tree: PyTree) -> tuple[list[Array], Structure]:
    """The arrays of a tree, also in its bound methods and partials, and the structure of the rest."""
    leaves, treedef = jax.tree.flatten(_opened(tree))
    constants = tuple(None if _is_traced(leaf) else _constant(leaf) for leaf in leaves)
    return [leaf for leaf in leaves if _is_traced(leaf)], Structure(treedef, constants)


def kept_for_structure(make: Callable) -> Callable:
    """Like `functools.lru_cache`, but an entry is dropped with any function in a structure among its arguments."""
    entries: dict[tuple, tuple[Any, list]] = {}
    lock = threading.RLock()

    @functools.wraps(make)
    def kept(*key: Hashable) -> Any:
        with lock:
            entry = entries.pop(key, None)
            if entry is None:
                forget = lambda _: entries.pop(key, None)
                watches = [watch for each in key if isinstance(each, Structure) for watch in each.on_death(forget)]
                entry = make(*key), watches
            entries[key] = entry  # The entry goes to the end, so that the first entry is the one longest unused.
            for longest_unused in list(entries)[:-_MOST_KEPT]:
                entries.pop(longest_unused, None)
            return entry[0]

    return kept


def named_arrays(tree: PyTree) -> list[tuple[str, Array]]:
    """The arrays that `split` finds, each after its place in the tree in words."""
    places, _ = jax.tree_util.tree_flatten_with_path(_opened(tree))
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in places if _is_traced(leaf)]
