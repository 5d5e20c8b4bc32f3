"""Matrices whose noise, signal and tail are known, in trees of every kind."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pytest
import scipy.stats

from rmtjax.inference import signal_rank_of_levels, weight_spectra
from tests.statistical import ERROR_RATE, assert_mean
from tests.test_compile_once import no_compilation

ROWS, COLUMNS = 60, 40


def noise(key, *batch, rows=ROWS, columns=COLUMNS, sigma=1.0, dtype=float):
    return sigma * jax.random.normal(key, (*batch, rows, columns), dtype)


def signal(rank, strength, rows=ROWS, columns=COLUMNS):
    """Orthogonal singular vectors of equal strength, in units of the edge of noise of variance 1."""
    size = strength * (rows**0.5 + columns**0.5)
    return size * np.eye(rows, rank) @ np.linalg.qr(np.vander(np.linspace(-1, 1, columns), rank))[0].T


def test_columns_are_those_of_numpy(getkey):
    weights = np.asarray(noise(getkey(), sigma=3.0))
    table = weight_spectra({"wide": weights.T, "tall": weights})
    s = np.linalg.svd(weights, compute_uv=False)
    np.testing.assert_array_equal(table.name, ["tall", "wide"])
    np.testing.assert_array_equal([table.rows, table.columns], [[ROWS, COLUMNS], [COLUMNS, ROWS]])
    for place in range(2):
        assert table.spectral_norm[place] == pytest.approx(s[0])
        assert table.stable_rank[place] == pytest.approx((s**2).sum() / s[0] ** 2)
        assert table.variance[place] == pytest.approx((weights**2).mean())
        assert table.variance_error[place] == pytest.approx((weights**2).mean() * (2 / weights.size) ** 0.5)
        assert table.ratio[place] == COLUMNS / ROWS
        assert table.edge[place] == pytest.approx((weights**2).mean() ** 0.5 * (ROWS**0.5 + COLUMNS**0.5))
        assert table.tail_exponent[place] > 2
    assert np.isnan(table.tail_p_value).all()


def test_planted_signals_are_counted(getkey):
    # At a level of 1e-5 noise has no outlier by chance.
    stack = noise(getkey(), 2) + np.stack([signal(2, 2.0), signal(1, 2.0)])
    table = weight_spectra(stack, unfolding="stacked", alpha=1e-5)
    np.testing.assert_array_equal(table.name, ["[0]", "[1]"])
    np.testing.assert_array_equal(table.outliers, [2, 1])
    assert (table.p_value < 1e-8).all()
    assert [len(each) for each in table.outlier_p_values] == [2, 1]
    assert all(each[0] == p for each, p in zip(table.outlier_p_values, table.p_value, strict=True))
    np.testing.assert_allclose(table.variance, 1, rtol=0, atol=6 * (2 / (ROWS * COLUMNS)) ** 0.5)


def test_many_equal_signals_do_not_hide_each_other(getkey):
    stack = np.asarray(noise(getkey(), 2)) + signal(13, 6.0)
    np.testing.assert_array_equal(weight_spectra(stack, unfolding="stacked", alpha=1e-5).outliers, 13)


@pytest.mark.slow
def test_many_equal_signals_hide_each_other_from_a_test_that_knows_of_none(getkey):
    levels = np.linalg.svd(noise(getkey()) + signal(13, 6.0), compute_uv=False)[::-1] ** 2 / ROWS
    assert signal_rank_of_levels(jnp.asarray(levels), ROWS, COLUMNS).rank == 0


def test_what_has_no_numbers_is_listed_with_the_reason(getkey):
    tree = {
        "bias": jnp.zeros(7),
        "count": jnp.arange(3),
        "deep": [jnp.ones((4, 50)), {"zero": jnp.zeros((ROWS, COLUMNS))}],
        "function": jnp.tanh,
        "low rank": noise(getkey(), rows=ROWS, columns=3) @ noise(getkey(), rows=3, columns=COLUMNS),
        "scale": jnp.array(1.0),
    }
    table = weight_spectra(tree)
    assert dict(zip(table.name, table.note, strict=True)) == {
        "bias": "no matrix",
        "deep[0]": "fewer than 10 singular values",
        "deep[1].zero": "two thirds of the singular values are 0",
        "low rank": "two thirds of the singular values are 0",
        "scale": "no matrix",
    }
    for name in ("variance", "edge", "outliers", "p_value", "tail_exponent"):
        assert np.isnan(getattr(table, name)).all()
    np.testing.assert_allclose(table.spectral_norm[1:3], [200**0.5, 0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(table.stable_rank[1:3], [1, 0], rtol=0, atol=1e-6)
    assert (table.tail_verdict == "").all()


def test_a_matrix_without_a_bulk_does_not_stop_the_table(getkey):
    weights = noise(getkey())
    orthogonal = jnp.linalg.qr(noise(getkey(), dtype="float32"))[0]
    two = np.eye(ROWS, COLUMNS)
    two[:9] *= 2
    tree = {
        "empty": jnp.zeros((0, 30)),
        "half": orthogonal.astype("bfloat16"),
        "identity": np.eye(COLUMNS),
        "noise": weights,
        "orthogonal": orthogonal,
        "two": np.linalg.qr(weights)[0] @ two[:COLUMNS] @ np.linalg.qr(noise(getkey(), rows=COLUMNS))[0],
    }
    table = weight_spectra(tree)
    equal = "the singular values are nearly equal"
    few = "fewer than 3 different singular values"
    np.testing.assert_array_equal(table.note, ["no matrix", equal, equal, "", equal, few])
    for name in ("variance", "edge", "outliers", "p_value", "tail_exponent"):
        np.testing.assert_array_equal(np.isnan(getattr(table, name)), table.note != "")
    np.testing.assert_allclose(table.spectral_norm[[1, 2, 4, 5]], [1, 1, 1, 2], rtol=1e-2)


def test_kernels_of_convolutions_are_unfolded(getkey):
    kernels = jax.random.normal(getkey(), (2, COLUMNS, 6, 5, 2))
    first = weight_spectra(list(kernels))
    last = weight_spectra(list(jnp.moveaxis(kernels, (1, 2), (4, 3))), unfolding="channels-last")
    for table in (first, last):
        np.testing.assert_array_equal([table.rows, table.columns], [[COLUMNS] * 2, [ROWS] * 2])
        s = np.linalg.svd(np.asarray(kernels).reshape(2, COLUMNS, ROWS), compute_uv=False)
        np.testing.assert_allclose(table.spectral_norm, s[:, 0])
    np.testing.assert_allclose(first.variance, last.variance)
    stacked = weight_spectra(kernels[0], unfolding="stacked")
    assert stacked.name[7] == "[1][1]"
    assert (stacked.note == "fewer than 10 singular values").all()


def test_rows_and_columns_of_zeros_are_no_noise(getkey):
    # Half of the units are pruned. For the whole matrix the noise of the other half would be signal.
    weights = np.asarray(noise(getkey()))
    pruned = np.zeros((2 * ROWS, 2 * COLUMNS))
    pruned[::2, 1::2] = weights
    whole, table = weight_spectra([weights]), weight_spectra([pruned, np.insert(weights, 5, 0.0, axis=1)])
    np.testing.assert_array_equal([table.rows, table.columns], [[2 * ROWS, ROWS], [2 * COLUMNS, COLUMNS + 1]])
    for name in ("variance", "ratio", "edge", "p_value", "tail_exponent", "spectral_norm", "stable_rank"):
        np.testing.assert_allclose(getattr(table, name), np.repeat(getattr(whole, name), 2), rtol=1e-10)


def test_matrices_of_integers_are_listed(getkey):
    weights = np.asarray(noise(getkey()))
    table = weight_spectra({"quantised": (weights * 30).astype(np.int8), "steps": np.arange(3), "weights": weights})
    np.testing.assert_array_equal(table.name, ["quantised", "weights"])
    np.testing.assert_array_equal(table.note, ["integers", ""])
    assert np.isnan(table.spectral_norm[0])


def test_a_module_becomes_a_data_frame(getkey):
    network = eqx.nn.MLP(COLUMNS, COLUMNS, ROWS, 1, key=getkey())
    frame = pandas.DataFrame(weight_spectra(network)._asdict())
    assert list(frame.name) == [f"layers[{i}].{part}" for i in range(2) for part in ("weight", "bias")]
    fitted = frame[frame.note == ""]
    # The initial weights are uniform between ±1/√fan_in.
    np.testing.assert_allclose(fitted.variance * 3 * fitted["columns"], 1, rtol=0, atol=0.15)
    assert len(fitted) == 2
    other = eqx.nn.MLP(COLUMNS, COLUMNS, ROWS, 1, key=getkey())
    with no_compilation():
        weight_spectra(other)


def test_precision_does_not_matter(getkey):
    weights = noise(getkey(), sigma=1e-30)
    exact = weight_spectra([weights, weights])
    table = weight_spectra([(weights * 1e28).astype(dtype) for dtype in (jnp.float32, jnp.bfloat16)])
    np.testing.assert_allclose(table.spectral_norm, 1e28 * exact.spectral_norm, rtol=1e-2)
    np.testing.assert_array_equal(table.outliers, exact.outliers)
    np.testing.assert_allclose(exact.variance, 1e-60, rtol=0.2)
    with jax.enable_x64(False):
        for scale in (1.0, 1e50):
            single = weight_spectra([scale * np.asarray(weights)])
            np.testing.assert_allclose(single.variance, scale**2 * exact.variance[:1], rtol=1e-5)
    wide = weight_spectra([np.asarray(weights, np.longdouble)])
    np.testing.assert_allclose(wide.variance, exact.variance[:1])


def test_heavy_tails_have_their_exponent(getkey):
    # Singular values of independent entries of index 3/2 have this index too, and their squares the density x^(-7/4).
    sign, size = jax.random.split(getkey())
    entries = jax.random.rademacher(sign, (ROWS, COLUMNS), float) * jax.random.pareto(size, 1.5, (ROWS, COLUMNS))
    table = weight_spectra([entries, noise(getkey())], key=getkey(), resamples=40)
    assert abs(table.tail_exponent[0] - 1.75) < 5 * table.tail_error[0]
    assert table.tail_p_value[0] > 0.02
    assert table.tail_exponent[1] > 2
    assert set(table.tail_verdict) <= {"undecided", "not a power law"}
    assert table.outliers[0] > 3


def test_bad_arguments_are_refused(getkey):
    weights = noise(getkey())
    for refused, words in (
        (lambda: weight_spectra({"w": weights.at[3, 4].set(jnp.nan)}), "`tree: w` must be finite, got 1 of 2400"),
        (lambda: weight_spectra({"w": np.ma.masked_less(weights, 0)}), "`tree` must hold arrays without a mask.* w"),
        (lambda: weight_spectra([np.ones((9, 9), int)]), "`tree` must have leaves that are arrays"),
        (lambda: weight_spectra([jnp.tanh]), "`tree` must have leaves that are arrays"),
        (lambda: weight_spectra({"a": [3.0, jnp.arange(2)]}), r"a\[0\] \(float\), a\[1\] \(int64 array\)"),
        (lambda: weight_spectra({}), "`tree` must"),
        (lambda: weight_spectra(weights, unfolding="torch"), "`unfolding` must be one of"),
        (lambda: weight_spectra(weights, alpha=1.0), "`alpha` must"),
        (lambda: weight_spectra(weights, key=3), "`key` must"),
        (lambda: weight_spectra(weights, resamples=0), "`resamples` must"),
        (lambda: jax.jit(weight_spectra)({"w": weights}), "`tree` must hold known arrays.* w"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
def test_initial_weights_have_outliers_at_the_nominal_rate(getkey, dtype):
    number = 2000
    table = weight_spectra(noise(getkey(), number, dtype=dtype), unfolding="stacked")
    low, high = scipy.stats.binom.ppf([ERROR_RATE / 2, 1 - ERROR_RATE / 2], number, 0.05)
    # The test of the first level itself has a rate of 4 to 5 %.
    assert 0.8 * low < (table.outliers > 0).sum() < high
    assert (table.outliers > 1).mean() < 0.01
    # A fit that finds an outlier in one of a hundred matrices leaves it out.
    z = (table.variance - 1) / table.variance_error
    assert_mean(z + 0.02, 0)
    assert np.std(z) == pytest.approx(1, abs=6 / (2 * number) ** 0.5)
