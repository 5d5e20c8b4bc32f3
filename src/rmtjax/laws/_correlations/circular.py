r"""Form factor and number variance of n levels on the circle.

Derivation. Let r be in units of the mean spacing, $S_n(r) = \frac{\sin \pi r}{n \sin(\pi r/n)} = \frac1n \sum_p
e^{2\pi i p r/n}$ over the n numbers p from $-\frac{n-1}2$ to $\frac{n-1}2$, and $B_n(r) = \int_0^r S_n$. The cluster
functions are (Mehta 2004, sections 11.1, 11.3 and 11.5)

$$\beta = 2: S_n^2, \qquad \beta = 1: S_n^2 - S_n' (B_n - \tfrac12), \qquad
\beta = 4: S^2 - S' \int_0^r S,\quad S = S_{2n}(2r) .$$

Their Fourier coefficients are sums of $p/q$ over $p + q = t$. For β = 1 and 4 these leave a harmonic sum,
$h(a, b) = \psi(b + \frac12) - \psi(a + \frac12)$:

    β = 1: n K = 2t - t h(n/2, n/2 + t) for t ≤ n,  2n - t h(t - n/2, t + n/2) for t ≥ n;
    β = 4: n K = t/2 + (t/4) h(|n - t|, n) for t ≤ 2n,  n for t ≥ 2n.

The limit of many levels follows from $h(a, b) = \log(b/a) + O(a^{-2})$. The number variance is $L - 2\int_0^L (L -
r)\,Y_2(r)\,dr$. Let $V_n$ be this variance for β = 2. Two integrations by parts leave, as for infinitely many levels,

    β = 1: 2 V_n(L) - B_n(L) (1 - B_n(L)),  β = 2: V_n(L),  β = 4: V_2n(2L)/2 + B_2n(2L)²/4.

For L ≤ n/2 let u = r/n and x = L/n. Then

$$V_n = V_\infty + \frac1{\pi^2} \log\frac{\sin \pi x}{\pi x} + \int_0^x (x - u) \cos(2\pi n u)
\left[\frac1{\sin^2 \pi u} - \frac1{(\pi u)^2}\right] du,$$

$$B_n = B_\infty + \int_0^x \sin(\pi n u) \left[\frac1{\sin \pi u} - \frac1{\pi u}\right] du .$$

The brackets are analytic for $|\mathrm{Re}\,u| < 1$. So the path may leave 0 and x along vertical lines, on which the
waves decay as $e^{-2\pi n s}$ and $e^{-\pi n s}$. A Gauss-Laguerre rule has all digits from n = 6 on, however large n
is. For smaller n the sums over p have only a few terms.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads `scipy.special` when it is first used
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.laws._correlations.number_variance import number_variance
from rmtjax.special.internal import gauss_laguerre, sine_integral

# From this number of levels on, a rule of so many nodes is right to 1e-16.
_MANY, _NUM_NODES = 6, 24
# Below this length the correction to V is taken from its first two terms in L: its formula would cancel.
_SHORT = 0.01
# Number of terms of the power series of the brackets, which are used up to |πu| = 1 and converge up to π.
_NUM_TERMS = 18
# So many terms of a harmonic sum are added up. Beyond them ψ(y + 1/2) - log y is an asymptotic series in 1/y².
_ADDED = 16
_SERIES = (1 / 24, -7 / 960, 31 / 8064, -127 / 30720, 511 / 67584)


def circular_form_factor(times: RealLike, n: int, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Spectral form factor $K(t) = \frac1n E\big|\sum_j e^{i t \theta_j}\big|^2$ of n levels on the circle, exactly.

    For integers t > 0, with sums over the n numbers p from $-\frac{n-1}2$ to $\frac{n-1}2$,

    $$n K(t) = \begin{cases}
    2t - t \sum_{m=1}^t \frac1{m + (n - 1)/2} \text{ for } t \le n, \quad
    n - \sum_p \frac{p^2}{t^2 - p^2} \text{ for } t \ge n & \beta = 1, \\
    \min(t, n) & \beta = 2, \\
    \frac t2 + \frac t4 \sum_{m=1}^t \frac1{n + 1/2 - m} \text{ for } t \le 2n, \quad n \text{ for } t \ge 2n
    & \beta = 4.
    \end{cases}$$

    For independent levels, β = 0, it is n; K(0) = n. The cost does not grow with t or n, and the relative error is a
    few ulp. `form_factor(t / n, beta)` is the limit of many levels.

    Convention: density $\propto \prod_{j<k} |e^{i\theta_j} - e^{i\theta_k}|^\beta$, as for `COE`, `CUE` and `CSE`; at
    β = 4 each pair of equal levels counts as one. The Heisenberg time is n.

    Args:
        times: integers t, as integers or floating-point numbers. K is even in t. It is NaN between the integers, where
            the sum depends on the place of the cut. Derivatives are 0.
        n: number of levels, at least 1; static.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(circular_form_factor([0, 1, 2, 9], n=4, beta=2))
        [4.   0.25 0.5  1.  ]

    References:
        Haake, Sommers and Weber (1999), J. Phys. A 32, 6903; Mehta (2004), Random Matrices, chapter 11.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta, DysonIndexOrZero)
    t = _checks.real("times", times)
    return _form_factor(t, jnp.asarray(n, t.dtype), beta)


def circular_number_variance(lengths: RealLike, n: int, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Variance $\Sigma^2(L)$ of the number of n levels on the circle that lie in an arc of mean number L, exactly.

    With the form factor K of `circular_form_factor`

    $$\Sigma^2(L) = \frac2{\pi^2} \sum_{t=1}^\infty \frac{n K(t)}{t^2} \sin^2 \frac{\pi t L}n .$$

    It is computed as the limit of many levels, `number_variance`, plus corrections in closed form. The cost does not
    grow with n, and the relative error is some ten ulp. For independent levels, β = 0, it is $L (1 - L/n)$.

    Convention: the arc has the angle 2πL/n; at β = 4 each pair of equal levels counts as one.

    Args:
        lengths: L in [0, n]; other real numbers give NaN.
        n: number of levels, at least 1; static.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{circular_number_variance(5.0, n=10, beta=1):.5f} {circular_number_variance(5.0, 10, beta=2):.5f}")
        0.67734 0.46317

    References:
        Dyson (1962), J. Math. Phys. 3, 166; Mehta (2004), Random Matrices, chapter 11 and section 16.1.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta, DysonIndexOrZero)
    length = _checks.real("lengths", lengths)
    waves = 2 * n if beta == 4 else n
    return _number_variance(length, jnp.asarray(n, length.dtype), beta, waves if waves < _MANY else None)


@functools.partial(compiled, static_argnums=2)
def _form_factor(times: Float[Array, "..."], n: Float[Array, ""], beta: int) -> Float[Array, "..."]:
    t = jax.lax.stop_gradient(jnp.abs(times))
    # Far out K is 1 to all digits; the cap keeps the products finite.
    inside = jnp.where((t > 0) & (t < jnp.inf), jnp.minimum(t, 1e9 * n), jnp.where(t > 0, 1e9 * n, 1))
    if beta == 0:
        values = jnp.ones_like(t)
    elif beta == 1:
        early, late = jnp.minimum(inside, n), jnp.maximum(inside, n)
        rise = early / n * (2 - _harmonic(n / 2, early))
        values = jnp.where(inside <= n, rise, 2 - late / n * _harmonic(late - n / 2, n))
    elif beta == 2:
        values = jnp.minimum(inside / n, 1)
    else:
        early = jnp.minimum(inside, 2 * n)
        nearest = jnp.minimum(early, 2 * n - early)
        values = jnp.where(inside < 2 * n, early / n * (0.5 + _harmonic(n - nearest, nearest) / 4), 1)
    return jnp.where(jnp.round(t) == t, jnp.where(t > 0, values, n), jnp.nan)


def _harmonic(a: Float[Array, "..."], count: Float[Array, "..."]) -> Float[Array, "..."]:
    """The sum h(a, a + count) = 1/(a + 1/2) + … of the module's docstring, with `count` terms, all positive."""
    first, number, half = aligned(a[..., None], count[..., None], jnp.arange(_ADDED, dtype=a.dtype) + 0.5)
    first = first + half
    added = jnp.sum(number / (first * (first + number)), -1)
    a = a + _ADDED
    return added + jnp.log1p(count / a) + (_excess(a + count) - _excess(a))


