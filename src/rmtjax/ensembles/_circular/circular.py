"""The circular ensembles: dense matrices, and Verblunsky coefficients with the same spectrum for every β."""

import math
from abc import abstractmethod
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.ensembles._core.joint_density import repulsion
from rmtjax.ensembles._core.unitary import AbstractUnitaryEnsemble
from rmtjax.laws import Uniform
from rmtjax.linalg.internal import Verblunsky, eigenphase_counts, eigenphases
from rmtjax.random.internal import dual, haar_isometry, self_dual_part
from rmtjax.special.internal import log_circular_vandermonde, log_dyson, unit_circle

_NONNEGATIVE_OR_INFINITE = _checks.Rule(lambda beta: beta >= 0, "not be negative")


class AbstractCircular(AbstractUnitaryEnsemble):
    r"""A circular β-ensemble.

    The phases come from the unitary matrix of Killip and Nenciu. Its Verblunsky coefficients are independent with
    uniform angles and $|\alpha_k|^2 \sim \mathrm{Beta}(1, \tfrac\beta2 (n - 1 - k))$; the last one lies on the unit
    circle. `eigenphases` takes O(n²) operations and O(n) memory, and `count_below` O(n) operations for each point.
    """

    @abstractmethod
    def _beta(self) -> Float[Array, ""]:
        """The Dyson index β."""

    def _coefficients(self, key: KeyScalar) -> Verblunsky:
        beta = self._beta()
        key_boundary, key_modulus, key_angle = jax.random.split(key, 3)
        shape, dtype = (self.n - 1,), beta.dtype
        boundary = jax.random.uniform(key_boundary, (), dtype, maxval=2 * math.pi)
        angle = jax.random.uniform(key_angle, shape, dtype, minval=-math.pi, maxval=math.pi)
        # 1 - |α|² = U^{2/(βj)} for |α|² ~ Beta(1, βj/2): a smooth function of β at a fixed key.
        rate, depth = beta * jnp.arange(1, self.n, dtype=dtype), jax.random.exponential(key_modulus, shape, dtype)
        # At β = 0 all |α| are 1: the matrix is diagonal, and its phases are independent.
        logarithm = jnp.where(rate > 0, -2 * depth / jnp.where(rate > 0, rate, 1), -jnp.inf)
        square = -jnp.expm1(logarithm)
        present = square > 0
        modulus = jnp.where(present, jnp.sqrt(jnp.where(present, square, 1)), 0)
        return Verblunsky(boundary, modulus, jnp.exp(logarithm), angle)

    def _eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        return eigenphases(self._coefficients(key))

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        return eigenphase_counts(self._coefficients(key), x)

    def _law(self) -> Uniform:
        return Uniform(-math.pi, math.pi)

    def _has_density(self) -> Any:
        return _checks.WITH_DENSITY.kept("beta", self._beta())

    def _joint_logpdf(self, phases: Float[Array, " n"]) -> Float[Array, ""]:
        beta = self._beta()
        return repulsion(beta, log_circular_vandermonde(phases)) - log_dyson(self.n, beta)


class COE(AbstractCircular):
    r"""The circular orthogonal ensemble: symmetric unitary matrices $S = U^T U$ with Haar-distributed U.

    Convention: β = 1; invariant under $S \to V^T S V$ for unitary V.

    Args:
        n: size of the matrix, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> s = COE(3).sample(jax.random.key(0))
        >>> print(s.shape, bool((s == s.T).all()))
        (3, 3) True

    References:
        Dyson (1962), J. Math. Phys. 3, 140; Mehta (2004), Random Matrices, chapter 10.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _beta(self) -> Float[Array, ""]:
        return jnp.asarray(1.0)

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        u = haar_isometry(key, self.n, self.n, 2, self._beta().dtype)
        s = u.T @ u
        return s / 2 + s.T / 2


class CUE(AbstractCircular):
    r"""The circular unitary ensemble: unitary matrices with the Haar measure.

    Convention: β = 2; invariant under $U \to V U W$ for unitary V and W.

    Args:
        n: size of the matrix, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> phases = CUE(3).eigenphases(jax.random.key(0))
        >>> print(phases.shape, bool((phases[1:] > phases[:-1]).all()))
        (3,) True

    References:
        Dyson (1962), J. Math. Phys. 3, 140; Mehta (2004), Random Matrices, chapter 10.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _beta(self) -> Float[Array, ""]:
        return jnp.asarray(2.0)

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        return haar_isometry(key, self.n, self.n, 2, self._beta().dtype)


