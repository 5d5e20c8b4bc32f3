"""What the values of a tail must be, whether they are whole numbers, and their logarithms."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._units import unit_of


def are_counts(values: Any, array: Array) -> bool:
    """Whether numbers are known to be whole: by their type, or because all are and some are equal."""
    if are_integers(values):
        return True
    if isinstance(array, Tracer):
        return False
    known = np.asarray(array)
    # Floats beyond this are always whole, so that says nothing.
    if not (known == np.floor(known)).all() or known.max() >= _beyond(known):
        return False
    known = np.sort(known, axis=-1)
    return bool(((known[..., 1:] == known[..., :-1]) & (known[..., 1:] > 0)).any())


def are_integers(values: Any) -> bool:
    """Whether the dtype is one of integers."""
    kind = getattr(values, "dtype", None)
    return kind is not None and jnp.issubdtype(kind, jnp.integer)


def _beyond(values: Any) -> float:
    """The number from which on a floating-point dtype does not have all whole numbers."""
    return 2 / float(jnp.finfo(values.dtype).eps)


def logarithms(ascending: Float[Array, " n"]) -> tuple[Float[Array, ""], Float[Array, " n"]]:
    """A unit near the largest value and the logarithms in it; that of 0 is -inf."""
    positive = ascending > 0
    unit = unit_of(ascending[-1])
    return unit, jnp.where(positive, log_in(jnp.where(positive, ascending, unit), unit), -jnp.inf)


def log_in(values: Float[Array, "..."], unit: Float[Array, ""]) -> Float[Array, "..."]:
    """The logarithms of positive values in a unit, with small errors near it; the quotient may underflow."""
    quotient = values / unit
    normal = quotient >= jnp.finfo(values.dtype).tiny
    return jnp.where(normal, jnp.log(jnp.where(normal, quotient, 1)), jnp.log(values) - jnp.log(unit))


def _varied(values: Any, minimum: Any) -> Any:
    """Whether three different values are in the tail."""
    xp: Any = np if isinstance(values, np.ndarray) and isinstance(minimum, np.ndarray) else jnp
    ordered = xp.sort(values, axis=-1)
    rises = (ordered[..., 1:] > ordered[..., :-1]) & (ordered[..., :-1] > 0) & (ordered[..., :-1] >= minimum)
    return rises.sum(-1) >= 2


def _occur(values: Any, minimum: Any) -> tuple[Any, Any, Any]:
    """The ascending values, whether each occurs in the tail more often than chance would have it, and the tail's size.

    A value is too frequent if it has more than the root of the size: the step there is as high as the distance of a
    sample from its law.
    """
    xp: Any = np if isinstance(values, np.ndarray) and isinstance(minimum, np.ndarray) else jnp
    ordered = xp.sort(values, axis=-1)
    tail = (ordered > 0) & (ordered >= minimum)
    size = tail.sum(-1, keepdims=True)
    most = xp.maximum(xp.floor(xp.sqrt(size)), 3).astype(int)
    place = xp.cumsum(xp.ones_like(ordered, dtype=int), axis=-1) - 1 + most
    last = ordered.shape[-1] - 1
    same = xp.take_along_axis(ordered, xp.minimum(place, last), axis=-1) == ordered
    return ordered, same & (place <= last) & tail, size


def _fine(values: Any, minimum: Any) -> Any:
    if isinstance(values, np.ndarray):
        ordered = np.sort(values, axis=-1)
        if not (ordered[..., 1:] == ordered[..., :-1]).any():
            return np.ones(values.shape[:-1], bool)
    return ~_occur(values, minimum)[1].any(-1)


def _repeated(values: np.ndarray, minimum: np.ndarray) -> str:
    ordered, often, size = _occur(values, minimum)
    vector = int(np.argmax(often.any(-1).ravel()))
    one = ordered.reshape(-1, ordered.shape[-1])[vector]
    found, number = np.unique(one[one >= max(minimum, np.finfo(one.dtype).tiny)], return_counts=True)
    return f"{number.max()} of {size.ravel()[vector]} values equal to {found[number.argmax()]:.6g}"


VARIED = _checks.Rule(
    _varied, lambda minimum: f"have at least 3 different positive numbers{f' from {minimum} on' if minimum > 0 else ''}"
)
FINE = _checks.Rule(
    _fine,
    "not be rounded so coarsely (divide by the step and pass whole numbers with `discrete=True`; or take a larger "
    "`minimum`; or `discrete=False` takes them as they are)",
    _repeated,
)
WHOLE = _checks.Rule(
    lambda values: (values % 1 == 0).all(-1), "be whole numbers where `discrete` is True (or an integer dtype)"
)
EXACT = _checks.Rule(
    lambda values: (values < _beyond(values)).all(-1),
    "be integers that the floating-point numbers resolve, below 2^24 in float32 and 2^53 in float64 "
    "(`values.astype(float)` with `discrete=True` takes them rounded)",
)
NOT_ABOVE = _checks.Rule(
    lambda values, maximum: (values <= maximum).all(-1), lambda maximum: f"not exceed the `maximum` {maximum}"
)
