"""Power spectra against the sum itself, a discrete Fourier transform, independent levels and circular ensembles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import over_samples, power_spectrum, unfold_phases
from tests.cases import further

LEVELS = np.sort(np.random.default_rng(0).uniform(0, 12, (2, 3, 13)), axis=-1)
OMEGA = np.array([[0.1, 0.7, 2.0], [np.pi, 4.0, 6.2]])


def placed(levels, period):
    """The levels on a circle, or on the line if its period is None."""
    domain = rmt.spectra.Line() if period is None else rmt.Circle(period)
    return rmt.Spectrum(levels, domain=domain, unfolded=True)


def by_definition(levels, omega):
    excess = np.diff(levels) - 1
    total = (excess * np.exp(1j * omega[..., None] * np.arange(excess.size))).sum(-1)
    return np.abs(total) ** 2 / (4 * excess.size * np.sin(omega / 2) ** 2)


@pytest.mark.float32
def test_definition():
    found = power_spectrum(jnp.asarray(LEVELS), OMEGA)
    assert found.shape == (2, 3, 2, 3)
    exact = [[by_definition(x, OMEGA) for x in row] for row in LEVELS]
    np.testing.assert_allclose(found, exact, rtol=2000 * float(jnp.finfo(found.dtype).eps))


def test_the_fourier_transform_of_the_deviations():
    levels = LEVELS[0, 0] - LEVELS[0, 0, 0]
    levels *= 12 / levels[-1]  # the last deviation is 0
    deviation = levels[:-1] - np.arange(12)
    expected = np.abs(np.fft.fft(deviation)[1:]) ** 2 / 12
    omega = 2 * np.pi * np.arange(1, 12) / 12
    np.testing.assert_allclose(power_spectrum(levels, omega), expected, rtol=1e-11)
    # The same levels on a circle, on which the last is the first.
    np.testing.assert_allclose(power_spectrum(placed(levels[:-1], 12), omega), expected, rtol=1e-11)


def test_few_levels():
    for few in (jnp.zeros(0), jnp.ones(1)):
        assert np.isnan(power_spectrum(few, 1.0))
    np.testing.assert_allclose(power_spectrum(placed(jnp.ones(1), 3.0), 1.0), 4 / (4 * np.sin(0.5) ** 2))


# The first levels of a Poisson process, and independent levels between fixed ends and on a circle. With few levels the
# factors of the three cases differ by a tenth.
@pytest.mark.parametrize("kind", ["process", "ends", "circle"])
def test_independent_levels(kind):
    n, k, samples = 8, np.arange(1, 5), 20_000
    levels = jnp.cumsum(jax.random.exponential(jax.random.key(0), (samples, n + 1)), axis=1)
    if kind == "process":
        levels, m, factor, period = levels[:, :n], n - 1, 1.0, None
    else:
        levels = levels[:, :n] * n / levels[:, n:]  # uniform in (0, n)
        m, factor, period = (n - 1, n**2 / ((n + 1) * (n + 2)), None) if kind == "ends" else (n, n / (n + 1), n)
    omega = 2 * np.pi * k / m
    found = over_samples(lambda x: power_spectrum(x, omega), placed(levels, period))
    exact = factor / (4 * np.sin(omega / 2) ** 2)
    assert abs(found.z_score(exact)).max() < 5
    if kind == "circle":
        np.testing.assert_allclose(rmt.laws.circular_power_spectrum(k, n, 0), exact, rtol=1e-10)


def test_digits_of_long_spectra():
    # Phases at the 10⁴th turn without all of their digits would be off by 0.7 %; the sum of n terms rounds by 1e-5.
    n = 20_000
    levels = jnp.asarray(np.sort(np.random.default_rng(2).uniform(0, n, n)), jnp.float32)
    omega = np.asarray(2 * np.pi * np.array([1, 10, 100, 1000, 5000, 9999]) / n, np.float32)
    found = power_spectrum(levels, omega)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, power_spectrum(levels.astype(float), omega.astype(float)), rtol=1e-4)


@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.CUE, 2), *further((rmt.COE, 1), (rmt.CSE, 4))])
def test_circle(ensemble, beta):
    n = 20
    k = np.arange(1, n // 2 + 1)
    phases = rmt.simulate(ensemble(n).eigenphases, jax.random.key(3), 3000)
    found = over_samples(lambda x: power_spectrum(x, 2 * np.pi * k / n), unfold_phases(phases))
    assert abs(found.z_score(rmt.laws.circular_power_spectrum(k, n, beta))).max() < 5


@pytest.mark.slow
def test_one_over_f_noise_of_the_bulk():
    # The bulk of GOE(600) is as a circle, up to terms of order 1/n.
    levels = rmt.simulate(rmt.GOE(600).eigenvalues, jax.random.key(4), 400)
    levels = rmt.statistics.unfold(levels, rmt.GOE(600).law()).values[:, 200:401]
    k = np.array([4, 8, 16, 32, 48])
    found = over_samples(lambda x: power_spectrum(x, 2 * np.pi * k / 96), levels)
    exact = rmt.laws.circular_power_spectrum(k, 96, 1)
    assert np.abs(found.value / exact - 1).max() < 0.03 + 5 * (found.standard_error / exact).max()
    assert (found.standard_error / exact).max() < 0.08


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power_spectrum([2.0, 1.0], 0.5), "`levels` must be ascending numbers"),
        (lambda: power_spectrum([1.0, 2.0], 0.0), "`frequencies` must lie between 0 and 2π"),
        (lambda: power_spectrum([1.0, 2.0], 7.0), "`frequencies` must lie between 0 and 2π"),
        (lambda: power_spectrum(rmt.Spectrum([1.0, 2.0]), 1.0), "`levels` must be unfolded"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
