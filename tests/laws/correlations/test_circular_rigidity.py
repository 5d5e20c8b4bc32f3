"""Rigidity on the circle: sums over form factors and integrals in mpmath, the limit, matrices."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import circular_form_factor, circular_rigidity, rigidity
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.statistical import assert_mean

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
BETAS = [1, 2, 4]


def mean_square_of_sine(angle):
    """The integral of 2 (1 - 2v + v³) sin²(angle v) over 0 < v < 1."""
    panels = mpmath.linspace(0, 1, int(angle / 3) + 2)
    return mpmath.quad(lambda v: 2 * (1 - 2 * v + v**3) * mpmath.sin(angle * v) ** 2, panels)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [2, 4])
def test_the_sum_over_form_factors(beta, dtype):
    # Σ² = L (1 - L/n) + 2 Σ n (K(t) - 1) sin²(πtL/n)/(πt)², where K is 1 from the time n or 2n on. The first term
    # gives L/15.
    for n in (2, 9):
        lengths, last = np.array([2.0**-8, 0.25, n / 2, n], dtype), n if beta == 2 else 2 * n
        with mpmath.workdps(20):
            excess = [n * (float(circular_form_factor(t, n, beta)) - 1) / t**2 for t in range(1, last)]
            sums = [
                sum(e * mean_square_of_sine(mpmath.pi * t * float(length) / n) for t, e in enumerate(excess, 1))
                for length in lengths
            ]
        expected = lengths / 15 + 2 / np.pi**2 * np.array(sums, float)
        got = circular_rigidity(lengths, n, beta)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=30 * np.finfo(dtype).eps)


def test_two_levels_of_the_coe():
    # The angle φ of two levels has the density sin(φ/2)/4, so E N (N - 1) = (a - 2 sin(a/2))/π in an arc of angle a.
    variance = lambda r: r + (mpmath.pi * r - 2 * mpmath.sin(mpmath.pi * r / 2)) / mpmath.pi - r**2
    for length in (0.3, 1.0, 1.7):
        with mpmath.workdps(20):
            expected = mpmath.quad(lambda v, x=length: 2 * (1 - 2 * v + v**3) * variance(x * v), [0, 0.5, 1])
        np.testing.assert_allclose(circular_rigidity(length, 2, 1), float(expected), rtol=1e-13)


@pytest.mark.parametrize("beta", BETAS)
def test_many_levels(beta):
    lengths = jnp.array([2.0**-8, 0.5, 3.0, 20.0])
    np.testing.assert_allclose(circular_rigidity(lengths, 200, beta), rigidity(lengths, beta), rtol=3e-6)


@pytest.mark.slow
@pytest.mark.float32
def test_the_range_of_lengths():
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    for beta in (0, *BETAS):
        got = circular_rigidity(jnp.array([0.0, -0.1, 5.1, jnp.inf, jnp.nan]), 5, beta)
        np.testing.assert_array_equal(got, [0, np.nan, np.nan, np.nan, np.nan])
        np.testing.assert_allclose(circular_rigidity(0.75, 1, beta), 0.05, rtol=20 * eps)
        slope = jax.grad(lambda x, beta=beta: circular_rigidity(x, 5, beta))(0.0)
        np.testing.assert_allclose(slope, 1 / 15, rtol=20 * eps)


def test_derivatives():
    check_derivatives(lambda x: [circular_rigidity(x, 5, beta) for beta in BETAS], jnp.array([0.3, 1.7, 4.4]))


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [rmt.COE(6), *further(rmt.CUE(6), rmt.CSE(6))])
def test_matrices(ensemble):
    beta, lengths = round(float(ensemble._beta())), jnp.array([0.7, 2.2, 5.0])

    def measure(key):
        return rmt.statistics.rigidity(rmt.statistics.unfold_phases(ensemble.eigenphases(key)), lengths)

    draws = np.asarray(rmt.simulate(measure, jax.random.key(8), 10000))
    for values, mean in zip(draws.T, circular_rigidity(lengths, 6, beta), strict=True):
        assert_mean(values, float(mean))
