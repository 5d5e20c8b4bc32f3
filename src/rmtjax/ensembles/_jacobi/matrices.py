"""Jacobi or MANOVA matrices, of real, complex or quaternion normal data."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.ensembles._core.gram_matrix import gram
from rmtjax.ensembles._core.matrix_density import cholesky_factor, log_diagonal
from rmtjax.ensembles._jacobi.beta import AbstractJacobi
from rmtjax.laws import Wachter
from rmtjax.laws.internal import ClassicalEnsemble, ClassicalSpectrum
from rmtjax.linalg.internal import adjoint
from rmtjax.random.internal import haar_isometry
from rmtjax.special.internal import JacobiWeight, log_flags, log_selberg


class Jacobi(AbstractJacobi):
    r"""Jacobi or MANOVA matrices, $(XX^* + YY^*)^{-1/2}\,XX^*\,(XX^* + YY^*)^{-1/2}$ for normal X, Y.

    X is n×m₁ and Y n×m₂, with independent centred entries that are real for β = 1, complex for β = 2 and quaternions
    for β = 4. Nothing is inverted: the matrix is distributed as $Q^* Q$ for the top m₁ rows Q of a Haar-distributed
    isometry with m₁ + m₂ rows and n columns. Its eigenvalues are the squared canonical correlations between two random
    subspaces of dimensions n and m₁ in m₁ + m₂ dimensions; they come from the model of `JacobiBeta`, in O(n) memory.

    Convention: the eigenvalues lie in [0, 1]. If m₁ < n, n - m₁ of them are exactly 0; if m₂ < n, n - m₂ are exactly 1.
    The others have the joint density $\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{p-1} (1 - x_i)^{q-1}$ with
    $p = \tfrac\beta2 (|m_1 - n| + 1)$ and $q = \tfrac\beta2 (|m_2 - n| + 1)$. The law is Wachter's with a = m₁/n and
    b = m₂/n. A sample at β = 4 is a 2n×2n complex matrix that has every eigenvalue twice; `eigenvalues` returns the n
    different ones.

    Args:
        n: number of variables, n ≥ 1; static.
        m1: columns of X, m1 ≥ 1; static.
        m2: columns of Y, m2 ≥ 1, with m1 + m2 ≥ n; static.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(Jacobi(3, 2, 5).eigenvalues(jax.random.key(0))[0])  # X has rank 2
        0.0

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, section 3.3; Forrester (2010), Log-Gases and
        Random Matrices, chapter 3; Edelman and Sutton (2008), Found. Comput. Math. 8, 259, theorem 1.5.
    """

    n: int = eqx.field(static=True)
    m1: int = eqx.field(static=True)
    m2: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, m1: int, m2: int, beta: DysonIndex = 1):
        self.n = _checks.integer("n", n, at_least=1)
        self.m1 = _checks.integer("m1", m1, at_least=1)
        self.m2 = _checks.integer("m2", m2, at_least=1)
        if self.m1 + self.m2 < self.n:
            raise _checks.refusal("m2", f"be at least n - m1 = {self.n - self.m1}", self.m2)
        self.beta = _checks.dyson_index(beta)

    def _parameters(self) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        beta = jnp.asarray(float(self.beta))
        power = lambda m: beta / 2 * (abs(m - self.n) + 1)
        return power(self.m1), power(self.m2), beta

    def _exact_levels(self) -> tuple[int, int]:
        return max(self.n - self.m1, 0), max(self.n - self.m2, 0)

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        dtype = self._parameters()[0].dtype
        isometry = haar_isometry(key, self.m1 + self.m2, self.n, self.beta, dtype)
        rows = 2 * self.m1 if self.beta == 4 else self.m1
        return gram(adjoint(isometry[:rows]), self.beta)

    def _components(self) -> int:
        if min(self.m1, self.m2) < self.n:
            raise NotImplementedError(f"Jacobi matrices with m1 or m2 < n = {self.n} have no density.")
        return self.beta

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        p, q, beta = self._parameters()
        identity = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
        (x, positive), (y, below) = cholesky_factor(matrix), cholesky_factor(identity - matrix)
        of_x, of_y = (2 * jnp.sum(log_diagonal(factor, self.beta)) for factor in (x, y))
        height = (p - 1) * of_x + (q - 1) * of_y - log_selberg(self.n, p, q, beta) - log_flags(self.n, self.beta)
        return jnp.where(positive & below, height, -jnp.inf)

    def _law(self) -> Wachter:
        return Wachter(self.m1 / self.n, self.m2 / self.n)

    def _classical_spectrum(self) -> ClassicalSpectrum:
        powers = ((2 if self.beta == 4 else 1) * abs(m - self.n) for m in (self.m1, self.m2))
        zeros, ones = self._exact_levels()
        ensemble = ClassicalEnsemble(JacobiWeight(*powers), self._order(), self.beta)
        return ClassicalSpectrum(ensemble, jnp.asarray(1.0), zeros, ones)
