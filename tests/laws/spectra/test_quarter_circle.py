"""The quarter-circle law: against mpmath up to both ends, the laws it comes from, the contract, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import MarchenkoPastur, QuarterCircle
from rmtjax.testing import check_derivatives
from tests.cases import every_dtype
from tests.laws.core.methods import FRACTIONS, check_ulps, columns_of


@pytest.mark.slow
@every_dtype
def test_a_few_ulp_of_relative_error_up_to_both_ends(dtype):
    x = np.array([1e-30, 0.75, *(1.5 * fraction for fraction in FRACTIONS)], np.float32).astype(float)
    with mpmath.workdps(60):
        u = [mpmath.mpf(point) / mpmath.mpf(1.5) for point in x]
        cdf = [2 / mpmath.pi * (mpmath.asin(v) + v * mpmath.sqrt(1 - v**2)) for v in u]
        pdf = [4 / (mpmath.pi * mpmath.mpf(1.5)) * mpmath.sqrt(1 - v**2) for v in u]
        _, expected = columns_of(x, pdf, cdf, [1 - p for p in cdf])
    check_ulps(QuarterCircle(1.5), x, expected, dtype)


@pytest.mark.float32
def test_moments():
    law = QuarterCircle(1.5)
    density = lambda x: 4 / (mpmath.pi * 2.25) * mpmath.sqrt(2.25 - x**2)
    expected = [mpmath.quad(lambda x, k=k: x**k * density(x), [0, 1, 1.5]) for k in range(12)]
    got = jax.jit(lambda law: [law.moment(k) for k in range(12)])(law)
    np.testing.assert_allclose(got, np.array(expected, float), rtol=10 * jnp.finfo(got[0].dtype).eps)
    variance = float(expected[2] - expected[1] ** 2)
    np.testing.assert_allclose(law.var(), variance, rtol=10 * jnp.finfo(got[0].dtype).eps)


def test_free_cumulants_against_exact_arithmetic():
    with mpmath.workdps(40):
        moments = [
            mpmath.gamma((k + mpmath.mpf(1)) / 2) / mpmath.sqrt(mpmath.pi) / mpmath.gamma(k / 2 + mpmath.mpf(2))
            for k in map(mpmath.mpf, range(11))
        ]
        # By M(z) = C(z M(z)), the cumulants follow one by one, subtracting the powers of z M(z).
        powers, cumulants = [[mpmath.mpf(1)] + [mpmath.mpf(0)] * 10], []
        for _ in range(10):
            powers.append([sum(powers[-1][i] * moments[n - i] for i in range(n + 1)) for n in range(11)])
        for n in range(1, 11):
            rest = sum(cumulants[j - 1] * powers[j][n - j] for j in range(1, n))
            cumulants.append(moments[n] - rest)
    law = QuarterCircle(1.0)
    np.testing.assert_allclose([law.free_cumulant(k) for k in range(1, 11)], np.array(cumulants, float), rtol=1e-15)


def test_the_laws_that_it_comes_from():
    law, x = QuarterCircle(2.0), np.linspace(0.1, 1.9, 7)
    np.testing.assert_allclose(law.cdf(x), MarchenkoPastur(1.0).cdf(x**2), rtol=1e-13)
    np.testing.assert_array_equal(law.pdf(jnp.array([0.0, 2.0, -1e-9])), [2 / np.pi, 0, 0])
    singular = np.linalg.svd(np.random.default_rng(5).normal(size=(400, 400)) / 20, compute_uv=False)
    p = np.array([0.25, 0.5, 0.9])
    np.testing.assert_allclose(law.cdf(np.quantile(singular, p)), p, rtol=0, atol=0.01)


@pytest.mark.float32(further=True)
@pytest.mark.slow
def test_derivatives():
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x), law.ppf(x / 2))
    check_derivatives(formulas, QuarterCircle(1.5), jnp.array([0.1, 0.7, 1.4]), second_derivative=True)


def test_the_transform_near_the_logarithm_at_0():
    law, z = QuarterCircle(2.0), np.array([1e-8 + 1e-9j, -1e-20 + 0j, 1e-30 + 1e-12j, 1e-200 - 1e-200j])
    with mpmath.workdps(500):

        def transform(z):
            s = mpmath.sqrt(z / 2 - 1) * mpmath.sqrt(z / 2 + 1)
            return 2 / mpmath.pi * (mpmath.pi / 2 * (z / 2 - s) + 1 - s * mpmath.atan(1 / s))

        upper = [transform(mpmath.mpc(abs(point.real) * np.sign(point.real), abs(point.imag) or 1e-300)) for point in z]
    expected = [complex(g if point.imag >= 0 else g.conjugate()) for g, point in zip(upper, z, strict=True)]
    np.testing.assert_allclose(law.stieltjes(z), expected, rtol=1e-14)
    assert law.stieltjes(0.0).real == -jnp.inf


@pytest.mark.parametrize("radius", [0.0, -1.0, np.inf, np.nan, "x", [1.0, 2.0]])
def test_bad_radii(radius):
    with pytest.raises(ValueError, match="`radius` must be"):
        QuarterCircle(radius)
