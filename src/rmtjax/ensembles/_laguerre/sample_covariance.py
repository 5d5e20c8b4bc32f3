"""Sample covariance and correlation matrices of normal data, beyond the white Wishart ensemble."""

import weakref
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import ArrayLike, DysonIndex, KeyScalar
from rmtjax.ensembles._core.gram_matrix import AbstractGram, gram
from rmtjax.laws import GeneralMarchenkoPastur, MarchenkoPastur
from rmtjax.linalg.internal import hermitian_part
from rmtjax.random.internal import triangular_band

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


class CorrelatedWishart(AbstractGram):
    r"""Wishart matrices with a population covariance: $W = \Sigma^{1/2} (X X^*/m)\, \Sigma^{1/2}$.

    W is the sample covariance matrix of m independent observations from N(0, Σ), real for β = 1, complex for β = 2 and
    quaternion for β = 4. Bartlett's decomposition draws it from O(n²) variates for any number of observations.

    Convention: E W = Σ, and X is as in `Wishart`, which is the case Σ = s². For n > m, n - m eigenvalues are exactly 0.
    A sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice; `eigenvalues` returns the n different
    ones. The limit law is `GeneralMarchenkoPastur` with the ratio n/m and the eigenvalues of Σ. See `Spiked` for a
    population spectrum that is 1 except for a few levels.

    Args:
        covariance: Σ, n×n, positive definite, replaced by its Hermitian part; complex for β = 2 only. Differentiable.
        m: number of observations, m ≥ 1; static.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> w = CorrelatedWishart(jnp.array([[2.0, 1.0], [1.0, 2.0]]), m=10_000).sample(jax.random.key(0))
        >>> print(w.round(1))
        [[2. 1.]
         [1. 2.]]

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorems 3.2.4 and 3.2.14.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    covariance: Annotated[Inexact[Array, "n n"], _checks.Rule(_is_definite, "be positive definite")]

    def __init__(self, covariance: Annotated[ArrayLike, "n n"], m: int, beta: DysonIndex = 1):
        sigma = _checks.square_matrix("covariance", covariance)
        self.m = _checks.integer("m", m, at_least=1)
        self.beta = _checks.dyson_index(beta)
        if sigma.ndim != 2:
            raise _checks.refusal("covariance", "be one matrix", sigma.shape)
        if jnp.iscomplexobj(sigma) and beta != 2:
            raise _checks.refusal("covariance", f"be real for beta = {beta}", sigma.dtype.name)
        self.n = sigma.shape[0]
        self.covariance = sigma

    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        root = _root(self.covariance)
        band = triangular_band(key, self.n, self.m, self.beta, self.n, jnp.finfo(root.dtype).dtype)
        if self.beta == 4:
            root = jnp.kron(root, jnp.eye(2, dtype=root.dtype))
        return jnp.matmul(*aligned(root, band)) / (self.beta * self.m) ** 0.5

    def _law(self) -> GeneralMarchenkoPastur:
        # Squared singular values of the root, unlike computed eigenvalues of Σ, are never negative.
        return GeneralMarchenkoPastur(self.n / self.m, jnp.linalg.svd(_root(self.covariance), compute_uv=False) ** 2)


class SampleCorrelation(AbstractGram):
    r"""Sample correlation matrices of independent normal variables: Wishart matrices scaled to a unit diagonal.

    $R_{ij} = W_{ij} / \sqrt{W_{ii} W_{jj}}$ for a `Wishart(n, m, beta)` matrix; these are the inner products of n
    independent unit vectors, uniform on the sphere in m dimensions. For β = 1 and n ≤ m the density is
    $\propto \det R^{(m-n-1)/2}$.

    Convention: R has a unit diagonal and $E|R_{ij}|^2 = 1/m$ off it; the law is Marčenko and Pastur's with the ratio
    n/m and scale 1. If sample means are subtracted from the data, m is the number of observations minus 1. For n > m,
    n - m eigenvalues are exactly 0. A sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice.

    Args:
        n: number of variables, n ≥ 1; static.
        m: number of observations, m ≥ 1; static.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(SampleCorrelation(3, 20).sample(jax.random.key(0)).diagonal())
        [1. 1. 1.]

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorem 5.1.3; Jiang (2004), Sankhyā 66, 35.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, m: int, beta: DysonIndex = 1):
        self.n = _checks.integer("n", n, at_least=1)
        self.m = _checks.integer("m", m, at_least=1)
        self.beta = _checks.dyson_index(beta)

    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        x = triangular_band(key, self.n, self.m, self.beta, self.n, jnp.result_type(float))
        return x / like(x, jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=1, keepdims=True)))

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        r = gram(self._factor(key), self.beta)
        return jnp.where(jnp.eye(r.shape[0], dtype=bool), 1, r)

    def _law(self) -> MarchenkoPastur:
        return MarchenkoPastur(self.n / self.m)


def _root(covariance: Inexact[Array, "n n"]) -> Inexact[Array, "n n"]:
    """The lower triangular Cholesky factor, or NaN if there is none."""
    return jnp.linalg.cholesky(hermitian_part(covariance), symmetrize_input=False)
