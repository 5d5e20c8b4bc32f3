r"""The numbers on which a law of a tail lives, sums over them, and the power law $\propto x^{-\alpha}$ on them.

A support has whole or real numbers, from a beginning on, without end or up to an end. Everything is in $z =
\log(x/x_{\min})$ and relative to the first number. A sum over whole numbers is 20 numbers one by one and an integral
over the others,

$$\sum_{k \ge M} f(k) = \int_{M-1/2}^\infty f\,dx + \frac1{24} \delta f - \frac{17}{5760} \delta^3 f
+ \frac{367}{967680} \delta^5 f - \dots$$

with central differences at M - 1/2, and the negative of this at an end. So it is a sum over single numbers with signed
weights and an integral, and this is true of every law. The mass from any number x on, which needs the power law only,
is

$$\sum_{k=x}^\infty k^{-\alpha} = x^{-\alpha} \Big(\frac x{\alpha - 1} + \frac12 + \frac\alpha{12 x} - \dots\Big),$$

the series of Euler and Maclaurin.
"""

from functools import partial
from math import comb
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax._promotion import like
from rmtjax.special.internal import log_one_plus

# Numbers one by one, of which the last eight carry the central differences at the last half number but four.
_SINGLE, _SIDE = 24, 4
_DIFFERENCES = 1 / 24, -17 / 5760, 367 / 967680, -27859 / 464486400
# The coefficients B_2j / (2j)! of the series of Euler and Maclaurin.
_BERNOULLI = 1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160
# Secants that reach the last digit for every rate from 0.01 to 1000, and some more.
_SECANTS = 20


class Point(NamedTuple):
    """Whole numbers and their logarithms, or, for real numbers, twice their logarithms in any one unit.

    Values are compared with each other by the first, because equal numbers may have logarithms that differ by rounding.
    """

    value: Float[Array, "..."]
    log: Float[Array, "..."]

    def at(self, index: Array | tuple | None) -> "Point":
        """Some of the values, or all of them with new axes."""
        return Point(self.value[index], self.log[index])


class Support(NamedTuple):
    """What a law is a law of: whole or real numbers, without end or up to an end.

    The end of whole numbers is the first one beyond them.
    """

    discrete: bool
    end: Point | None

    def place(self, point: Point) -> Point:
        """Where the law has a point: derivatives do not move whole numbers."""
        return jax.lax.stop_gradient(point) if self.discrete else point


class Terms(NamedTuple):
    r"""The sum of any function over a support from a beginning on, in z.

    It is $\sum_j w_j f(z_j) + s \int f(z) e^z dz$ from `start` to `stop`, infinity if that is None.
    """

    z: Float[Array, "b k"]
    weight: Float[Array, "b k"]
    start: Float[Array, " b"]
    stop: Float[Array, " b"] | None
    scale: Float[Array, " b"]


def terms(support: Support, begin: Point) -> Terms:
    """The terms of sums from some beginnings on; real numbers have no single ones."""
    zero, end = jnp.zeros_like(begin.log), support.end
    if not support.discrete:
        none = jnp.zeros((*zero.shape, 0), zero.dtype)
        return Terms(none, none, zero, None if end is None else end.log - begin.log, zero + 1)
    first = begin.value[:, None]
    offset = jnp.arange(_SINGLE, dtype=zero.dtype)[None]
    z, weight = jnp.log1p(offset / first), jnp.asarray(_WEIGHTS, zero.dtype)[None] + 0 * first
    start = jnp.log1p((_SINGLE - _SIDE - 0.5) / begin.value)
    if end is None:
        return Terms(z, weight, start, None, begin.value)
    few = end.value - first < _SINGLE
    weight = jnp.where(few, like(first, first + offset < end.value), weight)
    beyond = jnp.where(few, first, end.value + jnp.arange(-_SIDE, _SIDE, dtype=zero.dtype)[None])
    last = jnp.where(few, 0, -jnp.asarray(_CORRECTIONS, zero.dtype)[None])
    stop = jnp.where(few[:, 0], start, jnp.log((end.value - 0.5) / begin.value))
    together = lambda *parts: jnp.concatenate(parts, axis=-1)
    return Terms(together(z, jnp.log(beyond / first)), together(weight, last), start, stop, begin.value)


