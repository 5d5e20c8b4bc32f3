r"""Bessel functions of the first kind, of real order.

With $\nu = \mu + n$, $0 \le \mu < 1$, there are two routes, both recurrences in n with a fixed number of steps:

- For x ≥ 25 and ν ≤ x, upwards from Hankel's asymptotic expansion of the orders μ and μ + 1.
- Otherwise, downwards from an order far above x (Miller), for $\Lambda_\nu = \Gamma(\nu + 1)\,(2/x)^\nu J_\nu$, which
  is 1 at x = 0. With $z = x^2/4$ the recurrence is
  $\Lambda_{\nu-1} = \Lambda_\nu - \frac{z}{\nu(\nu + 1)} \Lambda_{\nu+1}$, and Neumann's series
  $\sum_k \frac{\Gamma(\mu + k)}{k!\,\Gamma(\mu + 2k)}\,z^k \Lambda_{\mu+2k} = 1$ gives the common factor.
"""

import functools

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._typing import RealLike

_LARGEST_ORDER = 50
# Derivatives need a few orders beyond the largest.
_STEPS = _LARGEST_ORDER + 6
# Hankel's expansion is used for x from here on, with this many terms of P and of Q.
_HANKEL_FROM = 25.0
_HANKEL_PAIRS = 13
# Miller's recurrence starts at twice this order, where J/Y is below rounding for every x that takes this route.
_MILLER_PAIRS = 48


def bessel_j(order: RealLike, x: RealLike) -> Float[Array, "..."]:
    r"""Bessel function of the first kind $J_\nu(x)$ of real order.

    The error is within 1e-14 (float32: 5e-6) of the envelope, which is $\sqrt{2/\pi x}$ where the function oscillates,
    and the function itself below its first zero, also as x → 0. Derivatives in x and in ν are as accurate.

    Args:
        order: ν in (-1, 50], broadcast against `x`.
        x: real numbers of at least 0; a negative one gives NaN.

    Raises:
        ValueError: `order` is outside (-1, 50].

    Example:
        >>> print(f"{bessel_j(0.5, 2.0):.6f} {bessel_j(3, 1.0):.6f}")
        0.513016 0.019563

    References:
        Olver et al. (2010), NIST Digital Library of Mathematical Functions, equations 10.6.1 (recurrence), 10.17.3
        (Hankel's expansion), 10.23.15 (Neumann's series).
    """
    order = as_order("order", order)
    x = _checks.real("x", x)
    return _compiled(*jnp.broadcast_arrays(*aligned(order, x)))


_ORDERS = _checks.Rule(lambda nu: (nu > -1) & (nu <= _LARGEST_ORDER), f"lie in (-1, {_LARGEST_ORDER}]")


def as_order(name: str, order: RealLike) -> Float[Array, "..."]:
    """An array of orders within reach of the recurrences."""
    return _ORDERS(name, _checks.real(name, order))


