"""Tools for functions given by a user: what they close over, and whether their operations run at once or are staged."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array


def is_staged() -> bool:
    """Whether operations are being staged into a program, as inside `jit` or `scan`, but not `vmap` or `grad` alone.

    Outside of a program a loop over a new closure would be compiled at each call, and JAX would keep every one.
    """
    return isinstance(jax.lax.neg(np.float32(0)), Tracer)


class OpenFunction(NamedTuple):
    """A function whose closed-over arrays have become arguments, so that derivatives can be passed on to them."""

    # Takes x, then the constants.
    call: Callable[..., Array]
    constants: list[Array]
    # The type of the array that it returns.
    kind: Any


def opened(name: str, fn: Callable[[Array], Any], example: Any) -> OpenFunction:
    """A function of one array, split from the arrays it closes over; `jax.closure_convert` would keep those for ever.

    Args:
        name: name of the function in error messages.
        fn: returns one array.
        example: an array, or its type, like those that it will be given.

    Raises:
        ValueError: `fn` calls numpy.
    """
    words = f"`{name}` calls numpy on a traced value; use jax.numpy, got {fn!r}."
    if isinstance(fn, np.ufunc):  # JAX 0.12 would complain that it cannot be weakly referenced.
        raise ValueError(words)
    try:
        staged = jax.make_jaxpr(fn)(example)
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(words) from error
    call = lambda x, *constants: jaxpr_as_fun(ClosedJaxpr(staged.jaxpr, constants))(x)[0]
    return OpenFunction(call, staged.consts, staged.out_avals[0])
