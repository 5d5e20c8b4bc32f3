"""The uniform law: derivatives by its ends, bad input; the batteries over all laws hold its values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import Uniform


def test_ends_are_differentiable():
    slope = jax.grad(lambda a, b: Uniform(a, b).cdf(0.5), (0, 1))(0.0, 2.0)
    np.testing.assert_allclose(slope, (-0.375, -0.125), rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1.0), "`upper` must be finite and larger than lower, got 1"),
        ((0.0, float("inf")), "`upper` must be finite and larger than lower, got inf"),
        ((float("nan"), 1.0), "`lower` must be finite, got nan"),
        ((1j, 1.0), "`lower` must be a real scalar"),
        ((0.0, jnp.ones(2)), "`upper` must be a real scalar"),
        ((0.0, "1"), "`upper` must be a real scalar, got '1'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        Uniform(*arguments)


@pytest.mark.float32
def test_the_potential_keeps_its_digits_far_away():
    # Far away it is the logarithm of the distance to the mean, without the small terms of the variance.
    law = Uniform(-1.0, 2.5)
    eps = float(jnp.finfo(jnp.zeros(0).dtype).eps)
    for z in (1e6, -1e12, 1e20, 1e8 + 1e8j):
        expected = np.log(complex(z) - 0.75)
        np.testing.assert_allclose(law.log_potential(z), expected, rtol=8 * eps, atol=1e-12)
