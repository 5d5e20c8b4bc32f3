"""The Gaussian β-ensembles: tridiagonal matrices with the spectra of GOE, GUE and GSE, for every β."""

from abc import abstractmethod
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.edge import Edge
from rmtjax.ensembles._core.edge_constants import gaussian_soft_edge, has_soft_edge
from rmtjax.ensembles._core.semicircular import AbstractSemicircular
from rmtjax.ensembles._gaussian import edge_levels, tridiagonal
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import HermiteEntries, block_counts, block_eigenvalues
from rmtjax.special.internal import log_mehta, log_vandermonde
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import inside_block, padded

# The largest n: row numbers and counts are 32-bit integers, and the last chunk of rows may run past n.
_MOST_LEVELS = 2_000_000_000


def number_of_levels(n: object) -> int:
    """The number of levels n, checked."""
    return _checks.integer("n", n, at_least=1, at_most=_MOST_LEVELS)


class AbstractGaussian(AbstractSemicircular):
    r"""A Gaussian β-ensemble.

    The tridiagonal model of Dumitriu and Edelman has the levels of `GaussianBeta` and only O(n) entries:

    $$T = \frac{s}{\sqrt{\beta n}} \begin{pmatrix} N(0, 2) & \chi_{(n-1)\beta} \\ \chi_{(n-1)\beta} & N(0, 2) &
    \chi_{(n-2)\beta} \\ & \ddots & \ddots & \chi_\beta \\ & & \chi_\beta & N(0, 2) \end{pmatrix}.$$

    With the same key, `eigenvalues`, `count_below`, `tridiagonal`, `largest_eigenvalues` and `edge_levels` all refer
    to the same T.
    """

    @abstractmethod
    def _beta(self) -> Float[Array, ""] | float:
        """The Dyson index β."""

    def _dyson_index(self) -> Float[Array, ""]:
        """β in the dtype of the levels."""
        return jnp.asarray(self._beta(), common_dtype(self._beta(), self.scale))

    def tridiagonal(self, key: KeyScalar) -> SymTridiagonal:
        """The tridiagonal matrix T that has the eigenvalues `eigenvalues(key)`."""
        return self._run(self._tridiagonal, _checks.typed_key(key))

    def _tridiagonal(self, key: KeyScalar) -> SymTridiagonal:
        diagonal, off_diagonal = self._entries(key)
        return SymTridiagonal(self.scale * diagonal, self.scale * off_diagonal)

    def edge_levels(self, key: KeyScalar, k: int = 1, *, corner: int | None = None) -> Float[Array, " k"]:
        r"""The k largest of the levels `eigenvalues(key)`, standardised by `soft_edge()` and computed in that variable.

        The rounding error of `soft_edge().standardize(largest_eigenvalues(key, k))` is eps n^{2/3}, which is 0.1 in
        float32 at n = 10⁹. Here the error is at most eps n^{1/3}, and about 1e-6 was measured in that case. The result
        does not depend on `scale`.

        Args:
            key: a typed key.
            k: number of levels, 1 ≤ k ≤ n; static. The cost is proportional to k.
            corner: number of rows to keep, as for `largest_eigenvalues`; static.

        Returns:
            k ascending numbers.

        Raises:
            ValueError: an argument is outside its range, or there is no soft edge at these parameters.

        Example:
            >>> import jax
            >>> print(GaussianBeta(10**9, beta=2.0).edge_levels(jax.random.key(0), 2).shape)
            (2,)
        """
        k = self._number_of_levels(k, corner)
        size, valid = self._corner(k, corner)
        valid = _checks.all_kept(valid, has_soft_edge(self.n, self._beta()))
        return self._run(self._edge_levels, _checks.typed_key(key), valid=valid, order=size, k=k, size=size)

    def _edge_levels(self, key: KeyScalar, *, k: int, size: int) -> Float[Array, " k"]:
        beta = self._dyson_index()
        mu = edge_levels.largest(*edge_levels.shifted_entries(key, self.n, beta, size), self.n, k)
        # The variable μ is n^{2/3} (λ/s - 2). The centre of the edge is 2 √ratio, whose distance from 2 has all digits.
        excess = (0.5 - 1 / beta) / self.n
        ratio = 1 + excess
        return ratio ** (1 / 6) * (mu - 2 * self.n ** (2 / 3) * excess / (1 + jnp.sqrt(ratio)))

    def _corner(self, k: int, corner: int | None) -> tuple[int, Any]:
        r"""Rows for every digit of k levels: $n^{1/3}(10 + \tfrac32(\tfrac{3\pi k}2)^{2/3} + 4(4/\beta)^{2/3})$.

        Eigenvectors at either edge live in the upper left corner of T and decay there as
        $\exp(-\tfrac23 (t - t_k)^{3/2})$ in $t = i/n^{1/3}$ beyond their turning point $t_k$. The three terms are the
        decay to $10^{-16}$, the zeros of the Airy function and the reach of the noise (Edelman and Persson 2005,
        arXiv:math-ph/0501068, section 1.2; Edelman and Sutton 2007, section 4).
        """
        valid = self._valid()
        if corner is None:
            corner = tridiagonal.corner(self.n, self._beta(), k)
            valid = _checks.all_kept(valid, tridiagonal.is_reached(self._beta()))
        return min(corner, self.n), valid

    def _some_eigenvalues(self, key: KeyScalar, *, first: int, last: int, corner: int) -> Float[Array, " k"]:
        skipped = self.n - corner if first else 0
        matrix = SymTridiagonal(*tridiagonal.entries(key, self.n, self._dyson_index(), corner))
        return self.scale * matrix.eigenvalues((first - skipped, last - skipped))

    def _soft_edge(self, *, upper: bool) -> Edge:
        return gaussian_soft_edge(self.n, self._beta(), self.scale, upper)

    def _entries(self, key: KeyScalar) -> tuple[Float[Array, " n"], Float[Array, " n-1"]]:
        """The entries of T at s = 1."""
        return tridiagonal.entries(key, self.n, self._dyson_index(), self.n)

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        points = quotient(x, self.scale)
        return tridiagonal.streamed_counts(key, self.n, self._dyson_index(), points, chunk)

    def _independent_entries(self) -> HermiteEntries:
        beta = self._dyson_index()
        return HermiteEntries(self.n, beta, self.scale * jnp.sqrt(2 / (beta * self.n)))

    def _has_density(self) -> Any:
        return _checks.WITH_DENSITY.kept("beta", self._beta())

    def _joint_logpdf(self, levels: Float[Array, " n"]) -> Float[Array, ""]:
        beta = self._dyson_index()
        unit = self.scale * jnp.sqrt(2 / (beta * self.n))
        x = quotient(levels, unit)
        return beta * log_vandermonde(x) - jnp.sum(x**2) / 2 - log_mehta(self.n, beta) - self.n * jnp.log(unit)

    def _leading_block_eigenvalues(self, key: KeyScalar, order: Int[Array, ""]) -> Spectrum:
        levels = block_eigenvalues(0, self.n, *self._entries(key), order)
        inside = inside_block(order, self.n)
        return padded(self.scale * jnp.where(inside, levels, 0), order)

    def _leading_block_counts(self, key: KeyScalar, order: Int[Array, ""], x: Float[Array, "..."]) -> Int[Array, "..."]:
        return block_counts(*self._entries(key), order, quotient(x, self.scale))


