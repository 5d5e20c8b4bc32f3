"""Analytical nonlinear shrinkage."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes
from rmtjax.inference._covariance.transforms import epanechnikov
from rmtjax.inference._covariance.weighted import levels_from, relative_spread

# Kernels around positive levels reach 0 with fewer observations.
FEWEST = 12


def analytical(levels: Float[Array, "*batch k"], n: int, p: int, weights: Float[Array, " n"] | None = None) -> Levels:
    r"""Optimal levels by Epanechnikov's kernel, of the width $n^{-1/3}$ relative to each level with the effective n.

    References:
        Ledoit and Wolf (2020), Ann. Statist. 48, 3043, sections 4.7 and 5 and, for p > n, appendix C.
    """
    count, observations, _ = effective_sizes(levels, n, p)
    observations = jnp.maximum(observations, min(n, FEWEST))  # repeated rows may leave fewer
    width = ((1 + relative_spread(weights)) / observations)[..., None] ** (1 / 3)
    factor = _factor_at_zero(width[..., 0]) if p > n else 1.0
    return levels_from(levels, epanechnikov(levels, width, count), count, n, p, weights, width, factor)


def _factor_at_zero(h: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """The Hilbert transform of the kernel at 0, times the level of the kernel: 1 for h → 0."""
    reach = 5**0.5 * h
    return 0.3 / h**2 + 0.75 / reach * (1 - 0.2 / h**2) * jnp.log((1 + reach) / (1 - reach))