def _excess(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """The difference ψ(y + 1/2) - log y for large y."""
    total = jnp.zeros_like(y)
    for coefficient in reversed(_SERIES):
        total = (total + coefficient) / y / y
    return total


@functools.partial(compiled, static_argnums=(2, 3))
def _number_variance(
    length: Float[Array, "..."], n: Float[Array, ""], beta: int, few: int | None
) -> Float[Array, "..."]:
    inside = (length >= 0) & (length <= n)
    # An arc and the rest of the circle have the same variance.
    shorter = jnp.where(inside, jnp.minimum(length, n - length), 0)
    if beta == 0:
        values = shorter * (1 - shorter / n)
    else:
        length, n = (2 * shorter, 2 * n) if beta == 4 else (shorter, n)
        v, b = _moments_of_sines(length, few) if few else _moments(length, n)
        values = {1: 2 * v - b * (1 - b), 2: v, 4: v / 2 + (b / 2) ** 2}[beta]
    return jnp.where(inside, values, jnp.nan)


def _moments_of_sines(length: Float[Array, "..."], n: int) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """V_n and B_n as sums, for few levels."""
    angle = 2 * jnp.pi * length / n
    v = length * (1 - length / n)
    for t in range(1, n):
        v -= 2 * (n - t) * (jnp.sin(t * angle / 2) / (math.pi * t)) ** 2
    b = length / n if n % 2 else jnp.zeros_like(length)
    for j in range(n // 2):
        p = (n - 1) / 2 - j
        b += jnp.sin(p * angle) / (math.pi * p)
    return v, b


def _moments(length: Float[Array, "..."], n: Float[Array, ""]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """V_n and B_n by the paths of the module's docstring, for many levels."""
    y, w = (jnp.asarray(each, length.dtype) for each in gauss_laguerre(_NUM_NODES))
    x = length / n
    turn = lambda angle: jnp.exp(jax.lax.complex(jnp.zeros_like(angle), angle))
    wave = lambda period: turn(2 * jnp.pi * (length / period - jnp.round(length / period)))
    up = lambda u, rate: jax.lax.complex(*jnp.broadcast_arrays(u[..., None], y / (rate * jnp.pi * n)))
    start, end = up(jnp.zeros_like(x), 2), up(x, 2)
    w, complex_x = like(start, w), like(start, x[..., None])
    v_start = ((complex_x - start) * _bracket(start, squared=True)) @ w
    v_end = ((complex_x - end) * _bracket(end, squared=True)) @ w
    change = jnp.log(jnp.sinc(x)) / jnp.pi**2 - (v_start - wave(1) * v_end).imag / (2 * jnp.pi * n)
    square = (jnp.pi * length) ** 2
    start_of_change = -(x**2) * square / 18 * (1 + square * (1 / (5 * n) / n - 1 / 3) * 2 / 5)
    v = number_variance(length, 2) + jnp.where(length < _SHORT, start_of_change, change)
    # On the line through 0 the bracket is imaginary and contributes nothing.
    b_end = _bracket(up(x, 1), squared=False) @ w
    return v, sine_integral(jnp.pi * length) / jnp.pi - (wave(2) * b_end).real / (jnp.pi * n)


def _bracket(u: Complex[Array, "..."], *, squared: bool) -> Complex[Array, "..."]:
    """The bracket in V_n, with squares, or the bracket in B_n."""
    z = jnp.pi * u
    near = jnp.abs(z) < 1
    small, large = jnp.where(near, z, 0.5), jnp.where(near, 1, z)
    series = jnp.zeros_like(z)
    for coefficient in _coefficients(squared)[::-1]:
        series = series * small**2 + coefficient
    if squared:
        return jnp.where(near, series, 1 / jnp.sin(large) ** 2 - 1 / large**2)
    return jnp.where(near, small * series, 1 / jnp.sin(large) - 1 / large)


@functools.cache
def _coefficients(squared: bool) -> list[float]:
    """Coefficients in z² of 1/sin² z - 1/z², or of (1/sin z - 1/z)/z, from sums over the poles."""
    even = np.arange(2, 2 * _NUM_TERMS + 1, 2)
    zeta = scipy.special.zeta(even)
    sums = (even - 1) * zeta if squared else (1 - 2.0 ** (1 - even)) * zeta
    return (2 * sums / np.pi**even).tolist()
