"""Singular values of bidiagonal matrices: accuracy, counts, blocks, derivatives, against integer counts and LAPACK."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.linalg._bidiagonal import block_singular_counts, block_singular_values
from rmtjax.testing import check_derivatives
from tests.linalg.tridiagonal_matrices import exact_eigenvalues

N = 21
LARGE = 147


def laguerre(n, rng):
    i = np.arange(n)
    return np.sqrt(rng.chisquare(n - i)), np.sqrt(rng.chisquare(n - 1 - i[:-1]))


def signed(n, rng):
    b, c = laguerre(n, rng)
    return b * rng.choice([-1, 1], n), c * rng.choice([-1, 1], n - 1)


def graded(n, rng):
    return 10 ** np.linspace(0, -12, n), 10 ** np.linspace(-1, -13, n - 1)


def split(n, rng):
    b, c = laguerre(n, rng)
    return b, c * (np.arange(n - 1) % 4 > 0)


def singular(n, rng):
    b, c = laguerre(n, rng)
    b[n // 2] = 0
    return b, c


FAMILIES = {
    "laguerre": laguerre,
    "signed": signed,
    "graded": graded,
    "split": split,
    "singular": singular,
    "identity": lambda n, rng: (np.ones(n), np.zeros(n - 1)),
    "jordan": lambda n, rng: (np.full(n, 0.5), np.ones(n - 1)),
    "tiny": lambda n, rng: tuple(1e-30 * band for band in laguerre(n, rng)),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.float32)])


def bands(family, n, dtype):
    return tuple(band.astype(dtype) for band in family(n, np.random.default_rng(7)))


def exact(b, c):
    """Singular values as the positive levels of Golub and Kahan's tridiagonal matrix."""
    entries = np.stack([b, np.append(c, 0)], axis=1).ravel()[:-1].astype(np.float64)
    return exact_eigenvalues(np.zeros(2 * b.size), entries)[b.size :]


@functools.partial(jax.jit, static_argnums=2)
def answers(b, c, n, x):
    order = jnp.int32(n)
    return block_singular_values(0, n, b, c, order), block_singular_counts(b, c, order, x)


@both_dtypes
@every_family
def test_values_and_counts(family, dtype):
    b, c = bands(family, N, dtype)
    dtype = jnp.asarray(b).dtype
    expected = exact(np.asarray(b, dtype), np.asarray(c, dtype))
    unit = np.finfo(dtype).eps * expected[-1]
    x = np.concatenate([(expected[1:] + expected[:-1]) / 2, [-1, 0, 2 * expected[-1], np.inf]]).astype(dtype)
    values, below = answers(b, c, N, x)
    np.testing.assert_allclose(values, expected, rtol=0, atol=4 * unit)
    clear = np.append(np.diff(expected) > 16 * unit, [True] * 4)
    np.testing.assert_array_equal(np.asarray(below)[clear], np.less(expected, x[:, None]).sum(-1)[clear])


@both_dtypes
@pytest.mark.parametrize("family", [laguerre, split], ids=["laguerre", "split"])
def test_large_matrices(family, dtype):
    # From 128 levels on the search goes in two halves. LAPACK's own error here is below 4 eps of float64.
    b, c = bands(family, LARGE, dtype)
    dense = np.diag(b.astype(np.float64)) + np.diag(c.astype(np.float64), -1)
    expected = np.sort(np.linalg.svd(dense, compute_uv=False))
    values, _ = answers(b, c, LARGE, np.zeros(N + 3, b.dtype))
    np.testing.assert_allclose(values, expected, rtol=0, atol=8 * np.finfo(values.dtype).eps * expected[-1])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_matrices(n):
    b, c = bands(signed, n, np.float64)
    expected = np.sort(np.linalg.svd(np.diag(b) + np.diag(c, -1), compute_uv=False))
    values, _ = answers(b, c, n, np.zeros(3))
    np.testing.assert_allclose(values, expected, rtol=1e-14, atol=1e-15)


def test_blocks_are_trailing():
    b, c = bands(laguerre, N, np.float64)
    spectrum = jax.jit(jax.vmap(lambda order: block_singular_values(0, N, b, c, order)))(jnp.array([1, 8, N]))
    for order, values in zip((1, 8, N), np.asarray(spectrum), strict=True):
        block = np.diag(b[N - order :]) + np.diag(c[N - order :], -1)
        np.testing.assert_allclose(values[:order], np.sort(np.linalg.svd(block, compute_uv=False)), rtol=1e-12)
        assert np.isposinf(values[order:]).all()


def test_derivatives():
    b, c = map(jnp.asarray, bands(signed, 6, np.float64))
    # The matrix is a block; the levels that it does not have are infinite.
    check_derivatives(lambda b, c: block_singular_values(0, 6, b, c, jnp.int32(4))[:4], b, c, second_derivative=True)


def test_single_precision_stays_single_where_64_bit_types_are_on():
    b, c = jnp.array([1.0, 2.0, 3.0], jnp.float32), jnp.array([0.5, -0.25], jnp.float32)
    values = block_singular_values(0, 3, b, c, jnp.int32(3))
    assert values.dtype == jnp.float32
    matrix = np.diag(np.asarray(b, float)) + np.diag(np.asarray(c, float), -1)
    np.testing.assert_allclose(values, np.sort(np.linalg.svd(matrix, compute_uv=False)), rtol=1e-6)
