import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import rmtjax as rmt
from rmtjax.linalg import MaskedValues
from rmtjax.linalg._padded import leading_block_spectrum
from tests.linalg.reference import DTYPES, eps, hermitian

N = 12
# Two pairs of equal magnitude, one double level and a zero.
LEVELS = np.array([-3.0, -2.5, -1.0, -0.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.5, 4.0, 7.0])


def padded(levels, n=N, dtype=np.float64):
    values = np.full(n, np.inf, dtype)
    values[: len(levels)] = levels
    return rmt.PaddedSpectrum(jnp.asarray(values), jnp.asarray(len(levels)))


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


@pytest.mark.float32
def test_the_two_arrangements_by_hand():
    levels = padded([-2.0, 1.0, 3.0], 5, np.float32)
    assert levels.periodic("ascending").dtype == np.float32
    np.testing.assert_array_equal(levels.periodic("ascending"), [-2, -2, 1, 1, 3])
    np.testing.assert_array_equal(levels.periodic("magnitude"), [-2, -2, 1, 3, 3])


def test_a_batch_is_padded_row_by_row():
    rows = [padded(LEVELS[:k]) for k in (1, 5, 12)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    for arrangement in ("ascending", "magnitude"):
        expected = [cyclic(LEVELS[:k], N, arrangement) for k in (1, 5, 12)]
        np.testing.assert_array_equal(batch.periodic(arrangement), expected)
        np.testing.assert_array_equal(jax.vmap(lambda s, a=arrangement: s.periodic(a))(batch), expected)
    assert batch.periodic("random", jax.random.key(0)).shape == (3, N)
    np.testing.assert_array_equal(batch.mask.sum(-1), [1, 5, 12])


def test_rows_of_a_batch_repeat_different_random_subsets():
    rows = jnp.broadcast_to(padded(LEVELS[:8]).values, (20, N))
    spectra = rmt.PaddedSpectrum(rows, jnp.full(20, 8)).periodic("random", jax.random.key(1))
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


def test_counts_are_strict_and_leave_out_the_padding():
    x = np.array([-np.inf, -3.0, -0.5, 0.1, 7.0, 100.0, np.inf])
    for order in (1, 6, 12):
        expected = (LEVELS[:order, None] < x).sum(0)
        np.testing.assert_array_equal(jax.jit(rmt.PaddedSpectrum.count_below)(padded(LEVELS[:order]), x), expected)
    assert padded(LEVELS).count_below(jnp.array(0.0)).shape == ()


@pytest.mark.parametrize("arrangement", ["ascending", "magnitude"])
def test_gradient_goes_to_every_copy(arrangement):
    weights = np.arange(1.0, 9.0)
    spectrum = padded([-2.0, 1.0, 3.0], 8)
    weighted = lambda values: weights @ rmt.PaddedSpectrum(values, spectrum.order).periodic(arrangement)
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


VALUES = np.arange(24.0).reshape(2, 3, 4)
MASK = (VALUES % 5 > 1) & (VALUES < 20)


def test_spectra_of_several_orders():
    sectors = [np.arange(3.0), [-1.0], jnp.array([0.5, 2.5])]
    spectra = rmt.PaddedSpectrum.of(sectors)
    np.testing.assert_array_equal(spectra.order, [3, 1, 2])
    np.testing.assert_array_equal(spectra.values, [[0, 1, 2], [-1, np.inf, np.inf], [0.5, 2.5, np.inf]])
    np.testing.assert_array_equal(rmt.statistics.spacings(spectra).count(), [2, 0, 1])
    for wrong in ([], [np.eye(2)], 3 * [1.0]):
        with pytest.raises(ValueError, match="`spectra` must be"):
            rmt.PaddedSpectrum.of(wrong)


def test_masked_values_are_indexed_and_averaged():
    masked = MaskedValues(jnp.where(MASK, VALUES, jnp.nan), MASK)
    for index in (0, (1, 2), slice(1, None), (slice(None), 1), (..., slice(1, 3)), np.array([1, 0, 0]), (0, ...)):
        np.testing.assert_array_equal(masked[index].mask, MASK[index])
        np.testing.assert_array_equal(masked[index].values, np.where(MASK, VALUES, np.nan)[index])
    np.testing.assert_array_equal([row.mean() for row in masked], masked.mean())
    rows = zip(VALUES.reshape(6, 4), MASK.reshape(6, 4), strict=True)
    expected = [np.mean(x[counts] ** 2) if counts.any() else np.nan for x, counts in rows]
    np.testing.assert_allclose(masked.mean(jnp.square).ravel(), expected)
    assert np.isnan(masked.mean()[1, 2])
    # The function has a pole at the padding, and its parameter a finite derivative.
    logarithms = lambda scale: jnp.nansum(masked.mean(lambda x: jnp.log(scale * (x + 1))))
    np.testing.assert_allclose(jax.grad(logarithms)(3.0), np.isfinite(masked.mean()).sum() / 3)


def test_masked_values_are_no_array():
    masked = MaskedValues(jnp.where(MASK, VALUES, jnp.nan), MASK)
    with pytest.raises(ValueError, match="`MaskedValues` must be taken apart, into `values` and `mask`"):
        np.asarray(masked)
    with pytest.raises((ValueError, TypeError)):  # by its type, before JAX 0.9
        jnp.asarray(masked)
    for one in (0, np.int64(0), jnp.array(0)):
        with pytest.raises(ValueError, match="`index` must leave the last axis, as a range does"):
            masked[..., one]
    with pytest.raises(ValueError, match="`function` must return an array of the shape"):
        masked.mean(lambda x: x[0])


def test_mask_of_a_padded_matrix():
    mask = rmt.PaddedMatrix(jnp.zeros((2, 3, 3)), jnp.array([1, 3])).mask
    np.testing.assert_array_equal(mask, [np.diag([1, 0, 0]).astype(bool), np.ones((3, 3), bool)])


def shifted(a, shift):
    return a + shift * np.eye(len(a))


BLOCKS = {
    "indefinite": lambda a: a,
    "positive": lambda a: shifted(a, 10),
    "negative": lambda a: shifted(a, -10),
    "singular": lambda a: a[:, :1] @ a[:1],
    "zero": np.zeros_like,
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_block_levels_are_those_of_the_block(dtype, kind):
    n = 8
    compiled = jax.jit(lambda a, order: leading_block_spectrum(a, order))
    for order in range(1, n + 1):
        block = BLOCKS[kind](hermitian(order, (order, order), np.complex128))
        if not np.issubdtype(dtype, np.complexfloating):
            block = block.real
        block = ((block + block.conj().T) / 2).astype(dtype)
        a = np.zeros((n, n), dtype)
        a[:order, :order] = block
        spectrum = compiled(jnp.asarray(a), jnp.asarray(order))
        values = np.asarray(spectrum.values)
        assert values.dtype == np.finfo(dtype).dtype
        assert spectrum.order == order
        assert (values[order:] == np.inf).all()
        assert (np.diff(values[:order]) >= 0).all()
        expected = np.linalg.eigvalsh(block.astype(np.complex128))
        np.testing.assert_allclose(values[:order], expected, rtol=0, atol=10 * eps(dtype) * np.linalg.norm(block))
    assert compiled._cache_size() == 1


@pytest.mark.parametrize("kind", ["indefinite", "positive"])
@pytest.mark.parametrize("order", [1, 3, 6])
def test_gradient_of_a_symmetric_function_of_the_block(order, kind):
    a = np.zeros((6, 6))
    a[:order, :order] = BLOCKS[kind](hermitian(20, (order, order)))

    def third_power_sum(m):
        spectrum = leading_block_spectrum(m, jnp.asarray(order))
        return jnp.sum(jnp.where(spectrum.mask, spectrum.values, 0) ** 3)

    gradient = jax.jit(jax.grad(third_power_sum))(jnp.asarray(a))
    np.testing.assert_allclose(gradient, 3 * a @ a, rtol=0, atol=1e-13 * np.linalg.norm(a) ** 2)
