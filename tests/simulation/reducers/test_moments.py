"""Moments against numpy and scipy on the stacked draws."""

import jax
import numpy as np
import pytest

import rmtjax as rmt
from tests.simulation.reducers.draws import padded_matrix, padded_spectrum


def test_reducers_leave_the_padding_of_matrices_out(getkey):
    key = getkey()
    orders = np.asarray(rmt.simulate(padded_matrix, key, 10).order)
    result, moments = rmt.simulate(padded_matrix, key, 10, reduce=(rmt.Histogram([-10.0, 10.0]), rmt.Moments()))
    assert result.total == (orders**2).sum()
    np.testing.assert_array_equal(np.diag(moments.count), (np.arange(6)[:, None] < orders).sum(1))


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
