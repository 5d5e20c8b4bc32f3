"""How calls outside of `jit` are compiled: once for all values, and with little effort if the work is small.

XLA's expensive passes pay off in programs that run long or often. A draw of one small matrix runs for a millisecond
after seconds of compilation. So it is compiled without these passes: in less than half of the time, for a program that
runs two to six times as long. This does not apply inside a user's own `jit` or `simulate`, or to arguments traced by
`vmap` or `grad`. A function of the library that calls `simulate` may ask for it by `soon`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
from jax.core import Tracer

from rmtjax._automatic import on_automatic_axes
from rmtjax._staging import is_outside, is_staged, uninspected
from rmtjax._threefry import unrolled

P = ParamSpec("P")
R = TypeVar("R")

# Matrices up to this order, and up to this many points, count as small. With all passes the spectrum of GOE(100) takes
# 2.5 times as long to compile, and then runs for 0.4 ms instead of 1.8 ms.
SMALL_ORDER = 256
SMALL_SIZE = 1 << 14
# Up to this many elementary steps, a program that repeats something counts as small: it takes some 0.1 s without the
# passes. 999 draws of GOE(40) take that long, and 0.03 s with all passes, after a compilation of four times the length.
SMALL_WORK = 1 << 22

# The first set that the installed XLA knows is used. XLA's newer code generator for fused loops compiles half as fast.
_QUICK: tuple[dict[str, Any], ...] = (
    {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False},
    {"xla_backend_optimization_level": 0},
)


def is_small(tree: Any, order: int = 0, *, points: int = 0, work: int = 0) -> bool:
    """Whether a computation is short, and neither transformed nor staged.

    Args:
        tree: its arguments.
        order: the largest static size.
        points: how many numbers it makes, where the arguments do not tell.
        work: how many elementary steps it takes, repetitions times the steps of each, where the arguments do not tell.
    """
    if order > SMALL_ORDER or points > SMALL_SIZE or work > SMALL_WORK:
        return False
    leaves = jax.tree.leaves(tree)
    if any(isinstance(leaf, Tracer) or (isinstance(leaf, int) and leaf > SMALL_ORDER) for leaf in leaves):
        return False
    return sum(getattr(leaf, "size", 1) for leaf in leaves) <= SMALL_SIZE and (
        # Inside a differentiation rule the trace state differs, but outside of `jit` the rule computes with numbers.
        is_outside() or not is_staged()
    )


@cache
def quick_options() -> dict[str, Any]:
    """Compiler options for small programs; empty if the installed XLA has none for this backend."""
    for options in _QUICK if jax.default_backend() == "cpu" else ():
        try:
            with jax.disable_jit(False):  # otherwise nothing would be compiled, and every option taken
                jax.jit(_nothing, compiler_options=options)().block_until_ready()
        except (RuntimeError, ValueError):  # This version has no such option.
            continue
        return options
    return {}


_SOON: ContextVar[bool] = ContextVar("_SOON", default=False)


@contextmanager
def soon() -> Iterator[None]:
    """A context in which `simulate` compiles without the expensive passes, if the work is small."""
    token = _SOON.set(True)
    try:
        yield
    finally:
        _SOON.reset(token)


def is_soon() -> bool:
    """Whether `soon` asks for it, outside of all transformations: a program within a program has no options."""
    return _SOON.get() and is_outside()


def _nothing() -> jax.Array:
    return jnp.zeros(())


def programs(
    fn: Callable, static_argnums: int | tuple[int, ...] = (), *, nan_is_an_answer: bool = False
) -> Callable[[bool], Callable]:
    """Two compilations of the function: the returned function maps True to the quick one and False to the full one.

    Keys of JAX's generator become keys of `_threefry`, whose programs compile sooner. Where NaN is an answer, for
    instance for a value that does not exist, `jax_debug_nans` does not inspect the results.
    """
    fn = on_automatic_axes(_with_unrolled_keys(fn))
    whole = jax.jit(fn, static_argnums=static_argnums)

    @cache
    def quick() -> Callable:
        return jax.jit(fn, static_argnums=static_argnums, compiler_options=quick_options())

    call = _without_inspection if nan_is_an_answer else lambda program: program
    return lambda small: call(quick() if small else whole)


def _with_unrolled_keys(fn: Callable) -> Callable:
    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = unrolled((args, kwargs))
        return fn(*args, **kwargs)

    return call


def _without_inspection(program: Callable) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        with uninspected():
            return program(*args, **kwargs)

    return call


def compiled(
    fn: Callable[P, R], static_argnums: int | tuple[int, ...] = (), *, nan_is_an_answer: bool = False
) -> Callable[P, R]:
    """The function, compiled once for each shape and static argument, and quickly where the computation is small."""
    program = programs(fn, static_argnums, nan_is_an_answer=nan_is_an_answer)

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return program(is_small((args, kwargs)))(*args, **kwargs)

    return call
