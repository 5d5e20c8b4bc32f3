"""Means and errors over samples against numpy, and their coverage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax import statistics
from rmtjax.statistics import over_samples


def test_mean_and_standard_error(getkey):
    x = jax.random.normal(getkey(), (30, 4))
    result = over_samples(lambda x: {"x": x, "square": x[:, :2] ** 2}, x)
    np.testing.assert_allclose(result.value["square"], np.mean(x[:, :2] ** 2, axis=0), rtol=1e-6)
    np.testing.assert_allclose(result.standard_error["x"], scipy.stats.sem(x), rtol=1e-6)
    lower, upper = result.interval(0.9)
    np.testing.assert_allclose((upper["x"] - lower["x"]) / result.standard_error["x"], 2 * scipy.stats.t.ppf(0.95, 29))


def test_jackknife_is_that_of_numpy(getkey):
    x = np.asarray(jax.random.exponential(getkey(), (25,)))
    ratio = lambda means: means[1] / means[0] ** 2
    result = over_samples(lambda x: (x, x**2), x, combine=ratio)
    without = np.array([ratio((y.mean(), (y**2).mean())) for y in (np.delete(x, i) for i in range(25))])
    whole = ratio((x.mean(), (x**2).mean()))
    np.testing.assert_allclose(result.value, 25 * whole - 24 * without.mean(), rtol=1e-6)
    np.testing.assert_allclose(result.standard_error, np.sqrt(24 * without.var()), rtol=1e-5)


def test_a_streamed_jackknife_agrees(getkey):
    key, goe = getkey(), rmt.GOE(30)
    statistic = lambda x: jnp.stack([rmt.statistics.spacings(x).mean(), jnp.var(x, axis=-1)], axis=-1)
    ratio = lambda means: means[0] ** 2 / means[1]
    stacked = over_samples(statistic, rmt.simulate(goe.eigenvalues, key, 64), combine=ratio)
    fn = lambda key: statistic(goe.eigenvalues(key))
    reduce = rmt.simulation.Jackknife(lambda moments: ratio(moments.mean), blocks=64)
    streamed = rmt.simulate(fn, key, 64, reduce=reduce)
    np.testing.assert_allclose(stacked.value, streamed.value, rtol=1e-5)
    np.testing.assert_allclose(stacked.standard_error, streamed.standard_error, rtol=1e-4)


@pytest.mark.parametrize("statistic", ["number_variance", "rigidity", "gap_ratios"])
def test_intervals_hold_the_truth(getkey, statistic):
    # Levels on a circle, where the mean over many spectra is the truth, as the statistic has no bias.
    n, repetitions, samples = 12, 400, 20
    phases = rmt.simulate(rmt.CUE(n).eigenphases, getkey(), repetitions * samples)
    levels = rmt.statistics.unfold_phases(phases).levels
    if statistic == "gap_ratios":
        values = rmt.statistics.gap_ratios(levels).mean()
    else:
        values = getattr(rmt.statistics, statistic)(levels, 3.0, period=n)
    truth, error = values.mean(), values.std() / len(values) ** 0.5
    lower, upper = over_samples(lambda x: x, values.reshape(repetitions, samples).T).interval()
    held = np.mean((lower < truth) & (truth < upper))
    # Four standard deviations of a share of 0.95 in 400 are 0.044; the truth itself is known to a 20th of each width.
    assert error < (upper - lower).mean() / 50
    assert abs(held - 0.95) < 0.044


N = 12
# Statistics of levels of CUE(12) on the circle, and functions of their means, with the exact value where one is known.
COVERED = {
    "number_variance": (
        lambda x: statistics.number_variance(x, 3.0, period=N),
        None,
        lambda: rmt.laws.circular_number_variance(3.0, N, 2),
    ),
    "rigidity": (lambda x: statistics.rigidity(x, 3.0, period=N), None, None),
    "skewness": (
        lambda x: (statistics.number_skewness(x, 0.7, period=N), statistics.number_variance(x, 0.7, period=N)),
        lambda mean: mean[0] / mean[1] ** 1.5,
        None,
    ),
    "number_probabilities": (
        lambda x: statistics.number_probabilities(x, 1.0, max_count=0, period=N)[..., 0],
        None,
        None,
    ),
    "pair_correlation": (
        lambda x: statistics.pair_correlation(x, jnp.array([0.9, 1.0]), period=N)[..., 0],
        None,
        None,
    ),
    "form_factor": (
        lambda x: statistics.form_factor(x, 5 / N).raw,
        None,
        lambda: rmt.laws.circular_form_factor(5, N, 2),
    ),
    "connected form factor": (
        lambda x: statistics.form_factor(x, 5 / N),
        lambda mean: mean.connected,
        lambda: rmt.laws.circular_form_factor(5, N, 2),
    ),
    "power_spectrum": (
        lambda x: statistics.power_spectrum(x, jnp.pi / 2, period=N),
        None,
        lambda: rmt.laws.circular_power_spectrum(3, N, 2),
    ),
    "level_density": (lambda x: statistics.level_density(x, jnp.array([0.0, 2.5]))[..., 0], None, lambda: 1 / N),
    "linear_statistic": (
        lambda x: statistics.linear_statistic(x, lambda x: jnp.cos(2 * jnp.pi * x / N)),
        None,
        lambda: 0.0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERED)
def test_nominal_intervals_hold_the_truth(getkey, name):
    statistic, combine, truth = COVERED[name]
    repetitions, samples = 2000, 100
    phases = rmt.simulate(rmt.CUE(N).eigenphases, getkey(), repetitions * samples)
    each = statistic(rmt.statistics.unfold_phases(phases).levels)
    parts = jax.tree.map(lambda leaf: leaf.reshape(repetitions, samples).T, each)
    lower, upper = over_samples(lambda x: x, parts, combine=combine).interval()
    if truth is None:
        whole = over_samples(lambda x: x, each, combine=combine)
        assert whole.standard_error < (upper - lower).mean() / 50
        value = whole.value
    else:
        value = truth()
    # Four standard deviations of a share of 0.95 in 2000 are 0.02.
    assert 0.93 < np.mean((lower < value) & (value < upper)) < 0.97


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: over_samples(lambda x: x, jnp.zeros((1, 3))), "`samples` must have one leading axis in common"),
        (lambda: over_samples(lambda x: x, jnp.zeros(())), "`samples` must have one leading axis in common"),
        (lambda: over_samples(lambda x, y: x, jnp.zeros(3), jnp.zeros(4)), "`samples` must have one leading axis"),
        (lambda: over_samples(lambda x: x.mean(), jnp.zeros(3)), "`statistic` must return arrays with a leading axis"),
        (lambda: over_samples(lambda x: x, jnp.zeros(3)).interval(2), r"`level` must lie in \(0, 1\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
