"""Argument checks: one wording for every error of the library.

Two grades. A fact known before any number is computed (a size, a name, a shape, a dtype) is a `ValueError` at
once. A fact about values is a `ValueError` where the value is at hand, and an `eqx.error_if` under a transformation,
threaded on the value that the computation goes on with (an unused check would be deleted).
"""

import operator
from collections.abc import Callable, Iterable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from rmtjax._typing import KeyScalar, RealScalarLike

T = TypeVar("T")


def refusal(name: str, must: str, got: object) -> ValueError:
    """The error that every check raises: the argument, what it must be, what it was."""
    shown = tuple(map(_plain, got)) if isinstance(got, tuple) else _plain(got)
    return ValueError(f"`{name}` must {must}, got {shown!r}.")


def _plain(value: object) -> object:
    """A scalar array as the number that it holds."""
    if isinstance(value, jax.Array | np.ndarray) and not isinstance(value, Tracer) and value.shape == ():
        return value.item() if jnp.issubdtype(value.dtype, jnp.number) else value  # keys have no item
    return value


def integer(name: str, value: object, *, at_least: int) -> int:
    """A static whole number, e.g. a matrix size; booleans and floats are refused."""
    must = f"be an integer of at least {at_least}"
    if isinstance(value, Tracer):
        raise refusal(name, must + ", known before tracing (static)", value)
    if isinstance(value, bool):
        raise refusal(name, must, value)
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise refusal(name, must, value) from None
    if number < at_least:
        raise refusal(name, must, value)
    return number


def choice(name: str, value: T, options: Iterable[T]) -> T:
    """One of a few named options."""
    options = tuple(options)
    if value not in options:
        raise refusal(name, "be one of " + ", ".join(map(repr, options)), value)
    return value


def dyson_index(beta: object, options: tuple[int, ...] = (1, 2, 4)) -> int:
    """The β of a dense model: the number of real components of an entry; static, so that only a known array will do."""
    must = f"be {', '.join(map(str, options[:-1]))} or {options[-1]}"
    if isinstance(beta, Tracer):
        raise refusal("beta", must + ", known before tracing (static)", beta)
    number = _plain(beta)
    if isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool):
        for option in options:
            if number == option:
                return option
    raise refusal("beta", must, beta)


def typed_key(key: KeyScalar) -> KeyScalar:
    """One typed key, as `jax.random.key` makes; the policy of the whole library."""
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)):
        raise refusal("key", "be a typed key from `jax.random.key(seed)`", key)
    if key.shape != ():
        raise refusal("key", "be a single key (use `jax.vmap` for several)", key)
    return key


def require(value: T, holds: Callable[..., Array], name: str, must: str, *others: Array) -> T:
    """Return `value`, an array or a pytree, having made sure that `holds(value, *others)` is everywhere true.

    Raises at once where all is known, inside a traced function too; otherwise the value carries the check with it.
    """
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((value, others))):
        message = f"`{name}` must {must}; a value met under a JAX transformation does not."
        return eqx.error_if(value, ~holds(value, *others), message)
    with jax.ensure_compile_time_eval():
        if not bool(jnp.all(holds(value, *others))):
            raise refusal(name, must, value)
    return value


def _array(name: str, value: object, must: str = "be numbers") -> Array:
    """Numbers as an array."""
    try:
        with np.errstate(over="ignore"):  # whoever minds an overflow says so himself
            return jnp.asarray(value)
    except OverflowError:  # integers wider than JAX's
        return _array(name, jax.tree.map(float, value), must)
    except (TypeError, ValueError):
        raise refusal(name, must, value) from None


def full_precision(name: str, array: Array) -> Array:
    """An inexact array that is not of half precision, for which nothing here is made."""
    if jnp.finfo(array.dtype).bits not in (32, 64):
        raise refusal(name, "be of single or double precision", array.dtype.name)
    return array


def _not_overflowed(name: str, value: object, array: Array) -> None:
    """Refuse finite numbers that are none of the array's dtype."""
    if isinstance(value, jax.Array) or isinstance(array, Tracer):
        return
    lost = np.isfinite(np.asarray(value, float)) & np.isinf(np.asarray(array))
    if lost.any():
        largest = f"the largest {array.dtype.name} (`jax_enable_x64` allows for more)"
        raise refusal(name, f"not exceed {jnp.finfo(array.dtype).max:.2g}, {largest}", value)


