"""Histogram against numpy on the stacked draws, its errors over repetitions, and the exactness of large totals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from rmtjax.simulation._reducers import _exact
from rmtjax.spectra import internal
from tests.cases import daily
from tests.simulation.reducers.draws import (
    DRAWS,
    check_coverage,
    check_monoid,
    cuts,
    equal,
    numbers,
    padded,
    padded_spectrum,
    repetitions,
)

EDGES = np.array([-1.0, -0.5, 0.0, 0.25, 1.0])


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 7, 100])
def test_histogram_is_numpys(getkey, batch_size):
    key = getkey()
    normal = lambda k: jax.random.normal(k, (3, 2), jnp.float32)
    result = rmt.simulate(normal, key, 50, reduce=rmt.Histogram(EDGES), batch_size=batch_size)
    values = np.asarray(rmt.simulate(normal, key, 50))
    counts, _ = np.histogram(values, EDGES)
    np.testing.assert_array_equal(result.counts, counts)
    assert (result.underflow, result.overflow) == ((values < -1).sum(), (values > 1).sum())
    assert result.total == values.size
    np.testing.assert_allclose(result.density(), counts / (values.size * np.diff(EDGES)), rtol=1e-12)


def test_histogram_bins_are_half_open_and_the_last_closed(getkey):
    on_edges = lambda key: jnp.array([-1.0, 0.0, 0.25, 1.0, 1.0, jnp.nextafter(1.0, 2.0), -jnp.inf, jnp.inf])
    result = rmt.simulate(on_edges, getkey(), 2, reduce=rmt.Histogram(EDGES))
    np.testing.assert_array_equal(result.counts, [2, 0, 2, 6])
    assert (result.underflow, result.overflow) == (2, 4)


def test_histogram_leaves_padding_out_and_counts_every_leaf(getkey):
    key = getkey()
    fn = lambda k: (padded_spectrum(k), jnp.array([0.1, 0.2]))
    result = rmt.simulate(fn, key, 50, reduce=rmt.Histogram([-9.0, 0.0, 9.0]))
    orders = rmt.simulate(padded_spectrum, key, 50).count
    assert result.overflow == 0
    assert result.total == orders.sum() + 100


def test_histogram_of_integers(getkey):
    result = rmt.simulate(lambda k: jnp.arange(5), getkey(), 3, reduce=rmt.Histogram(np.arange(-0.5, 5.5)))
    np.testing.assert_array_equal(result.counts, [3] * 5)


@pytest.mark.parametrize(
    "edges", [[], [1.0], [1.0, 0.0], [0.0, 0.0], [0.0, float("nan")], [0.0, float("inf")], [[0.0, 1.0]], 1.0]
)
def test_bad_edges(edges):
    with pytest.raises(ValueError, match="`edges` must be"):
        rmt.Histogram(edges)


def test_histogram_totals_are_exact_beyond_32_bits():
    histogram = rmt.Histogram([0.0, 1.0])
    counts = lambda number: histogram.init(jax.ShapeDtypeStruct((), jnp.float32))._replace(
        counts=np.array([0, number, 0, 0])
    )
    total = counts(0)
    for _ in range(10):
        total = histogram.merge(total, counts(2**31 - 1))
    assert histogram.finish(total).total == 10 * (2**31 - 1)
    # A floating-point total would lose one unit on top of 2^53.
    assert histogram.finish(histogram.merge(counts(2**53), counts(1))).total == 2**53 + 1


# Merging


words_of_32_bits = st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3)
on_edges_and_between = st.sampled_from([-2.0, -1.0, -0.7, -0.5, 0.0, 0.1, 0.25, 0.9, 1.0, 1.1, np.inf])


@pytest.mark.float32
@given(values=numbers((5,), on_edges_and_between), ends=cuts)
def test_any_division_of_the_draws_gives_the_same(values, ends):
    result = check_monoid(rmt.Histogram(EDGES), values, ends, equal)
    counts = np.array([np.histogram(draw, EDGES)[0] for draw in values])
    np.testing.assert_array_equal(result.counts, counts.sum(0))
    assert (result.draws, result.total) == (DRAWS, 5 * DRAWS)
    error = np.std(counts / 5, axis=0, ddof=1) / DRAWS**0.5
    np.testing.assert_allclose(result.standard_error, error / np.diff(EDGES), rtol=1e-12)
    np.testing.assert_allclose(result.counts_standard_error, DRAWS * 5 * error, rtol=1e-12)


@pytest.mark.float32
@given(
    values=numbers((6,), on_edges_and_between),
    orders=st.lists(st.integers(0, 6), min_size=DRAWS, max_size=DRAWS),
    ends=cuts,
)
def test_the_number_of_values_may_differ_between_draws(values, orders, ends):
    spectra = padded(values, orders)
    result = check_monoid(rmt.Histogram(EDGES), spectra, ends, equal)
    levels = [np.asarray(each[:order], np.float64) for each, order in zip(spectra.values, orders, strict=True)]
    counts, total = np.array([np.histogram(each, EDGES)[0] for each in levels]), sum(orders)
    np.testing.assert_array_equal(result.counts, counts.sum(0))
    if total:
        residuals = counts - counts.sum(0) / total * np.array(orders)[:, None]
        error = np.sqrt(DRAWS / (DRAWS - 1) * (residuals**2).sum(0)) / total
        np.testing.assert_allclose(result.standard_error, error / np.diff(EDGES), rtol=1e-9, atol=1e-15)
    else:
        assert np.isnan(result.standard_error).all()


@pytest.mark.float32
@pytest.mark.parametrize("size", [1, 16, 300])
@pytest.mark.parametrize("of_mixed_order", [False, True])
def test_squares_are_those_of_every_draw(getkey, monkeypatch, size, of_mixed_order):
    # This makes blocks of a few draws; otherwise these sizes have a single block.
    monkeypatch.setattr("rmtjax.simulation._reducers.histogram._MOST_COUNTS", 30)
    edges = np.linspace(0, 1, 5)

    def fn(key):
        values = jax.random.uniform(key, (size,), jnp.float32)
        order = jax.random.randint(key, (), 0, size + 1)
        return internal.padded(values, order) if of_mixed_order else values

    key = getkey()
    result = rmt.simulate(fn, key, 30, reduce=rmt.Histogram(edges), batch_size=11)
    drawn = rmt.simulate(fn, key, 30)
    levels = [np.asarray(x[:k]) for x, k in zip(drawn.values, drawn.count, strict=True)] if of_mixed_order else drawn
    counts = np.array([np.histogram(each, edges)[0] for each in levels])
    np.testing.assert_array_equal(result.counts, counts.sum(0))
    np.testing.assert_allclose(result.counts_standard_error, 30**0.5 * counts.std(0, ddof=1), rtol=1e-12)


@pytest.mark.float32
def test_squares_of_draws_with_many_values_are_exact(getkey):
    # 70000² does not fit into 32 bits.
    constant = lambda key: jnp.where(jnp.arange(70_001) < 70_000, 0.5, 2.0)
    fn = lambda key: internal.padded(constant(key), jnp.where(jax.random.bernoulli(key), 70_000, 70_001))
    histogram, key = rmt.Histogram([0.0, 1.0]), getkey()
    drawn = rmt.simulate(fn, key, 5)
    draws = rmt.simulation.Draws(drawn, jnp.arange(5, dtype=jnp.uint32), jnp.ones(5, bool))
    empty = histogram.init(jax.eval_shape(fn, key))
    state = histogram.merge(empty, jax.tree.map(np.asarray, histogram.update(jax.tree.map(jnp.asarray, empty), draws)))
    orders = [int(order) for order in drawn.count]
    assert list(_exact.integers(state.squares))[1:3] == [5 * 70_000**2, orders.count(70_001)]
    assert list(_exact.integers(state.products))[1] == 70_000 * sum(orders)
    assert list(_exact.integers(state.lengths)) == [sum(order**2 for order in orders)]


@pytest.mark.float32
@given(words_of_32_bits, words_of_32_bits)
def test_sums_of_products_carry(x, y):
    words = jax.tree.map(jnp.asarray, _exact.zeros((3,)))
    x32, y32 = jnp.array(x, jnp.uint32), jnp.array(y, jnp.uint32)
    products = [a * b for a, b in zip(x, y, strict=True)]
    twice = _carried(words, x32, y32)
    expected = [(2 * product + 2 * a) % 2**64 for product, a in zip(products, x, strict=True)]
    assert [int(each) % 2**64 for each in _exact.integers(np.asarray(twice))] == expected
    on_host = np.asarray(twice).astype(np.uint64)
    both = _exact.integers(_exact.merged(on_host, on_host))
    assert list(both) == [2 * int(each) for each in _exact.integers(on_host)]


@jax.jit
def _carried(words, x, y):
    for _ in range(2):
        words = _exact.added(_exact.added_product(words, x, y), x)
    return words


# Error bars


@pytest.mark.parametrize("number", daily([400, 4000], only=[400]))
def test_intervals_of_independent_values(getkey, number):
    uniform = lambda key: jax.random.uniform(key, (4,))
    results = repetitions(rmt.Histogram(np.linspace(0, 1, 6)), uniform, getkey(), number, 200)
    check_coverage([abs(result.density() - 1) < 1.96 * result.standard_error for result in results])


@pytest.mark.slow
@pytest.mark.parametrize("number", daily([400, 4000], only=[400]))
def test_intervals_of_levels_that_repel(getkey, number):
    gue, edges = rmt.GUE(8), np.linspace(-1.5, 1.5, 4)
    density = np.diff(np.asarray(rmt.laws.LevelDensity(gue).cdf(jnp.asarray(edges)))) / np.diff(edges)
    results = repetitions(rmt.Histogram(edges), gue.eigenvalues, getkey(), number, 100)
    check_coverage([abs(result.density() - density) < 1.96 * result.standard_error for result in results])
    # For independent levels the counts would have the binomial variance, several times as large.
    shares = 1 - np.diff(edges) * density
    for result in results[:20]:
        assert (result.counts_standard_error**2 < 0.5 * result.counts * shares).all()


def test_errors_of_one_draw_are_unknown(getkey):
    result = rmt.simulate(lambda key: jax.random.uniform(key, (4,)), getkey(), 1, reduce=rmt.Histogram([0.0, 0.5, 1.0]))
    assert np.isnan(result.standard_error).all()
    assert np.isnan(result.counts_standard_error).all()
