"""Gaussian and Wishart ensembles with a perturbation of finite rank."""

import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.ensembles._composed.spiked_models import AbstractSpikedModel, model_class
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.edge import Edge
from rmtjax.ensembles._gaussian.beta import AbstractGaussian
from rmtjax.ensembles._laguerre.beta import LaguerreBeta
from rmtjax.ensembles._laguerre.wishart import Wishart
from rmtjax.laws import AbstractLaw

# Over a Gaussian base spikes may be any finite numbers; over a Wishart base they are variances.
_SPIKES = _checks.Rule(
    lambda theta, base: ((theta > model_class(base).limits(base)[1]) & (theta < math.inf)).all(),
    lambda base: "be positive and finite" if model_class(base).limits(base)[1] == 0 else "be finite",
)
_QUIET = _checks.Rule(lambda excess: excess < 1, "stay below the threshold of outliers on that side, in units of it")

SpikedBase = TypeAliasType("SpikedBase", AbstractGaussian | LaguerreBeta | Wishart)


class Spiked(AbstractEnsemble):
    r"""A Gaussian ensemble plus a matrix of rank r, or a Wishart ensemble with r population variances.

    Over a Gaussian base H the matrix is $H + \sum_k \theta_k v_k v_k^*$; over a Wishart base it is
    $\Sigma^{1/2} W \Sigma^{1/2}$ with $\Sigma = 1 + \sum_k (\theta_k - 1) v_k v_k^*$. `sample` uses the first r unit
    vectors for v; because the base is invariant, the law of the spectrum is the same for any orthonormal ones.

    Rotations that leave the v unchanged turn H into a band of half-width r, with χ variates of parameters β(n-r),
    β(n-r-1), … on the outermost diagonals, and the data matrix into a triangular band of width r. One spike changes one
    entry of the tridiagonal or bidiagonal model, for every β; it takes O(n) memory, and `count_below` takes O(n) time.
    For several spikes the band is drawn from O(nr) variates and solved as a dense matrix.

    Convention: as in the base. With scale s, as n → ∞, a spike |θ| > s of a Gaussian base has an outlier at
    $\theta + s^2/\theta$, and a spike $|\theta - 1| > \sqrt c$ of a Wishart base with c = n/m has an outlier at
    $s^2 \theta\,(1 + \tfrac{c}{\theta - 1})$.

    Args:
        base: `GOE`, `GUE`, `GSE` or `Wishart`; with one spike also `GaussianBeta` or `LaguerreBeta`.
        spikes: r numbers θ, 1 ≤ r ≤ n, finite, positive over a Wishart base; differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> spiked = Spiked(rmt.GOE(1000), [2.0])
        >>> print(f"{spiked.outliers()[0]} {spiked.eigenvalues(jax.random.key(2))[-1]:.1f}")
        2.5 2.5

    References:
        Baik, Ben Arous and Péché (2005), Ann. Probab. 33, 1643, theorem 1.1; Bloemendal and Virág (2016), Ann. Probab.
        44, 2726, section 2, for the bands.
    """

    n: int = eqx.field(static=True)
    base: SpikedBase
    spikes: Annotated[Float[Array, " r"], _SPIKES, "base"]

    def __init__(self, base: SpikedBase, spikes: Annotated[RealLike, "r"]):
        most = model_class(base).limits(base)[0]
        self.n, self.base = base.n, base
        theta = _checks.real("spikes", spikes)
        if not isinstance(spikes, jax.Array | np.ndarray | np.generic):  # Python numbers take the dtype of the base
            theta = theta.astype(common_dtype(*jax.tree.leaves(base)))
        if theta.ndim != 1 or not 1 <= theta.size <= most:
            raise _checks.refusal("spikes", f"be a vector of 1 to {most} numbers over this base", theta.shape)
        self.spikes = theta

    def outliers(self) -> Float[Array, " r"]:
        r"""Limits of the extreme levels that belong to the spikes, as n → ∞, in the order of the spikes.

        A spike beyond the threshold, |θ| > s for a Gaussian base and |θ - 1| > √c for a Wishart base, has an outlier. A
        weaker spike leaves the largest level (the smallest level, if the spike is negative or below 1) at the edge of
        the bulk, and that edge is returned. If n > m, zeros lie below the lower edge of the bulk, and this edge is
        returned for every spike below 1.

        References:
            Péché (2006), Probab. Theory Relat. Fields 134, 127, theorem 1.1; Baik and Silverstein (2006), J. Multivar.
            Anal. 97, 1382, theorems 1.1 and 1.2.
        """
        return self._run(self._outliers)

    def _outliers(self) -> Float[Array, " r"]:
        return self._model().outliers()

    def _model(self) -> AbstractSpikedModel:
        return model_class(self.base)(self.base, self.spikes)

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        matrix = self.base._sample(key)
        spikes = jnp.repeat(self.spikes, matrix.shape[-1] // self.n)
        return self._model().perturbed(matrix, spikes)

    def _law(self) -> AbstractLaw:
        return self.base._law()

    def _some_eigenvalues(self, key: KeyScalar, *, first: int, last: int, corner: int) -> Float[Array, " k"]:
        return self._model().eigenvalues(key, first, last)

    def _has_reduced_model(self) -> bool:
        return self.spikes.size == 1

    def _soft_edge(self, *, upper: bool) -> Edge:
        """The edge of the base if no spike has an outlier on that side; spikes move the level at the next order."""
        excess = self._model().excess()
        quiet = _QUIET.kept("spikes", (excess if upper else -excess).max())
        edge = self.base._soft_edge(upper=upper)
        slower = Edge(edge.centre, edge.scale, edge.law, edge.side, edge.kind, edge.variable, rate=1 / 3)
        return _checks.masked(quiet, slower)

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        return self._model().count_below(key, x)