class CSE(AbstractCircular):
    r"""The circular symplectic ensemble: self-dual unitary matrices $S = Z U^T Z^T U$ with Haar-distributed U.

    Convention: β = 4; Z has n blocks $\begin{pmatrix} 0 & 1 \\ -1 & 0 \end{pmatrix}$, and $S = Z S^T Z^T$. A sample is
    a 2n×2n complex matrix that has every eigenvalue twice; `eigenphases` returns the n different ones.

    Args:
        n: number of different eigenvalues, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> cse = CSE(3)
        >>> print(cse.sample(jax.random.key(0)).shape, cse.eigenphases(jax.random.key(0)).shape)
        (6, 6) (3,)

    References:
        Dyson (1962), J. Math. Phys. 3, 140; Mehta (2004), Random Matrices, chapter 10.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _beta(self) -> Float[Array, ""]:
        return jnp.asarray(4.0)

    def _sample(self, key: KeyScalar) -> Complex[Array, "2n 2n"]:
        u = haar_isometry(key, 2 * self.n, 2 * self.n, 2, self._beta().dtype)
        return self_dual_part(dual(u) @ u)


class CircularBeta(AbstractCircular):
    r"""The circular β-ensemble for every β ≥ 0.

    The n phases have the joint density $\propto \prod_{j<k} |e^{i\theta_j} - e^{i\theta_k}|^\beta$. β = 1, 2, 4 give
    the spectra of COE, CUE and CSE, and β = ∞ gives n equidistant phases. At β = 0 they are independent and uniform.
    `sample` returns the five-diagonal CMV matrix of random Verblunsky coefficients.

    Args:
        n: number of phases, n ≥ 1; static.
        beta: Dyson index β in [0, ∞]. Phases can be differentiated with respect to it.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> phases = CircularBeta(4, beta=float("inf")).eigenphases(jax.random.key(0))
        >>> print(jnp.diff(phases).round(4))  # a quarter of a turn
        [1.5708 1.5708 1.5708]

    References:
        Killip and Nenciu (2004), Int. Math. Res. Not. 2004, 2665, theorem 1.
    """

    n: int = eqx.field(static=True)
    beta: Annotated[Float[Array, ""], _NONNEGATIVE_OR_INFINITE]

    def __init__(self, n: int, beta: RealScalarLike):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.scalar("beta", beta, nonzero=True)

    def _beta(self) -> Float[Array, ""]:
        return self.beta

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        coefficients = self._coefficients(key)
        phases = unit_circle(coefficients.angle)
        alpha = jnp.append((like(phases, coefficients.modulus) * phases)[::-1], unit_circle(coefficients.boundary))
        rho = jnp.append(jnp.sqrt(coefficients.complement)[::-1], 0)
        index = jnp.arange(self.n)

        def blocks(first: int) -> Complex[Array, "n n"]:
            """The block matrix of the reflections in rows k and k + 1, for every second k."""
            begins = index % 2 == first
            before = jnp.pad(alpha[:-1], (1, 0), constant_values=-1)
            beside = jnp.where(begins, rho, 0)[:-1].astype(alpha.dtype)
            return jnp.diag(jnp.where(begins, alpha.conj(), -before)) + jnp.diag(beside, 1) + jnp.diag(beside, -1)

        return blocks(0) @ blocks(1)
