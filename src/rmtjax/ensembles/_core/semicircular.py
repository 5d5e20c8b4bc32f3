"""The common base of the nested ensembles with the semicircle law."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax.ensembles._core.base import AbstractNestedEnsemble
from rmtjax.laws import AbstractLaw, BinomialSemicircle, Semicircle


class AbstractSemicircular(AbstractNestedEnsemble):
    """A nested ensemble of Wigner type: its entries have variance scale²/n, and its spectrum fills ±2·scale."""

    scale: eqx.AbstractVar[Float[Array, ""]]

    def _degree_in_scale(self) -> int:
        return 1

    def _law(self) -> Semicircle:
        return Semicircle(2 * self.scale)

    def _rescaling(self, order: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.sqrt(self.n / order).astype(jnp.result_type(self.scale))

    def _binomial_law(self, mixture: Float[Array, ""]) -> AbstractLaw:
        return BinomialSemicircle(self.n, mixture, 2 * self.scale)

    def _rescaled_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return self._law()

    def _block_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return Semicircle(2 * self.scale * jnp.sqrt(fraction))
