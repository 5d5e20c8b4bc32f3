"""Mean and variance of linear statistics: exact moments, closed forms, joint densities, matrices."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import circular_linear_statistic_variance, linear_statistic_mean, linear_statistic_variance
from rmtjax.statistics import linear_statistic
from tests.statistical import assert_mean


@pytest.mark.float32
def test_variance_of_traces():
    # The leading orders of the GUE's exact covariances 1, 2, 12 + 3/n², 36 + 60/n²; for other β they are 2/β as large.
    for power, exact in enumerate([0, 1, 2, 12, 36]):
        for beta in (1.0, 2.0, 4.0):
            found = linear_statistic_variance(lambda x, power=power: x**power, beta)
            tolerance = 1e-5 if found.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(found, 2 * exact / beta, rtol=tolerance, atol=tolerance)


@pytest.mark.float32
def test_mean_of_traces():
    # tr H² is χ² with the mean n - 1 + 2/β; for tr H⁴ the genus expansion has 2n + 5(2/β - 1) + O(1/n).
    for beta in (1.0, 2.0, 3.0, 4.0):
        for power, exact in ((0, 7), (1, 0), (2, 6 + 2 / beta), (3, 0), (4, 14 + 5 * (2 / beta - 1))):
            found = linear_statistic_mean(lambda x, power=power: x**power, 7, beta)
            tolerance = 1e-5 if found.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(found, exact, rtol=tolerance, atol=100 * tolerance)


def test_closed_forms():
    # e^x has the coefficients 2 I_k(2), log(z - x) -2 r^k/k, and |x| gives 4/π² by a rational series.
    bessel = [float(2 * mpmath.besseli(k, 2)) for k in range(1, 30)]
    exact = sum(k * a**2 for k, a in enumerate(bessel, 1)) / 6
    np.testing.assert_allclose(linear_statistic_variance(jnp.exp, 3.0), exact, rtol=1e-13)
    r = (3 - 5**0.5) / 2
    found = linear_statistic_variance(lambda x: jnp.log(3 - x), 1.0)
    np.testing.assert_allclose(found, -2 * np.log(1 - r**2), rtol=1e-13)
    for num_nodes in (128, 512):
        found = linear_statistic_variance(jnp.abs, 2.0, num_nodes=num_nodes)
        np.testing.assert_allclose(found, 4 / np.pi**2, rtol=16 / num_nodes**2)
    # For a complex function the variances of both parts add up.
    parts = [linear_statistic_variance(fn, 2.0) for fn in (jnp.cos, jnp.sin)]
    np.testing.assert_allclose(linear_statistic_variance(lambda x: jnp.exp(1j * x), 2.0), sum(parts), rtol=1e-13)


def test_other_supports():
    # The trace of a Wishart matrix is a χ² variate over m: 2n/(βm).
    ratio = 0.3
    support = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    np.testing.assert_allclose(linear_statistic_variance(lambda x: x, 1.0, support), 2 * ratio, rtol=1e-13)
    slope = jax.grad(lambda upper: linear_statistic_variance(lambda x: x, 1.0, (0.0, upper)))(3.0)
    np.testing.assert_allclose(slope, 3 / 4, rtol=1e-12)  # of (b/2)²/2
    wave = lambda scale: linear_statistic_variance(lambda x: jnp.cos(scale * x), 1.0)
    np.testing.assert_allclose(jax.grad(wave)(0.7), (wave(0.7 + 1e-5) - wave(0.7 - 1e-5)) / 2e-5, rtol=1e-8)


@pytest.mark.parametrize("beta", [1.0, 2.0, 3.0, 4.0])
def test_gaussian_ensembles(getkey, beta):
    # The limits are off by about 1/n = 1.2 %. A β that is off by 1 would change the variance by a quarter and more.
    n, draws = 80, 2000
    f = jnp.cosh
    levels = rmt.simulate(rmt.GaussianBeta(n, beta).eigenvalues, getkey(), draws)
    sums = np.asarray(linear_statistic(levels, f), np.float64)
    mean, variance = float(linear_statistic_mean(f, n, beta)), float(linear_statistic_variance(f, beta))
    assert_mean(sums, mean)
    # Half of the correction of the mean is far outside of the limits (except for β = 2, where the correction is 0).
    correction = mean - float(linear_statistic_mean(f, n, 2.0))
    assert beta == 2 or abs(correction) / 2 > 4.9 * (variance / draws) ** 0.5
    assert abs(sums.var() / variance - 1) < 4.9 * (2 / draws) ** 0.5 + 1.2 / n


@pytest.mark.slow
def test_the_variance_depends_on_the_support_only(getkey):
    # Wishart and Jacobi levels have supports of their own; the density of the levels does not matter.
    draws, f = 4000, lambda x: jnp.exp(1.5 * x)
    n, m1, m2 = 60, 90, 150
    for ensemble, beta in ((rmt.Wishart(n, 2 * n, 1), 1.0), (rmt.Jacobi(n, m1, m2, 2), 2.0)):
        sums = np.asarray(linear_statistic(rmt.simulate(ensemble.eigenvalues, getkey(), draws), f), np.float64)
        limit = float(linear_statistic_variance(f, beta, ensemble.law().support()))
        assert abs(sums.var() / limit - 1) < 4.9 * (2 / draws) ** 0.5 + 3 / n


def two_angles(f, beta):
    """The variance for two levels by the joint density |sin(u/2)|^β of their distance, exact for even β."""
    grid = 2 * np.pi * np.arange(64) / 64 - np.pi
    one, other = np.meshgrid(grid, grid)
    weight = abs(np.sin((one - other) / 2)) ** beta
    total = np.asarray(f(one) + f(other))
    mean = (weight * total).sum() / weight.sum()
    return (weight * abs(total - mean) ** 2).sum() / weight.sum()


@pytest.mark.float32
def test_circle_exactly():
    real = lambda theta: jnp.cos(theta) + 0.5 * jnp.sin(3 * theta) - 2 * jnp.cos(2 * theta) + 7
    f = lambda theta: jax.lax.complex(real(theta), -2 * jnp.sin(2 * theta))
    for beta in (2, 4):
        found = circular_linear_statistic_variance(f, beta, 2)
        np.testing.assert_allclose(found, two_angles(f, beta), rtol=1e-4 if found.dtype == np.float32 else 1e-12)
    # One level, and independent levels.
    for beta, n in ((1, 1), (2, 1), (4, 1), (0, 5)):
        np.testing.assert_allclose(circular_linear_statistic_variance(f, beta, n), n * (0.5 + 0.125 + 4), rtol=1e-5)
    np.testing.assert_allclose(circular_linear_statistic_variance(f, 2), 0.5 + 3 / 8 + 8, rtol=1e-5)
    many, limit = (circular_linear_statistic_variance(f, beta, n) for beta, n in ((4, 10**6), (4.0, None)))
    np.testing.assert_allclose(many, limit, rtol=1e-4)


@pytest.mark.float32
@pytest.mark.parametrize("num_nodes", [9, 10])
def test_the_highest_degree_on_the_circle(num_nodes):
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    variance = lambda f, n=None: circular_linear_statistic_variance(f, 2, n, num_nodes=num_nodes)
    # Waves of degree 4 < num_nodes/2 in any phase, real and complex; 2 |f_k|² min(k, n) for real ones.
    for f, power in (
        (lambda theta: 2 * jnp.cos(4 * theta + 0.7), 2),
        (lambda theta: 2 * jnp.sin(4 * theta), 2),
        (lambda theta: jnp.exp(-4j * theta), 1),
    ):
        np.testing.assert_allclose([variance(f), variance(f, 3)], [4 * power, 3 * power], rtol=100 * eps)
    # At degree 5 ten points resolve a cosine, but a sine is 0 at them. On nine points both are waves of degree 4.
    cosine, sine = (variance(lambda theta, g=g: 2 * g(5 * theta)) for g in (jnp.cos, jnp.sin))
    np.testing.assert_allclose([cosine, sine], [10, 0] if num_nodes == 10 else [8, 8], rtol=100 * eps, atol=1e-9)


def test_diaconis_and_evans():
    # The sum of |f_k|² min(|k|, n) at β = 2. For a count in an arc it is the number variance, up to its far terms.
    f = lambda theta: jnp.exp(jnp.cos(theta))
    coefficients = np.array([float(mpmath.besseli(k, 1)) for k in range(1, 30)])
    exact = 2 * (coefficients**2 * np.minimum(np.arange(1, 30), 3)).sum()
    np.testing.assert_allclose(circular_linear_statistic_variance(f, 2, 3), exact, rtol=1e-13)
    arc = lambda theta: (abs(theta) < 1).astype(float)
    found = circular_linear_statistic_variance(arc, 2, 8, num_nodes=4096)
    np.testing.assert_allclose(found, rmt.laws.circular_number_variance(8 / np.pi, 8, 2), rtol=2e-3)


@pytest.mark.parametrize("beta", [1, 2])
def test_circular_ensembles(getkey, beta):
    n, f = 10, lambda theta: jnp.exp(jnp.cos(theta)) + jnp.sin(7 * theta)
    ensemble = rmt.COE(n) if beta == 1 else rmt.CUE(n)
    sums = np.asarray(linear_statistic(rmt.simulate(ensemble.eigenphases, getkey(), 4000), f), np.float64)
    mean = n * float(mpmath.besseli(0, 1))
    assert_mean(sums, mean)
    assert_mean((sums - mean) ** 2, float(circular_linear_statistic_variance(f, beta, n)))
    # The limit is excluded: at n = 10 only the exact curve is right.
    if beta == 1:
        assert abs(float(circular_linear_statistic_variance(f, beta)) / sums.var() - 1) > 0.15


def test_dtypes():
    half, beta = jnp.float32(0.5), jnp.float32(2.0)
    by_f, by_beta = lambda x: jnp.exp(half * x), jnp.exp
    for found in (
        linear_statistic_variance(by_f, 2.0),
        linear_statistic_variance(by_beta, beta),
        linear_statistic_variance(by_beta, 2.0, (-half, half)),
        linear_statistic_mean(by_f, 3, 2.0),
        linear_statistic_mean(by_beta, 3, beta),
        circular_linear_statistic_variance(by_f, 2, 3),
        circular_linear_statistic_variance(by_f, 2.0),
        circular_linear_statistic_variance(by_beta, beta),
    ):
        assert found.dtype == np.float32
    assert linear_statistic_variance(jnp.exp, 2).dtype == linear_statistic_mean(jnp.exp, 3, 2).dtype == np.float64
