import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.linalg.reference import DTYPES, eps, general

# Dominant eigenvalues 1 ± 2i: a conjugate pair, well away from the third.
ROTATION = np.array([[1.0, -2.0, 0.5], [2.0, 1.0, 0.0], [0.0, 0.3, 0.4]])
DOMINANT_REAL = np.array([[-3.0, 1.0, 0.2], [0.1, 1.0, 0.5], [0.3, -0.4, 0.5]])


value_and_gradient = jax.jit(jax.value_and_grad(rmt.spectral_radius))
hessian_of_radius = jax.jit(jax.hessian(rmt.spectral_radius))


def numpy_radius(a):
    return np.abs(np.linalg.eigvals(a)).max(axis=-1)


def numpy_gradient(a):
    """Derivatives of the radius by the real and imaginary parts of the entries, from LAPACK's left vectors."""
    levels, left, right = scipy.linalg.eig(a, left=True, right=True)
    k = np.abs(levels).argmax()
    w, v = left[:, k], right[:, k]
    slope = np.conj(levels[k]) / abs(levels[k]) * np.outer(w.conj(), v) / np.vdot(w, v)
    return slope.real, -slope.imag


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), *further(((3, 3),)), (2, 3, 4, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_those_of_lapack(dtype, shape):
    a = general(0, shape, dtype)
    radius = rmt.spectral_radius(jnp.asarray(a))
    assert radius.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(radius, numpy_radius(a.astype(np.complex128)), rtol=300 * eps(dtype))


# Beyond the square root of the smallest and largest numbers LAPACK scales the matrix itself.
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 1e-200), (np.float64, 1e200)]
    + [pytest.param(np.float32, scale, marks=pytest.mark.float32) for scale in (1e-20, 1e-14, 1e14)],
)
def test_matrices_of_any_size(dtype, scale):
    a = (scale * ROTATION).astype(dtype)
    value, gradient = value_and_gradient(jnp.asarray(a))
    np.testing.assert_allclose(value / scale, numpy_radius(ROTATION), rtol=20 * eps(dtype))
    np.testing.assert_allclose(gradient, numpy_gradient(ROTATION)[0], rtol=0, atol=20 * eps(dtype))


@pytest.mark.float32
@pytest.mark.parametrize(("a", "radius"), [(np.diag([1.0, -1.0]), 1.0), ([[0.0, 1.0], [-1.0, 0.0]], 1.0)])
def test_several_eigenvalues_on_the_circle(a, radius):
    np.testing.assert_allclose(rmt.spectral_radius(jnp.asarray(a, jnp.float32)), radius, rtol=1e-6)


def test_a_defective_eigenvalue():
    a = 2 * np.eye(3) + np.eye(3, k=1)
    # An eigenvalue of a Jordan block of size 3 moves by the cube root of the rounding error.
    np.testing.assert_allclose(rmt.spectral_radius(jnp.asarray(a)), 2.0, rtol=0, atol=10 * np.cbrt(eps(float)))


# The zero matrix, Jordan blocks of sizes 2 and 3, and two blocks of size 2.
NILPOTENT = [np.diag(above, 1) for above in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0])] + [np.eye(4, k=2)]


@pytest.mark.parametrize("a", NILPOTENT, ids=range(4))
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_nilpotent_matrix_has_radius_and_gradient_zero(dtype, a):
    value, gradient = value_and_gradient(jnp.asarray(a.astype(dtype)))
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros_like(a))


@pytest.mark.parametrize("a", [ROTATION, DOMINANT_REAL], ids=["pair", "real"])
def test_gradient_of_a_real_matrix(a):
    expected, _ = numpy_gradient(a)
    _, gradient = value_and_gradient(jnp.asarray(a))
    assert gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-13)


def test_gradient_of_a_complex_matrix_is_the_conjugate_of_the_ascent():
    a = general(1, (4, 4), np.complex128)
    by_real, by_imaginary = numpy_gradient(a)
    _, gradient = value_and_gradient(jnp.asarray(a))
    np.testing.assert_allclose(gradient, by_real - 1j * by_imaginary, rtol=0, atol=1e-12)
    step = 1e-3
    drop = numpy_radius(a) - numpy_radius(a - step * np.conj(gradient))
    np.testing.assert_allclose(drop, step * np.sum(np.abs(gradient) ** 2), rtol=0.02)


@pytest.mark.parametrize("a", [ROTATION, general(2, (3, 3), np.complex128)], ids=["real", "complex"])
def test_derivatives_against_finite_differences(a):
    check_derivatives(rmt.spectral_radius, jnp.asarray(a), second_derivative=True)


@pytest.mark.parametrize("a", [ROTATION, DOMINANT_REAL], ids=["pair", "real"])
def test_hessian_against_differences_of_the_exact_gradient(a):
    hessian = np.asarray(hessian_of_radius(jnp.asarray(a))).reshape(9, 9)
    step = 1e-5
    shifts = step * np.eye(9).reshape(9, 3, 3)
    rows = [(numpy_gradient(a + d)[0] - numpy_gradient(a - d)[0]).ravel() / (2 * step) for d in shifts]
    np.testing.assert_allclose(hessian, rows, rtol=0, atol=1e-8)
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=1e-12)
