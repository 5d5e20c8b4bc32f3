"""Form factor and number variance on the circle: joint densities, sums of mpmath, limits, matrices."""

import itertools
from collections import Counter
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import circular_form_factor, circular_number_variance, form_factor, number_variance
from rmtjax.testing import check_derivatives, check_jit, check_vmap
from tests.cases import further
from tests.statistical import assert_mean

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
BETAS = [1, 2, 4]


def mean_square_of_trace(n, beta, time):
    """The mean of |Σ z_j^t|² for even β, from the Laurent polynomial Π (1 - z_i/z_j)^{β/2} as a joint density."""
    density = Counter({(0,) * n: 1})
    for i, j in list(itertools.permutations(range(n), 2)) * (beta // 2):
        step = np.eye(n, dtype=int)[i] - np.eye(n, dtype=int)[j]
        for powers, coefficient in list(density.items()):
            density[tuple(np.add(powers, step).tolist())] -= coefficient
    moves = [time * (np.eye(n, dtype=int)[i] - np.eye(n, dtype=int)[j]) for i in range(n) for j in range(n)]
    return Fraction(sum(density[tuple(move.tolist())] for move in moves), density[(0,) * n])


@pytest.mark.parametrize("beta", [2, 4])
def test_form_factor_of_the_joint_density_for_even_beta(beta):
    for n in (1, 2, 3):
        times = range(1, 2 * n + 3)
        expected = [float(mean_square_of_trace(n, beta, t)) / n for t in times]
        np.testing.assert_allclose(circular_form_factor(jnp.array(times), n, beta), expected, rtol=1e-15)


def gaps_of_three(beta):
    """Two angles, besides a third at 0, and their weights by the joint density, at the nodes of a Gauss rule."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    u, w = (nodes + 1) / 2, weights / 2
    far = 2 * np.pi * u[:, None]
    near = far * u
    density = np.sin(near / 2) * np.sin(far / 2) * np.sin((far - near) / 2)
    mass = density**beta * far * w[:, None] * w
    return near, far + 0 * near, mass / mass.sum()


def test_three_levels_by_integration():
    # For ordered angles the density has no absolute values, and the Gauss rule is right to all digits.
    for beta in BETAS:
        near, far, mass = gaps_of_three(beta)
        times = np.arange(1, 8)
        traces = [abs(1 + np.exp(1j * t * near) + np.exp(1j * t * far)) ** 2 for t in times]
        expected = [(mass * trace).sum() / 3 for trace in traces]
        np.testing.assert_allclose(circular_form_factor(times, 3, beta), expected, rtol=1e-12)


def test_number_variance_of_two_levels_by_integration():
    # The angle φ between two levels has the density sin(φ/2)^β. An arc of angle a > φ holds both with probability
    # (a - φ)/2π. Either level may come first along the arc, and E N² = E N + 2 P(both).
    length = np.array([0.1, 0.7, 1.0, 1.6])
    for beta in BETAS:
        with mpmath.workdps(20):
            density = lambda phi, beta=beta: mpmath.sin(phi / 2) ** beta
            both = lambda a, d=density: mpmath.quad(lambda phi: (a - phi) / (2 * mpmath.pi) * d(phi), [0, a])
            total = mpmath.quad(density, [0, mpmath.pi, 2 * mpmath.pi])
            second = length + 4 * np.array([both(a) / total for a in length * np.pi], float)
        np.testing.assert_allclose(circular_number_variance(length, 2, beta), second - length**2, rtol=1e-12)


def coefficient(n, beta, time):
    """The form factor from the Fourier series of Mehta's quaternion kernel, as the sum over pairs of waves."""
    size = 2 * n if beta == 4 else n
    waves = [Fraction(2 * j - size + 1, 2) for j in range(size)]
    inside = [p for p in waves if abs(time - p) <= Fraction(size - 1, 2)]
    if beta == 4:
        return float(1 - sum(1 - p / (time - p) for p in inside) / (4 * n))
    cluster = len(inside) + sum(p / (time - p) for p in waves if p not in inside) * (beta == 1)
    return float(1 - Fraction(cluster) / n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_form_factor(dtype):
    for n, beta in itertools.product((1, 2, 5, 40, 151), BETAS):
        times = sorted({1, 2, 3, n // 3 + 1, n - 1, n, n + 1, n + 17, 2 * n - 1, 2 * n, 2 * n + 1, 5 * n} - {0})
        got = circular_form_factor(jnp.asarray(times, dtype), n, beta)
        assert got.dtype == dtype
        expected = [coefficient(n, beta, t) for t in times]
        np.testing.assert_allclose(got, expected, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.float32
def test_the_range_of_times():
    n, eps = 7, float(jnp.finfo(jnp.result_type(float)).eps)
    for beta in (0, *BETAS):
        late = circular_form_factor(jnp.array([0.0, -3.0, 1e12, np.inf, np.nan, 0.5, 3.5, -7.25]), n, beta)
        expected = [n, circular_form_factor(3, n, beta), 1, 1, np.nan, np.nan, np.nan, np.nan]
        np.testing.assert_allclose(late, expected, rtol=4 * eps)
        slopes = jax.vmap(jax.grad(lambda t, b=beta: circular_form_factor(t, n, b)))(jnp.array([0.0, 1.0, 7.0, 14.0]))
        np.testing.assert_array_equal(slopes, 0)


@pytest.mark.parametrize("beta", BETAS)
def test_many_levels(beta):
    n = 10**8
    tau = np.array([1e-6, 0.25, 0.75, 1.5, 3.0])
    np.testing.assert_allclose(circular_form_factor(tau * n, n, beta), form_factor(tau, beta), rtol=1e-13)
    length = jnp.array([1e-3, 0.4, 3.3, 41.7])
    np.testing.assert_allclose(circular_number_variance(length, n, beta), number_variance(length, beta), rtol=1e-13)


def variance(length, n, beta):
    """The number variance in mpmath: for β = 2 a finite sum, for β = 1 and 4 a formula in this sum."""
    pi = mpmath.pi
    size, length = (2 * n, 2 * length) if beta == 4 else (n, length)
    wave = lambda t: mpmath.sin(t * pi * length / size) / (pi * t)
    unitary = length * (1 - length / size) - 2 * sum((size - t) * wave(t) ** 2 for t in range(1, size))
    waves = [mpmath.mpf(2 * j - size + 1) / 2 for j in range(size)]
    mean = sum(wave(2 * p) if p else length / size for p in waves)
    return {1: 2 * unitary - mean * (1 - mean), 2: unitary, 4: unitary / 2 + mean**2 / 4}[beta]


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_number_variance(beta, dtype):
    for n in (2, 3, 5, 6, 7, 40):
        lengths = np.float32(n * np.array([1e-6, 1e-3, 0.003, 0.03, 0.1, 0.25, 0.49, 0.5, 0.7, 0.99]))
        with mpmath.workdps(30):
            expected = [float(variance(mpmath.mpf(float(length)), n, beta)) for length in lengths]
        got = circular_number_variance(jnp.asarray(lengths, dtype), n, beta)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=40 * np.finfo(dtype).eps)


def test_number_variance_is_the_sum_over_form_factors():
    # Beyond the last time K is 1 + O(t^-2), and the sum of sin²(ta)/t² over all t is a (π - a)/2.
    n, length, times = 9, np.array([0.3, 2.5, 4.5, 7.0]), np.arange(1, 20001)
    for beta in (0, *BETAS):
        excess = n * (np.asarray(circular_form_factor(times, n, beta)) - 1) / times**2
        sines = np.sin(np.pi * times * length[:, None] / n) ** 2
        expected = 2 / np.pi**2 * (sines @ excess) + length * (1 - length / n)
        np.testing.assert_allclose(circular_number_variance(length, n, beta), expected, rtol=1e-11)


@pytest.mark.float32
@pytest.mark.parametrize("n", [4, *further(31)])
def test_the_ends_of_the_range_of_lengths(n):
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    for beta in (0, *BETAS):
        curve = lambda x, beta=beta: circular_number_variance(x, n, beta)
        got = curve(jnp.array([0.0, n, -0.1, n + 0.1, np.inf, np.nan]))
        np.testing.assert_array_equal(got, [0, 0, np.nan, np.nan, np.nan, np.nan])
        slopes = jax.vmap(jax.grad(curve))(jnp.array([0.0, n / 2, n]))
        np.testing.assert_allclose(slopes, [1, 0, -1], rtol=0, atol=20 * eps)


@pytest.mark.parametrize("n", [4, *further(31)])
def test_derivatives_and_transformations(n):
    lengths = jnp.array([0.004, 0.3, 1.7, 3.4])
    check_derivatives(lambda x: [circular_number_variance(x, n, beta) for beta in BETAS], lengths)
    check_jit(lambda t: circular_form_factor(t, n, 1), jnp.array([1.0, 2.0, 9.0]))
    check_vmap(lambda t: circular_form_factor(t, n, 4), jnp.array([1.0, 2.0, 9.0]))


@pytest.mark.parametrize("ensemble", [rmt.COE(6), *further(rmt.CUE(6), rmt.CSE(6))])
def test_matrices(ensemble):
    beta, n, times, length = round(float(ensemble._beta())), 6, jnp.array([1.0, 3.0, 6.0, 8.0]), 2.2

    def measure(key):
        phases = ensemble.eigenphases(key)
        traces = jnp.abs(jnp.exp(1j * (times[:, None] * phases[None]).astype(complex)).sum(-1)) ** 2 / n
        inside = jnp.sum(jnp.abs(phases) < jnp.pi * length / n).astype(float)
        return jnp.append(traces, (inside - length) ** 2)

    draws = np.asarray(rmt.simulate(measure, jax.random.key(8), 20000))
    expected = [*circular_form_factor(times, n, beta), circular_number_variance(length, n, beta)]
    for values, mean in zip(draws.T, expected, strict=True):
        assert_mean(values, float(mean))
