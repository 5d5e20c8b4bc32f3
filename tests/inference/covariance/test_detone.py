"""Matrices without their largest modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import detone


def _matrix(p: int, *, cplx: bool = False) -> np.ndarray:
    rng = np.random.default_rng(p)
    rows = rng.normal(size=(3 * p, p)) + 1j * rng.normal(size=(3 * p, p)) * cplx + rng.normal(size=(3 * p, 1))
    return np.cov((rows if cplx else rows.real).T)


@pytest.mark.parametrize("cplx", [False, True], ids=["real", "complex"])
def test_modes_are_taken_out(cplx):
    matrix = _matrix(7, cplx=cplx)
    levels, vectors = np.linalg.eigh(matrix)
    for modes in (0, 1, 3, 7):
        kept = np.where(np.arange(7) < 7 - modes, levels, 0)
        np.testing.assert_allclose(detone(matrix, modes), (vectors * kept) @ vectors.conj().T, rtol=0, atol=1e-12)
    # Equation of section 2.6: divided by the roots of the diagonal on both sides.
    rest = np.asarray(detone(matrix))
    roots = np.sqrt(np.diagonal(rest).real)
    found = detone(matrix, unit_diagonal=True)
    np.testing.assert_allclose(found, rest / roots[:, None] / roots, rtol=0, atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.eigvalsh(found)[0], 0, rtol=0, atol=1e-12)


def test_equicorrelated_variables_in_closed_form():
    """Without the mode of equal weights nothing but the noise is left, with correlations -1/(p - 1)."""
    p, r = 5, 0.6
    found = detone(r * np.ones((p, p)) + (1 - r) * np.eye(p), unit_diagonal=True)
    np.testing.assert_allclose(found, np.where(np.eye(p), 1, -1 / (p - 1)), rtol=0, atol=1e-12)


def test_variables_of_which_nothing_is_left_have_no_correlations():
    np.testing.assert_array_equal(detone(np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), unit_diagonal=True), np.eye(3))
    matrix = np.array([[9.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    expected = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    np.testing.assert_allclose(detone(matrix, unit_diagonal=True), expected, rtol=0, atol=1e-12)


@pytest.mark.float32
def test_batches_units_and_derivatives():
    matrix = jnp.asarray(_matrix(4))
    unit = 2.0**60
    both = detone(jnp.stack([matrix, unit * matrix]))
    assert both.dtype == matrix.dtype
    np.testing.assert_allclose(both, jnp.stack([both[0], unit * both[0]]), rtol=1e-4)
    np.testing.assert_allclose(both[0], detone(np.asarray(matrix)), rtol=0, atol=1e-5)
    # The derivative of the trace is that of the sum of the other levels.
    slope = jax.jit(jax.grad(lambda a: jnp.trace(detone(a))))(matrix)
    top = jnp.linalg.eigh(matrix)[1][:, -1]
    np.testing.assert_allclose(slope, jnp.eye(4) - jnp.outer(top, top), rtol=0, atol=1e-5)
    # The other levels may be equal.
    equal = jnp.full((4, 4), 0.5) + 0.5 * jnp.eye(4)
    slope = jax.grad(lambda a: jnp.sum(jnp.sin(detone(a, unit_diagonal=True))))(equal)
    assert np.isfinite(slope).all()


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="`matrix`"):
        detone(np.ones((2, 3)))
    with pytest.raises(ValueError, match="`matrix` must be Hermitian"):
        detone(np.tril(_matrix(7)))
    assert np.isnan(jax.jit(detone)(np.stack([np.eye(3), np.tril(np.ones((3, 3)))])[1])).all()
    for modes in (-1, 8, 1.5):
        with pytest.raises(ValueError, match="`modes` must be"):
            detone(_matrix(7), modes)
    assert np.isnan(jax.jit(detone)(jnp.full((3, 3), jnp.nan))).all()
