"""Fredholm determinants: closed forms, the sine kernel, error estimates, derivatives, bad input."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import spacing_table
from flint import arb

from rmtjax.special import fredholm_det
from rmtjax.testing import check_derivatives
from tests.cases import daily, every_dtype

# Compiled as one program; outside of `jit` every operation would be one.
determinant = jax.jit(fredholm_det, static_argnames=("kernel", "num_nodes"))


def sine(x, y):
    return jnp.sinc(x - y)


# One function of x and y that is a product gives 1 - z ∫ u².
RANK_ONE = {
    "interval": (lambda x: x, (-0.5, 2.0), (2.0**3 + 0.5**3) / 3),
    "upper half-line": (lambda x: jnp.exp(-x), (0.3, np.inf), np.exp(-0.6) / 2),
    "lower half-line": (lambda x: jnp.exp(x), (-np.inf, 0.3), np.exp(0.6) / 2),
    "line": (lambda x: jnp.exp(-(x**2) / 2), (-np.inf, np.inf), np.sqrt(np.pi)),
}


@every_dtype
@pytest.mark.parametrize(
    ("name", "coupling"),
    daily(
        [(name, coupling) for name in RANK_ONE for coupling in (0.7, 0.3 - 1.2j)],
        only=[*((name, 0.7) for name in RANK_ONE), ("interval", 0.3 - 1.2j)],
    ),
)
def test_product_kernels(name, dtype, coupling):
    u, ends, square = RANK_ONE[name]
    # Along a tangent, a function that decays over a length 1 needs more nodes than one that decays over 10.
    got = determinant(lambda x, y: u(x) * u(y), tuple(map(dtype, ends)), coupling=coupling, num_nodes=120)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got.value, 1 - coupling * square, rtol=0, atol=1000 * eps)
    assert got.value.dtype == np.result_type(dtype, np.complex64 if isinstance(coupling, complex) else dtype)
    assert abs(np.asarray(got.value) - (1 - coupling * square)) <= float(got.error) < 1e4 * eps


def test_two_functions_and_a_kernel_that_is_not_symmetric():
    # K = 1·y + x·1 on (0, 1): the determinant of the 2×2 matrix of the inner products of (1, x) and (y, 1).
    got = determinant(lambda x, y: y + x, (0.0, 1.0), coupling=0.8, num_nodes=8)
    matrix = np.eye(2) - 0.8 * np.array([[1 / 2, 1 / 3], [1, 1 / 2]])
    np.testing.assert_allclose(got.value, np.linalg.det(matrix), rtol=1e-14)


def gap_in_ball_arithmetic(s):
    """E_2(0; s), the gap probability of the bulk of the GUE, from the even and the odd part of the kernel."""
    even, odd = spacing_table.parity_probabilities(arb(s))
    return float((even[0] * odd[0]).mid())


def test_gaps_of_the_sine_kernel_and_the_estimate_of_the_error():
    for s in (0.5, 1.0, 2.0):
        got, gap = determinant(sine, (-s / 2, s / 2), num_nodes=20), gap_in_ball_arithmetic(s)
        np.testing.assert_allclose(got.value, gap, rtol=0, atol=1e-15)
        assert abs(got.value - gap) <= got.error < 1e-14
    few = [determinant(sine, (0.0, 6.0), num_nodes=q) for q in (4, 6, 9)]
    exact = determinant(sine, (0.0, 6.0), num_nodes=60)
    assert exact.error < 1e-13
    assert all(abs(one.value - exact.value) <= one.error for one in few)
    assert few[0].error > 1e-3  # an estimate that sees that four nodes are too few


def test_derivatives_by_the_ends_the_coupling_and_what_the_kernel_closes_over():
    def value(arguments):
        lower, upper, coupling, frequency = arguments
        kernel = lambda x, y: jnp.sinc(frequency * (x - y))
        return fredholm_det(kernel, (lower, upper), coupling=coupling, num_nodes=20).value

    check_derivatives(value, jnp.array([-0.4, 0.7, 0.9, 1.3]), second_derivative=True)


def test_derivative_at_an_infinite_end_is_finite():
    tail = lambda a: fredholm_det(lambda x, y: jnp.exp(-x - y), (a, jnp.inf), num_nodes=80).value
    np.testing.assert_allclose(jax.jit(jax.grad(tail))(0.3), np.exp(-0.6), rtol=1e-12)


def test_transformations():
    gap = lambda s: fredholm_det(sine, (0.0, s), num_nodes=20)
    s = jnp.array([0.5, 1.0])
    mapped = jax.jit(jax.vmap(gap))(s)
    for k in range(2):
        np.testing.assert_allclose(mapped.value[k], gap(float(s[k])).value, rtol=1e-13)
    assert np.isfinite(mapped.error).all()


@pytest.mark.float32
def test_bad_input():
    with pytest.raises(ValueError, match="`num_nodes` must be an integer of at least 3, got 2"):
        fredholm_det(sine, (0.0, 1.0), num_nodes=2)
    for interval in ((1.0, 0.0), (0.0, np.nan), (0.0, 1.0, 2.0), 1.0):
        with pytest.raises(ValueError, match="`interval` must be a pair of ascending real numbers, got"):
            fredholm_det(sine, interval)
    with pytest.raises(ValueError, match=r"`coupling` must be a scalar \(use `jax.vmap`"):
        fredholm_det(sine, (0.0, 1.0), coupling=jnp.ones(2))
    with pytest.raises(ValueError, match="`interval` must be a real scalar"):
        fredholm_det(sine, (0.0, 1j))


def test_complex_coupling_of_a_hermitian_kernel():
    # A unitary change of basis, K(x, y) e^{i(x - y)}, leaves the determinant alone.
    turned = lambda x, y: sine(x, y).astype(complex) * jnp.exp(jax.lax.complex(0 * x - 0 * y, x - y))
    value = functools.partial(determinant, interval=(0.0, 1.0), num_nodes=20)
    np.testing.assert_allclose(value(turned).value, value(sine).value, rtol=0, atol=1e-14)
