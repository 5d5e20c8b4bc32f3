"""The surmise from the GOE to the GUE: mpmath, matrices, derivatives."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import CrossoverSurmise
from rmtjax.testing import check_derivatives
from tests.laws.core.positive_axis import both_tails
from tests.statistical import assert_law


def functions(epsilon):
    """The density and the two tails, for 0 < ε < 1."""
    e = mpmath.mpf(epsilon)
    r = mpmath.sqrt(1 - e**2)
    unit = mpmath.sqrt(mpmath.pi / 2) / (e + mpmath.acos(e) / r)
    bell = lambda t: mpmath.exp(-(t**2) / 2) * mpmath.erf(r * t / (mpmath.sqrt(2) * e)) / r
    density = lambda s: s / unit**2 * bell(s / unit)
    above = lambda s: mpmath.erfc(s / (mpmath.sqrt(2) * e * unit)) + bell(s / unit)
    return density, lambda s: 1 - above(s), above


EPSILON = [2.0**-20, 2.0**-10, 0.0625, 0.5, 0.875, 0.953125]
test_both_tails = both_tails(
    CrossoverSurmise, functions, EPSILON, [1e-12, 1e-5, 1e-3, 0.03, 0.2, 0.7, 0.8, 1.0, 1.5, 4.0, 12.0]
)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILON)
def test_the_reference_is_a_law(epsilon):
    with mpmath.workdps(60):
        density, below, _ = functions(epsilon)
        assert abs(mpmath.diff(below, mpmath.mpf(0.7)) - density(mpmath.mpf(0.7))) < 1e-20


@pytest.mark.slow
def test_derivatives():
    s = jnp.array([0.1, 0.9, 3.0])
    check_derivatives(lambda law, s: (law.pdf(s), law.cdf(s), law.sf(s)), CrossoverSurmise(0.4), s)
    by_epsilon = jax.vmap(jax.grad(lambda e, s: CrossoverSurmise(e).logsf(s)), (None, 0))
    # Near ε = 1 the law is a function of 1 - ε² with a slope of its own; at 0 the mean makes it linear in ε.
    for epsilon in (2.0**-8, 0.25, 0.953125):
        slope = lambda s, e=epsilon: mpmath.diff(lambda e: mpmath.log(functions(e)[2](mpmath.mpf(s))), e)
        with mpmath.workdps(40):
            expected = [float(slope(x)) for x in (0.1, 0.9, 3.0)]
        np.testing.assert_allclose(by_epsilon(epsilon, s), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(by_epsilon(1.0, s), 0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(by_epsilon(0.0, s), 0, rtol=0, atol=1e-13)


def test_matrices():
    # One matrix in two dimensions has one spacing, here in units of its mean.
    epsilon, goe, law = 0.3, rmt.GOE(2), CrossoverSurmise(0.3)

    def spacing(key):
        keys = jax.random.split(key)
        imaginary = epsilon * jax.random.normal(keys[1]) * np.sqrt(1 / 2)
        matrix = jax.lax.complex(goe.sample(keys[0]), imaginary * jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
        return jnp.diff(jnp.linalg.eigvalsh(matrix))[0]

    draws = np.asarray(rmt.simulate(spacing, jax.random.key(6), 20000))
    # The levels of the GOE(2) differ by twice a Rayleigh variate of the variance of its off-diagonal element.
    unit = 2 * np.sqrt(1 / 2) * np.sqrt(2 / np.pi) * (epsilon + np.arccos(epsilon) / np.sqrt(1 - epsilon**2))
    assert_law(draws / unit, law.cdf)
    assert_law(np.asarray(law.sample(jax.random.key(7), (20000,))), law.cdf)
