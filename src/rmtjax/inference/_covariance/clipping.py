"""Clipping: levels that noise alone would have become their mean."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes, filled


def clipping(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    r"""Levels up to the edge of Marčenko and Pastur become their mean; those above stay, and so does the trace.

    The edge is $\mu (1 + \sqrt{p/n})^2$ with the mean μ of all p levels, 1 for a correlation matrix. For p ≤ n
    levels of 0 are not noise: they stay, and p is the number of the other levels.

    References:
        Bouchaud and Potters (2011), The Oxford Handbook of Random Matrix Theory, chapter 40.
    """
    count, observations, variables = effective_sizes(levels, n, p)
    edge = jnp.sum(levels, -1) / variables * (1 + jnp.sqrt(variables / observations)) ** 2
    above = levels > edge[..., None]
    number = variables - jnp.sum(above, -1, dtype=levels.dtype)
    rest = jnp.sum(jnp.where(above, 0, levels), -1) / jnp.maximum(number, 1)
    return filled(jnp.where(above, levels, rest[..., None]), jnp.zeros_like(rest) if p <= n else rest, count)
