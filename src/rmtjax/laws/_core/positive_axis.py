"""Helpers of laws on the positive axis: quantiles from next to 0 to far out, and powers that do not overflow."""

import math
from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._promotion import common_dtype
from rmtjax.special.internal import bracketed_root

# Laws are evaluated only at x above this multiple of the smallest normal number; smaller quantiles become 0.
_UNDERFLOW = 2.0**20


class Law(Protocol):
    """The members of a law that `ppf` uses."""

    def _logcdf(self, x: Array, /) -> Array: ...
    def _logsf(self, x: Array, /) -> Array: ...


def ppf(law: Law, p: Float[Array, "..."], q: Float[Array, "..."], upper: Array | float) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection on the logarithm of the nearer tail; 0 on underflow.

    Args:
        law: a law without atoms.
        p: probabilities strictly between 0 and 1.
        q: 1 - p.
        upper: the end of the support, or a point beyond all requested quantiles.
    """
    dtype = common_dtype(p, upper)
    info = jnp.finfo(dtype)
    end = jax.lax.stop_gradient(jnp.asarray(upper, dtype))
    # Points stay off 0, as laws may divide x by their scale, and off the end, where logarithms have no derivative.
    least, greatest = _UNDERFLOW * float(info.tiny), end * (1 - float(info.epsneg))

    def excess(x: Float[Array, "..."]) -> Float[Array, "..."]:
        x = jnp.where(x < least, least, jnp.where(x > greatest, greatest, x))
        return jnp.where(p <= 0.5, law._logcdf(x) - jnp.log(p), jnp.log(q) - law._logsf(x)).astype(dtype)

    x = bracketed_root(excess, jnp.zeros(p.shape, dtype), jnp.broadcast_to(end, p.shape))
    return jnp.where(x > least, x, 0)


def power(x: Float[Array, "..."], exponent: Array | float) -> Float[Array, "..."]:
    """The power of x > 0, capped at 1/64 of the largest number; the derivative is 0 where it is capped."""
    largest = float(jnp.finfo(common_dtype(x, exponent)).max) / 64
    far = exponent * jnp.log(x) > math.log(largest)
    return jnp.where(far, largest, jnp.where(far, 1, x) ** exponent)
