"""Random graphs: adjacency and Laplacian matrices of Erdős–Rényi graphs, and uniform regular graphs."""

import math
from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.symmetric import mirrored
from rmtjax.laws import AbstractLaw, AbstractSpectralLaw, FreeSum, KestenMcKay, Normal, Semicircle
from rmtjax.linalg.internal import hermitian_eigenvalues

Matrix = Literal["adjacency", "laplacian"]


class ErdosRenyi(AbstractEnsemble):
    r"""The random graph G(n, p) of Erdős, Rényi and Gilbert: each edge is present independently with probability p.

    The matrix is the adjacency matrix A, with entries 0 and 1 and an empty diagonal, or the Laplacian L = D - A, with
    the degrees $D_{ii} = \sum_j A_{ij}$ on the diagonal.

    Convention: no scaling and no centring. $E \operatorname{tr} A^2 = E \operatorname{tr} L = n(n-1)p$,
    $E \operatorname{tr} A^3 = n(n-1)(n-2)p^3$ and $E \operatorname{tr} L^2 = n(n-1)p\,[2 + (n-2)p]$. As n → ∞ at
    fixed p < 1 the levels of A form a semicircle on $\pm 2\sqrt{n p (1-p)}$, except one level near np. L is positive
    semidefinite and has one level 0 for each component of the graph, up to rounding. With
    $s^2 = (n-1) p (1-p)$ the law of L is the free sum of the normal law of standard deviation s, that of the degrees,
    and the semicircle on ±2s, shifted by the mean degree.

    Args:
        n: number of vertices, n ≥ 1; static.
        p: probability of an edge, 0 < p ≤ 1; may be traced. At a fixed key the graph is piecewise constant in p, so
            the derivative is 0.
        matrix: `"adjacency"` or `"laplacian"`; static.

    Raises:
        ValueError: an argument is outside its range; from `law()`, if p = 1.

    Example:
        >>> import jax
        >>> print(ErdosRenyi(4, 1.0).sample(jax.random.key(0))[0])
        [0. 1. 1. 1.]

    References:
        Erdős and Rényi (1959), Publ. Math. Debrecen 6, 290; Gilbert (1959), Ann. Math. Stat. 30, 1141; Füredi and
        Komlós (1981), Combinatorica 1, 233; Ding and Jiang (2010), Ann. Appl. Probab. 20, 2086, theorems 1 and 2.
    """

    n: int = eqx.field(static=True)
    p: Annotated[Float[Array, ""], _checks.FRACTION]
    matrix: Matrix = eqx.field(static=True)

    def __init__(self, n: int, p: RealScalarLike, matrix: Matrix = "adjacency"):
        self.n = _checks.integer("n", n, at_least=1)
        self.p = _checks.scalar("p", p)
        self.matrix = _checks.choice("matrix", matrix, Matrix)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        # The mode "high" keeps all digits of small probabilities, in float32 too.
        drawn = jax.random.bernoulli(key, self.p, (self.n, self.n), mode="high")
        adjacency = (mirrored(drawn) & ~jnp.eye(self.n, dtype=bool)).astype(self.p.dtype)
        if self.matrix == "adjacency":
            return adjacency
        return jnp.diag(adjacency.sum(axis=0)) - adjacency

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return hermitian_eigenvalues(self._sample(key))

    def _law(self) -> AbstractLaw:
        p = _checks.Rule(lambda p: p < 1, "be below 1 for the levels to have a law")("p", self.p)
        if self.matrix == "adjacency":
            return Semicircle(2 * jnp.sqrt(self.n * p * (1 - p)))
        # A vertex has n - 1 possible edges.
        deviation = jnp.sqrt(max(self.n - 1, 1) * p * (1 - p))
        return FreeSum(Normal(deviation), Semicircle(2 * deviation)).shifted((self.n - 1) * p)


# A graph of degree 6 takes about e^{8.75} = 6300 random pairings; one of degree 7 would take 160 000.
_LARGEST_DEGREE = 6


