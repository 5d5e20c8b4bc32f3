"""Matrices of varying order in arrays of one static size."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike, IntegerLike
from rmtjax.linalg._hermitian import hermitian_eigenvalues
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import inside_block, padded


class PaddedMatrix(AbstractModule):
    """A square matrix of order k ≤ n in an n×n array that is zero outside its leading k×k block.

    Args:
        values: the array, zero outside the block.
        order: 1 ≤ k ≤ n, the order of the matrix; may be traced.

    Raises:
        ValueError: `order` does not have an integer dtype or the shape of the batch.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PaddedMatrix(jnp.diag(jnp.array([3.0, 0.0])), jnp.array(1)).mask)
        [[ True False]
         [False False]]
    """

    values: Inexact[Array, "*batch n n"]
    order: Int[Array, "*batch"]

    def __init__(self, values: Annotated[ArrayLike, "*batch n n"], order: Annotated[IntegerLike, "*batch"]):
        values, order = _checks.numbers("values", values), _checks.whole("order", order)
        if values.ndim < 2:
            raise _checks.refusal("values", "have at least 2 axes", values.shape)
        if order.shape != values.shape[:-2]:
            raise _checks.refusal("order", f"be integers of the batch shape {values.shape[:-2]}", order)
        self.values, self.order = values, order

    @property
    def mask(self) -> Bool[Array, "*batch n n"]:
        """True inside the block."""
        rows = inside_block(self.order, self.values.shape[-1])
        return rows[..., :, None] & rows[..., None, :]


def leading_block_spectrum(a: Inexact[Array, "n n"], order: Int[Array, ""]) -> Spectrum:
    """Spectrum of the leading block of a Hermitian matrix that is zero outside it, for a traced order.

    The whole matrix has the levels of the block and n - k zeros. The n - k consecutive levels that lie closest to 0 are
    removed. If a level of the block is closer to 0 than a computed zero, the two agree to rounding. (A large number on
    the outer diagonal would also sort the padding to the end, but the error, eps‖A‖, would grow with it.)
    """
    n = a.shape[-1]
    eigenvalues = hermitian_eigenvalues(a)
    zeros = n - order
    start = jnp.arange(n, dtype=order.dtype)
    last = jnp.clip(start + zeros - 1, 0, n - 1)
    distance = jnp.maximum(jnp.abs(eigenvalues), jnp.abs(eigenvalues[last]))
    first_zero = jnp.argmin(jnp.where(start + zeros <= n, distance, jnp.inf))
    place = jnp.where(start < like(start, first_zero), start, jnp.clip(start + zeros, 0, n - 1))
    return padded(eigenvalues[place], order)
