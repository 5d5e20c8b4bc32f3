"""Estimates of a covariance matrix from few observations."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks, _units
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax._typing import ArrayLike, Missing, RealLike, RealScalarLike, ShrinkageMethod, ShrinkageTarget, SpikedLoss
from rmtjax._units import times
from rmtjax.inference._core.data import SQUARES, departures, in_unit, masked_each, without_mean
from rmtjax.inference._core.missing import TOGETHER, filled, with_gaps
from rmtjax.inference._covariance import linear, spiked, targets, weighted
from rmtjax.inference._covariance.analytical import FEWEST, analytical
from rmtjax.inference._covariance.clipping import clipping
from rmtjax.inference._covariance.nonlinear import Levels
from rmtjax.inference._covariance.pairwise import PAIRWISE, pairwise
from rmtjax.inference._covariance.qis import POSITIVE_ONLY, gis, lis, qis
from rmtjax.inference._covariance.rie import rie
from rmtjax.inference._covariance.spectral_map import with_levels_of

_WEIGHTED = ("qis", "analytical", "sample")

_SOME_WEIGHT = _checks.Rule(
    lambda w: ((w >= 0) & (w < jnp.inf)).all() & (_weighs(w).sum() > 1),
    "be finite and not negative, and leave at least 2 rows with a weight beyond rounding",
)


def _weighs(weights: Any) -> Any:
    """Which rows have a weight beyond the rounding of the largest; other rows are no observations."""
    return weights > jnp.finfo(weights.dtype).eps * weights.max()


def shrink_covariance(
    data: Annotated[ArrayLike, "*batch n p"],
    *,
    method: ShrinkageMethod = "qis",
    center: bool = True,
    weights: Annotated[RealLike, "n"] | None = None,
    half_life: RealScalarLike | None = None,
    target: ShrinkageTarget | None = None,
    loss: SpikedLoss | None = None,
    noise: RealScalarLike | None = None,
    unit_diagonal: bool = False,
    standardize: bool = False,
    missing: Missing | None = None,
) -> Inexact[Array, "*batch p p"]:
    r"""An estimate of a covariance matrix whose levels are nearer to the truth than the levels of the sample.

    With the levels $\lambda_i$ and vectors $v_i$ of the sample covariance matrix, the estimate is
    $\hat\Sigma = \sum_i d_i v_i v_i^*$. Small sample levels are too small and large ones too large, the more so the
    larger p/n is. The best levels for these vectors are $v_i^* \Sigma v_i$, which `oracle_covariance` takes. The method
    decides how $d_i$ depends on all sample levels:

    - `"qis"`: optimal without assumptions on Σ, by a kernel on inverse levels; positive for every p and n;
    - `"lis"`: by the kernel of `"qis"`, the best levels for Stein's loss, which are smaller; for p ≤ n;
    - `"gis"`: between the two, the best levels for the symmetrized Kullback-Leibler divergence; for p ≤ n;
    - `"analytical"`: that of `"qis"` by another kernel; it needs 12 independent rows if p > n;
    - `"ledoit-wolf"`: the matrix is moved towards `target`, by an intensity from fourth moments;
    - `"oas"`: levels are moved towards their mean, by an intensity for normal data;
    - `"rie"`: optimal by the transform near the axis; small levels are raised as is right for the inverse Wishart law;
    - `"clipping"`: levels up to the Marčenko-Pastur edge become their mean, the others stay;
    - `"spiked"`: few spikes over equal levels σ², each optimal for `loss`;
    - `"sample"`: the sample levels.

    Convention: the matrix is $E\,x_j \bar x_k$, as in `numpy.cov`. An unknown mean costs an observation: the sample
    matrix is divided by n - 1, and n - 1 stands for n in all formulas. `"ledoit-wolf"` is n/(n - 1) times
    `sklearn.covariance.ledoit_wolf`, and equal to it with `center=False`. Scikit-learn leaves a term 2/p out of the
    intensity of `"oas"`.

    Targets: with `"ledoit-wolf"` the estimate is $(1 - \rho) S + \rho T$. The target T has, from the sample,

    - `"identity"`: the mean variance, and covariances 0, so that vectors stay and levels move towards their mean;
    - `"diagonal"`: all variances, and covariances 0;
    - `"constant-correlation"`: all variances, and the mean correlation for all pairs;
    - `"one-factor"`: all variances, and the covariances that come from the mean of the columns, the market, alone;
    - `"two-parameter"`: the mean variance, and the mean covariance for all pairs.

    All but the first give other vectors. Their estimate is n/(n - 1) times that of the authors' programs for data
    without their mean. A program that divides by n - 1 inside of its intensity differs from it by about ρ/n.

    Weights: $S = \sum_i w_i (x_i - \bar x)(x_i - \bar x)^* / (1 - \sum_i w_i^2)$ with weights of sum 1 and the weighted
        mean. Optimal levels then depend on the law of the weights as well, and each solves an equation of its own. The
        squared error of `"qis"` is above the error of the best levels by 5 % for half-lives from p/5 on, and by 20 % at
        p/20. For `"analytical"` it is 12 % at p/5 and 110 % at p/20 (measured with p = 100 and levels 1, 3 and 10 of
        Σ). With fewer rows of weight the smallest levels are far too small to be inverted.

    Missing entries: with `missing="pairwise"` each entry of the sample matrix is a mean over the rows in which both
        columns are there, and the noise of each pair is taken into account. This has no bias where what is missing does
        not depend on the values. Missing at random or late columns are noise that an estimate cannot remove: with p =
        100, n = 200 and the levels 1, 3 and 10 of Σ the squared error of `"qis"` over the error of the best levels for
        complete data is 1.05 for complete data, 1.10 with 10 % missing at random, 1.18 with 30 %, and 1.16 if a third
        of the columns starts at half, where leaving out the rows gives 1.71. For columns of different lengths and
        p > n the law of the spectrum is not known well enough: at n = 60 `"qis"` has 1.37, and 1.26 without the rows;
        take `"ledoit-wolf"` there, which has 1.17. The matrix of pairs may have negative levels. They become 0, by
        `"sample"` too.

    Constant and repeated columns leave directions in which the sample has no variance. For p < n all methods but the
    linear ones keep these levels at 0 and count one variable less for each, also in means, medians and edges. For p > n
    there are always directions without data; if fewer than n levels are not 0, repeated rows are taken to be the
    reason, and each counts once.

    The estimate is positive up to the rounding of its largest entry. In single precision, beside a direction of
    variance 10⁶, the levels of a matrix are known to about 0.1 and may come out negative; `jax_enable_x64` is the
    remedy. The functions of `adapters` always compute in double precision.

    A data frame becomes an array here and loses its labels; `adapters.pandas.shrink_covariance` keeps them.

    For windows in time, take `jax.vmap` of this function over `jax.lax.dynamic_slice`. Derivatives with respect to the
    data are derivatives of the whole matrix, always finite, and right for equal levels too, as whitened data have them.
    `"clipping"` and `"spiked"` jump where a level crosses the edge, and `"rie"` has a corner where the smallest levels
    are equal.

    Args:
        data: n observations of p variables, batched over leading axes.
        method: a name of the list. All names and switches of this function are static.
        center: whether the mean is unknown and is taken away.
        weights: one for each row, not negative, in any scale; for `"qis"`, `"analytical"` and `"sample"`. Rows without
            a weight beyond rounding are left out, except under a transformation, where weights are not known.
        half_life: instead of weights, the number of rows after which a weight is halved; the last row is the newest.
        target: for `"ledoit-wolf"`, a name of the list of targets; by default `"identity"`.
        loss: for `"spiked"`, one of `"frobenius"` (the default), `"operator"`, `"nuclear"`, `"stein"`, `"entropy"`,
            `"divergence"`, `"frechet"`.
        noise: for `"spiked"`, the standard deviation σ > 0 of the variables without spikes, standardized ones with
            `unit_diagonal` or `standardize`; by default from the median level.
        unit_diagonal: whether to return a correlation matrix: columns are first divided by their standard deviations,
            and after shrinkage the diagonal is made 1 again.
        standardize: whether to shrink this correlation matrix and then restore the variances of the sample. The result
            is a covariance matrix with the diagonal of the sample. Constant columns have covariances 0.
        missing: what to do with NaN and with masked entries of NumPy; static. By default they are refused. `"drop"`
            leaves rows with missing entries out, so that the values must be known: not under `jit` or `vmap`.
            `"pairwise"` takes what is there, by all methods, but `"spiked"` only with the Frobenius loss. The
            derivative with respect to a missing entry is 0.

    Returns:
        Hermitian matrices of shape `(*batch, p, p)`.

    Raises:
        ValueError: `data` have fewer than 2 rows, have entries that are not finite or whose covariances over- or
            underflow in their precision, or are a covariance matrix.
        ValueError: `weights` or `half_life` leave fewer than 2 rows with a weight.
        ValueError: `data` have NaN without `missing`, or a pair of columns has fewer than 2 rows of weight in common.
        ValueError: a name is unknown, or an option does not belong to the method or to another option.

    Example:
        >>> import numpy as np
        >>> data = np.random.default_rng(0).normal(size=(40, 30))
        >>> levels = np.linalg.eigvalsh(shrink_covariance(data))
        >>> print(f"{levels.min():.1f} {levels.max():.1f}")  # the sample has levels from 0.03 to 3.6, the truth 1
        0.6 1.9

    References:
        Ledoit and Wolf (2022), Bernoulli 28, 1519, for `"qis"`, `"lis"` and `"gis"`; Ledoit and Wolf (2020), Ann.
        Statist. 48, 3043, for `"analytical"`; Ledoit and Wolf (2004), J. Multivariate Anal. 88, 365, for
        `"ledoit-wolf"`; Ledoit and Wolf (2003), J. Empir. Finance 10, 603, for the target `"one-factor"`; Ledoit and
        Wolf (2004), J. Portf. Manag. 30(4), 110, for `"constant-correlation"`; Chen et al. (2010), IEEE Trans. Signal
        Process. 58, 5016, equation 23, for `"oas"`; Bun, Bouchaud and Potters (2017), Phys. Rep. 666, 1, section 8, for
        `"rie"`; Donoho, Gavish and Johnstone (2018), Ann. Statist. 46, 1742, table 2, for `"spiked"`; Oriol (2024),
        arXiv:2410.14413, for weights; Lounici (2014), Bernoulli 20, 1029, for missing entries; Jurczak and Rohde
        (2017), Bernoulli 23, 2466, for their levels.
    """
    array, valid, rows = with_gaps(data, missing)
    if not unit_diagonal:  # correlations have no unit
        valid = _checks.all_kept(valid, SQUARES.kept("data", filled(array) if missing else array))
    method = _checks.choice("method", method, ShrinkageMethod)
    shares, valid_weights = _shares(weights, half_life, array.shape[-2] if rows is None else rows.size, rows)
    if shares is not None and not isinstance(shares, Tracer) and not (kept := np.asarray(_weighs(shares))).all():
        array, shares = array[..., kept, :], shares[kept]
    gaps = missing == "pairwise"
    if gaps:
        valid = _checks.all_kept(valid, TOGETHER.kept("data", array if shares is None else _that_weigh(array, shares)))
    n, p = array.shape[-2] - bool(center), array.shape[-1]
    check_sizes("data", array.shape, method, n, p, center=center)
    for name, value, methods in (
        ("weights", weights, _WEIGHTED),
        ("half_life", half_life, _WEIGHTED),
        ("target", target, ("ledoit-wolf",)),
        ("loss", loss, ("spiked",)),
        ("noise", noise, ("spiked",)),
    ):
        if value is not None and method not in methods:
            raise _checks.refusal(name, f"be left out unless `method` is one of {methods}", value)
    if unit_diagonal and standardize:
        raise _checks.refusal("standardize", "be left out with `unit_diagonal`, which gives no variances back", True)
    if gaps and method not in PAIRWISE:
        raise _checks.refusal("method", f"be one of {PAIRWISE} for pairwise moments", method)
    if gaps and loss not in (None, "frobenius"):
        raise _checks.refusal(
            "loss", 'be "frobenius" for pairwise moments, whose noise is not that of other losses', loss
        )
    sigma = None if noise is None else _checks.positive("noise", noise).astype(array.real.dtype)
    loss = "frobenius" if loss is None else _checks.choice("loss", loss, SpikedLoss)
    target = "identity" if target is None else _checks.choice("target", target, ShrinkageTarget)
    if gaps and target != "identity":
        raise _checks.refusal("target", 'be "identity" for pairwise moments', target)
    static = method, bool(center), bool(unit_diagonal), bool(standardize), loss, target, gaps
    matrix = _shrunk(array, shares, sigma, *static)
    return masked_each(_checks.all_kept(valid, valid_weights), array.ndim - 2, matrix)


def check_sizes(name: str, value: Any, method: ShrinkageMethod, n: int, p: int, *, center: bool = False) -> None:
    """Refuse too few independent rows for a method; the name and the value are those of the caller's argument."""
    if method == "analytical" and p > n < FEWEST:
        few = f"have at least {FEWEST} independent rows for `analytical` with more columns than rows"
        raise _checks.refusal(name, few, value)
    if method in POSITIVE_ONLY and p > n:
        least = f"p + 1 = {p + 1}" if center else f"p = {p}"
        must = f"be at least {least}" if name == "n" else f"have at least {least} rows"
        raise _checks.refusal(name, f"{must} for `{method}`", value)


