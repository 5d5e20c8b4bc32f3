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


@pytest.mark.float32
@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-1.25, 3.0), (-2.0, 0.0)])
def test_the_transform_keeps_its_digits_beside_the_ends(lower, upper):
    # The point in units of the law had lost its distance from the end.
    law, eps = Uniform(lower, upper), float(jnp.finfo(jnp.zeros(0).dtype).eps)
    distances = 10.0 ** np.arange(-30 if eps < 1e-10 else -20, 1)
    for end in (lower, upper):
        for angle in (0.0, 0.3, np.pi / 2, 2.8):
            z = np.asarray(end + distances * np.exp(1j * angle), jnp.asarray(1j).dtype)
            # What is added to an end that is not 0 is rounded.
            from_end = {end: z.astype(complex) - end, lower + upper - end: z.astype(complex) - (lower + upper - end)}
            known = (from_end[lower] != 0) & (from_end[upper] != 0)
            ratio = from_end[lower][known] / from_end[upper][known]
            expected = (np.log(np.abs(ratio)) + 1j * -np.abs(np.angle(ratio))) / (upper - lower)
            np.testing.assert_allclose(law.stieltjes(z)[known], expected, rtol=16 * eps)
