r"""Kernels of determinantal point processes, to full accuracy at every distance.

Near the diagonal the quotient $K = [f(x) g(y) - g(x) f(y)]/(x - y)$ loses its digits. A power series in half the
difference of x and y replaces it there. The coefficients follow from a linear system of differential equations for
products of f and g, which are evaluated at the midpoint only.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._typing import RealLike
from rmtjax.special._airy import airy_and_excess
from rmtjax.special._bessel import as_order, three_bessel_j
from rmtjax.special._double import pair_product, pair_root, pair_sum

# Terms of the series near the diagonal.
_TERMS = 11
# From this x on the Airy kernel is 0 in both precisions.
_AIRY_END = 1000.0
# The difference of ln 2 from its value in float64.
_LN2_ROUNDING = 2.3190468138462996e-17


def sine_kernel(x: RealLike, y: RealLike) -> Float[Array, "..."]:
    r"""Sine kernel $\frac{\sin\pi(x - y)}{\pi(x - y)}$, the limit in the bulk of the spectrum.

    Convention: unit density, K(x, x) = 1.

    Args:
        x: real points.
        y: real points, broadcast against `x`.

    Example:
        >>> print(f"{sine_kernel(0.0, 0.5):.6f}")
        0.636620

    References:
        Mehta (2004), Random Matrices, equation 6.2.14; Anderson, Guionnet and Zeitouni (2010), An Introduction to
        Random Matrices, theorem 3.1.1.
    """
    x, y = _points(x, y)
    t = jnp.pi * (x - y)
    near = jnp.abs(t) < 1
    series = _even_series([(-1) ** k / math.factorial(2 * k + 1) for k in range(_TERMS)], jnp.where(near, t, 0))
    far = jnp.where(near, 1, t)
    return jnp.where(near, series, jnp.sin(far) / far)


def airy_kernel(x: RealLike, y: RealLike) -> Float[Array, "..."]:
    r"""Airy kernel $\frac{\mathrm{Ai}(x)\mathrm{Ai}'(y) - \mathrm{Ai}'(x)\mathrm{Ai}(y)}{x - y}$ of the soft edge.

    On the diagonal it is $\mathrm{Ai}'(x)^2 - x\,\mathrm{Ai}(x)^2$. The error is a few ulp of the value for x, y ≥ 0,
    and a few ulp of $\sqrt{K(x, x) K(y, y)}$ elsewhere.

    Convention: the spectrum lies to the left, the density grows as $\sqrt{-x}/\pi$.

    Args:
        x: real points.
        y: real points, broadcast against `x`.

    Example:
        >>> print(f"{airy_kernel(0.0, 0.0):.6f} {airy_kernel(0.0, 1.0):.6f}")
        0.066987 0.021486

    References:
        Tracy and Widom (1994), Comm. Math. Phys. 159, 151, equation 1.6.
    """
    return _airy_kernel(*_points(x, y))


# The formulas are compiled here, so that calls outside of `jit` do not trace them again.


@compiled
def _airy_kernel(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    x, y = (jnp.minimum(each, _AIRY_END) for each in (x, y))
    (ai_x, prime_x, *_, excess_x), (ai_y, prime_y, *_, excess_y) = airy_and_excess(x), airy_and_excess(y)
    total, rounding = pair_sum(x, y)
    middle, half = total / 2, (x - y) / 2
    near = half**2 * jnp.maximum(jnp.abs(middle), 1) <= 0.25
    # The tail is steep, so the rounding of the midpoint is corrected; along the diagonal the slope is -Ai(x) Ai(y).
    close = _airy_series(jnp.where(near, middle, 0), jnp.where(near, half, 0)) - rounding / 2 * ai_x * ai_y

    difference = jnp.where(near, 1, x - y)
    apart = (ai_x * prime_y - prime_x * ai_y) / difference
    # With R = -Ai'/Ai, R² = x + excess, the kernel is Ai(x) Ai(y) times the divided difference of R; nothing cancels.
    tail = (x >= 0) & (y >= 0)
    rates = (jnp.sqrt(jnp.where(tail, each + excess, 1)) for each, excess in ((x, excess_x), (y, excess_y)))
    above = ai_x * ai_y / sum(rates) * (1 + (excess_x - excess_y) / difference)
    return jnp.where(near, close, jnp.where(tail, above, apart))


def _airy_series(m: Float[Array, "..."], h: Float[Array, "..."]) -> Float[Array, "..."]:
    """The kernel at m + h and m - h.

    With x, y = m ± h let u = Ai(x) Ai(y), s = Ai(x) Ai'(y) + Ai'(x) Ai(y), w = Ai(x) Ai'(y) - Ai'(x) Ai(y) and
    q = Ai'(x) Ai'(y) - m u. With ' = d/dh, u' = -w, s' = 2 h u, w' = 2 q and q' = 2 m w + h s; the kernel is w/2h.
    """
    ai, ai_prime, *_, excess = airy_and_excess(m)
    u, s = ai**2, 2 * ai * ai_prime
    q = jnp.where(m >= 0, ai**2 * excess, ai_prime**2 - m * ai**2)
    coefficients = [q]
    for k in range(1, _TERMS):
        w = 2 * coefficients[-1]
        u, s, q = -w / (2 * k), u / k, (2 * m * w + s) / (2 * k)
        coefficients.append(q / (2 * k + 1))
    return _even_series(coefficients, h)


def bessel_kernel(x: RealLike, y: RealLike, alpha: RealLike) -> Float[Array, "..."]:
    r"""Bessel kernel of the hard edge.

    $$K(x, y) = \frac{J_\alpha(\sqrt x)\,\sqrt y\,J_\alpha'(\sqrt y) - \sqrt x\,J_\alpha'(\sqrt x)\,J_\alpha(\sqrt y)}
    {2 (x - y)} = \frac14 \int_0^1 J_\alpha(\sqrt{x t})\,J_\alpha(\sqrt{y t})\,dt.$$

    The error is a few tens of ulp of $\sqrt{K(x, x) K(y, y)}$.

    Convention: as in Tracy and Widom; the density tends to $1/(2\pi\sqrt x)$.

    Args:
        x: real points of at least 0; a negative one gives NaN.
        y: real points of at least 0, broadcast against `x`.
        alpha: α in (-1, 50], broadcast against both.

    Raises:
        ValueError: `alpha` is outside (-1, 50].

    Example:
        >>> print(f"{bessel_kernel(0.0, 0.0, 0.0):.4f} {bessel_kernel(1.0, 4.0, 0.5):.6f}")
        0.2500 0.089405

    References:
        Tracy and Widom (1994), Comm. Math. Phys. 161, 289, equation 1.4.
    """
    alpha = as_order("alpha", alpha)
    return _bessel_kernel(*aligned(alpha, *_points(x, y)))


@compiled
def _bessel_kernel(alpha: Float[Array, "..."], x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    inside = (x >= 0) & (y >= 0)
    infinite = inside & (alpha < 0) & (jnp.minimum(x, y) == 0)
    x, y = jnp.where(infinite, 1, x), jnp.where(infinite, 1, y)
    middle, half = (x + y) / 2, (x - y) / 2
    ratio = half / jnp.where(middle > 0, middle, 1)
    near = ratio**2 * (1 + jnp.abs(alpha) + middle) <= 1 / 16
    close = _bessel_series(alpha, jnp.where(near, middle, 1), jnp.where(near, ratio, 0))

    (f_x, g_x, _), (f_y, g_y, _) = _hard_edge(alpha, x), _hard_edge(alpha, y)
    # The second functions g are finite here: at x = 0 with α < 0, where they are not, the kernel is infinite.
    apart = x * g_x * f_y - y * g_y * f_x
    kernel = jnp.where(near, close, apart / (2 * jnp.where(near, 1, x - y)))
    return jnp.where(inside, jnp.where(infinite, jnp.inf, kernel), jnp.nan)


def _bessel_series(alpha: Float[Array, "..."], m: Float[Array, "..."], e: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The kernel at m (1 + e) and m (1 - e).

    With $f = x^{-α/2} J_α(\sqrt x)$ and $g = x^{-α/2} J_{α+1}(\sqrt x)/2\sqrt x$ the equations are f' = -g and x g' =
    f/4 - (α + 1) g, and the kernel is $(x y)^{α/2}\,ω/2$ with ω = [x g(x) f(y) - y f(x) g(y)]/(m e). Let u = f(x) f(y),
    s = g(x) f(y) + f(x) g(y), v = g(x) g(y). Their derivatives in e satisfy

    (e ω)' = u/2 - α s + 2 m v,  u' = m e (s - ω),
    (1 - e²) v' = e [2 (α + 1) v - ω/4],  (1 - e²) s' = e [2 (α + 1) s - u/2 - (α + 1) ω].
    """
    f, g, h = _hard_edge(alpha, m)
    u, s, v = f**2, f * g, g**2 / 4
    # At e = 0, ω is u/2 - α s + 2 m v. Nothing cancels for large α in the form below.
    coefficients = [f * g + m / 2 * (g**2 - f * h)]
    for k in range(1, _TERMS):
        omega, rate = coefficients[-1], 2 * (k + alpha)
        u, s, v = (
            m * (s - omega) / (2 * k),
            (rate * s - u / 2 - (alpha + 1) * omega) / (2 * k),
            (rate * v - omega / 4) / (2 * k),
        )
        coefficients.append((u / 2 - alpha * s + 2 * m * v) / (2 * k + 1))
    return (1 - e**2) ** (alpha / 2) / 2 * _even_series(coefficients, e)


