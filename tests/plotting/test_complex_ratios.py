"""The plot of complex spacing ratios: the cells, the law in the other half, the moduli."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import plotting, statistics
from tests.plotting.drawn import STUDENT, error_bars, names
from tests.plotting.given import PLANAR

RATIOS = np.asarray(statistics.complex_spacing_ratios(PLANAR).values)


def cells(mesh):
    """Corners, as complex numbers, and densities of what is drawn."""
    corners = np.asarray(mesh.get_coordinates()) @ [1, 1j]
    return corners, np.asarray(mesh.get_array()).reshape(np.subtract(corners.shape, 1))


def test_upper_half_has_the_ratios_and_lower_half_the_law():
    disc, _ = plotting.complex_spacing_ratios(PLANAR)
    upper, lower = disc.collections
    corners, density = cells(upper)
    assert corners.imag.min() > -1e-12
    # Three rings and six sectors, of eight pieces each, for less than 1600 ratios.
    counts, _, _ = np.histogram2d(
        abs(RATIOS).ravel(), abs(np.angle(RATIOS)).ravel(), [np.sqrt([0, 1 / 3, 2 / 3, 1]), np.linspace(0, np.pi, 7)]
    )
    np.testing.assert_allclose(density, np.repeat(counts * 18 / np.pi / 960, 8, axis=1), rtol=1e-6)
    np.testing.assert_allclose(abs(corners[:, 0]), np.sqrt([0, 1 / 3, 2 / 3, 1]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.angle(corners[1]), np.linspace(0, np.pi, 49), rtol=0, atol=1e-12)
    corners, density = cells(lower)
    assert corners.imag.max() < 1e-12
    middle = corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]
    np.testing.assert_allclose(density, rmt.laws.ComplexSpacingRatio().pdf(np.asarray(middle) / 4), rtol=0, atol=1e-3)
    area = np.diff(abs(corners[:, 0]) ** 2)[:, None] / 2 * np.pi / 200
    assert np.sum(density * area) == pytest.approx(0.5, abs=1e-3)
    assert [text.get_text() for text in disc.texts] == ["β = 2"]
    assert upper.get_clim() == lower.get_clim()
    assert upper.get_clim()[1] == max(np.max(mesh.get_array()) for mesh in (upper, lower))


def test_without_laws_the_ratios_fill_the_disc():
    disc, moduli = plotting.complex_spacing_ratios(PLANAR, betas=[], label="normal")
    (mesh,) = disc.collections
    corners, density = cells(mesh)
    area = np.diff(abs(corners[:, 0]) ** 2)[:, None] / 2 * 2 * np.pi / density.shape[1]
    assert np.sum(density * area) == pytest.approx(1)
    upper = density[:, density.shape[1] // 2 :]
    share = np.mean(RATIOS.imag > 0)
    assert np.sum(upper * area) == pytest.approx(share)
    assert names(moduli) == ["normal"]


def test_moduli_have_errors_over_spectra_and_both_laws():
    edges = np.array([0.0, 0.4, 0.8, 1.0])
    _, ax = plotting.complex_spacing_ratios(PLANAR, bins=edges)
    each = np.array([np.histogram(row, edges)[0] for row in abs(RATIOS)]) / 16 / np.diff(edges)
    np.testing.assert_allclose(ax.patches[0].get_data().values, each.mean(axis=0), rtol=1e-5)
    _, low, high = error_bars(ax)
    np.testing.assert_allclose((high - low) / 2, STUDENT[59] * each.std(axis=0, ddof=1) / 60**0.5, rtol=1e-3)
    independent, ginibre = ax.lines[-2:]
    r, density = independent.get_data()
    np.testing.assert_allclose(density, 2 * r, rtol=1e-5)
    r, density = ginibre.get_data()
    slope = np.gradient(np.asarray(rmt.laws.ComplexSpacingRatio().radial_cdf(r), np.float64), r)
    np.testing.assert_allclose(density[1:-1], slope[1:-1], rtol=0, atol=2e-3)
    assert names(ax)[1:] == ["independent levels", "β = 2"]
    assert names(ax)[0].startswith(f"60 spectra, mean {abs(RATIOS).mean():.4f} ± ")


def test_centres_on_axes_that_are_given():
    _, axes = plt.subplots(1, 2)
    drawn = plotting.complex_spacing_ratios(PLANAR, centres=jnp.abs(PLANAR) < 1, betas=0, axes=axes)
    assert drawn[0] is axes[0]
    assert drawn[1] is axes[1]
    assert len(plt.get_fignums()) == 1
    kept = RATIOS[abs(PLANAR) < 1]
    height = np.histogram(abs(kept), axes[1].patches[0].get_data().edges)[0] / kept.size * 25
    np.testing.assert_allclose(axes[1].patches[0].get_data().values, height, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(axes[0].collections[1].get_array()), 1 / np.pi, rtol=1e-5)
