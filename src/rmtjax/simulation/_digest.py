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

# An array of up to this many entries is shown as it is, so that an error can say what has changed.
_SHOWN = 4
# Addresses in memory, in the names of functions.
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def without_addresses(text: str) -> str:
    """A text that does not depend on where things are in memory."""
    return _ADDRESS.sub("", text)


def of_array(array: Array | np.ndarray) -> str:
    """Dtype and shape of an array, and its value if that is short."""
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
    """Arrays that are printed by their shapes only."""
    is_jaxpr = lambda value: isinstance(value, Jaxpr | ClosedJaxpr)
    for eqn in jaxpr.eqns:
        yield from (each.val for each in eqn.invars if isinstance(each, Literal) and np.ndim(each.val))
        for value in jax.tree.leaves(eqn.params, is_leaf=is_jaxpr):
            if isinstance(value, ClosedJaxpr):
                yield from value.consts
            if is_jaxpr(value):
                yield from _constants(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
