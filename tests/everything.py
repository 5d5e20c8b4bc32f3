"""One small call of everything public: `CASES` maps a name to a function without arguments that runs it.

It is for batteries over JAX's settings, whose faults show in any call (`test_modes.py`). Calls that compute on the
host, and so cannot be traced as a whole, are in `ON_HOST`. Names without a call are in `EXEMPT`, with the reason.
"""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt
from rmtjax.adapters import scipy_stats
from tests import instances
from tests.methods import FURTHER, KEY, OF, X, joint_logpdf_arguments
from tests.registry import DATA, GENERAL, HERMITIAN, LEVELS, POSITIVE, PUBLIC, SPECTRUM, SYMMETRIC, Call

Thunk = Callable[[], Any]
Cast = Callable[[Any], Any]

RATIOS = jnp.array([0.3, 0.6, 0.9])
PADDED = rmt.Spectrum.of([LEVELS, LEVELS[:-1]], unfolded=True)
MASKED = rmt.Spectrum(LEVELS, LEVELS != 1.8, unfolded=True)
ON_INTERVAL = rmt.Spectrum(LEVELS, domain=rmt.Interval(0.05, 6.4), unfolded=True)
ON_CIRCLE = rmt.Spectrum(LEVELS, domain=rmt.Circle(8.0), unfolded=True)
BATCH = jnp.stack([LEVELS, 1.2 * LEVELS])
EDGES = jnp.array([0.0, 1.05, 2.55])
TRIDIAGONAL = rmt.SymTridiagonal(SPECTRUM, SPECTRUM[1:])
IMAGE = jnp.sin(jnp.arange(64.0)).reshape(4, 4, 4)
MANY = jnp.array([[0.2], [0.6]])
IN_PLANE = jax.lax.complex(POSITIVE, SPECTRUM)
UNIFORM = rmt.laws.Uniform()

st, inf, sim, linalg, special, laws = rmt.statistics, rmt.inference, rmt.simulation, rmt.linalg, rmt.special, rmt.laws


def within_a_circle(levels: Any) -> Any:
    """The same levels, but all between 0 and 1."""
    return jax.tree.map(lambda leaf: leaf / 9 if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, levels)


# Functions of levels, which the battery gives in each of the `FORMS`.
OF_LEVELS: dict[str, Callable] = {
    "condition_number": st.condition_number,
    "form_factor": lambda levels: st.form_factor(levels, RATIOS),
    "form_factor in a window": lambda levels: st.form_factor(levels, RATIOS, window=(2.0, 1.5)),
    "form_factor on a grid": lambda levels: st.form_factor(levels, jnp.linspace(0.1, 1, 20)),
    "gap_ratios": st.gap_ratios,
    "gap_ratios of order 2": lambda levels: st.gap_ratios(levels, 2, ties="zero"),
    "level_density": lambda levels: st.level_density(levels, EDGES),
    "level_repulsion": lambda levels: st.level_repulsion(levels, RATIOS).exponent,
    "linear_statistic": lambda levels: st.linear_statistic(levels, jnp.cos),
    "linear_statistic of integers": lambda levels: st.linear_statistic(levels, lambda x: jnp.floor(x).astype(int)),
    "log_determinant": st.log_determinant,
    "number_probabilities": lambda levels: st.number_probabilities(levels, RATIOS, max_count=1),
    "number_skewness": lambda levels: st.number_skewness(levels, RATIOS),
    "number_variance": lambda levels: st.number_variance(levels, RATIOS),
    "pair_correlation": lambda levels: st.pair_correlation(levels, EDGES),
    "power_spectrum": lambda levels: st.power_spectrum(levels, RATIOS),
    "rigidity": lambda levels: st.rigidity(levels, RATIOS),
    "spacings": st.spacings,
    "spacings of order 2": lambda levels: st.spacings(levels, 2).mean(),
    "unfold": lambda levels: st.unfold(levels, laws.Semicircle(9.0)),
    "unfold by a function": lambda levels: st.unfold(levels, lambda x: 3 * x),
    "unfold_kernel": lambda levels: st.unfold_kernel(levels, 0.7, drop=0.1),
    "unfold_kernel one by one": lambda levels: st.unfold_kernel(levels, 0.7, pooled=False),
    "unfold_local": lambda levels: st.unfold_local(levels, 1),
    "unfold_phases": lambda levels: st.unfold_phases(within_a_circle(levels)),
    "unfold_polynomial": lambda levels: st.unfold_polynomial(levels, 2, drop=0.1),
    "unfold_polynomial one by one": lambda levels: st.unfold_polynomial(levels, 2, pooled=False),
}
FORMS = {
    "": LEVELS,
    "of a batch": BATCH,
    "of a padded spectrum": PADDED,
    "of a masked spectrum": MASKED,
    "on an interval": ON_INTERVAL,
    "on a circle": ON_CIRCLE,
}
# The circle has no first level, from which these unfoldings begin; the last one unfolds a circle alone.
_NOT_FOR = dict.fromkeys(("unfold", "unfold_kernel", "unfold_local", "unfold_polynomial"), "on a circle")
_NOT_FOR["unfold_phases"] = "on an interval"
OF_A_BATCH: dict[str, Callable] = {
    "polynomial_degree": lambda levels: st.polynomial_degree(levels, (1, 2), folds=2),
    "spectral_ergodicity": lambda levels: st.spectral_ergodicity(levels, EDGES),
    "over_samples": lambda levels: st.over_samples(lambda one: st.gap_ratios(one).mean(), levels),
    "over_samples combined": lambda levels: st.over_samples(
        lambda many: (many.sum(-1), many**2),
        getattr(levels, "values", levels)[:, :5],
        combine=lambda mean: mean[0] ** 2,
    ),
}

