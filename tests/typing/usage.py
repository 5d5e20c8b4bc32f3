"""A user's script of typical calls. Checkers find no error in it; `test_typing.py` says with which settings.

`assert_type` holds what they infer: the type of a result is the one that is written here, and not `Any`.
"""

from collections.abc import Callable
from typing import Any, assert_type

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from jax import Array
from matplotlib.axes import Axes

import rmtjax as rmt
from rmtjax import inference, laws, linalg, plotting, simulation, special, statistics
from rmtjax.simulation import CovarianceResult, ExtremesResult, HistogramResult, KeptDraws, MomentsResult
from rmtjax.spectra import MaskedValues, Spectrum
from rmtjax.statistics import Estimate

Numbers = np.ndarray[Any, np.dtype[np.float64]]

mpl.use("Agg")
key = jax.random.key(0)

# Ensembles, and what they know.
goe = rmt.GOE(20)
wishart = rmt.Wishart(10, 40, beta=2, scale=np.float32(0.5))
assert_type(goe.n, int)
assert_type(goe.scale, Array)
assert_type(goe.sample(key), Array)
levels = assert_type(goe.eigenvalues(key), Array)
assert_type(goe.count_below(key, [0.0, 0.5]), Array)
assert_type(goe.largest_eigenvalues(key, 3), Array)
assert_type(goe.tridiagonal(key), rmt.SymTridiagonal)
assert_type(goe.law(), laws.Semicircle)
assert_type(wishart.law(), laws.MarchenkoPastur)
assert_type(wishart.law().ratio, Array)
assert_type(goe.soft_edge("lower").levels([1.0]), Array)
assert_type(rmt.Ginibre(8).law(), laws.CircularLaw)
assert_type(rmt.CUE(8).eigenphases(key), Array)
assert_type(rmt.Mixed(goe, 0.7, normalize="reference").eigenvalues(key), Spectrum)
assert_type(rmt.Wigner(4, entries="rademacher").sample(key), Array)
assert_type(rmt.AltlandZirnbauer("D", 4).eigenvalues(key), Array)
spectra = assert_type(jax.vmap(goe.eigenvalues)(jax.random.split(key, 5)), Array)
compiled: Array = jax.jit(goe.eigenvalues)(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] of JAX

# Laws take numbers, lists, and arrays of NumPy and JAX.
semicircle = laws.Semicircle()
assert_type(semicircle.pdf(0.5), Array)
assert_type(semicircle.cdf([-1.0, 0.0, 1.0]), Array)
assert_type(semicircle.ppf(np.linspace(0, 1, 3)), Array)
assert_type(semicircle.stieltjes([0.1 + 1j, 2.0]), Array)
assert_type(semicircle.radius, Array)
assert_type(semicircle.support(), tuple[Array, Array])
assert_type(laws.TracyWidom(2, convention="bornemann").isf(0.05), Array)
assert_type(laws.Mixture([0.5, 0.5], [semicircle, laws.Uniform()]).mean(), Array)
assert_type(laws.GeneralMarchenkoPastur(0.5, [1.0, 3.0]).std(), Array)
assert_type(laws.number_variance(np.array([0.5, 2.0]), 1), Array)
assert_type(laws.mean_gap_ratio(0), float)


def mass(radius: Array) -> Array:
    """A function of a parameter."""
    return laws.Semicircle(radius).cdf(0.5)


slope: Array = jax.grad(mass)(1.0)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] of JAX

# Spectra of given matrices.
matrix = np.array([[1.0, 0.5], [0.5, 2.0]])
assert_type(rmt.eigvalsh(matrix), Array)
assert_type(rmt.eigvalsh([[1.0, 0.5], [0.5, 2.0]]), Array)
assert_type(rmt.eigh(matrix), tuple[Array, Array])
assert_type(linalg.log_determinant(matrix), Array)
assert_type(rmt.SymTridiagonal([1.0, 2.0], [0.5]).eigenvalues(), Array)
assert_type(special.airy([0.0, 1.0]).ai, Array)

# Statistics.
unfolded = assert_type(statistics.unfold(levels, goe.law()), Spectrum)
assert_type(statistics.spacings(unfolded), MaskedValues)
assert_type(statistics.gap_ratios(np.sort(np.random.default_rng(0).random(9)), ties="nan").mean(), Array)
assert_type(statistics.number_variance(unfolded, [0.5, 1.0]), Array)
assert_type(statistics.form_factor([0.1, 0.5, 1.7, 2.0], [0.3]).power, Array)
few = Spectrum([0.1, 0.5, 1.7, 2.0], [True, True, True, False], domain=rmt.Interval(0, 2.5), unfolded=True)
assert_type(statistics.number_variance(few, 0.5), Array)
assert_type(unfolded.bulk(1.0, 8.0).middle(0.5), Spectrum)
assert_type(Spectrum.of([[0.1, 0.5], np.array([1.0])]).count, Array)


def mean_ratio(levels: Array) -> Array:
    """The mean ratio of each spectrum."""
    return statistics.gap_ratios(levels).mean()


ratio = assert_type(statistics.over_samples(mean_ratio, spectra), Estimate[Array])
assert_type(ratio.value, Array)
assert_type(ratio.interval(), tuple[Array, Array])


