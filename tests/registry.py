"""Every public name with an example of it; `test_architecture.py` names what is missing.

Ensembles and laws come from the table in `instances.py`. Another class is represented by an instance, or by a function
that makes one; a function that is to compose with JAX by a `Call`, which `test_composability.py` runs through the
battery; what is no function of arrays by `Elsewhere`, the test file that holds it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import rmtjax as rmt
from tests import instances
from tests.instances import ENSEMBLES, LAWS, made


@dataclass(frozen=True)
class Call:
    """A public function with example arguments."""

    fn: Callable
    args: tuple
    second_derivative: bool = True


@dataclass(frozen=True)
class Elsewhere:
    """The test file of a name that is not a function of arrays."""

    path: str

    def __post_init__(self):
        if not (Path(__file__).parent / self.path).is_file():
            raise FileNotFoundError(self.path)


SYMMETRIC = jnp.array(instances.SYMMETRIC)
HERMITIAN = jax.lax.complex(SYMMETRIC, jnp.array([[0.0, 0.4, 0.1], [-0.4, 0.0, -0.2], [-0.1, 0.2, 0.0]]))
GENERAL = jnp.array([[0.2, -1.0, 0.4], [0.7, 0.1, 0.3], [-0.2, 0.5, 1.1]])
SPECTRUM = jnp.array([-1.2, 0.1, 0.8])
POSITIVE = jnp.array([0.3, 1.7, 5.2])
LEVELS = jnp.array([0.1, 0.9, 1.8, 3.2, 4.3, 6.1])
DATA = jnp.array([[1.2, -0.4, 0.3], [-2.1, 0.8, 0.2], [0.3, 0.1, -1.4], [1.9, -0.6, 0.5], [-0.8, 1.1, 0.9]])


def below(levels: Any) -> rmt.Spectrum:
    """The levels below 5, as unfolded ones."""
    return rmt.Spectrum(levels, levels < 5, unfolded=True)


def gauge_invariant(a: Any) -> tuple:
    """The part of eigenvectors that does not depend on their phases: the levels and |v|²."""
    eigenvalues, v = rmt.eigh(a)
    return eigenvalues, jnp.abs(v) ** 2


def cosine_integral(upper: Any) -> Any:
    """The integral of a cosine from 0, through the panels."""
    return rmt.special.integrate(jnp.cos, jnp.stack([0 * upper, upper]))


def product_on_one_device(a: Any, v: Any) -> Any:
    """A product over a mesh of one device."""
    mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    return rmt.linalg.sharded_product(a, v, mesh)


def goodness(test: str, values: Any) -> tuple:
    """The statistic and the p-value of uniform values."""
    found = getattr(rmt.inference, test)(values, rmt.laws.Uniform(), calibration="independent")
    return found.statistic, found.p_value


def compared_spectra(levels: Any) -> Any:
    """The energy distance of two sets of spectra."""
    a, b = levels.reshape(2, 3), levels[None, :4] ** 2
    return rmt.inference.compare_spectra(a, b, key=jax.random.key(0), statistic="energy", resamples=9).statistic


def fitted_noise(levels: Any) -> tuple:
    """The noise and the effective ratio of a covariance spectrum."""
    fit = rmt.inference.fit_marchenko_pastur(levels, 40, 6, ratio="fitted")
    return fit.variance.value, fit.ratio.value


def symmetric_product(v: Any, a: Any) -> Any:
    """The product of the symmetric part of a matrix with a vector."""
    return (a + a.T) @ v / 2


def bent_fences(levels: Any) -> rmt.Spectrum:
    """Unfolded spectra that differ in long waves."""
    place = jnp.arange(24, dtype=levels.dtype)[None]
    return rmt.Spectrum(place + 2 * jnp.sin(0.03 * levels[:, None] * place), unfolded=True)


def product_determinant(z: Any) -> Any:
    """The determinant of the kernel xy on (0, 1), 1 - z/3."""
    return rmt.special.fredholm_det(lambda x, y: x * y, (0.0, 1.0), coupling=z, num_nodes=6).value


# Every point of it costs the eigenvalues of a matrix.
COSTLY = {"HardEdge": Elsewhere("laws/extremes/test_hard_edge.py")}


def maker(expression: str) -> Callable:
    """A function that makes an instance of the table."""
    return lambda: made(expression)


PUBLIC: dict[str, Any] = {
    **{f"rmtjax.{name}": maker(example) for name, example in ENSEMBLES.items()},
    **{f"rmtjax.laws.{name}": COSTLY.get(name, maker(law.example)) for name, law in LAWS.items()},
    "rmtjax.CircularBrownianMotion": lambda: rmt.CircularBrownianMotion(LEVELS[:3], 1, 1.2),
    "rmtjax.DysonBrownianMotion": lambda: rmt.DysonBrownianMotion(SPECTRUM, 1, 1.2, 0.4),
    "rmtjax.Histogram": Elsewhere("simulation/reducers/test_histogram.py"),
    "rmtjax.Moments": Elsewhere("simulation/reducers/test_moments.py"),
    "rmtjax.PaddedMatrix": lambda: rmt.GOE(4).leading_block(jax.random.key(0), 2),
    "rmtjax.Circle": lambda: rmt.Circle(4.0),
    "rmtjax.Interval": lambda: rmt.Interval(0.0, 4.0),
    "rmtjax.Spectrum": lambda: rmt.GOE(4).leading_block_eigenvalues(jax.random.key(0), 2),
    "rmtjax.SymTridiagonal": lambda: rmt.SymTridiagonal(SPECTRUM, SPECTRUM[1:]),
    "rmtjax.benchmark.Measurement": Elsewhere("benchmark/test_measure.py"),
    "rmtjax.benchmark.Work": Elsewhere("benchmark/test_measure.py"),
    "rmtjax.benchmark.measure": Elsewhere("benchmark/test_measure.py"),
    "rmtjax.eigh": Call(gauge_invariant, (HERMITIAN,)),
    "rmtjax.eigvalsh": Call(rmt.eigvalsh, (SYMMETRIC,)),
    "rmtjax.enable_compilation_cache": Elsewhere("test_cache.py"),
    "rmtjax.cite": Elsewhere("test_cite.py"),
    "rmtjax.ensembles.AbstractEnsemble": Elsewhere("ensembles/wigner/test_wigner.py"),
    "rmtjax.ensembles.AbstractNestedEnsemble": Elsewhere("ensembles/wigner/test_wigner.py"),
    "rmtjax.ensembles.AbstractNonHermitianEnsemble": Elsewhere("ensembles/plane/test_ginibre.py"),
    "rmtjax.ensembles.AbstractUnitaryEnsemble": Elsewhere("ensembles/circular/test_circular.py"),
    "rmtjax.ensembles.Edge": lambda: rmt.GOE(4, 1.2).soft_edge(),
    "rmtjax.laws.AbstractLaw": Elsewhere("laws/core/test_base.py"),
    "rmtjax.laws.AbstractPlanarLaw": Elsewhere("laws/core/test_planar.py"),
    "rmtjax.laws.AbstractSpectralLaw": Elsewhere("laws/core/test_spectral.py"),
    "rmtjax.laws.bulk_gap_probabilities": Call(
        lambda s: rmt.laws.bulk_gap_probabilities(s, 1, 2), (POSITIVE,), second_derivative=False
    ),
    "rmtjax.laws.circular_form_factor": Elsewhere("laws/correlations/test_circular.py"),
    "rmtjax.laws.circular_linear_statistic_variance": Call(
        lambda a: rmt.laws.circular_linear_statistic_variance(lambda t: jnp.exp(a * jnp.cos(t)), 1, 5, num_nodes=16),
        (jnp.array(0.7),),
    ),
    "rmtjax.laws.circular_number_variance": Call(
        lambda length: rmt.laws.circular_number_variance(length, 7, 1), (jnp.array([0.3, 5.2]),)
    ),
    "rmtjax.laws.circular_power_spectrum": Elsewhere("laws/correlations/test_circular_power_spectrum.py"),
    "rmtjax.laws.circular_rigidity": Call(
        lambda length: rmt.laws.circular_rigidity(length, 7, 1), (jnp.array([0.3, 5.2]),)
    ),
    "rmtjax.laws.crossover_form_factor": Call(
        lambda tau, coupling: rmt.laws.crossover_form_factor(tau, coupling),
        (jnp.array([0.2, 1.6]), jnp.array([0.02, 0.4])),
    ),
    "rmtjax.laws.crossover_number_variance": Call(
        lambda lengths, coupling: rmt.laws.crossover_number_variance(lengths, coupling),
        (jnp.array([0.7, 20.0]), jnp.array([0.02, 0.4])),
    ),
    "rmtjax.laws.form_factor": Call(lambda tau: rmt.laws.form_factor(tau, 1), (jnp.array([0.2, 1.6]),)),
    "rmtjax.laws.gaussian_form_factor": Call(
        lambda times, scale: rmt.laws.gaussian_form_factor(times, 3, 2, scale), (POSITIVE, jnp.array(1.2))
    ),
    "rmtjax.laws.gaussian_number_variance": Call(
        lambda lower, scale: rmt.laws.gaussian_number_variance(lower, 0.7, 3, 1, scale),
        (jnp.array([-0.4, 0.1]), jnp.array(1.2)),
    ),
    "rmtjax.laws.hard_edge_gap_probabilities": Call(
        lambda s, alpha: rmt.laws.hard_edge_gap_probabilities(s, alpha, 2, 1),
        (POSITIVE[:2], 0.7),
        second_derivative=False,
    ),
    "rmtjax.laws.hermite_gap_probabilities": Call(
        lambda lower, upper: rmt.laws.hermite_gap_probabilities(3, (lower, upper), 1, 2),
        (jnp.array(-0.3), jnp.array(1.1)),
    ),
    "rmtjax.laws.free_cumulants_of_moments": Call(
        lambda m: rmt.laws.free_cumulants_of_moments(m)[0], (jnp.array([0.3, 1.2, 0.9, 3.5]),)
    ),
    "rmtjax.laws.log_det_equivalent": Call(
        lambda a, z: rmt.laws.log_det_equivalent(a, rmt.laws.MarchenkoPastur(0.5), z),
        (jnp.array([[2.0, 0.3], [0.3, 1.0]]), jnp.array(-0.7)),
    ),
    "rmtjax.laws.resolvent_equivalent": Call(
        lambda a, z: rmt.laws.resolvent_equivalent(a, rmt.laws.MarchenkoPastur(0.5), z).real,
        (jnp.array([[2.0, 0.3], [0.3, 1.0]]), jnp.array(-0.7)),
    ),
    "rmtjax.laws.moments_of_free_cumulants": Call(
        lambda m: rmt.laws.moments_of_free_cumulants(m), (jnp.array([0.3, 1.2, 0.9, 3.5]),)
    ),
    "rmtjax.laws.linear_statistic_mean": Call(
        lambda a, beta: rmt.laws.linear_statistic_mean(lambda x: jnp.exp(a * x), 5, beta, num_nodes=16),
        (jnp.array(0.7), jnp.array(1.5)),
    ),
    "rmtjax.laws.linear_statistic_variance": Call(
        lambda a, beta: rmt.laws.linear_statistic_variance(lambda x: jnp.exp(a * x), beta, (-a, 2.0), num_nodes=16),
        (jnp.array(0.7), jnp.array(1.5)),
    ),
    "rmtjax.laws.mean_complex_spacing_ratio": Elsewhere("laws/spacings/test_mean_complex_spacing_ratio.py"),
    "rmtjax.laws.mean_gap_ratio": Elsewhere("laws/spacings/test_gap_ratio.py"),
    "rmtjax.laws.mean_superposed_gap_ratio": Elsewhere("laws/spacings/test_superposed_gap_ratio.py"),
    "rmtjax.laws.mean_inverse_participation_ratio": Call(
        lambda q: rmt.laws.mean_inverse_participation_ratio(5, 1, q), (POSITIVE,)
    ),
    "rmtjax.laws.mean_participation_entropy": Elsewhere("laws/eigenvectors/test_participation.py"),
    "rmtjax.laws.number_variance": Call(lambda length: rmt.laws.number_variance(length, 1), (jnp.array([0.3, 5.2]),)),
    "rmtjax.laws.pair_correlation": Call(lambda r: rmt.laws.pair_correlation(r, 1), (jnp.array([0.3, 5.2]),)),
    "rmtjax.laws.rigidity": Call(lambda length: rmt.laws.rigidity(length, 1), (jnp.array([0.3, 5.2]),)),
    "rmtjax.laws.soft_edge_gap_probabilities": Call(
        lambda s: rmt.laws.soft_edge_gap_probabilities(s, 1, 2), (SPECTRUM,), second_derivative=False
    ),
    "rmtjax.adapters.numpyro.LawDistribution": Elsewhere("adapters/test_numpyro.py"),
    "rmtjax.adapters.numpyro.distribution": Elsewhere("adapters/test_numpyro.py"),
    "rmtjax.adapters.pandas.clean_cross_covariance": Elsewhere("adapters/test_pandas.py"),
    "rmtjax.adapters.pandas.denoise": Elsewhere("adapters/test_pandas.py"),
    "rmtjax.adapters.pandas.rolling_covariance": Elsewhere("adapters/test_pandas.py"),
    "rmtjax.adapters.pandas.shrink_covariance": Elsewhere("adapters/test_pandas.py"),
    "rmtjax.adapters.scikit_learn.RandomMatrixCovariance": Elsewhere("adapters/test_scikit_learn.py"),
    "rmtjax.adapters.scikit_learn.RandomMatrixPCA": Elsewhere("adapters/test_scikit_learn.py"),
    "rmtjax.adapters.scipy_stats.FrozenLaw": Elsewhere("adapters/test_scipy_stats.py"),
    "rmtjax.adapters.scipy_stats.frozen": Elsewhere("adapters/test_scipy_stats.py"),
    "rmtjax.inference.Denoised": Elsewhere("inference/signal/test_denoise.py"),
    "rmtjax.inference.DenoisedImage": Elsewhere("inference/signal/test_patches.py"),
    "rmtjax.inference.DenoisedPatches": Elsewhere("inference/signal/test_patches.py"),
    "rmtjax.inference.Fit": Elsewhere("inference/fits/test_beta.py"),
    "rmtjax.inference.GoodnessOfFit": Elsewhere("inference/goodness/test_one_sample.py"),
    "rmtjax.inference.HardThreshold": Elsewhere("inference/signal/test_hard_threshold.py"),
    "rmtjax.inference.LargestRootTest": Elsewhere("inference/signal/test_largest_root.py"),
    "rmtjax.inference.LikelihoodRatio": Elsewhere("inference/fits/test_tail.py"),
    "rmtjax.inference.MarchenkoPasturFit": Elsewhere("inference/fits/test_marchenko_pastur.py"),
    "rmtjax.inference.Biwhitened": Elsewhere("inference/signal/test_biwhiten.py"),
    "rmtjax.inference.RankAboveNoise": Elsewhere("inference/signal/test_above_noise.py"),
    "rmtjax.inference.PopulationSpectrum": Elsewhere("inference/covariance/test_population.py"),
    "rmtjax.inference.SignalRank": Elsewhere("inference/signal/test_signal_rank.py"),
    "rmtjax.inference.SpectraComparison": Elsewhere("inference/goodness/test_two_samples.py"),
    "rmtjax.inference.SpectralDensityEstimate": Elsewhere("inference/matrix_free/test_spectral_density_of.py"),
    "rmtjax.inference.SpectralOutliers": Elsewhere("inference/matrix_free/test_outliers.py"),
    "rmtjax.inference.SpikeEstimates": Elsewhere("inference/signal/test_spikes.py"),
    "rmtjax.inference.TailCutOff": Elsewhere("inference/fits/test_tail_counts.py"),
    "rmtjax.inference.TailFit": Elsewhere("inference/fits/test_tail.py"),
    "rmtjax.inference.anderson_darling": Call(partial(goodness, "anderson_darling"), (LEVELS / 7,)),
    "rmtjax.inference.clean_cross_covariance": Call(
        lambda x: rmt.inference.clean_cross_covariance(x, x[:, :2]), (GENERAL,), second_derivative=False
    ),
    "rmtjax.inference.compare_spectra": Call(compared_spectra, (LEVELS,), second_derivative=False),
    "rmtjax.inference.cramer_von_mises": Call(partial(goodness, "cramer_von_mises"), (LEVELS / 7,)),
    "rmtjax.inference.denoise": Call(lambda data: rmt.inference.denoise(data).matrix, (GENERAL,)),
    "rmtjax.inference.biwhiten": Call(lambda v: rmt.inference.biwhiten(v, variances=v**2 + 0.1).scaled, (DATA,)),
    "rmtjax.inference.denoise_image": Elsewhere("inference/signal/test_patches.py"),
    "rmtjax.inference.denoise_patches": Call(
        lambda data: rmt.inference.denoise_patches(data, rule="frobenius").patches, (GENERAL[:, :2],)
    ),
    "rmtjax.inference.detone": Call(
        lambda a: rmt.inference.detone((a + a.mT) / 2), (SYMMETRIC + 5 * jnp.eye(3),), second_derivative=False
    ),
    "rmtjax.inference.effective_sample_size": Call(
        lambda data: rmt.inference.effective_sample_size(jnp.cos(data)), (DATA,), second_derivative=False
    ),
    "rmtjax.inference.fit_berry_robnik": Elsewhere("inference/fits/test_spacing_fits.py"),
    "rmtjax.inference.fit_beta": Call(
        lambda levels: rmt.inference.fit_beta(levels, by="levels").value, (LEVELS,), second_derivative=False
    ),
    "rmtjax.inference.fit_brody": Call(
        lambda levels: rmt.inference.fit_brody(levels).value, (LEVELS,), second_derivative=False
    ),
    "rmtjax.inference.fit_crossover": Elsewhere("inference/fits/test_spacing_fits.py"),
    "rmtjax.inference.fit_marchenko_pastur": Call(fitted_noise, (1 + LEVELS,)),
    "rmtjax.inference.fit_tail": Call(
        lambda values: rmt.inference.fit_tail(values, minimum=0.5).exponent.value, (jnp.append(LEVELS, 7 + LEVELS),)
    ),
    "rmtjax.inference.kolmogorov_smirnov": Call(
        partial(goodness, "kolmogorov_smirnov"), (LEVELS / 7,), second_derivative=False
    ),
    "rmtjax.inference.largest_root_test": Call(
        lambda root: rmt.inference.largest_root_test(root, 3, 2, 8).p_value, (0.1 * POSITIVE,), second_derivative=False
    ),
    "rmtjax.inference.largest_root_test_of_groups": Call(
        lambda one, other: rmt.inference.largest_root_test_of_groups(one, other, method="tracy-widom").p_value,
        (DATA, DATA[::-1] ** 2),
        second_derivative=False,
    ),
    "rmtjax.inference.log_likelihood": Call(
        lambda beta, values: rmt.inference.log_likelihood(
            rmt.laws.InterpolatedGapRatio(beta), rmt.spectra.MaskedValues(values, values < 0.8)
        ),
        (jnp.array(1.5), jnp.array([0.3, 0.6, 0.9])),
    ),
    "rmtjax.inference.minimum_variance_loss": Call(
        lambda a: rmt.inference.minimum_variance_loss(a, jnp.eye(3, dtype=a.dtype)), (SYMMETRIC + 5 * jnp.eye(3),)
    ),
    "rmtjax.inference.optimal_hard_threshold": Call(rmt.inference.optimal_hard_threshold, (30.0, 20.0)),
    "rmtjax.inference.oracle_covariance": Call(
        lambda x: rmt.inference.oracle_covariance(x, jnp.diag(jnp.asarray(POSITIVE[:2], x.dtype))),
        (GENERAL[:, :2],),
        second_derivative=False,
    ),
    "rmtjax.inference.population_spectrum": Elsewhere("inference/covariance/test_population.py"),
    "rmtjax.inference.shrink_covariance": Call(rmt.inference.shrink_covariance, (GENERAL,), second_derivative=False),
    "rmtjax.inference.signal_rank_above_noise": Call(
        lambda data: rmt.inference.signal_rank_above_noise(data, jnp.sin(3 * data)).levels,
        (DATA,),
        second_derivative=False,
    ),
    "rmtjax.inference.shrink_levels": Call(lambda levels: rmt.inference.shrink_levels(levels, 9), (LEVELS,)),
    "rmtjax.inference.signal_rank": Call(
        lambda data: rmt.inference.signal_rank(data, max_rank=2).p_values, (DATA,), second_derivative=False
    ),
    "rmtjax.inference.signal_rank_of_levels": Call(
        lambda levels: rmt.inference.signal_rank_of_levels(levels, 9, 6, noise=1.0).p_values[:3], (LEVELS,)
    ),
    "rmtjax.inference.levels_near": Elsewhere("inference/matrix_free/test_sparse.py"),
    "rmtjax.inference.spectral_density_of": Call(
        # With all of its products it finds the levels, whatever the vectors are.
        lambda a: rmt.inference.spectral_density_of(symmetric_product, jax.random.key(0), 3, args=(a,), probes=2).nodes,
        (SYMMETRIC,),
        second_derivative=False,
    ),
    "rmtjax.inference.spectral_outliers": Elsewhere("inference/matrix_free/test_outliers.py"),
    "rmtjax.inference.spike_estimates": Call(
        lambda levels: rmt.inference.spike_estimates(levels, 50.0, 5.0, 1.0), (4 + POSITIVE,)
    ),
    "rmtjax.inference.WeightSpectra": Elsewhere("inference/weights/test_weight_spectra.py"),
    "rmtjax.inference.weight_spectra": Elsewhere("inference/weights/test_weight_spectra.py"),
    "rmtjax.linalg.log_determinant": Call(rmt.linalg.log_determinant, (SYMMETRIC,)),
    "rmtjax.linalg.matrix_function": Call(lambda a: rmt.linalg.matrix_function(jnp.exp, a), (HERMITIAN,)),
    "rmtjax.linalg.schatten_norm": Call(rmt.linalg.schatten_norm, (SYMMETRIC, 3.0)),
    "rmtjax.linalg.sharded_product": Call(product_on_one_device, (GENERAL, SPECTRUM)),
    "rmtjax.statistics.spectral_density": Call(
        rmt.statistics.spectral_density, (SPECTRUM, jnp.linspace(-2.0, 2.0, 5), 0.3)
    ),
    "rmtjax.statistics.stieltjes": Call(rmt.statistics.stieltjes, (SPECTRUM, jnp.array([0.3 + 0.5j, -1.0 + 1.0j]))),
    "rmtjax.plotting.complex_levels": Elsewhere("plotting/test_complex_levels.py"),
    "rmtjax.plotting.complex_spacing_ratios": Elsewhere("plotting/test_complex_ratios.py"),
    "rmtjax.plotting.form_factor": Elsewhere("plotting/test_correlations.py"),
    "rmtjax.plotting.gap_ratios": Elsewhere("plotting/test_spacings.py"),
    "rmtjax.plotting.intensities": Elsewhere("plotting/test_eigenvectors.py"),
    "rmtjax.plotting.inverse_participation_ratio": Elsewhere("plotting/test_eigenvectors.py"),
    "rmtjax.plotting.level_repulsion": Elsewhere("plotting/test_spacings.py"),
    "rmtjax.plotting.number_probabilities": Elsewhere("plotting/test_number_statistics.py"),
    "rmtjax.plotting.number_skewness": Elsewhere("plotting/test_number_statistics.py"),
    "rmtjax.plotting.number_variance": Elsewhere("plotting/test_number_statistics.py"),
    "rmtjax.plotting.pair_correlation": Elsewhere("plotting/test_correlations.py"),
    "rmtjax.plotting.power_spectrum": Elsewhere("plotting/test_correlations.py"),
    "rmtjax.plotting.rigidity": Elsewhere("plotting/test_number_statistics.py"),
    "rmtjax.plotting.spacings": Elsewhere("plotting/test_spacings.py"),
    "rmtjax.plotting.spectral_density": Elsewhere("plotting/test_spectral_density.py"),
    "rmtjax.plotting.spectral_ergodicity": Elsewhere("plotting/test_spectral_ergodicity.py"),
    "rmtjax.plotting.unfolding": Elsewhere("plotting/test_unfolding.py"),
    "rmtjax.random.chi": Elsewhere("random/test_gamma.py"),
    "rmtjax.random.gamma": Elsewhere("random/test_gamma.py"),
    "rmtjax.simulate": Elsewhere("simulation/test_simulate.py"),
    "rmtjax.simulate_rare": Elsewhere("simulation/test_rare.py"),
    "rmtjax.simulation.AbstractReducer": Elsewhere("simulation/reducers/test_base.py"),
    "rmtjax.simulation.Draws": Elsewhere("simulation/reducers/test_base.py"),
    "rmtjax.simulation.Collect": Elsewhere("simulation/reducers/test_keep.py"),
    "rmtjax.simulation.Covariance": Elsewhere("simulation/reducers/test_covariance.py"),
    "rmtjax.simulation.CovarianceResult": Elsewhere("simulation/reducers/test_covariance.py"),
    "rmtjax.simulation.Extremes": Elsewhere("simulation/reducers/test_extremes.py"),
    "rmtjax.simulation.ExtremesResult": Elsewhere("simulation/reducers/test_extremes.py"),
    "rmtjax.simulation.Jackknife": Elsewhere("simulation/reducers/test_jackknife.py"),
    "rmtjax.simulation.JackknifeResult": Elsewhere("simulation/reducers/test_jackknife.py"),
    "rmtjax.simulation.Keep": Elsewhere("simulation/reducers/test_keep.py"),
    "rmtjax.simulation.KeptDraws": Elsewhere("simulation/reducers/test_keep.py"),
    "rmtjax.simulation.Part": Elsewhere("simulation/reducers/test_part.py"),
    "rmtjax.simulation.Quantiles": Elsewhere("simulation/reducers/test_quantiles.py"),
    "rmtjax.simulation.QuantilesResult": Elsewhere("simulation/reducers/test_quantiles.py"),
    "rmtjax.simulation.HistogramResult": Elsewhere("simulation/reducers/test_histogram.py"),
    "rmtjax.simulation.Interrupted": Elsewhere("simulation/test_checkpoint.py"),
    "rmtjax.simulation.MemoryPlan": Elsewhere("simulation/test_simulate.py"),
    "rmtjax.simulation.MomentsResult": Elsewhere("simulation/reducers/test_moments.py"),
    "rmtjax.simulation.memory_plan": Elsewhere("simulation/test_simulate.py"),
    "rmtjax.simulation.RareEvent": Elsewhere("simulation/test_rare.py"),
    "rmtjax.special.Airy": Elsewhere("special/test_airy.py"),
    "rmtjax.special.FredholmDeterminant": Elsewhere("special/test_fredholm.py"),
    "rmtjax.special.airy": Call(rmt.special.airy, (5 * SPECTRUM,)),
    "rmtjax.special.airy_kernel": Call(rmt.special.airy_kernel, (SPECTRUM, SPECTRUM[::-1])),
    "rmtjax.special.bessel_j": Call(rmt.special.bessel_j, (SPECTRUM + 2, POSITIVE)),
    "rmtjax.special.bessel_kernel": Call(
        rmt.special.bessel_kernel, (POSITIVE, POSITIVE[::-1], 0.7), second_derivative=False
    ),
    "rmtjax.special.fredholm_det": Call(product_determinant, (jnp.array(0.8),)),
    "rmtjax.special.hermite_kernel": Call(lambda x, y: rmt.special.hermite_kernel(x, y, 4), (SPECTRUM, -SPECTRUM)),
    "rmtjax.special.integrate": Call(cosine_integral, (jnp.asarray(1.2),)),
    "rmtjax.special.sine_kernel": Call(rmt.special.sine_kernel, (SPECTRUM, SPECTRUM[::-1])),
    "rmtjax.spectral_radius": Call(rmt.spectral_radius, (GENERAL,)),
    "rmtjax.spectra.Line": lambda: rmt.spectra.Line(),
    "rmtjax.spectra.MaskedValues": lambda: rmt.statistics.spacings(LEVELS),
    "rmtjax.spectra.Unfolding": lambda: rmt.statistics.unfold_local(LEVELS, 1).report,
    "rmtjax.statistics.Estimate": Elsewhere("statistics/test_over_samples.py"),
    "rmtjax.statistics.LevelRepulsion": Elsewhere("statistics/spacings/test_level_repulsion.py"),
    "rmtjax.statistics.PolynomialDegree": Elsewhere("statistics/unfolding/test_degree.py"),
    "rmtjax.statistics.FormFactor": Elsewhere("statistics/correlations/test_form_factor.py"),
    "rmtjax.statistics.condition_number": Call(
        lambda levels: rmt.statistics.condition_number(below(levels)), (LEVELS,)
    ),
    "rmtjax.statistics.form_factor": Call(
        lambda levels: rmt.statistics.form_factor(below(levels), jnp.array([0.1, 0.7])), (LEVELS,)
    ),
    "rmtjax.statistics.complex_spacing_ratios": Call(
        lambda levels: rmt.statistics.complex_spacing_ratios(
            rmt.spectra.MaskedValues(jax.lax.complex(levels, levels**2), levels < 5)
        ).values[:5],
        (LEVELS,),
    ),
    "rmtjax.statistics.gap_ratios": Call(lambda levels: rmt.statistics.gap_ratios(below(levels)).mean(), (LEVELS,)),
    "rmtjax.statistics.inverse_participation_ratio": Call(
        rmt.statistics.inverse_participation_ratio, (HERMITIAN, jnp.array([0.7, 2.0]))
    ),
    "rmtjax.statistics.level_density": Call(
        lambda levels: rmt.statistics.level_density(below(levels), jnp.array([0.0, 2.0, 4.5])), (LEVELS,)
    ),
    "rmtjax.statistics.linear_statistic": Call(
        lambda levels, a: rmt.statistics.linear_statistic(below(levels), lambda x: jnp.cos(a * x)),
        (LEVELS, jnp.array(0.7)),
    ),
    "rmtjax.statistics.log_determinant": Call(lambda levels: rmt.statistics.log_determinant(below(levels)), (LEVELS,)),
    "rmtjax.statistics.multifractal_dimension": Call(rmt.statistics.multifractal_dimension, (GENERAL, 2.0)),
    "rmtjax.statistics.level_repulsion": Call(
        lambda levels: rmt.statistics.level_repulsion(below(levels), 1.2).exponent, (LEVELS,)
    ),
    "rmtjax.statistics.number_probabilities": Call(
        lambda levels: rmt.statistics.number_probabilities(below(levels), 0.7, max_count=1), (LEVELS,)
    ),
    "rmtjax.statistics.number_skewness": Call(
        lambda levels: rmt.statistics.number_skewness(below(levels), 0.7), (LEVELS,)
    ),
    "rmtjax.statistics.number_variance": Call(
        lambda levels: rmt.statistics.number_variance(below(levels), 0.7), (LEVELS,)
    ),
    "rmtjax.statistics.over_samples": Elsewhere("statistics/test_over_samples.py"),
    "rmtjax.statistics.pair_correlation": Call(
        lambda levels: rmt.statistics.pair_correlation(below(levels), jnp.array([0.0, 1.05, 2.55])), (LEVELS,)
    ),
    "rmtjax.statistics.power_spectrum": Call(
        lambda levels: rmt.statistics.power_spectrum(below(levels), jnp.array([0.4, 2.0])), (LEVELS,)
    ),
    "rmtjax.statistics.participation_entropy": Call(
        rmt.statistics.participation_entropy, (GENERAL, jnp.array([0.3, 1.0, 1.2]))
    ),
    "rmtjax.statistics.porter_thomas_intensities": Call(rmt.statistics.porter_thomas_intensities, (HERMITIAN,)),
    "rmtjax.statistics.polynomial_degree": Call(
        lambda levels: rmt.statistics.polynomial_degree(jnp.stack([levels, 1.2 * levels]), (1, 3), folds=2).scores,
        (LEVELS,),
    ),
    "rmtjax.statistics.rigidity": Call(lambda levels: rmt.statistics.rigidity(below(levels), 0.7), (LEVELS,)),
    "rmtjax.statistics.shared_density": Call(
        lambda levels: rmt.statistics.shared_density(bent_fences(levels)).variances, (LEVELS,)
    ),
    "rmtjax.statistics.SharedDensity": Elsewhere("statistics/unfolding/test_shared.py"),
    "rmtjax.statistics.spacings": Call(lambda levels: rmt.statistics.spacings(below(levels)).mean() ** 2, (LEVELS,)),
    "rmtjax.statistics.spectral_ergodicity": Call(
        lambda levels: rmt.statistics.spectral_ergodicity(
            rmt.Spectrum(jnp.stack([levels, 2 * levels]), levels < 5), jnp.array([0.0, 2.0, 4.5])
        ),
        (LEVELS,),
    ),
    "rmtjax.statistics.spectral_ergodicity_distance": Call(
        rmt.statistics.spectral_ergodicity_distance, (POSITIVE, POSITIVE[::-1])
    ),
    "rmtjax.statistics.subspace_overlap": Call(rmt.statistics.subspace_overlap, (GENERAL, GENERAL[:, :2] ** 2)),
    "rmtjax.statistics.unfold": Call(
        lambda levels: rmt.statistics.unfold(levels, rmt.laws.Semicircle(5.0)).values, (LEVELS[:4],)
    ),
    "rmtjax.statistics.unfold_kernel": Call(
        lambda levels: rmt.statistics.unfold_kernel(below(levels), 0.7).values[:5], (LEVELS,)
    ),
    "rmtjax.statistics.unfold_local": Call(
        lambda levels: rmt.statistics.unfold_local(levels, 1).values[1:-1], (LEVELS,)
    ),
    "rmtjax.statistics.unfold_phases": Call(lambda levels: rmt.statistics.unfold_phases(levels / 3).values, (LEVELS,)),
    "rmtjax.statistics.unfold_polynomial": Call(
        lambda levels: rmt.statistics.unfold_polynomial(levels, 2).values, (LEVELS,)
    ),
    "rmtjax.testing.check_composable": Elsewhere("test_composability.py"),
    "rmtjax.testing.check_derivatives": Elsewhere("testing/test_derivatives.py"),
    "rmtjax.testing.check_dtypes": Elsewhere("testing/test_dtypes.py"),
    "rmtjax.testing.check_ensemble": Elsewhere("testing/test_ensemble.py"),
    "rmtjax.testing.check_jit": Elsewhere("testing/test_transformations.py"),
    "rmtjax.testing.check_law": Elsewhere("testing/test_law.py"),
    "rmtjax.testing.check_second_derivative": Elsewhere("testing/test_derivatives.py"),
    "rmtjax.testing.check_unitary_ensemble": Elsewhere("testing/test_unitary.py"),
    "rmtjax.testing.check_vmap": Elsewhere("testing/test_transformations.py"),
    "rmtjax.testing.ensembles": Elsewhere("testing/test_strategies.py"),
    "rmtjax.testing.hermitian_matrices": Elsewhere("testing/test_strategies.py"),
    "rmtjax.testing.keys": Elsewhere("testing/test_strategies.py"),
    "rmtjax.testing.laws": Elsewhere("testing/test_strategies.py"),
    "rmtjax.testing.spectra": Elsewhere("testing/test_strategies.py"),
}
