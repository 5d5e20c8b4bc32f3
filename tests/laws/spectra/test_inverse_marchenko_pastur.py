"""The inverse Marčenko-Pastur law: values against 30 digits, moments, contract, bad input."""

import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws._core import fallbacks
from tests.statistical import assert_law

LAW = rmt.laws.InverseMarchenkoPastur(0.4, 1.2)


def reference(x):
    """Density from the formula in the docstring, and distribution function by its quadrature."""
    with mpmath.workdps(30):
        c, s2 = mpmath.mpf(LAW.ratio.item()), mpmath.mpf(LAW.scale.item()) ** 2
        lower, upper = s2 / (1 + mpmath.sqrt(c)) ** 2, s2 / (1 - mpmath.sqrt(c)) ** 2
        density = lambda t: mpmath.sqrt((upper - t) * (t - lower)) * (1 - c) / (2 * mpmath.pi * c * t**2)
        return float(density(x)), float(mpmath.quad(density, [lower, (lower + x) / 2, x]))


@pytest.mark.parametrize("x", [0.56, 0.7, 1.9, 6.0, 10.6])
def test_values(x):
    density, below = reference(x)
    np.testing.assert_allclose(LAW.pdf(x), density, rtol=1e-12)
    np.testing.assert_allclose(LAW.cdf(x), below, rtol=1e-11)
    np.testing.assert_allclose(LAW.cdf(x) + LAW.sf(x), 1, rtol=1e-14)


def test_moments():
    np.testing.assert_allclose(LAW.mean(), 1.2**2 / 0.6, rtol=1e-14)
    np.testing.assert_allclose(LAW.var(), LAW.moment(2) - LAW.mean() ** 2, rtol=1e-13)
    for k in range(5):
        np.testing.assert_allclose(LAW.moment(k), fallbacks.moment(LAW, k), rtol=1e-11)


@pytest.mark.slow
def test_sampler(getkey):
    assert_law(LAW.sample(getkey(), (20_000,)), LAW.cdf)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0,), r"`ratio` must lie in \(0, 1\), got 1"),
        ((0.0,), r"`ratio` must lie in \(0, 1\), got 0"),
        ((0.5, -1.0), "`scale` must be positive and finite, got -1"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        rmt.laws.InverseMarchenkoPastur(*arguments)
