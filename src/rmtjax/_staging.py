"""Tools for functions given by a user: what they close over, and whether their operations run at once or are staged."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.sharding import AxisType
from jaxtyping import Array

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # Its place in JAX 0.8.
    from jax.core import get_opaque_trace_state  # pyright: ignore[reportAttributeAccessIssue]


# JAX's trace state where nothing is being traced or transformed.
_OUTSIDE = get_opaque_trace_state(convention="nnx")


def is_outside() -> bool:
    """Whether nothing is being traced or transformed."""
    return get_opaque_trace_state(convention="nnx") == _OUTSIDE


def at_once() -> AbstractContextManager:
    """A context in which known numbers are computed now, inside of a program too."""
    return nullcontext() if is_outside() else _at_once_inside()


@contextmanager
def _at_once_inside() -> Iterator[None]:
    """The context inside of a program.

    The numbers come from the host, which a guard against transfers around the program need not forbid. Inside of
    `shard_map` they belong to the same mesh with automatic axes: JAX makes no arrays on a manual mesh, and closes over
    none from a mesh with explicit axes.
    """
    mesh = jax.sharding.get_abstract_mesh()
    around = nullcontext()
    if AxisType.Manual in mesh.axis_types:
        around = jax.sharding.use_abstract_mesh(mesh.update_axis_types(dict.fromkeys(mesh.axis_names, AxisType.Auto)))
    with jax.ensure_compile_time_eval(), jax.transfer_guard("allow"), around:
        yield


def uninspected() -> AbstractContextManager:
    """A context in which `jax_debug_nans` does not look at results, because NaN is an answer."""
    inspected = jax.config.jax_debug_nans  # pyright: ignore[reportAttributeAccessIssue]
    return jax.debug_nans(False) if inspected else nullcontext()


def is_staged() -> bool:
    """Whether operations are being staged into a program, as inside `jit` or `scan`, but not in `vmap` or `grad` alone.

    Outside of a program a loop over a new closure would be compiled at each call, and JAX would keep each program.
    """
    return isinstance(jax.lax.neg(np.float32(0)), Tracer)


def is_traced(tree: Any) -> bool:
    """Whether a leaf of the tree is unknown, because a function of it is being traced."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


class OpenFunction(NamedTuple):
    """A function whose closed-over arrays have become arguments, so that derivatives can be passed on to them."""

    # Takes x, then the constants.
    call: Callable[..., Array]
    constants: list[Array]
    # The type of the array that it returns.
    kind: Any


def opened(name: str, fn: Callable[[Array], Any], example: Any) -> OpenFunction:
    """A function of one array, split from the arrays it closes over; `jax.closure_convert` would keep those for ever.

    The function must not call numpy. The example is an array like its argument, or the type of one.
    """
    words = f"`{name}` calls numpy on a traced value; use jax.numpy, got {fn!r}."
    if isinstance(fn, np.ufunc):  # JAX 0.12 would complain that it cannot be weakly referenced.
        raise ValueError(words)
    try:
        staged = jax.make_jaxpr(fn)(example)
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(words) from error
    jaxpr = staged.jaxpr  # without the constants, which are tracers
    if hasattr(jaxpr, "with_consts"):  # From JAX 0.12 on it holds them.
        jaxpr = jaxpr.with_consts([])
    call = lambda x, *constants: jaxpr_as_fun(ClosedJaxpr(jaxpr, constants))(x)[0]
    return OpenFunction(call, staged.consts, staged.out_avals[0])
