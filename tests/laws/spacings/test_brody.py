"""Brody's law: both tails against mpmath, moments, derivatives."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import Brody
from rmtjax.testing import check_derivatives
from tests.laws.core.methods import check_slopes, methods_at
from tests.laws.core.positive_axis import both_tails


def functions(q):
    power = mpmath.mpf(q) + 1
    b = mpmath.gamma(1 + 1 / power) ** power
    density = lambda s: power * b * s ** (power - 1) * mpmath.exp(-b * s**power)
    return density, lambda s: -mpmath.expm1(-b * s**power), lambda s: mpmath.exp(-b * s**power)


test_both_tails = both_tails(Brody, functions, [-0.5, 0.0, 0.375, 1.0], [1e-20, 1e-4, 0.1, 0.7, 1.0, 1.5, 4.0, 20.0])


@pytest.mark.float32
def test_moments():
    law = Brody(0.5)
    with mpmath.workdps(30):
        b = mpmath.gamma(mpmath.mpf(5) / 3) ** 1.5
        moments = [
            float(mpmath.quad(lambda s, k=k: k * s ** (k - 1) * mpmath.exp(-b * s**1.5), [0, 1, 4, 40]))
            for k in (1, 2, 3)
        ]
    eps = jnp.finfo(law.mean().dtype).eps
    np.testing.assert_allclose([law.moment(k) for k in (1, 2, 3)], moments, rtol=40 * eps)
    np.testing.assert_allclose(law.var(), moments[1] - 1, rtol=100 * eps)


def test_derivatives():
    s = jnp.array([0.1, 0.9, 3.0])
    check_derivatives(lambda law, s: (law.cdf(s), law.logsf(s), law.pdf(s), law.ppf(s / 4)), Brody(0.3), s)
    by_q = jax.grad(lambda q: Brody(q).sf(2.0))
    with mpmath.workdps(40):
        sf = lambda q: mpmath.exp(-((2 * mpmath.gamma(1 + 1 / (q + 1))) ** (q + 1)))
        expected = [float(mpmath.diff(sf, q)) for q in (0, 1)]
    np.testing.assert_allclose([by_q(0.0), by_q(1.0)], expected, rtol=1e-12)


@pytest.mark.float32
@pytest.mark.parametrize(("q", "s"), [(3.0, 1e15), (10.0, 1e4), (50.0, 30.0)])
def test_derivatives_are_finite_where_powers_overflow(q, s):
    law, s = Brody(np.float32(q)), np.array([s], np.float32)
    check_slopes(law, s)
    assert methods_at(law, s)["cdf"] == 1
