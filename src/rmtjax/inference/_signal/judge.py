"""From levels to a rank: the judgement of each method, and the record of what it rests on."""

import dataclasses
import functools
from typing import NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, like
from rmtjax._typing import RankMethod, RankMethodOfLevels, RealOrComplex
from rmtjax._units import unit_of
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.inference._core.data import in_unit, without_mean
from rmtjax.inference._core.sample_spectrum import sample_levels, sample_spectrum
from rmtjax.inference._signal.exact import wishart_p_values
from rmtjax.inference._signal.largest_level import known_noise_p_values, ratio_p_values, remaining
from rmtjax.inference._signal.repeated import repeated_columns, repeated_rows
from rmtjax.inference._signal.spikes import SpikeEstimates, estimates
from rmtjax.inference._signal.thresholds import column_edges, hard_threshold_level, mean_squares

# Methods that need no more than the levels.
_OF_LEVELS = get_args(RankMethodOfLevels)


class SignalRank(AbstractModule):
    """The number of components that are signal, as `signal_rank` returns it, with what it rests on.

    Args:
        rank: how many levels are signal; -1 where the data are not valid.
        p_values: that each level, behind those before it, is noise; largest level first. None for methods without.
        edge: the threshold of the method; for tests the level around which the largest one of the noise fluctuates.
        noise: σ, as it was given or as it was estimated from the levels that are noise.
        levels: those of $X^*X/n$ that were judged, largest first.
        spikes: what the levels say of the population if the noise is white; NaN from the rank on.
        n: number of observations that the formulas took: with `center`, the default, the rows of the data less one,
            unlike that of `Denoised`; or the number that was given. An integer unless it was given as another number.
        p: number of variables; static.

    Example:
        >>> import jax, rmtjax as rmt
        >>> found = rmt.inference.signal_rank(jax.random.normal(jax.random.key(0), (50, 8)) + 3.0)
        >>> print(found.n, found.p, found.p_values.shape)
        49 8 (8,)
    """

    rank: Int[Array, "*batch"]
    p_values: Float[Array, "*batch k"] | None
    edge: Float[Array, "*batch"]
    noise: Float[Array, "*batch"]
    levels: Float[Array, "*batch k"]
    spikes: SpikeEstimates
    n: int | Float[Array, ""]
    p: int = eqx.field(static=True)


class Findings(NamedTuple):
    """What the rules on the values of data and levels need to know."""

    largest: Float[Array, "*batch"]  # level
    unresolved: Int[Array, "*batch"]  # number of levels within the rounding of the largest
    columns: "Columns | None" = None  # where there are any


class Columns(NamedTuple):
    """What may be wrong with columns, and with rows where there are no more of them than columns.

    Parallel analysis takes columns as they are, and is not asked for those that repeat.
    """

    constant: Bool[Array, "*batch p"]
    repeated: Int[Array, "*batch p-1"] | None  # their numbers, and -1
    repeated_rows: Int[Array, "*batch n-1"] | None


class Options(NamedTuple):
    """What is static."""

    method: RankMethod
    beta: RealOrComplex
    tests: int
    p: int
    rows: int | None  # the number of observations, for the method that needs it static


@functools.partial(compiled, static_argnums=(4, 5), nan_is_an_answer=True)
def judged_data(
    data: Inexact[Array, "*batch n p"],
    n: Float[Array, ""],
    alpha: Float[Array, ""],
    noise: Float[Array, "..."] | None,
    options: Options,
    center: bool,
) -> tuple[SignalRank, Findings]:
    """The result, and what is wrong with the data."""
    data, unit = in_unit(data)
    unit = unit[..., 0, 0]
    columns = _columns(data, center, tested=options.method in _OF_LEVELS)
    if options.method in _OF_LEVELS:
        levels = sample_levels(data, center=center)
        result = _judged(levels, n, alpha, None if noise is None else noise / unit, options)
        return _with_unit(unit, result, _findings(levels, data.shape[-2] - center, columns))
    rows = without_mean(data) if center else data
    deflate = options.method.startswith("deflated")
    spectrum = sample_spectrum(rows)
    edges = column_edges(spectrum, mean_squares(rows), n, options.tests, deflate=deflate)
    result = _record(
        spectrum.levels, spectrum.levels[..., ::-1][..., : options.tests] > edges, edges, None, n, None, options
    )
    return _with_unit(unit, result, _findings(spectrum.levels, rows.shape[-2], columns))


def _with_unit(unit: Float[Array, "*batch"], result: SignalRank, findings: Findings) -> tuple[SignalRank, Findings]:
    """The results for data in this unit, brought back to the unit of the caller."""
    each, spikes = unit[..., None], result.spikes
    # Twice, as the square of the unit may be out of range where the result is not.
    population = jax.tree.map(lambda leaf: leaf * each * each, spikes.population)
    spikes = dataclasses.replace(spikes, population=population, singular=spikes.singular * each)
    edge, noise, levels = result.edge * unit * unit, result.noise * unit, result.levels * each * each
    found = dataclasses.replace(result, edge=edge, noise=noise, levels=levels, spikes=spikes)
    return found, findings._replace(largest=findings.largest * unit * unit)


