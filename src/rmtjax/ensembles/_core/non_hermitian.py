"""The abstract ensemble of matrices with complex eigenvalues: every public method once, and the hooks."""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._ordering import in_order
from rmtjax._promotion import complex_dtype, in_one_precision, like
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.ensembles._core.joint_density import anywhere
from rmtjax.ensembles._core.with_law import Law, WithLaw
from rmtjax.laws import AbstractPlanarLaw
from rmtjax.linalg.internal import general_eigenvalues
from rmtjax.special.internal import log_vandermonde
from rmtjax.spectra.internal import count_below


class AbstractNonHermitianEnsemble(AbstractModule):
    """A probability measure on real, complex or quaternion matrices (β = 1, 2, 4) with complex eigenvalues.

    A subclass defines `_matrix` and `_law`, `_unit` if there is a scale, `_moduli` if it knows an exact model that is
    cheaper than the dense matrix, and `_joint_logpdf` if the joint density is known. Public methods are final and take
    one typed key; batches come from `jax.vmap` over keys. `eigenvalues(key)` are the eigenvalues of the matrix
    `sample(key)`, up to rounding. `moduli` with the same key may be a different draw, and `count_below` counts the
    absolute values that `moduli` returns.

    The eigenvalues of a real matrix are real or come in pairs that are conjugate to the last bit. A quaternion matrix
    is stored as a 2n×2n complex matrix with n conjugate pairs of eigenvalues; `eigenvalues` returns the n with Im ≥ 0.
    """

    n: eqx.AbstractVar[int]
    beta: eqx.AbstractVar[int]

    @abstractmethod
    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """A dense matrix in units of `_unit`, with a spectrum of order 1."""

    @abstractmethod
    def _law(self) -> AbstractPlanarLaw:
        """Limiting law of one eigenvalue."""

    def _unit(self) -> Float[Array, ""]:
        return jnp.asarray(1.0)

    def _eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        levels = general_eigenvalues(self._matrix(key))
        if self.beta == 4:
            levels = levels[jnp.argsort(levels.imag)[self.n :]]
            # The computed imaginary parts of a conjugate pair that is real up to rounding may have any signs.
            levels = jax.lax.complex(levels.real, jnp.abs(levels.imag))
        return like(levels, self._unit()) * jnp.sort(levels)

    def _moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        return in_order(jnp.abs(self._eigenvalues(key)))

    def _has_density(self) -> Any:
        """Whether the levels have a density in the plane at these parameters; like `_valid`, it raises or is traced."""
        return True

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        raise NotImplementedError(f"The joint density of the eigenvalues of {type(self).__name__} is not known.")

    def sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """A matrix drawn from the ensemble: n×n, or 2n×2n with a 2×2 block for each quaternion if β = 4."""
        return self._run(self._sample, _checks.typed_key(key))

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        matrix = self._matrix(key)
        return like(matrix, self._unit()) * matrix

    def eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        """The eigenvalues of a draw, sorted by real part, then by imaginary part; for β = 4 only those with Im ≥ 0."""
        return self._run(self._eigenvalues, _checks.typed_key(key))

    def moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        """The ascending absolute values of the eigenvalues of a draw, exact in distribution.

        In rotation-invariant ensembles with β = 2 or 4 they are, as a set, independent variates (Kostlan's theorem).
        These are drawn in O(n) time and belong to another draw than `eigenvalues(key)`. Otherwise they come from the
        dense matrix.
        """
        return self._run(self._moduli, _checks.typed_key(key))

    def count_below(self, key: KeyScalar, radii: RealLike) -> Int[Array, "..."]:
        """How many of the absolute values `moduli(key)` lie strictly below each radius.

        Args:
            key: a typed key.
            radii: numbers of any shape and order, without NaN.

        Raises:
            ValueError: `radii` contains NaN.
        """
        points, valid = _checks.points("radii", radii)
        return _checks.masked(valid, self._run(self._count_below, _checks.typed_key(key), points))

    def _count_below(self, key: KeyScalar, radii: Float[Array, "..."]) -> Int[Array, "..."]:
        return count_below(self._moduli(key), radii)

    def law(self: WithLaw[Law]) -> Law:
        """Limiting law of one eigenvalue at these parameters, as n → ∞."""
        return _checks.masked(self._valid(), in_one_precision(self)._law())

    def joint_logpdf(self, eigenvalues: RealLike) -> Float[Array, ""]:
        r"""Logarithm of the joint density of the eigenvalues with respect to area.

        The density is normalised to 1 over $\mathbb{C}^n$ for β = 2, and over the n-th power of the upper half-plane
        for β = 4, with the result $-\infty$ elsewhere. It is symmetric, differentiable in the eigenvalues and the
        parameters, and takes O(n²) time and O(n) memory.

        Args:
            eigenvalues: n complex numbers in any order; the result is $-\infty$ if two coincide or one is infinite.

        Raises:
            NotImplementedError: the joint density is not known, or β = 1: real matrices have a density of their own
                for each number of real eigenvalues.
            ValueError: `eigenvalues` is not a vector of n numbers, or contains NaN.
        """
        if self.beta == 1:
            raise NotImplementedError(
                f"The eigenvalues of {type(self).__name__} with beta = 1 have no density in the plane: some are real."
            )
        levels, valid = _levels("eigenvalues", eigenvalues, self.n)
        return self._run(self._anywhere_joint_logpdf, levels, valid=_checks.all_kept(valid, self._has_density()))

    def _anywhere_joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        return anywhere(self._joint_logpdf, levels)


