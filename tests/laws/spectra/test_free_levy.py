"""The free stable law of index 1/2: transforms by quadrature, infinite moments, quantiles far out, refusals."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import (
    FreeCompression,
    FreeLevy,
    FreePower,
    FreeProduct,
    FreeSum,
    InverseMarchenkoPastur,
    MarchenkoPastur,
    Mixture,
    PeriodicPadding,
    Semicircle,
    Symmetrized,
)
from rmtjax.laws._core.half_plane import in_plane

SINGLE = jnp.zeros(0).dtype == np.float32
LAW = FreeLevy(1.25)


def mean_of(function, near):
    """The mean over X = (s/2t)² for t of the quarter circle of radius 1, with joints beside the point of a pole."""
    scale = mpmath.mpf(1.25)
    joints = [0, *(float(scale / 2 / np.sqrt(near * (1 + d))) for d in (0.1, 0, -0.1) if near > 0.45), 1]
    integrand = lambda t: 4 / mpmath.pi * mpmath.sqrt(1 - t**2) * function((scale / 2 / t) ** 2)
    return complex(mpmath.quad(integrand, joints))


@pytest.mark.float32
def test_transforms_are_those_of_a_quadrature():
    z = np.array([0.5 + 0.25j, 2 + 0.0625j, -3.0, 1000 + 500j, 0.25, -1e-3 + 1e-3j])
    transform = [mean_of(lambda x, z=z: 1 / (mpmath.mpmathify(z) - x), z.real) for z in z]
    potential = [mean_of(lambda x, z=z: mpmath.log(mpmath.mpmathify(z) - x), z.real) for z in z]
    rtol = 1e-5 if SINGLE else 1e-13
    np.testing.assert_allclose(LAW.stieltjes(z), transform, rtol=rtol)
    # On the axis the logarithm of mpmath has the angle π, too.
    np.testing.assert_allclose(LAW.log_potential(z), potential, rtol=rtol)
    x = jnp.array([0.4, 0.8, 3.0, 1e6, 1e20])
    angles = jnp.imag(LAW._log_potential(in_plane(x))) / jnp.pi
    np.testing.assert_allclose(angles[0], LAW.sf(x), rtol=rtol)
    np.testing.assert_allclose(-angles[1], LAW.cdf(x), rtol=1e-4 if SINGLE else 1e-13)


@pytest.mark.float32
def test_free_sums_add_the_scales_and_products_multiply():
    """R and S belong to the transform; two laws with s = 1 and 2 sum to the one with s = 3."""
    rtol = 1e-5 if SINGLE else 1e-14
    g = LAW.stieltjes(np.array([0.5 + 0.25j, -2.0, 30 - 7j]))
    np.testing.assert_allclose(LAW.r_transform(g) + 1 / g, [0.5 + 0.25j, -2, 30 - 7j], rtol=10 * rtol)
    np.testing.assert_allclose(
        FreeLevy(1.0).r_transform(g) + FreeLevy(2.0).r_transform(g), FreeLevy(3.0).r_transform(g), rtol=rtol
    )
    z = jnp.array([-0.75, -0.25])
    np.testing.assert_allclose(LAW.s_transform(z) * LAW.r_transform(z * LAW.s_transform(z)), 1, rtol=rtol)
    assert LAW.r_transform(0.0) == np.inf
    assert np.isnan(LAW.r_transform(1.0))
    # The law with the S-transform of the ratio of two Marčenko-Pastur variates is that of a squared Cauchy variate.
    y = LAW.s_transform(z) * MarchenkoPastur(1.0).s_transform(z) * z / (1 + z)
    np.testing.assert_allclose(-jnp.sqrt(-y * 1.25**2), z / (1 + z), rtol=rtol)


def test_the_limit_of_the_laws_of_inverses():
    near, x = InverseMarchenkoPastur(1 - 1e-9, 1.25), jnp.array([0.45, 1.0, 20.0, 1e4])
    np.testing.assert_allclose(near.pdf(x), LAW.pdf(x), rtol=1e-6)
    np.testing.assert_allclose(near.sf(x), LAW.sf(x), rtol=1e-6)


@pytest.mark.float32
def test_no_moment_is_finite():
    found = [LAW.mean(), LAW.var(), LAW.std(), LAW.moment(2), LAW.moment(100), LAW.free_cumulant(1)]
    assert [float(each) for each in found] == [np.inf] * 6
    assert LAW.moment(0) == 1
    assert np.isnan([LAW.skewness(), LAW.kurtosis()]).all()
    turned = LAW.scaled(-2.0).shifted(1.0)
    assert [float(turned.moment(k)) for k in (0, 1, 2, 3)] == [1, -np.inf, np.inf, -np.inf]
    assert LAW.scaled(2.0).moment(2) == np.inf
    assert turned.support() == (-np.inf, 1 - 2 * 1.25**2 / 4)
    np.testing.assert_allclose(turned.cdf(1 - 2 * 7.0), LAW.sf(7.0), rtol=1e-6)


@pytest.mark.float32
def test_quantiles_far_out():
    """The tail above x is 2s/(π√x) beyond all digits of the next term."""
    q = np.array([1e-9, 1e-15] if SINGLE else [1e-20, 1e-100])
    np.testing.assert_allclose(LAW.isf(q), (2 * 1.25 / np.pi / q) ** 2, rtol=1e-5 if SINGLE else 1e-13)
    assert LAW.isf(1e-30 if SINGLE else 1e-200) == np.inf
    np.testing.assert_allclose(FreeLevy(1e-10).isf(q), 1e-20 / 1.25**2 * LAW.isf(q), rtol=1e-5 if SINGLE else 1e-13)


@pytest.mark.parametrize(
    "part",
    [LAW, LAW.scaled(-2.0), Mixture([0.5, 0.5], [LAW, Semicircle()]).shifted(3.0), Symmetrized(LAW)],
    ids=["itself", "scaled", "in a mixture", "symmetrized"],
)
def test_it_is_refused_where_moments_are_needed(part):
    for name, made in {
        "a": lambda: FreeSum(part, Semicircle()),
        "b": lambda: FreeProduct(MarchenkoPastur(1.0), part),
        "law": lambda: (FreePower(part, 2.0), FreeCompression(part, 0.5)),
        "base": lambda: PeriodicPadding(part, 0.75, "ascending"),
    }.items():
        with pytest.raises(ValueError, match=f"`{name}` must be a law with finite moments, got "):
            made()


def test_bad_input():
    with pytest.raises(ValueError, match="`scale` must be positive and finite, got -1"):
        FreeLevy(-1.0)
