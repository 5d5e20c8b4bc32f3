"""Argument checks: one wording for every error of the library.

There are two kinds of checks. A size, a name, a shape or a dtype is known before any number is computed, and a bad one
raises a `ValueError` at once. A forbidden value raises a `ValueError` if the value is known. Under a transformation it
is not known, and the result is NaN (-1 for an integer) instead, because an error from inside a compiled program needs a
callback to Python, and a program with a callback cannot be stored in JAX's compilation cache. The environment variable
`EQX_ON_ERROR=raise`, set before Python starts, turns these errors on.
"""

import math
import operator
import os
from collections.abc import Callable, Hashable, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple, TypeVar, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from rmtjax._automatic import mesh_of, on_automatic_axes
from rmtjax._digits import deviations_kept as deviations_kept
from rmtjax._digits import in_range as in_range
from rmtjax._digits import told_apart as told_apart
from rmtjax._door import LARGEST_COUNT
from rmtjax._door import booleans as booleans
from rmtjax._door import floating as floating
from rmtjax._door import full_precision as full_precision
from rmtjax._door import not_masked as not_masked
from rmtjax._door import numbers as numbers
from rmtjax._door import passed_on as passed_on
from rmtjax._door import whole as whole
from rmtjax._promotion import aligned, in_one_precision, like
from rmtjax._refusal import MOST_SHOWN, is_deleted, plain
from rmtjax._refusal import Words as Words
from rmtjax._refusal import entry as entry
from rmtjax._refusal import refusal as refusal
from rmtjax._staging import at_once, is_traced, uninspected
from rmtjax._typing import DysonIndex, KeyScalar, RealScalarLike

T = TypeVar("T")


def integer(name: str, value: object, *, at_least: int, at_most: int = LARGEST_COUNT) -> int:
    """A static whole number, e.g. a matrix size; booleans and floats are refused."""
    must = f"be an integer of at least {at_least}"
    if isinstance(value, Tracer):
        raise refusal(name, must + ", known before tracing (static)", value)
    if isinstance(value, bool):
        raise refusal(name, must, value)
    not_masked(name, value)
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, RuntimeError):  # A deleted array raises the latter.
        raise refusal(name, must, value) from None
    if number < at_least:
        raise refusal(name, must, value)
    if number > at_most:
        raise refusal(name, f"be at most {at_most}", value)
    return number


def shape(value: object, name: str = "shape") -> tuple[int, ...]:
    """The static shape of an array of draws; a single number is the length of a vector."""
    sizes = value if isinstance(value, tuple | list) else (value,)
    return tuple(integer(name, size, at_least=0) for size in sizes)


def choice(name: str, value: T, literal: Any) -> T:
    """The value of a `Literal`, the type of the argument, that equals the given one."""
    options = get_args(getattr(literal, "__value__", literal))
    given = plain(value)
    if not isinstance(given, jax.Array | np.ndarray) and isinstance(given, Hashable) and given in options:
        return options[options.index(given)]
    raise refusal(name, "be one of " + ", ".join(map(repr, options)), value)


def dyson_index(beta: T, literal: Any = DysonIndex, name: str = "beta") -> T:
    """The static β of a dense model, the number of real components of an entry; an array must have a known value."""
    options = get_args(literal)
    must = f"be {', '.join(map(str, options[:-1]))} or {options[-1]}"
    if isinstance(beta, Tracer):
        raise refusal(name, must + ", known before tracing (static)", beta)
    not_masked(name, beta)
    number = plain(beta)
    is_number = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    if is_number and number in options:
        return options[options.index(number)]
    raise refusal(name, must, beta)


