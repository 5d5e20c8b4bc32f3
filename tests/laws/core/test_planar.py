"""Planar laws: mass and radial laws by quadrature, samplers, special cases, ends and bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.testing import check_derivatives, check_dtypes
from tests.statistical import assert_law, assert_mean

LAWS = {
    "disc": rmt.laws.CircularLaw(1.5),
    "ring": rmt.laws.CircularLaw(1.5, 0.5),
    "power": rmt.laws.CircularPowerLaw(3, 1.5),
    "ellipse": rmt.laws.EllipticLaw(0.4, 1.5),
    "upright": rmt.laws.EllipticLaw(-0.4, 1.5),
    "truncated": rmt.laws.TruncatedUnitaryLaw(0.4),
    "spherical": rmt.laws.SphericalLaw(),
}
# The mean density along a circle is smooth between and beyond these radii.
BREAKS = {"disc": [1.5], "ring": [0.5, 1.5], "ellipse": [0.9, 2.1], "upright": [0.9, 2.1], "truncated": [0.4**0.5]}
BREAKS |= {"power": [1.5], "spherical": [5.0]}
RADII = np.array([0.0, 0.2, 0.45, 0.6, 1.2, 1.49, 1.9, 2.2])


def mass_of_disc(name, law, radius):
    """The mass by quadrature of the density, in polar coordinates."""
    theta = (np.arange(4000) + 0.5) * 2 * np.pi / 4000
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.unique(np.clip([0.0, *BREAKS[name], radius], 0, radius)) ** (1 / 3)
    total = 0.0
    for a, b in itertools.pairwise(ends):
        u = a + (b - a) * (nodes + 1) / 2  # r = u³ removes the singularity of a power
        circle = np.asarray(law.pdf(u[:, None] ** 3 * np.exp(1j * theta))).mean(-1)
        total += 2 * np.pi * np.sum(circle * u**3 * 3 * u**2 * weights) * (b - a) / 2
    return total


@pytest.mark.parametrize("name", LAWS)
def test_mass_of_discs_is_that_of_the_density(name):
    law = LAWS[name]
    # On ellipses the density jumps along the circle, which makes an error of 1/4000 of it.
    accuracy = 1e-3 if name in ("ellipse", "upright") else 1e-6
    for radius in (0.45, 0.6, 1.2, 1.9, 2.2):
        np.testing.assert_allclose(law.radial_cdf(radius), mass_of_disc(name, law, radius), rtol=0, atol=accuracy)


@pytest.mark.float32
@pytest.mark.parametrize("name", LAWS)
def test_radial_cdf(name):
    law, r = LAWS[name], RADII
    expected = {
        "disc": r**2 / 2.25,
        "ring": (r**2 - 0.25) / 2,
        "power": (r / 1.5) ** (2 / 3),
        "truncated": 1.5 * r**2 / np.where(r < 1, 1 - r**2, 1e-9),
        "spherical": r**2 / (1 + r**2),
    }
    values = law.radial_cdf(r)
    if name in expected:
        rtol = 20 * np.finfo(values.dtype).eps
        np.testing.assert_allclose(values, np.clip(expected[name], 0, 1), rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(law.radial_cdf(np.array([-1.0, 0.0])), 0)
    assert law.radial_cdf(np.inf) == 1
    assert jnp.isnan(law.radial_cdf(jnp.array([jnp.nan, 0.3]))).tolist() == [True, False]
    assert jnp.isnan(law.pdf(jnp.array([jnp.nan, complex(0, np.nan), 0.7]))).tolist() == [True, True, False]
    assert law.pdf(np.array([complex(np.inf, -np.inf)])) == 0


@pytest.mark.float32
@pytest.mark.parametrize("name", LAWS)
def test_sampler(getkey, name):
    law = LAWS[name]
    z = np.asarray(law.sample(getkey(), (20_000,)))
    assert_law(np.abs(z), law.radial_cdf)
    assert (np.asarray(law.pdf(z * (1 - 1e-6))) > 0).all()
    if name in ("ellipse", "upright"):
        a, b = law._axes()
        assert_mean((z**2).real, (a**2 - b**2) / 4)
        assert_mean(np.abs(z) ** 2, (a**2 + b**2) / 4)
    else:
        assert_law(np.angle(z), lambda angle: (angle + np.pi) / (2 * np.pi))


@pytest.mark.float32
@pytest.mark.parametrize("name", LAWS)
def test_radial_quantiles_invert_the_distribution_of_the_modulus(name):
    law = LAWS[name]
    p = np.array([1e-6, 0.1, 0.5, 0.9])
    r = law.radial_ppf(p)
    rtol = 100 * np.finfo(r.dtype).eps
    np.testing.assert_allclose(law.radial_cdf(r), p, rtol=rtol, atol=rtol if name == "ring" else 0)
    ends = law.radial_ppf(np.array([0.0, 1.0, -0.1, 1.1, np.nan]))
    lower, upper = (0.5, 1.5) if name == "ring" else (0, BREAKS[name][-1] if name != "spherical" else np.inf)
    np.testing.assert_allclose(ends, [lower, upper, np.nan, np.nan, np.nan], rtol=rtol)
    slope = jax.vmap(jax.grad(lambda p: law.radial_cdf(law.radial_ppf(p))))(jnp.asarray(p))
    np.testing.assert_allclose(slope, 1, rtol=1e-3 if slope.dtype == np.float32 else 1e-8)
    assert np.isfinite(jax.grad(law.radial_ppf)(0.0))


@pytest.mark.float32
@pytest.mark.parametrize("name", LAWS)
def test_logarithm_of_the_density(name):
    law, z = LAWS[name], jnp.array([0.55, 0.55j, 7.0, jnp.nan])
    with np.errstate(divide="ignore"):
        expected = np.log(np.asarray(law.pdf(z)))
    np.testing.assert_allclose(law.logpdf(z), expected, rtol=1e-5)
    assert jnp.isfinite(jax.vmap(jax.grad(lambda z: law.logpdf(z.astype(complex) + 0.1j)))(jnp.array([0.3, 7.0]))).all()


@pytest.mark.float32
def test_logarithms_where_the_density_underflows():
    law, size = rmt.laws.SphericalLaw(), np.array([1e10, 1e15, 1e30])
    np.testing.assert_allclose(law.logpdf(size * 0.6 + 0.8j * size), -np.log(np.pi) - 4 * np.log(size), rtol=1e-6)
    np.testing.assert_array_equal(law.logpdf(np.array([np.inf, complex(0, np.inf)])), -np.inf)
    assert np.isfinite(jax.grad(lambda r: law.logpdf(r + 0.0j))(1e30))


@pytest.mark.float32
def test_quantiles_of_powers_do_not_underflow():
    np.testing.assert_allclose(rmt.laws.CircularPowerLaw(4, 1.5).radial_ppf(1e-10), 1.5e-20, rtol=1e-5)
    np.testing.assert_allclose(rmt.laws.CircularPowerLaw(2).radial_ppf(1e-30), 1e-30, rtol=1e-5)


def test_density_of_ellipses_is_their_area():
    law = rmt.laws.EllipticLaw(-0.4, 1.5)
    np.testing.assert_allclose(law.pdf(jnp.array([0.0, 0.89, 2.09j])), 1 / (np.pi * 0.9 * 2.1), rtol=1e-14)
    np.testing.assert_array_equal(law.pdf(jnp.array([0.91, 2.11j, 5.0])), 0)


def test_special_cases():
    for law in (rmt.laws.CircularPowerLaw(1, 1.5), rmt.laws.EllipticLaw(0.0, 1.5)):
        np.testing.assert_allclose(law.radial_cdf(RADII), LAWS["disc"].radial_cdf(RADII), rtol=1e-14)
        np.testing.assert_allclose(law.pdf(RADII), LAWS["disc"].pdf(RADII), rtol=1e-14)
    assert rmt.laws.CircularPowerLaw(2).pdf(0.0) == jnp.inf
    # The elliptic law, turned by a right angle, has the same radial law.
    np.testing.assert_allclose(LAWS["ellipse"].radial_cdf(RADII), LAWS["upright"].radial_cdf(RADII), rtol=1e-13)
    np.testing.assert_array_equal(LAWS["ellipse"].pdf(1j * RADII), LAWS["upright"].pdf(RADII))


@pytest.mark.parametrize("name", ["ring", "power", "ellipse", "truncated"])
def test_laws_compose(name):
    r = jnp.array([0.55, 1.2]) if name != "truncated" else jnp.array([0.2, 0.5])
    quantities = lambda law, r: (law.radial_cdf(r), law.pdf(jax.lax.complex(0.3 * r, 0.4 * r)))
    for check in (check_derivatives, check_dtypes):
        check(quantities, LAWS[name], r)


@pytest.mark.parametrize("law", [rmt.laws.EllipticLaw, lambda tau: rmt.laws.CircularPowerLaw(2, 1 + tau)])
def test_derivatives_are_finite_everywhere(law):
    total = lambda r, tau: jnp.sum(law(tau).radial_cdf(r) + law(tau).pdf(r.astype(complex) + 0.1j))
    slope = jax.jit(jax.grad(total, (0, 1)))
    for r, tau in [([-1.0, 0.6, 1.0, 1.4, 3.0], 0.4), ([0.3, 1.0, 1.2, 0.0, 2.0], 0.0)]:
        assert all(jnp.isfinite(part).all() for part in slope(jnp.array(r), tau))


@pytest.mark.float32
def test_dtypes(getkey):
    one = jnp.float32(1)
    for law in (rmt.laws.CircularLaw(one), rmt.laws.EllipticLaw(one / 2, one), rmt.laws.TruncatedUnitaryLaw(one / 2)):
        draws = law.sample(getkey(), (2, 3))
        assert law.pdf(one).dtype == law.radial_cdf(one).dtype == jnp.float32
        assert (draws.dtype, draws.shape) == (jnp.complex64, (2, 3))
    assert rmt.laws.SphericalLaw().pdf(jnp.complex64(1j)).dtype == jnp.float32
    assert rmt.laws.SphericalLaw().pdf(1).dtype == jnp.zeros(()).dtype


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.laws.CircularLaw(0.0), "`radius` must be positive and finite, got 0"),
        (lambda: rmt.laws.CircularLaw(1.0, -0.1), "`inner` must be at least 0 and smaller than radius, got -0.1"),
        (lambda: rmt.laws.CircularLaw(1.0, 1.0), "`inner` must be at least 0 and smaller than radius, got 1"),
        (lambda: rmt.laws.CircularPowerLaw(0), "`power` must be an integer of at least 1, got 0"),
        (lambda: rmt.laws.EllipticLaw(1.0), "`correlation` must lie strictly between -1 and 1, got 1"),
        (lambda: rmt.laws.EllipticLaw(0.5, -1.0), "`scale` must be positive and finite, got -1"),
        (lambda: rmt.laws.TruncatedUnitaryLaw(1.0), "`fraction` must lie strictly between 0 and 1, got 1"),
        (lambda: rmt.laws.SphericalLaw().radial_cdf(1j), "`r` must be real"),
        (lambda: rmt.laws.SphericalLaw().sample(0), "`key` must be a typed key"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
