"""Extremes against sorted draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.simulation.reducers.draws import DRAWS, check_monoid, cuts, equal, numbers, padded, padded_spectrum

# Ties, zeros of both signs and infinite values among them.
some_number = st.one_of(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf]), st.floats(-3, 3, width=32))


def expected(values, index, k):
    """The k smallest of all values; of equal values those of the first draws."""
    order = np.lexsort((index, values))[:k]
    return values[order], index[order]


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_extremes_are_those_of_the_sorted_draws(getkey, batch_size):
    key = getkey()
    fn = lambda k: (padded_spectrum(k), jax.random.randint(k, (2,), -3, 3))
    spectra, whole = rmt.simulate(fn, key, 50)
    mask = np.asarray(spectra.mask)
    values = np.concatenate([np.asarray(spectra.values)[mask], np.ravel(whole)])
    index = np.concatenate([np.nonzero(mask)[0], np.repeat(np.arange(50), 2)])
    result = rmt.simulate(fn, key, 50, reduce=rmt.simulation.Extremes(6), batch_size=batch_size)
    equal((result.smallest, result.smallest_index), expected(values, index, 6))
    largest, largest_index = expected(-values, index, 6)
    equal((result.largest, result.largest_index), (-largest, largest_index))
    assert (result.draws, result.total) == (50, values.size)


@pytest.mark.float32
@given(numbers((3,), some_number), st.lists(st.integers(0, 3), min_size=DRAWS, max_size=DRAWS), cuts)
def test_any_division_of_the_draws_gives_the_same(values, orders, ends):
    spectra = padded(values, orders)
    few, many = check_monoid((rmt.simulation.Extremes(2), rmt.simulation.Extremes(100)), spectra, ends, equal)
    mask = np.asarray(spectra.mask)
    levels, index = np.asarray(spectra.values)[mask], np.nonzero(mask)[0]
    equal((few.smallest, few.smallest_index), expected(levels, index, 2))
    largest, largest_index = expected(-levels, index, 2)
    equal((few.largest, few.largest_index), (-largest, largest_index))
    np.testing.assert_array_equal(many.smallest, np.sort(levels))
    assert (many.total, many.draws) == (sum(orders), DRAWS)


@pytest.mark.float32
def test_zeros_of_both_signs_are_equal(getkey):
    # Some draws are 0, others -0.
    zeros = lambda key, signs: signs[jax.random.randint(key, (), 0, 2)] * jnp.zeros(2)
    for signs in ([1.0, -1.0], [-1.0, 1.0]):
        result = rmt.simulate(zeros, getkey(), 20, args=(jnp.array(signs),), reduce=rmt.simulation.Extremes(3))
        assert result.smallest_index.tolist() == result.largest_index.tolist() == [0, 0, 1]


def test_bad_arguments():
    with pytest.raises(ValueError, match="`k` must be an integer of at least 1, got 0"):
        rmt.simulation.Extremes(0)
