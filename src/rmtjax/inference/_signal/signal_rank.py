"""How many components of a data matrix are signal: the number of its levels that noise does not explain."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import RealLike
from rmtjax.inference._core.data import observations
from rmtjax.inference._signal.judge import METHODS, OF_LEVELS, Options, SignalRank, judged_data, judged_levels

_INSIDE = _checks.Rule(lambda level: (level > 0) & (level < 1), "lie between 0 and 1")


def signal_rank(
    data: Inexact[Array, "*batch n p"],
    *,
    method: str = "tracy-widom",
    level: RealLike = 0.05,
    noise: RealLike | None = None,
    center: bool = True,
    n: RealLike | None = None,
    max_rank: int | None = None,
) -> SignalRank:
    r"""How many components of a data matrix are signal, by tests of one level of its covariance after the other.

    The k-th largest level is held against the largest level of white noise, behind k - 1 signals. The rank is the
    number of levels before the first that noise explains. With data that are noise alone it is 0 but for the share
    `level` of them.

    `"tracy-widom"`: p-values by the law of the largest level of Wishart matrices with constants of the second order. If
    the noise is not known, each level is held against the sum of itself and those behind it, with the correction of
    Nadler (2011) for the noise of that sum. At the nominal 5 % the rate of false alarms is between 4.6 and 5.1 %, down
    to matrices of 50 × 20; for unknown noise it falls to 4 % at 20 × 5 and 2 % at 5 × 5.

    `"exact"`: the same with the exact law of the largest level at every size, from determinants, where the noise is
    known. Each level takes $O(\min(n, p)^3)$ operations: ask for a few by `max_rank`.

    `"parallel-analysis"`: levels are signal as long as they are above the upper edge of `laws.GeneralMarchenkoPastur`
    for the mean squares of the columns, which therefore need not be equal (derandomised parallel analysis);
    `"deflated-parallel-analysis"` takes away from the columns what the levels before have explained, so that strong
    signals do not hide weak ones. `"hard-threshold"`: levels above the square of the threshold of Gavish and Donoho,
    with the median singular value where the noise is not known. These three have no p-values, and are no tests: noise
    alone is above the edge of parallel analysis in every sixth real matrix or so.

    Convention: rows are independent observations, columns are variables, and the noise is white: entries of the same
    variance, $E|x|^2 = \sigma^2$, of both parts together where they are complex. Levels are those of $S = X^*X/n$.

    Args:
        data: real or complex, batched over leading axes; complex data are taken for circular.
        method: one of the five; static.
        level: of each test, between 0 and 1.
        noise: σ > 0 if it is known, a number for all or one for each matrix of the batch.
        center: whether the mean of each column is unknown and is taken away, at the price of one observation; static.
        n: an effective number of observations in place of that of the rows.
        max_rank: how many levels are judged, by default all $\min(n, p)$; static.

    Returns:
        A record with `rank`, `p_values`, `edge`, `noise`, `levels` and `spikes`, and n and p as they were taken.

    Raises:
        ValueError: data are no matrix of at least two rows of finite numbers, or have a constant column, or are a
            covariance matrix; `level` is not between 0 and 1, `noise` or `n` not positive and finite, or `max_rank` not
            between 1 and $\min(n, p)$; `noise` is not known for `"exact"`, or given for parallel analysis.

    Example:
        >>> import jax
        >>> key, other = jax.random.split(jax.random.key(0))
        >>> signal = 3.0 * jax.random.normal(key, (200, 1)) * jax.numpy.eye(1, 30)
        >>> found = signal_rank(signal + jax.random.normal(other, (200, 30)))
        >>> print(found.rank, f"{found.noise:.1f}")
        1 1.0

    References:
        Johnstone (2001), Ann. Statist. 29, 295; El Karoui (2006), Ann. Probab. 34, 2077; Ma (2012), Bernoulli 18, 322;
        Nadler (2011), J. Multivariate Anal. 102, 363; Kritchman and Nadler (2009), IEEE Trans. Signal Process. 57,
        3930; Chiani (2014), J. Multivariate Anal. 129, 69; Dobriban and Owen (2019), J. R. Stat. Soc. B 81, 163; Gavish
        and Donoho (2014), IEEE Trans. Inf. Theory 60, 5040.
    """
    array, valid = observations(data)
    rows, p = array.shape[-2] - bool(center), array.shape[-1]
    count = _number_of_levels(max_rank, rows, p)
    n = rows if n is None else n
    beta = 2 if jnp.iscomplexobj(array) else 1
    options = _options(_checks.choice("method", method, METHODS), beta, count, p, n, noise)
    numbers, fit = _checked_numbers(n, level, noise, array.dtype)
    result, constant = judged_data(array, *numbers, options, bool(center))
    valid = _checks.both(_checks.both(valid, fit), _VARYING.kept("data", constant))
    return _masked(valid, result)


def signal_rank_of_levels(
    levels: Float[Array, "*batch k"],
    n: RealLike,
    p: int,
    *,
    beta: int = 1,
    method: str = "tracy-widom",
    level: RealLike = 0.05,
    noise: RealLike | None = None,
    max_rank: int | None = None,
) -> SignalRank:
    r"""Same as `signal_rank`, from the levels of a sample covariance matrix.

    Args:
        levels: ascending levels of $S = X^*X/n$, the $\min(n, p)$ largest or all p of them.
        n: number of observations behind S, n - 1 where their mean was taken away; may be an effective number.
        p: number of variables; static.
        beta: 1 for real and 2 for complex data; static.
        method: as for `signal_rank`, but for parallel analysis, which needs the columns; static.
        level: likewise.
        noise: likewise.
        max_rank: likewise.

    Returns:
        As `signal_rank`.

    Raises:
        ValueError: levels are not ascending, negative, more than p or fewer than $\min(n, p)$; and as `signal_rank`.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.Wishart(30, 100).eigenvalues(jax.random.key(0))
        >>> print(signal_rank_of_levels(levels, 100, 30).rank)
        0
    """
    array = _checks.full_precision("levels", _checks.real("levels", levels))
    p = _checks.integer("p", p, at_least=1)
    if array.ndim == 0 or not 1 <= array.shape[-1] <= p:
        raise _checks.refusal("levels", f"have an axis of at most p = {p} levels", array.shape)
    # Levels that are 0 because there are few observations are not judged.
    rows = _whole(n) or array.shape[-1]
    if min(rows, p) > array.shape[-1]:
        raise _checks.refusal("levels", f"be all of the min(n, p) = {min(rows, p)} levels", array.shape)
    valid = _LEVELS.kept("levels", array)
    count = _number_of_levels(max_rank, min(rows, array.shape[-1]), p)
    beta = _checks.dyson_index(beta, (1, 2))
    options = _options(_checks.choice("method", method, OF_LEVELS), beta, count, p, n, noise)
    numbers, fit = _checked_numbers(n, level, noise, array.dtype)
    return _masked(_checks.both(valid, fit), judged_levels(array, *numbers, options))


def _whole(n: Any) -> int | None:
    """The number of observations where it is an integer of Python or NumPy; an effective one need not be."""
    return int(n) if isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 else None


def _options(method: str, beta: int, tests: int, p: int, n: Any, noise: Any) -> Options:
    rows = _whole(n)
    if method == "exact" and noise is None:
        raise _checks.refusal("noise", 'be known for method="exact"', noise)
    if method == "exact" and rows is None:
        raise _checks.refusal("n", 'be an integer for method="exact"', n)
    if method.endswith("parallel-analysis") and noise is not None:
        raise _checks.refusal("noise", "be None for parallel analysis, which takes it from each column", noise)
    return Options(method, beta, tests, p, rows)


def _ascending(levels: Any) -> Any:
    tolerance = 100 * jnp.finfo(levels.dtype).eps * levels[..., -1:]
    steps = levels[..., 1:] >= levels[..., :-1]
    return (steps.all(-1) if levels.shape[-1] > 1 else True) & ((levels >= -tolerance) & (levels < jnp.inf)).all(-1)


_LEVELS = _checks.Rule(_ascending, "be ascending, finite and not negative")
_VARYING = _checks.Rule(
    lambda constant: constant == 0,
    "have no constant column",
    lambda constant: f"{constant.max()} of them in one matrix; leave them out, or put `center=False` if 0 is the mean",
)


def _number_of_levels(max_rank: int | None, rows: int, p: int) -> int:
    most = min(rows, p)
    if max_rank is None:
        return most
    if _checks.integer("max_rank", max_rank, at_least=1) > most:
        raise _checks.refusal("max_rank", f"be at most min(n, p) = {most}", max_rank)
    return max_rank


def _checked_numbers(n: Any, level: Any, noise: Any, dtype: Any) -> tuple[tuple[Any, Any, Any], Any]:
    """Number of observations, level and noise in the precision of the data, and whether they are valid."""
    n, level = _checks.scalar("n", n), _checks.scalar("level", level)
    valid = _checks.both(_checks.POSITIVE.kept("n", n), _INSIDE.kept("level", level))
    if noise is not None:
        noise = _checks.real("noise", noise)
        valid = _checks.both(valid, _checks.POSITIVE.kept("noise", noise))
        noise = noise.astype(jnp.finfo(dtype).dtype)
    return (n.astype(jnp.finfo(dtype).dtype), level, noise), valid


def _masked(valid: Any, result: SignalRank) -> SignalRank:
    """The record without numbers where it is not valid; further axes of its arrays stand behind those of the batch."""
    if valid is True:
        return result
    axes = result.rank.ndim
    valid = jnp.broadcast_to(valid, result.rank.shape)
    wide = lambda leaf: valid.reshape(*valid.shape, *(1,) * (leaf.ndim - axes)) if leaf.ndim else valid.all()
    return jax.tree.map(lambda leaf: _checks.masked(wide(leaf), leaf), result)
