"""Power spectrum on the circle: two and three levels by integration, mpmath's determinants, limits."""

import mpmath
import numpy as np
import pytest

from rmtjax.laws import circular_power_spectrum
from tests.laws.correlations.test_circular import gaps_of_three

BETAS = [1, 2, 4]


@pytest.mark.parametrize("beta", BETAS)
def test_three_levels_by_integration(beta):
    near, far, mass = gaps_of_three(beta)
    spacings = np.stack([near, far - near, 2 * np.pi - far]) * 3 / (2 * np.pi)
    wave = np.exp(2j * np.pi * np.arange(3) / 3)
    total = np.tensordot(wave, spacings, 1)
    expected = (mass * np.abs(total) ** 2).sum() / (12 * np.sin(np.pi / 3) ** 2)
    np.testing.assert_allclose(circular_power_spectrum([1, 2], 3, beta), expected, rtol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_two_levels(beta):
    # The angle φ between the levels has the density sin(φ/2)^β, and the power spectrum is the mean of (φ/π - 1)²/2.
    with mpmath.workdps(20):
        density = lambda phi: mpmath.sin(phi / 2) ** beta
        ends = [0, mpmath.pi, 2 * mpmath.pi]
        mean = mpmath.quad(lambda phi: (phi / mpmath.pi - 1) ** 2 * density(phi), ends) / mpmath.quad(density, ends)
    np.testing.assert_allclose(circular_power_spectrum(1, 2, beta), float(mean) / 2, rtol=1e-13)


def test_determinants_of_the_unitary_case():
    # The mean of z^N is the Toeplitz determinant of a function that is z on the arc and 1 elsewhere.
    n, k = 9, 2
    with mpmath.workdps(25):
        z = mpmath.expjpi(mpmath.mpf(2 * k) / n)

        def real_part(s):
            entry = lambda m: (s / n if m == 0 else mpmath.sinpi(m * s / n) / (mpmath.pi * m)) * (1 - z)
            toeplitz = mpmath.matrix([[entry(i - j) for j in range(n)] for i in range(n)])
            return mpmath.re(mpmath.det(mpmath.eye(n) - toeplitz))

        exact = mpmath.quad(real_part, [0, n / 4, n / 2]) / (2 * mpmath.sinpi(mpmath.mpf(k) / n) ** 2)
    np.testing.assert_allclose(circular_power_spectrum(k, n, 2), float(exact), rtol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_many_levels(beta):
    # The distance from the limit falls as 1/n².
    values = [float(circular_power_spectrum(n // 4, n, beta)) for n in (16, 32, 64)]
    assert abs((values[2] - values[1]) / (values[1] - values[0]) - 0.25) < 0.01
    first = float(circular_power_spectrum(1, 64, beta))
    np.testing.assert_allclose(first, 64 / (2 * np.pi**2 * beta), rtol=0.03)


@pytest.mark.slow
def test_large_sizes_keep_their_digits():
    # At a low frequency the fast waves of the determinant matter: with too few nodes they are lost from n = 125 on.
    n, k = 130, 1
    nodes, weights = np.polynomial.legendre.leggauss(2 * n)
    difference, gap = np.arange(n)[:, None] - np.arange(n), 1 - np.exp(2j * np.pi * k / n)
    mean = lambda share: np.linalg.det(np.eye(n) - gap * share * np.sinc(share * difference)).real
    total = weights @ [mean(share) for share in (1 + nodes) / 4]
    expected = n / 4 * total / (2 * np.sin(np.pi * k / n) ** 2)
    np.testing.assert_allclose(circular_power_spectrum(k, n, 2), expected, rtol=1e-10)


@pytest.mark.float32
def test_range_and_symmetry():
    n = 10
    for beta in (0, *BETAS):
        values = circular_power_spectrum(np.arange(-1.0, 12.0), n, beta)
        assert np.isnan(np.asarray(values)[[0, 1, 11, 12]]).all()
        np.testing.assert_allclose(values[2:11], values[10:1:-1], rtol=1e-5)
        assert np.isnan(circular_power_spectrum([0.5, np.nan, np.inf], n, beta)).all()
    expected = n / (n + 1) / (4 * np.sin(np.pi * 3 / n) ** 2)
    np.testing.assert_allclose(circular_power_spectrum(3, n, 0), expected, rtol=1e-6)
