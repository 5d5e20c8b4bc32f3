"""Tests of goodness of fit: statistics against SciPy, the bootstrap against its definition, levels and power."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import anderson_darling, cramer_von_mises, kolmogorov_smirnov
from tests.cases import further
from tests.statistical import assert_law

TESTS = [kolmogorov_smirnov, cramer_von_mises, anderson_darling]
UNIFORM = rmt.laws.Uniform()
VALUES = np.random.default_rng(5).random((3, 7)) ** 1.3


def literal(test, u):
    """The statistics by their textbook formulas."""
    u = np.sort(np.ravel(u))
    n, i = u.size, np.arange(1, u.size + 1)
    if test is anderson_darling:
        return -n - np.sum((2 * i - 1) * (np.log(u) + np.log(1 - u[::-1]))) / n
    if test is cramer_von_mises:
        return 1 / (12 * n) + np.sum((u - (2 * i - 1) / (2 * n)) ** 2)
    return max(np.max(i / n - u), np.max(u - (i - 1) / n))


@pytest.mark.float32
@pytest.mark.parametrize("test", TESTS)
def test_independent_values_are_tested_as_in_scipy(test):
    found = test(VALUES, UNIFORM, calibration="independent")
    assert (found.n, found.resamples, found.calibration) == (21, 0, "independent")
    assert found.statistic.dtype == found.p_value.dtype == jnp.zeros(()).dtype
    np.testing.assert_allclose(found.statistic, literal(test, VALUES), rtol=2e-5)
    if test is not anderson_darling:
        scipys = scipy.stats.kstest if test is kolmogorov_smirnov else scipy.stats.cramervonmises
        # SciPy's law of W² has no term in 1/n².
        atol = 2e-5 if test is kolmogorov_smirnov else 1e-3
        np.testing.assert_allclose(found.p_value, scipys(VALUES.ravel(), lambda x: x).pvalue, rtol=0, atol=atol)


@pytest.mark.parametrize("test", [anderson_darling, *further(kolmogorov_smirnov, cramer_von_mises)])
def test_what_does_not_count_is_left_out(test):
    mask = VALUES > 0.2
    masked = rmt.spectra.MaskedValues(jnp.asarray(np.where(mask, VALUES, np.nan)), jnp.asarray(mask))
    found = test(masked, UNIFORM, calibration="independent")
    assert found.n == mask.sum()
    np.testing.assert_allclose(found.statistic, literal(test, VALUES[mask]), rtol=1e-6)
    empty = test(rmt.spectra.MaskedValues(masked.values, masked.mask & False), UNIFORM, calibration="independent")
    assert empty.n == 0
    assert np.isnan([empty.statistic, empty.p_value]).all()


@pytest.mark.parametrize("test", [anderson_darling, *further(kolmogorov_smirnov, cramer_von_mises)])
def test_levels_at_a_point_mass_do_not_count(test):
    # Half of the levels are 0, up to rounding; the others are levels of the smaller side of the data.
    levels = np.array([-2e-16, 0.0, 1e-15, 3e-16, 0.3, 0.9, 2.1, 4.4])
    law = rmt.laws.MarchenkoPastur(2.0)
    found = test(levels, law, calibration="independent")
    assert found.n == 4
    np.testing.assert_allclose(found.statistic, literal(test, 2 * np.asarray(law.cdf(levels[4:])) - 1), rtol=1e-5)


def test_a_value_outside_of_the_support():
    outside = jnp.append(jnp.asarray(VALUES[0]), 1.5)
    found = anderson_darling(outside, UNIFORM, calibration="independent")
    assert (found.statistic, found.p_value) == (jnp.inf, 0)
    assert kolmogorov_smirnov(outside, UNIFORM, calibration="independent").statistic < 1


def test_an_infinite_statistic_needs_finite_draws():
    """An infinite statistic has a rank only if few draws are infinite too."""
    data, key = jnp.asarray([0.2, 0.5, 1.5]), jax.random.key(4)
    tested = lambda scale, data=data: anderson_darling(
        data, UNIFORM, calibration=lambda k: scale * jax.random.uniform(k, (3,)), key=key, resamples=99
    )
    with pytest.raises(ValueError, match=r"`law` must have a support .*`laws.LevelDensity`.* got inf for .* of 99"):
        tested(1.5)
    assert np.isnan(jax.jit(lambda x: tested(1.5, x).p_value)(data))
    assert np.isfinite(tested(1.5, data / 2).p_value)
    few = tested(1.01)
    infinite = np.isinf(few.null).sum()
    assert 0 < infinite < 5
    np.testing.assert_allclose(few.p_value, (1 + infinite) / 100, rtol=1e-6)
    np.testing.assert_allclose(tested(1.0).p_value, 0.01, rtol=1e-6)


def square_root(key):
    return jnp.sqrt(jax.random.uniform(key, (7,)))


def widest(levels):
    """The uniform law on (0, c) with the likeliest c, raised by an n-th."""
    return rmt.laws.Uniform(0.0, 8 / 7 * jnp.max(levels))


@pytest.mark.parametrize("law", [UNIFORM, widest], ids=["known", "fitted"])
@pytest.mark.parametrize("spectra", [(), (3,)])
def test_the_bootstrap_is_its_definition(law, spectra):
    data = jnp.asarray(VALUES if spectra else VALUES[0])
    found = cramer_von_mises(data, law, calibration=square_root, key=jax.random.key(2), resamples=19)
    null = []
    for i in range(19):
        key = jax.random.fold_in(jax.random.key(2), i)
        levels = jnp.stack([square_root(each) for each in jax.random.split(key, 3)]) if spectra else square_root(key)
        fitted = law if isinstance(law, rmt.laws.Uniform) else law(levels)
        null.append(literal(cramer_von_mises, levels / fitted.upper))
    np.testing.assert_allclose(found.null, null, rtol=2e-5)
    fitted = law if isinstance(law, rmt.laws.Uniform) else law(data)
    statistic = literal(cramer_von_mises, data / fitted.upper)
    np.testing.assert_allclose(found.statistic, statistic, rtol=2e-5)
    np.testing.assert_allclose(found.p_value, (1 + np.sum(null >= statistic)) / 20, rtol=1e-6)
    assert str(found).endswith(f"for {data.size} values, by 19 draws of square_root")


def test_draws_of_an_ensemble_are_those_of_a_simulation():
    """Several calls of the small program agree with batches of `simulate`, whose last one is cut."""
    ensemble, law, key = rmt.Wigner(4), rmt.laws.Semicircle(), jax.random.key(3)
    levels = ensemble.eigenvalues(jax.random.key(4))
    small = kolmogorov_smirnov(levels, law, calibration=ensemble, key=key, resamples=530)
    large = kolmogorov_smirnov(levels, law, calibration=ensemble.eigenvalues, key=key, resamples=130)
    fewer = kolmogorov_smirnov(levels, law, calibration=ensemble.eigenvalues, key=key, resamples=70)
    assert (small.resamples, large.resamples, fewer.resamples) == (530, 130, 70)
    np.testing.assert_allclose(small.null[:130], large.null, rtol=1e-5)
    np.testing.assert_allclose(fewer.null, large.null[:70], rtol=1e-6)
    expected = (1 + np.sum(np.asarray(small.null) >= small.statistic)) / 531
    np.testing.assert_allclose(small.p_value, expected, rtol=1e-6)
    # Inside of a program the levels alone may be traced.
    tested = lambda levels: kolmogorov_smirnov(levels, law, calibration=ensemble, key=key, resamples=70).p_value
    expected = kolmogorov_smirnov(levels, law, calibration=ensemble, key=key, resamples=70).p_value
    np.testing.assert_allclose(jax.jit(tested)(levels), expected, rtol=1e-6)


def test_another_number_of_draws_is_no_other_program(caplog):
    levels, arguments = jnp.linspace(-1, 1, 4), {"law": rmt.laws.Semicircle(), "key": jax.random.key(3)}
    for calibration in (rmt.Wigner(4), rmt.Wigner(4).eigenvalues):
        tested = partial(kolmogorov_smirnov, levels, calibration=calibration, **arguments)
        tested(resamples=130)
        with jax.log_compiles():
            tested(resamples=221)
        assert "monte_carlo_p_value" in caplog.text
        assert "_some" not in caplog.text
        assert "_run_chunk" not in caplog.text


def test_arguments_are_checked():
    for arguments, message in [
        (([0.1, np.nan], UNIFORM, "independent"), "`levels` must be finite numbers, got"),
        (([0.1, 0.2j], UNIFORM, "independent"), "`levels` must be real"),
        (([0.1], rmt.GOE(2), "independent"), "`law` must be a law of"),
        (([0.1], rmt.laws.Uniform, rmt.GOE(3)), "`law` must be a law of"),
        ((np.zeros(0), UNIFORM, "independent"), "`levels` must have at least one number"),
        (([0.1], UNIFORM, "ensemble"), "`calibration` must be one of 'independent', got 'ensemble'"),
        (([0.1], UNIFORM, 3), "`calibration` must be 'independent', an ensemble"),
        (([0.1], UNIFORM, rmt.Ginibre(1)), "`calibration` must be 'independent', an ensemble with real"),
        (([0.1], widest, "independent"), "`calibration` must be an ensemble, or a function that draws"),
        (([0.1, 0.2], UNIFORM, rmt.GOE(3)), r"`calibration` must draw 2 values, .* got \(3,\)"),
    ]:
        levels, law, calibration = arguments
        with pytest.raises(ValueError, match=message):
            kolmogorov_smirnov(levels, law, calibration=calibration, key=jax.random.key(0))
    with pytest.raises(ValueError, match="`key` must be a typed key"):
        kolmogorov_smirnov([0.1], UNIFORM, calibration=square_root)
    with pytest.raises(ValueError, match="`resamples` must be an integer"):
        kolmogorov_smirnov([0.1], UNIFORM, calibration=square_root, key=jax.random.key(0), resamples=0)
    traced = jax.jit(lambda x: kolmogorov_smirnov(x, UNIFORM, calibration="independent").p_value)
    assert np.isnan(traced(jnp.array([[0.1], [jnp.nan]])))


# Statistical truths


def assert_uniform(p_values, draws):
    """Check p-values k/(draws + 1), which within their steps are spread evenly, by the test at level 1e-3."""
    within = np.random.default_rng(0).random(p_values.size) / (draws + 1)
    p = scipy.stats.kstest(p_values - within, "uniform").pvalue
    assert p > 1e-3, f"p-values are not uniform: {p:.1e}"


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
def test_p_values_of_independent_values_are_uniform(test, getkey):
    law = rmt.laws.GapRatio(1)
    samples = law.sample(getkey(), (1000, 60))
    p_values = jax.jit(jax.vmap(lambda x: test(x, law, calibration="independent").p_value))(samples)
    assert_law(np.asarray(p_values), scipy.stats.uniform.cdf)
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(("test", "ensemble"), [(cramer_von_mises, rmt.GOE(12)), (kolmogorov_smirnov, rmt.GUE(12))])
def test_p_values_of_spectra_are_uniform_by_bootstrap(test, ensemble, getkey):
    """The semicircle is not the law at n = 12, and levels repel: the bootstrap knows both, the formula neither."""
    spectra = rmt.simulate(ensemble.eigenvalues, getkey(), 2000).reshape(1000, 2, 12)
    keys, law = jax.random.split(getkey(), 1000), ensemble.law()
    found = [
        test(each, law, calibration=ensemble, key=key, resamples=99) for each, key in zip(spectra, keys, strict=True)
    ]
    assert_uniform(np.array([each.p_value for each in found]), 99)
    wrong = jax.jit(jax.vmap(lambda x: test(x, law, calibration="independent").p_value))(spectra)
    assert np.min(wrong) > 0.05, "the formula for independent values never rejects"
    assert np.mean(wrong > 0.5) > 0.9


def ratios(ensemble):
    return lambda key: rmt.statistics.gap_ratios(ensemble.eigenvalues(key)).values


def power(test, data, law, calibration, key):
    """The share of data sets that are rejected at the level 5 %."""
    null = test(data[0], law, calibration=calibration, key=key, resamples=999).null
    # The statistic does not depend on the calibration.
    statistics = jax.jit(jax.vmap(lambda x: test(x, law, calibration="independent").statistic))(data)
    return np.mean(np.asarray(statistics) >= np.quantile(null, 0.95))


@pytest.mark.slow
@pytest.mark.heavy
def test_power_against_another_class_and_another_ratio(getkey):
    goe, gue, m = rmt.GOE(50), rmt.GUE(50), 10
    data = rmt.simulate(ratios(gue), getkey(), 200 * m).reshape(200, m, -1)
    assert power(anderson_darling, data, rmt.laws.GapRatio(1), ratios(goe), getkey()) > 0.9
    own = rmt.simulate(ratios(goe), getkey(), 200 * m).reshape(200, m, -1)
    assert power(anderson_darling, own, rmt.laws.GapRatio(1), ratios(goe), getkey()) < 0.14
    null, other = rmt.Wishart(100, 200), rmt.Wishart(100, 190)
    data = rmt.simulate(other.eigenvalues, getkey(), 400).reshape(200, 2, 100)
    assert power(cramer_von_mises, data, null.law(), null, getkey()) > 0.9
