"""Matrices of varying order in arrays of one static size, and the spectra of their blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.linalg._padded import leading_block_spectrum
from tests.linalg.reference import DTYPES, eps, hermitian


def test_mask_of_a_padded_matrix():
    mask = rmt.PaddedMatrix(jnp.zeros((2, 3, 3)), jnp.array([1, 3])).mask
    np.testing.assert_array_equal(mask, [np.diag([1, 0, 0]).astype(bool), np.ones((3, 3), bool)])


@pytest.mark.parametrize(
    ("values", "order", "message"),
    [
        (np.zeros(3), 1, "`values` must have at least 2 axes"),
        (np.zeros((2, 3, 3)), 1, r"`order` must be integers of the batch shape \(2,\)"),
        (np.zeros((3, 3)), 1.5, "`order` must be"),
    ],
)
def test_refusals(values, order, message):
    with pytest.raises(ValueError, match=message):
        rmt.PaddedMatrix(jnp.asarray(values), order)


def shifted(a, shift):
    return a + shift * np.eye(len(a))


BLOCKS = {
    "indefinite": lambda a: a,
    "positive": lambda a: shifted(a, 10),
    "negative": lambda a: shifted(a, -10),
    "singular": lambda a: a[:, :1] @ a[:1],
    "zero": np.zeros_like,
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_block_levels_are_those_of_the_block(dtype, kind):
    n = 8
    compiled = jax.jit(lambda a, order: leading_block_spectrum(a, order))
    for order in range(1, n + 1):
        block = BLOCKS[kind](hermitian(order, (order, order), np.complex128))
        if not np.issubdtype(dtype, np.complexfloating):
            block = block.real
        block = ((block + block.conj().T) / 2).astype(dtype)
        a = np.zeros((n, n), dtype)
        a[:order, :order] = block
        spectrum = compiled(jnp.asarray(a), jnp.asarray(order))
        values = np.asarray(spectrum.values)
        assert values.dtype == np.finfo(dtype).dtype
        assert spectrum.count == order
        assert (values[order:] == np.inf).all()
        assert (np.diff(values[:order]) >= 0).all()
        expected = np.linalg.eigvalsh(block.astype(np.complex128))
        np.testing.assert_allclose(values[:order], expected, rtol=0, atol=10 * eps(dtype) * np.linalg.norm(block))
    assert compiled._cache_size() == 1


@pytest.mark.parametrize("kind", ["indefinite", "positive"])
@pytest.mark.parametrize("order", [1, 3, 6])
def test_gradient_of_a_symmetric_function_of_the_block(order, kind):
    a = np.zeros((6, 6))
    a[:order, :order] = BLOCKS[kind](hermitian(20, (order, order)))

    def third_power_sum(m):
        spectrum = leading_block_spectrum(m, jnp.asarray(order))
        return jnp.sum(jnp.where(spectrum.mask, spectrum.values, 0) ** 3)

    gradient = jax.jit(jax.grad(third_power_sum))(jnp.asarray(a))
    np.testing.assert_allclose(gradient, 3 * a @ a, rtol=0, atol=1e-13 * np.linalg.norm(a) ** 2)
