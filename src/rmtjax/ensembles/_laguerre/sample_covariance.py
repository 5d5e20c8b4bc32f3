"""Sample covariance and correlation matrices of normal data, beyond the white Wishart ensemble."""

import math
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import ArrayLike, DysonIndex, KeyScalar, RealScalarLike
from rmtjax.ensembles._core.gram_matrix import AbstractGram, gram
from rmtjax.ensembles._core.matrix_density import cholesky_factor, exponent, log_bartlett, log_diagonal
from rmtjax.ensembles._laguerre.correlated import (
    DEFINITE,
    WISHART_DEGREES,
    AbstractCorrelated,
    components,
    population,
    rank,
)
from rmtjax.laws import GeneralMarchenkoPastur, MarchenkoPastur
from rmtjax.random.internal import triangular_band
from rmtjax.special.internal import log_gamma_quotient


class CorrelatedWishart(AbstractCorrelated):
    r"""Wishart matrices with a population covariance: $W = \Sigma^{1/2} (X X^*/m)\, \Sigma^{1/2}$.

    W is the sample covariance matrix of m independent observations from N(0, Σ), real for β = 1, complex for β = 2 and
    quaternion for β = 4. Bartlett's decomposition draws it from O(n²) variates for any number of observations, which
    may be any real m > n - 1, the degrees of freedom. The density is, with $\kappa = \tfrac\beta2 (n - 1) + 1$,

    $$\propto \det W^{\beta m/2 - \kappa} \exp\big(-\tfrac{\beta m}2 \operatorname{tr} \Sigma^{-1} W\big).$$

    Convention: E W = Σ, and X is as in `Wishart`, which is the case Σ = s². The scatter matrix m W with df = m and the
    scale matrix V, $W_n(\mathrm{df}, V)$, is `CorrelatedWishart(df * V, df)`. For an integer m < n, n - m eigenvalues
    are exactly 0, and there is no density. A sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice;
    `eigenvalues` returns the n different ones. The limit law is `GeneralMarchenkoPastur` with the ratio n/m and the
    eigenvalues of Σ. See `Spiked` for a population spectrum that is 1 except for a few levels.

    Args:
        covariance: Σ, n×n, positive definite, replaced by its Hermitian part; complex for β = 2 only. Differentiable.
        m: number of observations or degrees of freedom, m > n - 1, differentiable; or a known integer from 1 to n - 1.
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
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorems 3.2.1, 3.2.4 and 3.2.14; Goodman (1963),
        Ann. Math. Statist. 34, 152, for the complex density.
    """

    n: int = eqx.field(static=True)
    rank: int = eqx.field(static=True, repr=False)
    beta: DysonIndex = eqx.field(static=True)
    m: Annotated[Float[Array, ""], WISHART_DEGREES, "n", "rank"]
    covariance: Annotated[Inexact[Array, "n n"], DEFINITE]

    def __init__(self, covariance: Annotated[ArrayLike, "n n"], m: RealScalarLike, beta: DysonIndex = 1):
        self.beta = _checks.dyson_index(beta)
        self.covariance = population(covariance, self.beta)
        self.n = self.covariance.shape[0]
        self.m = _checks.scalar("m", m)
        self.rank = rank(self.m, self.n)

    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        root = self._population_root()
        dtype = jnp.finfo(root.dtype).dtype
        band = triangular_band(key, self.n, self.m, self.beta, self.n, dtype, rank=self.rank)
        return jnp.matmul(*aligned(root, band)) / like(band, jnp.sqrt(self.beta * self.m))

    def _mean_factor(self) -> Float[Array, ""]:
        return jnp.ones_like(self.m)

    def _components(self) -> int:
        return components(self)

    def _white_logpdf(self, factor: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        return log_bartlett(factor, self.m, self.beta)

    def _law(self) -> GeneralMarchenkoPastur:
        return GeneralMarchenkoPastur(self.n / self.m, self._populations())


class SampleCorrelation(AbstractGram):
    r"""Sample correlation matrices of independent normal variables: Wishart matrices scaled to a unit diagonal.

    $R_{ij} = W_{ij} / \sqrt{W_{ii} W_{jj}}$ for a `Wishart(n, m, beta)` matrix; these are the inner products of n
    independent unit vectors, uniform on the sphere in m dimensions. As in `CorrelatedWishart`, m may be any real number
    above n - 1, the degrees of freedom. The density is, with $\kappa = \tfrac\beta2 (n - 1) + 1$,

    $$\propto \det R^{\beta m/2 - \kappa}.$$

    For β = 1 this is the law of Lewandowski, Kurowicka and Joe (LKJ) with $\eta = (m - n + 1)/2$.

    Convention: R has a unit diagonal and $E|R_{ij}|^2 = 1/m$ off it; the law is Marčenko and Pastur's with the ratio
    n/m and scale 1. If sample means are subtracted from the data, m is the number of observations minus 1. For n > m,
    n - m eigenvalues are exactly 0, and there is no density. A sample at β = 4 is a 2n×2n complex matrix that has every
    eigenvalue twice. `logpdf` is the density of the entries above the diagonal; those on it must be 1,
    in the first half of their digits.

    Args:
        n: number of variables, n ≥ 1; static.
        m: number of observations or degrees of freedom, m > n - 1, differentiable; or a known integer from 1 to n - 1.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(SampleCorrelation(3, 20).sample(jax.random.key(0)).diagonal())
        [1. 1. 1.]

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorem 5.1.3; Jiang (2004), Sankhyā 66, 35;
        Lewandowski, Kurowicka and Joe (2009), J. Multivar. Anal. 100, 1989.
    """

    n: int = eqx.field(static=True)
    rank: int = eqx.field(static=True, repr=False)
    beta: DysonIndex = eqx.field(static=True)
    m: Annotated[Float[Array, ""], WISHART_DEGREES, "n", "rank"]

    def __init__(self, n: int, m: RealScalarLike, beta: DysonIndex = 1):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.dyson_index(beta)
        self.m = _checks.scalar("m", m)
        self.rank = rank(self.m, self.n)

    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        x = triangular_band(key, self.n, self.m, self.beta, self.n, self.m.dtype, rank=self.rank)
        return x / like(x, jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=1, keepdims=True)))

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        return _with_unit_diagonal(gram(self._factor(key), self.beta))

    def _components(self) -> int:
        return components(self)

    def _has_form(self, matrix: Inexact[Array, "rows rows"]) -> Any:
        return _checks.all_kept(super()._has_form(matrix), _UNIT_DIAGONAL.kept("matrix", matrix))

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        factor, known = cholesky_factor(_with_unit_diagonal(matrix))
        a = self.beta * self.m / 2
        row = jnp.arange(self.n, dtype=a.dtype)
        # The normalisation is a quotient of gamma functions whose arguments may be large.
        norm = jnp.sum(log_gamma_quotient(a, -self.beta / 2 * row))
        norm = norm + self.beta * self.n * (self.n - 1) / 4 * math.log(math.pi)
        power = 2 * a - exponent(self.n, self.beta)
        return jnp.where(known, power * jnp.sum(log_diagonal(factor, self.beta)) - norm, -jnp.inf)

    def _law(self) -> MarchenkoPastur:
        return MarchenkoPastur(self.n / self.m)


_UNIT_DIAGONAL = _checks.Rule(
    lambda matrix: ~(abs(matrix.diagonal() - 1) > float(jnp.finfo(matrix.dtype).eps) ** 0.5).any(-1),
    "have a unit diagonal",
)


def _with_unit_diagonal(matrix: Inexact[Array, "rows rows"]) -> Inexact[Array, "rows rows"]:
    return jnp.where(jnp.eye(matrix.shape[0], dtype=bool), 1, matrix)
