"""Small computations outside of `jit` are compiled with little effort, and give the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import _compile
from rmtjax._compile import compiled, is_small, quick_options


def test_what_counts_as_small():
    assert is_small(jnp.ones(100), 100, "pdf", None)
    assert is_small(rmt.laws.Semicircle(), (jnp.ones((3, 4)),))
    assert not is_small(jnp.ones(1 << 15))
    assert not is_small(jnp.ones(3), 1000)
    assert not jax.jit(lambda x: jnp.asarray(is_small(x)))(1.0)
    assert not jax.vmap(lambda x: jnp.asarray(is_small(x)))(jnp.ones(2)).any()


def test_options_are_known_to_this_version():
    if jax.default_backend() == "cpu":
        assert quick_options() in _compile._QUICK
    else:
        assert quick_options() == {}


def test_options_that_no_version_knows_are_left_out(monkeypatch):
    monkeypatch.setattr(_compile, "_QUICK", ({"xla_no_such_option": True}, {"xla_backend_optimization_level": 0}))
    quick_options.cache_clear()
    try:
        assert quick_options() in ({"xla_backend_optimization_level": 0}, {})
    finally:
        quick_options.cache_clear()


def _powers(x, count, *, shift=0.0):
    return x**count + shift


def test_static_arguments_keywords_and_transformations():
    powers = compiled(_powers, static_argnums=(1,))
    x = jnp.array([2.0, 3.0])
    np.testing.assert_array_equal(powers(x, 2), [4, 9])
    np.testing.assert_array_equal(powers(x, 2, shift=1.0), [5, 10])
    np.testing.assert_array_equal(jax.jit(lambda y: powers(y, 3))(x), [8, 27])
    np.testing.assert_array_equal(jax.vmap(lambda y: powers(y, 2))(x), [4, 9])
    assert jax.grad(lambda y: powers(y, 3).sum())(x)[1] == pytest.approx(27)
    assert powers.__name__ == "_powers"


@pytest.mark.parametrize("n", [50, 300])
def test_levels_are_those_of_a_larger_program(n, getkey):
    key, goe = getkey(), rmt.GOE(n)
    levels = goe.eigenvalues(key)
    # Entries by another program may differ in the last bit, levels by 4 eps of the norm, 2.
    rounding = 20 * float(jnp.finfo(levels.dtype).eps)
    np.testing.assert_allclose(levels, jax.jit(goe.eigenvalues)(key), rtol=0, atol=rounding)
    spectrum = np.linalg.eigvalsh(np.asarray(goe.tridiagonal(key).todense(), float))
    np.testing.assert_allclose(levels, spectrum, rtol=0, atol=rounding)