REDUCERS: dict[str, Callable[[], Any]] = {
    "Moments": lambda: rmt.Moments(4),
    "Histogram": lambda: rmt.Histogram(EDGES),
    "Collect": sim.Collect,
    "Covariance": sim.Covariance,
    "Extremes": lambda: sim.Extremes(2),
    "Jackknife": lambda: sim.Jackknife(lambda moments: np.log(moments.variance), blocks=4),
    "Keep": lambda: sim.Keep(3),
    "Part": lambda: sim.Part(lambda draw: draw**2, rmt.Moments()),
    "Quantiles": lambda: sim.Quantiles([0.25, 0.5], size=16),
}
METHODS_OF_COVARIANCE = ("qis", "lis", "gis", "analytical", "ledoit-wolf", "oas", "rie", "clipping", "spiked", "sample")
COMPLEX_DATA = jax.lax.complex(DATA, DATA[::-1])
WIDE = jnp.stack([DATA.T, DATA.T**2])


def density_estimate(a: Any) -> Any:
    """The spectral density of a matrix from products with it."""
    return inf.spectral_density_of(lambda v: a @ v, jax.random.key(0), 3, probes=2)


def of_the_density(a: Any) -> dict[str, Any]:
    """The results of all methods of a spectral density."""
    found = density_estimate(a)
    x = jnp.array([0.3, 1.1], found.nodes.dtype)
    return {
        "resolution": found.resolution,
        "mean": found.mean(jnp.cos),
        "moment": found.moment(2),
        "density": found.density(x),
        "smoothed": found.density(x, 0.3),
        "cdf": found.cdf(x),
        "bracket": found.cdf_bracket(x),
        "band": found.cdf_band(x),
        "extremes": found.extreme_levels(2, side="lower"),
        "outliers": inf.spectral_outliers(found, laws.Semicircle(0.5)),
    }


def goodness(test: str, levels: Any, **options: Any) -> Any:
    """A test of uniform values, calibrated by these options."""
    return getattr(inf, test)(levels, UNIFORM, **options)


ENSEMBLE = {"calibration": rmt.GOE(3), "key": KEY, "resamples": 19}

