"""What ensembles with the semicircle law have in common, and symmetric matrices built from entries."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from rmtjax.ensembles._base import AbstractNestedEnsemble
from rmtjax.laws import AbstractLaw, BinomialSemicircle, Semicircle


class AbstractSemicircular(AbstractNestedEnsemble):
    """A nested ensemble of Wigner type: entries of variance scale²/n, so that the spectrum fills ±2·scale."""

    scale: eqx.AbstractVar[Float[Array, ""]]

    def _degree_in_scale(self) -> int:
        return 1

    def _law(self) -> AbstractLaw:
        return Semicircle(2 * self.scale)

    def _rescaling(self, order: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.sqrt(self.n / order).astype(jnp.result_type(self.scale))

    def _binomial_law(self, mixture: Float[Array, ""]) -> AbstractLaw:
        return BinomialSemicircle(self.n, mixture, 2 * self.scale)

    def _rescaled_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return self._law()

    def _block_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return Semicircle(2 * self.scale * jnp.sqrt(fraction))


def diagonal_places(n: int) -> Bool[Array, "n n"]:
    return jnp.eye(n, dtype=bool)


def mirrored(entries: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The matrix with these entries on and below the diagonal, symmetric to the last bit."""
    index, entries = jnp.arange(entries.shape[-1]), stored(entries)
    return jnp.where(index[:, None] >= index[None, :], entries, entries.T)


def stored(x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The array itself, written to memory, so that all who read it see the same bits.

    XLA fuses the entries of a random matrix with what reads them, and makes them anew for the transpose, in code that
    may round otherwise; an optimization barrier is gone by then. It does not look through the turns of a loop.
    """
    return jax.lax.fori_loop(0, 2, lambda _, y: ~y if y.dtype == bool else -y, x)


def square_root(x: Float[Array, ""]) -> Float[Array, ""]:
    """√x, with derivative 0 at x = 0 in the place of infinity."""
    zero = x == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, x)))
