import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg

from rmtjax.linalg import matrix_function
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.linalg.reference import DTYPES, adjoint, eps, general, hermitian, with_levels

POSITIVE = np.array([0.3, 0.9, 1.0, 2.5])
INDEFINITE = np.array([-1.5, -0.4, 0.7, 2.0])
ODD_TIME = lambda x: jnp.exp(jax.lax.complex(0 * x, -0.7 * x))
CASES = {
    "exp": (jnp.exp, scipy.linalg.expm, INDEFINITE),
    "log": (jnp.log, scipy.linalg.logm, POSITIVE),
    "sqrt": (jnp.sqrt, scipy.linalg.sqrtm, POSITIVE),
    "sign": (jnp.sign, scipy.linalg.signm, INDEFINITE),
    "evolution": (ODD_TIME, lambda a: scipy.linalg.expm(-0.7j * a), INDEFINITE),
}
GAPS = [0.0, 1e-15, 1e-13, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.5, 1.0]


@pytest.mark.parametrize(("f", "reference", "levels"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_those_of_scipy(dtype, f, reference, levels):
    a = with_levels(levels, 0, dtype)
    result = matrix_function(f, jnp.asarray(a))
    complex_valued = f is ODD_TIME or np.iscomplexobj(a)
    assert result.dtype == (np.result_type(dtype, np.complex64) if complex_valued else dtype)
    expected = reference(a.astype(np.result_type(dtype, np.float64)))
    np.testing.assert_allclose(result, expected, rtol=0, atol=60 * eps(dtype) * np.abs(expected).max())


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivative_of_the_exponential_is_scipys_at_coincident_and_close_levels(dtype, gap):
    a = with_levels([-1.0, 0.5, 0.5 + gap, 0.5 + 2 * gap], 1, dtype)
    direction = general(2, (4, 4), dtype)
    derivative = tangent_of_exp(jnp.asarray(a), jnp.asarray(direction))
    hermitian_direction = (direction + adjoint(direction)) / 2
    _, expected = scipy.linalg.expm_frechet(a, hermitian_direction)
    np.testing.assert_allclose(derivative, expected, rtol=0, atol=3e-13)


@jax.jit
def tangent_of_exp(a, direction):
    return jax.jvp(lambda m: matrix_function(jnp.exp, m), (a,), (direction,))[1]


def divided_difference(f, slope, x, y):
    """f[x, y] at 60 digits of the two floating-point numbers."""
    with mpmath.workdps(60):
        x, y = mpmath.mpf(float(x)), mpmath.mpf(float(y))
        return float(slope(x) if x == y else (f(x) - f(y)) / (x - y))


DIVIDED = {
    "exp": (jnp.exp, mpmath.exp, mpmath.exp, 1.0),
    "log": (jnp.log, mpmath.log, lambda x: 1 / x, 1.0),
    "log at 1e-8": (jnp.log, mpmath.log, lambda x: 1 / x, 1e-8),
    "sqrt": (jnp.sqrt, mpmath.sqrt, lambda x: 1 / (2 * mpmath.sqrt(x)), 1.0),
    "sin": (jnp.sin, mpmath.sin, mpmath.cos, 1.0),
}


@pytest.mark.parametrize(("f", "exact", "slope", "level"), DIVIDED.values(), ids=DIVIDED)
# Errors are largest where quotient and integral meet, and grow with |f| relative to its slope times the level.
@pytest.mark.parametrize(
    ("dtype", "rtol"), [pytest.param(np.float32, 5e-5, marks=pytest.mark.float32), (np.float64, 5e-13)]
)
def test_divided_differences_against_mpmath(dtype, rtol, f, exact, slope, level):
    x = dtype(level)
    others = (level * (1 + np.array(GAPS))).astype(dtype)

    def off_diagonal(y):
        swap = jnp.array([[0, 1], [1, 0]], dtype)
        return jax.jvp(lambda m: matrix_function(f, m), (jnp.diag(jnp.stack([x, y])),), (swap,))[1][0, 1]

    got = jax.jit(jax.vmap(off_diagonal))(jnp.asarray(others))
    expected = [divided_difference(exact, slope, x, y) for y in others]
    np.testing.assert_allclose(got, expected, rtol=rtol)


@pytest.mark.parametrize("half_gap", [1e-12, 1e-6, 1.0])
def test_derivative_of_the_sign_across_its_jump(half_gap):
    a = jnp.diag(jnp.array([-half_gap, half_gap]))
    swap = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    _, derivative = jax.jvp(lambda m: matrix_function(jnp.sign, m), (a,), (swap,))
    np.testing.assert_allclose(derivative, np.asarray(swap) / half_gap, rtol=1e-12)


def test_derivative_over_a_graded_spectrum():
    levels = np.array([1e-8, 1e-5, 1e-2, 1.0])
    _, derivative = jax.jvp(
        lambda m: matrix_function(jnp.log, m), (jnp.diag(jnp.asarray(levels)),), (jnp.ones((4, 4)),)
    )
    expected = [[divided_difference(mpmath.log, lambda x: 1 / x, x, y) for x in levels] for y in levels]
    np.testing.assert_allclose(derivative, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "evolution"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivatives_against_finite_differences(dtype, name):
    f, _, levels = CASES[name]
    check_derivatives(lambda m: matrix_function(f, m), jnp.asarray(with_levels(levels, 3, dtype)))


@pytest.mark.parametrize("levels", [INDEFINITE, [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]], ids=str)
def test_gradient_by_a_closed_over_parameter(levels):
    a = with_levels(levels, 4)
    trace = lambda t, m: jnp.trace(matrix_function(lambda x: jnp.exp(t * x), m) @ b)
    b = general(5, (4, 4))
    expected = np.trace(a @ scipy.linalg.expm(0.3 * a) @ b)
    for transform in (jax.grad, jax.jacfwd, lambda fn: jax.jit(jax.grad(fn))):
        np.testing.assert_allclose(transform(trace)(0.3, jnp.asarray(a)), expected, rtol=1e-12)
    second = np.trace(a @ a @ scipy.linalg.expm(0.3 * a) @ b)
    np.testing.assert_allclose(jax.grad(jax.grad(trace))(0.3, jnp.asarray(a)), second, rtol=1e-11)


def test_parameter_and_matrix_that_depend_on_each_other():
    a = hermitian(6, (3, 3))
    fn = lambda s: matrix_function(lambda x: jnp.sin(s * x), s**2 * jnp.asarray(a))
    expected = 3 * 0.7**2 * a @ scipy.linalg.cosm(0.7**3 * a)
    np.testing.assert_allclose(jax.jacfwd(fn)(0.7), expected, rtol=0, atol=1e-13)


def test_vmap_over_parameter_and_matrices():
    a = hermitian(7, (3, 2, 4, 4))
    times = np.array([0.1, 0.5, 2.0])
    evolve = lambda t, m: matrix_function(lambda x: jnp.exp(-1j * (t * x).astype(complex)), m)
    expected = np.stack([scipy.linalg.expm(-1j * t * m) for t, m in zip(times, a, strict=True)])
    np.testing.assert_allclose(jax.vmap(evolve)(jnp.asarray(times), jnp.asarray(a)), expected, rtol=0, atol=1e-13)
    only_times = jax.vmap(evolve, (0, None))(jnp.asarray(times), jnp.asarray(a[0]))
    np.testing.assert_allclose(only_times[0], expected[0], rtol=0, atol=1e-13)


def test_a_general_matrix_is_read_as_its_hermitian_part():
    a = general(8, (3, 3), np.complex128)
    expected = scipy.linalg.expm((a + adjoint(a)) / 2)
    np.testing.assert_allclose(matrix_function(jnp.exp, jnp.asarray(a)), expected, rtol=1e-12, atol=1e-12)


def test_second_derivative_against_a_difference_of_first_ones():
    a, b = jnp.asarray(with_levels(POSITIVE, 10)), hermitian(11, (4, 4))
    first = jax.jit(jax.jacfwd(lambda s: matrix_function(jnp.log, a + s * b)))
    second = jax.jit(jax.jacfwd(first))(0.0)
    difference = (first(1e-5) - first(-1e-5)) / 2e-5
    np.testing.assert_allclose(second, difference, rtol=0, atol=1e-6 * np.abs(difference).max())


@pytest.mark.parametrize("dtype", [np.float64, *further(np.float32)])
@pytest.mark.parametrize(
    ("f", "slope", "levels", "size"),
    [
        (
            lambda x: jnp.exp(jax.lax.complex(0 * x, -100 * x)),
            lambda x: -100j * np.exp(-100j * x),
            [1, 1, 1, 2, 3],
            100,
        ),
        (lambda x: jnp.sin(100 * x), lambda x: 100 * np.cos(100 * x), [1, 1, 1, 2, 3], 100),
        (lambda x: jnp.exp(x) - 1, np.exp, [0, 0, 0, 1, 2], 1),
        (lambda x: x**3, lambda x: 3 * x**2, [-2, -2, 1, 1, 1], 12),
    ],
    ids=["oscillating", "sine", "cancelling", "cube"],
)
def test_coincident_levels_of_a_rotated_matrix(dtype, f, slope, levels, size):
    # The solver separates equal levels by rounding; quotients over such gaps have no correct digit for these functions.
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))
    levels = np.array(levels, float)
    a = (rotation * levels) @ rotation.T
    space = rotation[:, :2]  # inside one eigenspace
    direction = space @ np.array([[0.3, 1.0], [1.0, -0.2]]) @ space.T
    function = lambda a: matrix_function(f, a)
    _, derivative = jax.jvp(function, (jnp.asarray(a, dtype),), (jnp.asarray(direction, dtype),))
    eps = np.finfo(dtype).eps
    # The level itself is known to eps: f' is then known to eps times f'' = size², at most.
    np.testing.assert_allclose(
        derivative, slope(levels[0]) * direction, rtol=0, atol=100 * eps * max(size, size**2 / 2)
    )


def test_numpy_functions_are_named():
    with pytest.raises(ValueError, match=r"`f` calls numpy .*; use jax.numpy, got <ufunc 'exp'>"):
        matrix_function(np.exp, jnp.eye(2))
    with pytest.raises(ValueError, match=r"`f` calls numpy .*; use jax.numpy, got <function"):
        matrix_function(lambda x: np.exp(x) + 1, jnp.eye(2))
