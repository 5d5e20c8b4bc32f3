"""Tails of whole numbers and up to a maximum against mpmath, the package `powerlaw` and direct sums."""

import dataclasses

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from rmtjax.inference import fit_tail
from rmtjax.inference._fits import tail_supports
from rmtjax.inference._fits.tail_families import comparisons
from rmtjax.inference._fits.tail_search import fit_from
from rmtjax.inference._fits.tail_supports import Point, Support


def zipf():
    return np.random.default_rng(0).zipf(2.5, 5000)


def point(value, dtype=jnp.float64):
    return Point(jnp.asarray(value, dtype), jnp.log(jnp.asarray(value, dtype)))


@pytest.mark.parametrize("begin", [1, 7, 3000])
def test_sums_are_those_of_mpmath(begin):
    support, rates = Support(True, None), np.array([0.05, 0.5, 1.5, 3.0, 9.0])
    many = Point(*(jnp.full(rates.shape, each) for each in point(begin)))
    masses = tail_supports.masses(support, jnp.asarray(rates), many)
    mean = tail_supports.mean_logarithm(tail_supports.terms(support, many), jnp.asarray(rates))
    log_total = lambda a: mpmath.log(mpmath.zeta(a, begin)) + a * mpmath.log(begin)
    with mpmath.workdps(30):
        total = [float(log_total(1 + mpmath.mpf(rate))) for rate in rates]
        slope = [-float(mpmath.diff(log_total, 1 + mpmath.mpf(rate))) for rate in rates]
    np.testing.assert_allclose(np.log(masses.first[:, 0]), total, rtol=1e-10)
    np.testing.assert_allclose(mean, slope, rtol=1e-9)
    np.testing.assert_allclose(tail_supports.best_rate(support, many, jnp.asarray(slope)), rates, rtol=1e-8)


def test_zipf_samples_are_those_of_powerlaw_and_mpmath():
    """Distance and minimum are those of powerlaw 2.0.0, whose exponent 2.45823 comes from an optimiser."""
    fit = fit_tail(zipf())
    assert fit.discrete
    assert fit.minimum == 1
    assert fit.tail_size == 5000
    np.testing.assert_allclose(fit.distance, 0.00489617, rtol=1e-4)
    # From mpmath: the root of -ζ'/ζ = mean log k, and the second derivative of log ζ there.
    np.testing.assert_allclose(fit.exponent.value, 2.458228214616084, rtol=1e-9)
    information = mpmath.diff(lambda a: mpmath.log(mpmath.zeta(a)), 2.458228214616084, 2)
    np.testing.assert_allclose(fit.exponent.standard_error, float(1 / mpmath.sqrt(5000 * information)), rtol=1e-6)


def direct(k, begin, last, functions, start):
    """The largest likelihood of an exponential family on whole numbers, and its parameters."""
    numbers, k = np.arange(begin, last + 1.0), k[k >= begin].astype(float)
    table, means = functions(numbers), functions(k).mean(1)

    def loss(eta):
        exponent = eta @ table
        p = np.exp(exponent - exponent.max())
        total = exponent.max() + np.log(p.sum()) - eta @ means
        return total, table @ p / p.sum() - means

    found = scipy.optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    return -k.size * found.fun, found.x


