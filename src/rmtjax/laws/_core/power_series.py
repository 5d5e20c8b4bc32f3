"""Powers of power series, from which moments and free cumulants follow by Lagrange inversion."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax._promotion import like


def power(series: Float[Array, " k"], exponent: float) -> Float[Array, " k"]:
    """The coefficients of a power of a series whose first coefficient is not 0, by Euler's recursion."""
    return _power(series, exponent, series[0] ** exponent)


def diagonal_of_powers(series: Float[Array, " k"], exponents: Int[Array, " k"]) -> Float[Array, " k"]:
    """The coefficient of each order in another power of a series whose first coefficient is 1."""
    powers = jax.vmap(_power, in_axes=(None, 0, None))(series, exponents, jnp.ones_like(series[0]))
    return jnp.diagonal(powers)


def _power(series: Float[Array, " k"], exponent: float | Int[Array, ""], first: Float[Array, ""]) -> Float[Array, " k"]:
    i = jnp.arange(series.size)

    def step(j: Array, found: Float[Array, " k"]) -> Float[Array, " k"]:
        factors = (like(series, exponent + 1) * like(series, i) - like(series, j)) * series
        terms = jnp.where(i <= j, factors * found[jnp.maximum(j - i, 0)], 0)
        return found.at[j].set(jnp.sum(terms) / (like(series, j) * series[0]))

    return jax.lax.fori_loop(1, series.size, step, jnp.zeros_like(series).at[0].set(first))


def moments_of_points(points: Float[Array, " n"], weights: Float[Array, " n"], k: int) -> Float[Array, " k+1"]:
    """The sums of the weights times the powers of the points, for the powers from 0 to k."""
    orders = like(points, np.arange(1, k + 1))
    # The sum of order 0 is separate, because the derivative of x^0 at 0 would be 0 times infinity.
    return jnp.append(jnp.sum(weights), points[None] ** orders[:, None] @ weights)
