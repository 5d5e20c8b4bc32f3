"""Samples of draws, and all of them, against the stacked draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.simulation.reducers.draws import DRAWS, check_monoid, cuts, equal, numbers, padded, padded_spectrum

any_number = st.floats(-10, 10, width=32)


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_draws_are_kept_as_they_are(getkey, batch_size):
    key = getkey()
    fn = lambda k: (padded_spectrum(k), {"bits": jax.random.bits(k, (2,)), "z": jax.random.normal(k, (), complex)})
    drawn = rmt.simulate(fn, key, 50)
    reduce = [rmt.simulation.Keep(5), rmt.simulation.Keep(60), rmt.simulation.Collect()]
    few, many, everything = rmt.simulate(fn, key, 50, reduce=reduce, batch_size=batch_size)
    assert len(few.index) == 5
    assert (np.diff(few.index) > 0).all()
    assert (few.draws, many.draws, everything.draws) == (50, 50, 50)
    for kept in (few, many, everything):
        for one, other in zip(jax.tree.leaves(kept.values), jax.tree.leaves(drawn), strict=True):
            assert one.dtype == other.dtype
            # A program that keeps other results too may round differently.
            np.testing.assert_allclose(one, np.asarray(other)[kept.index], rtol=1e-6)
    np.testing.assert_array_equal(many.index, np.arange(50))
    np.testing.assert_array_equal(everything.index, np.arange(50))
    assert isinstance(few.values[0], rmt.Spectrum)


@pytest.mark.float32
@given(numbers((2,), any_number), st.lists(st.integers(0, 2), min_size=DRAWS, max_size=DRAWS), cuts)
def test_any_division_of_the_draws_gives_the_same(values, orders, ends):
    draws = {"x": padded(values, orders), "z": values[:, 0] + 1j * values[:, 1]}
    reduce = rmt.simulation.Keep(4), rmt.simulation.Keep(20, seed=3), rmt.simulation.Collect()
    result = check_monoid(reduce, draws, ends, equal)
    assert len(result[0].index) == 4
    equal(result[1].values, result[2].values)


def test_the_sample_is_that_of_the_seed_and_uniform():
    chosen = lambda seed: (
        rmt.simulate(lambda key: jnp.float32(0), jax.random.key(0), 40, reduce=rmt.simulation.Keep(10, seed)).index
    )
    assert chosen(0).tolist() == chosen(0).tolist() != chosen(1).tolist()
    # The ranks of many draws stand for many seeds, each of which is a program: uniform, and all different.
    ranks = np.asarray(rmt.simulation.Keep(1)._ranks(jnp.arange(100_000, dtype=jnp.uint32))).astype(np.uint64)
    words = ranks[:, 0] << np.uint64(32) | ranks[:, 1]
    assert len(np.unique(words)) == 100_000
    assert scipy.stats.kstest(words / 2.0**64, "uniform").pvalue > 1e-6
    # Neighbours are independent of one another, and of the words of a user's key with the same seed.
    key_words = jax.random.key_data(jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(0), jnp.arange(100_000)))
    for other in (np.roll(words, 1), np.asarray(key_words)[:, 0]):
        assert abs(scipy.stats.spearmanr(words, other)[0]) < 5 / 100_000**0.5


def test_a_longer_run_keeps_draws_of_lower_rank(getkey):
    kept = lambda number: set(rmt.simulate(jax.random.normal, key, number, reduce=rmt.simulation.Keep(8)).index)
    key = getkey()
    short, long = kept(100), kept(150)
    assert {index for index in long if index < 100} <= short


@pytest.mark.parametrize(("arguments", "name"), [((0,), "k"), ((2.5,), "k"), ((3, -1), "seed")])
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer of at least"):
        rmt.simulation.Keep(*arguments)