def best_rate(support: Support, begin: Point, mean: Float[Array, " b"]) -> Float[Array, " b"]:
    """The rate α - 1 at which the mean of z has a given value."""
    if not support.discrete and support.end is None:
        return 1 / mean
    return _root(support.discrete, support.end, begin, mean)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _root(discrete: bool, end: Point | None, begin: Point, mean: Float[Array, " b"]) -> Float[Array, " b"]:
    """The rate by secants.

    Without an end the logarithm of the mean is a convex function of the rate, and the secants start below the root;
    with an end, the logarithm of the quotient of its distances from both ends is nearly odd.
    """
    sums = terms(Support(discrete, end), begin)
    if end is None:
        # Equation 3.7 of Clauset, Shalizi and Newman, which is slightly too small.
        start = 1 / (mean - jnp.log1p(-0.5 / begin.value))
        after = 0.9 * start
        height = lambda value: jnp.log(value / mean)
    else:
        longest = (jnp.log(end.value - 1) if discrete else end.log) - begin.log
        start, after = 0 * mean, jnp.where(mean < longest / 2, 1, -1) / longest
        height = lambda value: jnp.log(value * (longest - mean) / (mean * (longest - value)))

    def step(_: int, last: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, high, rate = last
        found = height(mean_logarithm(sums, rate))
        secant = found * (rate - before) / (found - high)
        moved = jnp.where(high == jnp.inf, after, rate - jnp.where(jnp.isfinite(secant), secant, 0))
        return rate, found, moved if end is not None else jnp.maximum(moved, rate / 8)

    return jax.lax.fori_loop(0, _SECANTS, step, (start, 0 * start + jnp.inf, start))[2]


@_root.defjvp
def _slope_of_root(discrete: bool, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The derivative of the implicit function."""
    rate = _root(discrete, *primals)

    def excess(rate: Array, end: Point | None, begin: Point, mean: Array) -> Array:
        support = Support(discrete, end)
        return mean_logarithm(terms(support, support.place(begin)), rate) - mean

    slope = jax.jvp(lambda rate: excess(rate, *primals), (rate,), (jnp.ones_like(rate),))[1]
    return rate, -jax.jvp(partial(excess, rate), primals, tangents)[1] / slope


def mean_logarithm(sums: Terms, rate: Float[Array, " b"]) -> Float[Array, " b"]:
    """The mean of z."""
    if sums.stop is None:
        shift, place = 0 * rate, sums.start + 1 / rate
    else:
        # The largest exponent is at an end. The mean between the ends is 1/y - 1/(e^y - 1) of their distance.
        shift, length = jnp.maximum(-(rate + 1) * sums.stop, 0), sums.stop - sums.start
        y = rate * length
        near, series = jnp.abs(y) < 0.25, jnp.zeros_like(y)
        for coefficient in reversed(_BERNOULLI):
            series = coefficient + y * y * series
        y = jnp.where(near, 1, y)
        place = sums.start + length * jnp.where(near, 0.5 - rate * length * series, 1 / y - 1 / jnp.expm1(y))
    if sums.z.shape[-1] == 0:
        return place
    mass = sums.scale * _integral(rate, sums.start, sums.stop, shift)
    power = sums.weight * jnp.exp(-(rate + 1)[:, None] * sums.z - shift[:, None])
    return (jnp.sum(power * sums.z, axis=-1) + mass * place) / (jnp.sum(power, axis=-1) + mass)


def _integral(rate: Array, start: Array, stop: Array | None, shift: Array | float) -> Array:
    """The integral of e^{-rate z - shift}, which overflows at neither end for any sign of the rate."""
    if stop is None:
        return jnp.exp(-rate * start - shift) / rate
    size = jnp.maximum(jnp.abs(rate), _least(rate))
    largest = jnp.where(rate > 0, start, stop)
    return jnp.exp(-rate * largest - shift) * -jnp.expm1(-size * jnp.maximum(stop - start, 0)) / size


class Masses(NamedTuple):
    """The power laws from some beginnings on, with what their masses need."""

    support: Support
    rate: Float[Array, "b 1"]
    begin: Point
    shift: Float[Array, "b 1"]
    # The masses from each of the first 24 whole numbers and from the next one on; of real numbers, from the first on.
    first: Float[Array, "b k"]

    def power(self, at: Point) -> Float[Array, "b n"]:
        """The summand in the unit of all masses."""
        return jnp.exp(-(self.rate + 1) * (at.log - self.begin.log) - self.shift)

    def beyond(self, at: Point) -> Float[Array, "b n"]:
        """The mass from a value on."""
        if not self.support.discrete:
            return self.series(at)
        place = jnp.minimum(at.value - self.begin.value, _SINGLE).astype(jnp.int32)
        first = jnp.take_along_axis(self.first, place, axis=-1, mode="promise_in_bounds")
        return jnp.where(place < _SINGLE, first, self.series(at))

    def series(self, at: Point) -> Float[Array, "b n"]:
        """The mass from a value on by an integral, for whole numbers from the 25th on."""
        end, depth = self.support.end, at.log - self.begin.log
        length = None if end is None else end.log - self.begin.log
        if not self.support.discrete:
            # Without an end the mass is not divided by the rate, as only quotients of masses count.
            return jnp.exp(-self.rate * depth) if end is None else _integral(self.rate, depth, length, self.shift)
        mass = self.power(at) * _ends(self.rate + 1, at.value)
        mass = mass + self.begin.value * _integral(self.rate, depth, length, self.shift)
        if end is None:
            return mass
        return jnp.where(at.value < end.value, mass - self.power(end) * _ends(self.rate + 1, end.value), 0)


def masses(support: Support, rate: Float[Array, " b"], begin: Point) -> Masses:
    """The masses of power laws."""
    rate, begin, end = rate[:, None], begin.at((slice(None), None)), support.end
    shift = 0 * rate if end is None else jnp.maximum(-(rate + int(support.discrete)) * (end.log - begin.log), 0)
    found = Masses(support, rate, begin, shift, jnp.ones_like(rate))
    if not support.discrete:
        return found if end is None else found._replace(first=found.series(begin))
    offset = jnp.arange(_SINGLE + 1, dtype=rate.dtype)[None]
    value = begin.value + offset
    at = Point(value, begin.log + jnp.log1p((value - begin.value) / begin.value))
    power = found.power(at) if end is None else jnp.where(value < end.value, found.power(at), 0)
    rest = found.series(at.at((slice(None), slice(-1, None))))
    sums = jax.lax.cumsum(jnp.where(offset < _SINGLE, power, rest), axis=1, reverse=True)
    return found._replace(first=sums)


def _ends(alpha: Array, x: Array) -> Array:
    """The terms behind the integral, over x^-α; three are enough behind 24 numbers."""
    square = 1 / (x * x)
    third = _BERNOULLI[2] * (alpha + 3) * (alpha + 4) * square
    return 0.5 + alpha / x * (_BERNOULLI[0] + (alpha + 1) * (alpha + 2) * square * (_BERNOULLI[1] + third))


def draw(support: Support, rate: Float[Array, ""], begin: Point, u: Float[Array, " n"]) -> Float[Array, " n"]:
    """Values of a power law from uniform variates in [0, 1), by inversion, which is exact for whole numbers."""
    end = support.end
    if not support.discrete:
        return begin.log + (-log_one_plus(-u) / rate if end is None else _between_ends(rate, u, end.log - begin.log))
    law = masses(support, rate[None], begin.at(None))
    # A value is at least k if the mass from k on exceeds this one.
    mass = (1 - u) * law.first[0, 0]
    early = jnp.sum(mass[:, None] <= law.first[:, 1:], axis=-1)
    # Beyond the first numbers, a sum is the integral from half a number earlier, but for less than a number.
    half = jnp.log1p((_SINGLE - 0.5) / begin.value)
    stop = None if end is None else jnp.log((end.value - 0.5) / begin.value)
    share = mass / (begin.value * _integral(rate, half, stop, law.shift[0, 0]))
    depth = -jnp.log(share) / rate if stop is None else _between_ends(rate, 1 - share, stop - half)
    k = jnp.maximum(jnp.floor(begin.value * jnp.exp(half + depth) + 0.5), begin.value + _SINGLE)
    at = lambda k: law.beyond(Point(k, jnp.log(k)).at(None))[0]
    k = k + like(k, mass <= at(k + 1)) - like(k, mass > at(k))
    value = jnp.where(early < _SINGLE, begin.value + like(u, early), k)
    return value if end is None else jnp.minimum(value, end.value - 1)


def _between_ends(rate: Array, u: Array, length: Array) -> Array:
    """The z up to a given length below which the law of real numbers has the mass u."""
    size = jnp.maximum(jnp.abs(rate), _least(rate))
    depth = -log_one_plus(jnp.where(rate > 0, u, 1 - u) * jnp.expm1(-size * length)) / size
    return jnp.where(rate > 0, depth, length - depth)


def _least(rate: Array) -> float:
    """A rate at which a law is uniform in z to the last digit."""
    return float(jnp.finfo(rate.dtype).tiny) ** 0.5


def _corrections() -> Float[np.ndarray, " 8"]:
    """The weights of the central differences at a half number, for the four numbers on each side."""
    weights = np.zeros(2 * _SIDE)
    for j, coefficient in enumerate(_DIFFERENCES):
        order = 2 * j + 1
        signs = [(-1) ** (order - i) * comb(order, i) for i in range(order + 1)]
        weights[_SIDE - 1 - j : _SIDE + 1 + j] += coefficient * np.array(signs)
    return weights


_CORRECTIONS = _corrections()
_WEIGHTS = np.append(np.ones(_SINGLE - _SIDE), np.zeros(_SIDE)) + np.append(np.zeros(_SINGLE - 2 * _SIDE), _CORRECTIONS)