def _columns(data: Inexact[Array, "*batch n p"], center: bool, *, tested: bool) -> Columns:
    first = data[..., :1, :] if center else 0
    constant = jnp.all(data == first, axis=-2)
    if not tested:
        return Columns(constant, None, None)
    few = data.shape[-2] - center <= data.shape[-1]
    rows = repeated_rows(data, center=center) if few else None
    return Columns(constant, repeated_columns(data, center=center), rows)


@functools.partial(compiled, static_argnums=(4,), nan_is_an_answer=True)
def judged_levels(
    levels: Float[Array, "*batch k"],
    n: Float[Array, ""],
    alpha: Float[Array, ""],
    noise: Float[Array, "..."] | None,
    options: Options,
) -> tuple[SignalRank, Findings]:
    """The result from ascending levels, and what is wrong with them."""
    # A unit of data has its square as the unit of levels.
    unit = unit_of(jnp.sqrt(levels[..., -1]))
    scaled = levels / (unit * unit)[..., None]
    result = _judged(scaled, n, alpha, None if noise is None else noise / unit, options)
    return _with_unit(unit, result, _findings(scaled, n))


def _findings(
    ascending: Float[Array, "*batch k"], n: Float[Array, ""] | int, columns: Columns | None = None
) -> Findings:
    largest = ascending[..., -1]
    # Measured on products of thin matrices up to 1000 × 600, levels that should be 0 are below 4 eps of the largest.
    lost = ascending < 16 * jnp.finfo(ascending.dtype).eps * largest[..., None]
    # Behind the n-th there is nothing but zeros.
    counts = like(ascending, jnp.arange(ascending.shape[-1])[::-1]) < n
    return Findings(largest, jnp.sum(jnp.where(counts, lost, False), axis=-1), columns)


def _judged(
    ascending: Float[Array, "*batch k"],
    n: Float[Array, ""],
    alpha: Float[Array, ""],
    noise: Float[Array, "..."] | None,
    options: Options,
) -> SignalRank:
    method, beta, tests, p, rows = options
    levels, rest = _largest(ascending, tests)
    if method == "hard-threshold":
        edge = hard_threshold_level(ascending, n, p, noise)
        return _record(ascending, levels > edge[..., None], edge[..., None], None, n, noise, options)
    if noise is None:
        p_values = ratio_p_values(levels, rest, n, p, beta)
    elif method == "exact":
        assert rows is not None  # where the method is exact
        p_values = wishart_p_values(n * levels / noise[..., None] ** 2, rows, p, beta)
    else:
        p_values = known_noise_p_values(n * levels / noise[..., None] ** 2, n, p, beta)
    return _record(ascending, p_values < alpha, None, p_values, n, noise, options)


def _largest(
    ascending: Float[Array, "*batch k"], tests: int
) -> tuple[Float[Array, "*batch t"], Float[Array, "*batch"]]:
    """So many of the largest levels, descending, and the sum of the others."""
    return ascending[..., ::-1][..., :tests], jnp.sum(ascending[..., : ascending.shape[-1] - tests], axis=-1)


def _record(
    ascending: Float[Array, "*batch k"],
    signal: Bool[Array, "*batch t"],
    edges: Float[Array, "*batch _"] | None,
    p_values: Float[Array, "*batch t"] | None,
    n: Float[Array, ""],
    noise: Float[Array, "..."] | None,
    options: Options,
) -> SignalRank:
    """The result, from which of the levels would be signal if all before it are."""
    _, beta, tests, p, _ = options
    levels, rest = _largest(ascending, tests)
    rank = jnp.sum(jnp.cumprod(signal, axis=-1), axis=-1)
    chosen = lambda values: jnp.take_along_axis(values, rank[..., None], axis=-1)[..., 0]
    number = like(levels, rank)
    rows, columns = n if noise is not None else n - number, p - number
    if noise is None:
        sums = jnp.concatenate([remaining(levels, rest), rest[..., None]], axis=-1)
        noise = jnp.sqrt(n * chosen(sums) / (rows * columns))
    noise = jnp.broadcast_to(noise, rank.shape)
    if edges is None:
        edge = noise**2 * largest_laguerre_level(rows, columns, beta)[0] / n
    else:
        edge = edges[..., 0] if edges.shape[-1] == 1 else chosen(jnp.concatenate([edges, edges[..., -1:]], axis=-1))
    spikes = estimates(levels, n, p, noise[..., None], beta)
    is_signal: Bool[Array, "*batch t"] = jnp.less(*aligned(jnp.arange(tests, dtype=rank.dtype), rank[..., None]))
    spikes = jax.tree.map(lambda leaf: jnp.where(is_signal, leaf, jnp.nan), spikes)
    return SignalRank(rank, p_values, edge, noise, levels, spikes, n, p)
