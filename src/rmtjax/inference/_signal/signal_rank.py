"""Number of components of a data matrix that are signal: the levels that noise does not explain."""

import dataclasses
import math
from typing import Annotated, Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from rmtjax import _checks
from rmtjax._staging import is_traced
from rmtjax._typing import ArrayLike, KeyScalar, RankMethod, RankMethodOfLevels, RealLike, RealOrComplex
from rmtjax.inference._core.data import LEVELS, masked_each, range_of_squares, to_leave_out
from rmtjax.inference._core.missing import with_gaps
from rmtjax.inference._signal.judge import Seen, Setting, SignalRank, judged_data, judged_levels
from rmtjax.inference._signal.methods import METHODS
from rmtjax.inference._signal.noise_argument import noise_level
from rmtjax.inference._signal.noise_covariance import covariance_of_noise
from rmtjax.inference._signal.resampled import ROUNDING, is_significant


def signal_rank(
    data: Annotated[ArrayLike, "*batch n p"],
    *,
    method: RankMethod | None = None,
    alpha: RealLike = 0.05,
    noise: RealLike | None = None,
    noise_covariance: Annotated[ArrayLike, "*batch p p"] | None = None,
    center: bool = True,
    n: RealLike | None = None,
    max_rank: int | None = None,
    key: KeyScalar | None = None,
    resamples: int | None = None,
    missing: Literal["drop"] | None = None,
) -> SignalRank:
    r"""The number of components of a data matrix that are signal, by tests of its levels from the largest on.

    Level k is compared with the largest level of white noise behind k - 1 signals. The rank is the number of levels
    before the first one that noise explains. It is 0 for data of noise alone, but for the share `alpha` of such data.

    - `"tracy-widom"`: p-values by the law of the largest level of Wishart matrices with constants of the second order.
      Where the noise is not known, each level is compared with the sum of itself and all smaller ones, with the
      correction of Nadler (2011) for the noise of that sum. At the nominal 5 % the rate of false alarms is between 4.6
      and 5.1 %, down to matrices of 50 × 20; for unknown noise it falls to 4 % at 20 × 5, 2 % at 5 × 5 and 0 at 4 × 3.
    - `"exact"`: the same by the exact law of the largest level, or of its ratio to the sum, from determinants and
      Pfaffians, so that the rate is `alpha` at every size. Each level takes $O(\min(n, p)^3)$ operations, for unknown
      noise up to 256 times. A matrix of 8 × 8 takes 40 ms, one of 20 × 20 half a second; `max_rank` asks for few. With
      `max_rank=1` the first call takes 3 s for 40 × 20 and 6 s for 160 × 80, to compile.
    - `"parallel-analysis"`: a level is signal if it is above the upper edge of `laws.GeneralMarchenkoPastur` for the
      mean squares of the columns, which need not be equal (derandomised parallel analysis).
    - `"deflated-parallel-analysis"`: the same for columns without the part of larger levels above the edge of the
      noise, so that strong signals do not hide weak ones. (Dobriban and Owen take whole levels away. Noise that passes
      by chance then lowers the next edge, and in a few per cent of matrices all levels pass.)
    - `"hard-threshold"`: a level is signal if it is above the square of the threshold of Gavish and Donoho, which takes
      the median singular value where the noise is not known.
    - `"permutation"`: p-values for noise that need not be normal, from the largest levels of draws whose entries are
      permuted within each column. The first p-value is exact where the rows are exchangeable and the columns
      independent, each with a law of its own. Later ones, for what is left without all larger levels, are asymptotic. A
      component in a single column is no signal here, but the variance of this column.
    - `"random-signs"`: the same with random signs of the entries instead, for independent entries with symmetric laws
      and any variances, also of the rows. The first p-value is exact with `center=False`, and asymptotic where the mean
      of each column is taken away from the data and again from the draws.

    Parallel analysis and the hard threshold have no p-values and are no tests: about every sixth real matrix of noise
    alone has a level above the edge of parallel analysis.

    *What the rate needs.* The entries of the noise have to be nearly normal, because heavy tails make the largest level
    larger. At the nominal 5 % noise alone is taken for signal in 40 % of the matrices with Student's distribution of 5
    degrees of freedom, in 20 % with Laplace's, 9 % with Student's of 10, and 2 % with uniform entries or entries ±1
    (measured at 100 × 50 and 200 × 20). Columns that were divided by their own standard deviations make the tests
    conservative, as their trace no longer fluctuates. Noise alone is then taken for signal in 1.5 to 2 % of the
    matrices (measured at 120 × 40, 200 × 20 and 1000 × 20; 1 % without Nadler's correction, as the largest level
    fluctuates less too). Divide by scales that are known from elsewhere, or do not divide. With strong factors it is
    worse, as columns of much signal keep little noise: of three factors in 500 × 100 the default makes 5 to 12, and
    deflated parallel analysis and the methods of draws 3. `warnings` of the record name what they see of this.
    Where the noise is unknown, several signals of about the same size raise the sum that the first one is compared
    with, and can hide each other from all tests: with 13 equal strong ones in 60 × 40 the rank is 0. A known `noise`
    finds all 13. Parallel analysis has the same trap.

    *Precision.* Levels are right to the rounding of the largest. Data of single precision whose noise is smaller than
    that rounding are judged in double precision, but not under a transformation, where their values are unknown.

    Convention: rows are independent observations, columns are variables, and the noise is white: entries of the same
    variance, $E|x|^2 = \sigma^2$, of both parts together where they are complex. Levels are those of $S = X^*X/n$.

    Args:
        data: real or (circular) complex, with observations in rows, batched over leading axes.
        method: one of the seven; static. By default it is `"exact"` if $\min(n, p) \le 3$, $\max(n, p) \le 100$ and no
            `n` is given, and `"tracy-widom"` otherwise. The former takes 1 ms for such a matrix, and a batch as often.
        alpha: significance level of each test, between 0 and 1.
        noise: σ > 0 if it is known, a number for all matrices or one for each matrix of the batch.
        noise_covariance: Σ, where the noise of the columns is correlated or has known different levels. The noise of a
            row then has the covariance σ²Σ, and everything is said of the rows with white noise: levels, edge and
            spikes are those of $L^{-1} S L^{-*}$, $\Sigma = LL^*$. Positive definite, `(p, p)`, or one for each matrix.
            An estimate from a few observations of noise alone makes false alarms, in 13 % of 100 × 20 matrices instead
            of 5 % even for 100 p observations. `signal_rank_above_noise` takes the observations themselves.
        center: whether the mean of each column is unknown and is taken away, at the price of one observation; static.
        n: an effective number of observations, of rows that depend on each other. It is at most the number of rows, or
            one less with `center`.
        max_rank: how many levels are judged, by default all $\min(n, p)$; static.
        key: a typed key, for the draws of `"permutation"` and `"random-signs"`, and for these methods only.
        resamples: number R of these draws for each level, by default 199; static. No p-value is smaller than
            $1/(R + 1)$, which may be at most `alpha`. They end with the first p-value above `alpha`, and later ones are
            NaN.
        missing: `"drop"` leaves out rows with NaN or masked entries of NumPy, which are refused by default; static. The
            values must be known: not under `jit` or `vmap`. Moments of pairs would not do, because entries that are
            missing spread a strong component over further levels.

    Returns:
        A record with `rank`, `p_values`, `edge`, `noise`, `levels` and `spikes`, and n, p and `method` as taken. Its
        `warnings` say in words where the noise is not what the method assumes, after `kurtosis` and `noise_spread`.

    Raises:
        ValueError: `data` are not a matrix of at least two rows of finite numbers, or are a covariance matrix.
        ValueError: `data` have a constant column, or levels near the ends of the range of their precision.
        ValueError: `data` have a repeated column, up to its sign and with `center` also up to a constant, and the
            method is not parallel analysis. (Rare columns of whole numbers may be equal by chance, but are no noise.)
        ValueError: `data` have a repeated row and no more rows than columns, and the method is not parallel analysis.
        ValueError: `data` have dependent columns or rows, so that more than 1 + 2 % of the levels are 0 to rounding.
        ValueError: `alpha`, `n` or `max_rank` is outside its range.
        ValueError: `noise` is not positive, or has another shape.
        ValueError: `noise` is given for parallel analysis or a method of draws.
        ValueError: `noise_covariance` is not Hermitian and positive definite, or has another shape.
        ValueError: `key` is missing for a method of draws, `n` is given for one, or `resamples` are too few.
        ValueError: `key` or `resamples` is given for a method without draws.

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
        and Donoho (2014), IEEE Trans. Inf. Theory 60, 5040; Buja and Eyuboglu (1992), Multivariate Behav. Res. 27, 509,
        for permutations; Dobriban (2020), Ann. Statist. 48, 2824, for when they work; Hong, Sheng and Dobriban (2020),
        arXiv:2012.02985, for random signs.
    """
    array, valid, kept = with_gaps(data, missing, Literal["drop"])
    array, covariance, definite = covariance_of_noise(noise_covariance, array, array.shape[:-2])
    center, batch = bool(center), array.shape[:-2]
    rows = array.shape[-2] - center
    smaller = min(rows, array.shape[-1])
    count = _number_of_levels(max_rank, smaller)
    method = _usual_method(rows if n is None else None, array.shape[-1]) if method is None else method
    method = _checks.choice("method", method, RankMethod)
    if METHODS[method].refuses_n and n is not None:
        raise _checks.refusal("n", f"be None for {METHODS[method].refuses_n}", n)
    n = rows if n is None else n
    key, resamples = _draws(method, key, resamples, alpha)
    beta = 2 if jnp.iscomplexobj(array) else 1
    setting = Setting(method, count, _integer_n(method, n, noise), center, resamples, array.shape[-1], beta)
    numbers, fit = _checked_numbers(n, alpha, noise, array.dtype, batch, rows)
    result, findings = judged_data(array, numbers, covariance, key, setting)
    fit = _checks.all_kept(fit, _kept("data", (_VARYING, findings.constant), (_IN_RANGE, findings.largest)))
    inputs = data, n, alpha, noise, covariance
    known = not is_traced((inputs, findings))
    if known and jnp.finfo(array.dtype).bits == 32 and np.any(np.asarray(findings.unresolved) > smaller // 50):
        with jax.enable_x64(True):
            double = lambda value: jnp.asarray(np.asarray(value, np.float64))
            wide = np.asarray(data, np.result_type(array.dtype, np.float64))
            wide = jnp.asarray(wide if kept is None else wide[kept])
            sigma = None if noise is None else jnp.broadcast_to(double(noise), batch)
            shape = None if covariance is None else jnp.asarray(np.asarray(covariance), wide.dtype)
            found, findings = judged_data(wide, (double(n), double(alpha), sigma), shape, key, setting)
        result = jax.tree.map(lambda leaf, single: jnp.asarray(np.asarray(leaf), single.dtype), found, result)
    repeated = (_NO_REPEATED_COLUMN, findings.repeated_columns), (_NO_REPEATED_ROW, findings.repeated_rows)
    resolved = _kept("data", *repeated, (_RESOLVED, findings.unresolved, smaller, findings.largest))
    found = _finished(_checks.all_kept(valid, fit, resolved, definite), result, n)
    object.__setattr__(found, "_seen", Seen(array, center, covariance))
    return found


def signal_rank_of_levels(
    levels: Annotated[RealLike, "*batch k"],
    n: RealLike,
    p: int,
    *,
    beta: RealOrComplex = 1,
    method: RankMethodOfLevels | None = None,
    alpha: RealLike = 0.05,
    noise: RealLike | None = None,
    max_rank: int | None = None,
) -> SignalRank:
    r"""Same as `signal_rank`, from the levels of a sample covariance matrix.

    Args:
        levels: ascending levels of $S = X^*X/n$, either the $\min(n, p)$ largest or all p; judged in their precision.
        n: number of observations behind S, n - 1 where their mean was taken away; may be an effective number.
        p: number of variables; static.
        beta: 1 for real and 2 for complex data; static.
        method: `"tracy-widom"`, `"exact"` or `"hard-threshold"`, as for `signal_rank`, whose other methods need the
            data; static. `"exact"` is compiled for each n. By default it is taken if $\min(n, p) \le 3$,
            $\max(n, p) \le 100$ and n is an integer.
        alpha: as for `signal_rank`.
        noise: as for `signal_rank`.
        max_rank: as for `signal_rank`.

    Returns:
        As `signal_rank`.

    Raises:
        ValueError: `levels` are not ascending, are negative, or are more than p or fewer than $\min(n, p)$.
        ValueError: more than 1 + 2 % of the $\min(n, p)$ largest levels are 0 to the rounding of the largest.
        ValueError: another argument is wrong, as for `signal_rank`.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.Wishart(30, 100).eigenvalues(jax.random.key(0))
        >>> print(signal_rank_of_levels(levels, 100, 30).rank)
        0
    """
    array = _checks.real("levels", levels)
    p = _checks.integer("p", p, at_least=1)
    if array.ndim == 0 or not 1 <= array.shape[-1] <= p:
        raise _checks.refusal("levels", f"have an axis of at most p = {p} levels", array.shape)
    # Levels that are 0 because there are few observations are not judged.
    rows = _whole(n) or array.shape[-1]
    if min(rows, p) > array.shape[-1]:
        raise _checks.refusal("levels", f"be all of the min(n, p) = {min(rows, p)} levels", array.shape)
    valid = LEVELS.kept("levels", array)
    # What rounding makes negative is 0.
    array = jnp.maximum(array[..., -min(rows, array.shape[-1]) :], 0)
    smaller = array.shape[-1]
    count = _number_of_levels(max_rank, smaller)
    beta = _checks.dyson_index(beta, RealOrComplex)
    method = _usual_method(_whole(n), p) if method is None else method
    if method in tuple(METHODS) and method not in get_args(RankMethodOfLevels):
        of_levels = ", ".join(map(repr, get_args(RankMethodOfLevels)))
        raise _checks.refusal("method", f"be one of {of_levels} (`signal_rank` has methods that need the data)", method)
    method = _checks.choice("method", method, RankMethodOfLevels)
    static = (method, count, _integer_n(method, n, noise), p, beta)
    numbers, fit = _checked_numbers(n, alpha, noise, array.dtype, array.shape[:-1])
    result, findings = judged_levels(array, *numbers, *static)
    resolved = (_RESOLVED, findings.unresolved, smaller, findings.largest)
    fit = _checks.all_kept(fit, _kept("levels", (_IN_RANGE, findings.largest), resolved))
    return _finished(_checks.all_kept(valid, fit), result, n)


# For unknown noise and min(n, p) = 5 the law of Tracy and Widom gives 2.0 to 4.3 % at the nominal 5 % for real entries,
# 3.7 % at 8 × 8 and 4.5 % at 30 × 8. At 4 × 3 it never finds anything. Of processor time the exact law takes 1 ms at
# 20 × 3, 4 ms at 20 × 5 and 40 ms at 8 × 8, the other 0.03 ms. In a batch each matrix takes as long.
# In single precision the constants of the exact law lose a digit with every power of ten of the larger size.
_SMALL, _LARGE = 3, 100


def _usual_method(n: int | None, p: int) -> RankMethodOfLevels:
    """The default method; n is None where it need not be an integer."""
    small = n is not None and min(n, p) <= _SMALL and max(n, p) <= _LARGE
    return "exact" if small else "tracy-widom"


def _whole(n: Any) -> int | None:
    """The number of observations where it is an integer of Python or NumPy; an effective one need not be."""
    return int(n) if isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 else None


def _integer_n(method: RankMethod, n: Any, noise: Any) -> int:
    """The static number of observations for a method that needs it, otherwise 0; its needs are checked."""
    needs, whole = METHODS[method], _whole(n) or 0
    if needs.needs_integer_n and not whole:
        raise _checks.refusal("n", f'be an integer for method="{method}"', n)
    if needs.refuses_noise and noise is not None:
        raise _checks.refusal("noise", f"be None for {needs.refuses_noise}", noise)
    return whole if needs.needs_integer_n else 0


def _draws(
    method: RankMethod, key: KeyScalar | None, resamples: int | None, alpha: Any
) -> tuple[KeyScalar | None, int]:
    """Key and number of the draws, which are None and 0 for methods without draws."""
    if not METHODS[method].needs_key:
        for name, value in (("key", key), ("resamples", resamples)):
            if value is not None:
                raise _checks.refusal(name, f'be left out for method="{method}", which makes no draws', value)
        return None, 0
    if key is None:
        raise _checks.refusal("key", f'be a typed key from `jax.random.key(seed)` for method="{method}"', key)
    resamples = 199 if resamples is None else _checks.integer("resamples", resamples, at_least=1)
    level = _checks.scalar("alpha", alpha)
    known = 0.0 if isinstance(level, Tracer) else float(level)
    if 0 < known < 1 and not is_significant(1 / (resamples + 1), known):
        least = math.ceil(1 / known * (1 - ROUNDING)) - 1
        raise _checks.refusal("resamples", f"be at least {least} for alpha = {known:.6g}", resamples)
    return _checks.typed_key(key), resamples


def _repeated(kind: str, change: str) -> _checks.Rule:
    return _checks.Rule(
        lambda numbers: (numbers < 0).all(-1),
        f"have no {kind} that repeats another one{change}",
        lambda numbers: to_leave_out(kind, np.unique(numbers[numbers >= 0])),
    )


_VARYING = _checks.Rule(
    lambda constant: ~constant.any(-1),
    "have no constant column",
    lambda constant: to_leave_out("column", np.flatnonzero(constant.reshape(-1, constant.shape[-1]).any(0))),
)
_NO_REPEATED_COLUMN = _repeated("column", " (up to its sign, and to a constant where a mean is taken away)")
_NO_REPEATED_ROW = _repeated("row", "")


def _between(largest: Any) -> Any:
    lowest, highest = range_of_squares(largest.dtype)
    return (largest > lowest) & (largest < highest)


_IN_RANGE = _checks.Rule(
    _between,
    "be in units in which the levels are within the range of their precision",
    lambda largest: f"{largest.dtype.name} with a largest level of {largest.max():.2g}",
)
# One level may be 0: with as many observations as variables the smallest level of noise is about 1/n² of the largest,
# and where all rows have the same sum it is 0 without any harm.
_RESOLVED = _checks.Rule(
    lambda unresolved, count, largest: unresolved <= 1 + count // 50,
    "be of full rank",
    lambda unresolved, count, largest: (
        f"{unresolved.max()} of {count} levels that are 0 to the rounding of the largest in {largest.dtype.name}; "
        "leave out dependent columns or rows"
    ),
)


def _kept(name: str, *rules: tuple[Any, ...]) -> Any:
    """Whether all rules hold, each given with its values; None is a value that was not looked for."""
    kept = (rule.kept(name, *values) for rule, *values in rules if values[0] is not None)
    return _checks.all_kept(True, *kept)


_NOT_MORE = _checks.Rule(
    lambda n, rows: n <= rows,
    lambda rows: (
        f"be at most {int(rows)}, the number of independent rows (it is an effective number of observations, "
        "which is smaller where rows depend on each other)"
    ),
)


def _number_of_levels(max_rank: int | None, most: int) -> int:
    if max_rank is None:
        return most
    max_rank = _checks.integer("max_rank", max_rank, at_least=1)
    if max_rank > most:
        raise _checks.refusal("max_rank", f"be at most min(n, p) = {most}", max_rank)
    return max_rank


def _checked_numbers(
    n: Any, alpha: Any, noise: Any, dtype: Any, batch: tuple[int, ...], rows: int | None = None
) -> tuple[tuple[Any, Any, Any], Any]:
    """Number of observations, alpha and noise in the precision of the data, and whether they are valid.

    The number is at most that of the independent rows, where there are any.
    """
    n, alpha = _checks.scalar("n", n), _checks.scalar("alpha", alpha)
    valid = _checks.all_kept(_checks.POSITIVE.kept("n", n), _checks.PROPER_FRACTION.kept("alpha", alpha))
    if rows is not None:
        valid = _checks.all_kept(valid, _NOT_MORE.kept("n", n, rows))
    real = jnp.finfo(dtype).dtype
    if noise is not None:
        noise, positive = noise_level(noise, batch, real)
        valid = _checks.all_kept(valid, positive)
    return (n.astype(real), alpha.astype(real), noise), valid


def _finished(valid: Any, result: SignalRank, n: Any) -> SignalRank:
    """The record without numbers where it is not valid, and with n as an integer where it is one."""
    n = _whole(n) or result.n
    return dataclasses.replace(masked_each(valid, result.rank.ndim, dataclasses.replace(result, n=None)), n=n)
