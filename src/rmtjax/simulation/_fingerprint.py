"""Facts of a simulation, which are compared with the facts of an earlier run."""

import jax
import numpy as np
from jaxtyping import PyTree

from rmtjax._version import __version__
from rmtjax.simulation import _digest, _reduction
from rmtjax.simulation._structure import named_arrays
from rmtjax.simulation._work import Work


def facts(work: Work) -> dict[str, str]:
    """Names and values. Runs with equal facts make the same draws and reduce them in the same way."""
    config, words = jax.config, np.asarray(jax.random.key_data(work.key))
    reduce, states, output = work.reduce, work.empty or [], work.trace.output
    return {
        "the version of rmtjax": __version__,
        "`key`": f"{jax.random.key_impl(work.key)} {words.tolist()}",
        "jax_threefry_partitionable": str(config.jax_threefry_partitionable),  # pyright: ignore
        "jax_default_matmul_precision": str(config.jax_default_matmul_precision),  # pyright: ignore
        "the output of `fn`": _shapes(output),
        **_arrays("fn", work.fn),
        **_arrays("args", work.args),
        "the operations of `fn`": str(work.plan.digest),
        "the states of `reduce`": _shapes(states),
        **_arrays("reduce", reduce),
        "`reduce`": _reduction.described(reduce),
        "the operations of `reduce`": _digest.of_program(_reduction.program(reduce, states, output)),
    }


def difference(before: dict[str, str], now: dict[str, str]) -> str | None:
    """The first fact in which two simulations differ, in words; None if there is none."""
    for name in (*now, *before):
        there, here = before.get(name, "nothing"), now.get(name, "nothing")
        if there != here:
            return name if "sha256" in there + here else f"{name} ({there} there, {here} here)"
    return None


def _arrays(name: str, tree: PyTree) -> dict[str, str]:
    return {f"`{name}{path}`": _digest.of_array(array) for path, array in named_arrays(tree)}


def _shapes(tree: PyTree) -> str:
    return str(jax.tree.map(lambda leaf: f"{leaf.dtype.name}{list(leaf.shape)}", tree))
