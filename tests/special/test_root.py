import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.special.internal import bracketed_root
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype

ROOTS = {
    "inside": (lambda x: x**3 - 2, 0.0, 9.0, np.cbrt(2.0)),
    "at 0": (lambda x: x, -1.0, 3.0, 0.0),
    "at 0, not hit by halving": (lambda x: x**3, -1.0, 3.1, 0.0),
    "tiny": (lambda x: x - 1e-9, 0.0, 1.0, 1e-9),
    "near the smallest": (lambda x: jnp.log(x + 1e-37) - jnp.log(3e-37), 0.0, 1.0, 2e-37),
    "of both signs": (lambda x: x + 1e-30, -1e30, 1e30, -1e-30),
    "at the left end": (lambda x: x - 1, 1.0, 2.0, 1.0),
    "at the right end": (lambda x: x - 2, 1.0, 2.0, 2.0),
    "below the bracket": (lambda x: x + 5, 1.0, 2.0, 1.0),
    "above the bracket": (lambda x: x - 5, 1.0, 2.0, 2.0),
    "negative": (lambda x: x + np.pi, -4.0, -3.0, -np.pi),
    "a jump": (lambda x: jnp.where(x < 0.3, -1.0, 1.0), 0.0, 1.0, 0.3),
    "an empty bracket": (lambda x: x - 1, 2.0, 2.0, 2.0),
}


@every_dtype
@pytest.mark.parametrize(("fn", "lower", "upper", "root"), ROOTS.values(), ids=ROOTS)
def test_values(fn, lower, upper, root, dtype):
    got = bracketed_root(lambda x: fn(x).astype(dtype), dtype(lower), dtype(upper))
    assert got.dtype == dtype
    eps = np.finfo(dtype).eps
    # The cubic is flat at 0: it underflows below the cube root of the smallest normal number.
    underflow = 2 * np.cbrt(np.finfo(dtype).tiny) if root == 0 else 0
    np.testing.assert_allclose(got, root, rtol=200 * eps if root == 2e-37 else 3 * eps, atol=underflow)


def solve(y):
    return bracketed_root(lambda x: x**3 + x - y, jnp.array(-5.0), jnp.array(5.0))


@pytest.mark.parametrize("x", [-1.3, 0.0, 2.0])
def test_derivatives_are_those_of_the_inverse_function(x):
    y, slope = x**3 + x, 3 * x**2 + 1
    np.testing.assert_allclose(solve(y), x, atol=1e-15, rtol=1e-15)
    for mode in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(mode(solve)(y), 1 / slope, rtol=1e-13)
        np.testing.assert_allclose(mode(mode(solve))(y), -6 * x / slope**3, rtol=1e-12, atol=1e-15)


def test_derivatives_against_finite_differences():
    two = lambda a, b: bracketed_root(lambda x: jnp.tanh(a * x) - b, jnp.array(-4.0), jnp.array(4.0))
    check_derivatives(two, 0.8, 0.3, second_derivative=True)


def test_a_flat_slope_gives_derivative_zero():
    flat = lambda y: bracketed_root(lambda x: jnp.floor(x) + y, jnp.array(-4.0), jnp.array(4.0))
    value, gradient = jax.value_and_grad(flat)(0.5)
    assert gradient == 0
    np.testing.assert_allclose(value, 0.0, rtol=0, atol=1e-15)
    assert jax.grad(jax.grad(flat))(0.5) == 0


@pytest.mark.float32
def test_ends_that_are_nan_or_infinite():
    fn = lambda x: x - 1
    for ends in ((np.nan, 3.0), (0.0, np.nan)):
        assert np.isnan(bracketed_root(fn, *map(jnp.asarray, ends)))
    for ends in ((-np.inf, 3.0), (0.0, np.inf), (-np.inf, np.inf)):
        assert bracketed_root(fn, *map(jnp.asarray, ends)) == 1


def test_the_ends_have_no_derivative():
    from_ends = lambda a, b: bracketed_root(lambda x: x - 1.0, a, b)
    assert jax.grad(from_ends, (0, 1))(0.0, 3.0) == (0.0, 0.0)


def test_vmap_and_jit_over_closed_over_values():
    y = np.array([-60.0, -2.0, 0.0, 10.0])
    got = jax.jit(jax.vmap(jax.value_and_grad(solve)))(jnp.asarray(y))
    np.testing.assert_allclose(got[0] ** 3 + got[0], y, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(got[1], 1 / (3 * got[0] ** 2 + 1), rtol=1e-13)
    brackets = jnp.array([0.0, 2.0]), jnp.array([1.0, 3.0])
    ends = jax.vmap(lambda a, b: bracketed_root(lambda x: x - 2.5, a, b))(*brackets)
    np.testing.assert_allclose(ends, [1.0, 2.5], rtol=1e-15)


def test_brackets_in_arrays_each_have_their_own_root():
    # Ends and signs of every kind are side by side, so that a finished bracket has to wait for the others.
    y, lower, upper = np.array([[-60.0, 1e-200, 0.0], [3.0, 50.0, np.nan]]), np.array([[-9.0], [0.0]]), 3.0
    got = bracketed_root(lambda x: x**3 - y, *jnp.broadcast_arrays(lower, upper * jnp.ones(3)))
    one_by_one = [
        [bracketed_root(lambda x, p=p: x**3 - p, jnp.asarray(left), jnp.asarray(upper)) for p in row]
        for row, left in zip(y, lower[:, 0], strict=True)
    ]
    np.testing.assert_array_equal(got, one_by_one)
    np.testing.assert_allclose(got[0, :2], np.cbrt(y[0, :2]), rtol=1e-15)
    slope = jax.grad(lambda y: bracketed_root(lambda x: x**3 - y, jnp.full(2, -9.0), jnp.full(2, 9.0)).sum())
    np.testing.assert_allclose(slope(y[:, 0]), np.cbrt(y[:, 0]) ** -2 / 3, rtol=1e-13)


def test_the_function_is_traced_once():
    calls = []

    def excess(x):
        calls.append(x)
        return x - 1

    jax.make_jaxpr(jax.grad(lambda end: bracketed_root(excess, 0 * end, end)))(2.0)
    assert len(calls) == 1


def test_plain_numbers_and_functions_of_numpy():
    assert bracketed_root(lambda x: x - 1, 0.0, 3.0) == 1
    with pytest.raises(ValueError, match="`fn` calls numpy"):
        bracketed_root(lambda x: np.sin(x) - 0.1, 0.0, 1.0)