class GaussianBeta(AbstractGaussian):
    r"""The Gaussian β-ensemble for every β > 0, also called the β-Hermite ensemble.

    The n levels have a joint density $\propto \prod_{i<j} |\lambda_i - \lambda_j|^\beta
    \exp\big(-\tfrac{\beta n}{4 s^2} \sum_i \lambda_i^2\big)$. β = 1, 2, 4 give the spectra of GOE, GUE and GSE; at
    β = ∞ the levels are scaled zeros of a Hermite polynomial. `sample` returns the tridiagonal model, made dense.

    As β → 0 levels become independent and normal, with the variance $2 s^2/(\beta n)$. So at a fixed scale there is no
    limit, and β = 0 is refused. `scale=sigma * sqrt(beta * n / 2)` gives them the standard deviation σ for every small
    β. Where βn = 2c stays fixed, the density lies between the normal law and the semicircle (Allez, Bouchaud and
    Guionnet 2012).

    Convention: the spectrum fills [-2s, 2s] as n → ∞ for every β; the entries of the model have $E T_{i,i+1}^2 =
    s^2 (n - i)/n$ off the diagonal and $E T_{ii}^2 = 2 s^2/(\beta n)$ on it.

    Args:
        n: number of levels, 1 ≤ n ≤ 2·10⁹; static.
        beta: Dyson index β in (0, ∞]. Spectra can be differentiated with respect to it.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(GaussianBeta(2, beta=float("inf")).eigenvalues(jax.random.key(0)).round(3))  # ±1/√2
        [-0.707  0.707]

    References:
        Dumitriu and Edelman (2002), J. Math. Phys. 43, 5830, theorem 2.12; Allez, Bouchaud and Guionnet (2012), Phys.
        Rev. Lett. 109, 094102, for β of the order 1/n.
    """

    n: int = eqx.field(static=True)
    beta: Annotated[Float[Array, ""], _checks.POSITIVE_OR_INFINITE]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, beta: RealScalarLike, scale: RealScalarLike = 1.0):
        self.n = number_of_levels(n)
        self.beta = _checks.scalar("beta", beta, nonzero=True)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _beta(self) -> Float[Array, ""]:
        return self.beta

    def _sample(self, key: KeyScalar) -> Inexact[Array, "n n"]:
        return self._tridiagonal(key).todense()

    def _leading_block(self, key: KeyScalar, order: Int[Array, ""]) -> Float[Array, "n n"]:
        # The trailing rows of T are the model of the smaller order; here they come first.
        diagonal, off_diagonal = self._entries(key)
        index = jnp.arange(self.n, dtype=order.dtype)
        d = jnp.where(index < order, jnp.roll(diagonal, order), 0)
        e = jnp.where(index < order - 1, jnp.roll(jnp.pad(off_diagonal, (0, 1)), order), 0)[:-1]
        return self.scale * SymTridiagonal(d, e).todense()
