import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rmtjax.laws._composed.orders import clip_order, order_distribution
from tests.laws.reference import clipped_binomial

SIZES = [1, 2, 3, 10, 1000, 100_000]
MIXTURES = [1e-3, 0.3, 0.5, 0.9, 0.999, 1.0]


distribution = jax.jit(order_distribution, static_argnums=0)


@functools.partial(jax.jit, static_argnums=0)
@functools.partial(jax.grad, argnums=1)
def slope_of_mean_square(largest, mixture):
    orders, probabilities = order_distribution(largest, mixture)
    return (orders / largest) ** 2 @ probabilities


def gathered(orders, probabilities, largest):
    """Probabilities indexed by the order."""
    return np.bincount(np.asarray(orders), np.asarray(probabilities), largest + 1)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("largest", SIZES)
def test_the_clipped_binomial(largest, mixture):
    orders, probabilities = distribution(largest, jnp.asarray(mixture))
    got = gathered(orders, probabilities, largest)
    expected = gathered(*clipped_binomial(largest, mixture), largest)
    # The probabilities of SciPy are accurate to 1e-11 for the largest N.
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-18)
    np.testing.assert_allclose(probabilities.sum(), 1, rtol=1e-14)


@pytest.mark.float32
@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("largest", SIZES[:-1])
def test_single_precision(largest, mixture):
    orders, probabilities = distribution(largest, jnp.asarray(mixture, jnp.float32))
    assert probabilities.dtype == np.float32
    expected = gathered(*clipped_binomial(largest, float(np.float32(mixture))), largest)
    np.testing.assert_allclose(gathered(orders, probabilities, largest), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("mixture", [1e-3, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("largest", [2, 10, 1000])
def test_gradient_by_the_mixture_is_the_score(largest, mixture):
    k = np.arange(largest + 1)
    score = (k - largest * mixture) / (mixture * (1 - mixture))
    squares = (np.clip(k, 2, largest) / largest) ** 2
    expected = np.sum(stats.binom.pmf(k, largest, mixture) * score * squares)
    np.testing.assert_allclose(slope_of_mean_square(largest, mixture), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("largest", [3, 10, 1000])
def test_gradient_at_mixture_one_is_one_sided(largest):
    # dP(N) = N dμ, dP(N - 1) = -N dμ.
    expected = largest * (1 - ((largest - 1) / largest) ** 2)
    np.testing.assert_allclose(slope_of_mean_square(largest, 1.0), expected, rtol=1e-12)


@pytest.mark.float32
@pytest.mark.parametrize(("largest", "expected"), [(1, [1, 1, 1, 1]), (2, [2, 2, 2, 2]), (5, [2, 2, 2, 5])])
def test_clipping(largest, expected):
    np.testing.assert_array_equal(clip_order(jnp.array([0, 1, 2, 7]), largest), expected)
