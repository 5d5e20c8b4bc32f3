"""Random bits and the next key from one call of the generator, which takes a third of a second to compile."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from rmtjax._typing import KeyScalar


def random_words(key: KeyScalar, size: int, dtype: np.dtype) -> tuple[UInt[Array, " size"], KeyScalar]:
    """Random integers as wide as a floating-point type, and a new key made of further random integers."""
    length = jax.random.key_data(key).size
    words = jax.random.bits(key, (size + length,), f"uint{jnp.finfo(dtype).bits}")
    return words[:size], jax.random.wrap_key_data(words[size:].astype(jnp.uint32), impl=jax.random.key_impl(key))


def normal_variates(words: UInt[Array, "*shape"], dtype: np.dtype) -> Float[Array, "*shape"]:
    r"""Standard normal variates $\sqrt2\,\mathrm{erf}^{-1}(u)$ from random words, u on a symmetric grid in (-1, 1)."""
    info = jnp.finfo(dtype)
    u = ((words >> (info.bits - info.nmant)).astype(dtype) + 0.5) * 2.0 ** (1 - info.nmant) - 1
    return 2**0.5 * jax.lax.erf_inv(u)
