r"""The support of an equilibrium measure, from its potential alone.

Let the ends of K cuts be given, and let $x = c + r u$ map their hull to $-1 \le u \le 1$, with
$u = (\zeta + 1/\zeta)/2$. In units of r, $V'$ is $\sum_k w_k T_k(u) = \sum_k w_k (\zeta^k + \zeta^{-k})/2$, and with
the product R of u minus each end, $R^{\pm 1/2}$ is a power of ζ times a power series in $t = 1/\zeta$. So all
conditions at infinity are products of series, without an integral.

*Soft ends.* $G = (V' - h \sqrt R)/2$, where the polynomial h is the part of $f = V'/\sqrt R$ with the powers of u from
0 on. As $2 G = \sqrt R\,(f - h) \sim 2/u$, the coefficients d of $f - h$ in t are 0 up to order K, and
$d_{K+1} = 2^{K+2}$. Two cuts have equal potentials if $\int h \sqrt R = 0$ over the gap. These are as many equations as
there are ends.

*The search.* Fixed intervals carry the signed measure $\pm q\,dx/(\pi \sqrt{|R|})$ with the same conditions, where
$q = u^{K-1} + \kappa - [V' \sqrt R]_+/2$; the integral of $q/\sqrt R$ over the gap determines κ for two cuts. The
support lies where it is positive, if it lies in the intervals. So the search starts with an interval around the
support, and takes away negative pieces again and again (Kuijlaars and Dragnev 1999, Proc. Amer. Math. Soc. 127, 1065).
Newton's method ends it.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._promotion import like
from rmtjax._units import times_power
from rmtjax.laws._core.half_plane import upper_sqrt
from rmtjax.laws._core.power_series import power
from rmtjax.special.internal import (
    chebyshev_coefficients,
    chebyshev_nodes,
    chebyshev_series,
    gauss_legendre,
    panel_nodes,
)

# Points of an interval, in units of its length, dense at both ends.
GRID = np.sin(np.pi / 2 * np.sin(np.pi / 2 * np.arange(257) / 256) ** 2) ** 2
_MOST_CUTBACKS = 200
_STEPS = 4
_NODES = 64


def slopes_of(coefficients: Float[Array, " m"]) -> Float[Array, " m"]:
    """The coefficients of V'."""
    return coefficients * like(coefficients, np.arange(1, coefficients.size + 1))


