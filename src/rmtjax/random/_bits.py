"""Random bits and the next key from one call of the generator, which takes a third of a second to compile."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from rmtjax._typing import KeyScalar


def random_words(key: KeyScalar, size: int, dtype: np.dtype) -> tuple[UInt[Array, " size"], KeyScalar]:
    """Random integers as wide as a floating-point type, and a new key made of further random integers."""
    return cut(words_and_key(key, size, dtype), key)


def words_and_key(key: KeyScalar, size: int, dtype: np.dtype) -> UInt[Array, " all"]:
    """The result of `random_words` as one array: where loops carry it, XLA puts the generator into one kernel only."""
    return jax.random.bits(key, (size + jax.random.key_data(key).size,), f"uint{jnp.finfo(dtype).bits}")


def cut(words: UInt[Array, " all"], key: KeyScalar) -> tuple[UInt[Array, " size"], KeyScalar]:
    """The words, and the key of the same kind as this one that follows them."""
    size = words.size - jax.random.key_data(key).size
    return words[:size], jax.random.wrap_key_data(words[size:].astype(jnp.uint32), impl=jax.random.key_impl(key))


def normal_variates(words: UInt[Array, "*shape"], dtype: np.dtype) -> Float[Array, "*shape"]:
    r"""Standard normal variates $\sqrt2\,\mathrm{erf}^{-1}(u)$ from random words, u on a symmetric grid in (-1, 1)."""
    info = jnp.finfo(dtype)
    u = ((words >> (info.bits - info.nmant)).astype(dtype) + 0.5) * 2.0 ** (1 - info.nmant) - 1
    return 2**0.5 * jax.lax.erf_inv(u)
