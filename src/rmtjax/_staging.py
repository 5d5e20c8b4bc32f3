"""Functions that a user gives: what they close over, and whether their operations run or are written into a program."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array


def is_staged() -> bool:
    """Whether a program is being written here: inside of `jit`, `scan` and their like, not of `vmap` or `grad` alone.

    Outside of one a loop over a new closure would compile at each call, and JAX would keep it.
    """
    return isinstance(jax.lax.neg(np.float32(0)), Tracer)


class OpenFunction(NamedTuple):
    """A function without its closure: what that holds are arguments, to which derivatives can be passed on."""

    # Takes x and the constants.
    call: Callable[..., Array]
    constants: list[Array]
    # The type of what it returns.
    kind: Any


def opened(name: str, fn: Callable[[Array], Any], example: Any) -> OpenFunction:
    """A function of one array, and what it closes over; `jax.closure_convert` would keep these arrays for ever.

    Args:
        name: what the caller calls the function.
        fn: returns one array.
        example: an array, or its type, like those that it will be given.

    Raises:
        ValueError: `fn` calls numpy.
    """
    words = f"`{name}` calls numpy on a traced value; use jax.numpy, got {fn!r}."
    if isinstance(fn, np.ufunc):  # JAX 0.12 would say that there are no weak references to it.
        raise ValueError(words)
    try:
        staged = jax.make_jaxpr(fn)(example)
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(words) from error
    call = lambda x, *constants: jaxpr_as_fun(ClosedJaxpr(staged.jaxpr, constants))(x)[0]
    return OpenFunction(call, staged.consts, staged.out_avals[0])