def _shares(weights: Any, half_life: Any, n: int, rows: Any) -> tuple[Float[Array, " n"] | None, Any]:
    """Weights of n rows in any scale, None where all rows count the same, and whether they are valid.

    If `rows` is not None, it says which rows have not been left out.
    """
    if weights is not None and half_life is not None:
        raise _checks.refusal("half_life", "be left out where `weights` are given", half_life)
    if weights is not None:
        shares, _ = _units.in_unit(_of_rows(_checks.of_shape("weights", weights, (n,)), rows), 0)
        return shares, _SOME_WEIGHT.kept("weights", shares)
    if half_life is None:
        return None, True
    half_life = _checks.positive("half_life", half_life)
    shares = _of_rows(jnp.exp2(-like(half_life, jnp.arange(n))[::-1] / half_life), rows)
    return shares, _SOME_WEIGHT.kept("half_life", shares)


def _that_weigh(data: Inexact[Array, "*batch n p"], shares: Float[Array, " n"]) -> Inexact[Array, "*batch n p"]:
    """The data with NaN in the rows without a weight."""
    return jnp.multiply(*aligned(data, jnp.where(_weighs(shares), 1.0, jnp.nan)[:, None]))


def _of_rows(shares: Float[Array, " n"], rows: Any) -> Float[Array, " m"]:
    return shares if rows is None else shares[rows]


