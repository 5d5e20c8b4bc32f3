"""The three Gaussian ensembles of full matrices: orthogonal, unitary and symplectic."""

import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._stored import stored
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.symmetric import both_mirrored, mirrored, with_signs
from rmtjax.ensembles._gaussian.beta import AbstractGaussian, number_of_levels
from rmtjax.laws.internal import ClassicalEnsemble, ClassicalSpectrum
from rmtjax.random.internal import quaternions
from rmtjax.special.internal import HermiteWeight


class AbstractMatrices(AbstractGaussian):
    """A Gaussian ensemble of full matrices, with β = 1, 2 or 4."""

    def _classical_spectrum(self) -> ClassicalSpectrum:
        beta = int(self._beta())
        # In this unit the orthogonal polynomials have Hermite's weight.
        unit = self.scale * ((1 if beta == 4 else 2) / self.n) ** 0.5
        return ClassicalSpectrum(ClassicalEnsemble(HermiteWeight(), self.n, beta), unit)

    def _components(self) -> int:
        return int(self._beta())

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        beta, n = self._components(), self.n
        # The standard deviation of an entry of the diagonal; components off the diagonal have half the variance.
        unit = self._component_scale() * 2**0.5
        x = quotient(matrix, like(matrix, unit))
        squares = jnp.sum(jnp.abs(x) ** 2) / (2 if beta == 4 else 1)
        components = n + beta * n * (n - 1) // 2
        return -squares / 2 - components * (jnp.log(unit) + math.log(math.pi) / 2) - n / 2 * math.log(2)

    def _component_scale(self) -> Float[Array, ""]:
        """The standard deviation of a real component of an entry off the diagonal, s/√(βn)."""
        return self.scale * (self._beta() * self.n) ** -0.5


class GOE(AbstractMatrices):
    r"""The Gaussian orthogonal ensemble.

    Real symmetric H with the density $\propto \exp\big(-\tfrac{n}{4 s^2} \operatorname{tr} H^2\big)$, invariant under
    $H \to O H O^T$ for orthogonal O; s is the scale.

    Convention: $E H_{ij}^2 = s^2/n$ off the diagonal and $E H_{ii}^2 = 2 s^2/n$ on it; β = 1. The spectrum fills
    [-2s, 2s] as n → ∞. For unit variance off the diagonal use `scale=sqrt(n)`.

    Args:
        n: size of the matrix, 1 ≤ n ≤ 2·10⁹; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> goe = GOE(4)
        >>> print(goe.eigenvalues(jax.random.key(0)).shape, goe.law().radius)
        (4,) 2.0

    References:
        Mehta (2004), Random Matrices, chapter 2; Anderson, Guionnet and Zeitouni (2010), An Introduction to Random
        Matrices, definition 2.5.1.
    """

    n: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, scale: RealScalarLike = 1.0):
        self.n = number_of_levels(n)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _beta(self) -> float:
        return 1.0

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        g = mirrored(_normal_triangle(key, self.n, self.scale.dtype))
        return self._component_scale() * _wider_diagonal(self.n) * g


class GUE(AbstractMatrices):
    r"""The Gaussian unitary ensemble.

    Complex Hermitian H with the density $\propto \exp\big(-\tfrac{n}{2 s^2} \operatorname{tr} H^2\big)$, invariant
    under $H \to U H U^*$ for unitary U; s is the scale.

    Convention: $E |H_{ij}|^2 = s^2/n$ off the diagonal and on it; β = 2. The spectrum fills [-2s, 2s] as n → ∞. For
    entries of unit variance use `scale=sqrt(n)`.

    Args:
        n: size of the matrix, 1 ≤ n ≤ 2·10⁹; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> h = GUE(3).sample(jax.random.key(0))
        >>> print(h.shape, bool((h == h.conj().T).all()))
        (3, 3) True

    References:
        Mehta (2004), Random Matrices, chapter 2; Anderson, Guionnet and Zeitouni (2010), An Introduction to Random
        Matrices, definition 2.5.1.
    """

    n: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, scale: RealScalarLike = 1.0):
        self.n = number_of_levels(n)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _beta(self) -> float:
        return 2.0

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        h = _hermitian(jax.random.normal(key, (self.n, self.n), self.scale.dtype))
        return like(h, self._component_scale()) * h


class GSE(AbstractMatrices):
    r"""The Gaussian symplectic ensemble.

    Self-dual Hermitian n×n matrices of real quaternions with the density
    $\propto \exp\big(-\tfrac{n}{s^2} \operatorname{tr} H^2\big)$, with the trace of quaternions, invariant under
    symplectic transformations; s is the scale. `sample` writes each quaternion as a block
    $\begin{pmatrix} a & b \\ -\bar b & \bar a \end{pmatrix}$ of a 2n×2n complex Hermitian matrix.

    Convention: $E |q_{ij}|^2 = E |a_{ij}|^2 + E |b_{ij}|^2 = s^2/n$ off the diagonal, $E q_{ii}^2 = s^2/(2n)$ on it;
    β = 4. The 2n×2n matrix has every eigenvalue twice (Kramers degeneracy): `eigenvalues` returns the n different
    ones, and `eigvalsh` of a sample returns all 2n. The spectrum fills [-2s, 2s] as n → ∞.

    Args:
        n: number of different eigenvalues, 1 ≤ n ≤ 2·10⁹; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> gse = GSE(3)
        >>> print(gse.sample(jax.random.key(0)).shape, gse.eigenvalues(jax.random.key(0)).shape)
        (6, 6) (3,)

    References:
        Mehta (2004), Random Matrices, sections 2.4 and 2.5.
    """

    n: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, scale: RealScalarLike = 1.0):
        self.n = number_of_levels(n)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _beta(self) -> float:
        return 4.0

    def _sample(self, key: KeyScalar) -> Complex[Array, "2n 2n"]:
        key_even, key_odd = jax.random.split(key)
        a = _hermitian(jax.random.normal(key_even, (self.n, self.n), self.scale.dtype))
        g = both_mirrored(jax.random.normal(key_odd, (self.n, self.n), self.scale.dtype))
        b = jax.lax.complex(*map(with_signs, g))
        return like(a, self._component_scale()) * quaternions(a, b)

    def _rows(self, order: Int[Array, ""]) -> Int[Array, ""]:
        return 2 * order


def _wider_diagonal(n: int) -> Float[Array, "n n"]:
    """The standard deviations of the entries relative to those off the diagonal."""
    return jnp.where(jnp.eye(n, dtype=bool), 2**0.5, 1.0)


def _hermitian(g: Float[Array, "n n"]) -> Complex[Array, "n n"]:
    """A Hermitian matrix with real parts from the lower triangle of g and imaginary parts from the upper one."""
    real, imaginary = both_mirrored(g)
    return jax.lax.complex(_wider_diagonal(g.shape[0]).astype(g.dtype) * real, with_signs(imaginary))


def _normal_triangle(key: KeyScalar, n: int, dtype: jnp.dtype) -> Float[Array, "n n"]:
    """Independent standard normals on and below the diagonal and copies above it, from about n(n + 1)/2 variates."""
    even = n + n % 2
    packed = stored(jax.random.normal(key, (even // 2, even + 1), dtype))
    # Row i of `packed` holds row i of the triangle, read from the right end, and row even - 1 - i, read from the left.
    rows = jnp.concatenate([packed[:, ::-1], packed[::-1]])
    return rows[:n, :n]
