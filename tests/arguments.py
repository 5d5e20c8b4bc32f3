"""Every public call with its arguments by name, for the batteries over what a caller may pass.

Numbers are lists of Python floats, sizes and choices are integers, and a key is `KEY`. `test_integers.py` and
`test_doors.py` replace one argument at a time. Constructors come from the examples in `instances.py`.
"""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

import rmtjax as rmt
from rmtjax import inference, laws, linalg, special, statistics
from tests import instances

KEY = jax.random.key(0)
SYMMETRIC = [[4.0, 1.0, 2.0], [1.0, 3.0, -1.0], [2.0, -1.0, 2.0]]
COVARIANCE = [[4.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 2.0]]
DATA = [[12.0, -4.0, 3.0], [-21.0, 8.0, 2.0], [3.0, 1.0, -14.0], [19.0, -6.0, 5.0], [-8.0, 11.0, 9.0]]
LEVELS = [1.0, 9.0, 18.0, 32.0, 43.0, 61.0]
SPECTRA = [LEVELS, [2.0, 8.0, 13.0, 29.0, 37.0, 55.0]]
MANY = [*LEVELS, 70.0, 91.0, 96.0, 120.0]
UNFOLDED = [0.0, 1.0, 3.0, 4.0, 6.0]
MASK = [True, True, False, True, True, True]
POINTS = [1.0, 3.0]


@dataclass(frozen=True)
class Arguments:
    """A public call; `complex_valued` names the numbers that may be complex."""

    fn: Callable
    given: dict[str, Any]
    complex_valued: tuple[str, ...] = ()

    def numbers(self) -> list[str]:
        """Names of the arguments that are numbers or arrays of numbers."""
        return [name for name, value in self.given.items() if _first(value) is float]

    def sizes(self) -> list[str]:
        """Names of the integers."""
        return [name for name, value in self.given.items() if _first(value) is int]

    def keys(self) -> list[str]:
        """Names of the keys."""
        return [name for name, value in self.given.items() if value is KEY]

    def masks(self) -> list[str]:
        """Names of the booleans of an array."""
        return [name for name, value in self.given.items() if value is MASK]

    def call(self, **others: Any) -> Any:
        """The result with other values for some arguments."""
        given = self.given | others
        positional = [given.pop(name) for name in [*given] if name.startswith("*")]
        return self.fn(*positional, **given)


def _first(value: Any) -> type:
    while isinstance(value, list) and value:
        value = value[0]
    return type(value)


def _constructed(name: str, expression: str) -> Arguments:
    """The constructor call of an example, with its defaults."""
    call = ast.parse(expression, mode="eval").body
    assert isinstance(call, ast.Call)
    value = lambda node: instances.made(ast.unparse(node))
    cls = value(call.func)
    found = inspect.signature(cls).bind(
        *map(value, call.args), **{each.arg: value(each.value) for each in call.keywords}
    )
    found.apply_defaults()
    plain = lambda each: each.tolist() if isinstance(each, jax.Array) else each
    return Arguments(cls, {name: plain(each) for name, each in found.arguments.items()})


CONSTRUCTORS = {
    **{f"rmtjax.{name}": _constructed(name, example) for name, example in instances.ENSEMBLES.items()},
    **{f"rmtjax.laws.{name}": _constructed(name, law.example) for name, law in instances.LAWS.items()},
}


def _with(fn: Callable, /, *complex_valued: str, **given: Any) -> Arguments:
    return Arguments(fn, given, complex_valued)


def _of_levels(fn: Callable, **given: Any) -> Arguments:
    return Arguments(fn, {"levels": LEVELS, **given})


def _of_unfolded(fn: Callable, **given: Any) -> Arguments:
    return Arguments(fn, {"levels": UNFOLDED, **given})


def _goodness(fn: Callable) -> Arguments:
    return _with(fn, levels=LEVELS, law=laws.Uniform(0.0, 7e9), calibration="independent")


