"""Sums of products of counts, exact beyond 32 bits even if JAX has no 64-bit integers.

A sum is an array with a leading axis of length 2, its words: its value is low + 2³² high. On a device the words are
below 2³², and an addition carries. On the host they are uint64.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt, UInt32

_HALF = 16


def zeros(shape: tuple[int, ...]) -> UInt[np.ndarray, "2 ..."]:
    """Sums of nothing, for the state of a reducer."""
    return np.zeros((2, *shape), np.uint64)


def added(words: UInt[Array, "2 ..."], number: UInt32[Array, "..."]) -> UInt[Array, "2 ..."]:
    """The sums with a number below 2³² added to each, on a device."""
    number = number.astype(jnp.uint32)
    low = words[0].astype(jnp.uint32) + number
    carry = (low < number).astype(words.dtype)
    return jnp.stack([low.astype(words.dtype), words[1] + carry])


def added_product(
    words: UInt[Array, "2 ..."], x: UInt32[Array, "..."], y: UInt32[Array, "..."]
) -> UInt[Array, "2 ..."]:
    """The sums with a product of two numbers below 2³² added to each, by halves of 16 bits, on a device."""
    mask = jnp.uint32(2**_HALF - 1)
    (x0, x1), (y0, y1) = ((each & mask, each >> _HALF) for each in (x, y))
    words = added(words, x0 * y0)
    for middle in (x0 * y1, x1 * y0):
        words = added(words, middle << _HALF).at[1].add((middle >> _HALF).astype(words.dtype))
    return words.at[1].add((x1 * y1).astype(words.dtype))


def merged(left: UInt[np.ndarray, "2 ..."], right: UInt[np.ndarray, "2 ..."]) -> UInt[np.ndarray, "2 ..."]:
    """The sums of both parts, on the host."""
    low, high = left + right
    return np.stack([low & np.uint64(2**32 - 1), high + (low >> np.uint64(32))])


def integers(words: UInt[np.ndarray, "2 ..."]) -> np.ndarray:
    """The sums as Python's unbounded integers, in an array of objects."""
    low, high = np.asarray(words).astype(object)
    return low + high * 2**32
