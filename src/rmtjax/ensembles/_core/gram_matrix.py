"""Matrices A A*: what Wishart matrices and their relatives have in common."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.linalg.internal import adjoint, hermitian_part
from rmtjax.random.internal import self_dual_part


def gram(a: Inexact[Array, "rows columns"], beta: int) -> Inexact[Array, "rows rows"]:
    """The product A A*, Hermitian to the last bit, and for β = 4 made of quaternions."""
    w = hermitian_part(a @ adjoint(a))
    return self_dual_part(w) if beta == 4 else w


class AbstractGram(AbstractEnsemble):
    """Matrices A A*, whose eigenvalues are the squares of the singular values of A, which keep more digits."""

    m: eqx.AbstractVar[int]
    beta: eqx.AbstractVar[int]

    @abstractmethod
    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        """A, with no more columns than rows; of quaternion blocks for β = 4."""

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        return gram(self._factor(key), self.beta)

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        singular = jnp.linalg.svd(self._factor(key), compute_uv=False)
        levels = singular[:: -2 if self.beta == 4 else -1] ** 2
        return jnp.pad(levels, (self.n - levels.size, 0))
