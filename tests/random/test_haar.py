"""Isometries with the Haar measure."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from rmtjax.random._haar import haar_isometry, special_orthogonal
from tests.cases import further
from tests.statistical import assert_law, assert_mean


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def isometries(rows, columns, beta, key):
    draw = lambda key: haar_isometry(key, rows, columns, beta, jnp.zeros(()).dtype)
    return jax.vmap(draw)(jax.random.split(key, 8000))


@pytest.mark.parametrize("beta", [1, 2, 4])
@pytest.mark.parametrize(
    ("rows", "columns"), [(4, 4), pytest.param(4, 2, marks=pytest.mark.float32), *further((1, 1), (2, 2), (5, 1))]
)
def test_columns_are_orthonormal_and_entries_have_their_law(getkey, rows, columns, beta):
    q = np.asarray(isometries(rows, columns, beta, getkey()))
    eps = np.finfo(q.dtype).eps
    gram = np.swapaxes(q.conj(), -1, -2) @ q
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), rtol=0, atol=20 * eps)
    if beta == 4:
        assert q.shape[1:] == (2 * rows, 2 * columns)
        # The blocks are (a, b; -b*, a*) to the last bit.
        np.testing.assert_array_equal(q[:, 1::2, 1::2], q[:, ::2, ::2].conj())
        np.testing.assert_array_equal(q[:, 1::2, ::2], -q[:, ::2, 1::2].conj())
    components = [q] if beta < 4 else [q[:, ::2, ::2], q[:, ::2, 1::2]]
    square = sum(np.abs(component) ** 2 for component in components)
    for i, j in [(0, 0), (rows - 1, columns - 1), (rows - 1, 0)]:
        # |q|² is a beta variate, and the sign or phase is uniform: an uncorrected QR factor fails on the diagonal.
        if rows > 1:
            assert_law(square[:, i, j], scipy.stats.beta(beta / 2, beta * (rows - 1) / 2).cdf)
        for entry in (component[:, i, j] for component in components):
            assert_mean(entry.real, 0)
            if beta > 1:
                assert_law(np.angle(entry), scipy.stats.uniform(-np.pi, 2 * np.pi).cdf)
        if beta == 4:
            # For a quaternion of uniform direction the share of |a|² is uniform.
            assert_law(np.abs(components[0][:, i, j]) ** 2 / square[:, i, j], scipy.stats.uniform.cdf)
    if columns > 1:
        # Columns are dependent only through orthogonality: a row of |q|² is a Dirichlet variate.
        assert_mean(square[:, 0, 0] * square[:, 0, 1], 1 / (rows * (rows + 2 / beta)))


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_traces(getkey, beta):
    # Diaconis and Shahshahani (1994), theorems 2, 4 and 6: from n = 4 on, moments up to order 4 are normal.
    q = np.asarray(isometries(4, 4, beta, getkey()))
    trace = np.trace(q, axis1=-2, axis2=-1)
    assert_mean(trace.real, 0)
    assert_mean(np.abs(trace) ** 2, 1)
    assert_mean(np.abs(trace) ** 4, 2 if beta == 2 else 3)
    # The determinant is uniform too: ±1 for orthogonal matrices, and 1 for symplectic ones.
    determinant = np.linalg.det(q)
    if beta == 4:
        np.testing.assert_allclose(determinant, 1, rtol=1e-12)
    else:
        assert_mean(determinant.real, 0)


@pytest.mark.float32
@pytest.mark.parametrize("n", [1, 3, *further(2, 60)])
def test_special_orthogonal_matrices_have_determinant_one(getkey, n):
    draw = jax.jit(jax.vmap(lambda key: special_orthogonal(key, n, jnp.zeros(()).dtype)))
    q = np.asarray(draw(jax.random.split(getkey(), 200)))
    np.testing.assert_allclose(np.linalg.det(q), 1, rtol=1e3 * np.finfo(q.dtype).eps)
    np.testing.assert_allclose(q @ np.swapaxes(q, -1, -2), np.broadcast_to(np.eye(n), q.shape), rtol=0, atol=1e-5)
