"""The checks of values under jit and vmap pass right functions and find planted errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from rmtjax.testing import check_jit, check_vmap

X = jnp.array([0.5, -1.0, 2.0])
KEY = jax.random.key(4)


def is_traced(x):
    return isinstance(x, jax.core.Tracer)


class Plain(eqx.Module):
    scale: jax.Array

    def times(self, x):
        return self.scale * x


def everything(tree, key, order, name):
    """A function with a pytree in and out, a key, an integer, a static name, and values that are not finite."""
    noise = jax.random.normal(key, (3,))
    below = jnp.arange(3) < order
    padded = jnp.where(below, tree["x"] + noise, jnp.inf)
    return {name: padded, "complex": tree["z"] * 1j, "count": below.sum(), "nan": jnp.nan * noise, "key": key}


@pytest.mark.parametrize("check", [check_jit, check_vmap])
def test_a_right_function_passes(check):
    check(everything, {"x": X, "z": 1 + 2j}, KEY, 2, "a name")


def test_a_function_that_returns_an_empty_array_passes():
    check_jit(lambda x: x[:0], X)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: x if is_traced(x) else x * (1 + 1e-3), r"jit against eager: .* the worst deviation is 0\.002"),
        (lambda x: x if is_traced(x) else x.at[1].set(jnp.nan), r"nan at `output\[1\]`"),
        (lambda x: x if is_traced(x) else x.at[1].set(jnp.inf), r"deviation is inf"),
        (lambda x: jnp.argmax(x) + (0 if is_traced(x) else 1), "deviation is 1,"),
        (lambda x: x.astype(jnp.float16) if is_traced(x) else x, "is float16"),
        (lambda x: x[:2] if is_traced(x) else x, r"\[2\], not .*\[3\]"),
        (lambda x: (x,) if is_traced(x) else x, "structure"),
        (lambda x: {"a": x, "b": x + int(is_traced(x))}, r"`output\['b'\]\[0\]`"),
    ],
    ids=["value", "nan", "infinity", "integer", "dtype", "shape", "structure", "one leaf"],
)
def test_what_differs_under_jit_is_found(fn, message):
    with pytest.raises(AssertionError, match=r"^check_jit: .*" + message):
        check_jit(fn, X)


def test_a_key_that_changes_under_jit_is_found():
    with pytest.raises(AssertionError, match=r"check_jit"):
        check_jit(lambda key: jax.random.fold_in(key, 1) if is_traced(key) else key, KEY)


def test_a_bound_method_that_jit_refuses_is_found():
    with pytest.raises(AssertionError, match=r"check_jit: `jax.jit` does not take this function"):
        check_jit(Plain(jnp.asarray(2.0)).times, X)


def test_the_tolerances_are_relative_and_absolute():
    wrong = lambda x: x if is_traced(x) else x + 1e-3
    check_jit(wrong, X, rtol=1e-3)
    check_jit(wrong, X, atol=2e-3)
    with pytest.raises(AssertionError, match=r"allowed is 0.0004"):
        check_jit(wrong, X, rtol=2e-4)


def _wrong_when_batched(*, x_batched, y_batched):
    """The sum x + y, with a batching rule that doubles x in one combination of batched arguments."""

    @jax.custom_batching.custom_vmap
    def add(x, y):
        return x + y

    @add.def_vmap
    def rule(axis_size, in_batched, x, y):
        x, y = (v if b else jnp.broadcast_to(v, (axis_size, *v.shape)) for v, b in zip((x, y), in_batched, strict=True))
        return (2 * x if in_batched == [x_batched, y_batched] else x) + y, True

    return add


@pytest.mark.parametrize(("x_batched", "y_batched"), [(True, True), (True, False), (False, True)])
def test_a_wrong_batching_rule_is_found(x_batched, y_batched):
    with pytest.raises(AssertionError, match=r"^check_vmap: vmap over argument"):
        check_vmap(_wrong_when_batched(x_batched=x_batched, y_batched=y_batched), X, X)


def test_a_draw_that_is_the_same_for_all_members_is_found():
    frozen = lambda key: jax.random.normal(KEY if is_traced(key) else key)
    with pytest.raises(AssertionError, match=r"check_vmap"):
        check_vmap(frozen, KEY)
