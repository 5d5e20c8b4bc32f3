"""How calls outside of `jit` are compiled: once for all values, and with little effort where there is little to do.

XLA's expensive passes pay in programs that run long or often. One draw of a small matrix runs for a millisecond after
seconds of compilation, so it is compiled without them: in less than half of the time, for a run that takes two to six
times as long; so is its first derivative. Inside of a user's own `jit`, `vmap` or `simulate` nothing of this happens.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

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
    """Whether arguments, and a static size, are those of a short computation outside of all transformations.

    But for a first derivative by `grad`, `jvp` or `linearize`.
    """
    leaves = jax.tree.leaves(tree)
    # Arguments alone do not tell: inside of a program they may all be constants.
    if order > SMALL_ORDER or not (_is_outside() or _is_differentiated_once(leaves)):
        return False
    if any(isinstance(leaf, int) and leaf > SMALL_ORDER for leaf in leaves):
        return False
    return sum(getattr(leaf, "size", 1) for leaf in leaves) <= SMALL_SIZE


def _is_outside() -> bool:
    return get_opaque_trace_state(convention="nnx") == _OUTSIDE


def _is_differentiated_once(leaves: list) -> bool:
    """Whether arguments are those of one derivative that is taken outside of everything else."""
    traced = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
    # The tracers of a derivative have the value as their `primal`, a tracer under a second one; others have none.
    if any(isinstance(getattr(leaf, "primal", leaf), Tracer) for leaf in traced):
        return False
    if not traced or not all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in traced):
        return False
    # Inside of a program even constants have traced sums.
    return not isinstance(jax.lax.add(1.0, 1.0), Tracer)


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

    differentiated = _with_quick_derivative(fn, static_argnums)
    return lambda small: whole if not small else quick() if _is_outside() else differentiated


def _with_quick_derivative(fn: Callable, static_argnums: int | tuple[int, ...]) -> Callable:
    """The function for arguments under a derivative: the value and what the derivative needs of it, compiled quickly.

    JAX would stage the program of the derivative with its options into what `linearize` and `vjp` return, and then
    refuse to have that in a program of the user's. So the linear rest, which is short, is a program without options.
    """
    fixed_places = (static_argnums,) if isinstance(static_argnums, int) else static_argnums

    def linearized(active: list, passive: list, structure: Any, static: tuple) -> tuple:
        def split_output(active: list) -> tuple:
            leaves = [there if here is None else here for here, there in zip(active, passive, strict=True)]
            args, kwargs = jax.tree.unflatten(structure, leaves)
            for place, value in static:
                args.insert(place, value)
            return eqx.partition(fn(*args, **kwargs), eqx.is_inexact_array)

        return jax.linearize(split_output, active, has_aux=True)

    @cache
    def quick() -> Callable:
        return jax.jit(linearized, static_argnums=(2, 3), compiler_options=quick_options())

    def call(*args: Any, **kwargs: Any) -> Any:
        static = tuple((place, args[place]) for place in fixed_places)
        dynamic = [arg for place, arg in enumerate(args) if place not in fixed_places]
        leaves, structure = jax.tree.flatten((dynamic, kwargs))
        passive = [None if isinstance(leaf, Tracer) else leaf for leaf in leaves]

        @jax.custom_jvp
        def value(active: list) -> Any:
            numbers, _, others = quick()(active, passive, structure, static)
            return eqx.combine(numbers, others)

        @value.defjvp
        def value_and_derivative(primals: tuple, tangents: tuple) -> tuple:
            numbers, linear, others = quick()(*primals, passive, structure, static)
            rates = _applied(linear, *tangents)
            return eqx.combine(numbers, others), eqx.combine(rates, jax.tree.map(_no_rate, others))

        return value([leaf if isinstance(leaf, Tracer) else None for leaf in leaves])

    return call


@jax.jit
def _applied(linear: Callable, tangent: Any) -> Any:
    return linear(tangent)


def _no_rate(x: jax.Array) -> np.ndarray:
    """The tangent of a whole number or a key."""
    return np.zeros(x.shape, jax.dtypes.float0)


def compiled(fn: Callable[P, R], static_argnums: int | tuple[int, ...] = ()) -> Callable[P, R]:
    """The function as one compiled program for each shape and static argument: quickly compiled where it is small."""
    program = programs(fn, static_argnums)

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return program(is_small((args, kwargs)))(*args, **kwargs)

    return call