def log_determinantal(
    z: Complex[Array, " n"], beta: int, log_weight: Float[Array, " n"], log_moments: Float[Array, " n"]
) -> Float[Array, ""]:
    r"""Logarithm of the normalised joint density with a weight w at each eigenvalue.

    For β = 2 the density is $\frac1{n!} \prod_{j<k} |z_j - z_k|^2 \prod_j \frac{w(z_j)}{\pi \mu_j}$, where $\pi\mu_j$
    are the squared norms of the monic orthogonal polynomials. For β = 4 it is, in the upper half-plane,

    $$\frac1{n!} \prod_{j<k} |z_j - z_k|^2 |z_j - \bar z_k|^2 \prod_j \frac{|z_j - \bar z_j|^2 w(z_j)}{\pi \mu_j},$$

    where $2\pi\mu_j$ are the skew norms in the whole plane. If the weight depends on $t = |z|^2$ alone, both are
    moments, $\mu_k = \int t^{\beta k/2 - 1} w\,dt$: monomials are orthogonal, and the skew product of $z^{2k-2}$ and
    $z^{2k-1}$ is $\int |z|^{4k-4} (2 \operatorname{Im} z)^2 w\,d^2 z = 2\pi\mu_k$ (Mehta 2004, sections 15.1 and 15.2).
    """
    n = z.size
    constant = math.lgamma(n + 1) + n * math.log(math.pi) + jnp.sum(log_moments)
    if beta == 2:
        return 2 * log_vandermonde(z).real + jnp.sum(log_weight) - constant
    above = z.imag > 0
    heights = jnp.sum(jnp.log(jnp.where(above, 2 * z.imag, 1)))
    pairs = log_vandermonde(jnp.concatenate([z, z.conj()])).real
    return jnp.where(jnp.all(above), pairs + heights + jnp.sum(log_weight) - constant, -jnp.inf)


def _levels(name: str, value: object, n: int) -> tuple[Complex[Array, " n"], Any]:
    """The value as a vector of n complex numbers, and whether it is free of NaN."""
    array = _checks.numbers(name, value)
    array = array.astype(complex_dtype(array.dtype))
    if array.shape != (n,):
        raise _checks.refusal(name, f"have the shape ({n},)", array.shape)
    return array, _checks.Rule(lambda z: (z == z).all(), "not be NaN").kept(name, array)
