import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import rmtjax as rmt
from rmtjax.testing import check_derivatives, hermitian_matrices
from tests.cases import further
from tests.linalg.reference import DTYPES, SINGLE, adjoint, applied, eps, general, hermitian, with_levels

DEGENERATE = {
    "identity": np.full(4, 2.0),
    "zero": np.zeros(4),
    "pairs": np.array([-1.0, -1.0, 3.0, 3.0]),
    "triple": np.array([-1.0, 2.0, 2.0, 2.0]),
}


def self_dual(seed, n):
    """A quaternion self-dual 2n x 2n matrix: as in the GSE, every level comes twice, equal to rounding only."""
    a, b = general(seed, (2, n, n), np.complex128)
    a, b = a + adjoint(a), b - b.T
    return np.block([[a, b], [-b.conj(), a.conj()]])


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_vectors_are_those_of_lapack(dtype, shape):
    a = hermitian(0, shape, dtype)
    expected = np.linalg.eigvalsh(a.astype(np.complex128))
    tolerance = 10 * eps(dtype) * np.linalg.norm(a, axis=(-2, -1)).max()
    levels, v = map(np.asarray, rmt.eigh(jnp.asarray(a)))
    values = np.asarray(rmt.eigvalsh(jnp.asarray(a)))
    assert levels.dtype == values.dtype == np.finfo(dtype).dtype
    assert v.dtype == dtype
    np.testing.assert_allclose(levels, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a @ v, v * levels[..., None, :], rtol=0, atol=2 * tolerance)
    np.testing.assert_allclose(adjoint(v) @ v, np.broadcast_to(np.eye(shape[-1]), shape), rtol=0, atol=20 * eps(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_an_asymmetric_matrix_is_read_as_its_hermitian_part(dtype):
    a = general(1, (4, 4), dtype)
    part = (a + adjoint(a)) / 2
    np.testing.assert_allclose(rmt.eigvalsh(jnp.asarray(a)), np.linalg.eigvalsh(part), rtol=1e-13, atol=1e-13)
    levels, v = map(np.asarray, rmt.eigh(jnp.asarray(a)))
    np.testing.assert_allclose((v * levels) @ adjoint(v), part, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_each_level_is_its_projector(dtype):
    a = hermitian(2, (4, 4), dtype)
    _, v = np.linalg.eigh(a)
    gradients = jax.vmap(jax.grad(lambda m, k: rmt.eigvalsh(m)[k]), (None, 0))(jnp.asarray(a), jnp.arange(4))
    # For a real function jax.grad gives the conjugate of the direction of ascent.
    expected = np.conj(np.einsum("ik,jk->kij", v, v.conj()))
    np.testing.assert_allclose(gradients, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivatives_against_finite_differences(dtype):
    a = jnp.asarray(hermitian(3, (4, 4), dtype))
    check_derivatives(rmt.eigvalsh, a)
    check_derivatives(lambda m: (rmt.eigh(m)[0], jnp.abs(rmt.eigh(m)[1]) ** 2), a)


@pytest.mark.parametrize("values_only", [True, False], ids=["eigvalsh", "eigh"])
@pytest.mark.parametrize("levels", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_a_symmetric_function_at_degeneracy(dtype, levels, values_only):
    a = with_levels(levels, 4, dtype)
    spectrum = rmt.eigvalsh if values_only else lambda m: rmt.eigh(m)[0]
    gradient = jax.grad(lambda m: jnp.sum(jnp.sin(spectrum(m))) + jnp.sum(spectrum(m) ** 3))(jnp.asarray(a))
    expected = applied(lambda x: np.cos(x) + 3 * x**2, a).conj()
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12)


def test_gradient_at_pairs_that_are_equal_to_rounding():
    a = self_dual(5, 3)
    levels = np.linalg.eigvalsh(a)
    assert (np.abs(levels[1::2] - levels[::2]) < 1e-13 * np.abs(levels).max()).all()
    for spectrum in (rmt.eigvalsh, lambda m: rmt.eigh(m)[0]):
        gradient = jax.grad(lambda m: jnp.sum(jnp.sin(spectrum(m))))(jnp.asarray(a))  # noqa: B023
        np.testing.assert_allclose(gradient, applied(np.cos, a).conj(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("split", [0.0, 1e-15])
def test_gradient_of_the_projector_on_a_degenerate_eigenspace(split):
    basis, _ = np.linalg.qr(general(6, (4, 4)))
    a = (basis * np.array([1.0, 1.0 + split, 2.0, 4.0])) @ basis.T
    low, high = basis[:, :2], basis[:, 2:]
    projector = lambda m: rmt.eigh(m)[1][:, :2] @ rmt.eigh(m)[1][:, :2].T
    direction = hermitian(7, (4, 4))
    _, derivative = jax.jvp(projector, (jnp.asarray(a),), (jnp.asarray(direction),))
    half = high @ ((high.T @ direction @ low) / (1 - np.array([[2.0], [4.0]]))) @ low.T
    np.testing.assert_allclose(derivative, half + half.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_second_derivative_of_each_level_is_second_order_perturbation_theory(dtype):
    a, b = hermitian(8, (4, 4), dtype), hermitian(9, (4, 4), dtype)
    levels, v = np.linalg.eigh(a)
    gaps = levels[:, None] - levels[None, :]
    np.fill_diagonal(gaps, np.inf)
    expected = 2 * np.sum(np.abs(adjoint(v) @ b @ v) ** 2 / gaps, axis=1)
    along = lambda s: rmt.eigvalsh(jnp.asarray(a) + s * b)
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(along))(0.0), expected, rtol=1e-11)
    np.testing.assert_allclose(jax.jacfwd(jax.jacrev(along))(0.0), expected, rtol=1e-11)


@pytest.mark.parametrize("levels", DEGENERATE.values(), ids=DEGENERATE)
def test_second_derivatives_at_a_degeneracy_are_no_numbers(levels):
    """The sum of cubes has the second derivative 6 tr(a b²), which a rule for levels cannot know."""
    a, b = jnp.asarray(with_levels(levels)), hermitian(9, (4, 4))
    for cubes in (
        lambda s: jnp.sum(rmt.eigvalsh(a + s * b) ** 3),
        lambda s: jnp.sum(rmt.eigh(a + s * b)[0] ** 3),
        lambda s: jnp.trace(rmt.linalg.matrix_function(jnp.exp, a + s * b)),
    ):
        for second in (jax.hessian(cubes), jax.grad(jax.grad(cubes)), jax.jacfwd(jax.jacfwd(cubes))):
            assert np.isnan(second(0.0))


@given(hermitian_matrices(4, np.float64))
def test_gradient_of_the_third_power_sum_for_any_spectrum(a):
    gradient = jax.grad(lambda m: jnp.sum(rmt.eigvalsh(m) ** 3))(a)
    a = np.asarray(a)
    np.testing.assert_allclose(gradient, 3 * a @ a, rtol=0, atol=1e-13 * max(1e-300, np.linalg.norm(a) ** 2))


@pytest.mark.float32
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_gradient_in_single_precision(dtype):
    a = with_levels(DEGENERATE["pairs"], 4, dtype)
    gradient = jax.grad(lambda m: jnp.sum(rmt.eigvalsh(m) ** 3))(jnp.asarray(a))
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, (3 * a @ a).conj(), rtol=0, atol=3e-5)


BAD = [
    (jnp.ones((2, 3)), r"`a` must have square matrices.*\(2, 3\)"),
    (jnp.ones(3), r"`a` must have square matrices.*\(3,\)"),
    (jnp.ones((0, 0)), r"`a` must have square matrices.*\(0, 0\)"),
    (jnp.array([[1.0, jnp.nan], [0.0, 1.0]]), r"`a` must be finite.*nan"),
    (jnp.array([[1.0, jnp.inf], [0.0, 1.0]]), r"`a` must be finite.*inf"),
]
FUNCTIONS = [
    rmt.eigvalsh,
    rmt.eigh,
    rmt.spectral_radius,
    rmt.linalg.log_determinant,
    rmt.linalg.schatten_norm,
    lambda a: rmt.linalg.matrix_function(jnp.exp, a),
]


@SINGLE
@pytest.mark.parametrize("fn", FUNCTIONS, ids=["eigvalsh", "eigh", "radius", "log_determinant", "schatten", "function"])
@pytest.mark.parametrize(("a", "message"), BAD, ids=["oblong", "vector", "empty", "nan", "inf"])
def test_bad_matrices_are_refused(fn, a, message):
    with pytest.raises(ValueError, match=r"(?s)" + message):
        fn(a)


@pytest.mark.parametrize("wrap", [jax.jit, lambda fn: jax.jit(jax.vmap(fn))], ids=["jit", "vmap"])
def test_a_matrix_with_nan_is_refused_under_transformations(wrap):
    assert jnp.all(jnp.isnan(wrap(rmt.eigvalsh)(jnp.full((1, 2, 2), jnp.nan))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [5, 45, 80])
def test_levels_of_matrices_without_full_rank(dtype, rank):
    n = 140
    g = np.random.default_rng(rank).standard_normal((n, rank)).astype(dtype)
    a = g @ g.T
    expected = np.linalg.eigvalsh(a.astype(np.float64))
    error = np.abs(np.asarray(rmt.eigvalsh(jnp.asarray(a)), np.float64) - expected).max()
    assert error <= 20 * np.finfo(dtype).eps * expected.max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("kind", ["generic", "graded", "tiny", "huge", "block", *further("degenerate", "zero")])
def test_levels_of_larger_matrices_against_lapack(dtype, kind):
    # From n = 50 on, levels on a CPU come from the tridiagonal form.
    n, rng = 60, np.random.default_rng(1)
    g = rng.standard_normal((n, n))
    if np.issubdtype(dtype, np.complexfloating):
        g = g + 1j * rng.standard_normal((n, n))
    q, _ = np.linalg.qr(g)
    largest = float(np.finfo(dtype).max)
    levels = {
        "degenerate": np.repeat([-1.0, 0.5, 2.0], n // 3),
        "zero": np.zeros(n),
        "graded": np.geomspace(1e-12, 1.0, n),
        "huge": np.full(n, largest / 4),
    }.get(kind, rng.standard_normal(n))
    levels = levels * (1e-30 if kind == "tiny" else 1)
    a = np.diag(levels).astype(dtype) if kind == "huge" else ((q * levels) @ q.conj().T).astype(dtype)
    a = a / 2 + a.conj().T / 2
    if kind == "block":
        a[40:] = a[:, 40:] = 0
    expected = np.linalg.eigvalsh(a.astype(np.complex128 if dtype != np.complex128 else dtype))
    error = np.abs(np.asarray(rmt.eigvalsh(jnp.asarray(a)), np.float64) - expected).max()
    assert error <= 20 * np.finfo(dtype).eps * np.abs(expected).max()
    gradient = jax.grad(lambda a: jnp.sum(rmt.eigvalsh(a)))(jnp.asarray(a))
    np.testing.assert_allclose(gradient, np.eye(n), rtol=0, atol=1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-12)
