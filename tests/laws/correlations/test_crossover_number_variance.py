"""Number variance from the GOE to the GUE: both ends, the form factor, long intervals, matrices."""

import itertools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import statistics
from rmtjax.laws import Semicircle, crossover_form_factor, crossover_number_variance, number_variance
from rmtjax.testing import check_derivatives

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
LENGTHS = np.array([0.0, 0.25, 1.0, 3.5, 6.0, 6.5, 30.0, 1000.0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ends(dtype):
    lengths = np.append(LENGTHS, [1e6, np.inf, np.nan, -1]).astype(dtype)
    tolerance = {"rtol": 60 * np.finfo(dtype).eps, "atol": 20 * np.finfo(dtype).eps}
    for coupling, beta in ((0.0, 1), (1e9 if dtype == np.float64 else 1e8, 2)):
        got = crossover_number_variance(lengths, np.asarray(coupling, dtype))
        assert got.dtype == dtype
        # The longest intervals differ from the limit of infinite Λ.
        part = slice(None) if beta == 1 else np.array([0, 1, 2, 3, 4, 5, 6, 9, 10, 11])
        np.testing.assert_allclose(got[part], number_variance(lengths, beta)[part], **tolerance)


@pytest.mark.parametrize("coupling", [1e-4, 0.01, 0.125, 1.0, 20.0])
def test_the_form_factor(coupling):
    # The integral of the definition on panels of a few waves each; beyond the end the integrand is below 4 sin²/τ⁴.
    x, w = np.polynomial.legendre.leggauss(40)
    end = 1 + min(400.0, 40 / (8 * np.pi**2 * coupling) ** 0.5)
    edges = [np.geomspace(1e-6, 1, 40), 1 - np.geomspace(1e-5, 0.5, 30), 1 + np.geomspace(1e-5, end - 1, 30)]
    edges = np.unique(np.concatenate([[0], *edges, np.arange(0, end, 0.1)]))
    half = np.diff(edges) / 2
    tau, weights = (edges[:-1, None] + half[:, None] * (1 + x)).ravel(), (half[:, None] * w).ravel()
    excess = weights * (np.asarray(crossover_form_factor(tau, coupling)) - np.minimum(tau, 1)) / tau**2
    lengths = np.array([0.25, 1.0, 3.5, 6.0, 6.5, 30.0])
    expected = 2 / np.pi**2 * np.sin(np.pi * lengths[:, None] * tau) ** 2 @ excess
    got = crossover_number_variance(lengths, coupling) - number_variance(lengths, 2)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("coupling", "length"), [(0.01, 3.0), (0.05, 40.0), (0.5, 1000.0)])
def test_the_form_factor_in_mpmath(coupling, length):
    # The form factor comes from its integral, as piecewise Legendre series, which are then multiplied by the waves.
    with mpmath.workdps(25):
        rate, half = 8 * mpmath.pi**2 * mpmath.mpf(coupling), np.pi * length

        def form(t):
            start, end = max(mpmath.mpf(1), 2 * t - 1), 2 * t + 1
            ends = [start, *(x for d in (1, 5, 20) if (x := start + d / (rate * t)) < end), end]
            return mpmath.quad(lambda x: (1 - 2 * t / x) * mpmath.exp(-rate * t * (x - t)), ends) / 2

        end = mpmath.sqrt(60 / rate) + 1
        total = 0.0
        x, w = np.polynomial.legendre.leggauss(30)
        powers = [mpmath.mpf(2) ** -k for k in range(12)]
        cuts = [0, *powers[:0:-1], *(1 - h for h in powers[2:]), 1, *(1 + (end - 1) * h for h in powers[::-1])]
        for low, high in itertools.pairwise(cuts):
            middle, radius = (low + high) / 2, (high - low) / 2
            values = [float(form(t) / t) for t in (middle + radius * mpmath.mpf(y) for y in x)]
            series = np.polynomial.legendre.legfit(x, values, 29)
            count = int(float(radius) * length * 2) + 2
            steps = np.linspace(-1, 1, count + 1)
            y = (steps[:-1, None] + (1 + x) / count).ravel()
            tau = float(middle) + float(radius) * y
            weights = np.tile(w / count, count) * float(radius)
            total += weights @ (np.polynomial.legendre.legval(y, series) / tau * np.sin(half * tau) ** 2)
    got = crossover_number_variance(length, coupling) - number_variance(length, 2)
    np.testing.assert_allclose(got, total * 2 / np.pi**2, rtol=0, atol=1e-11)


def test_long_intervals_see_the_gue_up_to_a_logarithm():
    excess = crossover_number_variance(1e7, 30.0) - number_variance(1e7, 2)
    np.testing.assert_allclose(excess, np.log1p((1e7 / (4 * np.pi * 30)) ** 2) / (2 * np.pi**2), rtol=1e-3)


def test_derivatives():
    check_derivatives(crossover_number_variance, jnp.array([0.7, 5.0, 20.0]), jnp.array([0.05, 0.4, 0.1]))
    slope = jax.grad(lambda c: crossover_number_variance(3.0, c))
    assert np.isfinite([slope(0.0), slope(1e-12), slope(1e10)]).all()


@pytest.mark.slow
def test_matrices():
    n, strength, draws, lengths = 200, 0.02, 1000, np.array([1.0, 2.0, 5.0, 10.0])
    epsilon, goe, law = np.sqrt(strength * np.pi**2 / n), rmt.GOE(n), Semicircle()

    def variances(key):
        keys = jax.random.split(key)
        imaginary = jax.random.normal(keys[1], (n, n)) / np.sqrt(2 * n)
        matrix = jax.lax.complex(goe.sample(keys[0]), epsilon * (imaginary - imaginary.T))
        levels = n * law.cdf(jnp.linalg.eigvalsh(matrix) / np.sqrt(1 + epsilon**2))
        return statistics.number_variance(rmt.Spectrum(levels, unfolded=True).bulk(0.35 * n, 0.65 * n), lengths)

    samples = np.asarray(rmt.simulate(variances, jax.random.key(8), draws))
    # The mean of the squared density over that interval, relative to the middle of the spectrum.
    share = np.mean(1 - (np.asarray(law.ppf(np.linspace(0.35, 0.65, 101))) / 2) ** 2)
    middle = strength / (1 + epsilon**2) * share
    error = samples.std(0, ddof=1) / draws**0.5
    score = lambda c: (samples.mean(0) - np.asarray(crossover_number_variance(lengths, c))) / error
    assert np.abs(score(middle)).max() < 5, score(middle)
    assert np.abs(score(middle / 2)).max() > 6
    assert np.abs(score(2 * middle)).max() > 6
