"""What Wishart matrices of a population and their inverses share: covariance, degrees of freedom, factors."""

import weakref
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.ensembles._core.gram_matrix import AbstractGram
from rmtjax.ensembles._core.matrix_density import cholesky_factor, exponent, log_diagonal, whitened
from rmtjax.linalg.internal import hermitian_part

# Covariances known to be positive definite, keyed by `id`: the test takes a large part of the time of a draw.
_DEFINITE: dict[int, weakref.ref] = {}


def _is_definite(covariance: Any) -> Any:
    if not isinstance(covariance, np.ndarray):
        return jnp.isfinite(_root(covariance)).all()
    identity = id(covariance)
    known = _DEFINITE.get(identity)
    if known is None or known() is not covariance:
        try:
            np.linalg.cholesky(covariance / 2 + covariance.conj().T / 2)
        except np.linalg.LinAlgError:
            return False
        if not np.isfinite(covariance).all():
            return False
        _DEFINITE[identity] = weakref.ref(covariance, lambda _: _DEFINITE.pop(identity, None))
    return True


DEFINITE = _checks.Rule(_is_definite, "be positive definite")


def _exist(m: Any, n: int, rank: int) -> Any:
    return (m > n - 1) & (m < np.inf) if rank == n else m == rank


# Wishart matrices of rank n exist for all real m > n - 1, and those of a rank k < n for m = k alone.
WISHART_DEGREES = _checks.Rule(
    _exist,
    lambda n, rank: (
        f"be finite and larger than n - 1 = {n - 1}, or a whole number from 1 on" if rank == n else f"be {rank}"
    ),
)
FULL_DEGREES = _checks.Rule(
    lambda m, n: (m > n - 1) & (m < np.inf), lambda n: f"be finite and larger than n - 1 = {n - 1}"
)


def population(covariance: object, beta: int) -> Inexact[Array, "n n"]:
    """A covariance matrix, checked for all but its definiteness."""
    sigma = _checks.square_matrix("covariance", covariance)
    if sigma.ndim != 2:
        raise _checks.refusal("covariance", "be one matrix", sigma.shape)
    if jnp.iscomplexobj(sigma) and beta != 2:
        raise _checks.refusal("covariance", f"be real for beta = {beta}", sigma.dtype.name)
    return sigma


def rank(m: Float[Array, ""], n: int) -> int:
    """The rank of Wishart matrices with m degrees of freedom: a known whole number below n, or n."""
    known = n if isinstance(m, Tracer) else float(m)
    return int(known) if 1 <= known < n and known == int(known) else n


def components(ensemble: Any) -> int:
    """The number of components of an entry of matrices that have a density."""
    if ensemble.rank < ensemble.n:
        raise NotImplementedError(
            f"Matrices of {type(ensemble).__name__} with m = {ensemble.rank} < n = {ensemble.n} have no density: their "
            f"rank is {ensemble.rank}."
        )
    return ensemble.beta


class AbstractCorrelated(AbstractGram):
    """Wishart matrices of a population, or their inverses."""

    beta: eqx.AbstractVar[DysonIndex]
    covariance: eqx.AbstractVar[Inexact[Array, "n n"]]

    @abstractmethod
    def _mean_factor(self) -> Float[Array, ""]:
        """The mean of the matrices in units of the covariance."""

    @abstractmethod
    def _white_logpdf(self, factor: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        """The logarithm of the density at L L*, with the factor L, for the covariance 1."""

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        (factor, known), root = cholesky_factor(matrix), self._population_root()
        unit = exponent(self.n, self.beta) * jnp.sum(log_diagonal(root, self.beta))
        return jnp.where(known, self._white_logpdf(whitened(*aligned(factor, root))) - unit, -jnp.inf)

    def cholesky(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        """The lower triangular L of `sample(key)` = L L*, with a positive diagonal, which is drawn first.

        A solution of L* x = z with a standard normal z has the precision matrix `sample(key)`, and L z has the
        covariance matrix `sample(key)`. Of a singular Wishart matrix of rank m, L has m columns.

        Args:
            key: a typed key.
        """
        return self._run(self._factor, _checks.typed_key(key))

    def mean(self) -> Inexact[Array, "rows rows"]:
        """The mean of `sample(key)`; NaN where there is none."""
        return self._run(self._mean)

    def _mean(self) -> Inexact[Array, "rows rows"]:
        mean = self._doubled(hermitian_part(self.covariance))
        return like(mean, self._mean_factor()) * mean

    def _population_root(self) -> Inexact[Array, "rows rows"]:
        """The triangular root of the covariance, for β = 4 as a matrix of quaternions."""
        return self._doubled(_root(self.covariance))

    def _doubled(self, matrix: Inexact[Array, "n n"]) -> Inexact[Array, "rows rows"]:
        return jnp.kron(matrix, jnp.eye(2, dtype=matrix.dtype)) if self.beta == 4 else matrix

    def _populations(self) -> Float[Array, " n"]:
        """The eigenvalues of the covariance."""
        # Squared singular values of the root, unlike computed eigenvalues, are never negative.
        return jnp.linalg.svd(_root(self.covariance), compute_uv=False) ** 2


def _root(covariance: Inexact[Array, "n n"]) -> Inexact[Array, "n n"]:
    """The lower triangular Cholesky factor, or NaN if there is none."""
    return jnp.linalg.cholesky(hermitian_part(covariance), symmetrize_input=False)
