"""Histogram and Moments against numpy on the stacked draws, and the exactness of large totals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt

EDGES = np.array([-1.0, -0.5, 0.0, 0.25, 1.0])


def normals(key):
    return jax.random.normal(key, (3,))


def padded_spectrum(key):
    """A spectrum of 1 to 6 levels, ascending, with the padding of `rmt.Mixed`."""
    order = jax.random.randint(key, (), 1, 7)
    levels = jnp.where(jnp.arange(6) < order, jax.random.normal(key, (6,)), jnp.inf)
    return rmt.PaddedSpectrum(jnp.sort(levels), order)


def padded_matrix(key):
    """A block of order 1 to 6, all entries different from 0, with the padding of `rmt.Mixed`."""
    order = jax.random.randint(key, (), 1, 7)
    inside = jnp.arange(6) < order
    return rmt.PaddedMatrix(jnp.where(inside[:, None] & inside, jax.random.normal(key, (6, 6)), 0), order)


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
    orders = rmt.simulate(padded_spectrum, key, 50).order
    assert result.overflow == 0
    assert result.total == orders.sum() + 100


def test_reducers_leave_the_padding_of_matrices_out(getkey):
    key = getkey()
    orders = np.asarray(rmt.simulate(padded_matrix, key, 10).order)
    result, moments = rmt.simulate(padded_matrix, key, 10, reduce=(rmt.Histogram([-10.0, 10.0]), rmt.Moments()))
    assert result.total == (orders**2).sum()
    np.testing.assert_array_equal(np.diag(moments.count), (np.arange(6)[:, None] < orders).sum(1))


def test_histogram_of_integers(getkey):
    result = rmt.simulate(lambda k: jnp.arange(5), getkey(), 3, reduce=rmt.Histogram(np.arange(-0.5, 5.5)))
    np.testing.assert_array_equal(result.counts, [3] * 5)


def test_histogram_totals_are_exact_beyond_32_bits():
    histogram = rmt.Histogram([0.0, 1.0])
    total = histogram.init(jax.ShapeDtypeStruct((), jnp.float32))
    for _ in range(10):
        total = histogram.merge(total, np.array([0, 2**31 - 1, 0, 0]))
    assert histogram.finish(total).total == 10 * (2**31 - 1)
    # One unit on top of 2^53 is lost in any floating-point total.
    assert histogram.finish(histogram.merge(np.array([0, 2**53, 0, 0]), np.array([0, 1, 0, 0]))).total == 2**53 + 1


def test_histogram_refuses_nan(getkey):
    fn = lambda k: jnp.array([0.5, jnp.nan])
    with pytest.raises(ValueError, match=r"`fn` must return no NaN, got 3 of 6 values.*EQX_ON_ERROR"):
        rmt.simulate(fn, getkey(), 3, reduce=rmt.Histogram([0.0, 1.0]))


@pytest.mark.parametrize(
    "edges", [[], [1.0], [1.0, 0.0], [0.0, 0.0], [0.0, float("nan")], [0.0, float("inf")], [[0.0, 1.0]], 1.0]
)
def test_bad_edges(edges):
    with pytest.raises(ValueError, match="`edges` must be"):
        rmt.Histogram(edges)


def test_complex_values_have_no_histogram(getkey):
    with pytest.raises(ValueError, match="`fn` must return real values for a histogram, got 'complex"):
        rmt.simulate(lambda k: jnp.array(1j), getkey(), 2, reduce=rmt.Histogram([0.0, 1.0]))


@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_moments_are_numpys(getkey, batch_size):
    key = getkey()
    # A mean far from 0 beside a small spread loses every digit in a sum of squares.
    fn = lambda k: {
        "a": 1e4 + jax.random.normal(k, (2,)),
        "b": jax.random.bits(k) % 7,
        "c": jax.random.normal(k, (), complex),
    }
    result = rmt.simulate(fn, key, 60, reduce=rmt.Moments(), batch_size=batch_size)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(result.count)} == {"int64"}
    assert {leaf.dtype.name for leaf in jax.tree.leaves(result.mean)} == {"float64", "complex128"}
    values = jax.tree.map(lambda x: np.asarray(x).astype(np.result_type(x.dtype, float)), rmt.simulate(fn, key, 60))
    for name in values:
        assert result.count[name] == 60
        np.testing.assert_allclose(result.mean[name], values[name].mean(0), rtol=1e-12)
        np.testing.assert_allclose(result.variance[name], values[name].var(0, ddof=1), rtol=1e-9)
        standard_error = values[name].std(0, ddof=1) / 60**0.5
        np.testing.assert_allclose(result.standard_error[name], standard_error, rtol=1e-9)


def test_moments_of_padded_spectra_are_those_of_the_levels_present(getkey):
    key = getkey()
    result = rmt.simulate(padded_spectrum, key, 50, reduce=rmt.Moments(), batch_size=8)
    spectra = rmt.simulate(padded_spectrum, key, 50)
    masked = np.ma.array(spectra.values, mask=~np.asarray(spectra.mask))
    np.testing.assert_array_equal(result.count, masked.count(0))
    present = masked.count(0) > 1
    np.testing.assert_allclose(result.mean[present], masked.mean(0)[present], rtol=1e-10)
    np.testing.assert_allclose(result.variance[present], masked.var(0, ddof=1)[present], rtol=1e-8)


def test_variance_of_one_draw_is_unknown(getkey):
    result = rmt.simulate(lambda k: jax.random.normal(k), getkey(), 1, reduce=rmt.Moments())
    assert np.isnan(result.variance)
    assert result.count == 1


class Largest(rmt.simulation.AbstractReducer):
    """A reducer as a user would write it."""

    def init(self, draw):
        return np.float64(-np.inf)

    def update(self, state, draws):
        return jnp.maximum(state, jnp.max(jnp.where(draws.valid[:, None], draws.values, -jnp.inf)))

    def merge(self, left, right):
        return np.maximum(left, right)

    def finish(self, state):
        return float(state)


def test_a_reducer_of_the_users(getkey):
    key = getkey()
    expected = float(rmt.simulate(normals, key, 11).max())
    assert rmt.simulate(normals, key, 11, reduce=Largest(), batch_size=4) == expected


def test_several_reducers_in_one_pass(getkey):
    key, histogram, moments = getkey(), rmt.Histogram(EDGES), rmt.Moments()
    run = lambda reduce: rmt.simulate(normals, key, 11, reduce=reduce, batch_size=4)
    alone = [run(histogram), run(moments), run(Largest())]
    nested = run([{"b": (histogram, {"x": moments})}, Largest()])
    assert type(nested) is list
    assert eqx.tree_equal(nested, [{"b": (alone[0], {"x": alone[1]})}, alone[2]])


class Count(rmt.simulation.AbstractReducer):
    """A reducer whose first state is Python numbers, and which depends on a parameter."""

    above: jax.Array

    def init(self, draw):
        return {"draws": 0, "above": 0, "last": 0}

    def update(self, state, draws):
        return {
            "draws": state["draws"] + draws.valid.sum(),
            "above": state["above"] + jnp.sum(draws.valid & (draws.values > self.above)),
            "last": jnp.maximum(state["last"], jnp.max(jnp.where(draws.valid, draws.index, 0)).astype(int)),
        }

    def merge(self, left, right):
        added = {name: left[name] + right[name] for name in ("draws", "above")}
        return added | {"last": max(left["last"], right["last"])}

    def finish(self, state):
        return {name: int(number) for name, number in state.items()}


def test_a_state_may_begin_with_python_numbers(getkey):
    key = getkey()
    drawn = np.asarray(rmt.simulate(jax.random.normal, key, 11))
    for above in (-0.5, 0.5):
        result = rmt.simulate(jax.random.normal, key, 11, reduce=Count(jnp.asarray(above)), batch_size=4)
        assert result == {"draws": 11, "above": (drawn > above).sum(), "last": 10}


class Forgetful(Largest):
    """A reducer whose state changes its dtype."""

    def update(self, state, draws):
        return draws.valid.sum()


def test_a_state_that_changes_is_refused(getkey):
    with pytest.raises(ValueError, match=r"`Forgetful.update` must keep the structure, .* of the state, .*float.*int"):
        rmt.simulate(normals, getkey(), 11, reduce=Forgetful())
