"""The Laguerre β-ensembles: bidiagonal matrices with the spectra of Wishart matrices, for every β."""

import math
from abc import abstractmethod
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.edge import Edge
from rmtjax.ensembles._core.edge_constants import laguerre_hard_edge, laguerre_soft_edge
from rmtjax.ensembles._core.joint_density import repulsion
from rmtjax.laws import MarchenkoPastur
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import LaguerreEntries, block_singular_values, block_square_counts
from rmtjax.random.internal import unit_chi
from rmtjax.special.internal import log_laguerre, log_vandermonde


def bidiagonal_entries(
    key: KeyScalar, k: int, a: Float[Array, ""], beta: Float[Array, ""]
) -> tuple[Float[Array, " k"], Float[Array, " k-1"]]:
    """Diagonal and subdiagonal of the k×k matrix B of `AbstractLaguerre`, divided by √(2a) to be of order 1."""
    row = jnp.arange(k, dtype=a.dtype)
    # Both are drawn at once, because each call costs seconds of compilation.
    df = jnp.concatenate([2 * a - beta * row, beta * (k - 1 - row[: k - 1])])
    # At β = 0 the entries below the diagonal are 0, where a square root has no derivative.
    entries = jnp.sqrt(jnp.where(df > 0, df, 1) / (2 * a)) * unit_chi(key, df)
    return entries[:k], entries[k:]


