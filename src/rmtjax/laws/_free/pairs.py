"""The levels of the gaps of sums and products of two laws."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._promotion import in_one_precision
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._free.gaps import are_few


def levels_of_pairs(a: AbstractSpectralLaw, b: AbstractSpectralLaw) -> Float[Array, " k"]:
    """The levels α + β or α + β - 1 at which the composed law may have a gap; none if there are more than 64."""
    first, second = in_one_precision((a._gap_levels(), b._gap_levels()))
    number = (first.size + 1) * (second.size + 1) - 1
    if not are_few(number):
        return first[:0]
    zero = jnp.zeros_like(first, shape=1)
    sums = jnp.add.outer(jnp.concatenate([zero, first]), jnp.concatenate([zero, second])).ravel()[1:]
    return jnp.sort(jnp.where(sums >= 1, sums - 1, sums))
