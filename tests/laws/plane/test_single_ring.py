"""The single ring law: two singular values in closed form, the circular and the truncated law, matrices, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import CircularLaw, MarchenkoPastur, QuarterCircle, SingleRing, TruncatedUnitaryLaw, Wachter
from rmtjax.testing import check_derivatives, check_dtypes, check_jit, check_vmap
from tests.statistical import assert_law

LEVELS = (np.arange(500) + 0.5) / 500


def of_two(t, a, b):
    """P(|Z|² ≤ t) for two singular values a and b, for which the equation is linear in p."""
    a, b = a**2, b**2
    return -((t - a) * b + (t - b) * a) / (2 * (t - a) * (t - b))


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32), np.float64])
def test_two_singular_values(dtype):
    law = SingleRing(np.array([2, 1], dtype))
    inner, outer = 1.6, 2.5
    t = inner + (outer - inner) * np.array([0.01, 0.2, 0.5, 0.9, 0.999])
    r = np.sqrt(t).astype(dtype)
    got = law.radial_cdf(r)
    assert got.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, of_two(r.astype(float) ** 2, 1, 2), rtol=8 * eps, atol=30 * eps)
    density = [float(mpmath.diff(lambda s: of_two(s, 1, 2), float(s) ** 2)) / np.pi for s in r]
    np.testing.assert_allclose(law.pdf(r), density, rtol=300 * eps)
    np.testing.assert_array_equal(law.radial_cdf(np.array([-1.0, 0.0, 1.26, 1.59, np.inf], dtype)), [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(law.pdf(np.array([0.0, 1.26, 1.59, np.inf], dtype)), 0)
    assert jnp.isnan(law.radial_cdf(dtype(np.nan)))
    np.testing.assert_allclose(np.sqrt(law._square(got)), r, rtol=100 * eps)


def test_weights_by_repetition_and_any_order():
    law, r = SingleRing([1.0, 1.0, 3.0, 0.5]), np.array([1.1, 1.2, 1.5])
    np.testing.assert_allclose(law.radial_cdf(r), SingleRing([3.0, 0.5, 1.0, 1.0]).radial_cdf(r), rtol=1e-13)
    assert (np.abs(law.radial_cdf(r) - SingleRing([3.0, 0.5, 1.0]).radial_cdf(r)) > 1e-3).all()
    np.testing.assert_allclose(SingleRing([1.0, 1.0, 2.0, 2.0]).radial_cdf(1.5), SingleRing([1.0, 2.0]).radial_cdf(1.5))


def test_inversion_turns_the_ring_inside_out():
    sigma, r = np.array([0.4, 0.9, 1.7, 2.0]), np.array([0.8, 1.0, 1.3])
    total = SingleRing(sigma).radial_cdf(r) + SingleRing(1 / sigma).radial_cdf(1 / r)
    np.testing.assert_allclose(total, 1, rtol=1e-13)


@pytest.mark.parametrize(
    ("squares", "law"),
    [
        (QuarterCircle(2.0).ppf(LEVELS) ** 2, CircularLaw()),
        (Wachter(1.0, 1.5).ppf(LEVELS), TruncatedUnitaryLaw(0.4)),
        (Wachter(1.0, 0.25).ppf(LEVELS), TruncatedUnitaryLaw(0.8)),  # most singular values are 1
        (MarchenkoPastur(0.5).ppf(LEVELS), CircularLaw(1.0, 0.5**0.5)),
    ],
)
def test_known_rings(squares, law):
    ring = SingleRing(jnp.sqrt(squares))
    inner, outer = map(float, law._ends())
    r = np.sqrt(inner + (outer - inner) * np.array([0.1, 0.5, 0.9]))
    # Quantiles in place of the law make an error of about 1e-5.
    np.testing.assert_allclose(ring.radial_cdf(r), law.radial_cdf(r), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ring.pdf(r), law.pdf(r), rtol=5e-3)


@pytest.mark.slow
def test_it_is_the_law_of_matrices():
    sigma = np.repeat([0.5, 1.0, 2.0], 100)
    gaussian = np.random.default_rng(5).normal(size=(4, 300, 300))
    u, v = np.linalg.qr(gaussian[:2] + 1j * gaussian[2:])[0]
    moduli = np.abs(np.linalg.eigvals(u * sigma @ v))
    law = SingleRing([0.5, 1.0, 2.0])
    p = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(law.radial_cdf(np.quantile(moduli, p)), p, rtol=0, atol=0.02)


@pytest.mark.float32
def test_sampler(getkey):
    law = SingleRing([0.5, 0.9, 1.4])
    z = np.asarray(law.sample(getkey(), (5_000,)))
    assert_law(np.abs(z), law.radial_cdf)
    assert_law(np.angle(z), lambda angle: (angle + np.pi) / (2 * np.pi))


def test_derivatives():
    r = jnp.array([0.8, 0.95])
    quantities = lambda law, r: (law.radial_cdf(r), law.pdf(r), law._square(r / 2))
    check_derivatives(quantities, SingleRing([0.5, 0.9, 1.4]), r)
    # The derivative of the distribution of T = R² is its density.
    slope = jax.grad(lambda t: SingleRing([1.0, 2.0]).radial_cdf(jnp.sqrt(t)))(2.0)
    np.testing.assert_allclose(slope, np.pi * SingleRing([1.0, 2.0]).pdf(2**0.5), rtol=1e-12)
    ends = jnp.array([0.0, 1.6**0.5, 2.5**0.5, 5.0])
    assert jnp.isfinite(jax.vmap(jax.grad(SingleRing([1.0, 2.0]).radial_cdf))(ends)).all()


@pytest.mark.slow
def test_composes():
    quantities = lambda law, r: (law.radial_cdf(r), law.pdf(r))
    for check in (check_jit, check_vmap, check_dtypes):
        check(quantities, SingleRing([0.5, 0.9, 1.4]), jnp.array([0.8, 0.95]))


@pytest.mark.parametrize(
    "value", [1.0, [1.0], [[1.0, 2.0]], [1.0, 0.0], [1.0, -1.0], [1.0, np.inf], [1.0, np.nan], [2.0, 2.0]]
)
def test_bad_singular_values(value):
    with pytest.raises(ValueError, match="`singular_values` must"):
        SingleRing(value)
