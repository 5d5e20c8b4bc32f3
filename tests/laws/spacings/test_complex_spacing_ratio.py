"""The law of complex spacing ratios: its mass, symmetry and samples. Matrices are in the statistic's tests."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import ComplexSpacingRatio
from tests.statistical import assert_counts, assert_law

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
ANGLES = (np.arange(80) + 0.5) * np.pi / 40


def integral(fn, radius=1.0):
    """The mean of a function over a disc, by quadrature in polar coordinates."""
    r = radius * (NODES + 1) / 2
    z = r[:, None] * np.exp(1j * ANGLES)
    return radius * np.pi * np.sum(WEIGHTS * r * np.mean(np.asarray(ComplexSpacingRatio().pdf(z)) * fn(z), axis=-1))


def test_mass():
    for radius in (0.3, 0.7, 1.0):
        mass = integral(np.ones_like, radius)
        np.testing.assert_allclose(mass, ComplexSpacingRatio().radial_cdf(radius), rtol=1e-12)


@pytest.mark.float32
def test_density():
    law, tolerance = ComplexSpacingRatio(), 100 * jnp.finfo(jnp.zeros(0).dtype).eps
    z = np.array([0.3 + 0.4j, -0.7 + 0.1j])
    np.testing.assert_allclose(law.pdf(z), law.pdf(z.conj()), rtol=tolerance)
    np.testing.assert_array_equal(law.pdf(np.array([0, 1, 1.01j, np.inf])), 0)
    # It vanishes as the square of the distance from 0 and from 1.
    e = 1e-3
    np.testing.assert_allclose(law.pdf(e * 1j) / law.pdf(e * 1j / 4), 16, rtol=0.01)
    np.testing.assert_allclose(law.pdf(1 - e) / law.pdf(1 - e / 4), 16, rtol=0.02)
    slope = jax.vmap(jax.grad(lambda x: law.pdf(x.astype(complex) + 0.1j)))(jnp.array([-2.0, -0.1, 0.0, 0.5, 0.995]))
    assert np.isfinite(slope).all()


@pytest.mark.float32
def test_radial_law():
    law = ComplexSpacingRatio()
    p = np.array([1e-12, 1e-3, 0.3, 0.999])
    r = law.radial_ppf(p)
    np.testing.assert_allclose(law.radial_cdf(r), p, rtol=100 * np.finfo(r.dtype).eps)
    np.testing.assert_array_equal(law.radial_ppf(np.array([0.0, 1.0, -0.1, 1.1])), [0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(law.radial_cdf(np.array([-1.0, 0.0, 1.0, np.inf])), [0, 0, 1, 1])
    assert np.isfinite(jax.grad(law.radial_ppf)(0.0))
    slope = jax.grad(lambda p: law.radial_cdf(law.radial_ppf(p)))(0.2)
    np.testing.assert_allclose(slope, 1, rtol=1e-4 if r.dtype == np.float32 else 1e-10)


@pytest.mark.float32
def test_sampler(getkey):
    law = ComplexSpacingRatio()
    z = np.asarray(law.sample(getkey(), (20_000,)))
    assert_law(np.abs(z), law.radial_cdf)
    # Sectors and rings together, and both sides of the real axis.
    half, rings = np.floor(np.abs(np.angle(z)) / np.pi * 6).astype(int), np.digitize(np.abs(z), [0.6, 0.85])
    shares = [[0.0] * 6 for _ in range(3)]
    for ring, (low, high) in enumerate([(0, 0.6), (0.6, 0.85), (0.85, 1)]):
        r = low + (high - low) * (NODES + 1) / 2
        for sector in range(6):
            angle = (sector + (NODES + 1) / 2) * np.pi / 6
            density = np.asarray(law.pdf(r[:, None] * np.exp(1j * angle)))
            shares[ring][sector] = (WEIGHTS * r) @ density @ WEIGHTS * (high - low) / 2 * np.pi / 6
    np.testing.assert_allclose(np.sum(shares), 1, rtol=1e-5)
    assert_counts(np.bincount(6 * rings + np.minimum(half, 5), minlength=18), np.ravel(shares) / np.sum(shares))
    assert_counts(np.array([(z.imag > 0).sum(), (z.imag <= 0).sum()]), np.array([0.5, 0.5]))