FUNCTIONS: dict[str, Arguments] = {
    "rmtjax.eigh": _with(rmt.eigh, "a", a=SYMMETRIC),
    "rmtjax.eigvalsh": _with(rmt.eigvalsh, "a", a=SYMMETRIC),
    "rmtjax.spectral_radius": _with(rmt.spectral_radius, "a", a=SYMMETRIC),
    "rmtjax.SymTridiagonal": _with(rmt.SymTridiagonal, diagonal=LEVELS, off_diagonal=LEVELS[1:]),
    "rmtjax.DysonBrownianMotion": _with(rmt.DysonBrownianMotion, initial=LEVELS, beta=2, scale=3.0, reversion=1.0),
    "rmtjax.CircularBrownianMotion": _with(rmt.CircularBrownianMotion, initial=LEVELS, beta=2, scale=3.0),
    "rmtjax.PaddedMatrix": _with(rmt.PaddedMatrix, "values", values=SYMMETRIC, order=2),
    "rmtjax.Circle": _with(rmt.Circle, period=7.0),
    "rmtjax.Interval": _with(rmt.Interval, start=-1.0, end=8.0),
    "rmtjax.Spectrum": _with(rmt.Spectrum, values=LEVELS, mask=MASK),
    "rmtjax.Spectrum.of": _with(rmt.Spectrum.of, spectra=SPECTRA),
    "rmtjax.spectra.MaskedValues": _with(rmt.spectra.MaskedValues, "values", values=LEVELS, mask=MASK),
    "rmtjax.linalg.log_determinant": _with(linalg.log_determinant, "a", a=SYMMETRIC),
    "rmtjax.linalg.matrix_function": _with(linalg.matrix_function, "a", f=jnp.square, a=SYMMETRIC),
    "rmtjax.linalg.schatten_norm": _with(linalg.schatten_norm, "a", a=SYMMETRIC, p=3.0),
    "rmtjax.statistics.spectral_density": _with(statistics.spectral_density, levels=LEVELS, grid=POINTS, width=2.0),
    "rmtjax.statistics.stieltjes": _with(statistics.stieltjes, "z", levels=LEVELS, z=[2.0, 5.0]),
    "rmtjax.Histogram": _with(rmt.Histogram, edges=POINTS),
    "rmtjax.Moments": _with(rmt.Moments, order=2),
    "rmtjax.simulation.Extremes": _with(rmt.simulation.Extremes, k=2),
    "rmtjax.simulation.Keep": _with(rmt.simulation.Keep, k=2, seed=3),
    "rmtjax.simulation.Quantiles": _with(rmt.simulation.Quantiles, probabilities=[0.25, 0.5], size=64),
    "rmtjax.simulation.Jackknife": _with(rmt.simulation.Jackknife, statistic=jnp.mean, blocks=4),
    "rmtjax.simulate": _with(rmt.simulate, fn=rmt.GOE(2).eigenvalues, key=KEY, num_samples=3, batch_size=2),
    "rmtjax.simulation.memory_plan": _with(
        rmt.simulation.memory_plan, fn=rmt.GOE(2).eigenvalues, key=KEY, num_samples=3, batch_size=2
    ),
    "rmtjax.simulate_rare": _with(
        rmt.simulate_rare, ensemble=rmt.GOE(2), statistic="largest", threshold=2.0, key=KEY, num_samples=8
    ),
    "rmtjax.random.chi": _with(rmt.random.chi, key=KEY, df=POINTS),
    "rmtjax.random.gamma": _with(rmt.random.gamma, key=KEY, a=POINTS),
    "rmtjax.special.airy": _with(special.airy, x=POINTS),
    "rmtjax.special.airy_kernel": _with(special.airy_kernel, x=POINTS, y=POINTS),
    "rmtjax.special.bessel_j": _with(special.bessel_j, order=2.0, x=POINTS),
    "rmtjax.special.bessel_kernel": _with(special.bessel_kernel, x=POINTS, y=[2.0, 4.0], alpha=1.0),
    "rmtjax.special.fredholm_det": _with(
        special.fredholm_det, "coupling", kernel=lambda x, y: x * y, interval=[0.0, 2.0], coupling=2.0, num_nodes=6
    ),
    "rmtjax.special.hermite_kernel": _with(special.hermite_kernel, x=POINTS, y=[2.0, 4.0], n=4),
    "rmtjax.special.integrate": _with(special.integrate, fn=jnp.square, panels=POINTS, num_nodes=6),
    "rmtjax.special.sine_kernel": _with(special.sine_kernel, x=POINTS, y=[2.0, 4.0]),
    # Statistics
    "rmtjax.statistics.complex_spacing_ratios": _with(
        statistics.complex_spacing_ratios, "levels", levels=LEVELS, centres=MASK, block=64
    ),
    "rmtjax.statistics.condition_number": _of_levels(statistics.condition_number),
    "rmtjax.statistics.form_factor": _of_levels(statistics.form_factor, times=POINTS),
    "rmtjax.statistics.gap_ratios": _of_levels(statistics.gap_ratios, order=1),
    "rmtjax.statistics.inverse_participation_ratio": _with(
        statistics.inverse_participation_ratio, "vectors", vectors=SYMMETRIC, q=POINTS
    ),
    "rmtjax.statistics.level_density": _of_levels(statistics.level_density, edges=[0.0, 20.0, 70.0]),
    "rmtjax.statistics.level_repulsion": _of_unfolded(statistics.level_repulsion, cutoffs=[1.5, 2.0]),
    "rmtjax.statistics.linear_statistic": _of_levels(statistics.linear_statistic, f=jnp.abs),
    "rmtjax.statistics.log_determinant": _of_levels(statistics.log_determinant),
    "rmtjax.statistics.multifractal_dimension": _with(
        statistics.multifractal_dimension, "vectors", vectors=SYMMETRIC, q=2.0
    ),
    "rmtjax.statistics.number_probabilities": _of_unfolded(statistics.number_probabilities, lengths=2.0, max_count=2),
    "rmtjax.statistics.number_skewness": _of_unfolded(statistics.number_skewness, lengths=POINTS),
    "rmtjax.statistics.number_variance": _of_unfolded(statistics.number_variance, lengths=POINTS),
    "rmtjax.statistics.pair_correlation": _of_unfolded(statistics.pair_correlation, edges=[0.0, 1.0, 2.0]),
    "rmtjax.statistics.participation_entropy": _with(
        statistics.participation_entropy, "vectors", vectors=SYMMETRIC, q=POINTS
    ),
    "rmtjax.statistics.polynomial_degree": _with(statistics.polynomial_degree, levels=SPECTRA, degrees=(1, 3), folds=2),
    "rmtjax.statistics.porter_thomas_intensities": _with(
        statistics.porter_thomas_intensities, "vectors", vectors=SYMMETRIC
    ),
    "rmtjax.statistics.power_spectrum": _of_unfolded(statistics.power_spectrum, frequencies=POINTS),
    "rmtjax.statistics.rigidity": _of_unfolded(statistics.rigidity, lengths=POINTS),
    "rmtjax.statistics.shared_density": _with(
        statistics.shared_density,
        levels=[[float(i) for i in range(24)], [1.1 * i for i in range(24)], [1.2 * i for i in range(24)]],
        alpha=0.5,
    ),
    "rmtjax.statistics.spacings": _of_levels(statistics.spacings, order=1),
    "rmtjax.statistics.spectral_ergodicity": _with(
        statistics.spectral_ergodicity, levels=SPECTRA, edges=[0.0, 20.0, 70.0]
    ),
    "rmtjax.statistics.spectral_ergodicity_distance": _with(
        statistics.spectral_ergodicity_distance, ergodicity=POINTS, other=[2.0, 4.0]
    ),
    "rmtjax.statistics.subspace_overlap": _with(
        statistics.subspace_overlap, "vectors", "basis", vectors=SYMMETRIC, basis=SYMMETRIC
    ),
    "rmtjax.statistics.unfold": _of_levels(statistics.unfold, law=laws.Uniform(0.0, 7e9)),
    "rmtjax.statistics.unfold_kernel": _of_levels(statistics.unfold_kernel, bandwidth=2.0),
    "rmtjax.statistics.unfold_local": _of_levels(statistics.unfold_local, window=1),
    "rmtjax.statistics.unfold_phases": _with(statistics.unfold_phases, phases=[-2.0, 0.0, 2.0, 3.0]),
    "rmtjax.statistics.unfold_polynomial": _of_levels(statistics.unfold_polynomial, degree=2),
    # Theory
    "rmtjax.laws.bulk_gap_probabilities": _with(laws.bulk_gap_probabilities, s=POINTS, beta=1, max_count=2),
    "rmtjax.laws.circular_form_factor": _with(laws.circular_form_factor, times=POINTS, n=5, beta=1),
    "rmtjax.laws.circular_linear_statistic_variance": _with(
        laws.circular_linear_statistic_variance, f=jnp.cos, beta=1, n=5, num_nodes=16
    ),
    "rmtjax.laws.circular_number_variance": _with(laws.circular_number_variance, lengths=POINTS, n=7, beta=1),
    "rmtjax.laws.circular_power_spectrum": _with(laws.circular_power_spectrum, waves=POINTS, n=5, beta=1),
    "rmtjax.laws.circular_rigidity": _with(laws.circular_rigidity, lengths=POINTS, n=7, beta=1),
    "rmtjax.laws.crossover_form_factor": _with(laws.crossover_form_factor, times=POINTS, coupling=2.0),
    "rmtjax.laws.crossover_number_variance": _with(laws.crossover_number_variance, lengths=POINTS, coupling=2.0),
    "rmtjax.laws.form_factor": _with(laws.form_factor, times=POINTS, beta=1),
    "rmtjax.laws.gaussian_form_factor": _with(laws.gaussian_form_factor, times=POINTS, n=3, beta=2, scale=2.0),
    "rmtjax.laws.gaussian_number_variance": _with(
        laws.gaussian_number_variance, lower=0.0, upper=2.0, n=3, beta=1, scale=2.0
    ),
    "rmtjax.laws.hard_edge_gap_probabilities": _with(
        laws.hard_edge_gap_probabilities, s=POINTS, alpha=1.0, beta=2, max_count=1
    ),
    "rmtjax.laws.hermite_gap_probabilities": _with(
        laws.hermite_gap_probabilities, n=3, interval=[0.0, 2.0], beta=1, max_count=1
    ),
    "rmtjax.laws.free_cumulants_of_moments": _with(laws.free_cumulants_of_moments, moments=POINTS),
    "rmtjax.laws.log_det_equivalent": _with(
        laws.log_det_equivalent, matrix=SYMMETRIC, law=laws.MarchenkoPastur(0.5), z=-1.0, operation="product"
    ),
    "rmtjax.laws.resolvent_equivalent": _with(
        laws.resolvent_equivalent, matrix=SYMMETRIC, law=laws.MarchenkoPastur(0.5), z=-1.0, operation="product"
    ),
    "rmtjax.laws.moments_of_free_cumulants": _with(laws.moments_of_free_cumulants, cumulants=POINTS),
    "rmtjax.laws.linear_statistic_mean": _with(laws.linear_statistic_mean, f=jnp.square, n=5, beta=2.0, num_nodes=16),
    "rmtjax.laws.linear_statistic_variance": _with(
        laws.linear_statistic_variance, f=jnp.square, beta=2.0, support=[-2.0, 2.0], num_nodes=16
    ),
    "rmtjax.laws.mean_complex_spacing_ratio": _with(laws.mean_complex_spacing_ratio, beta=2, n=3),
    "rmtjax.laws.mean_gap_ratio": _with(laws.mean_gap_ratio, beta=1),
    "rmtjax.laws.mean_inverse_participation_ratio": _with(laws.mean_inverse_participation_ratio, n=5, beta=1, q=POINTS),
    "rmtjax.laws.mean_participation_entropy": _with(laws.mean_participation_entropy, n=5, beta=1),
    "rmtjax.laws.mean_superposed_gap_ratio": _with(laws.mean_superposed_gap_ratio, betas=[1, 1], fractions=[0.5, 0.5]),
    "rmtjax.laws.number_variance": _with(laws.number_variance, lengths=POINTS, beta=1),
    "rmtjax.laws.pair_correlation": _with(laws.pair_correlation, r=POINTS, beta=1),
    "rmtjax.laws.rigidity": _with(laws.rigidity, lengths=POINTS, beta=1),
    "rmtjax.laws.soft_edge_gap_probabilities": _with(laws.soft_edge_gap_probabilities, s=POINTS, beta=1, max_count=2),
    # Inference
    "rmtjax.inference.anderson_darling": _goodness(inference.anderson_darling),
    "rmtjax.inference.biwhiten": _with(
        inference.biwhiten, "data", data=DATA, variances=[[1.0 + value**2 for value in row] for row in DATA]
    ),
    "rmtjax.inference.clean_cross_covariance": _with(
        inference.clean_cross_covariance, "x", "y", x=DATA, y=[row[:2] for row in DATA]
    ),
    "rmtjax.inference.compare_spectra": _with(
        inference.compare_spectra, a=SPECTRA, b=SPECTRA[::-1], key=KEY, statistic="energy", resamples=9
    ),
    "rmtjax.inference.cramer_von_mises": _goodness(inference.cramer_von_mises),
    "rmtjax.inference.denoise": _with(inference.denoise, "data", data=DATA, noise=2.0),
    "rmtjax.inference.denoise_image": _with(
        inference.denoise_image, "image", image=[[[*row, row[0] - row[1]] for row in DATA]] * 2, patch=(2, 2), noise=2.0
    ),
    "rmtjax.inference.denoise_patches": _with(inference.denoise_patches, "patches", patches=DATA, noise=2.0),
    "rmtjax.inference.detone": _with(inference.detone, "matrix", matrix=COVARIANCE, modes=1),
    "rmtjax.inference.effective_sample_size": _with(inference.effective_sample_size, "data", data=DATA),
    "rmtjax.inference.fit_berry_robnik": _of_unfolded(inference.fit_berry_robnik),
    "rmtjax.inference.fit_beta": _with(inference.fit_beta, levels=MANY),
    "rmtjax.inference.fit_brody": _of_unfolded(inference.fit_brody),
    "rmtjax.inference.fit_crossover": _of_unfolded(inference.fit_crossover),
    "rmtjax.inference.fit_marchenko_pastur": _with(inference.fit_marchenko_pastur, levels=LEVELS, n=40, p=6),
    "rmtjax.inference.fit_tail": _with(inference.fit_tail, values=MANY, minimum=2.0, key=KEY, resamples=3),
    "rmtjax.inference.kolmogorov_smirnov": _goodness(inference.kolmogorov_smirnov),
    "rmtjax.inference.kolmogorov_smirnov.draws": _with(
        inference.kolmogorov_smirnov,
        levels=[-1.0, 0.0, 1.0],
        law=laws.Semicircle(2.0),
        calibration=rmt.GOE(3),
        key=KEY,
        resamples=9,
    ),
    "rmtjax.inference.largest_root_test": _with(
        inference.largest_root_test, root=[0.25, 1.0], p=3, hypothesis=2, error=8
    ),
    "rmtjax.inference.largest_root_test_of_groups": _with(
        lambda groups: inference.largest_root_test_of_groups(groups, DATA[::-1], method="tracy-widom"),
        "groups",
        groups=DATA,
    ),
    "rmtjax.inference.log_likelihood": _with(inference.log_likelihood, law=laws.Uniform(0.0, 7e9), values=LEVELS),
    "rmtjax.inference.minimum_variance_loss": _with(
        inference.minimum_variance_loss, "estimate", "population", estimate=COVARIANCE, population=COVARIANCE
    ),
    "rmtjax.inference.optimal_hard_threshold": _with(inference.optimal_hard_threshold, n=30.0, p=20.0),
    "rmtjax.inference.oracle_covariance": _with(
        inference.oracle_covariance, "data", "population", data=DATA, population=COVARIANCE
    ),
    "rmtjax.inference.shrink_covariance": _with(
        inference.shrink_covariance, "data", data=DATA, method="sample", half_life=3.0
    ),
    "rmtjax.inference.shrink_levels": _with(
        inference.shrink_levels, levels=LEVELS, n=9, p=6, method="spiked", noise=2.0
    ),
    "rmtjax.inference.signal_rank": _with(inference.signal_rank, "data", data=DATA, alpha=0.05, noise=2.0, max_rank=2),
    "rmtjax.inference.signal_rank_above_noise": _with(
        inference.signal_rank_above_noise, "data", "noise", data=DATA, noise=DATA[::-1], alpha=0.05
    ),
    "rmtjax.inference.population_spectrum": _with(inference.population_spectrum, levels=LEVELS, n=40, p=6),
    "rmtjax.inference.signal_rank_of_levels": _with(
        partial(inference.signal_rank_of_levels, n=9), levels=LEVELS, p=6, noise=2.0, max_rank=2
    ),
    "rmtjax.inference.levels_near": _with(
        inference.levels_near, matrix=scipy.sparse.diags(np.arange(6.0)), energy=2.2, number=3
    ),
    "rmtjax.inference.spectral_density_of": _with(
        inference.spectral_density_of, matvec=lambda v: 2 * v, n=3, key=KEY, depth=2, probes=2
    ),
    "rmtjax.inference.spike_estimates": _with(inference.spike_estimates, levels=LEVELS, n=50.0, p=5.0, noise=1.0),
    "rmtjax.inference.weight_spectra": _with(inference.weight_spectra, tree=jnp.ones((2, 2)), key=KEY, resamples=2),
}


