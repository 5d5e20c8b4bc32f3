r"""The tail of a sample as a power law, from every value that may be its beginning, in one program.

In the logarithm y of a value a power law is exponential: beyond $y_{\min}$ the density is $a\,e^{-a (y - y_{\min})}$
with $a = \alpha - 1$, and $1/\hat a$ is the mean of $y - y_{\min}$ over the tail.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax._promotion import like

# How many candidates are compared with the sample side by side.
_BLOCK = 32


class Tail(NamedTuple):
    """A fitted tail: the rate a, the beginning in y, the number of its values and the distance from them."""

    rate: Float[Array, ""]
    start: Float[Array, ""]
    size: Int[Array, ""]
    distance: Float[Array, ""]


def fit_from(y: Float[Array, " n"], start: Float[Array, ""]) -> Tail:
    """The tail that begins at a given place; y ascends and may begin with -inf."""
    tail = y >= start
    size = jnp.sum(tail)
    total = jnp.sum(jnp.where(tail, y - start, 0))
    rate = like(y, size) / total
    steps = jnp.arange(y.size) - (y.size - size)
    return Tail(rate, start, size, _distance(y, start, rate, steps, size, tail))


def fit_best(y: Float[Array, " n"], places: Int[np.ndarray, " c"]) -> Tail:
    """The tail with the smallest distance among the tails that begin at the given places.

    The smallest value wins among equals. No tail begins with the largest value or with one that equals its predecessor.
    """
    found, candidates = _distances(y, places)
    best = jnp.argmin(found)
    start = jnp.where(found[best] < jnp.inf, y[candidates[best]], jnp.nan)
    # The tail is computed once more, so that derivatives go through one tail and not through all.
    return fit_from(y, start)


def best_distance(y: Float[Array, " n"], places: Int[np.ndarray, " c"]) -> Float[Array, ""]:
    """The distance of the tail of `fit_best`, infinite if there is no tail."""
    return jnp.min(_distances(y, places)[0])


def _distances(y: Float[Array, " n"], places: Int[np.ndarray, " c"]) -> tuple[Float[Array, " c"], Int[Array, " c"]]:
    """The distances of the tails, infinite where there is no tail, and their places, some twice."""
    n = y.size
    # Sums start at the largest value, so that the tails of few values keep their digits.
    known = jnp.isfinite(y)
    depth = jnp.where(known, y[-1] - y, 0)
    sizes = jnp.arange(n, 0, -1)
    numbers = like(y, sizes)
    totals = numbers * depth - jnp.flip(jnp.cumsum(jnp.flip(depth)))
    usable = known & jnp.concatenate([jnp.ones(1, bool), y[1:] > y[:-1]]) & (y < y[-1])
    rates = jnp.where(usable, numbers / jnp.where(usable, totals, 1), 1)

    # Blocks have one size, because a rest would be a second program. The last candidate fills the last block.
    blocks = np.pad(places, (0, -places.size % _BLOCK), mode="edge").reshape(-1, _BLOCK)

    def distances(block: Int[Array, " b"]) -> Float[Array, " b"]:
        begin = block[:, None]
        tail = jnp.arange(n)[None] >= begin
        return _distance(y[None], y[begin], rates[begin], jnp.arange(n)[None] - begin, sizes[begin], tail)

    found = jax.lax.stop_gradient(jax.lax.map(distances, jnp.asarray(blocks))).ravel()
    return jnp.where(usable[blocks.ravel()], found, jnp.inf), jnp.asarray(blocks.ravel())


def _distance(
    y: Float[Array, "*#b n"],
    start: Float[Array, "..."],
    rate: Float[Array, "..."],
    steps: Int[Array, "*b n"],
    size: Int[Array, "..."],
    tail: Bool[Array, "*b n"],
) -> Float[Array, "*b"]:
    """The largest distance of the distribution functions just below each value, as in Clauset's program.

    Equal values are taken one after the other. So both sides of a higher step count, up to 1/size.
    """
    law = -jnp.expm1(-rate * jnp.where(tail, y - start, 0))
    return jnp.max(jnp.where(tail, jnp.abs(law - like(y, steps) / like(y, size)), 0), axis=-1)
