"""Means over the sphere: mpmath, rational values, the moments of one law, the slope at q = 1, bad input."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import EigenvectorIntensity, mean_inverse_participation_ratio, mean_participation_entropy

BETAS = [1, 2, 4]


@pytest.mark.float32
@pytest.mark.parametrize("beta", BETAS)
def test_against_mpmath(beta):
    q = np.array([-0.4, 0.0, 0.3, 1.0, 2.0, 6.5], jnp.result_type(float))
    eps = jnp.finfo(q.dtype).eps
    for n in (1, 2, 30, 10**6):
        half = mpmath.mpf(beta) / 2
        found = mean_inverse_participation_ratio(n, beta, q)
        with mpmath.workdps(30):
            ratio = lambda a, q: mpmath.exp(mpmath.loggamma(a + q) - mpmath.loggamma(a))
            exact = [float(n * ratio(half, each) / ratio(n * half, each)) for each in map(mpmath.mpf, q.tolist())]
        found, exact = np.array(found, float), np.array(exact)
        assert (abs(found - exact) <= 30 * (1 + abs(q)) * float(eps) * exact).all()


def test_rational_values():
    for n in (1, 2, 9):
        for beta, exact in ((1, Fraction(3, n + 2)), (2, Fraction(2, n + 1)), (4, Fraction(3, 2 * n + 1))):
            np.testing.assert_allclose(mean_inverse_participation_ratio(n, beta), float(exact), rtol=1e-14)
    np.testing.assert_allclose(mean_participation_entropy(4, 2), 1 / 2 + 1 / 3 + 1 / 4, rtol=1e-15)
    np.testing.assert_allclose(mean_participation_entropy(3, 4), 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6, rtol=1e-15)
    assert mean_participation_entropy(1, 1) == 0


@pytest.mark.parametrize("beta", BETAS)
def test_moments_of_the_law_of_one_component(beta):
    n = 7
    law = EigenvectorIntensity(n, beta)
    found = mean_inverse_participation_ratio(n, beta, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found, [law.moment(q) / n ** (q - 1) for q in (1, 2, 3)], rtol=2e-14)
    # The entropy is the slope of the moments at 1.
    slope = jax.grad(lambda q: mean_inverse_participation_ratio(n, beta, q))(1.0)
    np.testing.assert_allclose(-slope, mean_participation_entropy(n, beta), rtol=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match=r"`q` must be finite and above -beta/2, got -0\.5"):
        mean_inverse_participation_ratio(3, 1, -0.5)
    with pytest.raises(ValueError, match="`beta` must be 1, 2 or 4, got 3"):
        mean_participation_entropy(3, 3)
    with pytest.raises(ValueError, match="`n` must be an integer of at least 1"):
        mean_participation_entropy(0, 1)
    assert np.isnan(jax.jit(lambda q: mean_inverse_participation_ratio(3, 1, q))(-0.5))
