"""Joint densities of levels anywhere, also at infinity."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like


def log_density(ensemble: Any, levels: Inexact[Array, " k"]) -> Float[Array, ""]:
    """The logarithm of the joint density by the ensemble's hook, for which all levels are finite; at infinity it is 0.

    Formulas have differences of large numbers there.
    """
    infinite = jnp.any(jnp.isinf(levels))
    # Different from each other, and in the support of every ensemble.
    others = like(levels, jnp.arange(1, levels.size + 1) / (levels.size + 1))
    return jnp.where(infinite, -jnp.inf, ensemble._joint_logpdf(jnp.where(infinite, others, levels)))