# Everything else, as a function of `cast`, which brings arguments to the precision of the battery.
FUNCTIONS: dict[str, Callable[[Cast], Any]] = {
    "rmtjax.SymTridiagonal.eigenvalues": lambda cast: cast(TRIDIAGONAL).eigenvalues(),
    "rmtjax.SymTridiagonal.eigenvalues chosen": lambda cast: cast(TRIDIAGONAL).eigenvalues((0, 2)),
    "rmtjax.SymTridiagonal.eigenvectors": lambda cast: cast(TRIDIAGONAL).eigenvectors(),
    "rmtjax.SymTridiagonal.count_below": lambda cast: cast(TRIDIAGONAL).count_below(cast(POSITIVE)),
    "rmtjax.SymTridiagonal.todense": lambda cast: cast(TRIDIAGONAL).todense(),
    "rmtjax.SymTridiagonal.matvec": lambda cast: cast(TRIDIAGONAL).matvec(cast(SPECTRUM)),
    "rmtjax.SymTridiagonal.log_determinant": lambda cast: cast(TRIDIAGONAL).log_determinant(cast(POSITIVE)),
    "rmtjax.SymTridiagonal.resolvent_trace": lambda cast: cast(TRIDIAGONAL).resolvent_trace(
        cast(jax.lax.complex(POSITIVE, SPECTRUM))
    ),
    "rmtjax.SymTridiagonal of a batch": lambda cast: [
        getattr(cast(jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), TRIDIAGONAL)), method)(*args)
        for method, args in {
            "eigenvalues": (),
            "eigenvectors": (),
            "log_determinant": (cast(MANY),),
            "count_below": (cast(MANY),),
        }.items()
    ],
    "rmtjax.PaddedMatrix.mask": lambda cast: rmt.GOE(4).leading_block(KEY, jnp.asarray(2)).mask,
    "rmtjax.Spectrum": lambda cast: rmt.Spectrum(cast(LEVELS), LEVELS < 4),
    "rmtjax.Spectrum.count": lambda cast: cast(PADDED).count,
    "rmtjax.Spectrum.of": lambda cast: rmt.Spectrum.of([cast(LEVELS), cast(SPECTRUM)]),
    "rmtjax.Spectrum.count_below": lambda cast: jax.vmap(lambda one: one.count_below(cast(EDGES)))(cast(PADDED)),
    "rmtjax.Spectrum.bulk": lambda cast: st.number_variance(cast(PADDED).bulk(0.2, cast(jnp.array([4.0, 4.1]))), 1.0),
    "rmtjax.Spectrum.middle": lambda cast: [
        rmt.Spectrum(cast(LEVELS)).middle(0.5),
        cast(ON_INTERVAL).middle(0.5),
        st.rigidity(cast(PADDED).middle(0.8), 1.0),
    ],
    "rmtjax.Spectrum.periodic": lambda cast: [cast(PADDED).periodic("random", KEY), cast(PADDED).periodic("magnitude")],
    "rmtjax.Interval": lambda cast: rmt.Spectrum(cast(BATCH), domain=rmt.Interval(0.0, cast(jnp.array([7.0, 9.0])))),
    "rmtjax.Circle": lambda cast: rmt.Spectrum(cast(BATCH), domain=rmt.Circle(cast(jnp.array([7.0, 9.0])))),
    "rmtjax.spectra.MaskedValues.mean": lambda cast: st.spacings(cast(MASKED)).mean(jnp.square),
    "rmtjax.spectra.MaskedValues.count": lambda cast: st.spacings(cast(MASKED)).count,
    "rmtjax.linalg.log_determinant of a batch": lambda cast: linalg.log_determinant(
        cast(jnp.stack([HERMITIAN, HERMITIAN]))
    ),
    "rmtjax.linalg.matrix_function of a batch": lambda cast: linalg.matrix_function(
        jnp.exp, cast(jnp.stack([SYMMETRIC, SYMMETRIC]))
    ),
    "rmtjax.linalg.schatten_norm of a batch": lambda cast: linalg.schatten_norm(
        cast(jnp.stack([HERMITIAN, HERMITIAN])), 1.0
    ),
    "rmtjax.statistics.stieltjes at many points": lambda cast: st.stieltjes(
        cast(SPECTRUM), cast(jnp.array([[0.3 + 0.5j], [1.0 + 1.0j]]))
    ),
    "rmtjax.statistics.spectral_density of a batch": lambda cast: st.spectral_density(
        cast(BATCH), cast(EDGES), cast(jnp.array(0.3))
    ),
    # Draws
    "rmtjax.random.chi": lambda cast: rmt.random.chi(KEY, cast(POSITIVE), (2, 3)),
    "rmtjax.random.gamma": lambda cast: rmt.random.gamma(KEY, cast(POSITIVE)),
    "rmtjax.GOE.hard_edge": lambda cast: rmt.Wishart(4, 4).hard_edge(),
    "rmtjax.ensembles.Edge.standardize": lambda cast: (
        rmt.Wishart(6, 4, 2, cast(jnp.array(1.2))).soft_edge().standardize(cast(POSITIVE))
    ),
    "rmtjax.ensembles.Edge.levels": lambda cast: rmt.Jacobi(4, 9, 9).soft_edge().levels(cast(SPECTRUM)),
    "rmtjax.Wigner by a function": lambda cast: rmt.Wigner(
        4, 0.8, 0.5, lambda key, shape: jax.random.t(key, 5, shape)
    ).sample(KEY),
    # Laws
    "rmtjax.laws.circular_form_factor": lambda cast: laws.circular_form_factor(cast(jnp.array([1.0, 5.0])), 4, 1),
    "rmtjax.laws.circular_power_spectrum": lambda cast: laws.circular_power_spectrum(cast(jnp.array([1.0, 2.0])), 4, 1),
    "rmtjax.laws.mean_complex_spacing_ratio": lambda cast: laws.mean_complex_spacing_ratio(2, n=5),
    "rmtjax.laws.mean_gap_ratio": lambda cast: laws.mean_gap_ratio(1),
    "rmtjax.laws.mean_superposed_gap_ratio": lambda cast: laws.mean_superposed_gap_ratio([2, 2], [0.5, 0.5]),
    "rmtjax.laws.mean_participation_entropy": lambda cast: laws.mean_participation_entropy(3, 2),
    **{
        f"rmtjax.laws.{name} for β = {beta}": lambda cast, name=name, beta=beta: getattr(laws, name)(
            cast(jnp.array([0.3, 5.2])), beta
        )
        for name in ("form_factor", "number_variance", "pair_correlation", "rigidity")
        for beta in (0, 2, 4)
    },
    **{
        f"rmtjax.laws.{name} for β = {beta}": lambda cast, name=name, beta=beta: getattr(laws, name)(
            cast(jnp.array([1.0, 3.0])), 7, beta
        )
        for name in ("circular_form_factor", "circular_number_variance", "circular_power_spectrum", "circular_rigidity")
        for beta in (2, 4)
    },
    **{
        f"rmtjax.laws.{name} for β = {beta}": lambda cast, name=name, beta=beta: getattr(laws, name)(
            cast(POSITIVE), beta, 2
        )
        for name in ("bulk_gap_probabilities", "soft_edge_gap_probabilities")
        for beta in (2, 4)
    },
    "rmtjax.laws.hermite_gap_probabilities for β = 4": lambda cast: laws.hermite_gap_probabilities(
        3, (cast(jnp.array(-0.3)), cast(jnp.array(1.1))), 4, 2
    ),
    "rmtjax.laws.gaussian_number_variance for β = 4": lambda cast: laws.gaussian_number_variance(
        cast(jnp.array([-0.4, 0.1])), 0.7, 3, 4
    ),
    "rmtjax.laws.gaussian_form_factor for β = 1": lambda cast: laws.gaussian_form_factor(cast(POSITIVE), 3, 1),
    "rmtjax.laws.gaussian_form_factor for β = 4": lambda cast: laws.gaussian_form_factor(cast(POSITIVE), 3, 4),
    # Statistics of vectors and of levels in the plane
    "rmtjax.statistics.complex_spacing_ratios of a batch": lambda cast: st.complex_spacing_ratios(
        cast(jax.lax.complex(BATCH, BATCH**2)), centres=BATCH < 3
    ),
    "rmtjax.statistics.spectral_ergodicity_distance": lambda cast: st.spectral_ergodicity_distance(
        cast(POSITIVE), cast(POSITIVE[::-1])
    ),
    "rmtjax.statistics.Estimate": lambda cast: (
        st.Estimate(cast(POSITIVE), cast(POSITIVE) / 9, 30).interval(),
        st.Estimate(cast(POSITIVE), cast(POSITIVE) / 9, 30).z_score(1.0),
    ),
    "rmtjax.statistics.FormFactor": lambda cast: st.over_samples(
        lambda levels: st.form_factor(levels, RATIOS), cast(BATCH), combine=lambda k: (k.raw, k.connected)
    ),
    # Special functions
    "rmtjax.special.bessel_j of an integer": lambda cast: special.bessel_j(2, cast(POSITIVE)),
    "rmtjax.special.integrate": lambda cast: special.integrate(jnp.cos, cast(LEVELS)),
    "rmtjax.special.fredholm_det of a kernel": lambda cast: special.fredholm_det(
        special.sine_kernel, (cast(jnp.array(0.0)), cast(jnp.array(1.5))), num_nodes=6
    ),
    # Inference
    **{
        f"rmtjax.inference.shrink_covariance by {method}": lambda cast, method=method: inf.shrink_covariance(
            cast(DATA), method=method
        )
        for method in METHODS_OF_COVARIANCE
    },
    **{
        f"rmtjax.inference.shrink_covariance towards {target}": lambda cast, target=target: inf.shrink_covariance(
            cast(COMPLEX_DATA), method="ledoit-wolf", target=target
        )
        for target in ("diagonal", "constant-correlation", "one-factor", "two-parameter")
    },
    **{
        f"rmtjax.inference.shrink_levels by {method}": lambda cast, method=method: inf.shrink_levels(
            cast(LEVELS), 20, method=method
        )
        for method in ("gis", "analytical", "oas", "rie", "clipping", "spiked")
    },
    "rmtjax.inference.shrink_levels of few rows": lambda cast: inf.shrink_levels(
        cast(LEVELS), 6, 9, method="spiked", noise=0.7
    ),
    "rmtjax.inference.detone to a correlation": lambda cast: inf.detone(cast(SYMMETRIC), 2, unit_diagonal=True),
    "rmtjax.inference.shrink_covariance of a batch": lambda cast: inf.shrink_covariance(cast(WIDE), standardize=True),
    **{
        f"rmtjax.inference.shrink_covariance of pairs by {method}": lambda cast, method=method: inf.shrink_covariance(
            cast(DATA).at[0, 0].set(jnp.nan), method=method, missing="pairwise"
        )
        for method in ("qis", "ledoit-wolf", "spiked")
    },
    "rmtjax.inference.shrink_covariance of pairs of weighted rows": lambda cast: inf.shrink_covariance(
        cast(WIDE).at[..., 0, 0].set(jnp.nan), half_life=3.0, standardize=True, missing="pairwise"
    ),
    "rmtjax.inference.shrink_covariance of weighted rows": lambda cast: inf.shrink_covariance(
        cast(DATA), method="sample", weights=cast(jnp.arange(1.0, 6.0))
    ),
    "rmtjax.inference.shrink_covariance with a half-life": lambda cast: inf.shrink_covariance(
        cast(DATA), half_life=3.0, unit_diagonal=True
    ),
    "rmtjax.inference.shrink_covariance with known noise": lambda cast: inf.shrink_covariance(
        cast(COMPLEX_DATA), method="spiked", loss="frobenius", noise=0.7
    ),
    "rmtjax.inference.clean_cross_covariance of a batch": lambda cast: inf.clean_cross_covariance(
        cast(WIDE), cast(WIDE**2)
    ),
    "rmtjax.inference.oracle_covariance": lambda cast: inf.oracle_covariance(cast(DATA), cast(SYMMETRIC)),
    **{
        f"rmtjax.inference.denoise for the {loss} loss": lambda cast, loss=loss: inf.denoise(
            cast(WIDE), loss=loss, noise=0.4
        )
        for loss in ("frobenius", "operator", "nuclear")
    },
    "rmtjax.inference.denoise with unknown noise": lambda cast: inf.denoise(cast(COMPLEX_DATA), center=True),
    "rmtjax.inference.denoise in correlated noise": lambda cast: inf.denoise(
        cast(DATA), noise_covariance=cast(SYMMETRIC @ SYMMETRIC.T), center=True
    ),
    "rmtjax.inference.denoise_patches in correlated noise": lambda cast: inf.denoise_patches(
        cast(DATA), noise_covariance=cast(SYMMETRIC @ SYMMETRIC.T)
    ),
    "rmtjax.inference.signal_rank in correlated noise": lambda cast: inf.signal_rank(
        cast(DATA), noise_covariance=cast(SYMMETRIC @ SYMMETRIC.T), max_rank=2
    ),
    "rmtjax.inference.signal_rank_above_noise of a batch": lambda cast: inf.signal_rank_above_noise(
        cast(DATA[None]), cast(jnp.sin(3 * DATA))
    ),
    "rmtjax.inference.biwhiten": lambda cast: inf.biwhiten(cast(DATA**2)).back(cast(DATA)),
    "rmtjax.inference.denoise_image": lambda cast: inf.denoise_image(cast(IMAGE), patch=(2, 2)),
    "rmtjax.inference.denoise_image by frobenius": lambda cast: inf.denoise_image(
        cast(IMAGE), patch=(2, 2), rule="frobenius", noise=0.4, mask=np.ones((4, 4), bool)
    ),
    "rmtjax.inference.denoise_patches": lambda cast: inf.denoise_patches(cast(WIDE)),
    "rmtjax.inference.effective_sample_size of a batch": lambda cast: inf.effective_sample_size(cast(WIDE)),
    **{
        f"rmtjax.inference.signal_rank by {method}": lambda cast, method=method: inf.signal_rank(
            cast(DATA), method=method, max_rank=2, noise=1.0 if method == "exact" else None
        )
        for method in ("tracy-widom", "exact", "hard-threshold", "parallel-analysis", "deflated-parallel-analysis")
    },
    **{
        f"rmtjax.inference.signal_rank by {method}": lambda cast, method=method: inf.signal_rank(
            cast(DATA), method=method, max_rank=2, key=jax.random.key(0), resamples=19
        )
        for method in ("permutation", "random-signs")
    },
    "rmtjax.inference.signal_rank and its noise": lambda cast: [
        (found.kurtosis, found.noise_spread) for found in map(inf.signal_rank, (cast(WIDE), cast(COMPLEX_DATA)))
    ],
    "rmtjax.inference.signal_rank of a batch": lambda cast: inf.signal_rank(cast(WIDE), noise=1.0, max_rank=2),
    "rmtjax.inference.signal_rank_of_levels by exact": lambda cast: inf.signal_rank_of_levels(
        cast(LEVELS), 9, 6, method="exact", noise=1.0, max_rank=2
    ),
    "rmtjax.inference.largest_root_test": lambda cast: inf.largest_root_test(cast(0.1 * POSITIVE), 3, 2, 8),
    "rmtjax.inference.largest_root_test_of_groups": lambda cast: inf.largest_root_test_of_groups(
        cast(DATA), cast(DATA[::-1] ** 2)
    ),
    "rmtjax.inference.weight_spectra": lambda cast: inf.weight_spectra({"a": cast(DATA), "b": cast(GENERAL)}),
    "rmtjax.inference.weight_spectra with resamples": lambda cast: inf.weight_spectra(
        {"a": cast(jnp.tile(DATA, (2, 3)))}, key=KEY, resamples=9
    ),
    "rmtjax.inference.fit_beta": lambda cast: inf.fit_beta(cast(BATCH)).interval(),
    "rmtjax.inference.oracle_covariance of a batch": lambda cast: inf.oracle_covariance(
        cast(jnp.stack([DATA, 2 * DATA])), cast(jnp.diag(POSITIVE))
    ),
    "rmtjax.inference.minimum_variance_loss of a batch": lambda cast: inf.minimum_variance_loss(
        cast(jnp.stack([jnp.diag(POSITIVE), 2 * jnp.eye(3)])), cast(jnp.diag(POSITIVE))
    ),
    "rmtjax.inference.fit_beta by spacings": lambda cast: inf.fit_beta(cast(MASKED), by="spacings"),
    "rmtjax.inference.fit_berry_robnik": lambda cast: inf.fit_berry_robnik(cast(BATCH)),
    "rmtjax.inference.fit_brody": lambda cast: inf.fit_brody(cast(PADDED)),
    "rmtjax.inference.fit_crossover": lambda cast: inf.fit_crossover(cast(LEVELS)),
    "rmtjax.inference.fit_crossover from goe": lambda cast: inf.fit_crossover(cast(LEVELS), start="goe"),
    "rmtjax.inference.fit_marchenko_pastur of a batch": lambda cast: [
        inf.fit_marchenko_pastur(cast(1 + BATCH), 40, 6, beta=2),
        inf.fit_marchenko_pastur(cast(1 + BATCH), 40, 6).edges,
        inf.fit_marchenko_pastur(cast(1 + BATCH), 40, 6).share,
    ],
    "rmtjax.inference.population_spectrum of a batch": lambda cast: inf.population_spectrum(
        cast(1 + BATCH), 40, 6, beta=2
    ),
    "rmtjax.inference.fit_tail": lambda cast: inf.fit_tail(cast(jnp.append(LEVELS, 7 + LEVELS))),
    "rmtjax.inference.fit_tail with a bootstrap": lambda cast: inf.fit_tail(
        cast(jnp.append(LEVELS, 7 + LEVELS)), key=KEY, resamples=9
    ),
    "rmtjax.inference.fit_tail of whole numbers": lambda cast: inf.fit_tail(
        cast(jnp.ceil(jnp.exp(jnp.append(LEVELS, 7 + LEVELS)))),
        discrete=True,
        minimum=1.0,
        cut_off=True,
        key=KEY,
        resamples=2,
    ),
    "rmtjax.inference.fit_tail up to a maximum": lambda cast: inf.fit_tail(
        cast(jnp.append(LEVELS, 7 + LEVELS)), maximum=99.0, candidates=4
    ),
    "rmtjax.inference.fit_tail of a batch": lambda cast: inf.fit_tail(cast(jnp.concatenate([BATCH, 7 + BATCH], 1))),
    "rmtjax.inference.log_likelihood of a batch": lambda cast: inf.log_likelihood(
        laws.Spacing(1), st.spacings(cast(BATCH))
    ),
    **{
        f"rmtjax.inference.{test} by an ensemble": lambda cast, test=test: goodness(
            test, cast(jnp.stack([SPECTRUM, SPECTRUM / 2]) / 9 + 0.5), **ENSEMBLE
        )
        for test in ("kolmogorov_smirnov", "cramer_von_mises", "anderson_darling")
    },
    **{
        f"rmtjax.inference.compare_spectra by {statistic}": lambda cast, statistic=statistic: inf.compare_spectra(
            cast(BATCH), cast(PADDED), key=KEY, statistic=statistic, resamples=9
        )
        for statistic in ("cramer-von-mises", "kolmogorov-smirnov", "energy")
    },
    "rmtjax.statistics.shared_density": lambda cast: st.shared_density(
        cast(jnp.arange(24.0)[None] * jnp.array([[0.9], [1.0], [1.1]]))
    ),
    "rmtjax.inference.spectral_density_of": lambda cast: of_the_density(cast(SYMMETRIC)),
    "rmtjax.inference.spectral_density_of a complex matrix": lambda cast: inf.spectral_density_of(
        lambda v: cast(HERMITIAN) @ v, KEY, 3, probes=2, dtype=cast(HERMITIAN).dtype
    ),
    # Simulation
    **{
        f"rmtjax.simulate with {name}": lambda cast, reducer=reducer: rmt.simulate(
            lambda key, scale: rmt.GOE(3, scale).eigenvalues(key),
            KEY,
            8,
            args=(cast(jnp.array(1.2)),),
            reduce=reducer(),
        )
        for name, reducer in REDUCERS.items()
    },
    "rmtjax.simulate": lambda cast: rmt.simulate(rmt.GOE(3, cast(jnp.array(1.2))).eigenvalues, KEY, 8, batch_size=3),
    "rmtjax.simulate of integers": lambda cast: rmt.simulate(
        lambda key: {"order": (k := jax.random.randint(key, (), 0, 9)), "is": k > 4}, KEY, 8
    ),
    "rmtjax.simulate of padded spectra": lambda cast: rmt.simulate(
        rmt.Mixed(rmt.GOE(4, cast(jnp.array(1.2))), 0.7).eigenvalues,
        KEY,
        8,
        reduce=(rmt.Moments(), rmt.Histogram(EDGES)),
    ),
    "rmtjax.simulation.memory_plan": lambda cast: sim.memory_plan(rmt.GOE(3).sample, KEY, 8, reduce=rmt.Moments()),
    "rmtjax.simulate_rare": lambda cast: rmt.simulate_rare(rmt.GOE(5, cast(jnp.array(1.2))), KEY, "largest", 4.0, 64),
    "rmtjax.simulate_rare below": lambda cast: rmt.simulate_rare(
        rmt.GOE(5, cast(jnp.array(1.2))), KEY, "largest", 0.0, 64, side="below"
    ),
    "rmtjax.simulate_rare by splitting": lambda cast: rmt.simulate_rare(
        rmt.GaussianBeta(4, cast(jnp.array(1.5))), KEY, lambda model: jnp.sum(model.diagonal), 2.0, 64
    ),
    "rmtjax.simulate_rare of a Wishart matrix": lambda cast: rmt.simulate_rare(
        rmt.Wishart(3, 5, scale=cast(jnp.array(1.2))), KEY, "largest", 9.0, 64
    ),
    # Adapters
    "rmtjax.adapters.scipy_stats.frozen": lambda cast: [
        getattr(scipy_stats.frozen(cast(laws.Semicircle(1.5))), name)(*args)
        for name, args in {"cdf": (0.3,), "interval": (0.5,), "expect": (abs,), "rvs": (3,), "stats": ()}.items()
    ],
}

