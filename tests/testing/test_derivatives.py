"""The checks of derivatives pass right functions and find planted errors."""

import jax
import jax.numpy as jnp
import pytest

from rmtjax.testing import check_derivatives, check_second_derivative

X = jnp.array([0.5, -1.0, 2.0])
Z = jax.lax.complex(X, jnp.full_like(X, 0.5))
BOTH = pytest.mark.parametrize("check", [check_derivatives, check_second_derivative])


def with_rule(fn, rule):
    """A function of one array whose derivative is `rule(x, t)`."""
    wrapped = jax.custom_jvp(fn)
    wrapped.defjvp(lambda primals, tangents: (fn(*primals), rule(*primals, *tangents)))
    return wrapped


def with_transpose(scale):
    """The function 2x, with a transpose that is wrong by a factor."""
    linear = lambda t: jax.custom_derivatives.linear_call(lambda _, t: 2 * t, lambda _, ct: 2 * scale * ct, (), t)
    return with_rule(lambda x: 2 * x, lambda x, t: linear(t))


@BOTH
@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (jnp.sin, (X,)),
        (lambda x: jnp.sum(x**2), (1e3 * X,)),
        (lambda x: 1e-30 * x, (X,)),
        (lambda x: 0 * x, (X,)),
        (lambda tree, order, name: {name: tree["x"] ** 3 * order, "count": order}, ({"x": X}, 2, "cube")),
        (lambda x, key: x * jax.random.normal(key, (3,)), (X, jax.random.key(1))),
        (lambda x: jnp.where(jnp.arange(3) < 2, x, jnp.inf), (X,)),
        (lambda x: jnp.where(jnp.isfinite(x), x, 0) ** 2, (X.at[2].set(jnp.inf),)),
        (lambda z: jnp.exp(1j * z), (Z,)),
        (lambda z: (jnp.abs(z) ** 2).astype(complex) + jnp.conj(z) * jnp.real(z).astype(complex), (Z,)),
        (lambda z, x: jnp.real(z) * x, (0.3 + 0.5j, 2.0)),
    ],
    ids=[
        "vector", "large", "tiny", "zero", "pytree", "key", "padded output", "padded input", "holomorphic",
        "not holomorphic", "complex to real",
    ],
)  # fmt: skip
def test_a_right_derivative_passes(check, fn, args):
    check(fn, *args)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (with_rule(jnp.sin, lambda x, t: 2 * jnp.cos(x) * t), "jvp against finite differences"),
        (with_rule(jnp.sin, lambda x, t: (1 + 1e-5) * jnp.cos(x) * t), "jvp against finite differences"),
        (with_rule(lambda x: x, lambda x, t: 0 * t), "jvp against finite differences"),
        (lambda x: jax.lax.stop_gradient(x) * x, "jvp against finite differences"),
        (lambda x: x.astype(jnp.float32).astype(x.dtype), "jvp against"),
        (lambda x: jnp.sqrt(x - x), "forward-mode derivative is not finite"),
        (with_transpose(1.5), "jvp against vjp"),
        (with_transpose(jnp.nan), "reverse-mode derivative is not finite"),
    ],
    ids=["twice", "slightly", "zero", "stopped", "float32 inside", "sqrt(0)", "transpose", "nan transpose"],
)
def test_a_wrong_derivative_is_found(fn, message):
    with pytest.raises(AssertionError, match=r"^check_derivatives: .*" + message):
        check_derivatives(fn, X)


def test_a_right_transpose_passes():
    check_derivatives(with_transpose(1.0), X)


def test_a_derivative_wrong_in_the_imaginary_direction_is_found():
    conjugated = with_rule(lambda z: z**2, lambda z, t: 2 * z * jnp.conj(t))
    with pytest.raises(AssertionError, match=r"check_derivatives: jvp against finite differences"):
        check_derivatives(conjugated, Z)


def test_a_derivative_wrong_in_one_output_of_many_is_found():
    wrong = with_rule(jnp.sin, lambda x, t: 2 * jnp.cos(x) * t)
    with pytest.raises(AssertionError, match=r"floating-point output 1"):
        check_derivatives(lambda x: (1e6 * x, wrong(x)), X)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: jnp.where(x > 0, jnp.where(x > 0, x, 0), 0) ** 1.5,
        with_rule(lambda x: 0 * x, lambda x, t: t * jnp.sqrt(x - x)),
    ],
    ids=["power 3/2", "sqrt(0)"],
)
def test_a_second_derivative_that_is_not_finite_is_found(fn):
    with pytest.raises(AssertionError, match=r"^check_second_derivative: .*not finite"):
        check_second_derivative(fn, jnp.zeros(3))


def test_a_second_derivative_wrong_in_reverse_mode_is_found():
    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * jax.lax.stop_gradient(x) * ct,))
    either = lambda x: square(x) if reverse_is_asked(x) else x**2
    with pytest.raises(AssertionError, match=r"forward over forward against forward over reverse"):
        check_second_derivative(either, X)


def reverse_is_asked(x):
    """Whether a function is being linearised for reverse mode, and not pushed forward twice."""
    return "Linearize" in type(x).__name__ or "Linearize" in type(getattr(x, "primal", x)).__name__


@BOTH
@pytest.mark.parametrize(
    ("fn", "args"), [(lambda k: 1.0 * k, (3,)), (jnp.argmax, (X,))], ids=["integer in", "integer out"]
)
def test_nothing_to_differentiate_is_said(check, fn, args):
    with pytest.raises(AssertionError, match=r"nothing to differentiate"):
        check(fn, *args)
