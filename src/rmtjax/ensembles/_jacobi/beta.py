"""The Jacobi β-ensembles: bidiagonal matrices with the spectra of MANOVA matrices, for every β."""

from abc import abstractmethod
from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.edge import Edge
from rmtjax.ensembles._core.edge_constants import jacobi_hard_edge, jacobi_soft_edge
from rmtjax.ensembles._core.joint_density import repulsion
from rmtjax.ensembles._jacobi.bidiagonal import Entries, bidiagonals
from rmtjax.ensembles._laguerre.beta import ABOVE, refuse_independent
from rmtjax.laws import Wachter
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import block_singular_values, block_square_counts
from rmtjax.special.internal import log_one_plus, log_selberg, log_vandermonde


class AbstractJacobi(AbstractEnsemble):
    r"""An ensemble with the spectrum of a Jacobi β-ensemble, and perhaps levels that are exactly 0 or 1.

    The other levels have the density $\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{p-1} (1 - x_i)^{q-1}$ on
    [0, 1]. They are the squared singular values of the matrix C of Edelman and Sutton (see `bidiagonal.py`).
    """

    beta: eqx.AbstractVar[Float[Array, ""] | int]

    @abstractmethod
    def _parameters(self) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """The values p, q and β."""

    @abstractmethod
    def _exact_levels(self) -> tuple[int, int]:
        """Numbers of levels that are exactly 0 and exactly 1."""

    def _order(self) -> int:
        """Number of levels that are neither exactly 0 nor exactly 1."""
        return self.n - sum(self._exact_levels())

    def _cosines(self, key: KeyScalar) -> Entries:
        """Diagonal and superdiagonal of C."""
        return bidiagonals(key, self._order(), self._order(), *self._parameters())[0]

    def _some_eigenvalues(self, key: KeyScalar, *, first: int, last: int, corner: int) -> Float[Array, " k"]:
        k, (zeros, _) = self._order(), self._exact_levels()
        start, stop = (min(max(place - zeros, 0), k) for place in (first, last))
        # Rounding may move a singular value next to 1 beyond it.
        levels = jnp.minimum(block_singular_values(start, stop, *self._cosines(key), jnp.int32(k)) ** 2, 1)
        ones = max(last - zeros - k, 0) - max(first - zeros - k, 0)
        return jnp.pad(jnp.pad(levels, (last - first - ones - levels.size, 0)), (0, ones), constant_values=1)

    def _sizes(self) -> tuple[int, Float[Array, ""], Float[Array, ""], Float[Array, ""] | int]:
        """The number of levels that are not forced, the degrees of freedom at both ends, and β."""
        (p, q, beta), k = self._parameters(), self._order()
        return k, k - 1 + 2 * p / beta, k - 1 + 2 * q / beta, self.beta

    def _soft_edge(self, *, upper: bool) -> Edge:
        refuse_independent(self, "soft_edge")
        return jacobi_soft_edge(*self._sizes(), upper)

    def _hard_edge(self, *, upper: bool) -> Edge:
        refuse_independent(self, "hard_edge")
        return jacobi_hard_edge(*self._sizes(), upper)

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        k, (zeros, ones) = self._order(), self._exact_levels()
        positive, beyond = x > 0, x > 1
        counts = zeros * positive.astype(jnp.int32) + ones * beyond.astype(jnp.int32)
        if not k:
            return counts
        # All levels are at most 1, even if the rounding of C puts some of them above.
        return counts + jnp.where(beyond, k, block_square_counts(*self._cosines(key), jnp.int32(k), x))

    def _joint_logpdf(self, levels: Float[Array, " n"]) -> Float[Array, ""]:
        zeros, ones = self._exact_levels()
        if zeros or ones:
            raise NotImplementedError(
                f"{zeros} of the {self.n} levels are 0 and {ones} are 1: they have no joint density."
            )
        p, q, beta = self._parameters()
        inside = jnp.all((levels > 0) & (levels < 1))
        x = jnp.where(inside, levels, jnp.arange(1, self.n + 1, dtype=levels.dtype) / (self.n + 1))
        weight = (p - 1) * jnp.sum(jnp.log(x)) + (q - 1) * jnp.sum(log_one_plus(-x))
        height = repulsion(beta, log_vandermonde(x)) + weight - log_selberg(self.n, p, q, beta)
        return jnp.where(inside, height, -jnp.inf)


class JacobiBeta(AbstractJacobi):
    r"""The Jacobi β-ensemble for every β ≥ 0.

    The n levels lie in [0, 1] and have the joint density $\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i
    x_i^{a - (n-1)\beta/2 - 1} (1 - x_i)^{b - (n-1)\beta/2 - 1}$. With a = βm₁/2, b = βm₂/2 and β = 1, 2, 4 they are the
    levels of `Jacobi(n, m1, m2, beta)`. `sample` returns $C^T C$ as a dense tridiagonal matrix. At β = 0 it
    is diagonal, and the levels are independent beta variates of the parameters a and b (see `LaguerreBeta`).

    Convention: a and b are as in `LaguerreBeta`; the mean of the levels is a/(a + b) for every β. The law is Wachter's
    with 2a/(nβ) and 2b/(nβ). Their sum must be at least 1, which is always true for n > 1.

    Args:
        n: number of levels, n ≥ 1; static.
        a: a > (n - 1)β/2, differentiable.
        b: b > (n - 1)β/2, differentiable.
        beta: Dyson index β ≥ 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> levels = JacobiBeta(3, a=2.5, b=4.0, beta=1.7).eigenvalues(jax.random.key(0))
        >>> print(levels.shape, bool(((levels > 0) & (levels < 1)).all()))
        (3,) True

    References:
        Edelman and Sutton (2008), Found. Comput. Math. 8, 259, theorem 1.5.
    """

    n: int = eqx.field(static=True)
    a: Annotated[Float[Array, ""], ABOVE, "n", "beta"]
    b: Annotated[Float[Array, ""], ABOVE, "n", "beta"]
    beta: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(self, n: int, a: RealScalarLike, b: RealScalarLike, beta: RealScalarLike):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.scalar("beta", beta, nonzero=True)
        self.a, self.b = _checks.scalar("a", a), _checks.scalar("b", b)

    def _parameters(self) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        dtype = common_dtype(self.a, self.b, self.beta)
        a, b, beta = (jnp.asarray(parameter, dtype) for parameter in (self.a, self.b, self.beta))
        return a - (self.n - 1) * beta / 2, b - (self.n - 1) * beta / 2, beta

    def _exact_levels(self) -> tuple[int, int]:
        return 0, 0

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        diagonal, beside = self._cosines(key)
        on_diagonal = diagonal**2 + jnp.pad(beside, (1, 0)) ** 2
        return SymTridiagonal(on_diagonal, diagonal[:-1] * beside).todense()

    def _law(self) -> Wachter:
        refuse_independent(self, "law")
        unit = self.n * self.beta / 2
        return Wachter(self.a / unit, self.b / unit)