def power_sum(series: Float[Array, " l"], t: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """The power series in t."""
    return jnp.polyval(like(t, series[::-1]), t)


def reach(coefficients: Float[Array, " m"]) -> Float[Array, ""]:
    """A bound for |x| in the support: twice Fujiwara's bound for the zeros of V', or twice the size of x^m alone."""
    m = coefficients.size
    slopes = slopes_of(coefficients)
    zeros = [jnp.abs(slopes[k] / slopes[-1]) ** (1 / (m - 1 - k)) for k in range(m - 1)]
    alone = (2 ** (m + 1) / math.comb(m, m // 2) / slopes[-1]) ** (1 / m)
    return 2 * jnp.max(jnp.stack([*(2 * zero for zero in zeros), alone]))


def placed(ends: Float[Array, " 2k"], x: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """The point u of x."""
    return (x - like(x, (ends[0] + ends[-1]) / 2)) / like(x, (ends[-1] - ends[0]) / 2)


def force(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " m"]:
    """The Chebyshev coefficients w of r V' on the hull of the cuts."""
    m = coefficients.size
    half = (ends[-1] - ends[0]) / 2
    x = (ends[0] + ends[-1]) / 2 + half * like(coefficients, chebyshev_nodes(m))
    return chebyshev_coefficients(half * power_sum(slopes_of(coefficients), x))


def times_root(w: Float[Array, " m"], ends: Float[Array, " 2k"], exponent: float, length: int) -> Float[Array, " l"]:
    """The series in t of $R^{±1/2}$ times the polynomial with the Chebyshev coefficients w, from the highest power."""
    fit = lambda terms: jnp.pad(terms[:length], (0, max(length - terms.size, 0)))
    base = fit(like(w, np.array([1, 0, -2, 0, 1])))
    for u in placed(ends, ends[1:-1]):
        base = _product(base, fit(jnp.stack([1 + 0 * u, -2 * u, 1 + 0 * u])))
    power_of_r = power(base, exponent) * 2.0 ** (-exponent * ends.size)
    return _product(power_of_r, fit(jnp.concatenate([w[:0:-1] / 2, w[:1], w[1:] / 2])))


def _product(one: Float[Array, " l"], other: Float[Array, " l"]) -> Float[Array, " l"]:
    i = np.arange(one.size)
    lags = i[:, None] - i[None]
    return jnp.sum(jnp.where(lags >= 0, one[np.maximum(lags, 0)], 0) * other[None], axis=1)


def _polynomial(series: Float[Array, " l"], top: int) -> Float[Array, " n"]:
    """The Chebyshev coefficients of the polynomial part of a series that begins with ζ^top."""
    return jnp.concatenate([series[top : top + 1], 2 * series[:top][::-1]])


def height(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " n"]:
    """The Chebyshev coefficients of h."""
    top = coefficients.size - 1 - ends.size // 2
    return _polynomial(times_root(force(coefficients, ends), ends, -0.5, top + 1), top)


def root(ends: Float[Array, " 2k"], start: Array | float, offset: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    r"""The root of R at the offsets from a number, an end for all digits there; of real ones that of |R|."""
    distances = jnp.stack([(start - end) + offset for end in ends.astype(offset.dtype)])
    distances = distances / like(offset, (ends[-1] - ends[0]) / 2)
    complex_valued = jnp.iscomplexobj(offset)
    return jnp.prod(upper_sqrt(distances) if complex_valued else jnp.sqrt(jnp.abs(distances)), axis=0)


def integral_from(ends: Float[Array, " 2k"], h: Float[Array, " n"], start: Array, x: Inexact[Array, "..."]) -> Array:
    r"""The integral of $h \sqrt R\,du$ from an end to x, to all digits near it; for real x that of $h \sqrt{|R|}$.

    No other end may lie between, or nearer to a point between.
    """
    nodes, weights = gauss_legendre(_NODES)
    t = like(x, (nodes + 1) / 2).reshape(-1, *[1] * x.ndim)
    offset = (x - start)[None] * t**2
    values = chebyshev_series(like(x, h), placed(ends, start[None] + offset)) * root(ends, start[None], offset) * t
    mean = jnp.sum(values * like(x, weights).reshape(t.shape), axis=0)
    return mean * (x - start) / like(x, (ends[-1] - ends[0]) / 2)


def conditions(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " 2k"]:
    """What is 0 at the ends of soft cuts."""
    cuts, top = ends.size // 2, coefficients.size - 1 - ends.size // 2
    f = times_root(force(coefficients, ends), ends, -0.5, top + cuts + 2)
    rest = [f[top + k] - (f[top - k] if k <= top else 0) for k in range(1, cuts + 2)]
    rest[-1] = rest[-1] / 2 ** (cuts + 2) - 1
    x, weights = (each[1::2] for each in panel_nodes(ends))
    values = chebyshev_series(_polynomial(f, top), placed(ends, x)) * root(ends, 0.0, x)
    return jnp.append(jnp.stack(rest), jnp.sum(weights * values, axis=1))


class _Search(NamedTuple):
    ends: Float[Array, "4"]  # two intervals, which may touch, best where the density is least
    moved: Bool[Array, ""]
    number: Int[Array, ""]


def signs_of(cuts: int) -> np.ndarray:
    """The signs of h on the cuts."""
    return (-1.0) ** np.arange(cuts - 1, -1, -1)


def _charge(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"], x: Float[Array, "2 g"]) -> Float[Array, "2 g"]:
    """The polynomial q for one interval, or for two with the sign of the measure at points of each of them."""
    cuts, top = ends.size // 2, coefficients.size - 1 + ends.size // 2
    part = _polynomial(times_root(force(coefficients, ends), ends, 0.5, top + 1), top)
    q = (-part / 2).at[cuts - 1].add(1)
    if cuts == 1:
        return chebyshev_series(q, placed(ends, x))
    inner = placed(ends, ends[1:3])
    u = (inner[0] + inner[1]) / 2 + (inner[1] - inner[0]) / 2 * like(x, chebyshev_nodes(_NODES))
    weights = 1 / jnp.sqrt((1 - u) * (1 + u))
    kappa = -jnp.sum(weights * chebyshev_series(q, u)) / jnp.sum(weights)
    return (chebyshev_series(q, placed(ends, x)) + kappa) * like(x, signs_of(2))[:, None]


def _cut_back(coefficients: Float[Array, " m"], search: _Search) -> _Search:
    """The intervals without negative ends; one of which nothing is left goes."""
    ends, size = search.ends, GRID.size
    eps = float(jnp.finfo(ends.dtype).eps)
    lower, upper = ends[::2, None], ends[1::2, None]
    x = (lower + (upper - lower) * like(lower, GRID)[None]).at[:, -1:].set(upper)
    q = _charge(coefficients, ends, x)
    positive = q > 64 * eps * jnp.max(jnp.abs(q))
    first, last = jnp.argmax(positive, axis=1), size - 1 - jnp.argmax(positive[:, ::-1], axis=1)
    at = lambda i: jnp.take_along_axis(x, jnp.clip(i, 0, size - 1)[:, None], axis=1)[:, 0]
    lower, upper, is_left = at(first - 1), at(last + 1), jnp.any(positive, axis=1)
    both, kept = jnp.all(is_left), jnp.argmax(is_left)
    lower, upper = jnp.where(both, lower, lower[kept]), jnp.where(both, upper, upper[kept])
    touch = ~both | (upper[0] == lower[1])
    # Two that touch are one, and their common end is best at its least charge.
    y, charge = x.ravel(), _charge(coefficients, ends[np.array([0, 3])], x).ravel()
    middle, change = y[1:-1], jnp.diff(charge)
    dips = (change[:-1] <= 0) & (change[1:] >= 0) & (y[:-2] > lower[0]) & (y[2:] < upper[1])
    lowest = middle[jnp.argmin(jnp.where(dips, charge[1:-1], jnp.inf))]
    lowest = jnp.where(both & jnp.any(dips), lowest, (lower[0] + upper[1]) / 2)
    new = jnp.stack([lower[0], jnp.where(touch, lowest, upper[0]), jnp.where(touch, lowest, lower[1]), upper[1]])
    moved = jnp.max(jnp.abs(new - ends)) > 64 * eps * (ends[-1] - ends[0])
    return _Search(new, moved, search.number + 1)


def _searched(coefficients: Float[Array, " m"]) -> tuple[Float[Array, "4"], Float[Array, ""]]:
    """Two intervals from which nothing is to be taken away, to half of the digits, and the gap in units of the hull."""
    far = reach(coefficients)
    first = _Search(jnp.stack([-far, 0 * far, 0 * far, far]), far > 0, jnp.zeros((), jnp.int32))
    goes_on = lambda search: search.moved & (search.number < _MOST_CUTBACKS)
    ends = jax.lax.while_loop(goes_on, partial(_cut_back, coefficients), first).ends
    return ends, (ends[2] - ends[1]) / (ends[3] - ends[0])


def located(coefficients: Float[Array, " m"], cuts: int) -> tuple[Float[Array, " 2k"], Float[Array, ""]]:
    """The ends of so many cuts, and the gap that the search found, in units of the hull."""
    ends, gap = _searched(coefficients)
    ends = ends if cuts == 2 else ends[np.array([0, 3])]
    return jax.lax.fori_loop(0, _STEPS, lambda _, ends: ends + _newton(coefficients, ends), ends), gap


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def ends_of_cuts(coefficients: Float[Array, " m"], cuts: int) -> Float[Array, " 2k"]:
    """The ends of so many cuts, for a potential whose support has them."""
    return located(coefficients, cuts)[0]


def _newton(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " 2k"]:
    return _solved(coefficients, ends, -conditions(coefficients, ends))


def _solved(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"], right: Float[Array, " 2k"]) -> Array:
    """The movement of the ends that changes the conditions by so much."""
    return jnp.linalg.solve(jax.jacfwd(partial(conditions, coefficients))(ends), right)


@ends_of_cuts.defjvp
def _(cuts: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (coefficients,) = primals
    ends = ends_of_cuts(coefficients, cuts)
    _, change = jax.jvp(lambda c: conditions(c, ends), primals, tangents)
    return ends, _solved(coefficients, ends, -change)


def in_unit(coefficients: Float[Array, " m"], unit: Array) -> Float[Array, " m"]:
    """The coefficients of the potential of X divided by the unit."""
    return jnp.stack([times_power(c, unit, k + 1) for k, c in enumerate(coefficients)])
