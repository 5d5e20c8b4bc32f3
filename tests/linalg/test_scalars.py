import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.linalg import log_determinant, schatten_norm
from rmtjax.testing import check_composable, check_derivatives
from tests.linalg.reference import DTYPES, adjoint, eps, hermitian, with_levels

LEVELS = np.array([-1.0, 0.25, 2.0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_determinant_is_that_of_lapack(dtype):
    a = hermitian(1, (3, 5, 5), dtype)
    got = log_determinant(jnp.asarray(a))
    assert got.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(got, np.linalg.slogdet(a)[1], rtol=0, atol=500 * eps(dtype))


@pytest.mark.parametrize("levels", [[-2.0, 0.5, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_log_determinant_is_the_inverse(dtype, levels):
    a = with_levels(levels, 2, dtype)
    np.testing.assert_allclose(jax.grad(log_determinant)(jnp.asarray(a)), np.linalg.inv(a).conj(), rtol=0, atol=1e-13)


def test_log_determinant_of_a_singular_matrix():
    assert log_determinant(jnp.diag(jnp.array([0.0, 2.0]))) == -np.inf
    np.testing.assert_array_equal(log_determinant(jnp.zeros((2, 3, 3))), [-np.inf, -np.inf])


@pytest.mark.parametrize("p", [1, 2.0, 3, 4.5, np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_schatten_norm_is_that_of_the_singular_values(dtype, p):
    a = hermitian(3, (2, 4, 4), dtype)
    singular = np.linalg.svd(a.astype(np.complex128), compute_uv=False)
    got = schatten_norm(jnp.asarray(a), p)
    assert got.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(got, np.linalg.norm(singular, ord=p, axis=-1), rtol=30 * eps(dtype))


@pytest.mark.parametrize("p", [1.0, 2.0, 30.0, np.inf])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_schatten_norm_does_not_overflow(scale, p):
    expected = np.linalg.norm(LEVELS, ord=p) * scale
    np.testing.assert_allclose(schatten_norm(jnp.diag(scale * LEVELS), p), expected, rtol=1e-13)


GRADIENTS = {
    1.0: lambda a: (np.linalg.eigh(a)[1] * np.sign(np.linalg.eigvalsh(a))) @ adjoint(np.linalg.eigh(a)[1]),
    2.0: lambda a: a / np.linalg.norm(a),
    4.0: lambda a: a @ a @ a / np.trace(a @ a @ a @ a).real ** 0.75,
}


@pytest.mark.parametrize("p", GRADIENTS)
@pytest.mark.parametrize("levels", [LEVELS, [2.0, 2.0, 2.0], [-1.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_the_schatten_norm(dtype, levels, p):
    a = with_levels(levels, 4, dtype)
    gradient = jax.grad(schatten_norm)(jnp.asarray(a), p)
    np.testing.assert_allclose(gradient, GRADIENTS[p](a).conj(), rtol=0, atol=1e-13)


def test_gradient_of_the_operator_norm_is_the_projector_of_the_largest_level():
    a = with_levels([-3.0, 1.0, 2.0], 5)
    v = np.linalg.eigh(a)[1][:, 0]
    np.testing.assert_allclose(jax.grad(schatten_norm)(jnp.asarray(a), np.inf), -np.outer(v, v), rtol=0, atol=1e-13)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_the_zero_matrix(p):
    value, gradient = jax.value_and_grad(schatten_norm)(jnp.zeros((3, 3)), p)
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros((3, 3)))


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_derivatives_at_a_singular_matrix_and_by_the_exponent(p):
    diagonal = with_levels([-1.0, 0.0, 2.0], 6)
    check_derivatives(lambda q: schatten_norm(jnp.asarray(diagonal), q), p)
    # |λ|^p is smooth at 0 to first order only.
    check_derivatives(lambda a: schatten_norm(a, p), jnp.asarray(diagonal), rtol=1e-4 if p > 1.5 else 1e-2)


@pytest.mark.parametrize("p", [0.5, -1, np.nan])
def test_a_bad_exponent_is_refused(p):
    with pytest.raises(ValueError, match=f"`p` must be at least 1.*{p}"):
        schatten_norm(jnp.eye(2), p)


def test_a_traced_bad_exponent_is_refused():
    assert jnp.all(jnp.isnan(jax.jit(schatten_norm)(jnp.eye(2), 0.5)))


def test_composability():
    a = jnp.asarray(with_levels(LEVELS, 7))
    check_composable(lambda a: (log_determinant(a), schatten_norm(a, 3.0)), a)
