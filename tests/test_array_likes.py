"""What a signature says of lists and NumPy's arrays holds: they give what arrays of JAX give."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting
from rmtjax._module import AbstractModule
from tests.cases import daily
from tests.registry import DATA, LEVELS, PUBLIC, SPECTRUM, SYMMETRIC, Call

KINDS = {"lists": lambda leaf: leaf.tolist(), "NumPy": np.asarray}
CALLS = [name for name, call in PUBLIC.items() if isinstance(call, Call)]


def converted(tree: Any, convert: Callable) -> Any:
    """Arrays as something else; the library's own objects and keys stay as they are."""

    def leaf(value: Any) -> Any:
        is_array = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
        return convert(value) if is_array and not jnp.issubdtype(value.dtype, jax.dtypes.prng_key) else value

    return jax.tree.map(leaf, tree, is_leaf=lambda node: isinstance(node, AbstractModule))


def taking(function: Callable, convert: Callable) -> Callable:
    """The function, called with something else than arrays where its signature says that it takes that."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if "Like" in inspect.formatannotation(signature.parameters[name].annotation):
                bound.arguments[name] = converted(value, convert)
        return function(*bound.args, **bound.kwargs)

    return call


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6)


def replaced(name: str, convert: Callable, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Callable]:
    """Puts the converting function in the place of a public one, and returns both."""
    owner = rmt
    *path, last = name.split(".")[1:]
    for part in path:
        owner = getattr(owner, part)
    real = getattr(owner, last)
    monkeypatch.setattr(owner, last, taking(real, convert))
    return real, getattr(owner, last)


# Of functions that ask for their arrays in the same way one is called every day.
DAILY = [
    "rmtjax.eigvalsh",
    "rmtjax.inference.denoise",
    "rmtjax.inference.log_likelihood",
    "rmtjax.laws.pair_correlation",
    "rmtjax.statistics.spectral_density",
    "rmtjax.special.airy",
    "rmtjax.statistics.complex_spacing_ratios",
    "rmtjax.statistics.inverse_participation_ratio",
    "rmtjax.statistics.number_variance",
    "rmtjax.statistics.unfold",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_functions_take_them(name, kind, monkeypatch):
    call = PUBLIC[name]
    expected = call.fn(*call.args)
    real, other = replaced(name, KINDS[kind], monkeypatch)
    assert_same((other if call.fn is real else call.fn)(*call.args), expected)


KEY = jax.random.key(0)
POINTS = jnp.array([0.3, 0.6])
RATIOS = jnp.array([0.2, 0.5, 0.9])
IMAGE = DATA[:, :, None] * jnp.array([[[1.0, 0.8, 0.5, 1.1]]])
MATRIX = rmt.SymTridiagonal(SPECTRUM, SPECTRUM[1:])
UNFOLDED = jnp.cumsum(jnp.abs(jnp.sin(jnp.arange(1.0, 13.0)))).reshape(2, 6)
DENSITY = rmt.inference.SpectralDensityEstimate(
    SPECTRUM[None], RATIOS[None] / 1.6, RATIOS[None], jnp.array([True]), 9, 1
)
QUANTILES = rmt.simulation.QuantilesResult(
    np.array([0.5]), np.array([0.0, 1.0]), np.array([0.5, 2.0]), np.array([3, 4]), np.array([0.1]), 7, 7
)


def curves(axes: Any) -> list[np.ndarray]:
    """What a plot has drawn."""
    return [np.asarray(line.get_ydata(), float) for line in axes.lines]


# What the registry does not call with arrays, as functions of what makes something else of an array.
CASES: dict[str, Callable[[Callable], Any]] = {
    "law": lambda c: [
        getattr(rmt.laws.Semicircle(1.0), name)(c(POINTS)) for name in ("pdf", "logsf", "ppf", "hilbert")
    ],
    "stieltjes": lambda c: rmt.laws.Semicircle(1.0).stieltjes(c(POINTS.astype(complex) + 1j)),
    "law in the plane": lambda c: rmt.laws.CircularLaw().pdf(c(POINTS.astype(complex) + 0.1j)),
    "radius": lambda c: rmt.laws.CircularLaw().radial_ppf(c(POINTS)),
    "counts of an ensemble": lambda c: rmt.GOE(4).count_below(KEY, c(POINTS)),
    "counts of phases": lambda c: rmt.CUE(4).count_below(KEY, c(POINTS)),
    "counts of moduli": lambda c: rmt.Ginibre(4, 2).count_below(KEY, c(POINTS)),
    "joint density": lambda c: rmt.GOE(3).joint_logpdf(c(SPECTRUM)),
    "density of matrices": lambda c: rmt.GOE(3).logpdf(c(SYMMETRIC)),
    "joint density of phases": lambda c: rmt.CUE(3).joint_logpdf(c(SPECTRUM)),
    "joint density in the plane": lambda c: rmt.Ginibre(3, 2).joint_logpdf(c(SPECTRUM.astype(complex) + 0.5j)),
    "edge": lambda c: rmt.GOE(9).soft_edge().standardize(c(POINTS)),
    "leading block": lambda c: rmt.GOE(4).leading_block(KEY, c(jnp.array(2))).values,
    "SymTridiagonal": lambda c: rmt.SymTridiagonal(c(SPECTRUM), c(SPECTRUM[1:])).eigenvalues(),
    "its methods": lambda c: [
        MATRIX.count_below(c(POINTS)),
        MATRIX.log_determinant(c(POINTS)),
        MATRIX.matvec(c(RATIOS)),
    ],
    "its resolvent": lambda c: MATRIX.resolvent_trace(c(POINTS.astype(complex) + 1j)),
    "Spectrum": lambda c: rmt.Spectrum(c(SPECTRUM[None]), c(SPECTRUM > 0)).mask,
    "its counts": lambda c: rmt.Spectrum(SPECTRUM).count_below(c(POINTS)),
    "padded vectors": lambda c: rmt.Spectrum.of([c(SPECTRUM), c(POINTS)]).values,
    "PaddedMatrix": lambda c: rmt.PaddedMatrix(c(SYMMETRIC), 3).mask,
    "MaskedValues": lambda c: rmt.spectra.MaskedValues(c(SPECTRUM), c(SPECTRUM > 0)).mean(),
    "CorrelatedWishart": lambda c: rmt.CorrelatedWishart(c(SYMMETRIC + 5 * jnp.eye(3)), 5).sample(KEY),
    "Deformed": lambda c: rmt.Deformed(rmt.GOE(3), c(SPECTRUM)).sample(KEY),
    "Spiked": lambda c: rmt.Spiked(rmt.GOE(3), c(1 + POINTS)).outliers(),
    "VarianceProfile": lambda c: rmt.VarianceProfile(c(SYMMETRIC**2)).sample(KEY),
    "DeformedSemicircle": lambda c: rmt.laws.DeformedSemicircle(c(POINTS), c(jnp.array([0.4, 0.6])), 1.0).locations,
    "GeneralMarchenkoPastur": lambda c: rmt.laws.GeneralMarchenkoPastur(0.5, c(POINTS)).population,
    "Mixture": lambda c: (
        rmt.laws.Mixture(c(jnp.array([0.4, 0.6])), [rmt.laws.Uniform(), rmt.laws.Semicircle()]).weights
    ),
    "SingleRing": lambda c: rmt.laws.SingleRing(c(RATIOS)).radial_cdf(0.5),
    "SuperposedSpacing": lambda c: rmt.laws.SuperposedSpacing((1, 2), c(jnp.array([0.4, 0.6]))).fractions,
    "Histogram": lambda c: rmt.Histogram(c(SPECTRUM)).edges,
    "Quantiles": lambda c: rmt.simulation.Quantiles(c(POINTS)).probabilities,
    "quantile": lambda c: [QUANTILES.quantile(c(POINTS)), QUANTILES.bracket(c(POINTS))],
    "estimated density": lambda c: [DENSITY.density(c(POINTS), 0.5).value, DENSITY.cdf(c(POINTS)).value],
    "circular laws": lambda c: rmt.laws.circular_form_factor(c(jnp.array([1.0, 2.0])), 5, 2),
    "power spectrum": lambda c: rmt.laws.circular_power_spectrum(c(jnp.array([1.0, 2.0])), 5, 1),
    "mean ratio": lambda c: rmt.laws.mean_superposed_gap_ratio((1, 1), c(jnp.array([0.5, 0.5]))),
    "interval": lambda c: rmt.laws.hermite_gap_probabilities(3, c(POINTS), 2, 1),
    "fit of spacings": lambda c: (
        rmt.inference.fit_berry_robnik(rmt.Spectrum(c(LEVELS), c(LEVELS < 5), unfolded=True)).value
    ),
    "fit of a crossover": lambda c: rmt.inference.fit_crossover(c(LEVELS)).value,
    "image": lambda c: (
        rmt.inference.denoise_image(c(IMAGE), patch=(3, 3), noise=c(jnp.ones((5, 3))), mask=c(IMAGE[..., 0] > 0)).image
    ),
    "variates": lambda c: [rmt.random.gamma(KEY, c(POINTS)), rmt.random.chi(KEY, c(POINTS))],
    "plot of statistics": lambda c: curves(plotting.number_variance(c(UNFOLDED), c(POINTS))),
    "plot of ratios": lambda c: curves(plotting.gap_ratios(c(UNFOLDED), bins=c(jnp.array([0.0, 0.5, 1.0])))),
    "plot of vectors": lambda c: curves(plotting.intensities(c(jnp.stack([DATA, DATA**2])))),
    "plot of levels": lambda c: curves(plotting.spectral_density(c(UNFOLDED), law=rmt.laws.Uniform(0.0, 9.0))),
}
CHEAP = ["law", "counts of an ensemble", "SymTridiagonal", "Spectrum", "MaskedValues", "Mixture", "Histogram"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", daily(CASES, only=CHEAP))
def test_methods_and_constructors_take_them(name, kind):
    assert_same(CASES[name](KINDS[kind]), CASES[name](lambda array: array))
