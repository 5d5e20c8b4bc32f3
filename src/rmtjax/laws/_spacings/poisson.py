"""Spacings of independent levels."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax.laws._core.generalized_gamma import AbstractGeneralizedGamma
from rmtjax.laws._core.orders import as_number


class PoissonSpacing(AbstractGeneralizedGamma):
    r"""The law of the spacing of two independent levels with k others between them.

    $$p(s) = \frac{s^k e^{-s}}{k!}, \qquad s > 0 .$$

    The levels form a Poisson process, as those of a generic integrable system do. Mean and variance are k + 1.

    Convention: levels of unit density; k = 0 is the spacing of neighbours.

    Args:
        k: number of levels in between, 0 or more; static.

    Raises:
        ValueError: `k` is not an integer of at least 0.

    Example:
        >>> print(f"{PoissonSpacing().pdf(1.0):.5f} {PoissonSpacing(k=2).sf(1.0):.5f}")
        0.36788 0.91970

    References:
        Berry and Tabor (1977), Proc. R. Soc. Lond. A 356, 375; Mehta (2004), section 1.4.
    """

    k: int = eqx.field(static=True)

    def __init__(self, k: int = 0):
        self.k = _checks.integer("k", k, at_least=0)

    def _shape_power_scale(self) -> tuple[Array, Array | float, Array | float]:
        return jnp.asarray(self.k + 1.0), 1.0, 1.0

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return (1.0 if self.k == 0 else 0.0), 0.0

    def _moment(self, k: int) -> Float[Array, ""]:
        return as_number(math.prod(range(self.k + 1, self.k + 1 + k)))

    def _var(self) -> Float[Array, ""]:
        return jnp.asarray(self.k + 1.0)
