"""Wishart matrices: sample covariance matrices of real, complex or quaternion normal data."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import DysonIndex, KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractNestedEnsemble
from rmtjax.ensembles._core.gram_matrix import gram
from rmtjax.ensembles._core.matrix_density import cholesky_factor, exponent, log_bartlett
from rmtjax.ensembles._laguerre.beta import AbstractLaguerre
from rmtjax.laws import AbstractLaw, MarchenkoPastur
from rmtjax.laws.internal import ClassicalEnsemble, ClassicalSpectrum
from rmtjax.linalg.internal import block_singular_values, block_square_counts
from rmtjax.random.internal import gaussian_matrix, unchecked_chi
from rmtjax.special.internal import LaguerreWeight
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import inside_block, padded


class Wishart(AbstractLaguerre, AbstractNestedEnsemble):
    r"""Wishart matrices, $W = X X^*/m$ for an n×m matrix X of independent centred normal entries.

    The entries are real for β = 1 (the Laguerre orthogonal ensemble), complex for β = 2 (unitary) and quaternions for
    β = 4 (symplectic). The eigenvalues come from the bidiagonal model of `LaguerreBeta`, in O(n) memory.

    Convention: $E|X_{ij}|^2 = s^2$ for every β, so $E W = s^2$ and the law is Marčenko and Pastur's with the ratio n/m
    on $s^2 (1 \pm \sqrt{n/m})^2$. If n > m, n - m eigenvalues are exactly 0. For the scatter matrix $X X^*$ use
    `scale=sqrt(m)`. The leading k×k block is the Wishart matrix of the first k variables, without any rescaling. A
    sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice; `eigenvalues` returns the n different
    ones. For a population covariance or real degrees of freedom see `CorrelatedWishart`; see also `Spiked`.

    Args:
        n: number of variables, rows of X, n ≥ 1; static.
        m: number of observations, columns of X, m ≥ 1; static.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(Wishart(3, 2).eigenvalues(jax.random.key(0))[0])  # two observations of three variables
        0.0

    References:
        Wishart (1928), Biometrika 20A, 32; Muirhead (1982), Aspects of Multivariate Statistical Theory, section 3.2;
        Dumitriu and Edelman (2002), J. Math. Phys. 43, 5830, theorem 3.4.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, m: int, beta: DysonIndex = 1, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.m = _checks.integer("m", m, at_least=1)
        self.beta = _checks.dyson_index(beta)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _parameters(self) -> tuple[int, Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        beta = jnp.asarray(self.beta, self.scale.dtype)
        levels, freedom = sorted((self.n, self.m))
        return levels, beta * freedom / 2, beta, self.scale**2 / (self.beta * self.m)

    def _sample(self, key: KeyScalar) -> Inexact[Array, "n n"]:
        x = gaussian_matrix(key, self.n, self.m, self.beta, self.scale.dtype)
        return like(x, self.scale**2 / self.m) * gram(x, self.beta)

    def _components(self) -> int:
        if self.n > self.m:
            raise NotImplementedError(f"Wishart matrices of rank {self.m} < n = {self.n} have no density.")
        return self.beta

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        factor, known = cholesky_factor(matrix)
        height = log_bartlett(factor / like(factor, self.scale), like(self.scale, self.m), self.beta)
        unit = self.n * exponent(self.n, self.beta) * jnp.log(self.scale)
        return jnp.where(known, height - unit, -jnp.inf)

    def _degree_in_scale(self) -> int:
        return 2

    def _law(self) -> MarchenkoPastur:
        return MarchenkoPastur(self.n / self.m, self.scale)

    def _classical_spectrum(self) -> ClassicalSpectrum:
        excess = abs(self.n - self.m)
        weight = LaguerreWeight(2 * excess if self.beta == 4 else excess)
        # In this unit the weight of the orthogonal polynomials has the exponential e^{-x}.
        unit = self.scale**2 / ((2 if self.beta == 4 else 1) * self.m)
        ensemble = ClassicalEnsemble(weight, min(self.n, self.m), self.beta)
        return ClassicalSpectrum(ensemble, unit, zeros=max(self.n - self.m, 0))

    def _rows(self, order: Int[Array, ""]) -> Int[Array, ""]:
        return 2 * order if self.beta == 4 else order

    def _rescaling(self, order: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.ones((), self.scale.dtype)

    def _block_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return MarchenkoPastur(fraction * self.n / self.m, self.scale)

    # Both laws are limits n → ∞ at a fixed ratio of the order to n.
    def _rescaled_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        return self._block_law(fraction)

    def _binomial_law(self, mixture: Float[Array, ""]) -> AbstractLaw:
        return self._block_law(mixture)

    def _block_bidiagonal(
        self, key: KeyScalar, order: Int[Array, ""]
    ) -> tuple[Float[Array, " n"], Float[Array, " n-1"], Float[Array, ""]]:
        """The model of `order` variables in the last rows, 0 beyond row m + 1, and the unit of its squares."""
        largest = self.beta * jnp.asarray(max(self.n, self.m), self.scale.dtype)
        size = like(largest, order)
        row = jnp.arange(self.n, dtype=largest.dtype) - (self.n - size)
        degrees = jnp.where(row >= 0, jnp.maximum(self.m - row, 0), 0)
        below = jnp.where((row >= 0) & (row < self.m), size - 1 - row, 0)[:-1]
        entries = unchecked_chi(key, self.beta * jnp.concatenate([degrees, below])) / jnp.sqrt(largest)
        return entries[: self.n], entries[self.n :], self.scale**2 / (self.beta * self.m) * largest

    def _leading_block_eigenvalues(self, key: KeyScalar, order: Int[Array, ""]) -> Spectrum:
        diagonal, below, unit = self._block_bidiagonal(key, order)
        inside, index = inside_block(order, self.n), jnp.arange(self.n, dtype=order.dtype)
        singular = jnp.where(inside, block_singular_values(0, self.n, diagonal, below, order), 0)
        levels = jnp.where(index < order - self.m, 0, unit * singular**2)
        return padded(levels, order)

    def _leading_block_counts(self, key: KeyScalar, order: Int[Array, ""], x: Float[Array, "..."]) -> Int[Array, "..."]:
        diagonal, below, unit = self._block_bidiagonal(key, order)
        counts = block_square_counts(diagonal, below, order, quotient(x, unit))
        return jnp.where(x > 0, jnp.maximum(counts, like(counts, order - self.m)), 0)
