"""Means of complex spacing ratios: the law, three levels by integration, simulated levels, published means, limits."""

import numpy as np
import pytest

from rmtjax.laws import ComplexSpacingRatio, mean_complex_spacing_ratio
from tests.cases import further

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
RADII, ANGLES = (NODES + 1) / 2, (np.arange(200) + 0.5) * np.pi / 100
DISC = RADII[:, None] * np.exp(1j * ANGLES)


def means(density):
    """The means of |z| and cos arg z for a density, normalised or not, by quadrature in polar coordinates."""
    mass = np.asarray(density) * (WEIGHTS * RADII)[:, None]
    return [np.sum(mass * values) / np.sum(mass) for values in (abs(DISC), DISC.real / abs(DISC))]


def test_means_of_the_limit():
    np.testing.assert_allclose(mean_complex_spacing_ratio(2), means(ComplexSpacingRatio().pdf(DISC)), rtol=2e-13)
    assert mean_complex_spacing_ratio(0) == (2 / 3, 0)


def test_three_levels_of_ginibre_matrices():
    # With the centre of mass integrated out, the differences a = zb and b to one level have the density
    # |a|² |b|² |a - b|² exp(-|a|² - |b|² + |a + b|²/3), and the integral over b is Gaussian.
    size = 1 + abs(DISC) ** 2 - abs(1 + DISC) ** 2 / 3
    density = abs(DISC) ** 2 * abs(1 - DISC) ** 2 / size**5
    np.testing.assert_allclose(mean_complex_spacing_ratio(2, 3), means(density), rtol=0, atol=1e-12)


def simulated(rng, beta, n, spectra):
    """Means of |z| and cos arg z over the levels of each spectrum, by LAPACK and a full search."""
    if beta:
        levels = np.linalg.eigvals(rng.standard_normal((spectra, n, n)) + 1j * rng.standard_normal((spectra, n, n)))
    else:
        levels = np.sqrt(rng.random((spectra, n))) * np.exp(2j * np.pi * rng.random((spectra, n)))
    away = levels[:, None, :] - levels[:, :, None]
    distance = abs(away) + np.where(np.eye(n), np.inf, 0)
    nearest = np.take_along_axis(away, np.argsort(distance, axis=-1)[..., :2], -1)
    ratio = nearest[..., 0] / nearest[..., 1]
    return np.stack([abs(ratio), np.cos(np.angle(ratio))], -1).mean(1)


def check(values, beta, n, limit):
    error = values.std(0) / len(values) ** 0.5
    deviation = (values.mean(0) - mean_complex_spacing_ratio(beta, n)) / error
    assert np.abs(deviation).max() < limit
    # The limit of many levels is excluded.
    assert np.abs((values.mean(0) - mean_complex_spacing_ratio(beta)) / error).max() > 10


@pytest.mark.parametrize(("beta", "n"), [(0, 3), (2, 10), *further((0, 10), (2, 4))])
def test_simulated_levels(beta, n):
    check(simulated(np.random.default_rng(beta + n), beta, n, 4000), beta, n, 5)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0, 2])
@pytest.mark.parametrize("n", [3, 10, 50])
def test_a_million_simulated_ratios(beta, n):
    rng = np.random.default_rng([beta, n])
    check(np.concatenate([simulated(rng, beta, n, 10_000 // n) for _ in range(100)]), beta, n, 4)


@pytest.mark.parametrize(("beta", "sizes"), [(0, (10**6, 4 * 10**6)), (2, (2500, 10**4))])
def test_many_levels(beta, sizes):
    # The contribution of the edge falls as n^(-1/2), and the next term as 1/n.
    few, many = (np.subtract(mean_complex_spacing_ratio(beta, n), mean_complex_spacing_ratio(beta)) for n in sizes)
    np.testing.assert_allclose(few / many, 2, rtol=0, atol=1.5 / sizes[0] ** 0.5)


def test_published_means():
    # These are means of large matrices with their edges (Sá, Ribeiro and Prosen 2020). The limit has 0.739 and -0.25.
    np.testing.assert_allclose(mean_complex_spacing_ratio(2, 10**4), [0.738, -0.24], rtol=0, atol=5e-4)