SETS = {
    "geometric": (lambda rng: 1 + rng.geometric(0.1, 800), 5, None),
    "steep": (lambda rng: 50 + rng.poisson(30, 500), 60, None),
    "flat": (lambda rng: rng.integers(3, 200, 500), 5, 199),
    "few": (lambda rng: rng.integers(1, 9, 500) ** 2 // 8 + 1, 1, 9),
    "zipf": (lambda rng: np.minimum(rng.zipf(4.0, 500), 90), 1, 90),
}


@pytest.mark.parametrize("name", SETS)
def test_families_are_those_of_direct_sums(name):
    draw, begin, last = SETS[name]
    k = draw(np.random.default_rng(3))
    fit = fit_tail(k, minimum=begin, maximum=last, cut_off=True)
    # Without an end the power laws of the first two sets are steep, but not steep enough for a direct sum.
    top = last or 200_000
    unit, log = k.max(), lambda x: np.log(x / begin)
    power, (slope,) = direct(k, begin, top, lambda x: log(x)[None], [-2.0])
    power = power if last else log_likelihood(fit, k[k >= begin], begin)
    slope = slope if last else -float(fit.exponent.value)
    np.testing.assert_allclose(fit.exponent.value, -slope, rtol=1e-7, atol=1e-7)
    other, eta = direct(k, begin, top, lambda x: np.stack([log(x), log(x) ** 2]), [slope, -0.01])
    if eta[1] < 0:
        np.testing.assert_allclose(fit.log_normal.log_ratio, power - other, rtol=1e-5, atol=1e-5)
    other, eta = direct(k, begin, top, lambda x: np.stack([log(x), x / unit]), [slope, -0.1])
    if eta[1] < 0:
        found = fit.cut_off.log_ratio, fit.cut_off.exponent.value, fit.cut_off.rate.value
        np.testing.assert_allclose(found, [power - other, -eta[0], -eta[1] / unit], rtol=1e-4, atol=1e-5)
    else:
        assert fit.cut_off.rate.value == 0
        assert_pure(fit)
    other, _ = direct(k, begin, top, lambda x: (x / unit)[None], [-1.0])
    np.testing.assert_allclose(fit.exponential.log_ratio, power - other, rtol=1e-5, atol=1e-5)


def assert_pure(fit):
    """No cut-off is better than the pure law, which is the answer."""
    pure = fit.cut_off.rate.value == 0
    np.testing.assert_array_equal(fit.cut_off.p_value[pure], 1)
    np.testing.assert_array_equal(fit.cut_off.log_ratio[pure], 0)
    assert np.all(np.isnan(fit.cut_off.rate.standard_error[pure]))
    tolerance = 100 * float(np.finfo(fit.exponent.value.dtype).eps)
    for part in ("value", "standard_error"):
        found, expected = (getattr(each.exponent, part)[pure] for each in (fit.cut_off, fit))
        np.testing.assert_allclose(found, expected, rtol=tolerance if part == "value" else 1e-3)


@pytest.mark.float32
@pytest.mark.parametrize("alpha", [1.3, 2.5, 4.0])
@pytest.mark.parametrize("discrete", [False, True])
def test_power_laws_have_a_cut_off_or_none(alpha, discrete):
    rng, default = np.random.default_rng(7), jnp.zeros(()).dtype
    samples = rng.zipf(alpha, (200, 1000)) if discrete else 1 + rng.pareto(alpha - 1, (200, 1000))
    samples = np.minimum(samples.astype(float), 2.0**50).astype(default)
    fit = fit_tail(jnp.asarray(samples), minimum=1.0, discrete=discrete, cut_off=True)
    for each in (fit.cut_off.p_value, fit.cut_off.exponent.value, fit.cut_off.exponent.standard_error):
        assert np.all(np.isfinite(each))
    # A law without a mean always has a cut-off in a sample.
    assert np.all(fit.cut_off.rate.value >= 0)
    assert alpha < 2 or np.any(fit.cut_off.rate.value == 0)
    assert_pure(fit)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "rate"), [(1.3, 0.065), (1.7, 0.045), (2.5, 0.035)])
def test_true_power_laws_are_rejected_for_a_cut_off_as_often_as_stated(alpha, rate):
    samples = 1 + np.random.default_rng(8).pareto(alpha - 1, (2000, 1000))
    rejected = fit_tail(samples, minimum=1.0, cut_off=True).cut_off.p_value < 0.05
    # The stated rate is an estimate itself, of 2000 samples.
    assert abs(rejected.mean() - rate) < 4 * (2 * rate * (1 - rate) / 2000) ** 0.5


def test_laws_that_are_the_same_do_not_differ():
    # The most likely power law up to 100 is uniform, and so is the exponential law.
    for values in (np.arange(1, 101), np.repeat(np.arange(1, 21), 5)):
        test = fit_tail(values, minimum=1, maximum=values.max()).exponential
        assert abs(test.log_ratio) < 1e-9
        assert test.p_value == 1


