"""Joint densities of levels anywhere, also at infinity, and for levels that do not repel each other."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like


def anywhere(log_density: Callable[[Array], Array], levels: Inexact[Array, " k"]) -> Float[Array, ""]:
    """The logarithm of a joint density whose formula holds for finite levels only; if a level is infinite, it is -∞."""
    infinite = jnp.any(jnp.isinf(levels))
    # These points differ from each other and lie in the support of every ensemble.
    others = like(levels, jnp.arange(1, levels.size + 1) / (levels.size + 1))
    return jnp.where(infinite, -jnp.inf, log_density(jnp.where(infinite, others, levels)))


def repulsion(beta: Float[Array, ""], log_distances: Float[Array, ""]) -> Float[Array, ""]:
    """The sum of the logarithms of all distances times β; at β = 0 it is 0, even if levels coincide."""
    none = (beta == 0) & (log_distances == -jnp.inf)
    return beta * jnp.where(none, 0, log_distances)