# Simulations: without a reducer, with one of each, several, and one of the user's own.
def trace(key: Array, scale: float) -> Array:
    """A function of a key and of a parameter."""
    return jnp.trace(rmt.GOE(4, scale).sample(key))


def scaled(draw: Array) -> Array:
    """A function of a draw."""
    return 2 * draw


class Total(simulation.AbstractReducer):
    """The sum of all draws."""

    weight: float = eqx.field(static=True, default=1.0)

    def init(self, draw: Any) -> np.float64:
        """No draws."""
        return np.float64(0)

    def update(self, state: Array, draws: simulation.Draws) -> Array:
        """A batch more."""
        return sum((self.weight * jnp.sum(values * mask) for values, mask in draws.entries()), start=state)

    def merge(self, left: Any, right: Any) -> np.float64:
        """Those of both."""
        return np.float64(left + right)

    def finish(self, state: Any) -> float:
        """The sum."""
        return float(state)


assert_type(rmt.simulate(goe.eigenvalues, key, 10), Array)
assert_type(rmt.simulate(trace, key, 10, args=(1.0,), batch_size=5), Array)
assert_type(rmt.simulate(rmt.Mixed(goe, 0.7).eigenvalues, key, 10), Spectrum)
histogram = assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=rmt.Histogram([-3, 0, 3])), HistogramResult)
assert_type(histogram.total, int)
assert_type(rmt.simulate(trace, key, 10, args=(1.0,), reduce=rmt.Moments(order=4)), MomentsResult)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Covariance()), CovarianceResult)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Extremes(2)), ExtremesResult)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Keep(2)), KeptDraws)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Collect()), KeptDraws)
quantiles = rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Quantiles([0.5]))
assert_type(quantiles, simulation.QuantilesResult)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=Total()), float)
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=simulation.Part(scaled, rmt.Moments())), MomentsResult)
two = rmt.simulate(goe.eigenvalues, key, 10, reduce=(rmt.Histogram([-3, 3]), Total()))
assert_type(two, tuple[HistogramResult, float])
three = rmt.simulate(goe.eigenvalues, key, 10, reduce=(rmt.Moments(), Total(), simulation.Keep(1)))
assert_type(three, tuple[MomentsResult, float, KeptDraws])
alike = rmt.simulate(goe.eigenvalues, key, 10, reduce={"coarse": rmt.Histogram([-3, 3]), "fine": rmt.Histogram([0, 1])})
assert_type(alike, dict[str, HistogramResult])
mixed = rmt.simulate(goe.eigenvalues, key, 10, reduce={"h": rmt.Histogram([-3, 3]), "m": rmt.Moments()})
assert_type(mixed, dict[str, Any])
parts = simulation.Part(scaled, (rmt.Moments(), rmt.Histogram([-3, 3])))
assert_type(rmt.simulate(goe.eigenvalues, key, 10, reduce=parts), tuple[MomentsResult, HistogramResult])


def log_variance(moments: MomentsResult) -> Numbers:
    """A function of the result of a reducer."""
    variance: Numbers = moments.variance
    return np.log(variance)


jackknife = rmt.simulate(trace, key, 10, args=(1.0,), reduce=simulation.Jackknife(log_variance, blocks=5))
assert_type(jackknife.value, Numbers)
rare = rmt.simulate_rare(rmt.GOE(10), key, "largest", 2.5, 100, side="above")
assert_type(rare.log_probability, Array)

# Decisions from data and spectra.
data = np.random.default_rng(0).normal(size=(30, 5))
assert_type(inference.signal_rank(data, method="parallel-analysis").rank, Array)
assert_type(inference.shrink_covariance(data, method="spiked", loss="stein"), Array)
assert_type(inference.shrink_covariance(data, method="ledoit-wolf", target="one-factor"), Array)
assert_type(inference.shrink_levels([1.0, 2.0], 9, method="gis"), Array)
assert_type(inference.detone(np.eye(3), 1, unit_diagonal=True), Array)
assert_type(inference.denoise(data.tolist(), loss="operator").matrix, Array)
assert_type(inference.fit_beta(spectra, by="ratios").value, Array)
assert_type(inference.fit_beta(spectra, by="levels").law, rmt.GaussianBeta)
assert_type(inference.fit_brody(statistics.unfold(spectra, goe.law())).law, laws.Brody)
test = inference.kolmogorov_smirnov([0.1, 0.4, 0.6], laws.Uniform(), calibration="independent")
assert_type(test.p_value, Array)
assert_type(inference.fit_marchenko_pastur([0.3, 0.5, 0.9, 1.2, 1.4], 30, 5, ratio="known").law, laws.MarchenkoPastur)
assert_type(inference.population_spectrum([0.3, 0.5, 0.9], 30).law, laws.GeneralMarchenkoPastur)

# Plots.
assert_type(plotting.spectral_density(spectra, law=goe.law(), errors="independent", color="C0"), Axes)
assert_type(plotting.spacings(unfolded, betas=[0, 1], bins=10), Axes)

# A function that takes any law, and one that makes an ensemble.
median: Callable[[laws.AbstractLaw], Array] = laws.AbstractLaw.median
assert_type(median(goe.law()), Array)
