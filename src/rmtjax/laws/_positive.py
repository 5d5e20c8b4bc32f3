"""Quantiles of laws on the positive axis, to small relative error however near to 0 or far out."""

import math
from typing import Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.special import bracketed_root


class Law(Protocol):
    """What is used of a law."""

    def _logcdf(self, x: Array, /) -> Array: ...
    def _logsf(self, x: Array, /) -> Array: ...


def quantile(
    law: Law, p: Float[Array, "..."], order: Array | float, scale: Array | float, upper: Array | float
) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection in log x on the logarithm of the nearer tail.

    Args:
        law: a law without atoms.
        p: probabilities strictly between 0 and 1.
        order: c > 0, such that P(X ≤ x) is at most of the size of (x/scale)^c near 0.
        scale: typical size of X.
        upper: a point beyond all quantiles that are asked for.
    """

    def invert(q: Float[Array, ""]) -> Float[Array, ""]:
        dtype = jnp.result_type(q, order, scale, upper)
        # The logarithm of the smallest subnormal number and a margin.
        smallest = math.log(float(jnp.finfo(dtype).tiny)) - 40

        def excess(t: Float[Array, ""]) -> Float[Array, ""]:
            x = jnp.exp(t)
            return jnp.where(q <= 0.5, law._logcdf(x) - jnp.log(q), jnp.log1p(-q) - law._logsf(x)).astype(dtype)

        ends = smallest / order + jnp.log(scale), jnp.log(upper)
        return jnp.exp(bracketed_root(excess, *(jnp.asarray(end, dtype) for end in ends)))

    return jnp.vectorize(invert)(p)
