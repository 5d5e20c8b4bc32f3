"""Data frames in, data frames out: the numbers of the functions, with labels."""

import numpy as np
import pandas as pd
import pytest

import rmtjax as rmt
from rmtjax.adapters import pandas as faces


def _frame(n: int = 25, p: int = 4) -> pd.DataFrame:
    data = np.random.default_rng(0).normal(size=(n, p)) * np.arange(1, p + 1)
    return pd.DataFrame(data, index=pd.date_range("2024-01-01", periods=n, name="day"), columns=[*"abcdefgh"[:p]])


def test_covariance_has_the_labels_of_the_columns():
    frame = _frame()
    found = faces.shrink_covariance(frame, method="oas")
    pd.testing.assert_index_equal(found.index, frame.columns)
    pd.testing.assert_index_equal(found.columns, frame.columns)
    expected = rmt.inference.shrink_covariance(frame.to_numpy(), method="oas")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    sample = faces.shrink_covariance(frame, method="sample")
    pd.testing.assert_frame_equal(sample, frame.cov(), rtol=1e-10)


def test_cross_covariance_has_the_labels_of_both():
    frame = _frame()
    found = faces.clean_cross_covariance(frame[["a", "b"]], frame[["c", "d"]])
    assert (list(found.index), list(found.columns)) == (["a", "b"], ["c", "d"])
    expected = rmt.inference.clean_cross_covariance(frame[["a", "b"]].to_numpy(), frame[["c", "d"]].to_numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    with pytest.raises(ValueError, match="`y` must have the index of `x`"):
        faces.clean_cross_covariance(frame, frame.iloc[::-1])


def test_denoised_frame_is_labelled_as_before():
    frame = _frame() + 20
    found = faces.denoise(frame, noise=1.0)
    pd.testing.assert_index_equal(found.index, frame.index)
    np.testing.assert_allclose(found, rmt.inference.denoise(frame.to_numpy(), noise=1.0).matrix, rtol=1e-10)


def test_windows_are_those_of_pandas():
    frame = _frame()
    found = faces.rolling_covariance(frame, 20, step=2, method="sample")
    expected = frame.rolling(20).cov().loc[frame.index[19::2]]
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10, check_freq=False)
    # Labels of several levels stay what they are.
    frame.columns = pd.MultiIndex.from_product([["x", "y"], ["a", "b"]], names=["kind", "name"])
    found = faces.rolling_covariance(frame, 20, step=2, method="sample")
    expected = frame.rolling(20).cov().loc[frame.index[19::2]]
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10, check_freq=False)
    with pytest.raises(ValueError, match="at least window = 26 rows"):
        faces.rolling_covariance(frame, 26)


def test_what_is_no_number_is_refused():
    frame = _frame()
    with pytest.raises(ValueError, match=r"numeric columns only, got \['e'\]"):
        faces.shrink_covariance(frame.assign(e="x"))
    with pytest.raises(ValueError, match=r"`frame` must be a `pandas\.DataFrame`"):
        faces.shrink_covariance(frame.to_numpy())
    with pytest.raises(ValueError, match="1 NaN"):
        faces.shrink_covariance(frame.where(frame != frame.iloc[0, 0]))


def test_missing_values_are_nan_or_na():
    frame = _frame().mask(np.arange(25 * 4).reshape(25, 4) % 9 == 4)
    found = faces.shrink_covariance(frame, missing="pairwise", standardize=True)
    np.testing.assert_allclose(np.diag(found), frame.var(), rtol=1e-10)
    pd.testing.assert_frame_equal(
        faces.shrink_covariance(frame.convert_dtypes(), missing="pairwise"),
        faces.shrink_covariance(frame, missing="pairwise"),
    )
    dropped = faces.shrink_covariance(frame.dropna())
    pd.testing.assert_frame_equal(faces.shrink_covariance(frame, missing="drop"), dropped)


def test_columns_that_hold_no_numbers_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "city": ["x", "y", "z"], "b": [3, 1, 2], "q": ["1", "?", "3"]})
    with pytest.raises(ValueError, match=r"`data` must be numbers, got a data frame with .* in 'city', 'q'; `select_d"):
        rmt.inference.signal_rank(frame)
    assert rmt.inference.signal_rank(frame.select_dtypes("number")).p == 2
    with pytest.raises(ValueError, match="entries of the type object"):
        rmt.inference.signal_rank(frame.to_numpy())