def test_two_numbers_have_the_laws_of_their_limits():
    """Log-normal laws and cut-offs tend to a law of the two numbers alone; up to a maximum they are that law."""
    k, one = np.repeat([1.0, 2.0], [9, 5]), jnp.asarray(1.0)
    found = {}
    for end in (None, point(3.0)):
        support, x = Support(True, end), point(k)
        tail = fit_from(support, x, point(1.0))
        found[end is None] = jax.jit(lambda: comparisons(support, x, tail, one, True))()  # noqa: B023
    alpha = float(found[True].exponent.value)
    ratio = (
        -14 * float(mpmath.log(mpmath.zeta(alpha))) - 5 * alpha * np.log(2) - 9 * np.log(9 / 14) - 5 * np.log(5 / 14)
    )
    np.testing.assert_allclose([found[True].log_normal.log_ratio, found[True].cut_off.log_ratio], ratio, rtol=1e-9)
    assert np.isfinite(found[True].drift)
    np.testing.assert_allclose(found[False].exponent.value, np.log2(9 / 5), rtol=1e-9)
    for test in (found[False].exponential, found[False].log_normal, found[False].cut_off):
        np.testing.assert_allclose([test.log_ratio, test.p_value], [0, 1], rtol=0, atol=1e-12)
    assert found[False].cut_off.rate.value == 0
    assert np.isnan(found[False].drift)


def test_drift_up_to_a_maximum_is_that_of_the_exponent():
    # Without a logarithm's drift α is 1, so a share of α - 1 would be without bound.
    z = (np.arange(500) + 0.5) / 500 * np.log(100.0)
    fit = fit_tail(np.exp(z), minimum=1.0, maximum=100.0)
    # The error of the regression of z² on z, of uniform z: η is known to √180 / (√m L²).
    np.testing.assert_allclose(fit.drift, 2 * 1.645 * (180 / 500) ** 0.5 / np.log(100.0), rtol=1e-3)


def test_a_verdict_needs_all_its_p_values():
    fit = fit_tail(np.random.default_rng(0).pareto(1.5, 3000) + 1, minimum=1.0, cut_off=True)
    p_value = lambda p, own: dataclasses.replace(
        fit, p_value=jnp.asarray(own), cut_off=dataclasses.replace(fit.cut_off, p_value=jnp.asarray(p))
    )
    assert p_value(0.5, 0.5).verdict == "power law"
    assert p_value(np.nan, 0.5).verdict == "undecided"
    assert p_value(np.nan, 0.01).verdict == "not a power law"


@pytest.mark.float32
def test_integers_keep_their_digits():
    last = 2 ** (jnp.finfo(jnp.zeros(()).dtype).nmant + 1)
    values = np.append(zipf()[:300], last - 1)
    assert fit_tail(values, minimum=1).discrete
    with pytest.raises(ValueError, match="`values` must be integers that the floating-point numbers resolve"):
        fit_tail(values + 1, minimum=1)
    assert fit_tail((values + 1).astype(float), minimum=1, discrete=True).discrete


def log_likelihood(fit, k, begin):
    alpha = float(fit.exponent.value)
    return float(-k.size * (mpmath.log(mpmath.zeta(alpha, begin)) + alpha * mpmath.log(begin))) - alpha * np.sum(
        np.log(k / begin)
    )


def test_distance_is_the_largest_at_whole_numbers():
    k = np.array([3, 3, 3, 4, 4, 6, 6, 6, 9, 30, 31, 31, 80, 200])
    fit = fit_tail(k, minimum=3)
    alpha = float(fit.exponent.value)
    beyond = lambda n: float(mpmath.zeta(alpha, int(n)) / mpmath.zeta(alpha, 3))
    distance = max(abs(1 - beyond(n + 1) - np.mean(k <= n)) for n in range(3, 300))
    np.testing.assert_allclose(fit.distance, distance, rtol=1e-9)


def test_draws_invert_the_distribution_function():
    alpha, begin = 1.7, 2
    u = np.concatenate([np.linspace(0, 0.999, 50), 1 - np.geomspace(1e-9, 1e-3, 20)])
    k = np.asarray(tail_supports.draw(Support(True, None), jnp.asarray(alpha - 1), point(begin), jnp.asarray(u)))
    total = mpmath.zeta(alpha, begin)
    for each, value in zip(u, k, strict=True):
        above, next_above = (mpmath.zeta(alpha, int(value) + j) / total for j in (0, 1))
        assert next_above * (1 - 1e-9) <= 1 - each <= above * (1 + 1e-9), (each, value)


