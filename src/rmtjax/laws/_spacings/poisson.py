"""Spacings of independent levels."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax.laws._core.generalized_gamma import AbstractGeneralizedGamma
from rmtjax.laws._core.orders import as_number


class PoissonSpacing(AbstractGeneralizedGamma):
    r"""The law of the distance from an independent level to the k-th level above it.

    $$p(s) = \frac{s^{k-1} e^{-s}}{(k - 1)!}, \qquad s > 0 .$$

    The levels form a Poisson process, like the levels of a generic integrable system. Mean and variance are k.

    Convention: levels of unit density; k = 1 is the spacing of neighbours, as in `statistics.spacings`.

    Args:
        order: k, 1 or more; static.

    Raises:
        ValueError: `order` is outside its range.

    Example:
        >>> print(f"{PoissonSpacing().pdf(1.0):.5f} {PoissonSpacing(order=3).sf(1.0):.5f}")
        0.36788 0.91970

    References:
        Berry and Tabor (1977), Proc. R. Soc. Lond. A 356, 375; Mehta (2004), Random Matrices, section 1.4.
    """

    order: int = eqx.field(static=True)

    def __init__(self, order: int = 1):
        self.order = _checks.integer("order", order, at_least=1)

    def _shape_power_scale(self) -> tuple[Array, Array | float, Array | float]:
        return jnp.asarray(float(self.order)), 1.0, 1.0

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return (1.0 if self.order == 1 else 0.0), 0.0

    def _moment(self, k: int) -> Float[Array, ""]:
        return as_number(math.prod(range(self.order, self.order + k)))

    def _var(self) -> Float[Array, ""]:
        return jnp.asarray(float(self.order))