def is_key(value: object) -> bool:
    """Whether a value is an array of typed keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def typed_key(key: KeyScalar) -> KeyScalar:
    """A single typed key from `jax.random.key`, the only kind of key that the library accepts."""
    if not is_key(key):
        raw = getattr(key, "dtype", None) == np.uint32
        remedy = "; `jax.random.wrap_key_data` makes one of a raw `PRNGKey`" if raw else ""
        raise refusal("key", f"be a typed key from `jax.random.key(seed)`{remedy}", key)
    if key.shape != ():
        raise refusal("key", "be a single key (use `jax.vmap` for several)", key.shape)
    if is_deleted(key):
        raise refusal("key", "not be deleted (or donated to a compiled function)", key)
    return key


# Equinox's variable for errors from inside compiled programs. Unlike in Equinox, they are off here unless it is set.
_RAISES = os.environ.get("EQX_ON_ERROR") in ("raise", "breakpoint")


class Rule(NamedTuple):
    """A condition on the value of a parameter, and its wording."""

    # The condition, a function of the value and the related parameters as NumPy or JAX arrays.
    holds: Callable[..., Any]
    # The end of the message "`scale` must …", or a function of the related parameters that returns it.
    must: str | Callable[..., str]
    # What the message shows of a known value, a function of NumPy arrays; by default the value or its first bad entry.
    fault: Callable[..., str] | None = None

    def kept(self, name: str, value: Any, *others: Any) -> Any:
        """Whether the rule holds: True if all values are known, a traced boolean under a transformation.

        Raises:
            ValueError: all values are known, and the rule does not hold.
        """
        if is_traced((value, others)):
            kept = on_automatic_axes(self.holds)(*in_one_precision((value, *others)))
        else:
            # NumPy, outside of any trace, compiles nothing.
            with at_once():
                kept = np.asarray(self.holds(*jax.tree.map(_on_host, (value, *others))))
        if not isinstance(kept, Tracer):
            if not np.asarray(kept).all():
                # Under `grad` alone the value is a tracer around a known number: show the number.
                known = lambda leaf: jnp.asarray(jax.lax.stop_gradient(leaf)) if isinstance(leaf, Tracer) else leaf
                shown, *related = map(known, (value, *others))
                raise refusal(name, self._words(*related), self._shown(np.asarray(kept), shown, *related))
            return True
        if _RAISES:
            message = f"`{name}` must {self._words(*others)}; a value met under a JAX transformation does not."
            kept = eqx.error_if(kept, ~kept, message)
        return kept

    def _words(self, *others: Any) -> str:
        return self.must if isinstance(self.must, str) else self.must(*others)

    def _shown(self, kept: np.ndarray, value: Any, *others: Any) -> Any:
        if self.fault is not None:
            return Words(self.fault(*jax.tree.map(np.asarray, (value, *others))))
        if kept.shape == np.shape(value) and kept.size > MOST_SHOWN:
            return Words(f"{entry(np.asarray(value), ~kept)} of an array of shape {kept.shape}")
        return value

    def __call__(self, name: str, value: T, *others: Any) -> T:
        """Return `value`, an array or a pytree, if the rule holds; under a transformation NaN where it does not."""
        return masked(self.kept(name, value, *others), value)


def _on_host(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def all_kept(*kept: Any) -> Any:
    """Whether all are valid; each is True or an array of booleans."""
    return reduce(_both, kept)


def _both(one: Any, other: Any) -> Any:
    return other if one is True else one if other is True else jnp.logical_and(*aligned(one, other))


def masked(valid: Any, tree: T) -> T:
    """The arrays with NaN where they are not `valid`, also in derivatives; integers become -1, booleans False.

    `valid` is True, or booleans that broadcast against every array.
    """
    if valid is True:
        return tree
    with mesh_of((valid, tree)), uninspected():
        return jax.tree.map(lambda leaf: _masked(valid, leaf) if isinstance(leaf, jax.Array) else leaf, tree)


def _masked(valid: Array, leaf: Array) -> Array:
    if jnp.issubdtype(leaf.dtype, jnp.integer):
        # A product: before 0.9 JAX does not select from unmapped integers by booleans that are mapped on explicit axes.
        return (leaf + 1) * _in_rank(like(leaf, valid), leaf) - 1
    if leaf.dtype == bool:
        return leaf & valid
    if jnp.iscomplexobj(leaf):
        return jax.lax.complex(_masked(valid, leaf.real), _masked(valid, leaf.imag))
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        # A product, because a `where` would have the derivative 0, and an optimiser would go on with it.
        return leaf * _in_rank(jnp.where(valid, 1.0, jnp.nan), leaf)
    return leaf


def _in_rank(numbers: Array, model: Array) -> Array:
    return numbers if numbers.ndim == 0 else jax.lax.broadcast_to_rank(numbers, model.ndim)


def _is_positive(x: Any) -> Any:
    """Whether a number is positive, also in a program, where XLA takes subnormal numbers for 0."""
    dtype = getattr(x, "dtype", None)
    return x >= _smallest(dtype if dtype is not None and dtype.kind == "f" else jnp.result_type(float))


@cache
def _smallest(dtype: np.dtype) -> float:
    return float(jnp.finfo(dtype).tiny)


POSITIVE = Rule(lambda x: _is_positive(x) & (x < math.inf), "be positive and finite")
POSITIVE_OR_INFINITE = Rule(_is_positive, "be positive")
NONNEGATIVE = Rule(lambda x: (x >= 0) & (x < math.inf), "be finite and not negative")
FINITE = Rule(lambda x: abs(x) < math.inf, "be finite")
FRACTION = Rule(lambda x: (x > 0) & (x <= 1), "lie in (0, 1]")
PROPER_FRACTION = Rule(lambda x: (x > 0) & (x < 1), "lie in (0, 1)")
# For β: at β = ∞ the levels are fixed and have no density.
WITH_DENSITY = Rule(FINITE.holds, "be finite for the levels to have a density")
ALL_FINITE = Rule(lambda x: (abs(x) < math.inf).all(), "be finite")
NO_NAN = Rule(lambda x: x == x, "not be NaN")


def scalar(name: str, value: RealScalarLike, *, nonzero: bool = False) -> Array:
    """A real scalar as an inexact array; a Python number stays weakly typed, so that other inputs decide the dtype.

    If `nonzero`, a positive number must not become 0 in the dtype.
    """
    with at_once():
        array = numbers(name, value, "be a real scalar")
    if array.shape != () or jnp.iscomplexobj(array):
        raise refusal(name, "be a real scalar", value)
    in_range(name, value, array, nonzero=nonzero)
    return array


def static_real(name: str, value: object) -> float:
    """A real number of Python in double precision, which must be known."""
    number = floating(name, value, "be a real number")
    if isinstance(number, list | Tracer) or np.shape(number) != () or np.iscomplexobj(number):
        raise refusal(name, "be a real number, known before tracing (static)", value)
    return float(number)


def positive(name: str, value: RealScalarLike) -> Array:
    """A positive finite scalar."""
    return POSITIVE(name, scalar(name, value, nonzero=True))


ASCENDING_PAIR = Rule(lambda pair: pair[0] < pair[1], "be a pair of ascending real numbers")


def interval(name: str, value: object) -> tuple[Array, Array]:
    """The two ends of an interval, ascending and possibly infinite."""
    given = value
    if isinstance(value, jax.Array | np.ndarray):
        value = numbers(name, value)
    if not isinstance(value, tuple | list | jax.Array) or getattr(value, "ndim", 1) == 0 or len(value) != 2:
        raise refusal(name, str(ASCENDING_PAIR.must), value)
    # The ends are checked as a pair, so that the error shows both.
    ends = in_one_precision(tuple(scalar(name, each) for each in value))
    told_apart(name, given, ends)
    lower, upper = ASCENDING_PAIR(name, ends)
    lower, upper = jnp.broadcast_arrays(lower, upper)
    return lower, upper


def real(name: str, value: object) -> Array:
    """A real array of any shape, of single or double precision."""
    array = numbers(name, value)
    if jnp.iscomplexobj(array):
        raise refusal(name, "be real", array)
    return array


def vector(name: str, value: object) -> Array:
    """A vector of at least one real number, of single or double precision."""
    array = real(name, value)
    if array.ndim != 1 or array.size == 0:
        raise refusal(name, "be a vector of at least one number", array.shape)
    in_range(name, value, array)
    return array


STRICTLY_ASCENDING = Rule(
    lambda edges: (abs(edges) < math.inf).all() & (edges[1:] > edges[:-1]).all(), "be finite and strictly ascending"
)


def edges(name: str, value: object) -> Array:
    """The edges of at least one bin, for `STRICTLY_ASCENDING`."""
    array = real(name, value)
    if array.ndim != 1 or array.size < 2:
        raise refusal(name, "be at least two numbers, such as `jnp.linspace(low, high, 51)` for 50 bins", value)
    in_range(name, value, array)
    told_apart(name, value, array)
    return array


def weakly_typed(name: str, value: Any) -> Any:
    """A list of Python numbers as a vector that, like them, leaves the dtype to other inputs; else the value itself."""
    # An array of the whole list would not be weakly typed.
    if isinstance(value, Sequence) and value and not any(isinstance(each, Sequence) for each in value):
        return jnp.stack([scalar(name, each) for each in value])
    return value


def of_shape(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """A real array that must have a given shape."""
    array = real(name, value)
    if array.shape != shape:
        raise refusal(name, f"have the shape {shape}", array.shape)
    in_range(name, value, array)
    return array


def points(name: str, value: object) -> tuple[Array, Any]:
    """Real points of any shape, which may be infinite, and whether they are valid; a known NaN is refused."""
    array = real(name, value)
    return array, NO_NAN.kept(name, array)


def levels(name: str, value: object, n: int) -> tuple[Array, Any]:
    """A vector of n real numbers, and whether it is valid; a known NaN is refused."""
    array = real(name, value)
    if array.shape != (n,):
        several = " (use `jax.vmap` for several)" if array.ndim > 1 and array.shape[-1] == n else ""
        raise refusal(name, f"have the shape ({n},){several}", array.shape)
    array, valid = points(name, array)
    return array, valid if valid is True else valid.all()


_FINITE_MATRIX = Rule(lambda a: (abs(a) < math.inf).all((-2, -1), keepdims=True), "be finite")


def square_matrix(name: str, value: object) -> Array:
    """A batch of square real or complex matrices, which must be finite; integers become JAX's default float."""
    array = numbers(name, value, "hold real or complex numbers")
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise refusal(name, "have square matrices on its last two axes", array.shape)
    in_range(name, value, array)
    return _FINITE_MATRIX(name, array)


# Probabilities computed in float32 may miss the sum 1 by their rounding only.
def _sum_to_one(p: Any) -> Any:
    return abs(p.sum() - 1) < max(1e-5, p.size * float(np.finfo(np.float32).eps))


POSITIVE_PROBABILITIES = Rule(lambda p: (p > 0).all() & _sum_to_one(p), "be positive and sum to 1")
PROBABILITIES = Rule(lambda p: (p >= 0).all() & _sum_to_one(p), "be non-negative and sum to 1")
