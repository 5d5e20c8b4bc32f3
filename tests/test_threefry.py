"""The unrolled generator against JAX's own, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax._threefry import looped, unrolled

KEYS = [jax.random.key(0), jax.random.key(1955), jax.random.split(jax.random.key(3))[1]]


def data(key):
    return np.asarray(jax.random.key_data(key))


@pytest.mark.parametrize("key", KEYS, ids=range(3))
@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.bits(key, (3, 7)),
        lambda key: jax.random.bits(key, (5,), "uint8"),
        lambda key: jax.random.normal(key, (11,)),
        lambda key: jax.random.normal(key, (), jnp.float32),
        lambda key: jax.random.uniform(key, (2, 2, 3), minval=-1.0),
        lambda key: jax.random.bernoulli(key, 0.3, (9,)),
        lambda key: jax.random.permutation(key, 10),
        lambda key: jax.random.rademacher(key, (4,)),
        lambda key: jax.vmap(jax.random.exponential)(jax.random.split(key, 3)),
    ],
)
def test_draws_are_those_of_jax(key, draw):
    np.testing.assert_array_equal(draw(unrolled(key)), draw(key))


@pytest.mark.parametrize("key", KEYS, ids=range(3))
def test_keys_are_those_of_jax(key):
    np.testing.assert_array_equal(data(jax.random.split(unrolled(key), 4)), data(jax.random.split(key, 4)))
    np.testing.assert_array_equal(data(jax.random.split(unrolled(key), (2, 3))), data(jax.random.split(key, (2, 3))))
    for number in (0, 17, 2**31 + 5, 2**32 - 1):
        number = np.uint32(number)
        np.testing.assert_array_equal(
            data(jax.random.fold_in(unrolled(key), number)), data(jax.random.fold_in(key, number))
        )


@pytest.mark.float32(only=True)
def test_without_64_bit_types():
    np.testing.assert_array_equal(jax.random.normal(unrolled(KEYS[0]), (5,)), jax.random.normal(KEYS[0], (5,)))


def test_trees_and_other_generators():
    other = jax.random.key(0, impl="rbg")
    tree = {"key": KEYS[0], "other": other, "number": 1.5, "array": jnp.ones(2)}
    changed = unrolled(tree)
    assert changed["key"].dtype != KEYS[0].dtype
    assert changed["other"] is other
    assert changed["number"] == 1.5
    assert looped(changed)["key"].dtype == KEYS[0].dtype
    np.testing.assert_array_equal(data(looped(changed)["key"]), data(KEYS[0]))
    batch = jax.random.split(KEYS[1], 3)
    np.testing.assert_array_equal(data(jax.jit(unrolled)(batch)), data(batch))


def test_programs_are_shorter_where_jax_loops():
    loops = jax.jit(lambda key: jax.random.bits(key, (100,))).lower(KEYS[0]).as_text().count("while")
    assert jax.jit(lambda key: jax.random.bits(unrolled(key), (100,))).lower(KEYS[0]).as_text().count("while") <= loops
    assert "while" not in jax.jit(lambda key: jax.random.bits(unrolled(key), (100,))).lower(KEYS[0]).as_text()
