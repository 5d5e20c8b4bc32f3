"""The tail of a sample as a power law on a support, from every value that may be its beginning, in one program."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax._promotion import like
from rmtjax.inference._fits.tail_supports import Point, Support, best_rate, masses

# How many candidates are compared with the sample side by side.
_BLOCK = 32


class Tail(NamedTuple):
    """A fitted tail: the rate α - 1, the beginning, the number of its values and the distance from them."""

    rate: Float[Array, ""]
    begin: Point
    size: Int[Array, ""]
    distance: Float[Array, ""]


def fit_from(support: Support, x: Point, begin: Point) -> Tail:
    """The tail from a given place on; the values ascend, and the logarithm of 0 is -inf."""
    first, begin = begin, support.place(begin)
    tail = x.value >= begin.value
    size = jnp.sum(tail)
    mean = jnp.sum(jnp.where(tail, x.log - begin.log, 0)) / like(x.log, size)
    rate, distance = _fits(support, x, begin.at(None), mean[None], x.log.size - size[None])
    return Tail(rate[0], first, size, distance[0])


def fit_best(support: Support, x: Point, places: Int[np.ndarray, " c"]) -> Tail:
    """The tail with the smallest distance among those that begin at the given places.

    The smallest beginning wins among equals. No tail begins with the largest value
    or with one that equals its predecessor; without a tail all is NaN.
    """
    return _best(support.discrete, support.end, x, places)


@partial(jax.custom_jvp, nondiff_argnums=(0, 3))
def _best(discrete: bool, end: Point | None, x: Point, places: Int[np.ndarray, " c"]) -> Tail:
    support = Support(discrete, end)
    n = x.log.size
    known = jnp.isfinite(x.log)
    # Sums start at the largest value, so that the tails of few values keep their digits.
    depth = jnp.where(known, x.log[-1] - x.log, 0)
    means = depth - jax.lax.cumsum(depth, reverse=True) / jnp.arange(n, 0, -1, dtype=depth.dtype)
    usable = (known & _opens(x) & (x.value < x.value[-1]))[places]
    # Whole numbers have few different values, and thus few tails: these come first, and the loop leaves out the rest.
    order = jnp.sort(jnp.where(usable, places, n))
    order = jnp.pad(order, (0, -places.size % _BLOCK), constant_values=n)

    def block(i: Array, best: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        place = jax.lax.dynamic_slice(order, (i * _BLOCK,), (_BLOCK,))
        there, place = place < n, jnp.minimum(place, n - 1)
        rate, found = _fits(support, x, x.at(place), jnp.where(there, means[place], 1), place)
        found = jnp.where(there & jnp.isfinite(found), found, jnp.inf)
        least = jnp.argmin(found)
        chosen = found[least], rate[least], place[least]
        return jax.tree.map(partial(jnp.where, chosen[0] < best[0]), chosen, best)

    none = means[0] * 0
    number = jnp.sum(usable)
    distance, rate, place = jax.lax.fori_loop(
        0, (number + _BLOCK - 1) // _BLOCK, block, (none + jnp.inf, none + jnp.nan, order[0])
    )
    begin = Point(*(jnp.where(distance < jnp.inf, each[place], jnp.nan) for each in x))
    return Tail(rate, begin, jnp.where(distance < jnp.inf, n - place, 0), distance)


@_best.defjvp
def _slope_of_best(discrete: bool, places: Int[np.ndarray, " c"], primals: tuple, tangents: tuple) -> tuple[Tail, Tail]:
    """The derivative is that of one tail, because its place among the values does not move."""
    found = _best(discrete, *primals, places)

    def tail(end: Point | None, x: Point) -> Tail:
        return fit_from(Support(discrete, end), x, x.at(x.log.size - found.size))

    return found, jax.jvp(tail, primals, tangents)[1]


def _fits(
    support: Support, x: Point, begin: Point, mean: Float[Array, " b"], place: Int[Array, " b"]
) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
    """The rates of the tails from some places on, and the largest distances of the distribution functions.

    They are taken just below each real number, as in Clauset's program. Equal ones are taken one after the other, so
    that both sides of a higher step count, up to 1/size. A law of whole numbers has its steps at them only: both sides
    of each step count.
    """
    n, rate = x.log.size, best_rate(support, begin, mean)
    law = masses(support, rate, begin)
    step = jnp.arange(n)[None] - place[:, None]
    size = like(rate, n - place)[:, None]
    tail, below = step >= 0, like(rate, step) / size
    there = support.place(x)
    at = Point(*(jnp.where(tail, each[None], first[:, None]) for each, first in zip(there, begin, strict=True)))
    above = law.beyond(at) / law.first[:, :1]
    found = jnp.abs(1 - above - below)
    if support.discrete:
        opens = _opens(x)
        closes = jnp.append(opens[1:], True)
        upper = jnp.abs(1 - above + law.power(at) / law.first[:, :1] - below - 1 / size)
        found = jnp.maximum(jnp.where(opens[None], found, 0), jnp.where(closes[None], upper, 0))
    return rate, jnp.max(jnp.where(tail, found, 0), axis=-1)


def _opens(x: Point) -> Array:
    """Whether each of the ascending values differs from the one before it."""
    return jnp.append(True, x.value[1:] > x.value[:-1])
