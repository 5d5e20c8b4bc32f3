import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.linalg import logdet, schatten_norm, spectral_density, stieltjes
from rmtjax.testing import check_composable, check_derivatives
from tests.linalg.reference import DTYPES, REAL_DTYPES, adjoint, eps, hermitian, with_levels

LEVELS = np.array([-1.0, 0.25, 2.0])
PADDED = rmt.Spectrum([*LEVELS, np.inf, np.inf], np.arange(5) < 3)


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_stieltjes_is_the_trace_of_the_resolvent(dtype):
    a = hermitian(0, (2, 4, 4), dtype)
    z = np.array([[0.3 + 1j, -2 - 0.1j, 5.0]])
    resolvents = np.linalg.inv(z[None, ..., None, None] * np.eye(4) - a[:, None, None].astype(np.float64))
    expected = np.trace(resolvents, axis1=-2, axis2=-1) / 4
    single = dtype == np.float32
    got = stieltjes(rmt.eigvalsh(jnp.asarray(a)), jnp.asarray(z, jnp.complex64 if single else complex))
    assert got.dtype == (np.complex64 if single else np.complex128)
    np.testing.assert_allclose(got, expected, rtol=2000 * eps(dtype))


@pytest.mark.float32
def test_stieltjes_keeps_single_precision_with_a_python_number():
    assert stieltjes(jnp.asarray(LEVELS, jnp.float32), 1j).dtype == np.complex64


def test_sign_convention_of_stieltjes():
    assert np.imag(stieltjes(jnp.asarray(LEVELS), 0.1 + 1e-3j)) < 0
    np.testing.assert_allclose(1e8 * stieltjes(jnp.asarray(LEVELS), 1e8j), -1j, rtol=1e-7)


MIDDLE = rmt.Spectrum([-9.0, -1.0, 0.0, 0.25, 2.0, 9.0], [False, True, False, True, True, False])


@pytest.mark.parametrize("spectrum", [PADDED, MIDDLE, rmt.Spectrum([-9.0, *LEVELS, 9.0]).bulk(-2.0, 3.0)])
def test_a_spectrum_counts_its_levels_only(spectrum):
    z = jnp.array([0.5j, 3.0 + 0j])
    np.testing.assert_allclose(stieltjes(spectrum, z), stieltjes(jnp.asarray(LEVELS), z), rtol=1e-14)
    grid = jnp.linspace(-2, 2, 5)
    np.testing.assert_allclose(
        spectral_density(spectrum, grid, 0.3), spectral_density(jnp.asarray(LEVELS), grid, 0.3), rtol=1e-14
    )


@pytest.mark.parametrize("z", [0.0, 3.0])
def test_derivative_of_stieltjes_of_a_padded_spectrum(z):
    transform = lambda z, values: stieltjes(rmt.Spectrum(values, PADDED.mask), z).real
    by_z, by_levels = jax.grad(transform, (0, 1))(z, PADDED.values)
    np.testing.assert_allclose(by_z, -np.mean((z - LEVELS) ** -2), rtol=1e-13)
    np.testing.assert_allclose(by_levels, [*(z - LEVELS) ** -2 / 3, 0, 0], rtol=1e-13)


@pytest.mark.parametrize("width", [0.05, 0.5, 30.0])
def test_spectral_density_is_a_sum_of_lorentzians_of_integral_one(width):
    # x = s tan φ maps the line to a circle, on which the midpoint rule converges geometrically.
    scale = max(width, 1.0)
    angles = (np.arange(20_000) + 0.5) / 20_000 * np.pi - np.pi / 2
    x = scale * np.tan(angles)
    density = np.asarray(spectral_density(jnp.asarray(LEVELS), jnp.asarray(x), width))
    expected = np.mean(width / np.pi / ((x[:, None] - LEVELS) ** 2 + width**2), axis=1)
    np.testing.assert_allclose(density, expected, rtol=1e-9)
    integral = np.sum(density * scale / np.cos(angles) ** 2) * np.pi / 20_000
    np.testing.assert_allclose(integral, 1, rtol=1e-9)


def test_spectral_density_of_a_batch_in_single_precision():
    levels = jnp.asarray(np.stack([LEVELS, LEVELS + 1]), jnp.float32)
    density = spectral_density(levels, jnp.linspace(-2, 2, 5, dtype=jnp.float32), 0.2)
    assert density.shape == (2, 5)
    assert density.dtype == np.float32
    np.testing.assert_allclose(density[1, 1:], density[0, :-1], rtol=1e-4)


@pytest.mark.parametrize(("width", "shown"), [(0.0, r"0\."), (-1.0, r"-1\."), (np.nan, "nan"), (np.inf, "inf")])
def test_a_bad_width_is_refused(width, shown):
    with pytest.raises(ValueError, match=f"`width` must be positive and finite.*{shown}"):
        spectral_density(jnp.asarray(LEVELS), jnp.zeros(1), width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logdet_is_that_of_lapack(dtype):
    a = hermitian(1, (3, 5, 5), dtype)
    got = logdet(jnp.asarray(a))
    assert got.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(got, np.linalg.slogdet(a)[1], rtol=0, atol=500 * eps(dtype))


@pytest.mark.parametrize("levels", [[-2.0, 0.5, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_logdet_is_the_inverse(dtype, levels):
    a = with_levels(levels, 2, dtype)
    np.testing.assert_allclose(jax.grad(logdet)(jnp.asarray(a)), np.linalg.inv(a).conj(), atol=1e-13)


def test_logdet_of_a_singular_matrix():
    assert logdet(jnp.diag(jnp.array([0.0, 2.0]))) == -np.inf
    np.testing.assert_array_equal(logdet(jnp.zeros((2, 3, 3))), [-np.inf, -np.inf])


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
    np.testing.assert_allclose(jax.grad(schatten_norm)(jnp.asarray(a), np.inf), -np.outer(v, v), atol=1e-13)


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
    check_composable(lambda a: (logdet(a), schatten_norm(a, 3.0)), a)
    density = lambda levels, x: spectral_density(levels, x, 0.3)
    check_composable(
        lambda levels, x: (stieltjes(levels, jax.lax.complex(x, jnp.ones_like(x))), density(levels, x)),
        jnp.asarray(LEVELS),
        jnp.array([0.5]),
    )
