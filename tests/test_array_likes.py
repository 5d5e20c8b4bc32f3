"""What a signature says of lists and NumPy's arrays holds: they give what arrays of JAX give."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._module import AbstractModule
from tests.registry import PUBLIC, Call

KINDS = {"lists": lambda leaf: leaf.tolist(), "NumPy": np.asarray}
CALLS = [name for name, call in PUBLIC.items() if isinstance(call, Call)]


def converted(tree: Any, convert: Callable) -> Any:
    """Arrays as something else; the library's own objects and keys stay as they are."""

    def leaf(value: Any) -> Any:
        is_array = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
        return convert(value) if is_array and not jnp.issubdtype(value.dtype, jax.dtypes.prng_key) else value

    return jax.tree.map(leaf, tree, is_leaf=lambda node: isinstance(node, AbstractModule))


def taking(function: Callable, convert: Callable) -> Callable:
    """The function, called with something else than arrays where its signature says that it takes that."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if "Like" in inspect.formatannotation(signature.parameters[name].annotation):
                bound.arguments[name] = converted(value, convert)
        return function(*bound.args, **bound.kwargs)

    return call


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6)


def replaced(name: str, convert: Callable, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Callable]:
    """Puts the converting function in the place of a public one, and returns both."""
    owner = rmt
    *path, last = name.split(".")[1:]
    for part in path:
        owner = getattr(owner, part)
    real = getattr(owner, last)
    monkeypatch.setattr(owner, last, taking(real, convert))
    return real, getattr(owner, last)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_functions_take_them(name, kind, monkeypatch):
    call = PUBLIC[name]
    expected = call.fn(*call.args)
    real, other = replaced(name, KINDS[kind], monkeypatch)
    assert_same((other if call.fn is real else call.fn)(*call.args), expected)
