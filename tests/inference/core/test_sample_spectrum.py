"""The spectrum of data against NumPy, for both shapes, and what makes data unfit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference._core.data import observations, without_mean
from rmtjax.inference._core.sample_spectrum import sample_covariance, sample_levels, sample_spectrum


def _data(n: int, p: int, *, cplx: bool) -> np.ndarray:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(n, p)) + 100.0
    return data + 1j * rng.normal(size=(n, p)) if cplx else data


@pytest.mark.parametrize("cplx", [False, True])
@pytest.mark.parametrize(("n", "p"), [(9, 4), (5, 9)])
def test_spectrum_is_that_of_numpys_covariance(n, p, cplx):
    data = _data(n, p, cplx=cplx)
    expected = np.cov(data, rowvar=False)
    rows = without_mean(jnp.asarray(data))
    assert rows.shape == (n - 1, p)
    np.testing.assert_allclose(sample_covariance(rows), expected, rtol=1e-11, atol=1e-11)
    levels = np.linalg.eigvalsh(expected)[-min(n - 1, p) :]
    spectrum = sample_spectrum(rows)
    np.testing.assert_allclose(spectrum.levels, levels, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sample_levels(rows, center=False), levels, rtol=0, atol=1e-12)
    np.testing.assert_allclose(spectrum.matrix(spectrum.levels), expected, rtol=0, atol=1e-11)
    # Directions without data get the level that is asked for.
    filled = np.linalg.eigvalsh(spectrum.matrix(spectrum.levels, 0.25))
    np.testing.assert_allclose(filled, np.sort([*levels, *[0.25] * (p - len(levels))]), rtol=0, atol=1e-12)


def test_vectors_are_orthonormal_where_rows_repeat():
    rows = jnp.asarray(_data(4, 9, cplx=False))[jnp.array([0, 1, 2, 3, 0, 1])]
    spectrum = sample_spectrum(rows)
    np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(6), rtol=0, atol=1e-12)
    np.testing.assert_allclose(spectrum.matrix(spectrum.levels), sample_covariance(rows), rtol=1e-12)


def test_rows_without_mean_are_independent():
    """The remaining rows are an isometry of the original ones, so that noise of unit variance stays such noise."""
    isometry = without_mean(jnp.eye(7)) @ jnp.eye(7)
    np.testing.assert_allclose(isometry @ isometry.T, np.eye(6), rtol=0, atol=1e-12)
    np.testing.assert_allclose(isometry @ np.ones(7), 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones(3), r"at least 2 rows.*got \(3,\)"),
        (np.ones((1, 3)), r"at least 2 rows"),
        (
            np.array([[1.0, np.nan], [2.0, 1.0], [np.nan, np.nan]]),
            r"3 NaN, first nan at \[0, 1\]; leave these 2 rows out, or impute",
        ),
        (np.array([[1.0, np.inf], [2.0, 1.0]]), r"1 infinite numbers, first inf at \[0, 1\]"),
        (np.eye(3), r"observations × variables, got a Hermitian matrix"),
        (np.array([["a"]]), "be numbers, got entries of the type <U1"),
        (np.array([[1.0], [2.0]], object), "got entries of the type object; `astype"),
    ],
)
def test_unfit_data_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        observations(data)


def test_traced_data_are_judged_inside():
    _, valid = jax.jit(lambda data: (data, observations(data)[1]))(np.array([[1.0, np.nan], [2.0, 1.0]]))
    assert not valid
    array, valid = observations([[1, 2], [3, 4]])
    assert jnp.issubdtype(array.dtype, jnp.floating)
    assert valid is True


def test_data_of_other_machines_and_data_that_single_precision_would_lose():
    data = _data(9, 4, cplx=False)
    np.testing.assert_array_equal(observations(data.astype(">f8"))[0], observations(data)[0])
    with jax.enable_x64(False):
        np.testing.assert_allclose(observations(data)[0], data, rtol=1e-6)
        # A constant column has no variation to lose.
        observations(np.append(data, np.full((9, 2), [1e9, 0.1]), axis=1))
        with pytest.raises(ValueError, match=r"vary by more than single precision keeps .*got 1 of 4 columns"):
            observations(data + np.array([0, 0, 1e8, 0]))
