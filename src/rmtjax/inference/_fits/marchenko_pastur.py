r"""The noise of a sample covariance matrix from its bulk.

Derivation. For pure noise the k = min(n, p) levels have the density
$\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^a\,e^{-\beta n x_i/(2\sigma^2)}$. The variance enters by the trace
alone, so the trace is sufficient, and the maximum of this likelihood, repulsion included, is
$\hat\sigma^2 = \sum_i x_i/p$. It is unbiased, and its variance is exactly $2\sigma^4/(\beta n p)$, because the trace is
a sum of βnp squares. A likelihood of independent levels would be irregular, because the support moves with σ, and would
have errors of order $k^{-1/2}$ instead of 1/k.

The ratio follows from the second moment, $E \operatorname{tr} S^2/p = \sigma^4 [1 + c + (2/\beta - 1)/n]$. In
Chebyshev polynomials of the support $x^2 - 2(1 + c)\sigma^2 x$ has $T_2$ only, with the coefficient $2c\sigma^4$. So by
`laws.linear_statistic_variance` the estimate of c has the limiting variance $4c^2/(\beta p^2)$, and no covariance with
the estimate of σ². If the rows depend on each other, with covariances $E x_{ij} x_{kj} = \sigma^2 T_{ik}$ of trace n,
then $c = p \operatorname{tr} T^2/n^2$, and p/c is the number of independent observations with the same second moment.

r levels of large spikes take r directions out of both sides. The other levels have the law of the levels of
$\frac1n W$ with a Wishart matrix W of p - r variables and n - r observations, up to a relative error
$r/n \cdot \sigma^2/\ell$ for spikes ℓ.
"""

from functools import partial
from typing import Annotated, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import RealLike, RealOrComplex
from rmtjax._units import unit_of
from rmtjax.inference._fits.batch import for_each, levels_of_sample
from rmtjax.laws import MarchenkoPastur
from rmtjax.statistics import Estimate

# The quantiles of the Tracy-Widom laws and of the normal law with a probability of 1e-3 above them, as in
# `TracyWidom(beta).isf(1e-3)`.
_EDGE_QUANTILE = {1: 3.272196, 2: 1.314419}
_NORMAL_QUANTILE = 3.090232


class MarchenkoPasturFit(AbstractModule):
    """The Marčenko-Pastur law of the bulk of a sample covariance matrix, and the levels above it.

    Args:
        variance: σ², the variance of an entry of the noise, with its standard error.
        ratio: c, p over the number of (effective) observations, with its standard error, 0 if the ratio is known.
        law: the law of the levels of the bulk, without the r outliers: the ratio is (p - r)/(n - r).
        threshold: level above which a level is an outlier.
        outliers: the number r of levels above the threshold.
        distance: the largest distance between the distribution functions of the other levels and of the law. Because
            levels repel each other, it is of the order of 1/k for k levels, not of $k^{-1/2}$.
        n: number of observations; static.
        p: number of variables; static.
        zeros: how many of the p levels are 0 because of p > n, whether they were passed or not; static.

    Example:
        >>> import jax.numpy as jnp
        >>> fit = fit_marchenko_pastur(jnp.array([0.5, 0.8, 1.0, 1.2, 1.5, 9.0]), n=50, p=6)
        >>> print(f"{fit.variance.value:.3f}, {fit.outliers} above {fit.threshold:.2f}, bulk up to {fit.edges[1]:.2f}")
        1.020, 1 above 2.38, bulk up to 1.74
    """

    variance: Estimate[Float[Array, "*batch"]]
    ratio: Estimate[Float[Array, "*batch"]]
    law: MarchenkoPastur
    threshold: Float[Array, "*batch"]
    outliers: Int[Array, "*batch"]
    distance: Float[Array, "*batch"]
    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)
    zeros: int = eqx.field(static=True)

    _derived = ("edges", "effective_n")

    @property
    def edges(self) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
        """The ends of the bulk, without the levels that are 0 because of p > n."""
        root = jnp.sqrt(self.law.ratio)
        return (self.law.scale * (1 - root)) ** 2, (self.law.scale * (1 + root)) ** 2

    @property
    def effective_n(self) -> Float[Array, "*batch"]:
        """The number of independent observations with this ratio, p/c."""
        return self.p / self.ratio.value

    @property
    def share(self) -> Float[Array, "*batch"]:
        """Outliers over the number of levels that are not 0 because of p > n."""
        return like(self.distance, self.outliers) / like(self.distance, self.p - self.zeros)


