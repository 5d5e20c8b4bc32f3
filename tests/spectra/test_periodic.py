"""Spectra repeated cyclically up to the length of their array."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import rmtjax as rmt
from rmtjax.spectra.internal import padded as of_known_order

N = 12
# Two pairs of equal magnitude, one double level and a zero.
LEVELS = np.array([-3.0, -2.5, -1.0, -0.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.5, 4.0, 7.0])


def padded(levels, n=N, dtype=np.float64):
    values = np.full(n, np.inf, dtype)
    values[: len(levels)] = levels
    return of_known_order(jnp.asarray(values), jnp.asarray(len(levels)))


def cyclic(levels, n, arrangement):
    """The padding by its definition: put the levels in order, repeat them cyclically, sort."""
    levels = np.sort(levels)
    if arrangement == "magnitude":
        levels = levels[np.argsort(-np.abs(levels), kind="stable")]
    return np.sort(np.resize(levels, n))


@jax.jit
def periodic_spectra(spectrum):
    return {name: spectrum.periodic(name) for name in ("ascending", "magnitude")}


@pytest.mark.parametrize("order", range(1, N + 1))
def test_periodic_is_cyclic_repetition(order):
    levels = LEVELS[:order]
    for arrangement, got in periodic_spectra(padded(levels)).items():
        np.testing.assert_array_equal(got, cyclic(levels, N, arrangement), err_msg=arrangement)


@pytest.mark.parametrize("seed", range(4))
def test_whichever_levels_count(seed):
    # The levels that count may stand anywhere in the array.
    mask = np.random.default_rng(seed).uniform(size=(3, N)) < 0.5
    mask[:, seed] = True
    spectra = rmt.Spectrum(np.broadcast_to(LEVELS, (3, N)), mask)
    for arrangement, got in periodic_spectra(spectra).items():
        np.testing.assert_array_equal(got, [cyclic(LEVELS[row], N, arrangement) for row in mask])
    drawn = np.asarray(spectra.periodic("random", jax.random.key(seed)))
    for row, some in zip(drawn, mask, strict=True):
        assert set(row) == set(LEVELS[some])


@pytest.mark.float32
def test_the_two_arrangements_by_hand():
    levels = padded([-2.0, 1.0, 3.0], 5, np.float32)
    assert levels.periodic("ascending").dtype == np.float32
    np.testing.assert_array_equal(levels.periodic("ascending"), [-2, -2, 1, 1, 3])
    np.testing.assert_array_equal(levels.periodic("magnitude"), [-2, -2, 1, 3, 3])


def test_a_batch_is_padded_row_by_row():
    rows = [padded(LEVELS[:k]) for k in (1, 5, 12)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    for batch in (stacked, rmt.Spectrum.of([LEVELS[:k] for k in (1, 5, 12)])):
        for arrangement in ("ascending", "magnitude"):
            expected = [cyclic(LEVELS[:k], N, arrangement) for k in (1, 5, 12)]
            np.testing.assert_array_equal(batch.periodic(arrangement), expected)
            np.testing.assert_array_equal(jax.vmap(lambda s, a=arrangement: s.periodic(a))(batch), expected)
        assert batch.periodic("random", jax.random.key(0)).shape == (3, N)
        np.testing.assert_array_equal(batch.count, [1, 5, 12])


def test_rows_of_a_batch_repeat_different_random_subsets():
    rows = jnp.broadcast_to(padded(LEVELS[:8]).values, (20, N))
    spectra = of_known_order(rows, jnp.full(20, 8)).periodic("random", jax.random.key(1))
    assert len(np.unique(np.asarray(spectra), axis=0)) > 10


@pytest.mark.parametrize("order", [5, 8])
def test_random_repeats_each_level_equally_often(order):
    draws = 4000
    spectrum = padded(np.arange(order))
    keys = jax.random.split(jax.random.key(2), draws)
    got = np.asarray(jax.jit(jax.vmap(lambda key: spectrum.periodic("random", key)))(keys))
    assert (np.diff(got, axis=1) >= 0).all()
    multiplicities = (got[:, :, None] == np.arange(order)).sum(1)
    copies, remainder = divmod(N, order)
    assert (multiplicities.sum(1) == N).all()
    extra = multiplicities - copies
    assert set(np.unique(extra)) == {0, 1}
    low, high = stats.binom.interval(1 - 1e-6, draws, remainder / order)
    assert ((low <= extra.sum(0)) & (extra.sum(0) <= high)).all(), extra.sum(0)


@pytest.mark.parametrize("arrangement", ["ascending", "magnitude"])
def test_gradient_goes_to_every_copy(arrangement):
    weights = np.arange(1.0, 9.0)
    spectrum = padded([-2.0, 1.0, 3.0], 8)
    weighted = lambda values: weights @ rmt.Spectrum(values, spectrum.mask).periodic(arrangement)
    gradient = jax.grad(weighted)(spectrum.values)
    repeated = cyclic([-2.0, 1.0, 3.0], 8, arrangement)
    expected = [weights[repeated == level].sum() for level in (-2.0, 1.0, 3.0)]
    np.testing.assert_array_equal(gradient, [*expected, 0, 0, 0, 0, 0])


def test_bad_arguments_are_refused():
    spectrum = padded(LEVELS[:5])
    with pytest.raises(ValueError, match=r"`arrangement` must be one of 'ascending'.*'descending'"):
        spectrum.periodic("descending")
    with pytest.raises(ValueError, match=r"`key` must be given for arrangement='random'.*None"):
        spectrum.periodic("random")
    with pytest.raises(ValueError, match="`key` must be given for arrangement='random' and for no other"):
        spectrum.periodic("ascending", jax.random.key(0))
    with pytest.raises(ValueError, match="`key` must be a typed key"):
        spectrum.periodic("random", jax.random.PRNGKey(0))
