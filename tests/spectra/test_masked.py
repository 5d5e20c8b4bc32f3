"""Values of which not all count: indices, means, and what NumPy, Matplotlib and pandas make of them."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import rmtjax as rmt
from rmtjax.spectra import MaskedValues

VALUES = np.arange(24.0).reshape(2, 3, 4)
MASK = (VALUES % 5 > 1) & (VALUES < 20)
SOME = MaskedValues(np.where(MASK, VALUES, np.nan), MASK)
ALL = MaskedValues(VALUES, np.ones(VALUES.shape, bool))


def test_they_are_indexed_and_averaged():
    for index in (0, (1, 2), slice(1, None), (slice(None), 1), (..., slice(1, 3)), np.array([1, 0, 0]), (0, ...)):
        np.testing.assert_array_equal(SOME[index].mask, MASK[index])
        np.testing.assert_array_equal(SOME[index].values, np.where(MASK, VALUES, np.nan)[index])
    np.testing.assert_array_equal([row.mean() for row in SOME], SOME.mean())
    rows = list(zip(VALUES.reshape(6, 4), MASK.reshape(6, 4), strict=True))
    expected = [np.mean(x[counts] ** 2) if counts.any() else np.nan for x, counts in rows]
    np.testing.assert_allclose(SOME.mean(jnp.square).ravel(), expected)
    np.testing.assert_array_equal(SOME.count.ravel(), [counts.sum() for _, counts in rows])
    assert np.isnan(SOME.mean()[1, 2])
    # The function has a pole at the padding, and its parameter a finite derivative.
    logarithms = lambda scale: jnp.nansum(SOME.mean(lambda x: jnp.log(scale * (x + 1))))
    np.testing.assert_allclose(jax.grad(logarithms)(3.0), np.isfinite(SOME.mean()).sum() / 3)


def test_those_that_count():
    np.testing.assert_array_equal(SOME.compressed(), VALUES[MASK])
    np.testing.assert_array_equal(ALL.compressed(), VALUES.ravel())
    assert isinstance(SOME.compressed(), np.ndarray)
    assert MaskedValues(np.zeros((2, 0)), np.zeros((2, 0), bool)).compressed().shape == (0,)


def test_all_that_count_are_an_array():
    assert len(ALL) == 2
    assert np.shape(ALL) == VALUES.shape
    np.testing.assert_array_equal(np.asarray(ALL), VALUES)
    assert np.asarray(ALL, np.float32).dtype == np.float32
    np.testing.assert_array_equal(jnp.asarray(ALL), VALUES)
    for function in (np.mean, np.std, np.median, np.max, np.sum, np.ravel):
        np.testing.assert_allclose(function(ALL), function(VALUES))
    np.testing.assert_allclose(np.mean(ALL, axis=-1), VALUES.mean(-1))
    assert np.mean(ALL, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.histogram(ALL, bins=5)[0], np.histogram(VALUES, bins=5)[0])
    assert [row.values.shape for row in ALL] == [(3, 4), (3, 4)]
    assert list(ALL[0, 1]) == sorted(ALL[0, 1], reverse=True)[::-1] == [4, 5, 6, 7]


def test_spacings_are_plotted_and_tabulated():
    levels = np.sort(np.random.default_rng(0).uniform(size=41))
    found, expected = rmt.statistics.spacings(levels), np.diff(levels)
    assert len(found) == 40
    for data, plain in ((found, expected), (rmt.statistics.spacings(levels.reshape(1, 41)), expected[None])):
        counts, *_ = plt.hist(data.compressed(), bins=7)
        np.testing.assert_array_equal(counts, np.histogram(plain, bins=7)[0])
    counts, *_ = plt.hist(found, bins=7)
    np.testing.assert_array_equal(counts, np.histogram(expected, bins=7)[0])
    (line,) = plt.plot(found)
    np.testing.assert_array_equal(line.get_ydata(), expected)
    plt.close("all")
    np.testing.assert_array_equal(pd.Series(found), expected)
    np.testing.assert_array_equal(pd.DataFrame({"s": found})["s"], expected)
    assert pd.DataFrame({"s": found}).dtypes["s"] == expected.dtype
    np.testing.assert_array_equal(pd.DataFrame(rmt.statistics.spacings(np.stack([levels, 2 * levels]))).shape, (2, 40))


@pytest.mark.parametrize(
    "use",
    [np.asarray, np.mean, np.std, np.ravel, np.histogram, plt.hist, pd.Series, pd.DataFrame, list, sorted, sum, np.sin],
    ids=lambda use: use.__name__,
)
def test_what_does_not_count_is_no_number(use):
    row = SOME[0, 1]
    said = r"`MaskedValues` must count throughout as an array \(`compressed\(\)` has those that do\), got 2 of 4 that"
    with pytest.raises(ValueError, match=said):
        use(row)
    # A part of which all count is one.
    np.testing.assert_array_equal(np.asarray(row[3:]), [7])
    plt.close("all")


def test_an_array_of_jax():
    with pytest.raises((ValueError, TypeError)):  # by its type, before JAX 0.9
        jnp.asarray(SOME)


def test_under_a_transformation_there_is_no_array():
    for use in (np.asarray, MaskedValues.compressed):
        with pytest.raises(ValueError, match="must be known: under a transformation take `values` and `mask`"):
            jax.jit(lambda x, use=use: use(rmt.statistics.spacings(x)))(jnp.arange(4.0))
    # What is taken of it besides goes through.
    means = lambda x: rmt.statistics.spacings(x).mean(jnp.square)
    squares = jnp.arange(5.0) ** 2
    for of in (means, jax.jit(means)):
        assert of(squares) == (1 + 9 + 25 + 49) / 4
    np.testing.assert_array_equal(jax.vmap(means)(jnp.stack([squares, 2 * squares])), [21, 84])


def test_trees():
    leaves, structure = jax.tree.flatten(SOME)
    again = jax.tree.unflatten(structure, leaves)
    np.testing.assert_array_equal(again.values, SOME.values)
    compiled = jax.jit(lambda x, mask: MaskedValues(x, mask))(VALUES, MASK)
    assert jax.tree.structure(compiled) == structure
    # Within `jit` the number of those that count need not be known.
    assert jax.jit(lambda x: MaskedValues(x, x > 2).count)(jnp.arange(5.0)) == 2


def test_refusals():
    for one in (0, np.int64(0), jnp.array(0)):
        with pytest.raises(ValueError, match="`index` must leave the last axis, as a range does"):
            SOME[..., one]
    with pytest.raises(ValueError, match="`function` must return an array of the shape"):
        SOME.mean(lambda x: x[0])
    with pytest.raises(ValueError, match=r"`mask` must be booleans of the shape \(2,"):
        MaskedValues(jnp.zeros(2), jnp.zeros(3, bool))
    with pytest.raises(ValueError, match="`mask` must be booleans"):
        MaskedValues(jnp.zeros(2), jnp.zeros(2))


@pytest.mark.parametrize("options", [{"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}, {}])
def test_means_of_numpy_over_any_axis(options):
    ratios = rmt.statistics.spacings(np.array([[0.0, 1, 3, 4], [0, 2, 5, 7]]))
    np.testing.assert_allclose(np.mean(ratios, **options), np.mean(np.asarray(ratios), **options))
    np.testing.assert_allclose(ratios.mean(jnp.square, axis=None), np.mean(np.asarray(ratios) ** 2))
