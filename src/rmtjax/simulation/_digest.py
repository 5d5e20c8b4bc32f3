"""Names for arrays and programs that are the same in every process."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jaxtyping import Array

from rmtjax.simulation._memory import inner_programs

# An array of up to this many entries is shown with its values, so that an error can say what has changed.
_SHOWN = 4
# Addresses in memory, which names of functions contain.
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def without_addresses(text: str) -> str:
    """The text without addresses in memory."""
    return _ADDRESS.sub("", text)


def of_array(array: Array | np.ndarray) -> str:
    """Dtype and shape of an array, with its values if they are few, or else their digest."""
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    host = np.asarray(jax.random.key_data(array) if is_key else array)
    value = host.tolist() if host.size <= _SHOWN else f"sha256 {hashlib.sha256(host.tobytes()).hexdigest()}"
    return f"{host.dtype.name}{list(host.shape)} {value}"


def of_program(program: ClosedJaxpr) -> str:
    """A name for the operations of a program and its constants, the same in every process."""
    total = hashlib.sha256(without_addresses(str(program.jaxpr)).encode())
    for constant in (*program.consts, *_constants(program.jaxpr)):
        total.update(of_array(constant).encode())
    return f"sha256 {total.hexdigest()}"


def _constants(jaxpr: Jaxpr) -> Iterator[Any]:
    """Arrays whose values the text of a program does not show."""
    for eqn in jaxpr.eqns:
        yield from (each.val for each in eqn.invars if isinstance(each, Literal) and np.ndim(each.val))
        for inner, constants in inner_programs(eqn):
            yield from constants
            yield from _constants(inner)