@jax.custom_jvp
def _bessel_j(order: Float[Array, "..."], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Same as `bessel_j`, but derivatives may ask for orders a little above the largest."""
    return three_bessel_j(order, x)[0]


@functools.partial(_bessel_j.defjvp, symbolic_zeros=True)
def _bessel_j_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (order, x), (order_tangent, x_tangent) = primals, tangents
    value = _bessel_j(order, x)
    tangent = jnp.zeros_like(value)
    if not isinstance(x_tangent, SymbolicZero):
        tangent += _slope(order, x, value) * x_tangent
    if not isinstance(order_tangent, SymbolicZero):
        tangent += jax.jvp(lambda order: three_bessel_j(order, x)[0], (order,), (order_tangent,))[1]
    return value, tangent


# This is compiled, so that calls outside of `jit` do not trace it again.
_compiled = compiled(_bessel_j)


def _slope(order: Float[Array, "..."], x: Float[Array, "..."], value: Float[Array, "..."]) -> Float[Array, "..."]:
    """The derivative in x, by a formula that also holds at x = 0; for ν ≤ 0 by one without the order ν - 1."""
    following = _bessel_j(order + 1, x)
    preceding = _bessel_j(jnp.where(order > 0, order - 1, order), x)
    ratio = order / jnp.where(x > 0, x, 1)
    return jnp.where(order > 0, (preceding - following) / 2, ratio * value - following)


def three_bessel_j(order: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    """The functions of the orders ν, ν + 1 and ν + 2 by one of the two routes, or their limits at 0 and infinity."""
    inside = (x > 0) & (x < jnp.inf)
    n = jnp.floor(order)
    upwards = (x >= _HANKEL_FROM) & (order <= x)
    above = _upwards(order - n, n, jnp.where(inside & upwards, x, order + _HANKEL_FROM + 1))
    below = _downwards(order - n, n, jnp.where(inside & ~upwards, x, 1))

    def limit(order: Float[Array, "..."]) -> Float[Array, "..."]:
        at_zero = jnp.where(order == 0, 1, jnp.where(order > 0, 0, jnp.inf))
        return jnp.where(x == 0, at_zero, jnp.where(x == jnp.inf, 0, jnp.nan))

    return tuple(
        jnp.where(inside, jnp.where(upwards, above[k], below[k]), limit(order + k).astype(x.dtype)) for k in range(3)
    )


def _upwards(mu: Float[Array, "..."], n: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    """The functions of the order μ + n and the next two, by recurrence upwards from the orders μ and μ + 1."""

    def step(k: int, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        now, following = pair
        going = k < n
        after = 2 * (mu + k + 1) / x * following - now
        return jnp.where(going, following, now), jnp.where(going, after, following)

    # The phase is x - νπ/2 - π/4; its digits would be lost in the subtraction.
    shift = jnp.pi / 2 * mu + jnp.pi / 4
    cosine = jnp.cos(x) * jnp.cos(shift) + jnp.sin(x) * jnp.sin(shift)
    sine = jnp.sin(x) * jnp.cos(shift) - jnp.cos(x) * jnp.sin(shift)
    (p, p_next), (q, q_next) = _hankel(jnp.stack([mu, mu + 1]), jnp.expand_dims(x, 0))
    envelope = jnp.sqrt(2 / (jnp.pi * x))
    first, second = envelope * (cosine * p - sine * q), envelope * (sine * p_next + cosine * q_next)
    now, following = jax.lax.fori_loop(0, _STEPS, step, (first, second))
    here = now, following, 2 * (mu + n + 1) / x * following - now
    before = 2 * mu / x * first - second, first, second
    return tuple(jnp.where(n < 0, low, high) for low, high in zip(before, here, strict=True))


def _hankel(order: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, Array]:
    r"""P and Q in $J_\nu = \sqrt{2/\pi x}\,(P \cos ω - Q \sin ω)$ with ω = x - νπ/2 - π/4."""

    def step(k: int, state: tuple[Array, ...]) -> tuple[Array, ...]:
        even, odd, p, q = state
        odd = even * (4 * order**2 - (4 * k + 1) ** 2) / ((16 * k + 8) * x)
        even = -odd * (4 * order**2 - (4 * k + 3) ** 2) / ((16 * k + 16) * x)
        return even, odd, p + even, q + odd

    one = jnp.ones_like(order * x)
    none = jnp.zeros_like(one)
    return jax.lax.fori_loop(0, _HANKEL_PAIRS, step, (one, none, one, none))[2:]


def _downwards(mu: Float[Array, "..."], n: Float[Array, "..."], x: Float[Array, "..."]) -> tuple[Array, ...]:
    """The functions of the order μ + n and the next two, by Miller's algorithm."""
    z = x**2 / 4

    def step(down: int, state: tuple) -> tuple:
        k = _MILLER_PAIRS - 1 - down
        order = mu + 2 * k
        further, following, series, chosen, power = state
        odd = following - z / ((order + 2) * (order + 3)) * further
        even = odd - z / ((order + 1) * (order + 2)) * following
        # The ratio of successive weights of Neumann's series, written without 0/0 at k = 0.
        ratio = jnp.where(k == 0, 1, (mu + k) / jnp.where(k == 0, 1, order)) * z / ((k + 1) * (order + 1))
        for j, found in ((0, (even, odd, following)), (1, (odd, following, further))):
            chosen = [jnp.where(n == 2 * k + j, *pair) for pair in zip(found, chosen, strict=True)]
            power = power * jnp.where(2 * k + j < n, x / 2 / (order + j + 1), 1)
        return odd, even, even + ratio * series, chosen, power

    one = jnp.ones_like(mu + x)
    odd, even, series, chosen, power = jax.lax.fori_loop(0, _MILLER_PAIRS, step, (one, one, one, [one] * 3, one))
    powers = [power, power * x / 2 / (mu + n + 1), power * (x / 2) ** 2 / ((mu + n + 1) * (mu + n + 2))]
    here = [factor * value for factor, value in zip(powers, chosen, strict=True)]
    before = [2 / x * (mu * even - z / (mu + 1) * odd), even, x / 2 / (mu + 1) * odd]
    scale = jnp.exp(-gammaln(mu + 1)) * (x / 2) ** mu / series
    return tuple(scale * jnp.where(n < 0, low, high) for low, high in zip(before, here, strict=True))
