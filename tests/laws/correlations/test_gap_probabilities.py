"""Probabilities of k levels: tables from Arb, closed forms, densities, joint densities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

import rmtjax as rmt
from rmtjax.laws import (
    LevelDensity,
    Spacing,
    TracyWidom,
    bulk_gap_probabilities,
    hard_edge_gap_probabilities,
    hermite_gap_probabilities,
    soft_edge_gap_probabilities,
)
from tests.cases import further
from tests.laws.correlations.joint_density import rule

DOUBLE = [(1, np.float64), *further((2, np.float64), (4, np.float64))]


def single(beta, **options):
    return pytest.param(beta, np.float32, marks=pytest.mark.float32(**options))


def mean(probabilities):
    return np.asarray(probabilities, float) @ np.arange(np.shape(probabilities)[-1])


@pytest.mark.parametrize(("beta", "dtype"), [*DOUBLE, single(1, further=True)])
def test_bulk_is_that_of_the_spacings(beta, dtype):
    count = 3
    s = jnp.asarray([0.0, 1e-3, 0.3, 0.9, 1.7, 2.6, 4.1, 12.5, 30.0], dtype)
    functions = lambda s: bulk_gap_probabilities(s, beta, count)
    values, slopes = jax.jit(lambda s: jax.jvp(functions, (s,), (jnp.ones_like(s),)))(s)
    assert values.dtype == dtype
    atol = 1e-14 if dtype == np.float64 else 3e-6
    assert (np.asarray(values) >= -atol).all()
    np.testing.assert_array_equal(values[0], [1, 0, 0, 0])
    # With k levels in between, 1 - F = -Σ_j (k - j + 1) E'(j), and its integral from s on is Σ_j (k - j + 1) E(j).
    for k in range(count + 1):
        weights = np.maximum(k + 1 - np.arange(count + 1), 0)
        np.testing.assert_allclose(-np.asarray(slopes) @ weights, Spacing(beta, k + 1).sf(s), rtol=0, atol=10 * atol)


def test_bulk_with_many_levels():
    s = jnp.array([6.3, 20.0])
    got = bulk_gap_probabilities(s, 1, 30)
    np.testing.assert_allclose(got.sum(-1), 1, rtol=0, atol=1e-13)
    np.testing.assert_allclose(mean(got), s, rtol=1e-13)
    variance = (np.arange(31) - np.asarray(s)[:, None]) ** 2
    np.testing.assert_allclose((got * variance).sum(-1), rmt.laws.number_variance(s, 1), rtol=1e-11)
    assert (got > -1e-15).all()


@pytest.mark.parametrize(("beta", "dtype"), [*DOUBLE, single(4, further=True)])
def test_soft_edge_is_that_of_tracy_and_widom(beta, dtype):
    count = {1: 3, 2: 2, 4: 1}[beta]
    s = jnp.asarray([-13.0, -8.0, -5.0, -3.3, -2.0, -0.7, 0.8, 3.0, 7.0, 99.0, 101.0, np.inf, -np.inf, np.nan], dtype)
    for convention in ("tracy-widom", "stochastic-airy")[: 2 if beta == 4 else 1]:
        got = soft_edge_gap_probabilities(s, beta, count, convention)
        assert got.dtype == dtype
        for k in range(count + 1):
            expected = TracyWidom(beta, convention, k + 1).cdf(s)
            np.testing.assert_allclose(
                got[:, : k + 1].sum(-1), expected, rtol=0, atol=2e-14 if dtype == np.float64 else 1e-5
            )


def closed_form(beta, alpha, s):
    """E(0) for α = 0, ±1/2, 1 and for integers (Edelman 1991; Forrester 1993, Nucl. Phys. B 402, 709)."""
    root = np.sqrt(s)
    if (beta, alpha) == (1, -0.5):
        return np.exp(-s / 8 - root / 2)
    if alpha == 1:
        return np.exp(-beta * s / 8) * special.hyp0f1(2 / beta, s / 4)
    assert beta == 2 or alpha == 0
    index = np.arange(int(alpha))
    minors = special.iv(index[:, None] - index, root[:, None, None])
    return np.exp(-beta * s / 8) * np.linalg.det(minors)


@pytest.mark.parametrize(("beta", "dtype"), [(1, np.float64), *further((2, np.float64)), (4, np.float64), single(4)])
def test_no_level_at_the_hard_edge(beta, dtype):
    alphas = {1: [-0.5, 0.0, 1.0], 2: [0.0, 1.0, 3.0, 5.0], 4: [1.0]}[beta]
    s = np.float32([1e-6, 0.01, 0.9, 7.0, 25.0, 90.0])
    got = hard_edge_gap_probabilities(jnp.asarray(s, dtype), jnp.asarray(alphas, dtype)[:, None], beta, 0)[..., 0]
    assert got.dtype == dtype
    expected = np.array([closed_form(beta, alpha, s.astype(float)) for alpha in alphas])
    np.testing.assert_allclose(got, expected, rtol=0, atol=5e-14 if dtype == np.float64 else 1e-5)


def density(s, beta, alpha):
    """Density of levels at the hard edge (Forrester 2010, Log-Gases, equations 7.33 and 7.157)."""
    a = 2 * alpha + 1 if beta == 1 else alpha
    r = np.sqrt(s)
    unitary = (special.jv(a, r) ** 2 - special.jv(a + 1, r) * special.jv(a - 1, r)) / 4
    if beta == 2:
        return unitary
    return unitary + special.jv(a, r) / (4 * r) * (1 - special.itj0y0(r)[0] if a == 0 else special.jv(0, r))


@pytest.mark.parametrize(("beta", "alpha"), [(1, -0.5), (1, 0.0), (2, 0.0), (2, 2.7)])
def test_mean_number_at_the_hard_edge(beta, alpha):
    s = np.array([3.0, 40.0, 130.0])
    got = hard_edge_gap_probabilities(s, alpha, beta, 8)
    np.testing.assert_allclose(got.sum(-1), 1, rtol=0, atol=1e-12)
    # The density is smooth in the square root of s.
    integrand = lambda r: 2 * r * density(r**2, beta, alpha)
    expected = [integrate.quad(integrand, 0, np.sqrt(end), epsabs=1e-12)[0] for end in s]
    np.testing.assert_allclose(mean(got), expected, rtol=1e-10)


@pytest.mark.slow
def test_the_bulk_from_the_hard_edge():
    # Levels of even and odd parity have the orders -1/2 and 1/2. β = 4 has the mean of both at twice the length.
    length = np.array([0.4, 1.3, 2.9])
    s = (np.pi * length) ** 2
    halves = hard_edge_gap_probabilities(s[:, None], jnp.array([-0.5, 0.5]), 2, 4)
    np.testing.assert_allclose(halves.mean(1), bulk_gap_probabilities(length, 4, 4), rtol=0, atol=5e-14)


def test_far_and_near():
    s = jnp.array([0.0, 1e6, np.inf, -1.0, np.nan])
    expected = np.array([[1, 0], [0, 0], [0, 0], [np.nan] * 2, [np.nan] * 2])
    np.testing.assert_array_equal(hard_edge_gap_probabilities(s, 0.0, 2, 1), expected)


@pytest.mark.parametrize("beta", [1, 2, 4])
@pytest.mark.parametrize("n", [2, *further(3)])
def test_two_and_three_levels(n, beta):
    for a, b in [(-0.4, 1.1), (-0.2, np.inf)]:
        levels, mass = rule(n, beta, tuple(end for end in (a, b) if np.isfinite(end)), nodes=60)
        expected = np.bincount(((levels > a) & (levels < b)).sum(1), mass, minlength=n + 2)
        np.testing.assert_allclose(hermite_gap_probabilities(n, (a, b), beta, n + 1), expected, rtol=0, atol=1e-13)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize(
    ("ensemble", "beta"), [(rmt.GOE(7), 1), *further((rmt.GOE(8), 1), (rmt.GUE(12), 2), (rmt.GSE(6), 4))]
)
def test_mean_number_of_levels(ensemble, beta):
    n, law = ensemble.n, LevelDensity(ensemble)
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    probabilities = jax.jit(lambda ends: hermite_gap_probabilities(n, (ends[0], ends[1]), beta, n))
    mean_number = lambda ends: n * (law.cdf(ends[1]) - law.cdf(ends[0]))
    for interval in [(-0.4, 1.3), (-np.inf, 0.7), (-np.inf, np.inf)]:
        ends, direction = jnp.array(interval), jnp.array([0.3, 1.1])
        got, slopes = jax.jvp(probabilities, (ends,), (direction,))
        assert got.dtype == ends.dtype
        assert got.min() > -100 * eps
        np.testing.assert_allclose(got.sum(), 1, rtol=0, atol=200 * eps)
        np.testing.assert_allclose(slopes.sum(), 0, rtol=0, atol=1000 * eps)
        expected, slope = jax.jvp(mean_number, (ends,), (direction,))
        np.testing.assert_allclose(mean(got), expected, rtol=500 * eps)
        np.testing.assert_allclose(mean(slopes), slope, rtol=0, atol=3000 * eps)


@pytest.mark.float32
def test_one_level():
    # The single level is normal with variance 2/β.
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    for beta in (1, 2, 4):
        z = -0.3 * np.sqrt(beta / 2)
        got = hermite_gap_probabilities(1, (-0.3, jnp.inf), beta, 1)
        np.testing.assert_allclose(got, [special.ndtr(z), special.ndtr(-z)], rtol=0, atol=50 * eps)
        np.testing.assert_allclose(hermite_gap_probabilities(1, (14.0, 15.0), beta, 1), [1, 0], rtol=0, atol=eps)


@pytest.mark.parametrize("n", [8, 40])
def test_no_level_of_the_goe_in_a_symmetric_interval(n):
    # Mehta (2004), section 7.3, has the determinant of the even functions of the weight exp(-x²).
    t = 0.6
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = t * nodes
    functions = [0 * x, np.pi**-0.25 * np.exp(-(x**2) / 2)]
    for k in range(1, n):
        functions.append(np.sqrt(2 / k) * x * functions[-1] - np.sqrt(1 - 1 / k) * functions[-2])
    even = np.array(functions[1::2])
    expected = np.linalg.det(np.eye(n // 2) - (t * weights * even) @ even.T)
    end = t / np.sqrt(n / 2)
    np.testing.assert_allclose(hermite_gap_probabilities(n, (-end, end), 1, n)[0], expected, rtol=0, atol=1e-13)


def test_every_second_level_of_the_goe():
    # Forrester and Rains (2001): every second of 2n + 1 levels, with the weight exp(-x²/2), is a level of a GSE of n.
    n = 6
    for end in (-0.7, 0.4, 1.8):
        orthogonal = hermite_gap_probabilities(2 * n + 1, (end * np.sqrt(2 * n / (2 * n + 1)), np.inf), 1, 2 * n + 1)
        symplectic = hermite_gap_probabilities(n, (end, np.inf), 4, n)
        np.testing.assert_allclose(symplectic, orthogonal.reshape(-1, 2).sum(-1), rtol=0, atol=5e-14)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_the_whole_line_holds_all_levels_and_no_probability_is_negative(beta):
    got = hermite_gap_probabilities(4, (-np.inf, np.inf), beta, 4)
    np.testing.assert_allclose(got, [0, 0, 0, 0, 1], rtol=0, atol=1e-5 if got.dtype == np.float32 else 1e-13)
    assert not np.signbit(got).any()


def test_nothing_of_length_0_holds_a_level():
    curve = lambda s: bulk_gap_probabilities(s, 1, 2)
    np.testing.assert_array_equal(curve(0.0), [1, 0, 0])
    assert not np.signbit(curve(0.0)).any()
    np.testing.assert_allclose(jax.jacobian(curve)(0.0), [-1, 1, 0], rtol=0, atol=1e-14)


@pytest.mark.slow
def test_reverse_mode_over_an_array_is_minus_the_survival_of_the_distance_to_a_level():
    # -dE(0)/ds is the survival function of `Spacing`.
    s = jnp.array([1e-8, 0.1, 1.0, 4.0])
    for beta in (1, 2, 4):
        slope = jax.grad(lambda s, beta=beta: bulk_gap_probabilities(s, beta, 2)[:, 0].sum())(s)
        np.testing.assert_allclose(slope, -Spacing(beta).sf(s), rtol=0, atol=1e-13)
