"""Linear equations with many matrices against LAPACK, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import testing
from rmtjax.linalg.internal import inverse_of_each, log_determinant, solve_each

RNG = np.random.default_rng(0)
ONE_DEVICE = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))


def drawn(*shape, dtype=np.complex128):
    real = RNG.normal(size=shape)
    return (real + 1j * RNG.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else real).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 5, 12, 33])
def test_as_exact_as_lapack(n, dtype):
    a, b = drawn(3, 2, n, n, dtype=dtype), drawn(3, 2, n, 2, dtype=dtype)
    a[0, 0] *= np.geomspace(1, 1e5, n)[:, None]  # rows of several sizes
    x = jax.jit(solve_each)(a, b)
    assert x.dtype == dtype
    wide = np.promote_types(dtype, np.float64)
    right = np.linalg.solve(a.astype(wide), b.astype(wide))
    # The error of elimination with pivoting is bounded by the condition without the sizes of rows, times some eps.
    condition = np.abs(np.linalg.inv(a.astype(wide))) @ np.abs(a) @ np.abs(right)
    assert np.all(np.abs(np.asarray(x) - right) <= 8 * n * np.finfo(dtype).eps * condition)


def test_pivots_are_needed():
    a = np.array([[[1e-20, 1.0], [1.0, 1.0]], [[0.0, 2.0], [1.0, 0.0]]])
    np.testing.assert_allclose(inverse_of_each(a) @ a, np.broadcast_to(np.eye(2), a.shape), rtol=0, atol=1e-15)


def test_a_singular_matrix_leaves_the_others_alone():
    a = np.stack([np.zeros((2, 2)), 2 * np.eye(2)])
    x = inverse_of_each(a)
    assert not jnp.isfinite(x[0]).any()
    np.testing.assert_array_equal(x[1], np.eye(2) / 2)


def test_without_rows():
    empty = np.zeros((3, 0, 0), complex)
    assert solve_each(empty, empty[..., :0]).shape == (3, 0, 0)
    np.testing.assert_array_equal(log_determinant(empty), np.zeros(3))


@pytest.mark.parametrize("n", [1, 4, 7])
def test_determinants(n):
    a = drawn(20, n, n)
    found = jax.jit(log_determinant)(a)
    np.testing.assert_allclose(np.exp(found), np.linalg.det(a), rtol=1e-12)
    # Of a matrix with a small real determinant the angle has all digits.
    np.testing.assert_allclose(log_determinant(1e-30 * np.eye(4) + 0j), 4 * np.log(1e-30), rtol=1e-15)
    swapped = log_determinant(np.eye(3)[[1, 0, 2]] + 0j)
    np.testing.assert_allclose(jnp.abs(jnp.imag(swapped)), np.pi, rtol=1e-15)


@pytest.mark.parametrize("n", [3, 33])
def test_derivatives(n):
    a, b = drawn(2, n, n, dtype=float) + 3 * n**0.5 * np.eye(n), drawn(2, n, 2, dtype=float)
    testing.check_derivatives(solve_each, a, b)
    testing.check_second_derivative(solve_each, a, b)


def test_derivatives_of_a_determinant():
    real_part = lambda a: jnp.real(log_determinant(a.astype(complex)))
    testing.check_derivatives(real_part, drawn(2, 3, 3, dtype=float))


def test_inside_shard_map():
    a, b = drawn(1, 3, 3), drawn(1, 3, 2)
    over = lambda fn, *specs: jax.shard_map(fn, mesh=ONE_DEVICE, in_specs=specs, out_specs=jax.P("d"))
    np.testing.assert_allclose(over(solve_each, jax.P("d"), jax.P("d"))(a, b), solve_each(a, b), rtol=1e-14)
    np.testing.assert_allclose(over(solve_each, jax.P("d"), jax.P())(a, b), solve_each(a, b), rtol=1e-14)
    np.testing.assert_allclose(over(solve_each, jax.P(), jax.P("d"))(a, b), solve_each(a, b), rtol=1e-14)
    np.testing.assert_allclose(over(inverse_of_each, jax.P("d"))(a), inverse_of_each(a), rtol=1e-14)
    np.testing.assert_allclose(over(log_determinant, jax.P("d"))(a), log_determinant(a), rtol=1e-14)


def test_a_slope_of_levels_inside_shard_map():
    # The rule of general eigenvalues solves such equations.
    key = jax.random.key(0)
    size = lambda c: jnp.sum(jnp.abs(rmt.Elliptic(4, c).eigenvalues(key)))
    slopes = jax.vmap(jax.grad(size))
    over = jax.shard_map(slopes, mesh=ONE_DEVICE, in_specs=jax.P("d"), out_specs=jax.P("d"))
    np.testing.assert_allclose(over(jnp.array([0.3])), slopes(jnp.array([0.3])), rtol=1e-12)


def test_products_have_all_digits_on_every_device():
    a, b = drawn(2, 3, 3, dtype=float), drawn(2, 3, 1, dtype=float)
    for fn in (lambda a: solve_each(a, b), lambda a: log_determinant(a.astype(complex))):
        text = str(jax.make_jaxpr(lambda a, fn=fn: jax.jvp(fn, (a,), (a,)))(a))
        assert "dot_general" in text
        assert "precision=None" not in text


def test_over_batches():
    a, b = drawn(4, 3, 3), drawn(4, 3, 2)
    np.testing.assert_allclose(jax.vmap(solve_each)(a, b), solve_each(a, b), rtol=1e-14)
    np.testing.assert_allclose(
        jax.vmap(solve_each, (None, 0))(a[0], b), solve_each(np.stack([a[0]] * 4), b), rtol=1e-13
    )
