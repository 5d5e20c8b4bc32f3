"""How calls outside of `jit` are compiled: once for all values, and with little effort where there is little to do.

XLA's expensive passes pay in programs that run long or often. One draw of a small matrix runs for a millisecond after
seconds of compilation, so it is compiled without them: in less than half of the time, for a run that takes two to six
times as long. Inside of a user's own `jit` or `simulate`, and for arguments that `vmap` or `grad` traces, nothing of
this happens.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
from jax.core import Tracer

from rmtjax._staging import is_staged

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # Its place in JAX 0.8.
    from jax.core import get_opaque_trace_state  # pyright: ignore[reportAttributeAccessIssue]

P = ParamSpec("P")
R = TypeVar("R")

# Matrices up to that order, and that many points, are little work. Compiling a spectrum of GOE(100) takes 2.5 times as
# long in full as without the passes, and it then runs for 0.4 ms instead of 1.8 ms.
SMALL_ORDER = 256
SMALL_SIZE = 1 << 14

# The first set that the installed XLA knows. Its newer code generator for fused loops takes twice as long to compile.
_QUICK: tuple[dict[str, Any], ...] = (
    {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False},
    {"xla_backend_optimization_level": 0},
)
# What JAX says of itself where nothing is being traced or transformed.
_OUTSIDE = get_opaque_trace_state(convention="nnx")


def is_small(tree: Any, order: int = 0) -> bool:
    """Whether arguments, and a static size, are those of a short computation that is neither transformed nor staged."""
    if order > SMALL_ORDER:
        return False
    leaves = jax.tree.leaves(tree)
    if any(isinstance(leaf, Tracer) or (isinstance(leaf, int) and leaf > SMALL_ORDER) for leaf in leaves):
        return False
    return sum(getattr(leaf, "size", 1) for leaf in leaves) <= SMALL_SIZE and (
        # A rule of differentiation outside of `jit` computes with numbers too.
        get_opaque_trace_state(convention="nnx") == _OUTSIDE or not is_staged()
    )


@cache
def quick_options() -> dict[str, Any]:
    """Compiler options for small programs; none where there are none to be had."""
    for options in _QUICK if jax.default_backend() == "cpu" else ():
        try:
            jax.jit(_nothing, compiler_options=options)().block_until_ready()
        except (RuntimeError, ValueError):  # This version has no such option.
            continue
        return options
    return {}


def _nothing() -> jax.Array:
    return jnp.zeros(())


def programs(fn: Callable, static_argnums: int | tuple[int, ...] = ()) -> Callable[[bool], Callable]:
    """The function compiled in full, and compiled quickly where it is asked for a small program."""
    whole = jax.jit(fn, static_argnums=static_argnums)

    @cache
    def quick() -> Callable:
        return jax.jit(fn, static_argnums=static_argnums, compiler_options=quick_options())

    return lambda small: quick() if small else whole


def compiled(fn: Callable[P, R], static_argnums: int | tuple[int, ...] = ()) -> Callable[P, R]:
    """The function as one compiled program for each shape and static argument: quickly compiled where it is small."""
    program = programs(fn, static_argnums)

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return program(is_small((args, kwargs)))(*args, **kwargs)

    return call
