"""Inverses of Wishart matrices with a scale matrix."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import ArrayLike, DysonIndex, KeyScalar, RealScalarLike
from rmtjax.ensembles._core.matrix_density import inverted, log_inverse_bartlett
from rmtjax.ensembles._laguerre.correlated import DEFINITE, FULL_DEGREES, AbstractCorrelated, population
from rmtjax.laws import AbstractLaw
from rmtjax.random.internal import triangular_band


class CorrelatedInverseWishart(AbstractCorrelated):
    r"""Inverse Wishart matrices with a scale matrix: $M = C^{1/2} (X X^*/m)^{-1} C^{1/2}$ for real m > n - 1.

    With one variable M is $C m/\chi_m^2$, the scaled inverse χ² law: the prior of a covariance matrix that is guessed
    to be C with the weight of m observations. The density is, with $\kappa = \tfrac\beta2 (n - 1) + 1$,

    $$\propto \det M^{-\beta m/2 - \kappa} \exp\big(-\tfrac{\beta m}2 \operatorname{tr} C M^{-1}\big).$$

    Bartlett's decomposition, in the reverse order of variables, draws the triangular factor of M from O(n²) variates.

    Convention: $E M^{-1} = C^{-1}$, and $E M = C m/(m - n + 1 - 2/\beta)$ where it exists; X is as in `InverseWishart`,
    which is the case C = s². The inverse of `CorrelatedWishart(Σ, m)` has C = Σ⁻¹. The law $W_n^{-1}(\nu, \Psi)$ of the
    inverse of a scatter matrix, with the mean Ψ/(ν - n - 1) for β = 1, is `CorrelatedInverseWishart(Psi / nu, nu)`. A
    sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice; `eigenvalues` returns the n different
    ones. The limit law is that of 1/Y for a Y of the law `GeneralMarchenkoPastur` with the ratio n/m and the
    eigenvalues of C⁻¹; it has no class, and `law` raises `NotImplementedError`.

    Args:
        covariance: C, n×n, positive definite, replaced by its Hermitian part; complex for β = 2 only. Differentiable.
        m: degrees of freedom, m > n - 1, differentiable.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CorrelatedInverseWishart(jnp.array([[2.0, 1.0], [1.0, 2.0]]), m=6).mean())
        [[4. 2.]
         [2. 4.]]

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, section 3.4 and problem 3.6; Gelman et al. (2013),
        Bayesian Data Analysis, appendix A.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    m: Annotated[Float[Array, ""], FULL_DEGREES, "n"]
    covariance: Annotated[Inexact[Array, "n n"], DEFINITE]

    def __init__(self, covariance: Annotated[ArrayLike, "n n"], m: RealScalarLike, beta: DysonIndex = 1):
        self.beta = _checks.dyson_index(beta)
        self.covariance = population(covariance, self.beta)
        self.n = self.covariance.shape[0]
        self.m = _checks.scalar("m", m)

    def _factor(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        root = self._population_root()
        dtype = jnp.finfo(root.dtype).dtype
        band = inverted(triangular_band(key, self.n, self.m, self.beta, self.n, dtype, rank=self.n))
        return jnp.matmul(*aligned(root, band)) * like(band, jnp.sqrt(self.beta * self.m))

    def _mean_factor(self) -> Float[Array, ""]:
        excess = self.m - (self.n - 1 + 2 / self.beta)
        return jnp.where(excess > 0, self.m / excess, jnp.nan)

    def _components(self) -> int:
        return self.beta

    def _white_logpdf(self, factor: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        return log_inverse_bartlett(factor, self.m, self.beta)

    def _law(self) -> AbstractLaw:
        raise NotImplementedError(
            "The limiting law of CorrelatedInverseWishart, that of an inverse of GeneralMarchenkoPastur, has no class."
        )
