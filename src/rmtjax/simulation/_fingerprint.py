"""What a simulation is, in facts that can be compared with those of an earlier run."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jaxtyping import Array, PyTree

from rmtjax.simulation import _reduction
from rmtjax.simulation._draw import program_of
from rmtjax.simulation._structure import named_arrays, split
from rmtjax.simulation._work import Work

# Addresses in memory, in the names of functions.
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# An array of up to this many entries is shown as it is, so that an error can say what has changed.
_SHOWN = 4


def facts(work: Work) -> dict[str, str]:
    """Names and values; two runs with equal ones draw the same and reduce it in the same way."""
    # Not at the top: the package is being imported then.
    from rmtjax import __version__

    operands, structure = split((work.fn, work.args))
    program = program_of(structure, operands, work.key)
    words = np.asarray(jax.random.key_data(work.key))
    reduce, output = work.reduce, work.trace.output
    return {
        "the version of rmtjax": __version__,
        "`key`": f"{jax.random.key_impl(work.key)} {words.tolist()}",
        "how keys are split": f"jax_threefry_partitionable={jax.config.jax_threefry_partitionable}",  # pyright: ignore[reportAttributeAccessIssue]
        "the output of `fn`": _shapes(output),
        **_arrays("fn", work.fn),
        **_arrays("args", work.args),
        "the operations of `fn`": _digest(program),
        "the states of `reduce`": _shapes(_reduction.init(reduce, output)),
        **_arrays("reduce", reduce),
        "the operations of `reduce`": _digest(_reduction.program(reduce, output)),
    }


def difference(before: dict[str, str], now: dict[str, str]) -> str | None:
    """In what two simulations differ, in words."""
    for name in (*now, *before):
        there, here = before.get(name, "nothing"), now.get(name, "nothing")
        if there != here:
            return name if "sha256" in there + here else f"{name} ({there} there, {here} here)"
    return None


def _arrays(name: str, tree: PyTree) -> dict[str, str]:
    return {f"`{name}{path}`": _value(array) for path, array in named_arrays(tree)}


def _value(array: Array | np.ndarray) -> str:
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    host = np.asarray(jax.random.key_data(array) if is_key else array)
    value = host.tolist() if host.size <= _SHOWN else f"sha256 {hashlib.sha256(host.tobytes()).hexdigest()}"
    return f"{host.dtype.name}{list(host.shape)} {value}"


def _shapes(tree: PyTree) -> str:
    return str(jax.tree.map(lambda leaf: f"{leaf.dtype.name}{list(leaf.shape)}", tree))


def _digest(program: ClosedJaxpr) -> str:
    digest = hashlib.sha256(_ADDRESS.sub("", str(program.jaxpr)).encode())
    for constant in (*program.consts, *_constants(program.jaxpr)):
        digest.update(_value(constant).encode())
    return f"sha256 {digest.hexdigest()}"


def _constants(jaxpr: Jaxpr) -> Iterator[Any]:
    """Arrays that are printed by their shapes only."""
    is_jaxpr = lambda value: isinstance(value, Jaxpr | ClosedJaxpr)
    for eqn in jaxpr.eqns:
        yield from (each.val for each in eqn.invars if isinstance(each, Literal) and np.ndim(each.val))
        for value in jax.tree.leaves(eqn.params, is_leaf=is_jaxpr):
            if isinstance(value, ClosedJaxpr):
                yield from value.consts
            if is_jaxpr(value):
                yield from _constants(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
