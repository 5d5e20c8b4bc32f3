r"""Shrinkage of the matrix S of pairwise moments, in the notation of `_core.missing`.

*The noise of pairs.* For large samples S = Σ + E with independent entries of E of the variance $R_{jk} \Sigma_{jj}
\Sigma_{kk}/n$. A complete sample of the population $T = \Sigma + \Delta$, with a diagonal Δ, has noise of the variance
$T_{jj} T_{kk}/n$. If entries are missing at random, there with the probability $q_j$, both are the same thing: filled
up with 0 and divided by $q_j$, the data have the covariance matrix T with $T_{jj} = \Sigma_{jj}/q_j$, their sample
matrix is W = S + Δ, and its spectrum follows the equation of Marčenko and Pastur for T (Jurczak and Rohde). So

$$T_{jj} = \Sigma_{jj}\,\frac{r_j}{\sqrt{\bar r}}, \qquad r_j = \frac{\sum_k R_{jk} \Sigma_{kk}}{\operatorname{tr}
\Sigma}, \qquad \bar r = \frac{\sum_j r_j \Sigma_{jj}}{\operatorname{tr} \Sigma},$$

with $S_{jj}$ for $\Sigma_{jj}$. It is the diagonal for which the noise of each row of W has the variance of the noise
of that row of S, and gives $T_{jj} = \Sigma_{jj}/q_j$ above. For other patterns, such as columns that start late, R has
not the rank 1, and the law of the spectrum is an approximation.

*Levels.* With the vectors v_i of W a method for complete data estimates $v_i^* T v_i$ by the n levels of W, and $e_i =
v_i^* T v_i - v_i^* \Delta v_i$ is the variance of Σ along $v_i$. For p > n the n largest levels are taken. Levels of W
below 0, which need patterns of higher rank, become 0.

*Repair.* An estimate of $v_i^* T v_i$ is known up to a share of itself, so that small $e_i$ may be negative. The lowest
of them, as few as possible, are replaced by their mean, so that their sum is no less than the sum of $v_i^* \Delta v_i$
over them. This keeps the trace.

The linear methods need no spectrum of T. They take S, whose noise has the sum of squares $\sum_{jk} \operatorname{Var}
S_{jk}$ with $\operatorname{Var} S_{jk} = (\overline{|x_j x_k|^2} - |S_{jk}|^2)/n_{jk}$. For normal data this is the
noise of $n/\bar r$ complete observations. Levels that remain negative become 0, as in the nearest positive matrix in
the Frobenius norm (Higham).

References:
    Jurczak and Rohde (2017), Bernoulli 23, 2466, theorem 2.2, for the spectrum. Higham (1988), Linear Algebra Appl.
    103, 103, theorem 2.1, for the nearest matrix.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _units
from rmtjax._promotion import like
from rmtjax._typing import ShrinkageMethod
from rmtjax.inference._core.data import in_unit
from rmtjax.inference._core.missing import PairwiseMoments, entries, pairwise_moments
from rmtjax.inference._covariance import weighted
from rmtjax.linalg import eigh
from rmtjax.linalg.internal import adjoint

# Methods that need the law of the levels of the sample, and those that take the matrix S as it is.
_OF_MATRIX = ("ledoit-wolf", "oas", "sample")
PAIRWISE = ("qis", "analytical", "rie", "clipping", "spiked", *_OF_MATRIX)


def pairwise(
    data: Inexact[Array, "*batch n p"],
    weights: Float[Array, " n"] | None,
    noise: Float[Array, ""] | None,
    method: ShrinkageMethod,
    shrink: Callable[..., Any],
    *,
    center: bool,
    standardize: bool,
) -> tuple[Inexact[Array, "*batch p p"], Float[Array, "*batch 1 _"], Float[Array, "*batch p"] | None]:
    """The estimate from data with NaN, the unit of the data, and deviations of columns if these were standardized."""
    n, p = data.shape[-2] - center, data.shape[-1]
    data, present = entries(data, center=center)
    data, unit = _units.in_unit(data, -2) if standardize else in_unit(data)
    weights = None if weights is None else weights.astype(data.real.dtype)
    moments = pairwise_moments(data, present, weights, center=center)
    deviations = None
    if standardize:
        moments, deviations = _standardized(moments)
    matrix = moments.matrix
    variances = _diagonal(matrix)
    total = jnp.sum(variances, -1, keepdims=True)
    shares = variances / jnp.where(total > 0, total, 1)
    of_row = jnp.sum(moments.noise * shares[..., None, :], -1)
    mean = jnp.sum(of_row * shares, -1)
    mean = jnp.where(mean > 0, mean, 1)
    if method in _OF_MATRIX:
        levels, vectors = eigh(matrix)
        operands = ()
        if method == "ledoit-wolf":
            n = data.shape[-2]
            operands = (n * _noise(moments) + jnp.sum(levels**2, -1),)
        elif method == "oas":
            n = n / mean
        new, _ = shrink(levels, n, p, *operands)
        return _with_levels(vectors, jnp.maximum(new, 0)), unit, deviations
    added = variances * jnp.maximum(of_row / jnp.sqrt(mean)[..., None] - 1, 0)
    one = jnp.eye(p, dtype=bool)
    levels, vectors = eigh(matrix + jnp.where(one, like(matrix, added)[..., None, :], 0))
    operands = () if weights is None else (weighted.of_independent_rows(weights, center=center),)
    if noise is not None:
        # Standardized columns have the unit 1.
        known = noise if standardize else noise / unit[..., 0, 0]
        operands = (jnp.sqrt(known**2 + jnp.mean(added, -1)),)
    k = min(n, p)
    new, null = shrink(jnp.maximum(levels[..., p - k :], 0), n, p, *operands)
    along = jnp.sum(jnp.abs(vectors) ** 2 * added[..., :, None], -2)
    if k < p:
        new = jnp.concatenate([jnp.broadcast_to(null[..., None], (*null.shape, p - k)), new], -1)
        outside = jnp.mean(along[..., : p - k], -1, keepdims=True)
        along = jnp.concatenate([jnp.broadcast_to(outside, (*null.shape, p - k)), along[..., p - k :]], -1)
    return _with_levels(vectors, _repaired(new - along, along)), unit, deviations


def _diagonal(matrix: Inexact[Array, "*batch p p"]) -> Float[Array, "*batch p"]:
    return jnp.real(jnp.diagonal(matrix, axis1=-2, axis2=-1))


def _with_levels(vectors: Inexact[Array, "*batch p p"], levels: Float[Array, "*batch p"]) -> Array:
    return (vectors * like(vectors, levels)[..., None, :]) @ adjoint(vectors)


def _standardized(moments: PairwiseMoments) -> tuple[PairwiseMoments, Float[Array, "*batch p"]]:
    """The moments of columns of mean square 1, constant ones being 0, and the standard deviations of the columns."""
    bias = _diagonal(moments.divisors) / _diagonal(moments.counts)
    variance = jnp.maximum(_diagonal(moments.matrix), 0)
    varies = variance > 0
    deviation = jnp.where(varies, jnp.sqrt(jnp.where(varies, variance, 1)), 0)
    scale = like(moments.matrix, jnp.where(varies, 1 / jnp.where(varies, deviation * jnp.sqrt(bias), 1), 0))
    matrix = moments.matrix * scale[..., :, None] * scale[..., None, :]
    return moments._replace(matrix=matrix, deviations=moments.deviations * scale[..., None, :]), deviation


def _noise(moments: PairwiseMoments) -> Float[Array, "*batch"]:
    """The sum of the variances of all entries of S."""
    squares = jnp.abs(moments.deviations) ** 2
    fourth = (adjoint(squares) @ squares) * moments.counts / moments.divisors**2
    return jnp.sum((fourth - jnp.abs(moments.matrix) ** 2) / moments.counts, (-2, -1))


def _repaired(levels: Float[Array, "*batch p"], noise: Float[Array, "*batch p"]) -> Float[Array, "*batch p"]:
    """The levels with the lowest ones replaced by their mean, as few as it takes for the sum of the noise of these.

    Levels without noise, such as those of constant columns, stay.
    """
    noisy = noise > 4 * noise.shape[-1] * jnp.finfo(noise.dtype).eps * jnp.max(noise, -1, keepdims=True)
    keys = jnp.where(noisy, levels, jnp.inf)
    operands = (keys, jnp.where(noisy, levels, 0), jnp.where(noisy, noise, 0))
    ascending, ordered, needed = jax.lax.sort(jax.lax.stop_gradient(operands), num_keys=1)
    enough = (jnp.cumsum(ordered, -1) >= jnp.cumsum(needed, -1)).astype(jnp.int32)
    # All places up to the first at which the sum is enough.
    pooled = (jnp.cumsum(enough, -1) == enough) & (ascending < jnp.inf)
    highest = jnp.max(jnp.where(pooled, ascending, -jnp.inf), -1, keepdims=True)
    lowest = noisy & (levels <= highest)
    number = jnp.maximum(jnp.sum(lowest, -1, keepdims=True), 1)
    mean = jnp.sum(jnp.where(lowest, levels, 0), -1, keepdims=True) / like(levels, number)
    return jnp.where(lowest, mean, jnp.maximum(levels, 0))
