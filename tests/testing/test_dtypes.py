"""The check of dtypes passes right functions and finds planted errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.testing import check_composable, check_dtypes

X = np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lambda x: 2.5 * x, (X,)),
        (lambda z: {"re": z.real, "z": z}, (X + 1j,)),
        (lambda x, key: x * jax.random.normal(key, (3,), x.dtype), (X, jax.random.key(0))),
        (lambda x: jnp.argsort(x), (X,)),
    ],
    ids=["real", "complex", "key", "integer out"],
)
def test_a_right_function_passes(fn, args):
    check_dtypes(fn, *args)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: x.astype(jnp.float32), "float64 input gives float32 at `output`"),
        (lambda x: (x, x.astype(float) * np.ones(3)), r"float32 input gives float64 at `output\[1\]`"),
        (lambda x: (x.astype(complex) * 1j).astype(jnp.complex64), "float64 input gives complex64"),
        (lambda x: jnp.log(1 + 1e-6 * x), "float32 against float64"),
        (lambda x: jnp.isnan(x) | (jnp.finfo(x.dtype).bits == 64), "float32 against float64"),
    ],
    ids=["downcast", "upcast", "half complex", "cancellation", "boolean"],
)
def test_a_wrong_function_is_found(fn, message):
    with pytest.raises(AssertionError, match="^check_dtypes: " + message):
        check_dtypes(fn, X)


def test_a_hidden_default_dtype_is_found_behind_a_key():
    with pytest.raises(AssertionError, match="float32 input gives float64"):
        check_dtypes(lambda x, key: x.astype(float) * jax.random.normal(key, (3,)), X, jax.random.key(0))


def test_an_integer_function_is_no_subject():
    with pytest.raises(AssertionError, match="no argument is floating-point"):
        check_dtypes(lambda k: k + 1, 3)


def test_the_session_keeps_its_default():
    before = jnp.ones(()).dtype
    check_dtypes(lambda x: x, X)
    assert jnp.ones(()).dtype == before


def _twice(x):
    return 2 * jnp.sin(x)


_wrong_slope = jax.custom_jvp(_twice)
_wrong_slope.defjvp(lambda primals, tangents: (_twice(*primals), tangents[0]))
_no_second = lambda x: jnp.where(x > 0, jnp.where(x > 0, x, 0), 0) ** 1.5
_batched = jax.custom_batching.custom_vmap(_twice)
_batched.def_vmap(lambda axis_size, in_batched, x: (3 * jnp.sin(x), True))


@pytest.mark.parametrize(
    ("fn", "check"),
    [
        (lambda x: x + int(isinstance(x, jax.core.Tracer)), "check_jit"),
        (_batched, "check_vmap"),
        (lambda x: x.astype(float) * np.ones(3), "check_dtypes"),
        (_wrong_slope, "check_derivatives"),
        (lambda x: _no_second(x - x) + x, "check_second_derivative"),
        (jnp.argmax, "check_derivatives"),
    ],
)
def test_the_battery_names_the_check_that_failed(fn, check):
    with pytest.raises(AssertionError, match=f"^{check}: "):
        check_composable(fn, jnp.asarray(X))


def test_the_battery_leaves_out_derivatives_on_request():
    check_composable(jnp.argmax, X, derivatives=False)
    check_composable(lambda x: _no_second(x - x) + x, X, second_derivative=False)
    check_composable(lambda key: jax.random.bits(key), jax.random.key(0), derivatives=False)
