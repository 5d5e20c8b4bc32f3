"""How calls outside of `jit` are compiled: once for all values, and with little effort where there is little to do.

XLA's expensive passes pay in programs that run long or often. One draw of a small matrix runs for a millisecond after
seconds of compilation, so it is compiled without them: in a quarter of the time, for a run that takes two to three
times as long. Inside of a user's own `jit`, `vmap`, `grad` or `simulate` nothing of this happens.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import jax
from jax.core import Tracer

P = ParamSpec("P")
R = TypeVar("R")

# Sizes up to which a program counts as small: matrices of that order, vectors of as many points as they have entries.
# GOE(100) took 4.4 s of processor time to trace and compile for 0.35 ms, and takes 1.6 s for 0.74 ms.
_SMALL_ORDER = 256
_SMALL_SIZE = 1 << 14

# The first set that the installed XLA knows. Its newer code generator for fused loops is the slower one to compile.
_QUICK = (
    {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False},
    {"xla_backend_optimization_level": 0},
)


def is_small(*args: Any) -> bool:
    """Whether arguments, among them static sizes, are those of a short computation outside of any transformation."""
    total = 0
    for leaf in jax.tree.leaves(args):
        if isinstance(leaf, Tracer):
            return False
        if isinstance(leaf, int) and leaf > _SMALL_ORDER:
            return False
        total += getattr(leaf, "size", 1)
    return total <= _SMALL_SIZE


@cache
def quick_options() -> dict[str, Any]:
    """Compiler options for small programs; none where there are none to be had."""
    for options in _QUICK if jax.default_backend() == "cpu" else ():
        try:
            jax.jit(_nothing, compiler_options=options)().block_until_ready()
        except (RuntimeError, ValueError):  # no such option in this version
            continue
        return options
    return {}


def _nothing() -> jax.Array:
    return jax.numpy.zeros(())


def compiled(fn: Callable[P, R], static_argnums: int | tuple[int, ...] = ()) -> Callable[P, R]:
    """The function as one compiled program for each shape and static argument: quickly compiled where it is small."""
    whole = jax.jit(fn, static_argnums=static_argnums)

    @cache
    def quick() -> Callable:
        return jax.jit(fn, static_argnums=static_argnums, compiler_options=quick_options())

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return (quick() if is_small(args, kwargs) else whole)(*args, **kwargs)

    return call