class RandomRegular(AbstractEnsemble):
    r"""Adjacency matrices of random d-regular graphs, uniform over all simple graphs on n labelled vertices.

    The d edge ends at each vertex are paired at random until there is neither a loop nor a double edge, which makes all
    graphs equally likely. This takes about $\exp\frac{d^2 - 1}{4}$ tries. For $d > \frac{n-1}{2}$ the complement, whose
    degree is n - 1 - d, is drawn instead. So the smaller of the two degrees must be at most 6.

    Convention: entries 0 and 1, an empty diagonal, row sums d, no scaling. One level is d, all lie in [-d, d], and
    $\operatorname{tr} A^2 = nd$. For 2 ≤ d ≤ 6 the law is Kesten and McKay's, the limit n → ∞ at fixed
    d. For larger d the complement has such a degree. A level x of the complement is a level -1 - x of the graph, except
    for the largest of each, so the law is mirrored.

    Args:
        n: number of vertices, n ≥ 2; static.
        degree: d, with nd even, 1 ≤ d ≤ min(6, n - 1) or n - 7 ≤ d ≤ n - 1; static.

    Raises:
        ValueError: an argument is outside its range; from `law()`, if that degree is below 2.

    Example:
        >>> import jax
        >>> print(RandomRegular(8, 3).sample(jax.random.key(0)).sum(axis=0))
        [3. 3. 3. 3. 3. 3. 3. 3.]

    References:
        Bollobás (1980), European J. Combin. 1, 311; Wormald (1999), Models of random regular graphs, section 2; McKay
        (1981), Linear Algebra Appl. 40, 203.
    """

    n: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)

    def __init__(self, n: int, degree: int):
        self.n = _checks.integer("n", n, at_least=2)
        self.degree = _checks.integer("degree", degree, at_least=1)
        if self.degree >= self.n or self.n * self.degree % 2:
            raise _checks.refusal("degree", f"be below {self.n}, and even if the number of vertices is odd", degree)
        if self._smaller_degree() > _LARGEST_DEGREE:
            tries = math.exp((self._smaller_degree() ** 2 - 1) / 4)
            must = (
                f"be at most {_LARGEST_DEGREE}, or at least {self.n - 1 - _LARGEST_DEGREE}: a graph would take about"
                f" {tries:.0e} random pairings"
            )
            raise _checks.refusal("degree", must, degree)

    def _smaller_degree(self) -> int:
        """The smaller of the degrees of the graph and its complement."""
        return min(self.degree, self.n - 1 - self.degree)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        low, high = _simple_pairing(key, self.n, self._smaller_degree())
        graph = jnp.zeros((self.n, self.n)).at[low, high].set(1).at[high, low].set(1)
        return graph if self.degree == self._smaller_degree() else 1 - jnp.eye(self.n) - graph

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return hermitian_eigenvalues(self._sample(key))

    def _law(self) -> AbstractSpectralLaw:
        if self.degree <= _LARGEST_DEGREE:
            return KestenMcKay(self.degree)
        return KestenMcKay(self._smaller_degree()).scaled(-1.0).shifted(-1.0)


def _simple_pairing(key: KeyScalar, n: int, degree: int) -> tuple[Int[Array, " edges"], Int[Array, " edges"]]:
    """The lower and higher vertices of the edges of a random regular graph without loops and double edges."""
    ends = jnp.repeat(jnp.arange(n), degree)

    def pairing(attempt: int | Int[Array, ""]) -> tuple[Int[Array, " edges"], Int[Array, " edges"]]:
        one, other = jax.random.permutation(jax.random.fold_in(key, attempt), ends).reshape(-1, 2).T
        low, high = jax.lax.sort((jnp.minimum(one, other), jnp.maximum(one, other)), num_keys=2)
        return low, high

    def refused(state: tuple) -> Bool[Array, ""]:
        _, low, high = state
        double = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
        return jnp.any(low == high) | jnp.any(double)

    def again(state: tuple) -> tuple:
        attempt, _, _ = state
        return attempt + 1, *pairing(attempt)

    _, low, high = jax.lax.while_loop(refused, again, (1, *pairing(0)))
    return low, high
