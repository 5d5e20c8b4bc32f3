"""β from samples of the exact laws, by another optimiser, and from matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import rmtjax as rmt
from rmtjax.inference import fit_beta, log_likelihood
from rmtjax.laws import InterpolatedGapRatio
from tests.cases import further

RATIOS = np.array([0.31, 0.52, 0.94, 0.47, 0.66, 0.08, 0.73, 0.39, 0.88, 0.57])


def triples(ratios):
    """Three levels for each ratio."""
    ratios = jnp.asarray(ratios)
    return jnp.stack([0 * ratios, 1 + 0 * ratios, 1 + ratios], axis=-1)


def _information(beta, ratios):
    """The curvature of the likelihood, by differences."""
    total = lambda beta: log_likelihood(InterpolatedGapRatio(beta), ratios)
    below, middle, above = (total(beta * factor) for factor in (0.99, 1.0, 1.01))
    return (2 * middle - below - above) / (0.01 * beta) ** 2


def test_bias_of_exact_samples():
    """Ratios at 60,000 quantiles of the exact laws have no noise; the bias is below 0.001 %."""
    information = jax.jit(_information)
    for beta in (1, 2, 4):
        ratios = rmt.laws.GapRatio(beta).ppf((jnp.arange(60000.0) + 0.5) / 60000)
        fit = fit_beta(triples(ratios))
        np.testing.assert_allclose(fit.value, beta, rtol=1e-4)
        assert (fit.number, fit.groups, fit.errors) == (60000, 60000, "spectra")
        # For independent ratios the error comes from the information, and is at least 0.3 % of β.
        np.testing.assert_allclose(fit.standard_error, information(fit.value, ratios) ** -0.5, rtol=0.02)
        assert 0.003 * beta < fit.standard_error < 0.02 * beta


def test_fit_is_that_of_another_optimiser():
    levels = triples(RATIOS)
    fit = fit_beta(levels)
    total = lambda beta: float(log_likelihood(InterpolatedGapRatio(beta), jnp.asarray(RATIOS)))
    found = scipy.optimize.minimize_scalar(lambda b: -total(b), bounds=(0.01, 20), options={"xatol": 1e-8})
    np.testing.assert_allclose(fit.value, found.x, rtol=1e-6)
    np.testing.assert_allclose(fit.log_likelihood, -found.fun, rtol=1e-10)
    assert 3.841459 < 2 * (total(found.x) - total(0.0)) < 5  # ten ratios hardly exclude β = 0
    assert not fit.at_boundary
    few = fit_beta(triples(RATIOS[:9]))
    assert few.at_boundary
    assert np.isnan(few.standard_error)
    assert few.interval()[0] == 0
    # In groups of one value the slope has the variance of independent values.
    lower, upper = fit.interval(0.8)
    for end in (lower, upper):
        np.testing.assert_allclose(2 * (total(found.x) - total(end)) * 9 / 10, 1.383029**2, rtol=1e-3)
    # The sandwich formula by differences, for sixty spectra with one ratio each.
    each = lambda b: np.asarray(InterpolatedGapRatio(b).logpdf(jnp.asarray(RATIOS)))
    step = 1e-4
    slopes = (each(found.x + step) - each(found.x - step)) / (2 * step)
    bend = (each(found.x + step) - 2 * each(found.x) + each(found.x - step)).sum() / step**2
    many = fit_beta(triples(np.tile(RATIOS, 6)))
    assert not many.at_boundary
    np.testing.assert_allclose(many.value, found.x, rtol=1e-6)
    np.testing.assert_allclose(many.standard_error, np.sqrt(60 / 59 * 6 * (slopes**2).sum()) / (-6 * bend), rtol=1e-4)
    # The implicit derivative, in the upper levels.
    slope = jax.grad(lambda x: fit_beta(x).value)(levels)[3, 2]
    moved = [fit_beta(levels.at[3, 2].add(h)).value for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) / 2e-5, rtol=1e-5)


def test_single_precision():
    """The end of the range at β = 100 is far from every maximum, in single precision too."""
    levels = triples(np.tile(RATIOS, 6))
    fit, single = fit_beta(levels), fit_beta(levels.astype(jnp.float32))
    assert single.value.dtype == jnp.float32
    assert not single.at_boundary
    np.testing.assert_allclose(single.standard_error, fit.standard_error, rtol=1e-3)


def test_boundary():
    fit = fit_beta(triples(np.where(RATIOS < 0.5, 0.01, 0.02)))
    assert fit.at_boundary
    assert fit.value == 0
    assert np.isnan(fit.standard_error)
    np.testing.assert_allclose(fit.log_likelihood, np.sum(np.log(2) - 2 * np.log1p(np.where(RATIOS < 0.5, 0.01, 0.02))))


@pytest.mark.parametrize("scale", [None, *further(1.3)])
def test_whole_spectra(scale):
    matrices = np.random.default_rng(0).normal(size=(3, 6, 6))
    levels = jnp.asarray(np.linalg.eigvalsh(matrices + np.swapaxes(matrices, -1, -2)) / 12**0.5)
    fit = fit_beta(levels, by="levels", scale=scale)
    free = lambda s: s if scale is None else scale
    density = jax.jit(jax.vmap(lambda x, each: rmt.GaussianBeta(6, x[0], free(x[1])).joint_logpdf(each), (None, 0)))
    loss = lambda x: -float(density(jnp.exp(jnp.asarray(x)), levels).sum())
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
    found = scipy.optimize.minimize(loss, (0.0, 0.0), method="Nelder-Mead", options=options)
    np.testing.assert_allclose(fit.value, np.exp(found.x[0]), rtol=1e-5)
    np.testing.assert_allclose(fit.log_likelihood, -found.fun, rtol=1e-9)
    np.testing.assert_allclose(fit.law.scale, free(np.exp(found.x[1])), rtol=1e-5)
    assert (fit.errors, fit.parameter, fit.number) == ("information", "beta", 18)
    of_spectrum = jax.jit(lambda x: fit_beta(x, by="levels", scale=scale).value)
    np.testing.assert_allclose(of_spectrum(rmt.Spectrum(levels)), fit.value, rtol=1e-12)
    assert np.isnan(of_spectrum(rmt.Spectrum(levels, np.arange(6) < 5)))
    # The information of the profile: its curvature in log β, at the best scale for each β.
    search = {"bounds": (-2, 2), "options": {"xatol": 1e-9}}
    at = lambda b: -scipy.optimize.minimize_scalar(lambda u: loss((b, u)), **search).fun
    bend = (at(found.x[0] + 0.02) - 2 * at(found.x[0]) + at(found.x[0] - 0.02)) / 0.02**2
    np.testing.assert_allclose(fit.standard_error / fit.value, (-bend) ** -0.5, rtol=1e-2)


@pytest.mark.parametrize(
    ("levels", "options", "message"),
    [
        (np.arange(9.0), {"by": "gaps"}, "`by` must be one of"),
        (np.arange(9.0), {"scale": 1.0}, "`scale` must be None"),
        (rmt.Spectrum(np.arange(9.0), np.arange(9) < 8), {"by": "levels"}, "be whole spectra.*got 1 of 9 levels"),
        (np.array([0.0, 1.0, 1.0, 3.0, 5.0]), {}, "differ from their neighbours.*2 spacings or ratios of 0"),
        (np.array([0.0, 1.0, 3.0]), {}, "at least 2 values that count, got 1"),
        (np.array([3.0, 1.0]), {"by": "levels"}, "strictly ascending"),
    ],
)
def test_bad_input(levels, options, message):
    with pytest.raises(ValueError, match=message):
        fit_beta(levels, **options)


def test_likelihood_sums_over_what_counts():
    law = rmt.laws.GapRatio(2)
    values = rmt.statistics.gap_ratios(jnp.asarray([[0.0, 1.0, 1.5, 1.9, 2.9], [0.0, 0.4, 1.5, 1.9, 2.6]]))
    mask = np.array([[True, False, True], [True, True, True]])
    expected = np.where(mask, law.logpdf(values.values), 0).sum(-1)
    some = rmt.spectra.MaskedValues(values.values, mask)
    np.testing.assert_allclose(log_likelihood(law, some), expected, rtol=1e-12)
    everywhere = np.asarray(law.logpdf(values.values)).sum(-1)
    np.testing.assert_allclose(log_likelihood(law, values), everywhere, rtol=1e-12)
    np.testing.assert_allclose(log_likelihood(law, values.values), everywhere, rtol=1e-12)
    assert log_likelihood(law, jnp.array([0.5, 1.5])) == -np.inf
    with pytest.raises(ValueError, match="NaN"):
        log_likelihood(law, jnp.array([0.5, jnp.nan]))


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("ensemble", ["GOE", "GUE", "GSE"])
def test_matrices(getkey, ensemble):
    matrix = getattr(rmt, ensemble)(300)
    beta = {"GOE": 1, "GUE": 2, "GSE": 4}[ensemble]
    levels = rmt.simulate(matrix.eigenvalues, getkey(), 405)
    fit = fit_beta(levels[:, 75:-75])
    assert fit.number >= 59900
    assert abs(fit.value - beta) < 5 * fit.standard_error
    assert fit.standard_error < 0.015 * beta
    whole = fit_beta(levels[:10], by="levels")
    assert abs(whole.value - beta) < 5 * whole.standard_error


@pytest.mark.slow
@pytest.mark.heavy
def test_errors_cover(getkey):
    """Errors from spectra, from blocks of one spectrum, and from the information of whole ones."""
    levels = rmt.simulate(rmt.GOE(200).eigenvalues, getkey(), 4000)
    middle = levels[:, 40:-40]
    fits = jax.jit(jax.vmap(fit_beta))
    for batch in (middle[:2000, None], middle.reshape(160, 25, -1)):
        fit = fits(batch)
        z = np.asarray((fit.value - 1) / fit.standard_error)
        assert abs(z.mean()) < 0.3
        assert 0.85 < z.std() < 1.25
    whole = jax.jit(jax.vmap(lambda x: fit_beta(x, by="levels")))(levels[:1000])
    z = np.asarray((whole.value - 1) / whole.standard_error)
    assert 0.85 < z.std() < 1.15


def test_spectra_without_values_are_no_groups(getkey):
    levels = jnp.cumsum(jax.random.exponential(getkey(), (24, 30)), axis=-1)
    few = fit_beta(levels[:21])
    some = fit_beta(rmt.Spectrum(levels, jnp.arange(24)[:, None] < 21))
    assert some.groups == few.groups == 21
    np.testing.assert_allclose(some.interval(), few.interval(), rtol=1e-8)
