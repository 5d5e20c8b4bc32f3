"""Random density matrices: mixed states with an induced measure or with the Bures measure."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

from rmtjax import _checks, laws
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.gram_matrix import gram
from rmtjax.ensembles._laguerre.beta import bidiagonal_entries
from rmtjax.linalg.internal import block_singular_values, block_square_counts
from rmtjax.random.internal import gaussian_matrix, haar_isometry


class AbstractDensityMatrix(AbstractEnsemble):
    r"""Positive matrices of trace 1, $\rho = X X^*/\operatorname{tr} X X^*$ for a random X."""

    @abstractmethod
    def _factor(self, key: KeyScalar) -> Complex[Array, "n m"]:
        """The matrix X."""

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        x = self._factor(key)
        w = gram(x, 2)
        return w / like(w, jnp.trace(w).real)

    def _joint_logpdf(self, levels: Float[Array, " n"]) -> Float[Array, ""]:
        raise NotImplementedError(f"The {self.n} levels have the sum 1: they have no joint density in all of R^n.")


class HilbertSchmidt(AbstractDensityMatrix):
    r"""Random density matrices with the Hilbert-Schmidt measure, or an induced one.

    $\rho = G G^*/\operatorname{tr} G G^*$ for an n×m complex normal matrix G is the reduced state of a system of n
    dimensions that shares a random pure state with an environment of m dimensions. m = n gives the measure of the
    Hilbert-Schmidt metric. For m ≥ n the levels have the joint density $\propto \prod_{i<j} (\lambda_i - \lambda_j)^2
    \prod_i \lambda_i^{m-n}$ on the simplex $\sum \lambda_i = 1$; for m < n, n - m of them are exactly 0. They come from
    the bidiagonal model of `LaguerreBeta`, divided by its norm, in O(n) memory.

    Convention: the trace is 1, so levels are of order 1/n; multiplied by n they have Marčenko and Pastur's law with the
    ratio n/m. $E \operatorname{tr} \rho^2 = (n + m)/(nm + 1)$.

    Args:
        n: dimension of the system, n ≥ 1; static.
        m: dimension of the environment, m ≥ 1, by default n; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> rho = HilbertSchmidt(3).sample(jax.random.key(0))
        >>> print(f"{rho.trace().real:.4f}")
        1.0000

    References:
        Życzkowski and Sommers (2001), J. Phys. A 34, 7111, equations 3.6 and 4.1; Lubkin (1978), J. Math. Phys. 19,
        1028, for the purity; Page (1993), Phys. Rev. Lett. 71, 1291, for the entropy.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)

    def __init__(self, n: int, m: int | None = None):
        self.n = _checks.integer("n", n, at_least=1)
        self.m = self.n if m is None else _checks.integer("m", m, at_least=1)

    def _factor(self, key: KeyScalar) -> Complex[Array, "n m"]:
        return gaussian_matrix(key, self.n, self.m, 2, jnp.result_type(float))

    def _bidiagonal(self, key: KeyScalar) -> tuple[Float[Array, " k"], Float[Array, " k-1"]]:
        """Entries of a bidiagonal matrix whose squared singular values are the nonzero levels."""
        rank, a = sorted((self.n, self.m))
        diagonal, below = bidiagonal_entries(key, rank, *jnp.asarray([a, 2], jnp.result_type(float)))
        norm = jnp.sqrt(jnp.sum(diagonal**2) + jnp.sum(below**2))
        return diagonal / norm, below / norm

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        diagonal, below = self._bidiagonal(key)
        rank = diagonal.size
        levels = block_singular_values(0, rank, diagonal, below, jnp.int32(rank)) ** 2
        return jnp.pad(levels, (self.n - rank, 0))

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        diagonal, below = self._bidiagonal(key)
        rank = diagonal.size
        counts = block_square_counts(diagonal, below, jnp.int32(rank), x)
        return counts + (self.n - rank) * like(counts, x > 0)

    def _law(self) -> laws.MarchenkoPastur:
        return laws.MarchenkoPastur(self.n / self.m, self.n**-0.5)


class Bures(AbstractDensityMatrix):
    r"""Random density matrices with the Bures measure.

    $\rho \propto (1 + U)\,G G^* (1 + U^*)$ with an n×n complex normal matrix G and a Haar-distributed unitary U,
    independent of each other. The levels have the joint density
    $\propto \prod_i \lambda_i^{-1/2} \prod_{i<j} \frac{(\lambda_i - \lambda_j)^2}{\lambda_i + \lambda_j}$ on
    the simplex $\sum \lambda_i = 1$. They are computed as squared singular values, so small ones keep their digits.

    Convention: the trace is 1, so levels are of order 1/n; multiplied by n they have the law `laws.BuresLaw()`.
    $E \operatorname{tr} \rho^2 = (5n^2 + 1)/(2n(n^2 + 2))$.

    Args:
        n: dimension, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> levels = Bures(3).eigenvalues(jax.random.key(0))
        >>> print(bool((levels > 0).all()), f"{levels.sum():.4f}")
        True 1.0000

    References:
        Hall (1998), Phys. Lett. A 242, 123; Osipov, Sommers and Życzkowski (2010), J. Phys. A 43, 055302, section 2,
        for the construction; Sommers and Życzkowski (2004), J. Phys. A 37, 8457, for the moments.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _factor(self, key: KeyScalar) -> Complex[Array, "n n"]:
        key_normal, key_unitary = jax.random.split(key)
        g = gaussian_matrix(key_normal, self.n, self.n, 2, jnp.result_type(float))
        return g + haar_isometry(key_unitary, self.n, self.n, 2, jnp.result_type(float)) @ g

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        levels = jnp.linalg.svd(self._factor(key), compute_uv=False)[::-1] ** 2
        return levels / jnp.sum(levels)

    def _law(self) -> laws.BuresLaw:
        return laws.BuresLaw(1 / self.n)
