"""What sums and products of two laws share: the levels of their gaps and their atoms."""

from collections.abc import Callable

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


def atoms_of_pairs(
    a: AbstractSpectralLaw, b: AbstractSpectralLaw, combined: Callable[[Array, Array], Array]
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """The atoms of a composed law: two atoms whose masses are more than 1 together give one with what is more than 1.

    One of the two has a mass of more than ½, and no law has two such atoms. So the candidates are the largest atom of
    each law with all atoms of the other one.
    """
    (places, masses), (others, weights) = a._atoms(), b._atoms()
    if not (places.size and others.size):
        return places[:0], masses[:0]
    largest, heaviest = jnp.argmax(masses), jnp.argmax(weights)
    locations = jnp.concatenate([combined(places, others[heaviest]), combined(places[largest], others)])
    left = jnp.concatenate([masses + weights[heaviest] - 1, masses[largest] + weights - 1])
    # The pair of the two largest is in both lists.
    again = jnp.arange(left.size) == masses.size + heaviest
    return locations, jnp.where(again, 0, jnp.maximum(left, 0))
