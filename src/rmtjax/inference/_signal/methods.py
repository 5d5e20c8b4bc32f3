"""The methods of `signal_rank`: what each of them needs, and which levels it takes for signal."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax._typing import RankMethod, RealOrComplex
from rmtjax.inference._core.noise_law import median_level
from rmtjax.inference._core.sample_spectrum import SampleSpectrum
from rmtjax.inference._signal.exact import wishart_p_values
from rmtjax.inference._signal.exact_ratio import exact_ratio_p_values
from rmtjax.inference._signal.hard_threshold import known_noise, ratio
from rmtjax.inference._signal.largest_level import known_noise_p_values, ratio_p_values
from rmtjax.inference._signal.resampled import Draw, Draws, is_significant, permuted, resampled, with_signs
from rmtjax.laws import GeneralMarchenkoPastur


class Sample(NamedTuple):
    """What a method knows of a data matrix."""

    ascending: Float[Array, "*batch k"]  # all levels of S
    tests: int  # how many of the levels are judged
    n: Float[Array, ""]
    p: int
    beta: RealOrComplex
    alpha: Float[Array, ""]  # the rate of false alarms of each test
    noise: Any  # σ of each matrix, or None where it is not known
    integer_n: int = 0  # n, for a method that needs an integer
    draws: Draws | None = None  # for a method that needs a key

    @property
    def levels(self) -> Float[Array, "*batch t"]:
        """The levels that are judged, descending."""
        return self.ascending[..., ::-1][..., : self.tests]

    @property
    def rest(self) -> Float[Array, "*batch"]:
        """The sum of the levels that are not judged."""
        return jnp.sum(self.ascending[..., : self.ascending.shape[-1] - self.tests], axis=-1)

    @property
    def over_noise(self) -> Float[Array, "*batch t"]:
        """The levels of X*X that are judged, in units of the known σ²."""
        return self.n * self.levels / self.noise[..., None] ** 2


class Verdict(NamedTuple):
    """What a method says of the levels that are judged."""

    signal: Bool[Array, "*batch t"]  # whether each level is signal if all larger ones are
    p_values: Float[Array, "*batch t"] | None = None
    edges: Float[Array, "*batch _"] | None = None  # the threshold of each level, or one for all


class Method(NamedTuple):
    """A method and its needs."""

    # A function of the sample and, if the method needs columns, of the spectrum of S and the rows of mean 0.
    judge: Callable[..., Verdict]
    # Ends the sentence "`noise` must be None for …" where the noise must not be given; so does the next one for `n`.
    refuses_noise: str = ""
    refuses_n: str = ""
    needs_integer_n: bool = False
    needs_columns: bool = False
    refuses_repeats: bool = True  # whether repeated columns and rows would be taken for signal
    needs_key: bool = False
    # What the noise has to be, for the warnings of the record.
    assumes_normal: bool = True
    assumes_equal_columns: bool = True


def _by_p_values(sample: Sample, p_values: Float[Array, "*batch t"]) -> Verdict:
    return Verdict(p_values < sample.alpha, p_values=p_values)


def _tracy_widom(sample: Sample) -> Verdict:
    sizes = (sample.n, sample.p, sample.beta)
    if sample.noise is None:
        return _by_p_values(sample, ratio_p_values(sample.levels, sample.rest, *sizes))
    return _by_p_values(sample, known_noise_p_values(sample.over_noise, *sizes))


def _exact(sample: Sample) -> Verdict:
    sizes = (sample.integer_n, sample.p, sample.beta)
    if sample.noise is None:
        return _by_p_values(sample, exact_ratio_p_values(sample.levels, sample.rest, *sizes))
    return _by_p_values(sample, wishart_p_values(sample.over_noise, *sizes))


def _above(sample: Sample, edges: Float[Array, "*batch _"]) -> Verdict:
    return Verdict(sample.levels > edges, edges=edges)


def _hard_threshold(sample: Sample) -> Verdict:
    """The edge is the square of the threshold of `optimal_hard_threshold` over n."""
    n, p = sample.n, sample.p
    shape = ratio(n, jnp.asarray(p, n.dtype))
    known = known_noise(shape)
    if sample.noise is not None:
        edge = (known * sample.noise) ** 2 * jnp.maximum(n, p) / n
    else:
        edge = known**2 / median_level(shape) * jnp.median(jnp.sqrt(sample.ascending), axis=-1) ** 2
    return _above(sample, edge[..., None])


def _parallel_analysis(
    sample: Sample, spectrum: SampleSpectrum, rows: Inexact[Array, "*batch n p"], *, deflate: bool
) -> Verdict:
    r"""The edges are those of noise whose columns have the mean squares of the rows.

    With `deflate` there is an edge for each level: the mean squares are without the part λ - e of each larger level λ,
    where e is the edge without the whole level. The whole level would take its noise away too. Then each level of noise
    that is above its edge by chance lowers the next edge by more than the next level falls, and up to all levels pass.
    """
    squares = jnp.mean(jnp.abs(rows) ** 2, axis=-2)
    flat = squares.reshape(-1, squares.shape[-1])
    edge = lambda population: GeneralMarchenkoPastur(population.shape[-1] / sample.n, population).support()[1]
    if not deflate:
        return _above(sample, jax.lax.map(edge, flat).reshape(*squares.shape[:-1], 1))
    k = spectrum.levels.shape[-1]
    levels, shares = spectrum.levels[..., ::-1], jnp.abs(jnp.swapaxes(spectrum.vectors, -1, -2)[..., ::-1, :]) ** 2
    levels = levels.reshape(-1, k)[:, : sample.tests]
    shares = shares.reshape(-1, k, flat.shape[-1])[:, : sample.tests]

    def edges(matrix: tuple) -> Float[Array, " t"]:
        whole, *each = matrix

        def step(left: Float[Array, " p"], part: tuple) -> tuple[Float[Array, " p"], Float[Array, ""]]:
            level, share = part
            found = edge(left)
            # A column that is explained to rounding has no noise that could be seen.
            without = lambda size: jnp.maximum(left - size * share, 4 * jnp.finfo(left.dtype).eps * whole)
            signal = jnp.maximum(level - edge(without(level)), 0)
            return jnp.where(level > found, without(signal), left), found

        return jax.lax.scan(step, whole, tuple(each))[1]

    return _above(sample, jax.lax.map(edges, (flat, levels, shares)).reshape(*squares.shape[:-1], -1))


def _resampled(sample: Sample, spectrum: SampleSpectrum, rows: Inexact[Array, "*batch n p"], *, draw: Draw) -> Verdict:
    """The p-values behind the first that is not significant are not computed."""
    assert sample.draws is not None
    p_values, centres = resampled(draw, sample.draws, sample.levels, spectrum.vectors, rows, sample.alpha)
    return Verdict(is_significant(p_values, sample.alpha), p_values, centres)


_REFUSAL = "parallel analysis, which takes it from each column"
_of_columns = partial(
    Method, refuses_noise=_REFUSAL, needs_columns=True, refuses_repeats=False, assumes_equal_columns=False
)
_of_draws = partial(
    Method,
    refuses_noise="a method that takes it from the entries",
    refuses_n="a method of independent rows",
    needs_columns=True,
    needs_key=True,
    assumes_normal=False,
    assumes_equal_columns=False,
)

METHODS: dict[RankMethod, Method] = {
    "tracy-widom": Method(_tracy_widom),
    "exact": Method(_exact, needs_integer_n=True),
    "hard-threshold": Method(_hard_threshold),
    "parallel-analysis": _of_columns(partial(_parallel_analysis, deflate=False)),
    "deflated-parallel-analysis": _of_columns(partial(_parallel_analysis, deflate=True)),
    "permutation": _of_draws(partial(_resampled, draw=permuted)),
    "random-signs": _of_draws(partial(_resampled, draw=with_signs)),
}