def _instance(cls: str) -> Any:
    of = instances.ENSEMBLES.get(cls) or instances.LAWS[cls].example
    return instances.made(of)


def _methods(cls: str, **methods: dict[str, Any]) -> dict[str, Arguments]:
    """Methods of the example of a class, with their arguments; z and g are points of the plane."""
    instance = _instance(cls)
    return {f"{cls}.{name}": Arguments(getattr(instance, name), given, ("z", "g")) for name, given in methods.items()}


# Public methods are written once, in the abstract classes: one object stands for all of a class.
METHODS: dict[str, Arguments] = {
    **_methods(
        "Semicircle",
        **{name: {"x": POINTS} for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "hilbert")},
        ppf={"p": [0.0, 1.0]},
        isf={"q": [0.0, 1.0]},
        sample={"key": KEY, "shape": 2},
        moment={"k": 2},
        free_cumulant={"k": 2},
        stieltjes={"z": POINTS},
        log_potential={"z": POINTS},
        r_transform={"g": 0.0},
    ),
    **_methods("MarchenkoPastur", s_transform={"z": 1.0}),
    **_methods(
        "CircularLaw",
        pdf={"z": POINTS},
        logpdf={"z": POINTS},
        radial_cdf={"r": POINTS},
        radial_ppf={"p": [0.0, 1.0]},
        sample={"key": KEY, "shape": 2},
    ),
    **_methods(
        "GOE",
        sample={"key": KEY},
        eigenvalues={"key": KEY},
        count_below={"key": KEY, "x": POINTS, "chunk": 2},
        largest_eigenvalues={"key": KEY, "k": 1, "corner": 3},
        smallest_eigenvalues={"key": KEY, "k": 1},
        leading_block={"key": KEY, "order": 2},
        leading_block_eigenvalues={"key": KEY, "order": 2},
        tridiagonal={"key": KEY},
        edge_levels={"key": KEY, "k": 1},
    ),
    **{
        f"{motion.__class__.__name__}.{name}": _with(getattr(motion, name), key=KEY, times=POINTS)
        for motion in (rmt.DysonBrownianMotion([1.0, 3e9]), rmt.CircularBrownianMotion([1.0, 2.0]))
        for name in ("sample", "eigenvalues", "eigenphases")
        if hasattr(motion, name)
    },
    "DysonBrownianMotion.law": _with(rmt.DysonBrownianMotion([1.0, 3e9]).law, time=3.0),
    "GOE.joint_logpdf": _with(rmt.GOE(2, 4e9).joint_logpdf, eigenvalues=POINTS),
    "GOE.logpdf": _with(rmt.GOE(3, 4e9).logpdf, matrix=SYMMETRIC),
    "GUE.logpdf": _with(rmt.GUE(3, 4e9).logpdf, "matrix", matrix=SYMMETRIC),
    "CorrelatedWishart.cholesky": _with(rmt.CorrelatedWishart(COVARIANCE, 5.0).cholesky, key=KEY),
    "GOE.soft_edge.standardize": _with(rmt.GOE(4).soft_edge().standardize, levels=POINTS),
    "GOE.soft_edge.levels": _with(rmt.GOE(4).soft_edge().levels, x=POINTS),
    "CUE.eigenphases": _with(rmt.CUE(3).eigenphases, key=KEY),
    "CUE.count_below": _with(rmt.CUE(3).count_below, key=KEY, x=POINTS),
    "CUE.joint_logpdf": _with(rmt.CUE(2).joint_logpdf, eigenphases=[1.0, 2.0]),
    "Ginibre.moduli": _with(rmt.Ginibre(3).moduli, key=KEY),
    "Ginibre.count_below": _with(rmt.Ginibre(3).count_below, key=KEY, radii=POINTS),
    "Ginibre.joint_logpdf": _with(rmt.Ginibre(2, 2).joint_logpdf, "eigenvalues", eigenvalues=[1.0, 2.0]),
    "Mixed.count_below": _with(rmt.Mixed(rmt.GOE(3), 0.7).count_below, key=KEY, x=POINTS),
    "Mixed.periodic_eigenvalues": _with(rmt.Mixed(rmt.GOE(3), 0.7).periodic_eigenvalues, key=KEY, arrangement="random"),
    "SymTridiagonal.matvec": _with(rmt.SymTridiagonal([1.0, 2.0], [1.0]).matvec, "v", v=POINTS),
    "SymTridiagonal.count_below": _with(rmt.SymTridiagonal([1.0, 2.0], [1.0]).count_below, x=POINTS),
    "SymTridiagonal.log_determinant": _with(rmt.SymTridiagonal([1.0, 2.0], [1.0]).log_determinant, x=POINTS),
    "SymTridiagonal.resolvent_trace": _with(rmt.SymTridiagonal([1.0, 2.0], [1.0]).resolvent_trace, "z", z=[5.0, 7.0]),
    "Spectrum.bulk": _with(rmt.Spectrum([1.0, 3e9]).bulk, start=0.5, end=4.0),
    "Spectrum.count_below": _with(rmt.Spectrum([1.0, 3e9]).count_below, x=POINTS),
    "Spectrum.middle": _with(rmt.Spectrum([1.0, 3e9]).middle, share=0.5),
}

CALLS = {**CONSTRUCTORS, **FUNCTIONS, **METHODS}

# Functions of other packages pass their arguments on to functions of these.
PACKAGES = ("rmtjax", "rmtjax.inference", "rmtjax.laws", "rmtjax.linalg", "rmtjax.random", "rmtjax.special")
PACKAGES += ("rmtjax.simulation", "rmtjax.statistics")
# Their arguments are objects, or numbers for a function of the caller.
WITHOUT_NUMBERS = {
    "rmtjax.enable_compilation_cache",
    "rmtjax.cite",
    "rmtjax.inference.spectral_outliers",
    "rmtjax.linalg.sharded_product",
    "rmtjax.statistics.over_samples",
}
