"""Tails against the package `powerlaw`, a direct maximisation of likelihoods, and samples of known laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import fit_tail
from rmtjax.inference._fits.tail import VERDICTS

N = 300


def samples():
    rng = np.random.default_rng(7)
    u, v = rng.random(N), rng.random(N)
    pareto = (1 - u) ** (-1 / 1.5)
    normal = np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)
    return {
        "pareto": pareto,
        "body": np.where(v < 0.4, v, pareto),
        "log-normal": np.exp(1.2 * normal),
        "ties": np.ceil(20 * pareto) / 20,
    }


# Exponent, minimum, size of the tail, distance, and the logarithm of the ratio and the p-value of Vuong's test against
# the exponential law, by `Fit(x)` and `distribution_compare("power_law", "exponential")` of powerlaw 2.0.0.
POWERLAW = [
    (2.5160564673026675, 1.0024972674843038, 300, 0.03972924624884122, 67.41771970820405, 0.009352388385333928),
    (2.597934148267109, 2.4660200238145356, 54, 0.04146093979040627, 14.101291513983522, 0.0324536224858673),
    (2.2703823251345145, 1.462700128267112, 105, 0.07330265209324621, 6.526241176032314, 0.3589926791248841),
    # With ties powerlaw looks at one side of each step; this distance is that of Clauset's `plfit`, and the rest is by
    # powerlaw from there on.
    (2.8141587369483347, 4.2, 34, 0.04079848091190175, 6.9136716098187945, 0.05431944374421129),
]


def test_fits_are_those_of_powerlaw():
    fit = fit_tail(jnp.asarray(np.stack(list(samples().values()))), discrete=False)
    for i, expected in enumerate(POWERLAW):
        found = fit.exponent.value[i], fit.minimum[i], fit.tail_size[i], fit.distance[i]
        np.testing.assert_allclose(found, expected[:4], rtol=1e-12)
        # Their rate of the exponential law comes from an optimiser.
        np.testing.assert_allclose(fit.exponential.log_ratio[i], expected[4], rtol=1e-4)
        np.testing.assert_allclose(fit.exponential.p_value[i], expected[5], rtol=1e-2)
    errors = (fit.exponent.value - 1) / np.sqrt(fit.tail_size)
    np.testing.assert_allclose(fit.exponent.standard_error, errors, rtol=1e-12)
    assert np.isnan(fit.p_value).all()
    assert set(fit.verdict) <= {"undecided", "not a power law"}


def best_log_normal(z):
    """The largest likelihood of a truncated normal law, by a search over mean and deviation."""

    def loss(parameters):
        mean, deviation = parameters[0], np.exp(parameters[1])
        logpdf = scipy.stats.norm.logpdf(z, mean, deviation) - scipy.stats.norm.logsf(0, mean, deviation)
        return -np.sum(logpdf)

    starts = [(z.mean(), np.log(z.std())), (0.0, 0.0), (-3.0, 1.0), (-20.0, 2.0)]
    options = {"maxiter": 4000, "xatol": 1e-10, "fatol": 1e-10}
    return -min(scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=options).fun for start in starts)


def test_log_normal_law_is_the_best_one():
    rng = np.random.default_rng(1)
    # The quotient of moments is about 1.003, 1.3, 1.57, 1.97 and 2.6.
    z = [4 + 0.2 * rng.normal(size=N), rng.gamma(3.0, size=N), abs(rng.normal(size=N))]
    z = np.stack([*z, rng.exponential(size=N) * 1.02 ** rng.normal(size=N), rng.gamma(0.6, size=N)])
    z[3] = np.sort(z[3])
    z[3, -1] *= 0.75
    fit = fit_tail(jnp.exp(z), minimum=1.0)
    for i in range(5):
        power = -N * (np.log(z[i].mean()) + 1)
        quotient = np.mean(z[i] ** 2) / z[i].mean() ** 2
        expected = min(power - best_log_normal(z[i]), 0) if quotient < 2 else 0
        np.testing.assert_allclose(fit.log_normal.log_ratio[i], expected, rtol=1e-5, atol=1e-6)
        p = scipy.stats.chi2.sf(-2 * expected, 1) / 2 if quotient < 2 else 1
        np.testing.assert_allclose(fit.log_normal.p_value[i], p, rtol=1e-4, atol=1e-12)
        drift = 2 * (abs(quotient - 2) / 4 + scipy.stats.norm.isf(0.05) / 2 / N**0.5) * np.log(N)
        np.testing.assert_allclose(fit.drift[i], drift, rtol=1e-4)
    assert fit.log_normal.p_value[3] > 0.01 > fit.log_normal.p_value[2]


def test_known_minimum_and_derivative():
    x = samples()["pareto"]
    z = np.log(x[x >= 1.7] / 1.7)
    fit = fit_tail(jnp.asarray(np.append(x, [0.0, 0.0])), minimum=1.7)
    np.testing.assert_allclose(fit.exponent.value, 1 + 1 / z.mean(), rtol=1e-12)
    assert fit.tail_size == z.size
    expected = scipy.stats.kstest(z, "expon", args=(0, z.mean()))
    assert abs(fit.distance - expected.statistic) < 1.01 / z.size
    slope = jax.grad(lambda x: fit_tail(x, minimum=1.7).exponent.value)(jnp.asarray(x))
    np.testing.assert_allclose(slope, np.where(x >= 1.7, -1 / (x * z.size * z.mean() ** 2), 0), rtol=1e-10)


@pytest.mark.parametrize("maximum", [None, 20.0])
def test_derivatives_are_those_of_differences(maximum):
    x = np.sort(samples()["pareto"])[::5]
    x, direction = jnp.asarray(x[x < 20]), np.random.default_rng(2).normal(size=(x < 20).sum())

    def numbers(x):
        fit = fit_tail(x, maximum=maximum, cut_off=True)
        leaves = (fit.exponent, fit.minimum, fit.distance, fit.exponential, fit.log_normal.log_ratio, fit.drift)
        cut_off = fit.cut_off.exponent, fit.cut_off.rate.value, fit.cut_off.log_ratio
        return jnp.stack(jax.tree.leaves((leaves, cut_off)))

    step = 1e-6 * direction * x
    expected = (numbers(x + step) - numbers(x - step)) / 2
    assert np.all(expected[:5] != 0)
    np.testing.assert_allclose(jax.jit(jax.jacrev(numbers))(x) @ step, expected, rtol=1e-4, atol=1e-13)


@pytest.mark.parametrize("size", [3, 10])
def test_p_value_at_a_known_minimum_is_that_of_tails_of_one_size(size):
    rng = np.random.default_rng(4)
    # Of a small tail two values are far out, and the others near its beginning.
    z = np.sort(np.append(0.05 + 0.1 * rng.random(size - 2), [2.0, 2.1]))
    distance = lambda z: abs(-np.expm1(-z / z.mean(-1, keepdims=True)) - np.arange(size) / size).max(-1)
    draws = distance(np.sort(rng.exponential(size=(20_000, size))))
    expected = np.mean(draws >= distance(z))
    x = 3.0 * np.exp(np.append(z / 1.5, -rng.random(60 - size)))
    fit = fit_tail(jnp.asarray(x), minimum=3.0, key=jax.random.key(2), resamples=2000)
    np.testing.assert_allclose(fit.distance, distance(z), rtol=1e-10)
    assert abs(fit.p_value - expected) < 5 * (expected * (1 - expected) / 1800) ** 0.5, (fit.p_value, expected)


@pytest.mark.slow
def test_few_candidates_are_spaced_in_the_size_of_the_tail():
    x = samples()["body"]
    fit, whole = fit_tail(jnp.asarray(x), candidates=20), fit_tail(jnp.asarray(x))
    assert fit.tail_size in N + 1 - np.unique(N + 1 - np.round(np.geomspace(2, N, 20)).astype(int))
    assert whole.distance <= fit.distance < 1.5 * whole.distance


@pytest.mark.slow
def test_p_value_is_that_of_the_bootstrap():
    """Section 4.1 of Clauset, Shalizi and Newman in NumPy, whose own draws differ."""
    x = np.sort(samples()["log-normal"])[::3]
    n = x.size

    def best(x):
        x = np.sort(x)
        tails = [x[i:] for i in range(n - 1)]
        fits = [(tail, 1 / np.mean(np.log(tail / tail[0]))) for tail in tails if tail[-1] > tail[0]]
        distances = [abs(1 - (t / t[0]) ** -a - np.arange(t.size) / t.size).max() for t, a in fits]
        return (min(distances), *fits[int(np.argmin(distances))])

    rng = np.random.default_rng(0)
    distance, tail, rate = best(x)
    body = x[x < tail[0]]
    draws = []
    for _ in range(400):
        chosen = rng.random(n) < tail.size / n
        power = tail[0] * (1 - rng.random(n)) ** (-1 / rate)
        draws.append(best(np.where(chosen, power, rng.choice(body, n)))[0])
    expected = np.mean(np.array(draws) >= distance)
    fit = fit_tail(jnp.asarray(x), key=jax.random.key(1))
    assert 0.1 < expected < 0.9
    assert abs(fit.p_value - expected) < 5 * (2 * expected * (1 - expected) / 400) ** 0.5


@pytest.mark.float32(only=True)
def test_single_precision():
    fit = fit_tail(jnp.asarray(np.stack(list(samples().values())), jnp.float32), discrete=False)
    for i, expected in enumerate(POWERLAW):
        np.testing.assert_allclose(fit.exponent.value[i], expected[0], rtol=1e-4)
    for leaf in (fit.exponent.value, fit.distance, fit.log_normal.p_value, fit.drift):
        assert leaf.dtype == jnp.float32


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.ones(9), {}, "at least 10 numbers"),
        (np.ones(10), {}, "at least 3 different positive numbers, got"),
        (np.arange(10.0), {"minimum": 8.0}, "different positive numbers from 8.0 on"),
        (np.arange(10.0), {"minimum": 0.0}, "`minimum` must be positive"),
        (np.arange(10.0) - 1, {}, "not be negative"),
        (np.arange(10.0), {"candidates": 0}, "`candidates` must be an integer"),
        (np.arange(10.0), {"key": 1}, "`key` must be a typed key"),
    ],
)
def test_bad_input(values, options, message):
    with pytest.raises(ValueError, match=message):
        fit_tail(values, **options)


def shares(values, key, **options):
    fit = fit_tail(values, key=key, resamples=100, **options)
    return fit, {verdict: float(np.mean(fit.verdict == verdict)) for verdict in VERDICTS}


@pytest.mark.slow
@pytest.mark.heavy
def test_pareto_samples_are_power_laws_and_others_are_not(getkey):
    pareto = jax.random.pareto(getkey(), 1.5, (60, 2000))
    fit, share = shares(pareto, getkey(), candidates=50)
    z = np.asarray(fit.exponent.z_score(2.5))
    # The minimum is chosen for a small distance, which costs a bias of 0.15 standard errors.
    assert abs(z.mean()) < 0.15 + 5 / 60**0.5
    assert scipy.stats.binomtest(int((abs(z) < 1.96).sum()), 60, 0.95).pvalue > 1e-6
    assert share["power law"] > 0.6
    assert share["not a power law"] < 0.35
    normal = jnp.exp(jax.random.normal(getkey(), (60, 2000)))
    _, share = shares(normal, getkey(), candidates=50)
    assert share["power law"] < 0.2
    # With the median as the minimum, the log-normal law is found out every time.
    _, share = shares(normal, getkey(), minimum=1.0)
    assert share["not a power law"] == 1
    _, share = shares(jax.random.exponential(getkey(), (60, 2000)), getkey(), candidates=50)
    assert share["power law"] < 0.1


@pytest.mark.slow
@pytest.mark.heavy
def test_p_values_and_coverage_at_a_known_minimum(getkey):
    fit = fit_tail(jax.random.pareto(getkey(), 1.5, (1000, 200)), minimum=1.0, key=getkey(), resamples=199)
    assert scipy.stats.kstest(fit.p_value, "uniform").pvalue > 1e-4
    z = np.asarray(fit.exponent.z_score(2.5))
    assert scipy.stats.binomtest(int((abs(z) < 1.96).sum()), 1000, 0.95).pvalue > 1e-6
    # The one-sided test against log-normal laws has its level.
    assert scipy.stats.binomtest(int((fit.log_normal.p_value < 0.05).sum()), 1000, 0.05).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("size", [3, 10, 20, 30])
def test_p_values_of_small_tails_are_uniform(getkey, size):
    tails = jax.random.pareto(getkey(), 1.5, (1000, size))
    body = jax.random.uniform(getkey(), (1000, 100 - size))
    fit = fit_tail(jnp.concatenate([tails, body], axis=1), minimum=1.0, key=getkey(), resamples=999)
    assert np.all(fit.tail_size == size)
    assert scipy.stats.kstest(fit.p_value, "uniform").pvalue > 1e-3
    # The rate at the level 5 % alone, which hardly changes the law of all p-values.
    assert scipy.stats.binomtest(int((fit.p_value <= 0.05).sum()), 1000, 0.05).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.heavy
def test_levels_of_heavy_tailed_and_of_wishart_matrices(getkey):
    levy = abs(rmt.simulate(rmt.Levy(300, 1.2).eigenvalues, getkey(), 20))
    exponent = rmt.statistics.over_samples(lambda x: fit_tail(x, candidates=60).exponent.value, levy)
    assert abs(exponent.value - 2.2) < 0.15
    wishart = rmt.simulate(rmt.Wishart(500, 1000).eigenvalues, getkey(), 10)
    _, share = shares(wishart, getkey(), candidates=50)
    assert share["power law"] == 0