# Arguments of two precisions where 64-bit types are on, and of several numbers of axes, as broadcasting allows.
SINGLE, ROW, COLUMN = jnp.float32(0.4), jnp.array([0.3, 0.7]), jnp.array([[0.2], [0.5], [0.9]])
SINGLE_ROW, SINGLE_DATA = ROW.astype("float32"), DATA.astype("float32")
MIXED: dict[str, Thunk] = {
    "rmtjax.CorrelatedWishart of mixed arguments": lambda: rmt.CorrelatedWishart(jnp.eye(3), 4, 2).sample(KEY),
    "rmtjax.Deformed of mixed arguments": lambda: rmt.Deformed(rmt.GUE(3, SINGLE), POSITIVE).sample(KEY),
    "rmtjax.DysonBrownianMotion of mixed arguments": lambda: rmt.DysonBrownianMotion(POSITIVE, 2, SINGLE).sample(
        KEY, SINGLE_ROW
    ),
    "rmtjax.CircularBrownianMotion of mixed arguments": lambda: rmt.CircularBrownianMotion(POSITIVE, 4, SINGLE).sample(
        KEY, SINGLE_ROW
    ),
    "rmtjax.Spiked of mixed arguments": lambda: rmt.Spiked(rmt.Wishart(6, 4, 2, SINGLE), [9.0]).sample(KEY),
    "rmtjax.GaussianBeta.soft_edge of mixed arguments": lambda: rmt.GaussianBeta(6, POSITIVE[0], SINGLE).soft_edge(),
    "rmtjax.LaguerreBeta.law of mixed arguments": lambda: rmt.LaguerreBeta(6, 7 * POSITIVE[0], SINGLE).law(),
    "rmtjax.JacobiBeta.soft_edge of mixed arguments": lambda: rmt.JacobiBeta(3, 9 * ROW[1], 9 * SINGLE, 1).soft_edge(),
    "rmtjax.inference.signal_rank of mixed arguments": lambda: inf.signal_rank(SINGLE_DATA, alpha=ROW[0]),
    "rmtjax.inference.largest_root_test_of_groups of mixed arguments": lambda: inf.largest_root_test_of_groups(
        DATA, SINGLE_DATA
    ),
    "rmtjax.inference.kolmogorov_smirnov of a mixed law": lambda: inf.kolmogorov_smirnov(
        SINGLE_ROW, laws.MarchenkoPastur(ROW[0]), calibration="independent"
    ),
    "rmtjax.linalg.sharded_product of mixed arguments": lambda: linalg.sharded_product(
        DATA, SINGLE_DATA.T, jax.make_mesh((1,), ("d",))
    ),
    "rmtjax.GOE.count_below of mixed arguments": lambda: rmt.GOE(4, SINGLE).count_below(KEY, COLUMN),
    "rmtjax.Wishart.count_below of mixed arguments": lambda: rmt.Wishart(4, 6, 1, SINGLE).count_below(KEY, COLUMN),
    "rmtjax.laws.Semicircle.cdf of mixed arguments": lambda: laws.Semicircle(SINGLE).cdf(COLUMN),
    "rmtjax.laws.Mixture.cdf of mixed arguments": lambda: laws.Mixture(
        jnp.array([0.5, 0.5]), [laws.Semicircle(1.0), laws.Semicircle(SINGLE)]
    ).cdf(COLUMN),
    "rmtjax.laws.crossover_form_factor of mixed arguments": lambda: laws.crossover_form_factor(COLUMN, SINGLE_ROW),
    "rmtjax.laws.crossover_number_variance of mixed arguments": lambda: laws.crossover_number_variance(
        SINGLE_ROW, COLUMN
    ),
    "rmtjax.laws.gaussian_form_factor of mixed arguments": lambda: laws.gaussian_form_factor(ROW, 3, 2, SINGLE),
    "rmtjax.laws.gaussian_number_variance of mixed arguments": lambda: laws.gaussian_number_variance(
        COLUMN, SINGLE_ROW, 3, 2
    ),
    "rmtjax.laws.hard_edge_gap_probabilities of mixed arguments": lambda: laws.hard_edge_gap_probabilities(
        COLUMN, SINGLE_ROW, 2, 2
    ),
    "rmtjax.laws.hermite_gap_probabilities of mixed arguments": lambda: laws.hermite_gap_probabilities(
        3, (SINGLE, ROW[1]), 2, 2
    ),
    "rmtjax.laws.linear_statistic_variance of mixed arguments": lambda: laws.linear_statistic_variance(
        jnp.square, SINGLE, (-2.0, ROW[0]), num_nodes=8
    ),
    "rmtjax.inference.clean_cross_covariance of mixed arguments": lambda: inf.clean_cross_covariance(SINGLE_DATA, DATA),
    "rmtjax.inference.compare_spectra of mixed arguments": lambda: inf.compare_spectra(
        BATCH, BATCH.astype("float32"), key=KEY, resamples=9
    ),
    "rmtjax.inference.denoise of mixed arguments": lambda: inf.denoise(SINGLE_DATA, noise=ROW[0]),
    "rmtjax.inference.denoise of a noise for each": lambda: inf.denoise(WIDE, noise=ROW),
    "rmtjax.inference.kolmogorov_smirnov of mixed arguments": lambda: goodness(
        "kolmogorov_smirnov", SINGLE_ROW, calibration="independent"
    ),
    "rmtjax.inference.minimum_variance_loss of mixed arguments": lambda: inf.minimum_variance_loss(
        jnp.eye(3, dtype="float32"), SYMMETRIC
    ),
    "rmtjax.inference.optimal_hard_threshold of mixed arguments": lambda: inf.optimal_hard_threshold(
        10 + COLUMN, 9 + SINGLE_ROW
    ),
    "rmtjax.inference.oracle_covariance of mixed arguments": lambda: inf.oracle_covariance(SINGLE_DATA, SYMMETRIC),
    "rmtjax.inference.spike_estimates of mixed arguments": lambda: inf.spike_estimates(COLUMN + 4, 50, 5, SINGLE_ROW),
    "rmtjax.linalg.schatten_norm of mixed arguments": lambda: linalg.schatten_norm(
        HERMITIAN.astype("complex64"), ROW[0] + 1
    ),
    "rmtjax.linalg.matrix_function of complex values": lambda: jax.jacfwd(
        lambda a: linalg.matrix_function(lambda x: jnp.exp(jax.lax.complex(0 * x, x)), a)
    )(SYMMETRIC),
    "rmtjax.statistics.stieltjes of mixed arguments": lambda: st.stieltjes(SINGLE_ROW, IN_PLANE),
    "rmtjax.SymTridiagonal.count_below of mixed arguments": lambda: cast_to("float32")(TRIDIAGONAL).count_below(COLUMN),
    "rmtjax.special.airy_kernel of mixed arguments": lambda: special.airy_kernel(COLUMN, SINGLE_ROW),
    "rmtjax.special.bessel_kernel of mixed arguments": lambda: special.bessel_kernel(COLUMN, SINGLE, ROW),
    "rmtjax.special.bessel_j of mixed arguments": lambda: special.bessel_j(SINGLE_ROW, COLUMN),
    "rmtjax.special.fredholm_det of mixed arguments": lambda: special.fredholm_det(
        lambda x, y: x * y, (0.0, SINGLE), coupling=ROW[0], num_nodes=6
    ),
    "rmtjax.statistics.level_repulsion of mixed arguments": lambda: st.level_repulsion(
        jnp.arange(20, dtype="float32"), ROW
    ),
    "rmtjax.statistics.number_variance of mixed arguments": lambda: st.number_variance(
        rmt.Spectrum(BATCH.astype("float32"), unfolded=True).bulk(ROW - 0.5, ROW + 3), COLUMN
    ),
    "rmtjax.statistics.form_factor of mixed arguments": lambda: st.form_factor(
        BATCH.astype("float32"), COLUMN, window=(ROW, 1.0)
    ),
    "rmtjax.statistics.spectral_ergodicity_distance of mixed arguments": lambda: st.spectral_ergodicity_distance(
        SINGLE_ROW, COLUMN
    ),
    "rmtjax.statistics.subspace_overlap of mixed arguments": lambda: st.subspace_overlap(
        jnp.eye(3, dtype="complex64"), GENERAL[:, :2]
    ),
    "rmtjax.statistics.unfold of mixed arguments": lambda: st.unfold(SINGLE_ROW, laws.Semicircle(5 + ROW[0])),
}