class AbstractLaguerre(AbstractEnsemble):
    r"""An ensemble with the spectrum of a Laguerre β-ensemble.

    In the bidiagonal model of Dumitriu and Edelman, the squared singular values of

    $$B = \begin{pmatrix} \chi_{2a} \\ \chi_{(n-1)\beta} & \chi_{2a-\beta} \\ & \ddots & \ddots \\
    & & \chi_\beta & \chi_{2a-(n-1)\beta} \end{pmatrix}$$

    have the density $\propto \prod_{i<j} |\lambda_i - \lambda_j|^\beta \prod_i \lambda_i^{a - (n-1)\beta/2 - 1}
    e^{-\lambda_i/2}$.
    """

    beta: eqx.AbstractVar[Float[Array, ""] | int]

    @abstractmethod
    def _parameters(self) -> tuple[int, Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """The number of nonzero levels, a, β, and the square of the unit of B."""

    def _bidiagonal(self, key: KeyScalar) -> tuple[Float[Array, " k"], Float[Array, " k-1"]]:
        """Diagonal and subdiagonal of B in units of √(2a)."""
        k, a, beta, _ = self._parameters()
        return bidiagonal_entries(key, k, a, beta)

    def _unit(self) -> Float[Array, ""]:
        """The factor that turns squared singular values of `_bidiagonal` into levels."""
        _, a, _, unit = self._parameters()
        return 2 * a * unit

    def _zeros(self) -> int:
        """Number of levels that are exactly 0."""
        return self.n - self._parameters()[0]

    def _some_eigenvalues(self, key: KeyScalar, *, first: int, last: int, corner: int) -> Float[Array, " k"]:
        diagonal, below = self._bidiagonal(key)
        zeros, k = self._zeros(), diagonal.size
        places = max(first - zeros, 0), max(last - zeros, 0)
        levels = self._unit() * block_singular_values(*places, diagonal, below, jnp.int32(k)) ** 2
        return jnp.pad(levels, (last - first - levels.size, 0))

    def _sizes(self) -> tuple[int, Float[Array, ""] | float, Float[Array, ""] | int, Float[Array, ""]]:
        """Numbers of levels and of degrees of freedom, β, and the unit in which $XX^*$ has $E|X_{ij}|^2 = 1$."""
        k, a, beta, unit = self._parameters()
        return k, 2 * a / beta, self.beta, beta * unit

    def _soft_edge(self, *, upper: bool) -> Edge:
        refuse_independent(self, "soft_edge")
        return laguerre_soft_edge(*self._sizes(), upper)

    def _hard_edge(self, *, upper: bool) -> Edge:
        if upper:
            return super()._hard_edge(upper=upper)
        refuse_independent(self, "hard_edge")
        return laguerre_hard_edge(*self._sizes())

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        diagonal, below = self._bidiagonal(key)
        points = quotient(x, self._unit())
        counts = block_square_counts(diagonal, below, jnp.int32(diagonal.size), points)
        return counts + self._zeros() * like(counts, x > 0)

    def _independent_entries(self) -> LaguerreEntries:
        n, a, beta, unit = self._parameters()
        return LaguerreEntries(n, a, _checks.POSITIVE("beta", beta), 2 * unit)

    def _joint_logpdf(self, levels: Float[Array, " n"]) -> Float[Array, ""]:
        if self._zeros():
            raise NotImplementedError(f"{self._zeros()} of the {self.n} levels are 0: they have no joint density.")
        n, a, beta, unit = self._parameters()
        positive = jnp.all(levels > 0)
        x = quotient(jnp.where(positive, levels, jnp.arange(1, n + 1, dtype=levels.dtype)), unit)
        power = a - (n - 1) * beta / 2 - 1
        height = repulsion(beta, log_vandermonde(x)) + power * jnp.sum(jnp.log(x)) - jnp.sum(x) / 2
        return jnp.where(positive, height - log_laguerre(n, a, beta) - n * jnp.log(unit), -jnp.inf)


# The exponents a for which the joint density of the levels can be normalised.
ABOVE = _checks.Rule(
    lambda a, n, beta: (a > (n - 1) * beta / 2) & (a < math.inf),
    lambda n, beta: f"be finite and larger than (n - 1) beta/2 with n = {n} and beta = {beta}",
)


def refuse_independent(ensemble: Any, method: str) -> None:
    """Refuse β = 0 where it is known: the answer is one for levels that repel each other."""
    beta = ensemble.beta
    if not isinstance(beta, Tracer) and float(beta) == 0:
        raise NotImplementedError(
            f"`{method}` is not defined at beta = 0: the levels of {type(ensemble).__name__} are independent, with the "
            "density of `joint_logpdf`."
        )


class LaguerreBeta(AbstractLaguerre):
    r"""The Laguerre β-ensemble for every β ≥ 0.

    The n levels have the joint density $\propto \prod_{i<j} |\lambda_i - \lambda_j|^\beta \prod_i
    \lambda_i^{a - (n-1)\beta/2 - 1} e^{-a\lambda_i/s^2}$. With a = βm/2 and β = 1, 2, 4 they are the levels of
    `Wishart(n, m, beta)`. `sample` returns $B B^T$ as a dense tridiagonal matrix.

    At β = 0 the matrix is diagonal and the levels are independent: gamma variates with the shape a and the mean s².
    Spectra of β → 0 at fixed a tend to it. As entries below the diagonal are 0 there, so is their derivative in β, and
    gradients of expectations in β are unbiased for β > 0 only.

    Convention: the sum of the levels has the mean $n s^2$ for all a and β, as for $X X^*/m$ with $E|X_{ij}|^2 = s^2$.
    The law is Marčenko and Pastur's with the ratio nβ/(2a), and none for β = 0. For the weight $e^{-\lambda/2}$,
    without a unit, use `scale=sqrt(2 * a)`.

    Args:
        n: number of levels, n ≥ 1; static.
        a: a > (n - 1)β/2, differentiable.
        beta: Dyson index β ≥ 0, differentiable.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> levels = LaguerreBeta(3, a=2.5, beta=1.7).eigenvalues(jax.random.key(0))
        >>> print(levels.shape, bool((levels > 0).all()))
        (3,) True

    References:
        Dumitriu and Edelman (2002), J. Math. Phys. 43, 5830, theorem 3.4.
    """

    n: int = eqx.field(static=True)
    a: Annotated[Float[Array, ""], ABOVE, "n", "beta"]
    beta: Annotated[Float[Array, ""], _checks.NONNEGATIVE]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, a: RealScalarLike, beta: RealScalarLike, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.scalar("beta", beta, nonzero=True)
        self.a = _checks.scalar("a", a)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _parameters(self) -> tuple[int, Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        dtype = common_dtype(self.a, self.beta, self.scale)
        a, beta = (jnp.asarray(parameter, dtype) for parameter in (self.a, self.beta))
        return self.n, a, beta, self.scale**2 / (2 * a)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        diagonal, below = self._bidiagonal(key)
        on_diagonal = diagonal**2 + jnp.pad(below, (1, 0)) ** 2
        return self._unit() * SymTridiagonal(on_diagonal, diagonal[:-1] * below).todense()

    def _degree_in_scale(self) -> int:
        return 2

    def _law(self) -> MarchenkoPastur:
        refuse_independent(self, "law")
        return MarchenkoPastur(self.n * self.beta / (2 * self.a), self.scale)