_SPREAD = _checks.Rule(lambda levels: levels[..., -1 - levels.shape[-1] // 3] > 0, "be positive for a third of them")
_UNEQUAL = _checks.Rule(
    lambda levels: levels[..., -1 - levels.shape[-1] // 3] > levels[..., 0],
    'not be equal for the smallest two thirds of them, as a ratio is fitted to their spread (`ratio="known"` is not)',
    lambda levels: f"{levels[..., 0].min():.3g} for all of these",
)


def fit_marchenko_pastur(
    levels: Annotated[RealLike, "*batch k"],
    n: int,
    p: int,
    *,
    ratio: Literal["known", "fitted"] = "known",
    beta: RealOrComplex = 1,
) -> MarchenkoPasturFit:
    r"""Fit the Marčenko-Pastur law to the bulk of the levels of a sample covariance matrix.

    The k - r smallest of the k = min(n, p) levels are the bulk, and the others are outliers. Here r is the largest
    number, up to a third of the levels, for which the rth largest level is above the threshold of the smaller levels.
    They give

    $$\hat\sigma^2 = \frac{n \sum_{i \le k - r} x_i}{(n - r)(p - r)}, \qquad
    \operatorname{Var}\hat\sigma^2 = \frac{2\sigma^4}{\beta (n - r)(p - r)},$$

    the maximum of the likelihood of the Laguerre ensemble, with an exact variance for normal noise. (An excess kurtosis
    κ of the entries adds $\kappa \sigma^4/(np)$.) So outliers do not enter, however large they are. The threshold is
    the centre of the edge in the second order plus the root of the sum of the squares of two margins, each for a
    probability of 0.001: one by the law of Tracy and Widom, one for the error of the fit. Pure noise has an outlier in
    about 1 % of the cases.

    With `ratio="fitted"` the ratio follows from the second moment of the bulk,

    $$\hat c = \frac1{1 + (2/\beta - 1)/p'} \Big[\frac{p' \sum x_i^2}{(\sum x_i)^2} - 1\Big], \qquad
    \operatorname{Var}\hat c = \frac{4 c^2}{\beta p'^2}, \qquad p' = p - r.$$

    If the rows of the data depend on each other, `effective_n` = p/c is the number of independent rows with the same
    moments, and the error is the error for as many independent rows.

    Errors come from the theory of one spectrum. Several independent spectra give them without a theory, by
    `statistics.over_samples(lambda x: fit_marchenko_pastur(x, n, p).variance.value, levels)`.

    Convention: levels of $X^*X/n$ with X n×p, of mean 0. If a mean was taken away, n is one less than the rows.

    Args:
        levels: the min(n, p) levels that need not be 0, in any order, or all p levels, with p - n zeros if p > n;
            batched over leading axes.
        n: number of observations; static.
        p: number of variables; static.
        ratio: "known" if it is p/n, "fitted" if the rows depend on each other; static.
        beta: 1 for real and 2 for complex data; static.

    Returns:
        A `MarchenkoPasturFit`. It is differentiable in the levels, with the number of outliers kept fixed.

    Raises:
        ValueError: `levels` are neither min(n, p) nor p levels, or fewer than 3.
        ValueError: `levels` are negative or not finite, or two thirds of them are 0.
        ValueError: the p - n smallest of p levels are not 0.
        ValueError: the smallest two thirds of the levels are equal, where the ratio is fitted and p ≤ n.
        ValueError: another argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.Wishart(100, 300, scale=2.0).eigenvalues(jax.random.key(0))
        >>> fit = fit_marchenko_pastur(levels, n=300, p=100)
        >>> print(f"{fit.variance.standard_error:.2f}", abs(fit.variance.z_score(4)) < 4, fit.outliers)
        0.03 True 0

    References:
        Kritchman and Nadler (2008), Chemom. Intell. Lab. Syst. 94, 19, for estimates of the noise that iterate over
        spikes; Johnstone (2001), Ann. Statist. 29, 295, for the edge; Ma (2012), Bernoulli 18, 322, for its constants;
        Bai and Silverstein (2004), Ann. Probab. 32, 553, for linear statistics.
    """
    n, p = (_checks.integer(name, size, at_least=1) for name, size in (("n", n), ("p", p)))
    _checks.choice("ratio", ratio, Literal["known", "fitted"])
    beta = _checks.dyson_index(beta, RealOrComplex)
    values, p, valid = levels_of_sample(levels, n, p, 3)
    valid = _checks.all_kept(valid, _SPREAD.kept("levels", values))
    if ratio == "fitted" and p <= n:  # for p > n the levels of 0 give a spread
        valid = _checks.all_kept(valid, _UNEQUAL.kept("levels", values))
    return _checks.masked(valid, _fit(values, n, p, ratio == "fitted", beta))


@partial(compiled, static_argnums=(1, 2, 3, 4))
def _fit(levels: Float[Array, "*batch k"], n: int, p: int, fitted: bool, beta: int) -> MarchenkoPasturFit:
    return for_each(_fit_one, levels, n, p, fitted, beta)


def _fit_one(levels: Float[Array, " k"], n: int, p: int, fitted: bool, beta: int) -> MarchenkoPasturFit:
    """The fit, with all candidates for the number of outliers at once, from running sums."""
    k, dtype = levels.size, levels.dtype
    candidates = np.arange(k // 3 + 1)
    variables = jnp.asarray(p - candidates, dtype)
    # The unit is near a level that is in the bulk for every candidate. A level far beyond the rest enters no sum that
    # matters, so it is cut off, lest its square overflow.
    unit = unit_of(levels[k - 1 - k // 3])
    scaled = jnp.minimum(levels / unit, 1e9)
    mean = jnp.cumsum(scaled)[k - 1 - candidates] / variables
    if fitted:
        # Take squares of deviations from a mean: the difference of plain moments would cancel for small ratios. The
        # p - k levels of 0 are part of the sum.
        centre = mean[-1]
        squares = jnp.cumsum((scaled - centre) ** 2)[k - 1 - candidates] + (p - k) * centre**2
        squares = squares - variables * (mean - centre) ** 2
        ratio = squares / (variables * mean**2) / (1 + (2 / beta - 1) / variables)
    else:
        ratio = variables / jnp.asarray(n - candidates, dtype)
    observations = variables / ratio
    # The relative errors of the variance, and of the edge, which depends on both estimates.
    error = jnp.sqrt(2 / (beta * observations * variables))
    slope = jnp.sqrt(ratio) / (1 + jnp.sqrt(ratio))
    edge_error = jnp.sqrt(error**2 + 4 * slope**2 / (beta * variables**2)) if fitted else error
    # The edge is in units of σ² over the (effective) number of observations; see `Wishart.soft_edge`.
    first, second = (jnp.sqrt(jnp.maximum(size + 0.5 - 1 / beta, 0.5)) for size in (observations, variables))
    centre = (first + second) ** 2
    margin = _EDGE_QUANTILE[beta] * (first + second) * jnp.cbrt(1 / first + 1 / second)
    threshold = unit * mean / observations * (centre + jnp.hypot(margin, _NORMAL_QUANTILE * edge_error * centre))
    above = levels[k - np.maximum(candidates, 1)] > threshold
    outliers = jnp.max(jnp.where(above, candidates, 0))
    candidate_values = (mean, ratio, observations, error, threshold)
    mean, ratio, observations, error, threshold = (each[outliers] for each in candidate_values)
    law = MarchenkoPastur(ratio, jnp.sqrt(unit * mean))
    # The whole matrix has r more observations and variables.
    number = like(unit, outliers)
    total = observations + number
    variance = unit * mean * total / observations
    whole = p / total
    return MarchenkoPasturFit(
        variance=Estimate(variance, variance * error),
        ratio=Estimate(whole, 2 * whole / (beta**0.5 * (p - number)) if fitted else 0 * whole),
        law=law,
        threshold=threshold,
        outliers=outliers,
        distance=_distance(levels, p, outliers, law),
        n=n,
        p=p,
        zeros=p - k,
    )


def _distance(levels: Float[Array, " k"], p: int, outliers: Int[Array, ""], law: MarchenkoPastur) -> Float[Array, ""]:
    """The Kolmogorov distance of the p - r levels that are no outliers, including the p - k levels of 0."""
    k = levels.size
    steps = like(levels, p - k + np.arange(k))
    above = law.cdf(levels)
    total = like(levels, p - outliers)
    furthest = jnp.maximum(jnp.abs(above - steps / total), jnp.abs(above - (steps + 1) / total))
    return jnp.max(jnp.where(np.arange(k) < k - outliers, furthest, 0)).astype(levels.dtype)
