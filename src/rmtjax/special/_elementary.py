"""Elementary functions whose plain formulas would cancel or have no derivative somewhere."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

from rmtjax._promotion import like


def log_one_plus(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value log(1 + x) for x > -1; XLA's log1p loses two digits near -0.41, where 1 + x is exact enough."""
    near = x > -0.25
    return jnp.where(near, jnp.log1p(jnp.where(near, x, 0)), jnp.log(jnp.where(near, 1, 1 + x)))


def log_one_minus_exp(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value log(1 - exp y) for y < 0."""
    small = y > -1
    # Each branch sees only arguments of its own side: towards y = 0 the second one has no finite derivative.
    near, far = jnp.where(small, y, -1), jnp.where(small, -1, y)
    return jnp.where(small, jnp.log(-jnp.expm1(near)), log_one_plus(-jnp.exp(far)))


def t_minus_sin_t(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """The difference t - sin t, by its Taylor series where it would cancel (t < 1; 8 terms reach 1e-17)."""
    small = t < 1
    s = jnp.where(small, t, 1) ** 2
    series = jnp.ones_like(s)
    for k in range(9, 1, -1):
        series = 1 - s / (2 * k * (2 * k + 1)) * series
    return jnp.where(small, jnp.where(small, t, 1) ** 3 / 6 * series, t - jnp.sin(t))


def whole_powers(x: Float[Array, ""], exponents: Int[Array, " k"]) -> Float[Array, " k"]:
    """The powers of x with whole exponents k ≥ 0, which have the right derivatives at x = 0 too."""
    return jnp.where(exponents == 0, 1, x ** like(x, jnp.maximum(exponents, 1)))


def logarithm(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The logarithm of x ≥ 0, with the derivative 0 at x = 0, where it is -inf."""
    positive = x > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, x, 1)), -jnp.inf)


def square_root(x: Float[Array, ""]) -> Float[Array, ""]:
    """The square root √x, with the derivative 0 instead of infinity at x = 0."""
    zero = x == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, x)))


def exp_slope(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The quotient (e^z - 1)/z, by its Taylor series where its derivatives would cancel (14 terms reach 1e-16)."""
    near = jnp.abs(z) < 0.5
    small, large = jnp.where(near, z, 0), jnp.where(near, 1, z)
    series = jnp.ones_like(z)
    for k in range(14, 1, -1):
        series = 1 + small / k * series
    return jnp.where(near, series, jnp.expm1(large) / large)


def log_slope(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The quotient log(1 + z)/z, z > -1, by the series of the area tangent near 0 (10 terms reach 1e-18)."""
    near = jnp.abs(z) < 0.25
    small, large = jnp.where(near, z, 0), jnp.where(near, 1, z)
    square = (small / (2 + small)) ** 2
    series = jnp.zeros_like(z)
    for k in range(9, -1, -1):
        series = 1 / (2 * k + 1) + square * series
    return jnp.where(near, 2 / (2 + small) * series, log_one_plus(large) / large)


def unit_circle(angle: Float[Array, "..."]) -> Complex[Array, "..."]:
    """The point e^{iθ}."""
    return jax.lax.complex(jnp.cos(angle), jnp.sin(angle))