def _hard_edge(alpha: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    return _hard_edge_functions(0, *jnp.broadcast_arrays(alpha, x))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _hard_edge_functions(j: int, alpha: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    r"""The functions $J_{α+k}(\sqrt x)/\sqrt x^k$ for k = j, j + 1, j + 2."""
    return _hard_edge_formula(j, alpha, x)


@functools.partial(_hard_edge_functions.defjvp, symbolic_zeros=True)
def _hard_edge_jvp(j: int, primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
    (alpha, x), (alpha_tangent, x_tangent) = primals, tangents
    values = _hard_edge_functions(j, alpha, x)
    parts = [jnp.zeros_like(value) for value in values]
    if not isinstance(x_tangent, SymbolicZero):
        # Each function is x^(α/2) times a smooth function. At x = 0 the slope of this power is 0 for α = 0 and α > 2,
        # and 1 for α = 2. For other α it is infinite and set to 0.
        rate = jnp.where(x > 0, alpha / 2 / jnp.where(x > 0, x, 1), 0)
        following = _hard_edge_functions(j + 1, alpha, x)
        smooth = [1 / (2 ** (k + 2) * math.factorial(k + 2)) for k in range(j, j + 3)]
        at_zero = [jnp.where((x == 0) & (alpha == 2), each, 0) for each in smooth]
        slopes = [jnp.where(x > 0, rate * f, at) - g / 2 for f, g, at in zip(values, following, at_zero, strict=True)]
        parts = [part + slope * x_tangent for part, slope in zip(parts, slopes, strict=True)]
    if not isinstance(alpha_tangent, SymbolicZero):
        by_alpha = jax.jvp(lambda alpha: _hard_edge_formula(j, alpha, x), (alpha,), (alpha_tangent,))[1]
        parts = [part + other for part, other in zip(parts, by_alpha, strict=True)]
    return values, tuple(parts)


def _hard_edge_formula(j: int, alpha: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    positive = x > 0
    z, rounding = pair_root(jnp.where(positive, x, 1))
    f, g, h = (value / z ** (j + k) for k, value in enumerate(three_bessel_j(alpha + j, z)))
    # The rounding of the root is corrected, because it changes the phase.
    f, g, h = (
        f + rounding * (alpha / z * f - z * g),
        g + rounding * (alpha / z * g - z * h),
        h + rounding * (g - (alpha + 2 * j + 4) * h) / z,
    )
    limits = [1 / (2**k * math.factorial(k)) for k in range(j, j + 3)]
    at_zero = [jnp.where(alpha == 0, limit, jnp.where(alpha > 0, 0, jnp.inf)) for limit in limits]
    return tuple(jnp.where(positive, *pair) for pair in zip((f, g, h), at_zero, strict=True))


def hermite_kernel(x: RealLike, y: RealLike, n: int) -> Float[Array, "..."]:
    r"""Kernel $\sum_{k<n} \varphi_k(x) \varphi_k(y)$ of orthonormal Hermite functions: the GUE of n levels.

    The sum is computed term by term, so nothing cancels on the diagonal. It takes n steps, and memory for n functions
    at `x` and at `y`; n may be thousands. The error is about $\sqrt n$ ulp of $\sqrt{K(x, x) K(y, y)}$.

    Convention: weight $e^{-x^2}$, so that the spectrum fills $[-\sqrt{2n}, \sqrt{2n}]$; dividing by $\sqrt{n/2}$ gives
    the levels of `GUE(n)`.

    Args:
        x: real points.
        y: real points, broadcast against `x`.
        n: number of levels.

    Raises:
        ValueError: `n` is not a positive integer.

    Example:
        >>> print(f"{hermite_kernel(0.0, 0.0, 2):.6f} {hermite_kernel(0.5, 1.0, 2):.6f}")
        0.564190 0.603978

    References:
        Mehta (2004), Random Matrices, equations 6.2.7 and 6.2.10.
    """
    return _hermite_kernel(_checks.integer("n", n, at_least=1), *_points(x, y))


@functools.partial(compiled, static_argnums=0)
def _hermite_kernel(n: int, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    ndim = max(x.ndim, y.ndim)
    x, y = (jnp.expand_dims(each, tuple(range(ndim - each.ndim))) for each in (x, y))
    return jnp.sum(hermite_functions(n, x) * hermite_functions(n, y), axis=0)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def hermite_functions(n: int, x: Float[Array, "..."]) -> Float[Array, "n ..."]:
    r"""Orthonormal $\varphi_0, \dots, \varphi_{n-1}$ by their recurrence, scaled by an exponent at each point."""
    # Outside of this range all functions underflow.
    inside = jnp.abs(x) < math.sqrt(2 * n) + 40
    limit = jnp.where(jnp.isnan(x), jnp.nan, 0)
    x = jnp.where(inside, x, 0)
    first, exponent = scaled_gaussian(x)
    large = 2.0**32

    def step(state: tuple[Array, ...], k: Float[Array, ""]) -> tuple[tuple[Array, ...], Array]:
        before, now, exponent = state
        after = jnp.sqrt(2 / (k + 1)) * x * now - jnp.sqrt(k / (k + 1)) * before
        grown = jnp.abs(after) > large
        unit = jnp.where(grown, 1 / large, 1)
        following = now * unit, after * unit, exponent + jnp.where(grown, 32, 0)
        # This is a product, since JAX 0.10 loses the derivative of `ldexp` in forward mode over reverse mode of a scan.
        # The other factor is at most 1, so that the power of 2 is a normal number where the function is one.
        power = jnp.ldexp(jnp.ones((), now.dtype), exponent + 32)
        return following, now / large * power

    start = jnp.zeros_like(first), first * np.pi**-0.25, exponent
    functions = jax.lax.scan(step, start, jnp.arange(n, dtype=x.dtype))[1]
    return jnp.where(inside, functions, limit)


@hermite_functions.defjvp
def hermite_functions_jvp(n: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    functions = hermite_functions(n + 1, x)
    k = jnp.arange(n, dtype=x.dtype).reshape(-1, *[1] * x.ndim)
    before = jnp.concatenate([jnp.zeros_like(functions[:1]), functions[:-2]])
    slope = jnp.sqrt(k / 2) * before - jnp.sqrt((k + 1) / 2) * functions[1:]
    return functions[:-1], slope * tangent[None]


def scaled_gaussian(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Int[Array, "..."]]:
    """The mantissa, near 1, and the binary exponent of exp(-x²/2), to a few ulp however small it is."""
    square, rounding = pair_product(x, x)
    exponent = jnp.round(square / (2 * math.log(2)))
    # The constant ln 2 is split in two parts; the first is so short that its product with the exponent is exact.
    unit = 2.0 ** (jnp.finfo(x.dtype).nmant - 14)
    ln2 = round(math.log(2) * unit) / unit
    rest = (exponent * ln2 - square / 2) + (exponent * (math.log(2) - ln2 + _LN2_ROUNDING) - rounding / 2)
    return jnp.exp(rest), -exponent.astype(int)


def _points(x: RealLike, y: RealLike) -> list[Array]:
    """Two arrays of points to be broadcast against each other."""
    return aligned(*(_checks.real(name, z) for name, z in (("x", x), ("y", y))))


def _even_series(coefficients: list, h: Float[Array, "..."]) -> Float[Array, "..."]:
    """The sum of the coefficients times the even powers of h."""
    return functools.reduce(lambda value, coefficient: coefficient + h**2 * value, reversed(coefficients))
