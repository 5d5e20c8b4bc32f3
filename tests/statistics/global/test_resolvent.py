"""The Stieltjes transform of levels, and their density at finite resolution: resolvents, Lorentzians, spectra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import spectral_density, stieltjes
from rmtjax.testing import check_composable
from tests.linalg.reference import REAL_DTYPES, eps, hermitian

LEVELS = np.array([-1.0, 0.25, 2.0])
PADDED = rmt.Spectrum([*LEVELS, np.inf, np.inf], np.arange(5) < 3)


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_stieltjes_is_the_trace_of_the_resolvent(dtype):
    a = hermitian(0, (2, 4, 4), dtype)
    z = np.array([[0.3 + 1j, -2 - 0.1j, 5.0]])
    resolvents = np.linalg.inv(z[None, ..., None, None] * np.eye(4) - a[:, None, None].astype(np.float64))
    expected = np.trace(resolvents, axis1=-2, axis2=-1) / 4
    single = dtype == np.float32
    got = stieltjes(rmt.eigvalsh(jnp.asarray(a)), jnp.asarray(z, jnp.complex64 if single else complex))
    assert got.dtype == (np.complex64 if single else np.complex128)
    np.testing.assert_allclose(got, expected, rtol=2000 * eps(dtype))


@pytest.mark.float32
def test_stieltjes_keeps_single_precision_with_a_python_number():
    assert stieltjes(jnp.asarray(LEVELS, jnp.float32), 1j).dtype == np.complex64


def test_sign_convention_of_stieltjes():
    assert np.imag(stieltjes(jnp.asarray(LEVELS), 0.1 + 1e-3j)) < 0
    np.testing.assert_allclose(1e8 * stieltjes(jnp.asarray(LEVELS), 1e8j), -1j, rtol=1e-7)


MIDDLE = rmt.Spectrum([-9.0, -1.0, 0.0, 0.25, 2.0, 9.0], [False, True, False, True, True, False])


@pytest.mark.parametrize("spectrum", [PADDED, MIDDLE, rmt.Spectrum([-9.0, *LEVELS, 9.0]).bulk(-2.0, 3.0)])
def test_a_spectrum_counts_its_levels_only(spectrum):
    z = jnp.array([0.5j, 3.0 + 0j])
    np.testing.assert_allclose(stieltjes(spectrum, z), stieltjes(jnp.asarray(LEVELS), z), rtol=1e-14)
    grid = jnp.linspace(-2, 2, 5)
    np.testing.assert_allclose(
        spectral_density(spectrum, grid, 0.3), spectral_density(jnp.asarray(LEVELS), grid, 0.3), rtol=1e-14
    )


@pytest.mark.parametrize("z", [0.0, 3.0])
def test_derivative_of_stieltjes_of_a_padded_spectrum(z):
    transform = lambda z, values: stieltjes(rmt.Spectrum(values, PADDED.mask), z).real
    by_z, by_levels = jax.grad(transform, (0, 1))(z, PADDED.values)
    np.testing.assert_allclose(by_z, -np.mean((z - LEVELS) ** -2), rtol=1e-13)
    np.testing.assert_allclose(by_levels, [*(z - LEVELS) ** -2 / 3, 0, 0], rtol=1e-13)


@pytest.mark.parametrize("width", [0.05, 0.5, 30.0])
def test_spectral_density_is_a_sum_of_lorentzians_of_integral_one(width):
    # x = s tan φ maps the line to a circle, on which the midpoint rule converges geometrically.
    scale = max(width, 1.0)
    angles = (np.arange(20_000) + 0.5) / 20_000 * np.pi - np.pi / 2
    x = scale * np.tan(angles)
    density = np.asarray(spectral_density(jnp.asarray(LEVELS), jnp.asarray(x), width))
    expected = np.mean(width / np.pi / ((x[:, None] - LEVELS) ** 2 + width**2), axis=1)
    np.testing.assert_allclose(density, expected, rtol=1e-9)
    integral = np.sum(density * scale / np.cos(angles) ** 2) * np.pi / 20_000
    np.testing.assert_allclose(integral, 1, rtol=1e-9)


def test_spectral_density_of_a_batch_in_single_precision():
    levels = jnp.asarray(np.stack([LEVELS, LEVELS + 1]), jnp.float32)
    density = spectral_density(levels, jnp.linspace(-2, 2, 5, dtype=jnp.float32), 0.2)
    assert density.shape == (2, 5)
    assert density.dtype == np.float32
    np.testing.assert_allclose(density[1, 1:], density[0, :-1], rtol=1e-4)


@pytest.mark.parametrize(("width", "shown"), [(0.0, r"0\."), (-1.0, r"-1\."), (np.nan, "nan"), (np.inf, "inf")])
def test_a_bad_width_is_refused(width, shown):
    with pytest.raises(ValueError, match=f"`width` must be positive and finite.*{shown}"):
        spectral_density(jnp.asarray(LEVELS), jnp.zeros(1), width)


def test_composability():
    density = lambda levels, x: spectral_density(levels, x, 0.3)
    check_composable(
        lambda levels, x: (stieltjes(levels, jax.lax.complex(x, jnp.ones_like(x))), density(levels, x)),
        jnp.asarray(LEVELS),
        jnp.array([0.5]),
    )
