r"""The search for the cuts of an equilibrium measure, by iterated balayage.

*Balayage.* Let intervals hold the support, K of them. They carry one signed measure of mass 1 that has equal potentials
$V - 2 \int \log|x - y|\,d\sigma(y)$ on all of them, and the support lies where it is positive (Kuijlaars and Dragnev
1999, Proc. Amer. Math. Soc. 127, 1065). So what is negative is taken away, again and again, and what nothing is to be
taken away from is the support.

*The measure.* With the product R of x minus each end, it is $\pm q\,dx/(\pi \sqrt{|R|})$, in the notation of
`equilibrium_cuts`, where $q = u^{K-1} + \kappa - [V' \sqrt R]_+/2$ has the degree K + m - 1. The polynomial κ has the
degree K - 2: the integral of $q/\sqrt R$ over each gap is 0. The series of $\sqrt R$ in t is that of
$(2t)^{-K} \exp(-\sum_k p_k t^k/k)$ with the sums $p_k$ of $T_k(u)$ over the ends.

*The number of intervals.* The first interval is so wide that q is negative at both ends, and so it is at the ends of
all later ones, which were zeros before something was taken away. So q changes its sign in each gap, and twice for each
positive piece. It has at most m + K - 1 zeros, K - 1 of them in gaps, and there are at most m/2 pieces. Thus m/2 places
are enough.

*Rates.* A soft end that is too far out by δ moves by δ/2. Newton's method ends the search.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax._promotion import like
from rmtjax._varying import varying_like
from rmtjax.laws._spectra.equilibrium_cuts import force, newton, placed, reach
from rmtjax.linalg.internal import solve_each
from rmtjax.special.internal import chebyshev_nodes, chebyshev_series

# Points of an interval, in units of its length, dense at both ends.
GRID = np.sin(np.pi / 2 * np.sin(np.pi / 2 * np.arange(65) / 64) ** 2) ** 2
_MOST_ROUNDS = 200
_NEAR = 2.0**-20
_STEPS = 4
_NODES = 32


class _Intervals(NamedTuple):
    """Intervals in order; those beyond the number are empty, at the upper end of the last one."""

    lower: Float[Array, " k"]
    upper: Float[Array, " k"]
    number: Int[Array, ""]


class _Search(NamedTuple):
    intervals: _Intervals
    moved: Bool[Array, ""]
    rounds: Int[Array, ""]


def located(coefficients: Float[Array, " m"], cuts: int) -> tuple[Float[Array, " 2k"], Bool[Array, ""]]:
    """The ends of so many cuts, for an even m, and whether the search has found as many, but for very narrow gaps."""
    lower, upper, _ = _searched(coefficients)
    gaps, eps = (lower[1:] - upper[:-1]) / (upper[-1] - lower[0]), float(jnp.finfo(lower.dtype).eps)
    ends, found = jnp.stack([lower[0], upper[-1]]), jnp.all(gaps <= eps**0.25)
    if cuts == 2:
        widest = jnp.argmax(gaps)
        others = np.arange(gaps.size) != widest
        found = (gaps[widest] > 0) & jnp.all(jnp.where(others, gaps, 0) <= eps**0.25)
        ends = jnp.stack([lower[0], upper[widest], lower[widest + 1], upper[-1]])
    return jax.lax.fori_loop(0, _STEPS, lambda _, ends: newton(coefficients, ends), ends), found


def _searched(coefficients: Float[Array, " m"]) -> _Intervals:
    """Intervals from which nothing is to be taken away."""
    far, k = reach(coefficients), coefficients.size // 2
    one = jnp.ones((), int)
    first = _Intervals(jnp.where(np.arange(k) == 0, -far, far), jnp.full(k, far), one)
    goes_on = lambda search: search.moved & (search.rounds < _MOST_ROUNDS)
    begin = varying_like(_Search(first, far > 0, 0 * one), coefficients)
    return jax.lax.while_loop(goes_on, partial(_round, coefficients), begin).intervals


def _round(coefficients: Float[Array, " m"], search: _Search) -> _Search:
    """The positive pieces of the signed measure on the intervals."""
    lower, upper, number = search.intervals
    k, rounding = lower.size, 64 * float(jnp.finfo(lower.dtype).eps)
    near = max(_NEAR, rounding)
    x = (lower[:, None] + (upper - lower)[:, None] * like(lower, GRID)[None]).at[:, -1].set(upper)
    q = jnp.where((np.arange(k) < number)[:, None], _charge(coefficients, search.intervals, x), -1)
    largest = jnp.max(jnp.abs(q))
    q = q - rounding * largest
    x, is_positive = _extremes(x, q, 4 * near * largest)
    starts = is_positive & ~jnp.pad(is_positive, ((0, 0), (1, 0)))[:, :-1]
    stops = is_positive & ~jnp.pad(is_positive, ((0, 0), (0, 1)))[:, 1:]
    start, stop, is_found = _pieces(starts.ravel(), stops.ravel(), k)
    before, after = _zeros(x, q)
    found, lower_found, upper_found = jnp.sum(is_found), before.ravel()[start], after.ravel()[stop]
    last = upper_found[found - 1]
    new = _Intervals(
        jnp.where(is_found, lower_found, last), jnp.where(is_found, upper_found, last), like(number, found)
    )
    change = jnp.maximum(jnp.abs(new.lower - lower), jnp.abs(new.upper - upper))
    moved = jnp.any(is_found & (change > near * (new.upper - new.lower))) | (new.number != number)
    return _Search(new, moved, search.rounds + 1)


def _extremes(x: Float[Array, "k g"], q: Float[Array, "k g"], little: Float[Array, ""]) -> tuple[Array, Array]:
    """The points, moved to where the charge is least between them, and whether something is positive near each.

    At tops and bottoms, parabolas through three points say what lies between them. What counts is twice as far from the
    value as their extreme: where this is too far, the points of the next round are denser. A cut that touches another
    one begins where little is left at the bottom.
    """
    left, here, right = q[:, :-2], q[:, 1:-1], q[:, 2:]
    slope, bend = (right - left) / 2, left - 2 * here + right
    is_extreme = (here - left) * (here - right) >= 0
    shift = jnp.where(is_extreme, -slope / jnp.where(bend == 0, 1, bend), 0)
    is_positive = here + slope * shift > jnp.where(is_extreme & (bend > 0), little, 0)
    moved = x[:, 1:-1] + shift * jnp.where(shift > 0, x[:, 2:] - x[:, 1:-1], x[:, 1:-1] - x[:, :-2])
    x = x.at[:, 1:-1].set(jnp.where((here > 0) & ~is_positive, moved, x[:, 1:-1]))
    return x, (q > 0).at[:, 1:-1].set(is_positive)


def _zeros(x: Float[Array, "k g"], q: Float[Array, "k g"]) -> tuple[Array, Array]:
    """The zeros of the line before each point and of that after it, or the neighbours."""
    width, height = jnp.diff(x), jnp.diff(q)
    share = jnp.clip(-q[:, :-1] / jnp.where(height == 0, 1, height), 0, 1)
    crosses = (q[:, :-1] > 0) != (q[:, 1:] > 0)
    zero = x[:, :-1] + width * share
    before = jnp.where(crosses, zero, x[:, :-1])
    after = jnp.where(crosses, zero, x[:, 1:])
    return jnp.concatenate([x[:, :1], before], axis=1), jnp.concatenate([after, x[:, -1:]], axis=1)


def _pieces(starts: Bool[Array, " n"], stops: Bool[Array, " n"], k: int) -> tuple[Array, Array, Array]:
    """The places of the first k starts and of the stops after them, and whether there are so many.

    If there are more, the last piece ends with the last of them, because nothing that is positive may be lost.
    """
    place = np.arange(starts.size)

    def following(stop: Int[Array, ""], _: None) -> tuple[Array, tuple[Array, Array, Array]]:
        rest = starts & (place > stop)
        start = jnp.argmax(rest)
        stop = jnp.where(jnp.any(rest), jnp.argmax(stops & (place >= start)), starts.size - 1)
        return stop, (start, stop, jnp.any(rest))

    before = varying_like(jnp.argmax(place < 0) - 1, starts, stops)
    _, (start, stop, is_found) = jax.lax.scan(following, before, None, length=k)
    last = starts.size - 1 - jnp.argmax(stops[::-1])
    return start, jnp.where(np.arange(k) == k - 1, last, stop), is_found


def _charge(coefficients: Float[Array, " m"], intervals: _Intervals, x: Float[Array, "k g"]) -> Float[Array, "k g"]:
    """The polynomial q with the sign of the measure, at points of each interval."""
    (lower, upper, number), m = intervals, coefficients.size
    k, length = lower.size, lower.size + m
    hull = jnp.stack([lower[0], upper[-1]])
    ends, is_real = placed(hull, jnp.stack([lower, upper], axis=1).ravel()), np.arange(2 * k) < 2 * number
    i, j = np.arange(length)[:, None], np.arange(length)[None]
    # The series of the root as the solution of k c_k + Σ p_i c_(k-i) = 0.
    sums = jnp.sum(jnp.where(is_real[:, None], _waves(ends, length), 0), axis=0)
    recursion = jnp.where(i > j, sums[np.maximum(i - j, 0)], like(sums, (i == j) * np.maximum(i, 1)))
    series = solve_each(recursion, like(sums, np.arange(length)[:, None] == 0))[:, 0]
    w = force(coefficients, hull)
    terms, place = jnp.concatenate([w[:0:-1], 2 * w[:1], w[1:]]) / 2, m - 1 + number - i - np.arange(2 * m - 1)[None]
    part = jnp.sum(jnp.where(place >= 0, series[jnp.maximum(place, 0)], 0) * terms[None], axis=1)
    # The leading power u^(K-1) is T_(K-1) times 2^(2-K), or 1 for K = 1.
    unit = like(sums, 0.5) ** like(sums, number)
    leading = jnp.where(np.arange(length) == number - 1, jnp.where(number == 1, 1, 4 * unit), 0)
    q = leading - unit * part * like(sums, np.where(np.arange(length) == 0, 0.5, 1))
    if k > 1:
        q = q.at[: k - 1].add(_balance(q, ends, number))
    sign = 1 - 2 * ((number - 1 - np.arange(k)) % 2)
    return chebyshev_series(q, placed(hull, x)) * like(q, sign)[:, None]


def _balance(q: Float[Array, " l"], ends: Float[Array, " 2k"], number: Int[Array, ""]) -> Float[Array, " k-1"]:
    r"""The Chebyshev coefficients of κ, for which the integral of $q/\sqrt R$ over each gap is 0."""
    k, is_gap = ends.size // 2, np.arange(ends.size // 2 - 1) < number - 1
    a, b = ends[1:-1:2, None], ends[2::2, None]
    u = (a + b) / 2 + (b - a) / 2 * like(q, chebyshev_nodes(_NODES))[None]
    gap, end = np.arange(k - 1)[:, None], np.arange(2 * k)[None]
    others = (end < 2 * number) & (end != 2 * gap + 1) & (end != 2 * gap + 2)
    distances = jnp.where(others[:, None], jnp.abs(jnp.subtract.outer(u, ends)), 1)
    weights = 1 / jnp.sqrt(jnp.prod(distances, axis=2))
    means = jnp.sum(weights[:, :, None] * _waves(u, q.size), axis=1) / jnp.sum(weights, axis=1)[:, None]
    matrix = jnp.where(is_gap[:, None] & is_gap[None], means[:, : k - 1], like(q, np.eye(k - 1)))
    return solve_each(matrix, jnp.where(is_gap, -jnp.sum(means * q[None], axis=1), 0)[:, None])[:, 0]


def _waves(u: Float[Array, "..."], length: int) -> Float[Array, "... l"]:
    """The Chebyshev polynomials of the orders from 0 on."""
    return jnp.cos(jnp.multiply.outer(jnp.arccos(jnp.clip(u, -1, 1)), like(u, np.arange(length))))
