r"""What the noise of data is like beside what the tests take it for: its kurtosis, and how equal its columns are.

Let $R = X(1 - V V^*)$ be the deviations from the mean without the k components that were found, with the vectors V of
the columns and U of the rows. Where the components are known exactly, a column of white normal noise is a normal vector
in $\nu = n - 1 - k$ dimensions (n - k for a known mean). Let P be the projection on them, $a_i = P_{ii}$, and
$b_j = 1 - \sum_k |v_{jk}|^2$ the share of its variance that column j has left. β is 1 for real and 2 for complex data.

*Kurtosis.* The direction of a normal vector is independent of its length. So, exactly,

$$E\,\frac{\sum_i |r_{ij}|^4}{(\sum_i |r_{ij}|^2)^2} = \Big(1 + \frac2\beta\Big) \frac{A}{\nu(\nu + 2/\beta)} , \qquad
A = \sum_i a_i^2,$$

whatever the variance of the column is. The ratio of both sides, times $1 + 2/\beta$ and minus it, has the mean 0. The
estimate is its mean over the columns with the weights $b_j$. For real noise its variance is, from moments of the eighth
order,

$$\frac1{p - k} \Big[ \frac{\nu(\nu + 2)}{A^2}\,
\frac{9 A^2 + 72 \sum a_i^3 + 24 \sum a_i^4}{(\nu + 4)(\nu + 6)} - 9 \Big] ,$$

where $\sum_{ij} a_i a_j P_{ij}^2$ is $\sum a_i^3$ and $\sum_{ij} P_{ij}^4$ is $\sum a_i^4$ up to small terms. For k = 0
it is Fisher's variance of 1930. For complex noise the brackets hold
$\frac{\nu(\nu + 1)}{A^2} \frac{4 A^2 + 16 \sum a_i^3 + 4 \sum a_i^4}{(\nu + 2)(\nu + 3)} - 4$. The skewness of N such
terms, $\sqrt{216/N}$ for real and $\sqrt{100/N}$ for complex entries, enters by the cube root of Anscombe and Glynn
(1983), Biometrika 70, 227.

*Spread.* With $R_j = \sum_i |r_{ij}|^2$ and $m = \sum R_j/(\nu (p - k))$, which is σ² of the noise, let

$$F = \frac{\sum_j (R_j/\nu - b_j m)^2}{m^2 \sum_j b_j^2}, \qquad E F = v = \frac{c\,(p - k - 1)}{\nu (p - k) + c},
\quad c = \frac2\beta,$$

exactly for white normal noise, because m is independent of R/m. Entries with an excess kurtosis κ have
$c = 2/\beta + \kappa$ up to smaller terms. Where the variances of the columns have the coefficient of variation s,
$E F = s^2 + v (1 + s^2)$, so $s^2$ is estimated by $(F - v)/(1 + v)$. For s = 0 the variance of F/v is nearly
$(2 + 6c/\nu) \sum b_j^4/(\sum b_j^2)^2$, and its cube root is nearly normal (Wilson and Hilferty 1931). To the first
order, s moves the edge of the noise by the share $s^2/\sqrt\gamma$ of itself, $\gamma = p/n$, as follows from
Silverstein's equation for population levels of mean 1 and variance s².
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.inference._core.data import in_unit, of_mean_zero, without_mean
from rmtjax.inference._core.sample_spectrum import sample_spectrum
from rmtjax.linalg.internal import adjoint


class NoiseCheck(NamedTuple):
    """The excess kurtosis of the noise and the spread of its columns, with their z-scores for white normal noise."""

    kurtosis: Float[Array, "*batch"]
    kurtosis_score: Float[Array, "*batch"]
    spread: Float[Array, "*batch"]
    spread_score: Float[Array, "*batch"]
    shift: Float[Array, "*batch"]  # of the edge by the spread, in units of the scale of the largest level
    standardised: Bool[Array, "*batch"]  # whether all columns have one mean square, signals included
    unseen: Bool[Array, "*batch"]  # whether of more than 3 levels so many are signal that the noise was not looked at
    apart: Float[Array, "*batch"]  # the largest factor between the mean square of a column and the median of all


@partial(compiled, static_argnums=(2,), nan_is_an_answer=True)
def checked_noise(data: Inexact[Array, "*batch n p"], rank: Int[Array, "*batch"], center: bool) -> NoiseCheck:
    """What is left of the data without as many components, and without the mean of each column with `center`."""
    data, _ = in_unit(data)
    rows = without_mean(data) if center else data
    entries = of_mean_zero(rows) if center else rows
    n, p = entries.shape[-2:]
    beta = 2 if jnp.iscomplexobj(data) else 1
    # The vectors of S are the conjugates of the right singular vectors of the rows.
    vectors = jnp.conj(sample_spectrum(rows).vectors)
    number = like(vectors.real, rank)[..., None]
    behind = jnp.arange(vectors.shape[-1], dtype=number.dtype)[::-1]
    is_signal: Bool[Array, "*batch k"] = jnp.less(*aligned(behind, number))
    signals = jnp.where(is_signal[..., None, :], vectors, 0)
    scores = entries @ signals
    left = entries - scores @ adjoint(signals)
    lengths = jnp.sum(_square(scores), axis=-2, keepdims=True)
    a = 1 - (1 / n if center else 0) - jnp.sum(_square(scores) / jnp.where(lengths > 0, lengths, 1), axis=-1)
    b = 1 - jnp.sum(_square(signals), axis=-1)
    k = number[..., 0]
    nu, q = n - center - k, p - k
    squares = _square(left)
    sizes = jnp.sum(squares, axis=-2)
    kurtosis, kurtosis_score = _kurtosis(squares, sizes, a, b, nu, q, beta)
    c = jnp.maximum(2 / beta + kurtosis, 0.1)
    spread, spread_score = _spread(sizes, b, nu, q, c, beta)
    centre, scale = largest_laguerre_level(nu, q, beta)
    shift = spread**2 / jnp.sqrt(p / nu) * centre / scale
    total = jnp.sum(_square(entries), axis=-2)
    # By chance one in 10⁴ matrices of three columns would be as equal, and fewer of more columns.
    equal = jnp.std(total, axis=-1) < 0.01 * (2 / (beta * n)) ** 0.5 * jnp.mean(total, axis=-1)
    enough = (k >= 0) & (nu >= 2) & (q >= 2)
    known = lambda value: jnp.where(enough, value, jnp.nan)
    kurtosis, kurtosis_score, spread, spread_score, shift = map(
        known, (kurtosis, kurtosis_score, spread, spread_score, shift)
    )
    standardised, unseen = equal & enough & (p > 2), (k > 0) & jnp.isnan(spread) & (vectors.shape[-1] > 3)
    varying = jnp.where(total > 0, total, jnp.nan)
    median = jnp.nanmedian(varying, axis=-1)
    apart = jnp.maximum(jnp.nanmax(varying, axis=-1) / median, median / jnp.nanmin(varying, axis=-1))
    return NoiseCheck(kurtosis, kurtosis_score, spread, spread_score, shift, standardised, unseen, apart)


def _square(x: Inexact[Array, "..."]) -> Float[Array, "..."]:
    return x.real**2 + x.imag**2 if jnp.iscomplexobj(x) else x * x


def _kurtosis(
    squares: Float[Array, "*batch n p"],
    sizes: Float[Array, "*batch p"],
    a: Float[Array, "*batch n"],
    b: Float[Array, "*batch p"],
    nu: Float[Array, "*batch"],
    q: Float[Array, "*batch"],
    beta: int,
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    second, third, fourth = (jnp.sum(a**power, axis=-1) for power in (2, 3, 4))
    normal = nu * (nu + 2 / beta) / second
    share = squares / jnp.where(sizes > 0, sizes, 1)[..., None, :]
    each = jnp.sum(share**2, axis=-2) * normal[..., None] - (1 + 2 / beta)
    found = jnp.sum(b * each, axis=-1) / jnp.sum(b, axis=-1)
    if beta == 1:
        moments, mean = (9 * second**2 + 72 * third + 24 * fourth) / ((nu + 4) * (nu + 6)), 9
    else:
        moments, mean = (4 * second**2 + 16 * third + 4 * fourth) / ((nu + 2) * (nu + 3)), 4
    variance = (normal / second * moments - mean) / q
    # As many independent entries would have this variance.
    entries = (24 if beta == 1 else 4) / variance
    skewness = jnp.sqrt((216 if beta == 1 else 100) / entries)
    freedom = 6 + 8 / skewness * (2 / skewness + jnp.sqrt(1 + 4 / skewness**2))
    ratio = (1 - 2 / freedom) / jnp.maximum(1 + found / jnp.sqrt(variance) * jnp.sqrt(2 / (freedom - 4)), 1e-3)
    return found, (1 - 2 / (9 * freedom) - jnp.cbrt(ratio)) / jnp.sqrt(2 / (9 * freedom))


def _spread(
    sizes: Float[Array, "*batch p"],
    b: Float[Array, "*batch p"],
    nu: Float[Array, "*batch"],
    q: Float[Array, "*batch"],
    c: Float[Array, "*batch"],
    beta: int,
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    m = jnp.sum(sizes, axis=-1) / (nu * q)
    second, fourth = jnp.sum(b**2, axis=-1), jnp.sum(b**4, axis=-1)
    apart = sizes / nu[..., None] - b * m[..., None]
    found = jnp.sum(apart**2, axis=-1) / (m**2 * second)
    expected = c * (q - 1) / (nu * q + c)
    spread = jnp.sqrt(jnp.maximum(found - expected, 0) / (1 + expected))
    # Over 9 times the number of degrees of freedom.
    ninth = (2 + 6 * c / nu) * fourth / second**2 / 9
    return spread, (jnp.cbrt(found / expected) - (1 - ninth)) / jnp.sqrt(ninth)


# Normal noise of equal columns is warned of in 1 % of matrices for its kurtosis, in 1 % for its spread. What changes
# the rate of false alarms at 5 % by about one per cent or less is left unsaid: at 100 × 50 an excess kurtosis of 0.25,
# and an edge that moves by a fifth of the scale of the largest level.
_KURTOSIS_SCORE, _SPREAD_SCORE = 2.576, 2.326
_LEAST_KURTOSIS, _LEAST_SHIFT = 0.25, 0.2
# Variables of one kind with and without strong factors differ less than this.
_LEAST_APART = 100


_HEAVY = (
    "the noise has heavy tails (excess kurtosis {:.2g}), which pass for components; "
    'method="permutation" and method="random-signs" are valid for such noise'
)
_LIGHT = (
    "the noise has light tails (excess kurtosis {:.2g}), so that weak components are missed; "
    'method="permutation" and method="random-signs" are valid for such noise'
)
_UNEQUAL = (
    "the columns have unequal noise (the coefficient of variation of their variances is {:.2g}), which passes for "
    'components; method="deflated-parallel-analysis" is valid for such noise'
)
_STANDARDISED = (
    "the columns were divided by their own standard deviations, so that tests miss weak components and the noise is "
    'unequal where there is signal; method="deflated-parallel-analysis" is valid for such noise'
)
_UNSEEN = (
    "nearly all levels passed, so that too little noise is left to look at; this happens where the columns have "
    'unequal noise, and method="deflated-parallel-analysis" is valid for such noise'
)
_APART = (
    "the variance of a column differs from the median of all by a factor of {:.2g}, as if it had another unit: leave "
    "out row numbers and identifiers, divide each column by its standard deviation, and take "
    'method="deflated-parallel-analysis"'
)


def warnings(check: NoiseCheck, *, assumes_normal: bool, assumes_equal_columns: bool) -> tuple[str, ...]:
    """What is wrong with the noise for a method of these assumptions, in sentences that name a valid method."""
    kurtosis, kurtosis_score, spread, spread_score, shift, standardised, unseen, apart = map(np.asarray, check)
    units = apart > _LEAST_APART  # which no method allows for
    clear = (np.abs(kurtosis_score) > _KURTOSIS_SCORE) & (np.abs(kurtosis) > _LEAST_KURTOSIS)
    unequal = (spread_score > _SPREAD_SCORE) & (shift > _LEAST_SHIFT)
    said = []
    if assumes_normal:
        said += _said(clear & (kurtosis > 0), kurtosis, _HEAVY)
        said += _said(clear & (kurtosis < 0), kurtosis, _LIGHT)
    if assumes_equal_columns:
        said += _said(unequal & ~units, spread, _UNEQUAL)
        said += _said(standardised, spread, _STANDARDISED)
        said += _said(unseen & ~units, unseen, _UNSEEN)
    said += _said(units, apart, _APART)
    return tuple(said)


def _said(where: np.ndarray, value: np.ndarray, words: str) -> list[str]:
    """The sentence if it is true; for a batch it says of how many matrices, with the median of their values."""
    if not where.any():
        return []
    sentence = words.format(float(np.median(value[where])))
    return [f"in {where.sum()} of {where.size} matrices {sentence}" if where.ndim else sentence]
