r"""The conditions for the cuts of an equilibrium measure.

Let the ends of K cuts be given, and let $x = c + r u$ map their hull to $-1 \le u \le 1$, with
$u = (\zeta + 1/\zeta)/2$. In units of r, $V'$ is $\sum_k w_k T_k(u) = \sum_k w_k (\zeta^k + \zeta^{-k})/2$, and with
the product R of u minus each end, $R^{\pm 1/2}$ is a power of ζ times a power series in $t = 1/\zeta$. So all
conditions at infinity are products of series, without an integral.

*Soft ends.* $G = (V' - h \sqrt R)/2$, where the polynomial h is the part of $f = V'/\sqrt R$ with the powers of u from
0 on. As $2 G = \sqrt R\,(f - h) \sim 2/u$, the coefficients d of $f - h$ in t are 0 up to order K, and
$d_{K+1} = 2^{K+2}$. Two cuts have equal potentials if $\int h \sqrt R = 0$ over the gap. These are as many equations as
there are ends.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like
from rmtjax._units import times_power
from rmtjax.laws._core.half_plane import upper_sqrt
from rmtjax.laws._core.power_series import power
from rmtjax.linalg.internal import solve_each
from rmtjax.special.internal import (
    chebyshev_coefficients,
    chebyshev_nodes,
    chebyshev_series,
    gauss_legendre,
    panel_nodes,
)

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
    base = like(w, np.array([1, 0, -2, 0, 1]))
    for u in placed(ends, ends[1:-1]):
        base = _product(jnp.pad(base, (0, 2)), jnp.stack([1 + 0 * u, -2 * u, 1 + 0 * u]))
    base = jnp.pad(base[:length], (0, max(length - base.size, 0)))
    power_of_r = power(base, exponent) * 2.0 ** (-exponent * ends.size)
    return _product(power_of_r, jnp.concatenate([w[:0:-1] / 2, w[:1], w[1:] / 2]))


def _product(series: Float[Array, " l"], polynomial: Float[Array, " n"]) -> Float[Array, " l"]:
    lags = np.arange(series.size)[:, None] - np.arange(polynomial.size)[None]
    return jnp.sum(jnp.where(lags >= 0, series[np.maximum(lags, 0)], 0) * polynomial[None], axis=1)


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


def signs_of(cuts: int) -> np.ndarray:
    """The signs of h on the cuts."""
    return (-1.0) ** np.arange(cuts - 1, -1, -1)


@jax.custom_jvp
def ends_of_cuts(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " 2k"]:
    """The ends where they are known, with their derivatives by the coefficients."""
    del coefficients
    return ends


@ends_of_cuts.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    ends = ends_of_cuts(*primals)
    _, change = jax.jvp(lambda c: conditions(c, ends), primals[:1], tangents[:1])
    return ends, _moved(primals[0], ends, -change)


def newton(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> Float[Array, " 2k"]:
    """The ends after a step of Newton's method."""
    return ends + _moved(coefficients, ends, -conditions(coefficients, ends))


def _moved(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"], change: Float[Array, " 2k"]) -> Array:
    """The movement of the ends that changes the conditions by so much."""
    return solve_each(jax.jacfwd(partial(conditions, coefficients))(ends), change[:, None])[:, 0]


def in_unit(coefficients: Float[Array, " m"], unit: Array) -> Float[Array, " m"]:
    """The coefficients of the potential of X divided by the unit."""
    return jnp.stack([times_power(c, unit, k + 1) for k, c in enumerate(coefficients)])