@partial(compiled, static_argnums=(3, 4, 5, 6, 7, 8, 9))
def _shrunk(
    data: Inexact[Array, "*batch n p"],
    weights: Float[Array, " n"] | None,
    noise: Float[Array, ""] | None,
    method: ShrinkageMethod,
    center: bool,
    unit_diagonal: bool,
    standardize: bool,
    loss: SpikedLoss,
    target: ShrinkageTarget,
    gaps: bool,
) -> Inexact[Array, "*batch p p"]:
    scaled = unit_diagonal or standardize
    if gaps:
        shrink = partial(METHODS[method], **static_options(method, data, loss))
        matrix, unit, deviations = pairwise(data, weights, noise, method, shrink, center=center, standardize=scaled)
    else:
        matrix, unit, deviations = _complete(data, weights, noise, method, center, scaled, loss, target)
    if deviations is None:
        return times(matrix, unit**2)
    matrix = correlation(matrix, matrix)
    if unit_diagonal:
        return matrix
    scale = like(matrix, deviations * unit[..., 0, :])
    return matrix * scale[..., :, None] * scale[..., None, :]


def _complete(
    data: Inexact[Array, "*batch n p"],
    weights: Float[Array, " n"] | None,
    noise: Float[Array, ""] | None,
    method: ShrinkageMethod,
    center: bool,
    standardize: bool,
    loss: SpikedLoss,
    target: ShrinkageTarget,
) -> tuple[Inexact[Array, "*batch p p"], Float[Array, "*batch 1 _"], Float[Array, "*batch p"] | None]:
    """The estimate, the unit of the data, and the deviations of the columns if these were standardized."""
    n, p = data.shape[-2] - center, data.shape[-1]
    if center:
        # Constant columns become 0 exactly; the rounding of a mean would leave levels of its square.
        data = departures(data)
    # Formulas contain squares of levels, fourth powers of the data, so the largest entry is the unit. Columns to be
    # standardized have a unit each, because the squares of small ones would vanish beside those of others.
    data, unit = _units.in_unit(data, -2) if standardize else in_unit(data)
    weights = None if weights is None else weights.astype(data.real.dtype)
    deviations = None
    if standardize:
        data, deviations = _standardized(data, weights, center=center)
    if target != "identity":
        return targets.towards(target, data, center=center), unit, deviations
    rows = without_mean(data) if center else data
    shrink, operands = partial(METHODS[method], **static_options(method, data, loss)), ()
    if weights is not None:
        rows, weights, independent = weighted.weighted_rows(data, weights, center=center)
        operands = () if method == "sample" else (independent,)
    elif method == "ledoit-wolf":
        # The source divides by the number of rows for its intensity, even where the mean is unknown.
        n, operands = data.shape[-2], (linear.fourth_moment(data, center=center),)
    elif noise is not None:
        operands = (noise / unit[..., 0, 0] if deviations is None else noise,)
    matrix = with_levels_of(lambda levels, *operands: shrink(levels, n, p, *operands), rows, weights, *operands)
    return matrix, unit, deviations


