"""Compiled evaluation of the methods of a law.

Compilation takes nearly all of the time of a check. So there are only two programs, one for values and one for
derivatives, each for a fixed number of points. All laws of one kind and dtype share them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from rmtjax.testing._compare import host, is_inexact

METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
# Number of points in a call.
SIZE = 64
# Weights of the methods in a sum. They keep derivatives, such as those of cdf and sf, from cancelling.
WEIGHTS = {"pdf": 1.0, "logpdf": 0.7, "cdf": 1.4, "logcdf": 0.6, "sf": 1.9, "logsf": 0.8}


def tabulated(law: Any, x: Float[Array, " n"]) -> dict[str, Float[Array, " n"]]:
    """All methods at all points."""
    return {name: getattr(law, name)(x) for name in METHODS}


@jax.jit
def everything(law: Any, x: Float[Array, " n"], p: Float[Array, " n"]) -> dict[str, Any]:
    """Methods and their forward derivatives by the point, the methods mapped over the points, and the quantiles."""
    # XLA merges the mapped methods with the others, for most laws entirely.
    values, slopes = jax.jvp(partial(tabulated, law), (x,), (jnp.ones_like(x),))
    mapped = jax.vmap(tabulated, in_axes=(None, 0))(law, x)
    return {"values": values, "slopes": slopes, "mapped": mapped, "ppf": law.ppf(p), "isf": law.isf(p)}


@partial(jax.jit, static_argnums=2)
def _gradients(law: Any, x: Float[Array, " n"], names: tuple[str, ...]) -> tuple[PyTree, Float[Array, " n"]]:
    """Reverse-mode derivatives of the weighted sum of methods over all points, by the parameters and each point."""
    parameters, rest = eqx.partition(law, is_inexact)
    # If one of the derivatives is infinite or NaN, the sum is not finite either.
    method = lambda p, y, name: WEIGHTS[name] * jnp.sum(getattr(eqx.combine(p, rest), name)(y))
    return jax.grad(lambda p, y: sum(method(p, y, name) for name in names), (0, 1))(parameters, x)


def evaluate(
    law: Any, x: np.ndarray, p: np.ndarray | None = None, program: Callable[..., dict[str, Any]] = everything
) -> dict[str, Any]:
    """The output of a compiled program for a law, any number of points x, and as many probabilities p."""
    p = np.full_like(x, 0.5) if p is None else p
    tables = [program(_plain(law, x.dtype), *piece) for piece in _pieces(x, p)]
    return jax.tree.map(lambda *parts: np.concatenate([host(part) for part in parts])[: x.size], *tables)


def gradients(law: Any, x: np.ndarray, names: tuple[str, ...] = METHODS) -> tuple[PyTree, np.ndarray]:
    """Reverse-mode derivatives of the weighted sum of methods over all points, by the parameters and each point."""
    by_parameters, by_x = zip(*(_gradients(_plain(law, x.dtype), piece, names) for (piece,) in _pieces(x)), strict=True)
    total = lambda *parts: sum(map(host, parts))
    return jax.tree.map(total, *by_parameters), np.concatenate([host(part) for part in by_x])[: x.size]


def _pieces(*columns: np.ndarray) -> Iterator[list[jax.Array]]:
    """Columns cut into pieces of one size; the last piece is filled up with its own numbers."""
    for start in range(0, columns[0].size, SIZE):
        yield [jnp.asarray(np.resize(column[start : start + SIZE], SIZE)) for column in columns]


def _plain(law: Any, dtype: np.dtype) -> Any:
    """The law with no weakly typed parameters, so that all laws of its kind share a program."""
    return jax.tree.map(lambda leaf: jnp.asarray(host(leaf)) if is_inexact(leaf) and leaf.dtype == dtype else leaf, law)
