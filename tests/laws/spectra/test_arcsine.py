"""The arcsine law: against mpmath up to the edges, laws that equal it, the contract, bad input."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import Arcsine, KestenMcKay
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype
from tests.laws.core.methods import FRACTIONS, check_ulps, columns_of


@every_dtype
def test_a_few_ulp_of_relative_error_up_to_the_edges(dtype):
    x = [1.5 * (2 * fraction - 1) for fraction in [*FRACTIONS, 0.5]]
    with mpmath.workdps(40):
        points, radius = list(map(mpmath.mpf, x)), mpmath.mpf(1.5)
        below = lambda y: mpmath.acos(-y / radius) / mpmath.pi
        pdf = [1 / (mpmath.pi * mpmath.sqrt(radius**2 - y**2)) for y in points]
        _, expected = columns_of(x, pdf, [below(y) for y in points], [below(-y) for y in points])
    check_ulps(Arcsine(1.5), x, expected, dtype)


@pytest.mark.float32
def test_quantile_inverts_the_distribution():
    law, p = Arcsine(1.5), jnp.array([0.0, 1e-4, 0.3, 0.5, 0.9, 1.0])
    x = law.ppf(p)
    np.testing.assert_allclose(x, -1.5 * np.cos(np.pi * np.asarray(p)), rtol=0, atol=4 * jnp.finfo(x.dtype).eps)
    assert (x[3], x[0], x[-1]) == (0, -1.5, 1.5)
    assert jnp.isnan(law.ppf(jnp.array([-0.1, 1.1]))).all()


def test_moments_and_the_law_that_it_is():
    law, x = Arcsine(1.5), np.linspace(-1.4, 1.4, 9)
    angles = (np.arange(64) + 0.5) * np.pi / 64
    for k in range(10):
        np.testing.assert_allclose(law.moment(k), np.mean((1.5 * np.cos(angles)) ** k), rtol=1e-13, atol=1e-13)
    # The binomial coefficient overflows float64; Wallis' formula gives the moment.
    np.testing.assert_allclose(Arcsine(1.0).moment(1500), (1 - 1 / 6000) / np.sqrt(750 * np.pi), rtol=1e-7)
    assert (law.mean(), law.var()) == (0, 1.125)
    np.testing.assert_allclose(Arcsine(2.0).cdf(x), KestenMcKay(2).cdf(x), rtol=1e-13)


@pytest.mark.float32
def test_derivatives():
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x), law.ppf((x + 2) / 4))
    check_derivatives(formulas, Arcsine(1.5), jnp.array([-1.4, 0.0, 0.3]), second_derivative=True)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.inf, np.nan, "x", [1.0, 2.0]])
def test_bad_radii(radius):
    with pytest.raises(ValueError, match="`radius` must be"):
        Arcsine(radius)
