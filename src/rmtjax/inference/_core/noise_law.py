"""The levels of noise of unit variance, by the law of Marčenko and Pastur."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.laws import MarchenkoPastur


def median_level(ratio: Float[Array, "..."]) -> Float[Array, "..."]:
    """The median of the law for each ratio; there is no atom at 0 up to the ratio 1."""
    return jnp.vectorize(_median, signature="()->()")(ratio)


def _median(ratio: Float[Array, ""]) -> Float[Array, ""]:
    return MarchenkoPastur(ratio).median()
