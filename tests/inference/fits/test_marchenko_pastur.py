"""The fit of the bulk against a loop in NumPy, exact moments, and simulated data with spikes and dependent rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import fit_marchenko_pastur
from tests.cases import further
from tests.statistical import assert_mean

# Probabilities of a thousandth, as the docstring has them.
QUANTILES = {1: 3.27219606, 2: 1.31441948}


def levels_of(n, p, *, spikes=(), beta=1, seed=0):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n, p)) + (1j * rng.normal(size=(n, p)) if beta == 2 else 0)
    data[:, : len(spikes)] *= np.sqrt(spikes)
    return np.linalg.svd(data / np.sqrt(n * beta), compute_uv=False)[::-1] ** 2


def reference(levels, n, p, *, fitted=False, beta=1):
    """The docstring, one candidate after the other, downwards from the most outliers."""
    levels = np.sort(np.append(levels, np.zeros(p - len(levels))))
    k = min(n, p)
    for r in range(k // 3, -1, -1):
        bulk = levels[: p - r]
        if fitted:
            c = (np.mean(bulk**2) / np.mean(bulk) ** 2 - 1) / (1 + (2 / beta - 1) / len(bulk))
            observations = len(bulk) / c
        else:
            c, observations = (p - r) / (n - r), n - r
        error = np.sqrt(2 / (beta * observations * len(bulk)))
        # dE/E of E = σ²(1 + √c)² is dσ²/σ² + √c/(1 + √c) dc/c.
        slope = np.sqrt(c) / (1 + np.sqrt(c))
        edge_error = np.hypot(error, slope * 2 / (np.sqrt(beta) * len(bulk))) if fitted else error
        a, b = np.sqrt(observations + 0.5 - 1 / beta), np.sqrt(len(bulk) + 0.5 - 1 / beta)
        width = QUANTILES[beta] * (a + b) * (1 / a + 1 / b) ** (1 / 3)
        width = np.hypot(width, scipy.stats.norm.isf(1e-3) * edge_error * (a + b) ** 2)
        threshold = np.mean(bulk) / observations * ((a + b) ** 2 + width)
        if r == 0 or levels[p - r] > threshold:
            total = observations + r
            variance = np.mean(bulk) * total / observations
            return r, variance, variance * error, p / total, threshold, bulk


@pytest.mark.parametrize("fitted", [False, True], ids=["known", "fitted"])
@pytest.mark.parametrize(("n", "p", "beta"), [(30, 60, 2), *further((60, 30, 1))])
def test_fit_is_that_of_the_docstring(n, p, beta, fitted):
    levels = np.stack([levels_of(n, p, beta=beta), levels_of(n, p, beta=beta, spikes=(40.0, 90.0, 4000.0), seed=1)])
    fit = fit_marchenko_pastur(jnp.asarray(levels), n, p, ratio="fitted" if fitted else "known", beta=beta)
    assert (fit.n, fit.p, fit.zeros) == (n, p, max(p - n, 0))
    np.testing.assert_array_equal(fit.outliers, [0, 3])
    np.testing.assert_allclose(fit.share, [0, 3 / 30])
    for i in range(2):
        r, variance, error, ratio, threshold, bulk = reference(levels[i], n, p, fitted=fitted, beta=beta)
        assert fit.outliers[i] == r
        np.testing.assert_allclose(fit.variance.value[i], variance, rtol=1e-12)
        np.testing.assert_allclose(fit.variance.standard_error[i], error, rtol=1e-12)
        np.testing.assert_allclose(fit.ratio.value[i], ratio, rtol=1e-11)
        np.testing.assert_allclose(fit.threshold[i], threshold, rtol=1e-6)
        law = rmt.laws.MarchenkoPastur(fit.law.ratio[i], fit.law.scale[i])
        np.testing.assert_allclose(law.mean(), bulk.mean(), rtol=1e-12)
        np.testing.assert_allclose(fit.edges[1][i], law.support()[1], rtol=1e-12)
        # The distance of the levels that are not 0.
        below = np.asarray(law.cdf(bulk))
        steps = np.arange(bulk.size) / bulk.size
        inside = bulk > 0
        distance = np.maximum(abs(below - steps), abs(below - steps - 1 / bulk.size))[inside].max()
        np.testing.assert_allclose(fit.distance[i], distance, rtol=1e-8)
        assert fit.distance[i] < 0.1


def test_errors_are_those_of_linear_statistics():
    """The formulas of the docstring are the limiting variance of two sums over the levels."""
    p, c, scale, beta = 40, 0.3, 1.3, 2
    law = rmt.laws.MarchenkoPastur(c, scale)
    levels = levels_of(133, p, beta=2)
    fit = fit_marchenko_pastur(jnp.asarray(levels), 133, p, ratio="fitted", beta=2)
    support = law.support()
    trace = rmt.laws.linear_statistic_variance(lambda x: x / scale**2, beta, support)
    # The derivative of p Σx²/(Σx)² - 1 at the means Σx = p s² and Σx² = p s⁴(1 + c).
    second = lambda x: x**2 / scale**4 - 2 * (1 + c) * x / scale**2
    moment = rmt.laws.linear_statistic_variance(second, beta, support)
    np.testing.assert_allclose(np.sqrt(trace) / p, np.sqrt(2 * c / beta) / p, rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(moment) / p, 2 * c / (np.sqrt(beta) * p), rtol=1e-10)
    np.testing.assert_allclose(fit.ratio.standard_error / fit.ratio.value, 2 / (np.sqrt(beta) * p), rtol=1e-12)
    variance, ratio = fit.variance, fit.ratio.value
    np.testing.assert_allclose(variance.standard_error / variance.value, np.sqrt(2 * ratio / beta) / p, rtol=1e-12)


def test_quantiles_are_those_of_the_laws():
    for beta, quantile in QUANTILES.items():
        np.testing.assert_allclose(rmt.laws.TracyWidom(beta).sf(quantile), 1e-3, rtol=1e-6)


def test_all_levels_may_be_passed_and_large_ones_do_not_enter():
    levels = levels_of(30, 60, spikes=(100.0, 200.0), seed=2)
    fit = fit_marchenko_pastur(jnp.asarray(levels), 30, 60)
    whole = jnp.append(jnp.asarray(levels), 1e-15 * jnp.arange(-15.0, 15.0))
    huge = whole.at[28:30].multiply(1e80)
    for others in (whole, huge):
        again = fit_marchenko_pastur(others, 30, 60)
        assert again.outliers == fit.outliers == 2
        np.testing.assert_allclose(again.variance.value, fit.variance.value, rtol=1e-12)
        np.testing.assert_allclose(again.distance, fit.distance, rtol=1e-12)


def test_derivatives_keep_the_outliers():
    levels = jnp.asarray(levels_of(60, 30, spikes=(50.0,), seed=3))
    ratio = lambda x: fit_marchenko_pastur(x, 60, 30, ratio="fitted").ratio.value
    direction = jnp.asarray(np.random.default_rng(0).normal(size=30))
    step = 1e-6 * direction
    expected = (ratio(levels + step) - ratio(levels - step)) / 2e-6
    slopes = jax.grad(ratio)(levels)
    np.testing.assert_allclose(slopes @ direction, expected, rtol=1e-6)
    assert slopes[-1] == 0 != slopes[-2]


@pytest.mark.float32(only=True)
def test_single_precision():
    levels = levels_of(30000, 30, spikes=(50.0,), seed=3)
    for options in ({}, {"ratio": "fitted"}):
        fit = fit_marchenko_pastur(jnp.asarray(levels, jnp.float32), 30000, 30, **options)
        r, variance, _, ratio, threshold, _ = reference(levels, 30000, 30, fitted=bool(options))
        assert fit.outliers == r
        assert fit.variance.value.dtype == fit.ratio.value.dtype == fit.distance.dtype == jnp.float32
        np.testing.assert_allclose([fit.variance.value, fit.threshold], [variance, threshold], rtol=3e-6)
        # The ratio is 0.001: plain second moments would have lost three more digits.
        np.testing.assert_allclose(fit.ratio.value, ratio, rtol=3e-4)


@pytest.mark.parametrize(
    ("levels", "n", "p", "options", "message"),
    [
        (np.ones(10), 20, 30, {}, r"`levels` must be the min\(n, p\) = 20 levels .* got 10 levels for n = 20"),
        (np.ones(30), 20, 30, {}, r"p > n; are `n` and `p` swapped.*a level 1 among"),
        (np.array([1.0, np.nan, 2.0]), 9, 3, {}, "must be finite"),
        (np.array([-1.0, 1.0, 2.0]), 9, 3, {}, "not be negative"),
        (np.array([0.0, 0.0, 2.0]), 9, 3, {}, "be positive"),
        (np.ones(2), 9, 2, {}, "at least 3 numbers"),
        (2 * np.ones(3), 9, 3, {"ratio": "fitted"}, "not be equal for the smallest two thirds .* 2 for all of these"),
        (np.array([1.0, 9.0, 1.0]), 9, 3, {"ratio": "fitted"}, "not be equal"),
        (np.ones(3), 9, 3, {"ratio": "free"}, "`ratio` must be one of"),
        (np.ones(3), 9, 3, {"beta": 4}, "`beta` must be 1 or 2"),
        (np.ones(3), 9.0, 3, {}, "`n` must be an integer"),
    ],
)
def test_bad_input(levels, n, p, options, message):
    with pytest.raises(ValueError, match=message):
        fit_marchenko_pastur(levels, n, p, **options)


def test_equal_levels_give_nan_under_a_transformation_and_a_fit_where_others_are_0():
    fit = lambda levels, p: fit_marchenko_pastur(levels, 4, p, ratio="fitted")
    fits = jax.jit(jax.vmap(lambda levels: fit(levels, 4)))(jnp.array([[1.0] * 4, [1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(np.isnan(fits.variance.value), [True, False])
    # Of 8 levels 4 are 0: their second moment is twice the square of their mean.
    np.testing.assert_allclose(fit(jnp.full(4, 3.0), 8).ratio.value, 1 / (1 + 1 / 8), rtol=1e-6)


def _spiked(key, n, p, rank):
    """Levels of noise of variance 1 with spikes ten times as high as its edge."""
    data = jax.random.normal(key, (n, p))
    height = 10 * (1 + (p / n) ** 0.5) ** 2
    data = data.at[:, :rank].multiply(height**0.5)
    return rmt.eigvalsh(data.T @ data / n) if p <= n else rmt.eigvalsh(data @ data.T / n)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("ratio", ["known", "fitted"])
@pytest.mark.parametrize(("n", "p", "rank", "matrices"), [(100, 50, 0, 2000), (100, 50, 5, 2000), (1000, 500, 5, 100)])
def test_bias_and_coverage(getkey, n, p, rank, matrices, ratio):
    draw = jax.jit(jax.vmap(lambda key: _spiked(key, n, p, rank)))
    levels = draw(jax.random.split(getkey(), matrices))
    fit = fit_marchenko_pastur(levels, n, p, ratio=ratio)
    z = np.asarray(fit.variance.z_score(1))
    # A bias below a quarter of the standard error of one spectrum; measured: -0.09 ± 0.02 at p = 50.
    assert abs(z.mean()) < 0.25 + 5 / matrices**0.5
    covered = (abs(z) < 1.96).sum()
    assert scipy.stats.binomtest(int(covered), matrices, 0.95).pvalue > 1e-4
    if ratio == "fitted":
        z = np.asarray(fit.ratio.z_score(p / n))
        assert abs(z.mean()) < 0.25 + 5 / matrices**0.5
        assert 0.9 < np.mean(abs(z) < 1.96) < 0.98
    assert np.mean(np.asarray(fit.outliers) == rank) > 0.95


@pytest.mark.slow
@pytest.mark.heavy
def test_error_over_samples_is_that_of_theory(getkey):
    levels = rmt.simulate(rmt.Wishart(60, 100).eigenvalues, getkey(), 400)
    over = rmt.statistics.over_samples(lambda x: fit_marchenko_pastur(x, 100, 60).variance.value, levels)
    fit = fit_marchenko_pastur(levels, 100, 60)
    # The spread of 400 values is known to 3.5 %.
    np.testing.assert_allclose(over.standard_error * 20, fit.variance.standard_error.mean(), rtol=0.18)
    assert_mean(np.asarray(fit.variance.value), 1.0)


@pytest.mark.slow
@pytest.mark.heavy
def test_effective_number_of_dependent_rows(getkey):
    n, p, correlation = 400, 60, 0.6
    times = np.arange(n)
    covariance = correlation ** abs(times[:, None] - times)
    root = jnp.asarray(np.linalg.cholesky(covariance))
    draw = lambda key: (lambda x: rmt.eigvalsh(x.T @ x / n))(root @ jax.random.normal(key, (n, p)))
    levels = jax.jit(jax.vmap(draw))(jax.random.split(getkey(), 300))
    fit = fit_marchenko_pastur(levels, n, p, ratio="fitted")
    expected = n**2 / np.sum(covariance**2)
    # Dependent rows have another edge than a Marčenko-Pastur law, so some levels are taken for outliers.
    np.testing.assert_allclose(np.mean(fit.effective_n), expected, rtol=0.1)
    assert np.mean(fit.outliers) < 1
    known = fit_marchenko_pastur(levels, n, p)
    assert np.mean(known.outliers) > 3
    assert np.mean(known.distance) > 1.4 * np.mean(fit.distance)
