"""Free products whose density has a hard edge at 0, in every decade down to the smallest numbers."""

import itertools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import (
    Arcsine,
    Empirical,
    FreeCompression,
    FreeProduct,
    FreeSum,
    FussCatalan,
    MarchenkoPastur,
    Mixture,
    Uniform,
)

HALF = Empirical([0.0, 1.0])
PARTS = {
    "uniform": Uniform(0.0, 1.0),
    "Wishart": MarchenkoPastur(0.5),
    "square Wishart": MarchenkoPastur(1.0),
    "levels": Empirical([1.0, 2.0]),
    "a level at 0": Empirical([0.0, 1.0, 3.0], [0.2, 0.3, 0.5]),
    "arcsine": Arcsine(0.5).shifted(0.5),
    "a corner": FreeCompression(Uniform(0.0, 1.0), 0.5),
    "a sum": FreeSum(Uniform(0.0, 1.0), Uniform(0.0, 1.0)),
    "a mixture": Mixture([0.5, 0.5], [Uniform(0.0, 1.0), Uniform(2.0, 3.0)]),
    "a corner of a projection": FreeCompression(HALF, 0.5),
}
DAILY = [("uniform", "Wishart")]
# Parts that know the distance from their own hard edge as well as a number of order 1.
COARSE = {"arcsine", "a corner of a projection"}


def _pairs():
    for pair in itertools.combinations_with_replacement(PARTS, 2):
        marks = [pytest.mark.float32(further=True)] if pair in DAILY else [pytest.mark.slow]
        yield pytest.param(*pair, marks=marks, id=", ".join(pair))


@jax.jit
def values(law, x):
    return law.cdf(x), law.pdf(x)


@jax.jit
def quantiles(law, q):
    return law.ppf(q)


@pytest.mark.parametrize(("first", "second"), list(_pairs()))
def test_every_decade(first, second):
    """Squares of small points were 0, and a large image next to a small point was lost in the step to it."""
    a, b = PARTS[first], PARTS[second]
    info = jnp.finfo(jnp.zeros(0).dtype)
    eps = float(info.eps)
    # Their mass in an ulp is the root of it.
    eps = eps**0.5 / 32 if COARSE & {first, second} else eps
    decades = np.arange(np.ceil(np.log10(float(info.tiny))), 1.0)
    x = jnp.asarray(10.0**decades)
    laws = [FreeProduct(a, b)] if first == second else [FreeProduct(a, b), FreeProduct(b, a)]
    masses = []
    for law in laws:
        below, density = map(np.asarray, values(law, x))
        at_zero = float(law.cdf(0.0))
        assert np.isfinite(below).all()
        assert not np.isnan(density).any()
        assert np.diff(below, prepend=at_zero).min() > -32 * eps
        q = jnp.asarray(at_zero + (1 - at_zero) * np.array([0.02, 0.3, 0.5, 0.9, 0.99]))
        quantile = quantiles(law, q)
        again, density = values(law, quantile)
        # The quantile is known to some ulp.
        np.testing.assert_allclose(again, q, rtol=0, atol=64 * eps * (1 + np.max(np.asarray(density * quantile))))
        masses.append(below)
    np.testing.assert_allclose(masses[0], masses[-1], rtol=0, atol=64 * eps)


@pytest.mark.float32
def test_the_density_of_a_product_of_uniform_laws():
    """Next to 0 the transform of the uniform law was that of a point with half of the digits, or of none."""
    law = FreeProduct(Uniform(0.0, 1.0), Uniform(0.0, 1.0))
    x = jnp.asarray([1e-30, 1e-20, 1e-10, 1e-3, 0.1])
    expected = []
    with mpmath.workdps(50):
        # By symmetry both subordinate points are w, and w h(w) = -z.
        transform = lambda w: mpmath.log(w / (w - 1))
        for point, start in zip(map(float, x), np.asarray(law.subordinate(x)), strict=True):
            w = mpmath.findroot(lambda w: w / transform(w) - w**2 + point, mpmath.mpc(complex(start)))  # noqa: B023
            assert w.imag > 0
            expected.append(float(-mpmath.im(w * transform(w)) / point / mpmath.pi))
    np.testing.assert_allclose(law.pdf(x), expected, rtol=64 * float(jnp.finfo(x.dtype).eps))


def test_nested_products_down_to_the_smallest_numbers():
    square = MarchenkoPastur(1.0)
    law, closed, x = FreeProduct(FreeProduct(square, square), square), FussCatalan(3), jnp.logspace(-30, -1, 30)
    np.testing.assert_allclose(law.pdf(x), closed.pdf(x), rtol=1e-14)
    np.testing.assert_allclose(law.cdf(x), closed.cdf(x), rtol=0, atol=4e-15)
