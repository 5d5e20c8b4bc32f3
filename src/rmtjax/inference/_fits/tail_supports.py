r"""Power laws $\propto x^{-\alpha}$ of whole numbers, and power laws that end at a largest value.

Sums over whole numbers from x on are the Euler-Maclaurin series

$$\sum_{k=x}^{b} k^{-\alpha} = \int_x^{b+1} k^{-\alpha}\,dk + E(x) - E(b + 1), \qquad
E(x) = x^{-\alpha} \Big(\frac12 + \sum_{j\ge1} \frac{B_{2j}}{(2j)!} \frac{\alpha (\alpha + 1) \cdots (\alpha + 2j - 2)}
{x^{2j-1}}\Big),$$

five terms of it, after the first 24 numbers one by one. Everything is relative to the power of the first number.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax._promotion import like
from rmtjax.special.internal import exp_slope, log_slope

# How many numbers are added one by one, and the coefficients B_2j / (2j)! behind them.
_FIRST = 24
_BERNOULLI = 1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160
# How many candidates are compared with the sample side by side.
_BLOCK = 32
# Secants that reach the last digit for every rate from 0.01 to 1000, and some more.
_SECANTS = 20


class Point(NamedTuple):
    """Whole numbers and their logarithms, or, for real numbers, twice their logarithms in any one unit.

    Values are compared with each other by the first, because equal numbers may have logarithms that differ by rounding.
    """

    value: Float[Array, "..."]
    log: Float[Array, "..."]

    def at(self, index: Array) -> "Point":
        """Some of the values."""
        return Point(self.value[index], self.log[index])


class Support(NamedTuple):
    """What a power law is a law of: whole or real numbers, without end or up to an end.

    The end of whole numbers is the first one beyond them.
    """

    discrete: bool
    end: Point | None


class Tail(NamedTuple):
    """A fitted tail: the rate α - 1, the beginning, the number of its values and the distance from them."""

    rate: Float[Array, ""]
    begin: Point
    size: Int[Array, ""]
    distance: Float[Array, ""]


def fit_from(support: Support, x: Point, begin: Point) -> Tail:
    """The tail from a given place on; the values ascend, and the logarithm of 0 is -inf."""
    tail = x.value >= begin.value
    size = jnp.sum(tail)
    mean = jnp.sum(jnp.where(tail, x.log - begin.log, 0)) / like(x.log, size)
    rate = best_rate(support, begin, mean)
    below, upto = _ranks(x)
    first = x.log.size - size
    one = Point(begin.value[None], begin.log[None])
    steps = (below - first)[None], (upto - first)[None]
    distance = _distances(support, x, one, rate[None], steps, size, tail[None])
    return Tail(rate, begin, size, distance[0])


def fit_best(support: Support, x: Point, places: Int[np.ndarray, " c"]) -> Tail:
    """The tail with the smallest distance among those that begin at the given places; the smallest beginning wins."""
    distance, place, rate = _search(support, jax.lax.stop_gradient(x), places)
    there = distance < jnp.inf
    begin = Point(*(jnp.where(there, each[place], jnp.nan) for each in x))
    return Tail(jnp.where(there, rate, jnp.nan), begin, jnp.where(there, x.log.size - place, 0), distance)


def best_distance(support: Support, x: Point, places: Int[np.ndarray, " c"]) -> Float[Array, ""]:
    """The distance of the tail of `fit_best`."""
    return _search(support, x, places)[0]


def _search(support: Support, x: Point, places: Int[np.ndarray, " c"]) -> tuple[Array, Array, Array]:
    """The smallest distance, infinite if there is no tail, its place and its rate."""
    n = x.log.size
    known = jnp.isfinite(x.log)
    # Sums start at the largest value, so that the tails of few values keep their digits.
    depth = jnp.where(known, x.log[-1] - x.log, 0)
    sizes = jnp.arange(n, 0, -1)
    means = depth - jnp.flip(jnp.cumsum(jnp.flip(depth))) / like(depth, sizes)
    below, upto = _ranks(x)
    usable = (known & (below == jnp.arange(n)) & (x.value < x.value[-1]))[places]
    # Whole numbers have few different values, and thus few tails: these come first, and the loop leaves out the rest.
    padded = np.pad(places, (0, -places.size % _BLOCK), mode="edge")
    last = jnp.pad(usable, (0, padded.size - places.size))
    order = jnp.asarray(padded)[jnp.argsort(~last, stable=True)]
    number = jnp.sum(last)

    def block(i: Array, best: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        begin = jax.lax.dynamic_slice(order, (i * _BLOCK,), (_BLOCK,))
        there = i * _BLOCK + jnp.arange(_BLOCK) < number
        start = x.at(begin)
        rate = best_rate(support, start, jnp.where(there, means[begin], 1))
        tail = jnp.arange(n)[None] >= begin[:, None]
        steps = below[None] - begin[:, None], upto[None] - begin[:, None]
        found = _distances(support, x, start, rate, steps, sizes[begin][:, None], tail)
        found = jnp.where(there & jnp.isfinite(found), found, jnp.inf)
        least = jnp.argmin(found)
        there = found[least], begin[least], rate[least]
        return jax.tree.map(partial(jnp.where, found[least] < best[0]), there, best)

    start = jnp.full((), jnp.inf, depth.dtype), order[0], jnp.zeros((), depth.dtype)
    return jax.lax.fori_loop(0, (number + _BLOCK - 1) // _BLOCK, block, start)


def _ranks(x: Point) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """How many of the ascending values are below each, and how many are not above it."""
    n = x.log.size
    rises = x.value[1:] > x.value[:-1]
    end = jnp.ones(1, bool)
    below = jax.lax.cummax(jnp.where(jnp.concatenate([end, rises]), jnp.arange(n), 0))
    upto = jax.lax.cummin(jnp.where(jnp.concatenate([rises, end]), jnp.arange(1, n + 1), n), reverse=True)
    return below, upto


def _distances(
    support: Support,
    x: Point,
    begin: Point,
    rate: Float[Array, " b"],
    steps: tuple[Int[Array, "b n"], Int[Array, "b n"]],
    size: Int[Array, "..."],
    tail: Bool[Array, "b n"],
) -> Float[Array, " b"]:
    """The largest distances of the distribution functions.

    Both sides of each step count, for real numbers up to 1/size; a law of whole numbers has its steps at them only.
    """
    begin, rate, x = Point(begin.value[:, None], begin.log[:, None]), rate[:, None], Point(x.value[None], x.log[None])
    at = Point(jnp.where(tail, x.value, begin.value), jnp.where(tail, x.log, begin.log))
    masses = _first_masses(support, rate, begin)
    from_here = _mass_from(support, rate, begin, at, masses) / masses[..., :1]
    below, upto = (like(x.log, each) / like(x.log, size) for each in steps)
    lower = jnp.abs(1 - from_here - below)
    if support.discrete:
        point = jnp.exp(_log_power(support, rate, begin, at)) / masses[..., :1]
        upper = jnp.abs(1 - from_here + point - upto)
    else:
        upper = jnp.abs(1 - from_here - (upto - 1 / like(x.log, size)))
    return jnp.max(jnp.where(tail, jnp.maximum(lower, upper), 0), axis=-1)


def best_rate(support: Support, begin: Point, mean: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """The rate at which the mean logarithm of x/begin has a given value, by secants; without derivatives.

    Without an end the logarithm of the mean is a convex function of the rate, and the secants start below the root;
    with an end, the logarithm of the quotient of its distances from both ends is nearly odd.
    """
    mean, begin, end = jax.lax.stop_gradient((mean, begin, support.end))
    support = Support(support.discrete, end)
    if support.end is None:
        # Equation 3.7 of Clauset, Shalizi and Newman, which is slightly too small.
        half = -jnp.log1p(-0.5 / begin.value) if support.discrete else 0
        start = 1 / (mean + half)
        after = 0.9 * start
        height = lambda value: jnp.log(value / mean)
    else:
        top = jnp.log(support.end.value - 1) if support.discrete else support.end.log
        longest = top - begin.log
        start, after = 0 * mean, jnp.where(mean < longest / 2, 1, -1) / longest
        height = lambda value: jnp.log(value / mean) - jnp.log((longest - value) / (longest - mean))

    def step(_: int, last: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, high, rate = last
        found = height(mean_logarithm(support, rate, begin))
        secant = found * (rate - before) / (found - high)
        moved = jnp.where(high == jnp.inf, after, rate - jnp.where(jnp.isfinite(secant), secant, 0))
        if support.end is None:
            moved = jnp.maximum(moved, rate / 8)
        return rate, found, moved

    return jax.lax.fori_loop(0, _SECANTS, step, (start, jnp.full_like(start, jnp.inf), start))[2]


def mean_logarithm(support: Support, rate: Float[Array, "*b"], begin: Point) -> Float[Array, "*b"]:
    """The mean of the logarithm of x/begin, which is a derivative of the logarithm of the sum."""
    return -jax.jvp(lambda rate: log_total(support, rate, begin), (rate,), (jnp.ones_like(rate),))[1]


def log_total(support: Support, rate: Float[Array, "*b"], begin: Point) -> Float[Array, "*b"]:
    """The logarithm of the sum of (x/begin)^-α, or of the integral over x/begin."""
    begin, rate = Point(begin.value[..., None], begin.log[..., None]), rate[..., None]
    total = _first_masses(support, rate, begin)[..., 0]
    return jnp.log(total) + _largest(support, rate, begin)[..., 0]


def draw(support: Support, tail: Tail, u: Float[Array, " n"]) -> Point:
    """Values of the law from uniform variates in [0, 1), by inversion, which is exact for whole numbers."""
    if not support.discrete:
        longest = None if support.end is None else support.end.log - tail.begin.log
        y = tail.begin.log + _inverse(tail.rate, u, longest)
        return Point(y, y)
    rate, begin = tail.rate[None], Point(tail.begin.value[None], tail.begin.log[None])
    masses = _first_masses(support, rate, begin)
    # A value is at least k if the mass from k on exceeds this one.
    mass = (1 - u) * masses[0]
    early = jnp.sum(mass[:, None] <= masses[None, 1:], axis=-1)
    # Beyond the first numbers, a sum is the integral from half a number earlier, but for less than a number.
    half = begin.value + _FIRST - 0.5
    at_half = Point(half, jnp.log(half))
    end = None if support.end is None else support.end.value - 0.5
    longest = None if end is None else jnp.log(end / half)
    integral = 1 / rate if longest is None else longest * exp_slope(-rate * longest)
    share = mass / (half * integral * jnp.exp(_log_power(support, rate, begin, at_half)))
    depth = -jnp.log(share) / rate if longest is None else _inverse(rate, 1 - share, longest)
    k = jnp.floor(half * jnp.exp(depth) + 0.5)
    k = jnp.maximum(k, begin.value + _FIRST)
    at = lambda k: _mass_from(support, rate, begin, Point(k, jnp.log(k)), masses)
    k = k + like(k, mass <= at(k + 1)) - like(k, mass > at(k))
    value = jnp.where(early < _FIRST, begin.value + like(u, early), k)
    if support.end is not None:
        value = jnp.minimum(value, support.end.value - 1)
    return Point(value, jnp.log(value))


def _inverse(rate: Float[Array, "..."], u: Float[Array, " n"], longest: Float[Array, "..."] | None) -> Array:
    """The logarithm of x/begin below which the law of real numbers has the mass u."""
    if longest is None:
        return -jnp.log1p(-u) / rate
    part = u * longest * exp_slope(-rate * longest)
    return jnp.minimum(part * log_slope(-rate * part), longest)


def _first_masses(support: Support, rate: Float[Array, "*b 1"], begin: Point) -> Float[Array, "*b k"]:
    """The sums from each of the first 24 numbers and from the next one on; for real numbers the whole integral."""
    if not support.discrete:
        return _by_series(support, rate, begin, begin)
    offset = jax.lax.broadcast_to_rank(jnp.arange(_FIRST, dtype=rate.dtype), rate.ndim)
    value = begin.value + offset
    power = jnp.exp(-(rate + 1) * jnp.log1p(offset / begin.value) - _largest(support, rate, begin))
    after = begin.value + _FIRST
    if support.end is not None:
        power, after = jnp.where(value < support.end.value, power, 0), jnp.minimum(after, support.end.value)
    at = Point(after, begin.log + jnp.log1p((after - begin.value) / begin.value))
    rest = _by_series(support, rate, begin, at)
    terms = jnp.concatenate([power, jnp.broadcast_to(rest, (*power.shape[:-1], 1))], axis=-1)
    return jnp.flip(jnp.cumsum(jnp.flip(terms, -1), -1), -1)


def _mass_from(support: Support, rate: Array, begin: Point, at: Point, masses: Array) -> Array:
    """The mass from a value on."""
    series = _by_series(support, rate, begin, at)
    if not support.discrete:
        return series
    offset = at.value - begin.value
    place = jnp.minimum(offset, _FIRST).astype(jnp.int32)
    if masses.ndim == 1:
        first = masses[place]
    else:
        first = jnp.take_along_axis(masses, jnp.broadcast_to(place, (masses.shape[0], place.shape[-1])), axis=-1)
    return jnp.where(offset < _FIRST, first, series)


def _by_series(support: Support, rate: Array, begin: Point, at: Point) -> Array:
    """The integral from a value on, or the sum by the series of Euler and Maclaurin."""
    if support.end is None:
        integral = 1 / rate
    else:
        depth = jnp.maximum(support.end.log - at.log, 0)
        integral = depth * exp_slope(-rate * depth)
    power = jnp.exp(_log_power(support, rate, begin, at))
    if not support.discrete:
        return power * integral
    mass = power * (at.value * integral + _ends(rate + 1, at.value))
    if support.end is None:
        return mass
    last = jnp.exp(_log_power(support, rate, begin, support.end))
    return jnp.where(at.value < support.end.value, mass - last * _ends(rate + 1, support.end.value), 0)


def _log_power(support: Support, rate: Array, begin: Point, at: Point) -> Array:
    """The logarithm of the summand, in a unit near the largest one; for real numbers per logarithm of x."""
    power = rate + 1 if support.discrete else rate
    return -power * (at.log - begin.log) - _largest(support, rate, begin)


def _largest(support: Support, rate: Array, begin: Point) -> Array:
    """The logarithm of the summand at the end, where this is larger than the first one."""
    if support.end is None:
        return jnp.zeros_like(rate)
    power = rate + 1 if support.discrete else rate
    return jnp.maximum(-power * (support.end.log - begin.log), 0)


def _ends(alpha: Array, x: Array) -> Array:
    """The terms behind the integral, over x^-α; for α beyond 3x the sum is below the rounding of the first terms."""
    near = jnp.abs(alpha) < 3 * x
    alpha, inverse = jnp.where(near, alpha, 0), 1 / x
    series = jnp.zeros_like(alpha * inverse)
    for j in range(len(_BERNOULLI) - 1, 0, -1):
        series = (_BERNOULLI[j] + series) * ((alpha + 2 * j - 1) * inverse) * ((alpha + 2 * j) * inverse)
    return 0.5 + alpha * inverse * (_BERNOULLI[0] + series)
