"""Isometries with the Haar measure."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from rmtjax.random._haar import haar_isometry
from tests.statistical import assert_law, assert_mean


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def isometries(rows, columns, beta, key):
    draw = lambda key: haar_isometry(key, rows, columns, beta, jnp.zeros(()).dtype)
    return jax.vmap(draw)(jax.random.split(key, 8000))


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (4, 4), (4, 2), (5, 1)])
def test_columns_are_orthonormal_and_entries_have_their_law(getkey, rows, columns, beta):
    q = np.asarray(isometries(rows, columns, beta, getkey()))
    eps = np.finfo(q.dtype).eps
    gram = np.swapaxes(q.conj(), -1, -2) @ q
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(columns), gram.shape), atol=20 * eps)
    for i, j in [(0, 0), (rows - 1, columns - 1), (rows - 1, 0)]:
        entry = q[:, i, j]
        # |q|² is a beta variate, the sign or phase uniform: a QR factor without correction fails on the diagonal.
        if rows > 1:
            assert_law(np.abs(entry) ** 2, scipy.stats.beta(beta / 2, beta * (rows - 1) / 2).cdf)
        assert_mean(entry.real, 0)
        if beta == 2:
            assert_law(np.angle(entry), scipy.stats.uniform(-np.pi, 2 * np.pi).cdf)
    if rows == columns:
        # E|tr U|² = 1 and E|tr U|⁴ = 2 for n ≥ 2 (unitary), 3 for n ≥ 4 (orthogonal; Diaconis and Shahshahani 1994).
        trace = np.trace(q, axis1=-2, axis2=-1)
        assert_mean(np.abs(trace) ** 2, 1) if rows > 1 else np.testing.assert_allclose(np.abs(trace), 1, rtol=10 * eps)
        if rows == 4:
            assert_mean(np.abs(trace) ** 4, 3 if beta == 1 else 2)
            # The determinant is uniform too, ±1 for orthogonal matrices.
            assert_mean(np.linalg.det(q).real, 0)
    if columns > 1:
        # Columns are dependent only through orthogonality: E|q_11|²|q_12|² = 1/(n(n+1)) or 1/(n(n+2)).
        expected = 1 / (rows * (rows + 2 / beta))
        assert_mean(np.abs(q[:, 0, 0] * q[:, 0, 1]) ** 2, expected)