# Calls that compute on the host, so that they can be run but not traced.
ON_HOST = ("rmtjax.simulat", "rmtjax.adapters", "rmtjax.inference.weight_spectra", "rmtjax.inference.denoise_image")

_MADE = "a result, made by the cases of the function that returns it"
_OWN = "a tool for tests, which its own file runs"
EXEMPT = {
    "rmtjax.Histogram": "run by `rmtjax.simulate with Histogram`",
    "rmtjax.Moments": "run by `rmtjax.simulate with Moments`",
    "rmtjax.benchmark": "a stopwatch, which compiles for itself",
    "rmtjax.enable_compilation_cache": "sets the cache, and computes nothing",
    "rmtjax.cite": "reads docstrings, and computes nothing",
    "rmtjax.ensembles.Abstract": "abstract; its methods are run by every ensemble",
    "rmtjax.laws.Abstract": "abstract; its methods are run by every law",
    "rmtjax.adapters": "the modules of others, whose own settings decide; their files run them",
    "rmtjax.plotting": "draws pictures of statistics and laws that are here; its own files run it",
    "rmtjax.testing": _OWN,
    "rmtjax.simulation": "run by `rmtjax.simulate with …`",
    "rmtjax.inference.Denoised": _MADE,
    "rmtjax.inference.Fit": _MADE,
    "rmtjax.inference.GoodnessOfFit": _MADE,
    "rmtjax.inference.HardThreshold": _MADE,
    "rmtjax.inference.LargestRootTest": _MADE,
    "rmtjax.inference.LikelihoodRatio": _MADE,
    "rmtjax.inference.MarchenkoPasturFit": _MADE,
    "rmtjax.inference.PopulationSpectrum": _MADE,
    "rmtjax.inference.SignalRank": _MADE,
    "rmtjax.inference.Spectra": _MADE,
    "rmtjax.inference.Spectral": _MADE,
    "rmtjax.inference.SpikeEstimates": _MADE,
    "rmtjax.inference.Biwhitened": _MADE,
    "rmtjax.inference.RankAboveNoise": _MADE,
    "rmtjax.inference.TailCutOff": _MADE,
    "rmtjax.inference.TailFit": _MADE,
    "rmtjax.inference.WeightSpectra": _MADE,
    "rmtjax.inference.spectral_outliers": "run by `rmtjax.inference.spectral_density_of`",
    "rmtjax.special.Airy": _MADE,
    "rmtjax.special.FredholmDeterminant": _MADE,
    "rmtjax.statistics.LevelRepulsion": _MADE,
    "rmtjax.statistics.PolynomialDegree": _MADE,
    "rmtjax.statistics.SharedDensity": _MADE,
    "rmtjax.inference.levels_near": "computed by SciPy, outside of all programs",
    "rmtjax.spectra.Line": "the domain of every array of levels",
    "rmtjax.spectra.Unfolding": _MADE,
}


