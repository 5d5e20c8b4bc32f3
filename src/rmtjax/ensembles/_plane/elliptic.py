"""Matrices of normal entries correlated across the diagonal, which interpolate between Ginibre and Hermitian ones."""

from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import DysonIndex, KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.non_hermitian import AbstractNonHermitianEnsemble, log_determinantal
from rmtjax.laws import EllipticLaw
from rmtjax.linalg.internal import adjoint
from rmtjax.random.internal import gaussian_matrix
from rmtjax.special.internal import log_one_plus, square_root


class Elliptic(AbstractNonHermitianEnsemble):
    r"""The elliptic ensembles, $X = \sqrt{\tfrac{1 + \tau}2}\,H + \sqrt{\tfrac{1 - \tau}2}\,K$.

    H is a Hermitian and K an independent anti-Hermitian matrix of normal entries, which are real for β = 1, complex for
    β = 2 and quaternions for β = 4: $H = (G + G^*)/\sqrt2$ and $K = (G - G^*)/\sqrt2$ for one Ginibre matrix G. τ = 0
    is `Ginibre`, τ = 1 is `GOE`, `GUE` or `GSE`, and τ = -1 is anti-Hermitian.

    Convention: $E|X_{ij}|^2 = s^2/n$ and $E X_{ij} X_{ji} = \tau s^2/n$ off the diagonal. On it
    $E X_{ii}^2 = (1 + \tau) s^2/n$ for β = 1. The spectrum fills the ellipse with half axes s(1 + τ) and s(1 - τ).

    Args:
        n: size of the matrix, n ≥ 1; static.
        correlation: τ in [-1, 1], differentiable in the interior.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range; from `joint_logpdf` and `law`, if `correlation` is -1 or 1.

    Example:
        >>> import jax
        >>> x = Elliptic(3, correlation=-1.0).sample(jax.random.key(0))
        >>> print(bool((x == -x.T).all()))
        True

    References:
        Girko (1986), Theory Probab. Appl. 30, 677; Sommers, Crisanti, Sompolinsky and Stein (1988), Phys. Rev. Lett.
        60, 1895; Fyodorov, Khoruzhenko and Sommers (1997), Phys. Lett. A 226, 46, for the joint density at β = 2.
    """

    n: int = eqx.field(static=True)
    correlation: Annotated[Float[Array, ""], _checks.Rule(lambda tau: abs(tau) <= 1, "lie between -1 and 1")]
    beta: DysonIndex = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, correlation: RealScalarLike, beta: DysonIndex = 1, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.correlation = _checks.scalar("correlation", correlation)
        self.beta = _checks.dyson_index(beta)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _unit(self) -> Float[Array, ""]:
        return self.scale

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        dtype = common_dtype(self.correlation, self.scale)
        g = self.n**-0.5 * gaussian_matrix(key, self.n, self.n, self.beta, dtype)
        hermitian, other = square_root(1 + self.correlation) / 2, square_root(1 - self.correlation) / 2
        return like(g, hermitian) * (g + adjoint(g)) + like(g, other) * (g - adjoint(g))

    def _has_density(self) -> Any:
        return self._law()._valid()  # the law refuses ±1

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        # The Gaussian exponent of X is the sum of x²/(1 + τ) + y²/(1 - τ) over the eigenvalues x + iy, and a sum over
        # the strictly upper triangle of Schur's form T with E|T_ij|² = (1 - τ²)s²/n. The norm of T cancels the norm of
        # the off-diagonal pairs of X. The norm of the diagonal of X remains, with one real and β - 1 imaginary parts
        # for each eigenvalue.
        tau, rate, z = self.correlation, self.beta * self.n / 2, quotient(levels, self.scale)
        log_weight = -rate * (z.real**2 / (1 + tau) + z.imag**2 / (1 - tau))
        a = self.beta * jnp.arange(1, self.n + 1, dtype=z.real.dtype) / 2
        log_moments = gammaln(a) - a * jnp.log(rate) + log_one_plus(tau) / 2 + (self.beta - 1) / 2 * log_one_plus(-tau)
        return log_determinantal(z, self.beta, log_weight, log_moments) - 2 * self.n * jnp.log(self.scale)

    def _law(self) -> EllipticLaw:
        return EllipticLaw(self.correlation, self.scale)
