r"""The spectrum of a sample covariance matrix, from the smaller side of the data.

Convention: $S = \frac1n \sum_i x_i x_i^*$ for rows $x_i$ of mean 0, as in `numpy.cov`, so that $S_{jk}$ estimates
$E\,x_j \bar x_k$.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, like
from rmtjax.inference._core.data import without_mean
from rmtjax.linalg import eigh
from rmtjax.linalg.internal import adjoint, hermitian_eigenvalues


class SampleSpectrum(AbstractModule):
    """The k = min(n, p) ascending levels that need not be 0 of a sample covariance matrix, and orthonormal vectors."""

    levels: Float[Array, "*batch k"]
    vectors: Inexact[Array, "*batch p k"]

    def matrix(
        self, levels: Float[Array, "*batch k"], null: Float[Array, "*batch"] | float = 0.0
    ) -> Inexact[Array, "*batch p p"]:
        """The matrix with other levels and the same vectors, and with one level for all other directions."""
        p, k = self.vectors.shape[-2:]
        null = jnp.asarray(null, levels.dtype)
        if p == k:
            return (self.vectors * like(self.vectors, levels)[..., None, :]) @ adjoint(self.vectors)
        null = like(self.vectors, null)[..., None, None]
        above = like(self.vectors, levels)[..., None, :] - null
        rest = jnp.multiply(*aligned(null, jnp.eye(p, dtype=null.dtype)))
        return jnp.add(*aligned((self.vectors * above) @ adjoint(self.vectors), rest))


def sample_covariance(rows: Inexact[Array, "*batch n p"]) -> Inexact[Array, "*batch p p"]:
    """The matrix S of rows of mean 0."""
    columns = jnp.swapaxes(rows, -1, -2)
    if rows.ndim == 2:
        # Transpose first: a CPU takes twice the time for a product of doubles over the first axis of both factors. In a
        # batch the copy would take longer than it saves.
        columns = jax.lax.optimization_barrier(columns)
    return columns @ jnp.conj(rows) / rows.shape[-2]


def sample_levels(data: Inexact[Array, "*batch n p"], *, center: bool) -> Float[Array, "*batch k"]:
    """The min(n, p) ascending levels of S, right to eps times the largest; negative roundings become 0."""
    side = partial(_of_data, center=center)
    return jnp.maximum(hermitian_eigenvalues(each_alone(side, data)), 0)


def _of_data(data: Inexact[Array, "n p"], *, center: bool) -> Inexact[Array, "k k"]:
    return smaller_side(without_mean(data) if center else data)


def smaller_side(rows: Inexact[Array, "n p"]) -> Inexact[Array, "k k"]:
    """S, or the Gram matrix of the rows, which has the same levels, if it is smaller."""
    n, p = rows.shape
    return sample_covariance(rows) if p <= n else rows @ adjoint(rows) / n


def each_alone(
    fn: Callable[[Inexact[Array, "n p"]], Array], data: Inexact[Array, "*batch n p"]
) -> Inexact[Array, "..."]:
    """The array `fn(matrix)` for all matrices of a batch.

    A CPU takes one matrix after the other, so that intermediate results stay in its cache. XLA's product of batches
    alone would take a third longer than everything together.
    """
    if data.ndim == 2:
        return fn(data)
    flat = data.reshape(-1, *data.shape[-2:])
    found = jax.lax.platform_dependent(flat, cpu=partial(jax.lax.map, fn), default=jax.vmap(fn))
    return found.reshape(*data.shape[:-2], *found.shape[1:])


def sample_spectrum(rows: Inexact[Array, "*batch n p"]) -> SampleSpectrum:
    """Levels and vectors of S. For p > n the vectors are orthonormal however small their levels are."""
    n, p = rows.shape[-2:]
    if p <= n:
        levels, vectors = eigh(sample_covariance(rows))
        return SampleSpectrum(jnp.maximum(levels, 0), vectors)
    # X^T = QR: the vectors of S are those of RR*/n, in the basis Q of the rows.
    basis, triangle = jnp.linalg.qr(jnp.swapaxes(rows, -1, -2))
    levels, vectors = eigh(triangle @ adjoint(triangle) / n)
    return SampleSpectrum(jnp.maximum(levels, 0), basis @ vectors)
