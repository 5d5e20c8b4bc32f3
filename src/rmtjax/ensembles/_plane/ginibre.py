"""Ginibre matrices: independent normal entries, products of such matrices, and the induced ensemble."""

import functools
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import DysonIndex, KeyScalar, RealScalarLike
from rmtjax.ensembles._plane.rotation_invariant import AbstractRotationInvariant
from rmtjax.laws import CircularLaw, CircularPowerLaw
from rmtjax.linalg.internal import adjoint
from rmtjax.random.internal import gaussian_matrix, haar_isometry, triangular_band, unchecked_chi


class Ginibre(AbstractRotationInvariant):
    r"""The Ginibre ensembles: n×n matrices of independent normal entries.

    The entries are real for β = 1, complex for β = 2 and quaternions for β = 4, with the density
    $\propto \exp\big(-\tfrac{\beta n}{2 s^2} \operatorname{tr} G G^*\big)$, where β = 4 takes the trace of quaternions.
    For β = 2 and 4 the absolute values of the eigenvalues are, as a set, independent variates
    $s\,\chi_{\beta k}/\sqrt{\beta n}$, k = 1..n.

    Convention: $E|G_{ij}|^2 = s^2/n$ for every β. The spectrum fills the disc of radius s as n → ∞. For entries of
    unit variance use `scale=sqrt(n)`.

    Args:
        n: size of the matrix, n ≥ 1; static.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> ginibre = Ginibre(4)
        >>> print(ginibre.eigenvalues(jax.random.key(0)).shape, ginibre.law().radius)
        (4,) 1.0

    References:
        Ginibre (1965), J. Math. Phys. 6, 440; Mehta (2004), Random Matrices, chapter 15; Kostlan (1992), Linear Algebra
        Appl. 162, 385, for the absolute values; Rider (2004), J. Stat. Phys. 114, 1139, for the largest of them.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, beta: DysonIndex = 1, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.dyson_index(beta)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _unit(self) -> Float[Array, ""]:
        return self.scale

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        return self.n**-0.5 * gaussian_matrix(key, self.n, self.n, self.beta, self.scale.dtype)

    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        return unchecked_chi(key, self._degrees()) / (self.beta * self.n) ** 0.5

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        rate = self.beta * self.n / 2
        return self._radial_joint_logpdf(levels, lambda t: -rate * t, lambda a: gammaln(a) - a * jnp.log(rate))

    def _law(self) -> CircularLaw:
        return CircularLaw(self.scale)


class GinibreProduct(AbstractRotationInvariant):
    r"""Products $P = s\,G_1 G_2 \cdots G_M$ of independent Ginibre matrices.

    For β = 2 and 4 the absolute values of the eigenvalues are, as a set, independent products of M independent variates
    $\chi_{\beta k}/\sqrt{\beta n}$, k = 1..n, times s. Drawn in this way, small values keep the digits that the dense
    product loses to rounding: the smallest eigenvalue is about $n^{-M/2}$ times the largest one.

    Convention: $E|P_{ij}|^2 = s^2/n$ for every β and M. The spectrum fills the disc of radius s; its law is the law of
    the M-th power of a variate of the circular law.

    Args:
        n: size of the matrices, n ≥ 1; static.
        factors: M ≥ 1; static.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(GinibreProduct(4, factors=3, beta=2).moduli(jax.random.key(0)).shape)
        (4,)

    References:
        Akemann and Burda (2012), J. Phys. A 45, 465201; Ipsen (2013), J. Phys. A 46, 265201, for β = 4.
    """

    n: int = eqx.field(static=True)
    factors: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, factors: int, beta: DysonIndex = 1, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.factors = _checks.integer("factors", factors, at_least=1)
        self.beta = _checks.dyson_index(beta)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _unit(self) -> Float[Array, ""]:
        return self.scale

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        draw = lambda key: gaussian_matrix(key, self.n, self.n, self.beta, self.scale.dtype)
        return functools.reduce(jnp.matmul, self.n**-0.5 * jax.vmap(draw)(jax.random.split(key, self.factors)))

    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        factors = unchecked_chi(key, jnp.broadcast_to(self._degrees(), (self.factors, self.n)))
        return jnp.prod(factors / (self.beta * self.n) ** 0.5, axis=0)

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        raise NotImplementedError("The joint density of GinibreProduct, with Meijer's G function, is not available.")

    def _law(self) -> CircularPowerLaw:
        return CircularPowerLaw(self.factors, self.scale)


class InducedGinibre(AbstractRotationInvariant):
    r"""The induced Ginibre ensembles, $G = s\,U \sqrt{X^* X/m}$ for an m×n matrix X of standard normal entries.

    With $E|X_{ij}|^2 = 1$ and Haar-distributed U, the squares of the singular values of G/s are the levels of a Wishart
    matrix $X^* X/m$, and the density is

    $$\propto \det(G^* G)^{\beta(m - n)/2} \exp\big(-\tfrac{\beta m}{2 s^2} \operatorname{tr} G^* G\big).$$

    No root is computed. The triangular factor R of X = QR satisfies $R^* R = X^* X$, so $\sqrt{X^* X} = V R$ with a
    unitary V, and UV is distributed like U. R has independent entries, $\chi_{\beta(m - i + 1)}/\sqrt\beta$ on the
    diagonal and normal entries above it (Bartlett). For β = 2 and 4 the absolute values of the eigenvalues are, as a
    set, independent variates $s\,\chi_{\beta(k + m - n)}/\sqrt{\beta m}$, k = 1..n.

    Convention: $E|G_{ij}|^2 = s^2/n$ for every β. The spectrum fills the ring $s\sqrt{1 - n/m} < |z| < s$; m = n is
    `Ginibre`.

    Args:
        n: size of the matrix, n ≥ 1; static.
        m: number of rows of X, m ≥ n; static.
        beta: 1, 2 or 4; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = InducedGinibre(30, 40, beta=2).law()
        >>> print(law.inner, law.radius)
        0.5 1.0

    References:
        Fischmann, Bruzda, Khoruzhenko, Sommers and Życzkowski (2012), J. Phys. A 45, 075203; Muirhead (1982), Aspects
        of Multivariate Statistical Theory, theorem 3.2.14, for R.
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

    def _unit(self) -> Float[Array, ""]:
        return self.scale

    def _degrees_of_x(self) -> Float[Array, " n"]:
        """The degrees of freedom β(k + m - n), k = 1..n."""
        return self._degrees() + self.beta * (self.m - self.n)

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        key_rotation, key_triangle = jax.random.split(key)
        rotation = haar_isometry(key_rotation, self.n, self.n, self.beta, self.scale.dtype)
        # X* = L Q, so that R = L*.
        lower = triangular_band(key_triangle, self.n, self.m, self.beta, self.n, self.scale.dtype)
        return (self.beta * self.m) ** -0.5 * rotation @ adjoint(lower)

    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        return unchecked_chi(key, self._degrees_of_x()) / (self.beta * self.m) ** 0.5

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        rate, power = self.beta * self.m / 2, self.beta * (self.m - self.n) / 2

        def log_weight(t: Array) -> Array:
            if not power:
                return -rate * t
            positive = t > 0
            return jnp.where(positive, power * jnp.log(jnp.where(positive, t, 1)) - rate * t, -jnp.inf)

        log_moment = lambda a: gammaln(a + power) - (a + power) * jnp.log(rate)
        return self._radial_joint_logpdf(levels, log_weight, log_moment)

    def _law(self) -> CircularLaw:
        return CircularLaw(self.scale, self.scale * (1 - self.n / self.m) ** 0.5)