def cast_to(dtype: Any) -> Cast:
    """A function that brings the floating-point and complex arrays of a tree to a precision; None leaves them."""

    def cast(leaf: Any) -> Any:
        if dtype is None or not isinstance(leaf, float | jax.Array | np.ndarray):
            return leaf
        leaf = jnp.asarray(leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            return leaf
        return leaf.astype(np.result_type(dtype, np.complex64) if jnp.iscomplexobj(leaf) else dtype)

    return lambda tree: jax.tree.map(cast, tree)


def _of_instances(cast: Cast) -> dict[str, Thunk]:
    """Every method of every object of the registry that takes only keys and numbers."""
    found: dict[str, Thunk] = {}
    objects = {name: made() for name, made in PUBLIC.items() if inspect.isfunction(made)}
    objects["rmtjax.laws.HardEdge"] = instances.made(instances.LAWS["HardEdge"].example)
    for name, instance in objects.items():
        calls = [given for table in (OF, FURTHER) for base, given in table.items() if isinstance(instance, base)]
        calls += [{"joint_logpdf": levels} for levels in [joint_logpdf_arguments(instance)] if levels]
        for method, args in {key: args for given in calls for key, args in given.items()}.items():
            found[f"{name}.{method}"] = _of_a_method(cast(instance), method, cast(args))
            if args and args[-1] is X:
                found[f"{name}.{method} at many points"] = _of_a_method(
                    cast(instance), method, cast((*args[:-1], MANY))
                )
            if method in ("stieltjes", "r_transform", "s_transform"):
                found[f"{name}.{method} in the plane"] = _of_a_method(cast(instance), method, (cast(IN_PLANE),))
    return found


def _of_a_method(instance: Any, method: str, args: tuple) -> Thunk:
    def call() -> Any:
        try:
            return getattr(instance, method)(*args)
        except NotImplementedError:  # The formula is not known for this law or ensemble.
            return None

    return call


def cases(dtype: Any = None) -> dict[str, Thunk]:
    """A small call for every public name, with arguments in a precision, by default in JAX's own."""
    return cases_with(cast_to(dtype))


def cases_with(cast: Cast) -> dict[str, Thunk]:
    """A small call for every public name, with arguments that went through a function."""
    found = _of_instances(cast)
    for name, call in PUBLIC.items():
        if isinstance(call, Call):
            found[name] = lambda call=call: call.fn(*cast(call.args))
    for (name, fn), (form, levels) in ((one, other) for one in OF_LEVELS.items() for other in FORMS.items()):
        if form != _NOT_FOR.get(name.split()[0]):
            found[f"rmtjax.statistics.{name} {form}".rstrip()] = lambda fn=fn, levels=levels: fn(cast(levels))
    for (name, fn), form in ((one, form) for one in OF_A_BATCH.items() for form in list(FORMS)[1:3]):
        found[f"rmtjax.statistics.{name} {form}"] = lambda fn=fn, form=form: fn(cast(FORMS[form]))
    return found | MIXED | {name: lambda fn=fn: fn(cast) for name, fn in FUNCTIONS.items()}


CASES = cases()
