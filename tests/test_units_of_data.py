"""No statistic, reducer, estimator or decision depends on the unit of its data, nor on an origin that cancels."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rmtjax as rmt
from tests.cases import daily
from tests.registry import PUBLIC

pytestmark = pytest.mark.float32

inference, statistics, simulation, laws = rmt.inference, rmt.statistics, rmt.simulation, rmt.laws
DRAW = np.random.default_rng(1955)


@dataclass(frozen=True)
class Scaled:
    """A function of data that have a unit.

    Args:
        fn: takes the operands and returns its results by their degrees in the unit: `{2: variances, 0: ranks}`.
        operands: arrays of degree 1, in their unit of order 1.
        ulps: of the largest number of an array of results, by which it may differ in another unit that is no power of
            two, where the operands are rounded otherwise.
        exact: whether it must be the same to the last bit in a unit that is a power of two.
    """

    fn: Callable[..., dict[int, Any]]
    operands: tuple
    ulps: float = 64
    exact: bool = True


LEVELS = np.sort(DRAW.normal(size=(3, 20)))
PLANE = DRAW.normal(size=(2, 12)) + 1j * DRAW.normal(size=(2, 12))
EDGES = np.linspace(-2.0, 2.0, 6)
DATA = DRAW.normal(size=(24, 9)) + 4 * np.outer(DRAW.normal(size=24), DRAW.normal(size=9))
NOISE = np.array(1.0)
WIDE = DATA.T @ DRAW.normal(size=(24, 30)) / 5 + DRAW.normal(size=(9, 30))
PATCHES = DRAW.normal(size=(2, 27, 8)) + 3 * DRAW.normal(size=(2, 27, 1)) * DRAW.normal(size=(2, 1, 8))
LOW_RANK = DRAW.normal(size=(30, 3)) @ DRAW.normal(size=(3, 20))
IMAGE = DRAW.normal(size=(5, 5, 6)) + np.linspace(0, 4, 6)
SYMMETRIC = DRAW.normal(size=(40, 40))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T
POPULATION = DATA.T @ DATA / 24
VECTORS = DRAW.normal(size=(7, 3)) + 1j * DRAW.normal(size=(7, 3))
SAMPLE = DRAW.exponential(size=40)
SPACINGS = DRAW.pareto(1.5, size=60) + 1


def unfolded(found: Any) -> dict[int, Any]:
    return {0: (found.values, found.mask, found.report.residual, found.report.monotone)}


def masked(degree: int, found: Any) -> dict[int, Any]:
    return {0: (found.values, found.mask)} if degree == 0 else {degree: found.values, 0: found.mask}


def reduced(reduce: Any, unit: Any, fn: Callable = jax.random.exponential) -> Any:
    """What a reducer makes of 500 draws in a unit."""
    draw = lambda key, unit: unit * fn(key, (3,))
    return rmt.simulate(draw, jax.random.key(0), 500, args=(unit,), reduce=reduce, batch_size=64, progress=False)


def moments(unit: Any) -> dict[int, Any]:
    found = reduced(rmt.Moments(4), unit)
    second = found.variance, found.variance_standard_error
    return {1: (found.mean, found.standard_error), 2: second, 0: (found.count, found.skewness, found.kurtosis)}


def covariance(unit: Any) -> dict[int, Any]:
    found = reduced(simulation.Covariance(), unit)
    return {
        1: (found.mean, found.mean_standard_error),
        2: (found.covariance, found.standard_error),
        0: (found.correlation, found.correlation_standard_error),
    }


def deviation(found: Any) -> Any:
    return np.sqrt(found.variance)


def jackknife(unit: Any) -> dict[int, Any]:
    found = reduced(simulation.Jackknife(deviation), unit)
    return {1: (found.value, found.standard_error), 2: []}  # the statistic is that of a variance


def quantiles(unit: Any) -> dict[int, Any]:
    found = reduced(simulation.Quantiles((0.1, 0.5), size=2048), unit)
    return {1: (found.values, found.standard_error), 0: found.rank_standard_error}


def histogram(unit: Any) -> dict[int, Any]:
    found = reduced(rmt.Histogram(unit * jnp.asarray([0.0, 0.5, 2.0])), unit)
    return {-1: (found.density(), found.standard_error), 0: (found.counts, found.counts_standard_error)}


def extremes(unit: Any) -> dict[int, Any]:
    found = reduced(simulation.Extremes(2), unit)
    return {1: (found.smallest, found.largest), 0: (found.smallest_index, found.largest_index)}


def kept(unit: Any) -> dict[int, Any]:
    return {1: reduced((simulation.Keep(3), simulation.Part(jnp.sum, simulation.Collect())), unit)[0].values}


def over_samples(x: Any) -> dict[int, Any]:
    plain = statistics.over_samples(lambda x: x, x)
    combined = statistics.over_samples(lambda x: (x, x), x, combine=lambda means: means[0] * 3 + means[1])
    return {1: (plain.value, plain.standard_error, combined.value, combined.standard_error, plain.interval())}


def signal_rank(x: Any, *noise: Any, **options: Any) -> dict[int, Any]:
    found = inference.signal_rank(x, noise=noise[0] if noise else None, **options)
    spikes = found.spikes
    second = found.levels, found.edge, spikes.population
    cosines = spikes.variable_cosine, spikes.observation_cosine
    return {0: (found.rank, found.p_values, cosines), 1: (found.noise, spikes.singular), 2: second}


def noise_of_ranks(x: Any) -> dict[int, Any]:
    found = inference.signal_rank(x)
    return {0: (found.kurtosis, found.noise_spread)}


def denoise(x: Any, *noise: Any, **options: Any) -> dict[int, Any]:
    found = inference.denoise(x, noise=noise[0] if noise else None, **options)
    return {0: found.rank, 1: (found.matrix, found.singular_values, found.shrunk_values, found.noise)}


def denoise_patches(x: Any, **options: Any) -> dict[int, Any]:
    found = inference.denoise_patches(x, **options)
    return {0: found.rank, 1: (found.patches, found.noise)}


def of_low_rank(x: Any) -> dict[int, Any]:
    """What is left of the matrix; its noise is rounding."""
    found = inference.denoise(x)
    assert found.rank == 3
    return {0: found.rank, 1: (found.matrix, found.shrunk_values)}


def patches_of_low_rank(x: Any) -> dict[int, Any]:
    found = inference.denoise_patches(x)
    assert found.rank == 3
    return {0: found.rank, 1: found.patches}


def denoise_image(x: Any) -> dict[int, Any]:
    found = inference.denoise_image(x, patch=(3, 3))
    return {0: found.rank, 1: (found.image, found.noise)}


def operator(a: Any) -> dict[int, Any]:
    found = inference.spectral_density_of(_product, jax.random.key(3), 40, args=(a,), depth=20, probes=2)
    first = found.moment(1)
    unit = jnp.max(abs(a))
    height = found.density(unit)
    below = found.cdf(unit)
    extreme = found.extreme_levels(2)
    return {
        0: (found.complete, found.weights, below.value, below.standard_error, found.cdf_band(unit)),
        1: (found.nodes, extreme, found.resolution, first.value, first.standard_error),
        -1: (height.value, height.standard_error),
    }


def operator_squares(a: Any) -> dict[int, Any]:
    found = inference.spectral_density_of(_product, jax.random.key(3), 40, args=(a,), depth=20, probes=2).moment(2)
    return {2: (found.value, found.standard_error)}


def exhausted(a: Any) -> dict[int, Any]:
    """An operator of three levels, whose Krylov spaces end."""
    found = inference.spectral_density_of(_few_levels, jax.random.key(3), 40, args=(a,), depth=20, probes=2)
    return {0: (found.complete, found.weights > 0), 1: found.nodes}


def _few_levels(v: Any, a: Any) -> Any:
    return a[jnp.arange(v.size) % 3] * v


def _product(v: Any, a: Any) -> Any:
    return a @ v


def spectral_outliers(a: Any) -> dict[int, Any]:
    found = inference.spectral_density_of(_product, jax.random.key(3), 40, args=(a,), depth=20, probes=2)
    outside = inference.spectral_outliers(found, laws.Semicircle(3 * jnp.max(abs(a))))
    return {0: (outside.count, outside.p_values), 1: (outside.levels, outside.edge)}


def marchenko_pastur(x: Any, ratio: str) -> dict[int, Any]:
    found = inference.fit_marchenko_pastur(x, 40, 20, ratio=ratio)
    return {0: (found.outliers, found.ratio, found.distance), 1: (found.variance, found.threshold, found.edges)}


def population(x: Any) -> dict[int, Any]:
    found = inference.population_spectrum(x, 40)
    return {0: found.distance, 1: found.levels}


def tail(x: Any, *minimum: Any) -> dict[int, Any]:
    found = inference.fit_tail(x, minimum=minimum[0] if minimum else None, key=jax.random.key(0), resamples=20)
    tests = found.exponential, found.log_normal
    ratios = [(test.log_ratio, test.p_value) for test in tests]
    return {0: (found.exponent, found.tail_size, found.p_value, ratios), 1: found.minimum}


def by_levels(x: Any) -> dict[int, Any]:
    found = inference.fit_beta(x, by="levels")
    return {0: (found.value, found.standard_error), 1: found.law.scale}


def spikes(x: Any, noise: Any) -> dict[int, Any]:
    """Levels have the degree 2; the operand is their root."""
    found = inference.spike_estimates(x**2, 50.0, 20.0, noise)
    return {0: (found.variable_cosine, found.observation_cosine), 1: found.singular, 2: found.population}


def ranked_levels(x: Any) -> dict[int, Any]:
    """Levels are of degree 1 here, and the noise is their root."""
    found = inference.signal_rank_of_levels(x, 40, 20)
    return {0: (found.rank, found.p_values), 1: (found.levels, found.edge, found.spikes.population)}


def weights(x: Any) -> dict[int, Any]:
    table = inference.weight_spectra({"w": np.asarray(x)}, key=jax.random.key(0), resamples=20)
    same = "ratio", "distance", "outliers", "p_value", "tail_exponent", "tail_error", "tail_p_value", "stable_rank"
    first, second = ("edge", "spectral_norm"), ("variance", "variance_error")
    rows = lambda names: [getattr(table, name).astype(float) for name in names]
    return {0: rows(same), 1: rows(first), 2: rows(second)}


def goodness(test: str, x: Any) -> dict[int, Any]:
    found = getattr(inference, test)(x, laws.Uniform(0.0, 7 * jnp.max(x) / 6), calibration="independent")
    return {0: (found.statistic, found.p_value)}


def compared(name: str, x: Any) -> dict[int, Any]:
    found = inference.compare_spectra(x[:2], x[1:] ** 1, key=jax.random.key(0), statistic=name, resamples=19)
    return {1: found.statistic, 0: found.p_value} if name == "energy" else {0: (found.statistic, found.p_value)}


CASES: dict[str, Scaled] = {
    "statistics.spacings": Scaled(lambda x: masked(1, statistics.spacings(x)), (LEVELS,)),
    "statistics.gap_ratios": Scaled(lambda x: masked(0, statistics.gap_ratios(x)), (LEVELS,), 1e3),
    "statistics.complex_spacing_ratios": Scaled(
        lambda x: masked(0, statistics.complex_spacing_ratios(x)), (PLANE,), 1e3
    ),
    "statistics.level_density": Scaled(lambda x, edges: {-1: statistics.level_density(x, edges)}, (LEVELS, EDGES)),
    "statistics.spectral_ergodicity": Scaled(
        lambda x, edges: {0: statistics.spectral_ergodicity(x, edges)}, (LEVELS, EDGES)
    ),
    "statistics.spectral_density": Scaled(
        lambda x, grid, width: {-1: statistics.spectral_density(x, grid, width)}, (LEVELS, EDGES, np.array(0.3))
    ),
    "statistics.stieltjes": Scaled(
        lambda x, y, height: {-1: statistics.stieltjes(x, jax.lax.complex(y, height + 0 * y))},
        (LEVELS, EDGES, np.array(0.3)),
    ),
    "statistics.condition_number": Scaled(lambda x: {0: statistics.condition_number(x)}, (LEVELS,)),
    "statistics.form_factor": Scaled(
        lambda x, c: {0: statistics.form_factor(x, jnp.asarray([0.2, 1.5]) / c, window=(0 * c, c)).raw},
        (LEVELS, np.array(1.0)),
        1e3,
    ),
    "statistics.form_factor on a grid": Scaled(
        lambda x, c: {0: statistics.form_factor(x / c, jnp.linspace(0, 1, 20)).raw}, (LEVELS, np.array(1.0)), 1e3
    ),
    "statistics.unfold": Scaled(
        lambda x, c: unfolded(statistics.unfold(x, laws.Uniform(-c, c))), (LEVELS, np.array(2.0)), 1e3
    ),
    "statistics.unfold_polynomial": Scaled(lambda x: unfolded(statistics.unfold_polynomial(x, 3)), (LEVELS,), 1e3),
    "statistics.unfold_local": Scaled(lambda x: unfolded(statistics.unfold_local(x, 2)), (LEVELS,), 1e3),
    "statistics.unfold_kernel": Scaled(
        lambda x, h: unfolded(statistics.unfold_kernel(x, h)), (LEVELS, np.array(0.3)), 1e3
    ),
    "statistics.polynomial_degree": Scaled(
        lambda x: {0: jax.tree.leaves(statistics.polynomial_degree(x, (1, 3), folds=2))}, (LEVELS,), 1e4
    ),
    "statistics.spectral_ergodicity_distance": Scaled(
        lambda x: {1: statistics.spectral_ergodicity_distance(x, x[::-1])}, (SAMPLE,), 1e3, exact=False
    ),
    "statistics.inverse_participation_ratio": Scaled(
        lambda x: {0: statistics.inverse_participation_ratio(x, jnp.array([0.3, 2.0]))}, (VECTORS,)
    ),
    "statistics.participation_entropy": Scaled(lambda x: {0: statistics.participation_entropy(x)}, (VECTORS,)),
    "statistics.multifractal_dimension": Scaled(lambda x: {0: statistics.multifractal_dimension(x, 2)}, (VECTORS,)),
    "statistics.porter_thomas_intensities": Scaled(lambda x: {0: statistics.porter_thomas_intensities(x)}, (VECTORS,)),
    "statistics.subspace_overlap": Scaled(
        lambda x: {0: statistics.subspace_overlap(x, x[:, :2] + x[:, 1:])}, (VECTORS,)
    ),
    "statistics.over_samples": Scaled(over_samples, (DATA,)),
    "Moments": Scaled(moments, (np.array(1.0),), 1e3, exact=False),
    "simulation.Covariance": Scaled(covariance, (np.array(1.0),), 1e3, exact=False),
    "simulation.Jackknife": Scaled(jackknife, (np.array(1.0),), 1e4, exact=False),
    "simulation.Quantiles": Scaled(quantiles, (np.array(1.0),), math.inf),
    "Histogram": Scaled(histogram, (np.array(1.0),)),
    "simulation.Extremes": Scaled(extremes, (np.array(1.0),)),
    "simulation.Keep": Scaled(kept, (np.array(1.0),)),
    **{
        f"inference.signal_rank by {method}": Scaled(partial(signal_rank, method=method, max_rank=3), (DATA,), 1e4)
        for method in ("tracy-widom", "hard-threshold", "parallel-analysis", "deflated-parallel-analysis")
    },
    **{
        f"inference.signal_rank by {method}": Scaled(
            partial(signal_rank, method=method, max_rank=1, key=jax.random.key(0), resamples=19), (DATA,), 1e4
        )
        for method in ("permutation", "random-signs")
    },
    "inference.signal_rank and its noise": Scaled(noise_of_ranks, (DATA,), 1e4),
    "inference.signal_rank of complex data": Scaled(
        partial(signal_rank, max_rank=3), (DATA + 1j * np.sin(9 * DATA),), 1e4
    ),
    "inference.signal_rank of known noise": Scaled(partial(signal_rank, max_rank=3), (DATA, NOISE), 1e4),
    "inference.signal_rank_above_noise": Scaled(
        lambda x: {0: jax.tree.leaves(inference.signal_rank_above_noise(x, x[::2]))}, (DATA,), 1e4
    ),
    "inference.signal_rank, exact": Scaled(
        partial(signal_rank, method="exact", max_rank=2), (DATA, NOISE), 1e5, exact=False
    ),
    "inference.signal_rank_of_levels": Scaled(ranked_levels, (np.sort(SAMPLE)[-20:] ** 2,), 1e4, exact=False),
    "inference.spike_estimates": Scaled(spikes, (np.array([0.5, 3.0, 5.0]), NOISE)),
    "inference.effective_sample_size": Scaled(lambda x: {0: inference.effective_sample_size(x)}, (DATA,)),
    **{
        f"inference.denoise, {loss}": Scaled(partial(denoise, loss=loss), (DATA,), 1e3)
        for loss in ("frobenius", "operator", "nuclear", "hard")
    },
    "inference.denoise of complex data": Scaled(denoise, (DATA + 1j * DATA[::-1],), 1e3),
    "inference.denoise of known noise": Scaled(partial(denoise, center=True), (DATA, NOISE), 1e3),
    "inference.denoise of low rank": Scaled(of_low_rank, (LOW_RANK,), 1e3),
    "inference.denoise_patches": Scaled(denoise_patches, (PATCHES,), 1e4),
    "inference.denoise_patches, frobenius": Scaled(partial(denoise_patches, rule="frobenius"), (PATCHES,), 1e4),
    "inference.denoise_patches of low rank": Scaled(patches_of_low_rank, (LOW_RANK,), 1e4),
    "inference.denoise_image": Scaled(denoise_image, (IMAGE,), 1e4),
    **{
        f"inference.shrink_covariance by {method}": Scaled(
            lambda x, method=method: {2: inference.shrink_covariance(x, method=method)}, (x,), 1e4
        )
        for method, x in (
            ("qis", DATA),
            ("lis", DATA),
            ("gis", DATA),
            ("analytical", DATA),
            ("ledoit-wolf", DATA),
            ("oas", WIDE),
            ("rie", DATA),
            ("clipping", WIDE),
            ("spiked", DATA),
            ("sample", WIDE),
        )
    },
    "inference.shrink_covariance of pairs": Scaled(
        lambda x: {2: inference.shrink_covariance(x.at[0, 0].set(jnp.nan), missing="pairwise")}, (DATA,), 1e4
    ),
    **{
        f"inference.shrink_covariance towards {target}": Scaled(
            lambda x, target=target: {2: inference.shrink_covariance(x, method="ledoit-wolf", target=target)},
            (DATA,),
            1e4,
        )
        for target in ("diagonal", "constant-correlation", "one-factor", "two-parameter")
    },
    "inference.shrink_levels": Scaled(
        lambda x: {1: inference.shrink_levels(x, 40)}, (np.sort(SAMPLE)[-20:] ** 2,), 1e4
    ),
    "inference.shrink_levels of known noise": Scaled(
        lambda x, s: {2: inference.shrink_levels(x**2, 40, method="spiked", noise=s)},
        (np.sort(SAMPLE)[-20:], NOISE),
        1e4,
    ),
    "inference.detone": Scaled(lambda s: {1: inference.detone(s)}, (POPULATION + np.eye(9),), 1e4),
    "inference.detone to a correlation": Scaled(
        lambda s: {0: inference.detone(s, unit_diagonal=True)}, (POPULATION + np.eye(9),), 1e4
    ),
    "inference.shrink_covariance, weighted": Scaled(
        lambda x: {2: inference.shrink_covariance(x, half_life=9.0)}, (DATA,), 1e4
    ),
    "inference.shrink_covariance with weights in a unit": Scaled(
        lambda w: {0: inference.shrink_covariance(jnp.asarray(DATA, w.dtype), weights=w)}, (SAMPLE[:24],), 1e4
    ),
    "inference.shrink_covariance to a correlation": Scaled(
        lambda x: {0: inference.shrink_covariance(x, unit_diagonal=True)}, (DATA,), 1e4
    ),
    "inference.shrink_covariance of known noise": Scaled(
        lambda x, s: {2: inference.shrink_covariance(x, method="spiked", noise=s)}, (DATA, NOISE), 1e4
    ),
    "inference.oracle_covariance": Scaled(
        lambda x: {0: inference.oracle_covariance(x, jnp.asarray(POPULATION, x.dtype))}, (DATA,), 1e4
    ),
    "inference.oracle_covariance of a population": Scaled(
        lambda s: {1: inference.oracle_covariance(jnp.asarray(DATA, s.dtype), s)}, (POPULATION,), 1e4
    ),
    "inference.minimum_variance_loss": Scaled(
        lambda s: {0: inference.minimum_variance_loss(s, jnp.asarray(POPULATION + 1 * np.eye(9), s.dtype))},
        (POPULATION + np.diag(np.arange(9.0)),),
        1e4,
    ),
    "inference.minimum_variance_loss of a population": Scaled(
        lambda s: {1: inference.minimum_variance_loss(jnp.eye(9, dtype=s.dtype), s)}, (POPULATION + np.eye(9),), 1e4
    ),
    "inference.clean_cross_covariance": Scaled(
        lambda x, y: {2: inference.clean_cross_covariance(x, y)}, (DATA, np.sin(DATA[:, :4])), 1e4
    ),
    "inference.largest_root_test_of_groups": Scaled(
        lambda x, y: {0: inference.largest_root_test_of_groups(x, y, method="tracy-widom").p_value},
        (DATA[:14], DATA[14:]),
        1e4,
    ),
    "inference.spectral_density_of": Scaled(operator, (SYMMETRIC,), 1e6),
    "inference.spectral_density_of by squares": Scaled(operator_squares, (SYMMETRIC,), 1e4),
    "inference.spectral_density_of few levels": Scaled(exhausted, (np.array([1.0, 3.0, -2.0]),), 1e4),
    "inference.spectral_outliers": Scaled(spectral_outliers, (SYMMETRIC,), 1e6, exact=False),
    "inference.fit_beta by ratios": Scaled(lambda x: {0: jax.tree.leaves(inference.fit_beta(x))[:3]}, (LEVELS,), 1e5),
    "inference.fit_beta by levels": Scaled(by_levels, (LEVELS,), 1e5, exact=False),
    "inference.fit_marchenko_pastur": Scaled(
        partial(marchenko_pastur, ratio="known"), (SAMPLE[:20],), 1e3, exact=False
    ),
    "inference.fit_marchenko_pastur of a ratio": Scaled(
        partial(marchenko_pastur, ratio="fitted"), (SAMPLE[:20],), 1e4, exact=False
    ),
    "inference.population_spectrum": Scaled(population, (SAMPLE[:20],), 1e5, exact=False),
    "inference.fit_tail": Scaled(tail, (SPACINGS,), 1e4, exact=False),
    "inference.fit_tail from a minimum": Scaled(tail, (SPACINGS, np.array(1.2)), 1e4, exact=False),
    "inference.weight_spectra": Scaled(weights, (DRAW.normal(size=(30, 12)),), 1e6),
    **{
        f"inference.{test}": Scaled(partial(goodness, test), (SAMPLE,), 1e3)
        for test in ("kolmogorov_smirnov", "cramer_von_mises", "anderson_darling")
    },
    **{
        f"inference.compare_spectra, {name}": Scaled(partial(compared, name), (LEVELS,))
        for name in ("kolmogorov-smirnov", "cramer-von-mises", "energy")
    },
}


# Public names of the packages whose results have no unit, or are those of another name.
WITHOUT = {
    "statistics.linear_statistic": "the user's function has the unit",
    "inference.levels_near": "a sparse matrix is no array: `inference/matrix_free/test_sparse.py`",
    "statistics.log_determinant": "a logarithm, which a unit moves: `test_logarithms`",
    "inference.log_likelihood": "likewise, and the law has the unit",
    "statistics.unfold_phases": "angles have no unit",
    "statistics.level_repulsion": "unfolded levels have the unit 1",
    "inference.fit_brody": "unfolded levels have the unit 1",
    "inference.fit_berry_robnik": "unfolded levels have the unit 1",
    "inference.fit_crossover": "unfolded levels have the unit 1",
    "inference.largest_root_test": "a squared cosine has no unit",
    "inference.optimal_hard_threshold": "sizes have no unit",
    "inference.biwhiten": "counts have no unit; data with variances are in its own tests",
    "simulation.AbstractReducer": "is no reducer",
    "simulation.Collect": "keeps draws as they are",
    "simulation.Part": "has the unit of its reducer",
}
# One of each kind.
DAILY = [
    "statistics.unfold_kernel",
    "statistics.over_samples",
    "Moments",
    "inference.signal_rank by tracy-widom",
    "inference.denoise of low rank",
    "inference.denoise_patches of low rank",
    "inference.shrink_covariance to a correlation",
    "inference.spectral_density_of",
    "inference.fit_beta by levels",
]


DAILY_SHIFTED = [
    "statistics.form_factor",
    "statistics.rigidity interval",
    "statistics.over_samples",
    "inference.signal_rank by tracy-widom",
    "inference.denoise",
    "inference.shrink_covariance by qis",
]


@dataclass(frozen=True)
class Found:
    """An array of results over its power of the unit, and whether it is a decision."""

    values: np.ndarray
    decision: bool


def results(case: Scaled, unit: float) -> dict[int, list[Found]]:
    """The results by their degrees."""
    kind = jax.dtypes.canonicalize_dtype
    operands = [jnp.asarray(np.asarray(x * unit).astype(kind(x.dtype))) for x in case.operands]
    found = case.fn(*operands)
    return {degree: [in_unit(leaf, unit, degree) for leaf in jax.tree.leaves(tree)] for degree, tree in found.items()}


def in_unit(leaf: Any, unit: float, degree: int) -> Found:
    """A result over a power of the unit, in double precision, in which that power itself may overflow."""
    array = np.asarray(leaf)
    decision = not np.issubdtype(array.dtype, np.inexact)
    mantissa, exponent = math.frexp(unit)
    parts = [np.asarray(part, np.float64) for part in (array.real, array.imag)]
    half = -degree * exponent // 2
    parts = [np.ldexp(np.ldexp(part, half), -degree * exponent - half) / mantissa**degree for part in parts]
    return Found(parts[0] + 1j * parts[1] if np.iscomplexobj(array) else parts[0], decision)


def exponents(degrees: Any) -> tuple[int, int]:
    """The powers of two between which as units operands and results of these degrees keep all of their digits."""
    kind = jnp.finfo(jnp.result_type(float))
    # Differences of a number of order 1 are normal numbers, and the largest of some hundred are so, too.
    lowest, highest = kind.minexp + kind.nmant + 4, kind.maxexp - 18
    ends = [sorted((lowest / degree, highest / degree)) for degree in {1, *degrees} - {0}]
    ends = [(low, high) if abs(high - low) < 1e9 else (0, 0) for low, high in ends]
    return math.ceil(max(low for low, _ in ends)), math.floor(min(high for _, high in ends))


@cache
def of_order_one(name: str) -> dict[int, list[Found]]:
    return results(CASES[name], 1.0)


def check(name: str, unit: float) -> None:
    """Hold the results in a unit against those of order 1: decisions equal, numbers to the ulps of the case."""
    case, exact = CASES[name], math.frexp(unit)[0] == 0.5
    ulps = 0 if exact and case.exact else case.ulps
    found = results(case, unit)
    for degree, expected in of_order_one(name).items():
        for number, (one, other) in enumerate(zip(expected, found[degree], strict=True)):
            where = f"result {number} of degree {degree} in the unit {unit:.3g}"
            if one.decision or ulps == 0:
                np.testing.assert_array_equal(other.values, one.values, err_msg=where)
            elif ulps < math.inf:
                largest = np.max(np.abs(one.values), where=np.isfinite(one.values), initial=0)
                atol = ulps * float(jnp.finfo(jnp.result_type(float)).eps) * largest
                np.testing.assert_allclose(other.values, one.values, rtol=0, atol=atol, err_msg=where)


@pytest.mark.parametrize("name", daily(CASES, only=DAILY))
@settings(max_examples=6)
@example(0.0, 1.0)
@example(1.0, 1.0)
@given(st.floats(0, 1), st.floats(1, 2))
def test_units(name: str, place: float, mantissa: float):
    low, high = exponents(of_order_one(name))
    exponent = round(low + place * (high - low))
    check(name, math.ldexp(1, exponent))
    check(name, math.ldexp(mantissa, exponent))


def on_grid(x: np.ndarray) -> np.ndarray:
    """Multiples of 1/64, which keep all of their digits beside an integer of 2¹⁷ in single precision."""
    return np.rint(64 * x) / 64


@dataclass(frozen=True)
class Shifted:
    """A function of data and of how far they are shifted, whose result does not depend on the latter.

    Args:
        fn: takes data and shift, and returns a pytree of arrays.
        data: multiples of 1/64, below 16 or so.
        ulps: by which the largest number of each array may differ.
    """

    fn: Callable[[Any, Any], Any]
    data: Any
    ulps: float = 64


UNFOLDED = on_grid(np.sort(DRAW.uniform(0, 20, size=(3, 20))))
NUMBERS = "number_variance", "number_skewness", "rigidity"
LENGTHS = np.array([0.1, 1.03, 4.1])  # off the grid, so that ends of windows have a rounding
GRID = on_grid(DATA)


def number_statistic(name: str, place: str, **options: Any) -> Callable[[Any, Any], Any]:
    def fn(x: Any, by: Any) -> Any:
        return getattr(statistics, name)(on(place, x, by), jnp.asarray(LENGTHS, x.dtype), **options)

    return fn


def on(place: str, x: Any, by: Any = 0) -> Any:
    """Levels from `by` on, and where they were looked for."""
    if place == "between levels":
        return x
    domain = rmt.Interval(by - 1.5, by + 20.25) if place == "interval" else rmt.Circle(21.0)
    return rmt.Spectrum(x, domain=domain, unfolded=True)


def rank_and_values(found: Any) -> Any:
    return found.rank, found.noise, getattr(found, "shrunk_values", None)


SHIFTED: dict[str, Shifted] = {
    **{
        f"statistics.{name} {place}": Shifted(number_statistic(name, place), UNFOLDED, 1e3)
        for name in NUMBERS
        for place in ("between levels", "interval", "circle")
    },
    "statistics.number_probabilities": Shifted(
        number_statistic("number_probabilities", "interval", max_count=3), UNFOLDED
    ),
    "statistics.pair_correlation": Shifted(number_statistic("pair_correlation", "interval"), UNFOLDED),
    "statistics.pair_correlation on a circle": Shifted(number_statistic("pair_correlation", "circle"), UNFOLDED),
    "statistics.power_spectrum": Shifted(lambda x, _: statistics.power_spectrum(x, jnp.asarray([0.3, 2.0])), UNFOLDED),
    "statistics.power_spectrum on a circle": Shifted(
        lambda x, _: statistics.power_spectrum(on("circle", x), jnp.asarray([0.3, 2.0])), UNFOLDED
    ),
    "statistics.form_factor": Shifted(
        lambda x, by: statistics.form_factor(x, jnp.asarray([0.25, 0.7]), window=(by + 10, 3)).raw, UNFOLDED, 1e3
    ),
    "statistics.spacings": Shifted(lambda x, _: statistics.spacings(x).values, UNFOLDED),
    "statistics.gap_ratios": Shifted(lambda x, _: statistics.gap_ratios(x).values, UNFOLDED),
    "statistics.complex_spacing_ratios": Shifted(
        lambda x, _: statistics.complex_spacing_ratios(x).values, on_grid(4 * PLANE)
    ),
    "statistics.level_repulsion": Shifted(lambda x, _: statistics.level_repulsion(x, 0.5).exponent, UNFOLDED),
    "statistics.level_density": Shifted(
        lambda x, by: statistics.level_density(x, by + jnp.arange(0.0, 21.0, 4)), UNFOLDED
    ),
    "statistics.spectral_density": Shifted(
        lambda x, by: statistics.spectral_density(x, by + jnp.arange(0.0, 21.0, 4), 0.25), UNFOLDED
    ),
    "statistics.stieltjes": Shifted(
        lambda x, by: statistics.stieltjes(x, jax.lax.complex(by + jnp.arange(0.0, 21.0, 4), jnp.full(6, 0.25))),
        UNFOLDED,
    ),
    "statistics.spectral_ergodicity": Shifted(
        lambda x, by: statistics.spectral_ergodicity(x, by + jnp.arange(0.0, 21.0, 4)), UNFOLDED
    ),
    "statistics.unfold_polynomial": Shifted(lambda x, _: unfolded(statistics.unfold_polynomial(x, 3)), UNFOLDED, 1e3),
    "statistics.unfold_local": Shifted(lambda x, _: unfolded(statistics.unfold_local(x, 2)), UNFOLDED, 1e3),
    "statistics.unfold_kernel": Shifted(lambda x, _: unfolded(statistics.unfold_kernel(x, 2.0)), UNFOLDED, 1e3),
    "statistics.unfold_kernel of each": Shifted(
        lambda x, _: unfolded(statistics.unfold_kernel(x, 2.0, pooled=False)), UNFOLDED, 1e3
    ),
    "statistics.polynomial_degree": Shifted(
        lambda x, _: statistics.polynomial_degree(x, (1, 3), folds=2).scores, UNFOLDED, 1e4
    ),
    "statistics.shared_density": Shifted(lambda x, _: jax.tree.leaves(statistics.shared_density(x)), UNFOLDED, 1e4),
    "statistics.over_samples": Shifted(lambda x, _: statistics.over_samples(lambda x: x, x).standard_error, GRID),
    "inference.compare_spectra": Shifted(
        lambda x, _: (
            inference.compare_spectra(x[:2], x[1:], key=jax.random.key(0), statistic="energy", resamples=19).statistic
        ),
        UNFOLDED,
    ),
    "inference.signal_rank_above_noise": Shifted(
        lambda x, _: inference.signal_rank_above_noise(x, 2 * x).levels, GRID, 1e4
    ),
    **{
        f"inference.signal_rank by {method}": Shifted(
            lambda x, _, method=method: jax.tree.leaves(inference.signal_rank(x, method=method, max_rank=3)), GRID, 1e4
        )
        for method in ("tracy-widom", "hard-threshold", "deflated-parallel-analysis")
    },
    "inference.effective_sample_size": Shifted(lambda x, _: inference.effective_sample_size(x), GRID, 1e3),
    "inference.denoise": Shifted(lambda x, _: rank_and_values(inference.denoise(x, center=True)), GRID, 1e3),
    "inference.denoise_patches": Shifted(
        lambda x, _: rank_and_values(inference.denoise_patches(x)), on_grid(PATCHES), 1e4
    ),
    "inference.denoise_patches with more columns": Shifted(
        lambda x, _: rank_and_values(inference.denoise_patches(x)), GRID.T, 1e4
    ),
    "inference.denoise_image": Shifted(
        lambda x, _: rank_and_values(inference.denoise_image(x, patch=(3, 3))), on_grid(IMAGE), 1e4
    ),
    **{
        f"inference.shrink_covariance by {method}": Shifted(
            lambda x, _, method=method: inference.shrink_covariance(x, method=method), GRID, 1e4
        )
        for method in ("qis", "ledoit-wolf", "spiked")
    },
    "inference.shrink_covariance towards one-factor": Shifted(
        lambda x, _: inference.shrink_covariance(x, method="ledoit-wolf", target="one-factor"), GRID, 1e4
    ),
    "inference.shrink_covariance, weighted": Shifted(
        lambda x, _: inference.shrink_covariance(x, half_life=9.0), GRID, 1e4
    ),
    "inference.shrink_covariance to a correlation": Shifted(
        lambda x, _: inference.shrink_covariance(x, unit_diagonal=True), GRID, 1e4
    ),
    "inference.oracle_covariance": Shifted(
        lambda x, _: inference.oracle_covariance(x, jnp.asarray(POPULATION, x.dtype)), GRID, 1e4
    ),
    "inference.clean_cross_covariance": Shifted(
        lambda x, _: inference.clean_cross_covariance(x[:, :5], x[:, 5:]), GRID, 1e4
    ),
    "inference.largest_root_test_of_groups": Shifted(
        lambda x, _: inference.largest_root_test_of_groups(x[:14], x[14:], method="tracy-widom").p_value, GRID, 1e4
    ),
    "inference.fit_beta by ratios": Shifted(lambda x, _: inference.fit_beta(x).value, UNFOLDED[:, ::2], 1e4),
    "inference.fit_brody": Shifted(lambda x, _: inference.fit_brody(x).value, on_grid(UNFOLDED[:, ::2] / 2), 1e4),
}


@cache
def unshifted(name: str) -> list[np.ndarray]:
    return shifted(name, 0.0)


def shifted(name: str, by: float) -> list[np.ndarray]:
    case, kind = SHIFTED[name], jax.dtypes.canonicalize_dtype
    data = jnp.asarray((case.data + by).astype(kind(case.data.dtype)))
    found = case.fn(data, jnp.asarray(by, jnp.finfo(data.dtype).dtype))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(found)]


@pytest.mark.parametrize("name", daily(SHIFTED, only=DAILY_SHIFTED))
@settings(max_examples=6)
@example(1.0, 1)
@example(1.0, -1)
@given(st.floats(0, 1), st.sampled_from([-1, 1]))
def test_origins(name: str, place: float, sign: int):
    digits = jnp.finfo(jnp.result_type(float)).nmant
    by = sign * math.ldexp(1, round(place * (digits - 6)))
    for one, other in zip(unshifted(name), shifted(name, by), strict=True):
        if not np.issubdtype(one.dtype, np.inexact):
            np.testing.assert_array_equal(other, one)
            continue
        largest = np.max(np.abs(one), where=np.isfinite(one), initial=0)
        atol = SHIFTED[name].ulps * float(np.finfo(one.dtype).eps) * largest
        np.testing.assert_allclose(other, one, rtol=0, atol=atol)


def test_every_name_has_a_case_or_a_reason():
    parts = "statistics.", "inference.", "simulation."
    names = [name.removeprefix("rmtjax.") for name in PUBLIC]
    results_of_others = {"statistics.Estimate", "simulation.Draws"}
    wanted = {
        name
        for name in names
        if name in ("Moments", "Histogram")
        or (name.startswith(parts) and (name[name.index(".") + 1].islower() or is_reducer(name)))
    }
    covered = {name.split(" ")[0].rstrip(",") for name in (*CASES, *SHIFTED)} | set(WITHOUT)
    missing = wanted - covered - results_of_others - {"simulation.memory_plan"}
    assert not missing
    assert not covered - set(names)


def is_reducer(name: str) -> bool:
    package, kind = name.split(".")
    found = getattr(getattr(rmt, package), kind)
    return isinstance(found, type) and issubclass(found, simulation.AbstractReducer)


def test_logarithms():
    """A unit moves them by its own logarithm."""
    kind = jnp.result_type(float)
    eps = float(jnp.finfo(kind).eps)
    levels = jnp.asarray(LEVELS, kind)
    wanted = statistics.log_determinant(levels), inference.fit_beta(levels, by="levels").log_likelihood
    for exponent in (jnp.finfo(kind).minexp + jnp.finfo(kind).nmant, jnp.finfo(kind).maxexp - 5):
        scaled = levels * 2.0**exponent
        found = statistics.log_determinant(scaled), inference.fit_beta(scaled, by="levels").log_likelihood
        moved = exponent * math.log(2)
        size = LEVELS.size * abs(moved)
        np.testing.assert_allclose(found[0], wanted[0] + LEVELS.shape[1] * moved, rtol=0, atol=4 * eps * size)
        np.testing.assert_allclose(found[1], wanted[1] - LEVELS.size * moved, rtol=0, atol=8 * eps * size)


# Derivatives are divided by the unit of the data once more.
SLOPES: dict[str, tuple[Callable[[Any], Any], np.ndarray, int]] = {
    "over_samples": (lambda x: jnp.sum(statistics.over_samples(lambda x: x, x).standard_error), DATA, 0),
    "denoise": (lambda x: inference.denoise(x, center=True).matrix[0, 0], DATA, 0),
    "denoise_patches": (lambda x: jnp.sum(inference.denoise_patches(x, rule="nuclear").patches), PATCHES, 0),
    "signal_rank": (lambda x: jnp.sum(inference.signal_rank(x, max_rank=2).levels), DATA, 1),
    "shrink_covariance": (lambda x: inference.shrink_covariance(x)[0, 0], DATA, 1),
    "fit_beta": (lambda x: inference.fit_beta(x, by="levels").law.scale, LEVELS, 0),
    "fit_tail": (lambda x: inference.fit_tail(x, minimum=x[0]).exponent.value, np.sort(SPACINGS), -1),
}


@pytest.mark.parametrize("name", daily(SLOPES, only=["over_samples"]))
def test_slopes(name: str):
    fn, data, degree = SLOPES[name]
    kind = jnp.result_type(float)
    slope = jax.grad(fn)
    expected = np.asarray(slope(jnp.asarray(data, kind)), np.float64)
    for exponent in (-40, 40):
        found = np.asarray(slope(jnp.asarray(data * 2.0**exponent, kind)), np.float64) * 2.0 ** (-degree * exponent)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e3 * float(jnp.finfo(kind).eps) * abs(expected).max())
