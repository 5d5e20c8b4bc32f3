"""The order of floating-point numbers by their bits, against JAX's and NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax._ordering import in_order, of_rank, rank_of

kinds = pytest.mark.parametrize("dtype", ["float32", "float64"])


def _numbers(dtype: str) -> np.ndarray:
    """Numbers of every size and sign, the ends of the range, repeated ones and both kinds of NaN."""
    info, random = np.finfo(dtype), np.random.default_rng(0)
    special = [0, -0.0, info.tiny, -info.tiny, info.max, -info.max, np.inf, -np.inf, np.nan, -np.nan, 1, 1, -1, -1]
    some = random.normal(size=300) * 10.0 ** random.integers(-30, 30, 300)
    return random.permutation(np.concatenate([special, some, some[:20]])).astype(dtype)


@kinds
def test_every_number_has_its_place(dtype):
    x = _numbers(dtype)
    assert np.signbit(x[np.isnan(x)]).tolist().count(True) == 1  # both kinds of NaN are there
    found = np.asarray(in_order(jnp.asarray(x)))
    np.testing.assert_array_equal(found, np.sort(x))
    assert np.signbit(found[found == 0]).tolist() == [True, False]
    np.testing.assert_array_equal(jax.vmap(in_order)(jnp.asarray(x).reshape(-1, 2)), np.sort(x.reshape(-1, 2)))


@kinds
def test_ranks_count_numbers(dtype):
    one, zero = jnp.ones((), dtype), jnp.zeros((), dtype)
    assert int(rank_of(jnp.nextafter(one, zero))) == int(rank_of(one)) - 1
    assert (int(rank_of(zero)), int(rank_of(-zero))) == (0, -1)
    x = jnp.asarray(_numbers(dtype))
    np.testing.assert_array_equal(of_rank(rank_of(x), x.dtype), x)


def test_whole_numbers_are_sorted_too():
    np.testing.assert_array_equal(in_order(jnp.asarray([3, -1, 2])), [-1, 2, 3])


@kinds
def test_the_derivative_follows_the_numbers(dtype):
    x = jnp.asarray(np.random.default_rng(1).permutation(20), dtype)
    weights = jnp.arange(20, dtype=dtype) ** 2
    gradient = jax.grad(lambda x: in_order(x) @ weights)(x)
    np.testing.assert_array_equal(gradient, np.asarray(x) ** 2)
    change = jax.jvp(in_order, (x,), (x**3,))[1]
    np.testing.assert_array_equal(change, np.arange(20.0) ** 3)
