"""The jackknife against its definition on the stacked draws, and against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.cases import further
from tests.simulation.reducers.draws import (
    DRAWS,
    check_coverage,
    check_monoid,
    close,
    cuts,
    numbers,
    padded_spectrum,
    repetitions,
)

Jackknife = rmt.simulation.Jackknife


def statistic(moments):
    return {"cv": moments.variance / moments.mean**2, "mean": moments.mean}


def by_definition(values, blocks):
    """The delete-one-block jackknife of the variance over the squared mean."""
    block = np.arange(len(values)) % blocks
    theta = lambda part: part.var(ddof=1) / part.mean() ** 2
    there = np.unique(block)
    ratios = np.array([len(values) / np.sum(block == j) for j in there])
    rest = np.array([theta(values[block != j]) for j in there])
    value = len(there) * theta(values) - np.sum((1 - 1 / ratios) * rest)
    pseudo = ratios * theta(values) - (ratios - 1) * rest
    return value, np.sqrt(np.mean((pseudo - value) ** 2 / (ratios - 1)))


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 3, 7])
def test_it_is_that_of_the_stacked_draws(getkey, batch_size):
    key = getkey()
    fn = lambda key: 2 + jax.random.uniform(key)
    result = rmt.simulate(fn, key, 43, reduce=Jackknife(statistic, blocks=5), batch_size=batch_size)
    values = np.asarray(rmt.simulate(fn, key, 43), np.float64)
    value, error = by_definition(values, 5)
    tight = 1e-9 if jax.config.jax_enable_x64 else 1e-4
    np.testing.assert_allclose(result.value["cv"], value, rtol=tight)
    np.testing.assert_allclose(result.standard_error["cv"], error, rtol=10 * tight)
    np.testing.assert_allclose(result.uncorrected["cv"], values.var(ddof=1) / values.mean() ** 2, rtol=tight)
    # A mean has no bias.
    np.testing.assert_allclose(result.value["mean"], values.mean(), rtol=tight)
    assert (result.blocks, result.draws) == (5, 43)


def test_as_many_blocks_as_draws_give_the_standard_error_of_the_mean(getkey):
    key = getkey()
    mean = lambda moments: moments.mean
    result = rmt.simulate(jax.random.normal, key, 20, reduce=(Jackknife(mean, blocks=32), rmt.Moments()), batch_size=8)
    np.testing.assert_allclose(result[0].standard_error, result[1].standard_error, rtol=1e-9)
    assert result[0].blocks == 20


@given(numbers((2,), st.floats(1, 3)), cuts)
def test_any_division_of_the_draws_gives_the_same(values, ends):
    values = values + 0.1 * np.arange(DRAWS)[:, None]
    reduce = Jackknife(lambda each: each[0].variance / each[1].total, (rmt.Moments(), rmt.Histogram([0.0, 9.0])), 5)
    check_monoid(reduce, values, ends, lambda a, b: close(a, b, rtol=1e-7, atol=1e-9))
    result = check_monoid(
        Jackknife(statistic, blocks=5), values[:, 0], ends, lambda a, b: close(a, b, rtol=1e-7, atol=1e-9)
    )
    np.testing.assert_allclose(
        (result.value["cv"], result.standard_error["cv"]), by_definition(values[:, 0], 5), rtol=1e-6
    )


def test_every_reducer_of_constant_size_can_be_inside(getkey):
    key = getkey()
    inside = {
        "histogram": rmt.Histogram([-1.0, 0.0, 1.0]),
        "extremes": rmt.simulation.Extremes(2),
        "keep": rmt.simulation.Keep(2),
        "quantiles": rmt.simulation.Quantiles(0.5, size=16),
    }
    results = []
    rmt.simulate(padded_spectrum, key, 30, reduce=Jackknife(lambda each: results.append(each) or 0.0, inside, 3))
    of_all = rmt.simulate(padded_spectrum, key, 30, reduce=inside)
    close(results[0], of_all)
    # The first one without a block has the draws 1, 2, 4, 5, …
    some = np.flatnonzero(np.arange(30) % 3)
    spectra = rmt.simulate(padded_spectrum, key, 30)
    levels = np.asarray(spectra.values)[some][np.asarray(spectra.mask)[some]]
    assert results[1]["histogram"].total == levels.size
    assert results[1]["extremes"].largest[0] == levels.max()
    assert set(results[1]["keep"].index) <= set(some)


@pytest.mark.parametrize("number", further(400, 4000))
def test_intervals_of_a_biased_statistic(getkey, number):
    # Four independent matrices in a draw make 400 intervals count as much as 1600.
    gue = rmt.GUE(3)
    fn = lambda key: jnp.sum(jnp.abs(jax.vmap(gue.sample)(jax.random.split(key, 4))) ** 2, axis=(1, 2))
    reduce = Jackknife(lambda moments: (np.log(moments.mean), moments.variance / moments.mean**2))
    results = repetitions(reduce, fn, getkey(), number, 256)
    # tr H² is a sum of n² squares of normal numbers of variance 1/n: its mean is n and its variance 2.
    truth = np.array([[np.log(3)], [2 / 9]])
    ends = [np.array(result.interval()) for result in results]
    check_coverage([(lower <= truth) & (truth <= upper) for lower, upper in ends])


def test_what_has_no_error_is_nan_or_refused(getkey):
    one = rmt.simulate(jax.random.normal, getkey(), 1, reduce=Jackknife(lambda moments: moments.mean))
    assert np.isnan(one.standard_error)
    assert np.isfinite(one.value)
    with pytest.raises(ValueError, match="`blocks` must be an integer of at least 2, got 1"):
        Jackknife(statistic, blocks=1)
    with pytest.raises(ValueError, match="`statistic` must be a function of the result"):
        Jackknife(3)
    with pytest.raises(ValueError, match="`reducer` must have a state of constant size"):
        Jackknife(statistic, rmt.simulation.Collect())
    with pytest.raises(ValueError, match=r"`confidence` must lie in \(0, 1\), got 95"):
        one.interval(95)
