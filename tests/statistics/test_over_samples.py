"""Means and errors over samples against numpy, and their coverage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax import statistics
from rmtjax.spectra import MaskedValues
from rmtjax.statistics import Estimate, over_samples
from tests.cases import further
from tests.statistical import assert_counts, assert_mean


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


@pytest.mark.parametrize("samples", [2, 5, 10])
def test_intervals_from_few_samples(getkey, samples):
    # Student's intervals are exact for normal samples; intervals by the normal law would hold 0.70, 0.88 and 0.92.
    repetitions = 20_000
    lower, upper = over_samples(lambda x: x, jax.random.normal(getkey(), (samples, repetitions))).interval()
    held = np.sum((lower < 0) & (upper > 0))
    assert_counts([held, repetitions - held], [0.95, 0.05])


def test_jackknife_of_a_ratio_from_few_samples(getkey):
    repetitions, samples = 20_000, 10
    x, noise = jax.random.normal(getkey(), (2, samples, repetitions))
    below, above = 1 + 0.3 * x, 2 + 0.5 * noise
    found = over_samples(lambda a, b: (a, b), above, below, combine=lambda mean: mean[0] / mean[1])
    # The ratio of the means alone is too large by 2 · 0.3²/10 = 0.018, and 0.0015 is the error of this mean.
    assert_mean(above.mean(0) / below.mean(0), 2 * (1 + 0.009 + 3 * 0.009**2 + 15 * 0.009**3))
    assert abs(found.value.mean() - 2) < 0.005
    lower, upper = found.interval()
    assert 0.94 < np.mean((lower < 2) & (upper > 2)) < 0.96


N = 12
# Statistics of levels of CUE(12) on the circle, where they have no bias, with the exact value if one is known.
COVERED = {
    "number_variance": (
        lambda x: statistics.number_variance(x, 3.0),
        lambda: rmt.laws.circular_number_variance(3.0, N, 2),
    ),
    "rigidity": (lambda x: statistics.rigidity(x, 3.0), None),
    "gap_ratios": (lambda x: statistics.gap_ratios(x).mean(), None),
    "skewness": (lambda x: (statistics.number_skewness(x, 0.7), statistics.number_variance(x, 0.7)), None),
    "number_probabilities": (lambda x: statistics.number_probabilities(x, 1.0, max_count=0)[..., 0], None),
    "pair_correlation": (lambda x: statistics.pair_correlation(x, jnp.array([0.9, 1.0]))[..., 0], None),
    "form_factor": (lambda x: statistics.form_factor(x, 5 / N).raw, lambda: rmt.laws.circular_form_factor(5, N, 2)),
    "connected": (lambda x: statistics.form_factor(x, 5 / N), lambda: rmt.laws.circular_form_factor(5, N, 2)),
    "power_spectrum": (
        lambda x: statistics.power_spectrum(x, jnp.pi / 2),
        lambda: rmt.laws.circular_power_spectrum(3, N, 2),
    ),
    "level_density": (lambda x: statistics.level_density(x, jnp.array([0.0, 2.5]))[..., 0], lambda: 1 / N),
    "linear_statistic": (lambda x: statistics.linear_statistic(x, lambda x: jnp.cos(2 * jnp.pi * x / N)), lambda: 0.0),
}
# Functions of the means of these.
COMBINED = {"skewness": lambda mean: mean[0] / mean[1] ** 1.5, "connected": lambda mean: mean.connected}
DAILY = ["number_variance", "rigidity", "gap_ratios"]


@pytest.mark.parametrize(
    ("name", "repetitions", "samples"),
    [*((name, 400, 20) for name in DAILY), *further(*((name, 2000, 100) for name in COVERED))],
)
def test_intervals_hold_the_truth(getkey, name, repetitions, samples):
    (statistic, truth), combine = COVERED[name], COMBINED.get(name)
    phases = rmt.simulate(rmt.CUE(N).eigenphases, getkey(), repetitions * samples)
    each = statistic(rmt.statistics.unfold_phases(phases))
    parts = jax.tree.map(lambda leaf: leaf.reshape(repetitions, samples).T, each)
    lower, upper = over_samples(lambda x: x, parts, combine=combine).interval()
    if truth is None:
        whole = over_samples(lambda x: x, each, combine=combine)
        assert whole.standard_error < (upper - lower).mean() / 50
        value = whole.value
    else:
        value = truth()
    # Four standard deviations of the share.
    assert abs(np.mean((lower < value) & (value < upper)) - 0.95) < 4 * (0.95 * 0.05 / repetitions) ** 0.5


@pytest.mark.float32
def test_the_jackknife_multiplies_no_rounding():
    # The two means nearly cancel. In single precision their rounding, times 2000, would be 100 standard errors.
    rng = np.random.default_rng(0)
    x = (100 + rng.normal(0, 0.1, (2000, 2))).astype(np.float32)
    found = over_samples(lambda x: (x[:, 0], x[:, 1]), x, combine=lambda mean: mean[0] ** 2 - mean[1] ** 2)
    assert found.value.dtype == found.standard_error.dtype == jnp.float32
    means, without = x.mean(0, dtype=float), (x.sum(0, dtype=float) - x) / 1999
    of = lambda mean: mean[..., 0] ** 2 - mean[..., 1] ** 2
    np.testing.assert_allclose(found.value, 2000 * of(means) - 1999 * of(without).mean(), rtol=1e-4)
    np.testing.assert_allclose(found.standard_error, np.sqrt(1999) * of(without).std(), rtol=1e-4)


def test_whole_numbers_and_booleans_are_numbers():
    x = np.array([[3, 0], [1, 5], [8, 4]])
    for each in (x, x > 2):
        found = over_samples(lambda each: each, each)
        assert found.value.dtype == jnp.zeros(0).dtype
        np.testing.assert_allclose(found.value, each.mean(0), rtol=1e-6)
        np.testing.assert_allclose(found.standard_error, scipy.stats.sem(each), rtol=1e-6)


def test_text():
    scalar = Estimate(jnp.asarray(0.530712), jnp.asarray(0.00213), 9)
    assert f"{scalar} {scalar:.2f} {scalar:.1e}" == "0.5307 ± 0.0021 0.53 ± 0.00 5.3e-01 ± 2.1e-03"
    assert str(scalar) == "0.5307 ± 0.0021"
    vector = Estimate((jnp.array([123.4, -0.1]),), (jnp.array([12.3, 0.0]),), 9)
    assert str(vector) == "([123 ± 12, -0.1 ± 0],)"
    for value, error, text in [
        (4.5e30, 1.6e29, "4.50e+30 ± 1.6e+29"),
        (-4.5e-20, 1.6e-22, "-4.500e-20 ± 1.6e-22"),
        (1e-20, 3e-19, "1.0e-20 ± 3.0e-19"),
        (0.0, 1e-9, "0.0e+00 ± 1.0e-09"),
        (123456.0, 1234.0, "123456 ± 1234"),
        (4.5e30, 0.0, "4.5e+30 ± 0"),
    ]:
        assert str(Estimate(jnp.asarray(value), jnp.asarray(error), 9)) == text
    assert str(Estimate({"z": jnp.asarray(1 + 2j)}, {"z": jnp.asarray(0.5)}, 9)) == "{'z': 1.00+2.00j ± 0.50}"
    jax.jit(lambda x: str(over_samples(lambda x: x, x)) and x)(jnp.arange(3.0))


def test_z_score():
    found = Estimate({"a": jnp.array([1.0, 2.0])}, {"a": jnp.array([0.5, 0.25])}, 9)
    np.testing.assert_array_equal(found.z_score({"a": jnp.array([2.0, 1.5])})["a"], [-2, 2])
    curve = np.array([[2.0], [1.5]])  # a NumPy array of another precision and shape
    np.testing.assert_array_equal(found.z_score({"a": curve})["a"], [[-2, 0], [-1, 2]])
    np.testing.assert_array_equal(found.z_score({"a": [2, 1.5]})["a"], [-2, 2])
    one = Estimate(jnp.asarray(1.0), jnp.asarray(0.1), 9)
    for large in (3_000_000_000, np.int64(3_000_000_000), np.array(3_000_000_000), 10**30):
        np.testing.assert_allclose(one.z_score(large), -10 * float(large), rtol=1e-6)


@pytest.mark.parametrize("reference", [10**400, None, "a", [1.0, [2.0]], jnp.zeros(3), {"a": 1.0}, jax.random.key(0)])
def test_what_is_no_reference(reference):
    for value in (jnp.zeros(2), (jnp.zeros(2), jnp.zeros(2))):
        with pytest.raises(ValueError, match="`reference` must "):
            Estimate(value, value, 9).z_score(reference)


LEVELS = jnp.sort(jax.random.normal(jax.random.key(0), (5, 9)), axis=-1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: over_samples(lambda x: statistics.form_factor(x, 0.5).connected, LEVELS),
            "`form_factor` must be averaged over spectra first",
        ),
        (
            lambda: over_samples(lambda x: statistics.form_factor(x, 0.5), LEVELS),
            "`combine` must be a function of the mean FormFactor, which returns arrays",
        ),
        (
            lambda: over_samples(lambda x: (x, statistics.level_repulsion(x, 0.5)), LEVELS),
            "`combine` must be a function of the mean LevelRepulsion",
        ),
        (
            lambda: over_samples(statistics.gap_ratios, LEVELS),
            r"`statistic` must return numbers that all count, .*`mean\(\)` of each spectrum, got MaskedValues",
        ),
        (
            lambda: over_samples(lambda x: [MaskedValues(x, x > 0)], LEVELS, combine=lambda mean: mean[0].mean()),
            "`statistic` must return numbers that all count",
        ),
        (
            lambda: over_samples(lambda x: rmt.Spectrum(x).middle(0.5), LEVELS),
            r"`statistic` must return numbers that all count, .* got Spectrum",
        ),
        (lambda: over_samples(lambda x: x.mean, LEVELS), "`statistic` must be numbers, got <"),
        (
            lambda: over_samples(lambda x: statistics.level_repulsion(x, 1), LEVELS, combine=lambda mean: mean),
            "`combine` must return arrays, got LevelRepulsion",
        ),
        (lambda: over_samples(lambda x: x, jnp.zeros((1, 3))), "`samples` must have one leading axis in common"),
        (lambda: over_samples(lambda x: x, jnp.zeros(())), "`samples` must have one leading axis in common"),
        (lambda: over_samples(lambda x, y: x, jnp.zeros(3), jnp.zeros(4)), "`samples` must have one leading axis"),
        (lambda: over_samples(lambda x: x.mean(), jnp.zeros(3)), "`statistic` must return arrays with a leading axis"),
        (lambda: over_samples(lambda x: x, jnp.zeros(3)).interval(2), r"`confidence` must lie in \(0, 1\)"),
        *(
            (lambda x=x: over_samples(lambda x: x, jnp.zeros(3)).interval(x), "`confidence` must be a real num")
            for x in ("0.95", None, [0.9, 0.95], 1j, np.array([0.9, 0.95]), jax.random.key(0), {})
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("unit", [1e-30, 1e-20, 1e25, 1e37])
def test_errors_in_any_unit_are_numpys(unit):
    samples = (unit * np.random.default_rng(0).normal(size=(30, 4))).astype(np.float32)
    expected = samples.astype(np.float64).std(0, ddof=1) / 30**0.5
    plain = over_samples(lambda x: x, jnp.asarray(samples))
    through = over_samples(lambda x: x, jnp.asarray(samples), combine=lambda mean: 2 * mean)
    np.testing.assert_allclose(plain.standard_error, expected, rtol=1e-6)
    np.testing.assert_allclose(through.standard_error, 2 * expected, rtol=1e-6)


def test_errors_beside_a_large_mean_are_numpys():
    samples = (1e7 + np.random.default_rng(0).integers(-3, 4, size=(1000, 2))).astype(np.float32)
    expected = samples.astype(np.float64).std(0, ddof=1) / 1000**0.5
    np.testing.assert_allclose(over_samples(lambda x: x, jnp.asarray(samples)).standard_error, expected, rtol=1e-6)