@pytest.mark.parametrize("alpha", [-1.0, 1.0, 3.0])
def test_real_numbers_up_to_a_maximum(alpha):
    rng = np.random.default_rng(5)
    length = np.log(50.0)
    rate = alpha - 1 or 1e-12
    z = -np.log1p(rng.random(400) * np.expm1(-rate * length)) / rate
    fit = fit_tail(2e-20 * np.exp(z), minimum=2e-20, maximum=1e-18, cut_off=True)
    score = lambda r: 1 / r - length / np.expm1(r * length) - z.mean()
    expected = scipy.optimize.brentq(score, *([1e-9, 20] if score(1e-9) > 0 else [-20, -1e-9]))
    np.testing.assert_allclose(fit.exponent.value, 1 + expected, rtol=1e-7, atol=1e-7)
    assert abs(fit.exponent.z_score(alpha)) < 5
    law = -np.expm1(-expected * np.sort(z)) / -np.expm1(-expected * length)
    np.testing.assert_allclose(fit.distance, abs(law - np.arange(400) / 400).max(), rtol=1e-7)
    assert fit.exponential.log_ratio > 0 or alpha < 1


def test_whole_numbers_are_recognised():
    counts, exponent = zipf()[:300], lambda x, **options: float(fit_tail(x, minimum=1.0, **options).exponent.value)
    assert exponent(counts) == exponent(counts.astype(float)) == exponent(list(map(float, counts)))
    assert exponent(counts, discrete=False) > exponent(counts) + 1
    assert not fit_tail(np.arange(10.0, 100.0)).discrete
    assert fit_tail(np.arange(10, 100), minimum=10.5).minimum == 11
    inside = jax.jit(lambda x: fit_tail(x, minimum=1.0).exponent.value)
    np.testing.assert_allclose(inside(jnp.asarray(counts)), exponent(counts), rtol=1e-12)
    whole = jax.jit(lambda x: fit_tail(x, minimum=1.0, discrete=True).exponent.value)
    assert np.isnan(whole(jnp.asarray(counts + 0.5)))


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            np.append(np.full(40, 1.25), np.linspace(1, 9, 60)),
            {},
            "not be rounded so coarsely .*, got 40 of 100 values",
        ),
        (np.linspace(1, 9, 60), {"discrete": True}, "whole numbers where `discrete` is True"),
        (np.linspace(1, 9, 60), {"maximum": 8.0}, "not exceed the `maximum` 8"),
        (np.linspace(1, 9, 60), {"maximum": -8.0}, "`maximum` must be positive"),
    ],
)
def test_bad_input(values, options, message):
    with pytest.raises(ValueError, match=message):
        fit_tail(values, **options)


@pytest.mark.float32(only=True)
def test_single_precision():
    fit = fit_tail(jnp.asarray(zipf(), jnp.float32), minimum=1, cut_off=True)
    np.testing.assert_allclose(fit.exponent.value, 2.4582282, rtol=1e-5)
    np.testing.assert_allclose(fit.distance, 0.00489617, rtol=1e-3)
    assert fit.exponent.value.dtype == jnp.float32
    assert fit.log_normal.p_value > 0.4


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("alpha", [1.5, 2.5, 3.5])
def test_intervals_and_p_values_of_zipf_samples(alpha):
    samples = np.random.default_rng(11).zipf(alpha, (400, 500)).astype(float)
    fit = fit_tail(np.minimum(samples, 2.0**50), minimum=1, key=jax.random.key(1), resamples=99)
    z = np.asarray(fit.exponent.z_score(alpha))
    assert scipy.stats.binomtest(int((abs(z) < 1.96).sum()), 400, 0.95).pvalue > 1e-5
    for level in (0.05, 0.1):
        assert scipy.stats.binomtest(int((fit.p_value <= level).sum()), 400, level).pvalue > 1e-5
        assert scipy.stats.binomtest(int((fit.log_normal.p_value <= level).sum()), 400, level).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.heavy
def test_verdicts_on_counts():
    rng = np.random.default_rng(12)
    options = {"key": jax.random.key(2), "resamples": 99}
    # Three tests at 5 %, of which two see the same; the true rate is 9 % (see `TailFit.verdict`).
    power = fit_tail(rng.zipf(2.5, (200, 1000)), minimum=1, **options).verdict
    assert 0.03 < np.mean(power == "not a power law") < 0.16
    assert np.mean(power == "power law") > 0.5  # most others have too large a drift
    searched = fit_tail(rng.zipf(2.5, (40, 1000)), candidates=30, **options).verdict
    assert np.mean(searched == "not a power law") < 0.16
    geometric = fit_tail(rng.geometric(0.1, (20, 1000)), minimum=2, **options).verdict
    assert np.all(geometric == "not a power law")
    log_normal = np.ceil(np.exp(1 + rng.normal(size=(20, 2000))))
    assert np.all(fit_tail(log_normal, minimum=2, **options).verdict == "not a power law")
