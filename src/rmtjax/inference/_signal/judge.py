"""From levels to a rank, and the record of what the rank rests on."""

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._compile import compiled, is_small, programs
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, like
from rmtjax._staging import is_traced
from rmtjax._typing import KeyScalar, RankMethod, RealOrComplex
from rmtjax._units import unit_of
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.inference._core.data import departures, in_unit, without_mean
from rmtjax.inference._core.sample_spectrum import sample_levels, sample_spectrum
from rmtjax.inference._signal.largest_level import remaining
from rmtjax.inference._signal.methods import METHODS, Sample, Verdict
from rmtjax.inference._signal.noise_check import NoiseCheck, checked_noise, warnings
from rmtjax.inference._signal.noise_covariance import roots
from rmtjax.inference._signal.repeated import repeated_columns, repeated_rows
from rmtjax.inference._signal.resampled import Draws
from rmtjax.inference._signal.spikes import SpikeEstimates, estimates


class Seen(NamedTuple):
    """The data behind a record, and how they were judged."""

    data: Inexact[Array, "*batch n p"]
    center: bool
    covariance: Inexact[Array, "..."] | None  # of the noise of a row


class SignalRank(AbstractModule):
    """The number of components that are signal, as `signal_rank` returns it, with what it rests on.

    As text it is one line, and a line for each of its `warnings`. `kurtosis`, `noise_spread` and `warnings` look at the
    noise of the data, when they are asked for, so the record keeps the data in memory. A record from levels has None
    for them, and so has one that is the result of a function under a transformation: ask for them inside of it. The
    data are not copied or written to a file with the record, whose copy has None as well.

    Args:
        rank: how many levels are signal; -1 where the data are not valid.
        p_values: p-value of each level as noise behind all larger ones, largest level first; None for methods without.
        edge: the threshold of the method; for tests the level around which the largest one of the noise fluctuates.
        noise: σ, as it was given or as it was estimated from the levels that are noise.
        levels: the levels of $X^*X/n$ that were judged, largest first.
        spikes: what the levels say of the population if the noise is white; NaN from the rank on.
        n: number of observations that the formulas took: with `center`, the default, one less than the number of rows,
            unlike in `Denoised`; or the number that was given. An integer unless it was given as another number.
        p: number of variables; static.
        method: the method that was taken; static.

    Example:
        >>> import jax, rmtjax as rmt
        >>> found = rmt.inference.signal_rank(jax.random.normal(jax.random.key(0), (50, 8)) + 3.0)
        >>> print(found.n, found.p, found.p_values.shape)
        49 8 (8,)
        >>> print(found.warnings)
        ()
    """

    rank: Int[Array, "*batch"]
    p_values: Float[Array, "*batch k"] | None
    edge: Float[Array, "*batch"]
    noise: Float[Array, "*batch"]
    levels: Float[Array, "*batch k"]
    spikes: SpikeEstimates
    n: int | Float[Array, ""]
    p: int = eqx.field(static=True)
    method: RankMethod = eqx.field(static=True)

    _derived = ("warnings",)
    # Set by `signal_rank`. It is not a leaf: data are not copied, and records derived from this one do not inherit it.
    _seen: ClassVar[Seen | None] = None

    @property
    def kurtosis(self) -> Float[Array, "*batch"] | None:
        r"""The excess kurtosis of the noise, which is left of the data without the signal; 0 for normal noise.

        It is the mean over the columns, each in its own unit. For complex data it is $E|x|^4/(E|x|^2)^2 - 2$. For
        normal noise its mean is 0 and its standard deviation about $\sqrt{24/np}$, or $\sqrt{4/np}$ if it is complex.
        """
        check = self._check()
        return None if check is None else check.kurtosis

    @property
    def noise_spread(self) -> Float[Array, "*batch"] | None:
        """The coefficient of variation of the variances of the noise over the columns; 0 for white noise.

        It is estimated from what is left of the data without the signal. What the finite number of rows adds is taken
        away, so in half of the matrices of white noise it is 0.
        """
        check = self._check()
        return None if check is None else check.spread

    @property
    def warnings(self) -> tuple[str, ...] | None:
        """Ways in which the noise departs from what the method assumes, each with a method that allows for it.

        Normal noise of equal columns is warned of by chance in 1 % of the matrices for heavy or light tails and in 1 %
        for unequal columns. Departures that hardly change the rate of false alarms are left unsaid. A method for equal
        columns also warns where nearly all of more than 3 levels passed, which unequal columns can cause, and too
        little noise is left to look at. Every method warns where the variance of a column is more than 100 times as
        large or as small as the median of all, as that of a row number or of another unit. It needs known numbers.
        """
        np.asarray(self.rank)  # refused under a transformation, before anything is computed
        check = self._check()
        if check is None:
            return None
        needs = METHODS[self.method]
        known = {"assumes_normal": needs.assumes_normal, "assumes_equal_columns": needs.assumes_equal_columns}
        return warnings(check, **known)

    def _check(self) -> NoiseCheck | None:
        if self._seen is None:
            return None
        data, center, covariance = self._seen
        if covariance is not None:
            data = (departures(data) if center else data) @ roots(covariance).white
        return checked_noise(data, self.rank, center)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a file gets: all but the data."""
        return {name: value for name, value in self.__dict__.items() if name != "_seen"}

    def __str__(self) -> str:
        if is_traced(self) or not self.rank.size:
            return repr(self)
        found = f"{_span(self.rank)} of {self.levels.shape[-1]} levels are signal ({self.method})"
        each = f" in each of {self.rank.size} matrices" if self.rank.ndim else ""
        unseen = ", noise not looked at" if self._seen is None else ""
        line = f"{found}{each}; n = {_span(self.n, '.6g')}, p = {self.p}, noise {_span(self.noise, '.4g')}{unseen}"
        return "\n".join([line, *(f"warning: {each}" for each in self.warnings or ())])


def _span(values: Any, kind: str = "") -> str:
    """A number, or the smallest and the largest of several; NaN and -1, of invalid matrices, only if all are."""
    numbers = np.ravel(np.asarray(values))
    valid = numbers[numbers >= 0]
    ends = (valid.min(), valid.max()) if valid.size else (numbers[0],)
    return " to ".join(dict.fromkeys(format(end.item(), kind) for end in ends))


class Findings(NamedTuple):
    """What may be wrong with data and levels; None for what was not looked for."""

    largest: Float[Array, "*batch"]  # level
    unresolved: Int[Array, "*batch"]  # number of levels within the rounding of the largest
    constant: Bool[Array, "*batch p"] | None = None  # columns
    repeated_columns: Int[Array, "*batch p-1"] | None = None  # their numbers, and -1
    repeated_rows: Int[Array, "*batch n-1"] | None = None


class Setting(NamedTuple):
    """What is static where data are judged."""

    method: RankMethod
    tests: int  # how many of the levels are judged
    integer_n: int  # n for a method that needs it, and 0 for others
    center: bool
    resamples: int
    p: int
    beta: RealOrComplex


class _Observed(NamedTuple):
    """What data show, in their unit, before they are judged."""

    levels: Float[Array, "*batch k"]
    of_columns: tuple[Any, ...]  # the spectrum and the rows of mean 0, for methods that need columns
    unit: Float[Array, "*batch"]
    findings: Findings


def _observed(
    data: Inexact[Array, "*batch n p"], covariance: Inexact[Array, "..."] | None, setting: Setting
) -> _Observed:
    needs, center = METHODS[setting.method], setting.center
    data, unit = in_unit(data)
    unit = unit[..., 0, 0]
    constant = jnp.all(data == (data[..., :1, :] if center else 0), axis=-2)
    count = data.shape[-2] - center
    columns = rows = None
    if needs.refuses_repeats:
        rows = repeated_rows(data, center=center) if count <= setting.p else None
        columns = repeated_columns(data, center=center)
    if covariance is not None:
        data, size = in_unit((departures(data) if center else data) @ roots(covariance).white)
        unit = unit * size[..., 0, 0]
    if needs.needs_columns:
        centered = without_mean(data) if center else data
        spectrum = sample_spectrum(centered)
        levels, of_columns = spectrum.levels, (spectrum, centered)
    else:
        levels, of_columns = sample_levels(data, center=center), ()
    return _Observed(levels, of_columns, unit, _findings(levels, count, constant, columns, rows))


Numbers = tuple[Float[Array, ""], Float[Array, ""], Float[Array, "..."] | None]  # n, alpha and σ


def _sample(observed: _Observed, numbers: Numbers, key: KeyScalar | None, setting: Setting) -> Sample:
    n, alpha, noise = numbers
    draws = None if key is None else Draws(key, setting.resamples, setting.center)
    noise = None if noise is None else noise / observed.unit
    return Sample(observed.levels, setting.tests, n, setting.p, setting.beta, alpha, noise, setting.integer_n, draws)


def _verdict(observed: _Observed, numbers: Numbers, key: KeyScalar | None, setting: Setting) -> Verdict:
    return METHODS[setting.method].judge(_sample(observed, numbers, key, setting), *observed.of_columns)


def _concluded(
    observed: _Observed, numbers: Numbers, verdict: Verdict, setting: Setting
) -> tuple[SignalRank, Findings]:
    result = _record(_sample(observed, numbers, None, setting), verdict, setting.method)
    return _with_unit(observed.unit, result, observed.findings)


def _judged_at_once(
    data: Inexact[Array, "*batch n p"], covariance: Inexact[Array, "..."] | None, numbers: Numbers, setting: Setting
) -> tuple[SignalRank, Findings]:
    observed = _observed(data, covariance, setting)
    return _concluded(observed, numbers, _verdict(observed, numbers, None, setting), setting)


_program = functools.partial(programs, nan_is_an_answer=True)
_AT_ONCE, _OBSERVED = _program(_judged_at_once, static_argnums=3), _program(_observed, static_argnums=2)
_VERDICT, _CONCLUDED = _program(_verdict, static_argnums=3), _program(_concluded, static_argnums=3)
# A draw takes about as many steps for each entry.
_STEPS = 32


def judged_data(
    data: Inexact[Array, "*batch n p"],
    numbers: Numbers,
    covariance: Inexact[Array, "..."] | None,
    key: KeyScalar | None,
    setting: Setting,
) -> tuple[SignalRank, Findings]:
    """The result, and what is wrong with the data."""
    inputs = data, numbers, covariance, key
    small = is_small(inputs)
    if key is None:
        return _AT_ONCE(small)(data, covariance, numbers, setting)
    # The draws have a program of their own, because they alone run long enough for XLA's passes to pay off.
    work = _STEPS * setting.resamples * data.size
    observed = _OBSERVED(small)(data, covariance, setting)
    verdict = _VERDICT(is_small(inputs, work=work))(observed, numbers, key, setting)
    return _CONCLUDED(small)(observed, numbers, verdict, setting)


@functools.partial(compiled, static_argnums=(4, 5, 6, 7, 8), nan_is_an_answer=True)
def judged_levels(
    levels: Float[Array, "*batch k"],
    n: Float[Array, ""],
    alpha: Float[Array, ""],
    noise: Float[Array, "..."] | None,
    method: RankMethod,
    tests: int,
    integer_n: int,
    p: int,
    beta: RealOrComplex,
) -> tuple[SignalRank, Findings]:
    """The result from ascending levels, and what is wrong with them."""
    # A unit of data has its square as the unit of levels.
    unit = unit_of(jnp.sqrt(levels[..., -1]))
    scaled = levels / (unit * unit)[..., None]
    sample = Sample(scaled, tests, n, p, beta, alpha, None if noise is None else noise / unit, integer_n)
    return _with_unit(unit, _record(sample, METHODS[method].judge(sample), method), _findings(scaled, n))


def _with_unit(unit: Float[Array, "*batch"], result: SignalRank, findings: Findings) -> tuple[SignalRank, Findings]:
    """The results for data in this unit, brought back to the unit of the caller."""
    each, spikes = unit[..., None], result.spikes
    # Twice, as the square of the unit may be out of range where the result is not.
    population = jax.tree.map(lambda leaf: leaf * each * each, spikes.population)
    spikes = dataclasses.replace(spikes, population=population, singular=spikes.singular * each)
    edge, noise, levels = result.edge * unit * unit, result.noise * unit, result.levels * each * each
    found = dataclasses.replace(result, edge=edge, noise=noise, levels=levels, spikes=spikes)
    return found, findings._replace(largest=findings.largest * unit * unit)


def _findings(ascending: Float[Array, "*batch k"], n: Float[Array, ""] | int, *of_data: Array | None) -> Findings:
    largest = ascending[..., -1]
    # Measured on products of thin matrices up to 1000 × 600, levels that should be 0 are below 4 eps of the largest.
    lost = ascending < 16 * jnp.finfo(ascending.dtype).eps * largest[..., None]
    # All levels behind the n-th are 0 in any case.
    counts = like(ascending, jnp.arange(ascending.shape[-1])[::-1]) < n
    return Findings(largest, jnp.sum(jnp.where(counts, lost, False), axis=-1), *of_data)


def _record(sample: Sample, verdict: Verdict, method: RankMethod) -> SignalRank:
    """The result: the rank is the number of levels before the first that is not signal."""
    n, p, beta, noise, levels = sample.n, sample.p, sample.beta, sample.noise, sample.levels
    rank = jnp.sum(jnp.cumprod(verdict.signal, axis=-1), axis=-1)
    chosen = lambda values: jnp.take_along_axis(values, rank[..., None], axis=-1)[..., 0]
    number = like(levels, rank)
    rows, columns = n if noise is not None else n - number, p - number
    if noise is None:
        rest = sample.rest
        sums = jnp.concatenate([remaining(levels, rest), rest[..., None]], axis=-1)
        noise = jnp.sqrt(n * chosen(sums) / (rows * columns))
    edges = verdict.edges
    if edges is None:
        edge = noise**2 * largest_laguerre_level(rows, columns, beta)[0] / n
    else:
        edge = edges[..., 0] if edges.shape[-1] == 1 else chosen(jnp.concatenate([edges, edges[..., -1:]], axis=-1))
    spikes = estimates(levels, n, p, noise[..., None], beta)
    is_signal: Bool[Array, "*batch t"] = jnp.less(*aligned(jnp.arange(sample.tests, dtype=rank.dtype), rank[..., None]))
    spikes = jax.tree.map(lambda leaf: jnp.where(is_signal, leaf, jnp.nan), spikes)
    return SignalRank(rank, verdict.p_values, edge, noise, levels, spikes, n, p, method)
