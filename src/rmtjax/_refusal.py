"""The wording of errors: an argument, what it must be and what it was."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def refusal(name: str, must: str, got: object) -> ValueError:
    """The error that every check raises: it names the argument, what it must be and what it was."""
    shown = tuple(map(plain, got)) if isinstance(got, tuple) else plain(got)
    return ValueError(f"`{name}` must {must}, got {shown!r}.")


class Words(str):
    """What an error says it got, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# Longer arrays and lists are not shown whole.
MOST_SHOWN = 8
# Python itself refuses to write integers of more than 4300 digits.
_MOST_BITS = 1024


def plain(value: object) -> object:
    """The number in a scalar array, a summary of a long array, list or integer, and any other value unchanged."""
    if isinstance(value, list):
        return [*map(plain, value)] if len(value) <= MOST_SHOWN else Words(f"a list of length {len(value)}")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return Words(f"an integer of {int(math.log10(abs(value))) + 1} digits")
    if hasattr(value, "toarray"):
        return Words(f"a sparse matrix of shape {getattr(value, 'shape', None)} (`.toarray()` makes an array of it)")
    if not isinstance(value, jax.Array | np.ndarray) or isinstance(value, Tracer):
        return value
    if is_deleted(value):
        return Words("a deleted array")
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return Words("a random key" if value.ndim == 0 else f"random keys of shape {value.shape}")
    if not jnp.issubdtype(value.dtype, jnp.number) or (isinstance(value, jax.Array) and not value.is_fully_addressable):
        return value
    if value.shape == ():
        return value.item()
    return value if value.size <= MOST_SHOWN else _summary(np.asarray(value))


def is_deleted(value: object) -> bool:
    """Whether an array was deleted, for instance because it was donated to a compiled function."""
    return isinstance(value, jax.Array) and not isinstance(value, Tracer) and value.is_deleted()


def _summary(array: np.ndarray) -> Words:
    """Dtype and shape of an array, with its first number that is not finite, or else its range."""
    kind = f"{array.dtype.name} of shape {array.shape}"
    infinite = ~(abs(array) < math.inf)
    if infinite.any():
        return Words(f"{kind} with {entry(array, infinite)}")
    return Words(kind if np.iscomplexobj(array) else f"{kind} from {array.min()!s} to {array.max()!s}")


def entry(array: np.ndarray, chosen: np.ndarray) -> str:
    """The first chosen entry and its place."""
    place = tuple(map(int, np.argwhere(chosen)[0]))
    return f"{array[place]!s} at {list(place)}"
