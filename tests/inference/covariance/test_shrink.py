"""Shrunk covariance matrices against the papers in NumPy, and what holds for every method."""

import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference._core.data import without_mean
from tests.inference.covariance import references

# Both sides of p = n, and p = n itself, after the mean is taken off.
SHAPES = [(25, 8), (21, 20), (20, 31)]


def _data(n: int, p: int, *, cplx: bool = False) -> np.ndarray:
    rng = np.random.default_rng(n)
    data = (rng.normal(size=(n, p)) + 1j * rng.normal(size=(n, p)) * cplx) * np.geomspace(1, 3, p) + 5
    return data if cplx else data.real


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("method", ["qis", "analytical"])
def test_nonlinear_shrinkage_is_that_of_the_papers(method, n, p):
    data = _data(n, p)
    expected = getattr(references, method)(np.asarray(without_mean(jnp.asarray(data))))
    found = rmt.inference.shrink_covariance(data, method=method)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())
