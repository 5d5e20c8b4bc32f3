"""Quantiles of laws on the positive axis, to small relative error however near to 0 or far out."""

from typing import Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.special import bracketed_root


class Law(Protocol):
    """What is used of a law."""

    def _logcdf(self, x: Array, /) -> Array: ...
    def _logsf(self, x: Array, /) -> Array: ...


def quantile(law: Law, p: Float[Array, "..."], upper: Array | float) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection on the logarithm of the nearer tail.

    Args:
        law: a law without atoms.
        p: probabilities strictly between 0 and 1.
        upper: a point beyond all quantiles that are asked for.
    """

    def invert(q: Float[Array, ""]) -> Float[Array, ""]:
        dtype = jnp.result_type(q, upper)

        def excess(x: Float[Array, ""]) -> Float[Array, ""]:
            x = jnp.maximum(x, jnp.finfo(dtype).tiny)
            return jnp.where(q <= 0.5, law._logcdf(x) - jnp.log(q), jnp.log1p(-q) - law._logsf(x)).astype(dtype)

        return bracketed_root(excess, jnp.zeros((), dtype), jnp.asarray(upper, dtype))

    return jnp.vectorize(invert)(p)
