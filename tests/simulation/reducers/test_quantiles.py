"""Quantiles against numpy on the stacked draws, and their cells against the definition."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rmtjax as rmt
from rmtjax.simulation._reducers import _cells
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

P = np.array([0.0, 0.1, 0.5, 0.73, 1.0])
Quantiles = rmt.simulation.Quantiles

# Numbers of all magnitudes, of both signs, with ties.
some_number = st.one_of(
    st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf]),
    st.floats(-3, 3, width=32),
    st.floats(width=32, allow_nan=False, allow_subnormal=False),
)


def exact(values, p):
    return np.quantile(values, p, method="inverted_cdf")


@pytest.mark.float32
@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_few_values_have_exact_quantiles(getkey, batch_size):
    key = getkey()
    fn = lambda k: (padded_spectrum(k), jax.random.randint(k, (2,), -3, 3))
    spectra, whole = rmt.simulate(fn, key, 50)
    values = np.concatenate([np.asarray(spectra.values)[np.asarray(spectra.mask)], np.ravel(whole)])
    result = rmt.simulate(fn, key, 50, reduce=Quantiles(P), batch_size=batch_size)
    np.testing.assert_array_equal(result.values, exact(values, P))
    np.testing.assert_array_equal(result.quantile(0.31), exact(values, 0.31))
    np.testing.assert_allclose(result.rank_error, 1 / values.size)
    assert (result.draws, result.total, result.counts.sum()) == (50, values.size, values.size)


@pytest.mark.float32
@given(numbers((3,), some_number), st.lists(st.integers(0, 3), min_size=DRAWS, max_size=DRAWS), cuts)
@example(np.repeat([-np.inf, -1.0], 18).reshape(DRAWS, 3), [0, 0, 0, 0, 0, 2, 3, 3, 3, 3, 3, 3], [0, 0])
def test_any_division_of_the_draws_gives_the_same(values, orders, ends):
    spectra = padded(values, orders)
    few, many = check_monoid((Quantiles(P, size=4), Quantiles(P)), spectra, ends, equal)
    levels = np.asarray(spectra.values)[np.asarray(spectra.mask)]
    if not levels.size:
        assert np.isnan(few.values).all()
        return
    expected = exact(levels, P)
    np.testing.assert_array_equal(many.values, expected)
    # The theorem, part (a).
    lower, upper = few.bracket(P)
    assert ((lower <= expected) & (expected <= upper)).all()
    inside = np.array([np.sum((levels >= a) & (levels <= b)) for a, b in zip(few.lower, few.upper, strict=True)])
    np.testing.assert_array_equal(few.counts, inside)
    assert len(few.counts) <= 4
    below, up_to = (np.array([share(value).mean() for value in few.values]) for share in (levels.__lt__, levels.__le__))
    assert (np.maximum(below - P, P - up_to) <= few.rank_error + 1e-12).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(st.lists(some_number, min_size=16, max_size=16))
def test_the_cells_are_the_finest_that_suffice(dtype, drawn):
    values = np.array(drawn, dtype)
    cells = _cells.merged(_cells.empty(4, values.dtype), jax.tree.map(np.asarray, _added(values)))
    codes = np.asarray(_cells.encoded(jnp.asarray(values)))
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order].astype(object)) >= 0).all()
    np.testing.assert_array_equal(_cells.decoded(codes), values)
    distinct = [len(np.unique(codes >> codes.dtype.type(shift))) for shift in range(8 * values.dtype.itemsize)]
    assert int(cells.shift) == next(shift for shift, number in enumerate(distinct) if number <= 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(st.lists(st.one_of(st.floats(0.5, 7.9), st.floats(-7.9, -0.5)), min_size=64, max_size=64))
def test_cells_are_as_narrow_as_the_theorem_says(dtype, drawn):
    values = np.array([0.0, *drawn], dtype)
    cells = _cells.merged(_cells.empty(24, values.dtype), jax.tree.map(np.asarray, _added(values, 24)))
    lower, upper, _ = (each.astype(float) for each in _cells.bounds(cells))
    intervals = len(set(zip(np.sign(values[1:]), np.frexp(values[1:])[1], strict=True)))
    assert (upper - lower <= 2 * intervals / 24 * np.minimum(abs(lower), abs(upper)))[lower * upper > 0].all()


@functools.partial(jax.jit, static_argnums=1)
def _added(values, size=4):
    empty = jax.tree.map(jnp.asarray, _cells.empty(size, np.dtype(values.dtype)))
    return _cells.added(empty, values, jnp.ones(values.shape, bool))


@pytest.mark.parametrize(
    ("fn", "rank_error"),
    [
        (jax.random.normal, 0.0025),
        (lambda key: jax.random.cauchy(key) ** 3, 0.01),
        (lambda key: 1e8 + jax.random.normal(key), 0.0025),
        (lambda key: 1e-30 * jax.random.uniform(key), 0.004),
    ],
    ids=["normal", "heavy tails", "far from 0", "tiny"],
)
def test_many_values_of_any_scale_have_quantiles_of_small_error(getkey, fn, rank_error):
    key, p = getkey(), np.linspace(0.05, 0.95, 19)
    result = rmt.simulate(fn, key, 200_000, reduce=Quantiles(p))
    values = np.sort(np.asarray(rmt.simulate(fn, key, 200_000)))
    assert (result.rank_error < rank_error).all()
    ranks = np.searchsorted(values, result.values) / values.size
    assert (abs(ranks - p) <= result.rank_error).all()
    # Interpolation is better than the bound, as the density is nearly constant within a cell.
    assert abs(ranks - p).max() < rank_error / 5
    lower, upper = result.bracket(p)
    assert ((lower <= exact(values, p)) & (exact(values, p) <= upper)).all()


@pytest.mark.parametrize("number", daily([400, 4000], only=[400]))
def test_intervals_of_independent_values(getkey, number):
    p = np.array([0.2, 0.5, 0.9])
    results = repetitions(Quantiles(p, size=2048), lambda key: jax.random.uniform(key, (3,)), getkey(), number, 300)
    ends = [result.interval() for result in results]
    check_coverage([(lower <= p) & (p <= upper) for lower, upper in ends])
    np.testing.assert_allclose(results[0].rank_standard_error, np.sqrt(p * (1 - p) / 900), rtol=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("number", daily([400, 4000], only=[400]))
def test_intervals_of_levels_that_repel(getkey, number):
    gue, p = rmt.GUE(8), np.array([0.2, 0.45])
    results = repetitions(Quantiles(p, size=2048), gue.eigenvalues, getkey(), number, 100)
    truth = np.asarray(rmt.laws.LevelDensity(gue).ppf(jnp.asarray(p)))
    check_coverage([(lower <= truth) & (truth <= upper) for lower, upper in (result.interval() for result in results)])
    check_coverage([abs(result.values - truth) < 1.96 * result.standard_error for result in results])
    assert (results[0].rank_standard_error < 0.6 * np.sqrt(p * (1 - p) / 800)).all()


def test_what_has_no_quantiles(getkey):
    with pytest.raises(ValueError, match=r"`probabilities` must lie in \[0, 1\]"):
        Quantiles([0.5, 1.5])
    with pytest.raises(ValueError, match="`size` must be an integer of at least 2, got 1"):
        Quantiles(size=1)
    one = rmt.simulate(jax.random.normal, getkey(), 1, reduce=Quantiles(0.5))
    assert np.isnan([one.standard_error, *one.interval()]).all()
    with pytest.raises(ValueError, match=r"`p` must lie in \[0, 1\], got 2"):
        one.quantile(2)
    for no_number in ("0.5", None, 1j, [[0.5], [0.5, 0.5]]):
        with pytest.raises(ValueError, match="`p` must be "):
            one.quantile(no_number)
        with pytest.raises(ValueError, match="`confidence` must be a real number"):
            one.interval(no_number)
    with pytest.raises(ValueError, match=r"`confidence` must lie in \(0, 1\), got 95"):
        one.interval(95)


@pytest.mark.slow
def test_intervals_far_out(getkey):
    """The draws kept for the errors hold few values beyond an outer quantile, or none."""
    p, covered, number = np.array([0.01, 0.99, 0.998]), [], 5000
    reduce = rmt.simulation.Quantiles(p)
    for _ in range(150):
        result = rmt.simulate(jax.random.uniform, getkey(), number, reduce=reduce)
        assert (result.standard_error > 0).all()
        lower, upper = result.interval()
        covered.append((lower <= p) & (p <= upper))
    # Binomial: 150 repetitions of 95 % have a standard deviation of 1.8 %.
    assert (np.mean(covered, axis=0) > 0.95 - 4 * 0.018).all()
    # With two values in a draw the error has a floor and is not 0.
    pairs = lambda key: jax.random.uniform(key, (2,))
    result = rmt.simulate(pairs, getkey(), number, reduce=reduce)
    np.testing.assert_allclose(result.rank_standard_error, np.sqrt(p * (1 - p) / (2 * number)), rtol=0.7)
    assert (result.rank_standard_error >= np.sqrt(p * (1 - p) / (2 * number)) * (1 - 1e-12)).all()
