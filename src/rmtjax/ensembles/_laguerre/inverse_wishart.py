"""Inverses of Wishart matrices."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import DysonIndex, KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.gram_matrix import gram
from rmtjax.ensembles._core.matrix_density import cholesky_factor, exponent, log_inverse_bartlett
from rmtjax.ensembles._laguerre.wishart import Wishart
from rmtjax.laws import FreeLevy, InverseMarchenkoPastur
from rmtjax.linalg.internal import adjoint
from rmtjax.random.internal import triangular_band


class InverseWishart(AbstractEnsemble):
    r"""Inverse Wishart matrices, $s^2 (X X^*/m)^{-1}$ for an n×m matrix X of independent normal entries, m ≥ n.

    The eigenvalues are the reciprocals of the levels of the bidiagonal Wishart model, in O(n) memory. A sample is a
    multiple of $L^{-*} L^{-1}$ for Bartlett's triangular factor L. A level x has the relative error 8 eps √(x/x_min),
    because the singular values of the model are accurate to 4 eps of the largest one.

    Convention: $E|X_{ij}|^2 = 1$, so the mean is $s^2 m/(m - n + 1 - 2/\beta)$ times the identity where it exists. The
    law is the law of $s^2/Y$, where Y has Marčenko and Pastur's law with the ratio n/m: `laws.InverseMarchenkoPastur`,
    and for m = n `laws.FreeLevy`, whose mean is infinite. For the inverse of the scatter matrix $XX^*$ use
    `scale=m**-0.5`. For a scale matrix or real degrees of freedom see `CorrelatedInverseWishart`. A sample at β = 4
    is a 2n×2n complex matrix that has every eigenvalue twice.

    Args:
        n: number of variables, n ≥ 1; static.
        m: number of observations, m ≥ n; static.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> levels = InverseWishart(2, 1000).eigenvalues(jax.random.key(0))
        >>> print(levels.round(1))
        [1. 1.]

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, section 3.4 and problem 3.6.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, m: int, beta: DysonIndex = 1, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.m = _checks.integer("m", m, at_least=self.n)
        self.beta = _checks.dyson_index(beta)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _wishart(self) -> Wishart:
        """The Wishart ensemble of scale 1; the levels of the inverse matrices are s² over its levels."""
        return Wishart(self.n, self.m, self.beta, jnp.ones_like(self.scale))

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        factor = triangular_band(key, self.n, self.m, self.beta, self.n, self.scale.dtype)
        inverse = jax.lax.linalg.triangular_solve(factor, jnp.eye(factor.shape[0], dtype=factor.dtype), lower=True)
        return like(factor, self.scale**2 * self.beta * self.m) * gram(adjoint(inverse), self.beta)

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return self.scale**2 * (1 / self._wishart()._eigenvalues(key)[::-1])

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        positive = x > 0
        above = self._wishart()._count_below(key, quotient(self.scale**2, jnp.where(positive, x, 1)), chunk)
        return jnp.where(positive, self.n - above, 0)

    def _joint_logpdf(self, levels: Float[Array, " n"]) -> Float[Array, ""]:
        positive = jnp.all(levels > 0)
        x = quotient(self.scale**2, jnp.where(positive, levels, jnp.arange(1, self.n + 1, dtype=levels.dtype)))
        height = self._wishart()._joint_logpdf(x) + 2 * jnp.sum(jnp.log(x)) - 2 * self.n * jnp.log(self.scale)
        return jnp.where(positive, height, -jnp.inf)

    def _components(self) -> int:
        return self.beta

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        factor, known = cholesky_factor(matrix)
        unit = self.n * jnp.log(self.scale)
        height = log_inverse_bartlett(factor / like(factor, self.scale), like(self.scale, self.m), self.beta)
        return jnp.where(known, height - exponent(self.n, self.beta) * unit, -jnp.inf)

    def _degree_in_scale(self) -> int:
        return 2

    def _law(self) -> InverseMarchenkoPastur | FreeLevy:
        if self.m == self.n:
            return FreeLevy(self.scale)
        return InverseMarchenkoPastur(self.n / self.m, self.scale)