def static_options(method: ShrinkageMethod, data: Array, loss: SpikedLoss) -> dict[str, Any]:
    """The static options of a method."""
    if method == "oas":
        return {"real": not jnp.iscomplexobj(data)}
    return {"loss": loss} if method == "spiked" else {}


def _sample(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    return levels, jnp.zeros(levels.shape[:-1], levels.dtype)


METHODS: dict[ShrinkageMethod, Callable[..., Levels]] = {
    "qis": qis,
    "lis": lis,
    "gis": gis,
    "analytical": analytical,
    "ledoit-wolf": linear.ledoit_wolf,
    "oas": linear.oas,
    "rie": rie,
    "clipping": clipping,
    "spiked": spiked.spiked,
    "sample": _sample,
}


def _standardized(
    data: Inexact[Array, "*batch n p"], weights: Float[Array, " n"] | None, *, center: bool
) -> tuple[Inexact[Array, "*batch n p"], Float[Array, "*batch p"]]:
    """Columns divided by their standard deviations (constant columns are 0), and the deviations as in `numpy.cov`."""
    shares = lambda each: None if weights is None else like(each, weights)
    average = lambda each: jnp.average(each, axis=-2, weights=shares(each), keepdims=True)
    departures = data - average(data) if center else data
    variance = average(jnp.abs(departures) ** 2)
    inverse = jnp.where(variance > 0, jax.lax.rsqrt(jnp.where(variance > 0, variance, 1)), 0)
    n = data.shape[-2]
    concentration = 1 / n if weights is None else jnp.sum((weights / jnp.sum(weights)) ** 2)
    bias = 1 - concentration if center else 1
    return departures * like(data, inverse), (variance * inverse)[..., 0, :] * bias**-0.5


def correlation(
    matrix: Inexact[Array, "*batch p p"], computed_from: Inexact[Array, "*batch p p"]
) -> Inexact[Array, "*batch p p"]:
    """The matrix with its rows and columns scaled to a diagonal of 1, also where it is the rounding of another one."""
    diagonal, before = (jnp.real(jnp.diagonal(each, axis1=-2, axis2=-1)) for each in (matrix, computed_from))
    rounding = matrix.shape[-1] * jnp.finfo(diagonal.dtype).eps * jnp.max(before, -1, keepdims=True)
    present = diagonal > rounding
    scale = like(matrix, jnp.where(present, jax.lax.rsqrt(jnp.where(present, diagonal, 1)), 0))
    scaled = matrix * scale[..., :, None] * scale[..., None, :]
    return jnp.where(jnp.eye(matrix.shape[-1], dtype=bool), 1, scaled)