def _parameter(name: str, value: RealScalarLike) -> Array:
    """A real scalar as an inexact array; a Python number stays weakly typed, so that inputs decide the dtype."""
    with jax.ensure_compile_time_eval():
        array = value if isinstance(value, jax.Array) else _array(name, value, "be a real scalar")
    if array.shape != () or jnp.iscomplexobj(array):
        raise refusal(name, "be a real scalar", value)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        with jax.ensure_compile_time_eval():
            array = array * 1.0
    full_precision(name, array)
    _not_overflowed(name, value, array)
    return array


def positive(name: str, value: RealScalarLike, *, finite: bool = True) -> Array:
    """A scalar above 0; infinity is refused unless told otherwise."""
    if not finite:
        return require(_parameter(name, value), lambda x: x > 0, name, "be positive")
    return require(_parameter(name, value), lambda x: (x > 0) & (x < jnp.inf), name, "be positive and finite")


def nonnegative(name: str, value: RealScalarLike) -> Array:
    """A finite scalar of at least 0."""
    return require(_parameter(name, value), lambda x: (x >= 0) & (x < jnp.inf), name, "be finite and not negative")


def finite(name: str, value: RealScalarLike) -> Array:
    """A finite scalar."""
    return require(_parameter(name, value), jnp.isfinite, name, "be finite")


def interval(name: str, value: object) -> tuple[Array, Array]:
    """Two ascending ends, which may be infinite."""
    must = "be a pair of ascending real numbers"
    if (
        not isinstance(value, tuple | list | jax.Array | np.ndarray)
        or getattr(value, "ndim", 1) == 0
        or len(value) != 2
    ):
        raise refusal(name, must, value)
    ends = tuple(_parameter(name, each) for each in value)
    # As a pair the refusal shows both.
    lower, upper = require(ends, lambda pair: pair[0] < pair[1], name, must)
    lower, upper = jnp.broadcast_arrays(lower, upper)
    return lower, upper


def fraction(name: str, value: RealScalarLike) -> Array:
    """A scalar in (0, 1]."""
    return require(_parameter(name, value), lambda x: (x > 0) & (x <= 1), name, "lie in (0, 1]")


def at_least(name: str, value: RealScalarLike, bound: float) -> Array:
    """A scalar not below a bound, infinity included."""
    return require(_parameter(name, value), lambda x: x >= bound, name, f"be at least {bound}")


def real(name: str, value: object) -> Array:
    """A real array of any shape, promoted to an inexact dtype."""
    array = _array(name, value)
    if jnp.iscomplexobj(array):
        raise refusal(name, "be real", array)
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)


def vector(name: str, value: object) -> Array:
    """A vector of at least one real number, of single or double precision."""
    array = full_precision(name, real(name, value))
    if array.ndim != 1 or array.size == 0:
        raise refusal(name, "be a vector of at least one number", array.shape)
    _not_overflowed(name, value, array)
    return array


def probabilities(name: str, value: object, shape: tuple[int, ...], *, positive: bool = True) -> Array:
    """Numbers above 0, or at least 0, that sum to 1."""
    array = real(name, value)
    if array.shape != shape:
        raise refusal(name, f"have the shape {shape}", array.shape)
    # Those computed in float32 may miss 1 by their own rounding, not by more.
    tolerance = max(1e-5, array.size * float(jnp.finfo(jnp.float32).eps))
    proper = lambda p: ((p > 0) | (not positive) & (p == 0)).all() & (jnp.abs(p.sum() - 1) < tolerance)
    return require(array, proper, name, f"be {'positive' if positive else 'non-negative'} and sum to 1")


def points(name: str, value: object) -> Array:
    """Real points of any shape, infinities included, without NaN."""
    return require(real(name, value), lambda x: ~jnp.isnan(x), name, "not be NaN")


def levels(name: str, value: object, n: int) -> Array:
    """A vector of n real numbers without NaN."""
    array = points(name, value)
    if array.shape != (n,):
        several = " (use `jax.vmap` for several)" if array.ndim > 1 and array.shape[-1] == n else ""
        raise refusal(name, f"have the shape ({n},){several}", array.shape)
    return array


def square_matrix(name: str, value: object) -> Array:
    """A batch of square real or complex matrices without NaN or infinity; whole numbers become those of JAX's float."""
    array = _array(name, value)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise refusal(name, "have square matrices on its last two axes", array.shape)
    if array.dtype == bool or jnp.issubdtype(array.dtype, jnp.integer):
        array = array.astype(float)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        raise refusal(name, "hold real or complex numbers", array.dtype.name)
    return require(full_precision(name, array), jnp.isfinite, name, "be finite")
