"""The door through which a caller's numbers enter JAX.

Whole numbers become floating point before they enter. Where 64-bit types are off, JAX makes int32 of int64, and
3 000 000 000 would become -1 294 967 296.
"""

import sys
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from rmtjax._refusal import Words, is_deleted, refusal
from rmtjax._staging import at_once

# The largest size or count: JAX's default integers have 32 bits.
LARGEST_COUNT = 2**31 - 1
_PRECISIONS = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
_WHOLE = frozenset(map(np.dtype, ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))))

_THERE = "not be deleted (or donated to a compiled function)"

A = TypeVar("A", Array, np.ndarray)
T = TypeVar("T")


def numbers(name: str, value: object, must: str = "be numbers") -> Array:
    """Real or complex numbers of single or double precision; whole numbers become JAX's default float.

    A Python number stays weakly typed, so that other inputs decide the dtype. Numbers of another precision, integers
    that exceed every float, deleted arrays, and anything else, for which `must` is the wording, are refused.
    """
    array = value if isinstance(value, jax.Array) else _entered(name, value, must)
    if array.dtype not in _PRECISIONS:
        return _converted(name, array, must)
    if not isinstance(array, Tracer) and array.is_deleted():
        raise refusal(name, _THERE, array)
    return array


def floating(name: str, value: Any, must: str = "be numbers") -> Any:
    """Same as `numbers`, but numbers of Python and NumPy stay on the host."""
    if isinstance(value, jax.Array):
        return numbers(name, value, must)
    if isinstance(value, float | complex):
        return value
    not_masked(name, value)
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            raise refusal(name, f"not exceed {sys.float_info.max:.2g}, the largest float64", value) from None
    if isinstance(value, list | tuple):
        return [floating(name, each, must) for each in value]
    if hasattr(value, "__jax_array__"):
        return numbers(name, value.__jax_array__(), must)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and hasattr(value, "__array__"):
            raise  # The object says itself why it is not an array.
        raise refusal(name, must, value) from None
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if jnp.issubdtype(array.dtype, np.number):
        return full_precision(name, array)
    raise refusal(name, must, _without_entries(value))


def full_precision(name: str, array: A) -> A:
    """The array, which must have single or double precision."""
    if array.dtype not in _PRECISIONS:
        raise refusal(name, "be of single or double precision (`astype(float)` gives it)", array.dtype.name)
    return array


def whole(name: str, value: object, must: str = "be integers") -> Array:
    """Integers of JAX's default dtype, which may be traced; integers that do not fit are refused."""
    array = _items(name, value, must)
    if isinstance(array, np.ndarray) and array.dtype.kind in "iuO":
        if any(isinstance(each, int) and abs(each) > LARGEST_COUNT for each in array.ravel().tolist()):
            raise refusal(name, f"be at most {LARGEST_COUNT}", value)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise refusal(name, must, value)
    return jnp.asarray(value)


def booleans(name: str, value: object) -> Array | np.ndarray:
    """Booleans as an array of JAX or NumPy, whichever the caller has."""
    must = f"be booleans (such as `{name} > 0`)"
    array = _items(name, value, must)
    if array.dtype != bool:
        raise refusal(name, must, value)
    return array


def passed_on(name: str, tree: T) -> T:
    """Arguments of a caller's own function, whose integers stay integers; those that exceed JAX's are refused."""
    for leaf in jax.tree.leaves(tree):
        not_masked(name, leaf)
        array = np.asarray(leaf) if isinstance(leaf, int | np.integer | np.ndarray) else np.zeros(0)
        if isinstance(leaf, int) or (array.dtype.kind in "iu" and array.size):
            bits = min(8 * array.itemsize, jnp.iinfo(jnp.result_type(int)).bits)
            unsigned = array.dtype.kind == "u" and not isinstance(leaf, int)  # JAX makes Python's integers signed.
            fits = np.iinfo(f"{'u' * unsigned}int{bits}")
            if not fits.min <= array.min() <= array.max() <= fits.max:
                raise refusal(name, f"have integers that fit into {fits.dtype.name}, or floating-point numbers", leaf)
    return tree


def not_masked(name: str, value: object) -> None:
    """Refuse masked entries of NumPy, which JAX would read as numbers."""
    if isinstance(value, np.ma.MaskedArray) and (number := np.ma.getmaskarray(value).astype(bool).sum()):
        must = "not be masked (leave these entries out, or `filled` puts numbers in their place)"
        raise refusal(name, must, Words(f"{number} of {value.size} entries that are"))


def _items(name: str, value: object, must: str) -> Array | np.ndarray:
    """An array of JAX unchanged, and anything else as an array of NumPy."""
    if is_deleted(value):
        raise refusal(name, must, value)
    not_masked(name, value)
    try:
        return value if isinstance(value, jax.Array) else np.asarray(value)
    except (TypeError, ValueError):  # e.g. a table of rows of different lengths
        raise refusal(name, must, value) from None


def _entered(name: str, value: object, must: str) -> Array:
    """Numbers that are not JAX's yet."""
    on_host = floating(name, value, must)
    try:
        with np.errstate(over="ignore"):  # Callers that refuse overflow check for it.
            return jnp.asarray(on_host)
    except (TypeError, ValueError):  # rows of different lengths
        raise refusal(name, must, value) from None


def _converted(name: str, array: Array, must: str) -> Array:
    """An array of JAX of another dtype."""
    if is_deleted(array):
        raise refusal(name, _THERE, array)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        raise refusal(name, f"{must}, not random keys", array.dtype.name)
    if array.dtype not in _WHOLE:
        return full_precision(name, array)
    with at_once():  # Known numbers stay known inside of `jit`.
        return array * 1.0 if array.weak_type else array.astype(float)


def _without_entries(value: Any) -> Any:
    """What an error shows of an array or a table that does not hold numbers: the type, not the entries."""
    if not hasattr(value, "__array__"):
        return value
    # A data frame has columns of several types, which make one array of objects.
    types = zip(getattr(value, "columns", ()), getattr(value, "dtypes", ()), strict=False)
    if others := [repr(name) for name, dtype in types if getattr(dtype, "kind", "f") not in "biufc"]:
        remedy = '`select_dtypes("number")` leaves them out, and `pandas.to_numeric` reads numbers that are text'
        return Words(f"a data frame with text or other things in {', '.join(others)}; {remedy}")
    array = np.asarray(value)
    return Words(f"entries of the type {array.dtype}{_REMEDIES.get(array.dtype.kind, '')}") if array.ndim else value


_REMEDIES = dict.fromkeys("OfcSU", "; `astype(float)` makes numbers of them where they are some")
_REMEDIES |= dict.fromkeys("Mm", "; differences over `np.timedelta64(1, 's')` are numbers")
