"""What laws on the positive axis share: quantiles however near to 0 or far out, and powers that do not overflow."""

import math
from typing import Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.special import bracketed_root


class Law(Protocol):
    """What is used of a law."""

    def _logcdf(self, x: Array, /) -> Array: ...
    def _logsf(self, x: Array, /) -> Array: ...


def quantile(law: Law, p: Float[Array, "..."], q: Float[Array, "..."], upper: Array | float) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection on the logarithm of the nearer tail.

    Args:
        law: a law without atoms.
        p: probabilities strictly between 0 and 1.
        q: 1 - p.
        upper: a point beyond all quantiles that are asked for.
    """

    def invert(p: Float[Array, ""], q: Float[Array, ""]) -> Float[Array, ""]:
        dtype = jnp.result_type(p, upper)

        def excess(x: Float[Array, ""]) -> Float[Array, ""]:
            x = jnp.maximum(x, jnp.finfo(dtype).tiny)
            return jnp.where(p <= 0.5, law._logcdf(x) - jnp.log(p), jnp.log(q) - law._logsf(x)).astype(dtype)

        return bracketed_root(excess, jnp.zeros((), dtype), jnp.asarray(upper, dtype))

    return jnp.vectorize(invert)(p, q)


def power(x: Float[Array, "..."], exponent: Array | float) -> Float[Array, "..."]:
    """The power of x > 0, as large as can be computed with: beyond it stays, with derivative 0."""
    largest = float(jnp.finfo(jnp.result_type(x, exponent)).max) / 64
    far = exponent * jnp.log(x) > math.log(largest)
    return jnp.where(far, largest, jnp.where(far, 1, x) ** exponent)
