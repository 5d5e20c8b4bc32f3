"""Clipping of the levels that noise would have."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels


def clipping(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    r"""Levels up to the edge of Marčenko and Pastur become their mean; those above stay, and so does the trace.

    The edge is $\mu (1 + \sqrt{p/n})^2$ with the mean μ of all p levels, 1 for a correlation matrix.

    References:
        Bouchaud and Potters (2011), The Oxford Handbook of Random Matrix Theory, chapter 40.
    """
    mean = jnp.sum(levels, -1, keepdims=True) / p
    above = levels > mean * (1 + (p / n) ** 0.5) ** 2
    number = p - jnp.sum(above, -1, dtype=levels.dtype)
    rest = jnp.sum(jnp.where(above, 0, levels), -1) / jnp.maximum(number, 1)
    return jnp.where(above, levels, rest[..., None]), rest
