"""The surmise from independent levels to the GOE: mpmath, matrices, derivatives."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import PoissonCrossoverSurmise
from rmtjax.testing import check_derivatives
from tests.laws.core.positive_axis import both_tails
from tests.statistical import assert_law


def mean_distance(coupling):
    return mpmath.sqrt(mpmath.pi) * mpmath.hyperu(mpmath.mpf(-1) / 2, 0, coupling**2)


def mean_of_bessel(order, t, coupling):
    """The integral of Lenz and Haake over ξ with the Bessel function of the order, times e^{-t²}."""
    peak, width = max(t - coupling, 0), 1 / (1 + max(coupling - t, 0))
    steps = [peak + d for d in (-14, -5, -1.5) if peak + d > 0]
    points = [max(peak - 14, 0), *steps[peak > 14 :], peak, *(peak + width * d for d in (0.3, 1.5, 5, 14, 40, 100))]
    density = lambda x: mpmath.exp(-((x - peak) ** 2) - 2 * x * (coupling - t + peak) - 2 * t * x)
    integral = mpmath.quad(lambda x: density(x) * mpmath.besseli(order, 2 * t * x), sorted(set(points)))
    return mpmath.exp(peak**2 - t**2) * integral


def functions(coupling):
    """The density and the two tails, for λ > 0."""
    c = mpmath.mpf(coupling)
    u = mean_distance(c)
    slope = u / (2 * c)
    density = lambda s: u * 2 * slope * s * mean_of_bessel(0, slope * s, c)
    above = functools.cache(lambda s: mpmath.exp(-((slope * s) ** 2)) + 2 * slope * s * mean_of_bessel(1, slope * s, c))
    return density, lambda s: 1 - above(s), above


COUPLINGS = [2.0**-20, 0.0625, 0.5, 1.5, 64.0]
S = [1e-12, 1e-5, 1e-3, 0.03, 0.2, 0.7, 1.5, 8.0, 12.0]
test_both_tails = both_tails(PoissonCrossoverSurmise, functions, COUPLINGS, S, ulp=60)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_the_reference_is_a_law(coupling):
    with mpmath.workdps(60):
        density, below, _ = functions(coupling)
        assert abs(mpmath.diff(below, mpmath.mpf(0.7)) - density(mpmath.mpf(0.7))) < 1e-20


def test_where_the_formulas_meet():
    # The series end at t = 6.5, and the series of the mean at λ² = 2.
    for coupling in (1e-5, 0.03, 0.2, 0.8, 3.0):
        law = PoissonCrossoverSurmise(coupling)
        with mpmath.workdps(30):
            seam = float(13 * coupling / mean_distance(mpmath.mpf(coupling)))
        s = seam * (1 + 1e-13 * np.array([-1, 1]))
        for method in ("logpdf", "logcdf", "logsf"):
            values = getattr(law, method)(s)
            np.testing.assert_allclose(values[0], values[1], rtol=1e-12, atol=1e-12)


def test_slope_at_zero():
    with mpmath.workdps(30):
        c = mpmath.mpf(0.375)
        slope = mpmath.sqrt(mpmath.pi) / 2 * mean_distance(c) ** 2 / c * mpmath.exp(c**2) * mpmath.erfc(c)
    np.testing.assert_allclose(PoissonCrossoverSurmise(0.375).pdf(1e-9) / 1e-9, float(slope), rtol=1e-13)


@pytest.mark.slow
def test_derivatives():
    s = jnp.array([0.1, 0.9, 3.0])
    check_derivatives(lambda law, s: (law.pdf(s), law.cdf(s), law.sf(s)), PoissonCrossoverSurmise(0.15), s)
    by_coupling = jax.vmap(jax.grad(lambda c, s: PoissonCrossoverSurmise(c).logsf(s)), (None, 0))
    for coupling in (2.0**-16, 0.25, 1.5, 6.0):
        slope = lambda s, c=coupling: mpmath.diff(lambda c: mpmath.log(functions(c)[2](mpmath.mpf(s))), c, h=1e-12 * c)
        with mpmath.workdps(40):
            expected = [float(slope(x)) for x in (0.1, 0.9, 3.0)]
        np.testing.assert_allclose(by_coupling(coupling, s), expected, rtol=1e-10, atol=1e-13)
    for coupling in (0.0, 1e-300, 1e-17, 1e6, 1e12):
        np.testing.assert_allclose(by_coupling(coupling, s), 0, rtol=0, atol=1e-13)


def test_matrices():
    # One matrix in two dimensions has one spacing.
    coupling, goe, law = 0.3, rmt.GOE(2), PoissonCrossoverSurmise(0.3)

    def spacing(key):
        keys = jax.random.split(key)
        levels = jnp.array([0.0, 1.0]) * jax.random.exponential(keys[1])
        return jnp.diff(jnp.linalg.eigvalsh(jnp.diag(levels) + coupling * goe.sample(keys[0])))[0]

    draws = np.asarray(rmt.simulate(spacing, jax.random.key(6), 20000))
    unit = float(mean_distance(mpmath.mpf(coupling)))
    assert_law(draws / unit, law.cdf)
    assert_law(np.asarray(law.sample(jax.random.key(7), (20000,))), law.cdf)
    with pytest.raises(AssertionError):
        assert_law(draws / float(mean_distance(mpmath.mpf(0.2))), PoissonCrossoverSurmise(0.2).cdf)
