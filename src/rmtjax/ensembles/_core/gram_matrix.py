"""Gram matrices A A*, the form that Wishart matrices and their relatives share."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.linalg.internal import adjoint, hermitian_part
from rmtjax.random.internal import self_dual_part


def gram(a: Inexact[Array, "rows columns"], beta: int) -> Inexact[Array, "rows rows"]:
    """The product A A*, Hermitian to the last bit and, for β = 4, made of exact quaternion blocks."""
    w = hermitian_part(a @ adjoint(a))
    return self_dual_part(w) if beta == 4 else w


class AbstractGram(AbstractEnsemble):
    """Matrices A A*. Their eigenvalues are computed as squared singular values of A, which are more accurate."""

    beta: eqx.AbstractVar[int]

    @abstractmethod
    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        """The matrix A with at most as many columns as rows, made of quaternion blocks for β = 4."""

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        return gram(self._factor(key), self.beta)

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        singular = jnp.linalg.svd(self._factor(key), compute_uv=False)
        levels = singular[:: -2 if self.beta == 4 else -1] ** 2
        return jnp.pad(levels, (self.n - levels.size, 0))
