"""The effective number of rows: closed forms, both Gram matrices, and autoregressions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal

from rmtjax.inference import effective_sample_size, signal_rank


def autoregression(rng, n, p, r):
    return scipy.signal.lfilter([np.sqrt(1 - r**2)], [1, -r], rng.normal(size=(n + 200, p)), axis=0)[200:]


@pytest.mark.parametrize(("n", "p"), [(60, 25), (25, 60)])
def test_it_is_the_mean_squared_correlation_of_pairs(n, p):
    rng = np.random.default_rng(0)
    data = autoregression(rng, n, p, 0.5) * np.linspace(1, 5, p)
    centred = data - data.mean(0)
    products, lengths = 0.0, 0.0
    for i in range(p):
        for j in range(i):
            products += (centred[:, i] @ centred[:, j]) ** 2
            lengths += (centred[:, i] ** 2).sum() * (centred[:, j] ** 2).sum()
    np.testing.assert_allclose(effective_sample_size(data), lengths / products, rtol=1e-10)


@pytest.mark.parametrize("cplx", [False, True])
def test_autoregressions(cplx):
    rng = np.random.default_rng(1)
    data = autoregression(rng, 200, 400, 0.6) + (1j * autoregression(rng, 200, 400, 0.6) if cplx else 0)
    index = np.arange(200)
    covariance = 0.6 ** abs(index[:, None] - index)
    exact = np.trace(covariance) ** 2 / (covariance**2).sum()
    # The relative error is some tenths of a per cent; the number of rows is twice as large.
    np.testing.assert_allclose(effective_sample_size(data, center=False), exact, rtol=0.02)


def test_a_factor_is_taken_for_dependent_rows():
    rng = np.random.default_rng(3)
    noise, factor = rng.normal(size=(200, 400)), rng.normal(size=(200, 1))
    residuals = noise - noise @ np.full((400, 400), 1 / 400)
    # With the share 1/2 of the factor, pairs of columns have the squared correlation 1/4.
    assert 3.5 < effective_sample_size(noise + factor, center=False) < 4.5
    np.testing.assert_allclose(effective_sample_size(residuals, center=False), 200, rtol=0.02)


def test_a_column_of_large_variance_leaves_the_others_their_digits():
    data = np.random.default_rng(1).normal(size=(100, 2))
    expected = effective_sample_size(data)
    for unit in (1e-4, 1e-6):
        found = effective_sample_size(jnp.asarray(data * [1, unit], jnp.float32))
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_columns_without_a_pair_are_refused():
    with pytest.raises(ValueError, match="at least 2 columns, got"):
        effective_sample_size(np.arange(5.0)[:, None])
    data = np.random.default_rng(0).normal(size=(2, 60, 25))
    for fault in (0.0, np.where(np.arange(25) == 3, data[1], 0.1)):
        with pytest.raises(ValueError, match=r"at least 2 columns that vary .* got a matrix with [01]"):
            effective_sample_size(np.stack([data[0], np.broadcast_to(fault, (60, 25))]))
    found = jax.jit(effective_sample_size)(data * np.array([1.0, 0.0])[:, None, None])
    np.testing.assert_allclose(found, [effective_sample_size(data[0]), np.nan])


@pytest.mark.slow
def test_few_variables_of_autoregressions_are_calibrated():
    rng = np.random.default_rng(2)
    data = np.stack([autoregression(rng, 2000, 5, 0.3) for _ in range(2000)])
    size = float(np.mean(effective_sample_size(data)))
    assert abs((np.asarray(signal_rank(data, n=size).rank) > 0).mean() - 0.05) < 0.03
    assert (np.asarray(signal_rank(data).rank) > 0).mean() > 0.1
