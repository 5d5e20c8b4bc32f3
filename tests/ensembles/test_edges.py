"""Edges: exact laws of the extreme levels at finite n, and how fast they approach the limit."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

import rmtjax as rmt
from rmtjax.ensembles import Edge
from rmtjax.ensembles._core import edge_constants
from tests.cases import daily
from tests.statistical import assert_mean

POINTS = np.linspace(-4.0, 2.0, 7)
KEY = jax.random.key(0)


@functools.cache
def moments(weight, start, end, number):
    """Moments of a weight over an interval: of x^a e^(-x), or of x^a (1 - x)^b."""
    a, *b = weight
    if b:
        return [mpmath.betainc(a + k + 1, b[0] + 1, start, end) for k in range(number)]
    return [mpmath.gammainc(a + k + 1, start, end) for k in range(number)]


def inside(weight, n, start, end):
    """The probability that all n levels of the unitary ensemble lie in the interval (Andréief: a ratio of dets)."""
    with mpmath.workdps(60):
        hankel = lambda m: mpmath.det(mpmath.matrix([[m[i + j] for j in range(n)] for i in range(n)]))
        whole = (0, 1) if len(weight) > 1 else (0, mpmath.inf)
        return float(hankel(moments(weight, start, end, 2 * n)) / hankel(moments(weight, *whole, 2 * n)))


def below(edge, weight, n, unit, x):
    """P(standardised extreme level ≤ x), exactly; `unit` is a level in units of the weight."""
    level = mpmath.mpf(float(edge.levels(x)) / unit)
    ends = (0, level) if edge.side == "upper" else (level, 1 if len(weight) > 1 else mpmath.inf)
    # The variable grows outward from a soft edge: no level lies beyond x. From a hard edge it grows inward.
    return inside(weight, n, *ends) if edge.kind == "soft" else 1 - inside(weight, n, *ends)


def error(edge, weight, n, unit=1.0, points=POINTS):
    return max(abs(below(edge, weight, n, unit, x) - float(edge.law.cdf(x))) for x in points)


# Unitary ensembles at two sizes: the ensemble, the weight of its levels, and their unit.
UNITARY = {
    "Laguerre, upper": (lambda n: (rmt.Wishart(n, 2 * n, 2), (n,), 1 / (2 * n)), "soft_edge", "upper"),
    "Laguerre, wide": (lambda n: (rmt.Wishart(2 * n, n, 2), (n,), 1 / n), "soft_edge", "upper"),
    "Laguerre, lower": (lambda n: (rmt.Wishart(n, 4 * n, 2, 1.5), (3 * n,), 1.5**2 / (4 * n)), "soft_edge", "lower"),
    "Laguerre, hard": (lambda n: (rmt.Wishart(n, n + 2, 2), (2,), 1 / (n + 2)), "hard_edge", "lower"),
    "Jacobi, upper": (lambda n: (rmt.Jacobi(n, 3 * n, 2 * n, 2), (2 * n, n), 1.0), "soft_edge", "upper"),
    "Jacobi, lower": (lambda n: (rmt.Jacobi(n, 2 * n, 3 * n, 2), (n, 2 * n), 1.0), "soft_edge", "lower"),
    "Jacobi, hard": (lambda n: (rmt.Jacobi(n, n + 1, 3 * n, 2), (1, 2 * n), 1.0), "hard_edge", "lower"),
    "Jacobi, hard above": (lambda n: (rmt.Jacobi(n, 2 * n, n, 2), (n, 0), 1.0), "hard_edge", "upper"),
}


@pytest.mark.parametrize("name", daily(UNITARY, but=["Laguerre, wide", "Jacobi, lower", "Jacobi, hard above"]))
def test_unitary_ensembles_approach_the_law_at_the_rate_that_the_edge_states(name):
    make, kind, side = UNITARY[name]
    points = POINTS if kind == "soft_edge" else np.array([0.5, 2.0, 5.0, 12.0, 30.0])
    errors = []
    for n in (4, 12):
        ensemble, weight, unit = make(n)
        edge = getattr(ensemble, kind)(side)
        errors.append(error(edge, weight, n, unit, points))
    rate = np.log(errors[0] / errors[1]) / np.log(3)
    # Constants of the first order would have half of the rate.
    assert rate > 0.75 * edge.rate, (rate, errors)
    assert errors[1] < (0.06 if kind == "soft_edge" else 0.02)


# The same for all β; for β = 1 and 4 constants of the first order are off by O(n^{-1/3}).
@pytest.mark.parametrize("ensemble", [rmt.GOE, rmt.GUE, rmt.GSE])
def test_gaussian_ensembles_approach_the_law_at_the_rate_that_the_edge_states(ensemble):
    def largest_error(n):
        edge = ensemble(n).soft_edge()
        beta = int(ensemble(n)._beta())
        gap = lambda x: rmt.laws.hermite_gap_probabilities(n, (edge.levels(x), jnp.inf), beta, 0)[0]
        return np.abs(np.array([gap(x) for x in POINTS]) - edge.law.cdf(POINTS)).max()

    small, large = largest_error(4), largest_error(32)
    assert np.log(small / large) / np.log(8) > 0.5, (small, large)
    assert large < 0.016


# At β = ∞ the levels are zeros of classical polynomials, and the law is a point: the first zero of the Airy function.
FROZEN = {
    "Hermite": lambda n: (2 / n) ** 0.5 * scipy.special.roots_hermite(n)[0],
    "Laguerre": lambda n: scipy.special.roots_genlaguerre(n, 2 * n)[0],
    "Jacobi": lambda n: (1 + scipy.special.roots_jacobi(n, n, 2 * n)[0]) / 2,
}
ALMOST = 1e12


def frozen_edge(name, n, upper):
    one = jnp.asarray(1.0)
    if name == "Hermite":
        return edge_constants.gaussian_soft_edge(n, jnp.asarray(ALMOST), one, upper)
    if name == "Laguerre":
        return edge_constants.laguerre_soft_edge(n, 3 * n, jnp.asarray(ALMOST), one, upper)
    return edge_constants.jacobi_soft_edge(n, 3 * n, 2 * n, jnp.asarray(ALMOST), upper)


@pytest.mark.parametrize("upper", [True, False], ids=["upper", "lower"])
@pytest.mark.parametrize("name", FROZEN)
def test_extreme_zeros_of_classical_polynomials(name, upper):
    """Without the shift of sizes by 1/2 - 1/β the error would fall as n^{-1/3} only."""
    errors = []
    for n in (10, 80):
        zeros = FROZEN[name](n)
        x = frozen_edge(name, n, upper).standardize(zeros[-1] if upper else zeros[0])
        errors.append(abs(float(x) - scipy.special.ai_zeros(1)[0][0]))
    assert np.log(errors[0] / errors[1]) / np.log(8) > 0.55, errors
    assert errors[1] < 0.05


@pytest.mark.parametrize(("upper", "exponents"), [(False, (2, 0)), (False, (2, 30)), (True, (30, 2))])
def test_zeros_next_to_a_hard_edge(upper, exponents):
    """The first zero of a Jacobi polynomial, in the variable of the edge, is the squared zero of a Bessel function."""
    at_zero, at_one = exponents
    n = 60
    zeros = (1 + scipy.special.roots_jacobi(n, at_one, at_zero)[0]) / 2
    # HardEdge does not take β = ∞, where the effective sizes exceed those of β = 2 by 1/2.
    edge = edge_constants.jacobi_hard_edge(n, n + at_zero, n + at_one, 2, upper)
    sizes = lambda shift: (2 * n + 2 + 2 * shift) * (2 * (n + (at_zero if upper else at_one)) + 2 + 2 * shift)
    x = edge.standardize(zeros[-1] if upper else zeros[0]) * sizes(0.5) / sizes(0)
    np.testing.assert_allclose(x, scipy.special.jn_zeros(2, 1)[0] ** 2, rtol=1e-3)


BETAS = {"Wishart": rmt.Wishart(16, 48, 1), "Wishart, quaternion": rmt.Wishart(16, 48, 4)}
BETAS |= {"Jacobi": rmt.Jacobi(16, 48, 32, 1), "Jacobi, quaternion": rmt.Jacobi(16, 48, 32, 4)}
BETAS |= {"LaguerreBeta": rmt.LaguerreBeta(16, 72.0, 3.0), "JacobiBeta": rmt.JacobiBeta(16, 72.0, 48.0, 3.0)}


@functools.partial(jax.jit, static_argnums=1)
def standardised(ensemble, side, keys):
    extreme = ensemble.largest_eigenvalues if side == "upper" else ensemble.smallest_eigenvalues
    return ensemble.soft_edge(side).standardize(jax.vmap(extreme)(keys)[:, 0])


@pytest.mark.heavy
@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("name", daily(BETAS, only=["Wishart"]))
def test_means_of_extreme_levels(getkey, name, side):
    """A wrong unit, β or side moves the mean by far more than the distance from the limit at this n."""
    ensemble = BETAS[name]
    draws = np.asarray(standardised(ensemble, side, jax.random.split(getkey(), 8000)), float)
    # Measured: 0.007 to 0.10; the standard error is 0.014.
    assert abs(draws.mean() - float(ensemble.soft_edge(side).law.mean())) < 0.18


@pytest.mark.heavy
@pytest.mark.parametrize("beta", daily([1, 4], only=[1]))
def test_smallest_levels_at_a_hard_edge(getkey, beta):
    ensemble = rmt.Wishart(10, 11, beta)
    edge = ensemble.hard_edge()
    draws = edge.standardize(jax.jit(jax.vmap(ensemble.smallest_eigenvalues))(jax.random.split(getkey(), 8000))[:, 0])
    # The mean is exact for β = 1 and α = 0: n·ℓ/2 is exponential, so the mean of 4nℓ is 8.
    assert_mean(np.asarray(draws, float), 8.0 if beta == 1 else float(edge.law.mean()))


EXTREMES = {
    "GOE": rmt.GOE(40),
    "GaussianBeta": rmt.GaussianBeta(40, 3.0, 2.0),
    "Wishart": rmt.Wishart(10, 40),
    "Wishart with zeros": rmt.Wishart(12, 4, 2),
    "LaguerreBeta": rmt.LaguerreBeta(10, 20.0, 2.5),
    "Jacobi": rmt.Jacobi(10, 30, 20),
    "Jacobi, forced levels": rmt.Jacobi(10, 4, 8, 2),
    "Jacobi, all forced": rmt.Jacobi(3, 1, 2),
    "Spiked": rmt.Spiked(rmt.GOE(12), [2.0, -0.3]),
    "Spiked, one": rmt.Spiked(rmt.Wishart(12, 5), [3.0]),
    "Spiked, several": rmt.Spiked(rmt.Wishart(12, 5), [3.0, 0.5]),
    "Wigner": rmt.Wigner(6),
}


@pytest.mark.parametrize(
    "name",
    daily(
        EXTREMES, only=["GOE", "Wishart with zeros", "Jacobi, forced levels", "Jacobi, all forced", "Spiked", "Wigner"]
    ),
)
def test_extreme_levels_are_those_of_the_spectrum(getkey, name):
    ensemble, key = EXTREMES[name], getkey()
    levels = ensemble.eigenvalues(key)
    eps = np.finfo(levels.dtype).eps * np.abs(levels).max()
    k = min(5, ensemble.n)
    np.testing.assert_allclose(ensemble.largest_eigenvalues(key, k), levels[-k:], rtol=0, atol=40 * eps)
    np.testing.assert_allclose(ensemble.smallest_eigenvalues(key, k), levels[:k], rtol=0, atol=40 * eps)


def test_levels_and_variables_are_inverse():
    x = np.array([-3.0, 0.0, 4.0])
    for edge in (rmt.GOE(8).soft_edge("lower"), rmt.Wishart(4, 9).soft_edge("lower"), rmt.Jacobi(4, 9, 7).soft_edge()):
        np.testing.assert_allclose(edge.standardize(edge.levels(x)), x, rtol=1e-4, atol=1e-4)
    assert rmt.GOE(8).soft_edge().levels(1.0) == -rmt.GOE(8).soft_edge("lower").levels(1.0)


def test_edges_of_beta_ensembles_are_those_of_matrices():
    pairs = [
        (rmt.Wishart(5, 9, 2, 1.5), rmt.LaguerreBeta(5, 9.0, 2.0, 1.5)),
        (rmt.GUE(7, 2.0), rmt.GaussianBeta(7, 2.0, 2.0)),
    ]
    pairs.append((rmt.Jacobi(5, 9, 7, 2), rmt.JacobiBeta(5, 9.0, 7.0, 2.0)))
    for one, other in pairs:
        for side in ("upper", "lower"):
            first, second = one.soft_edge(side), other.soft_edge(side)
            np.testing.assert_allclose([first.centre, first.scale], [second.centre, second.scale], rtol=1e-5)
            np.testing.assert_allclose(first.law.cdf(-2.0), second.law.cdf(-2.0), rtol=1e-4)
    hard, same = pairs[0][0].hard_edge(), pairs[0][1].hard_edge()
    np.testing.assert_allclose([hard.scale, hard.law.alpha], [same.scale, same.law.alpha], rtol=1e-5)


def test_spikes_below_the_threshold_keep_the_edge_of_the_base():
    for base, spikes in ((rmt.GOE(30), [0.9, -3.0]), (rmt.Wishart(30, 120), [1.4, 0.01])):
        edge = rmt.Spiked(base, spikes).soft_edge()
        assert (edge.centre, edge.rate) == (base.soft_edge().centre, 1 / 3)
        with pytest.raises(ValueError, match="`spikes` must stay below the threshold of outliers on that side"):
            rmt.Spiked(base, spikes).soft_edge("lower")
    traced = jax.jit(lambda spikes: rmt.Spiked(rmt.GOE(30), spikes).soft_edge().centre)
    np.testing.assert_array_equal(np.isnan([traced(jnp.array([theta])) for theta in (0.9, 1.1)]), [False, True])


def test_edges_can_be_differentiated_and_traced():
    slope = jax.grad(lambda scale: rmt.Wishart(5, 20, 1, scale).soft_edge().standardize(2.0))(1.0)
    step = 1e-2
    ahead, behind = (rmt.Wishart(5, 20, 1, 1 + d).soft_edge().standardize(2.0) for d in (step, -step))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-2)
    edge = jax.jit(lambda beta: rmt.GaussianBeta(30, beta).soft_edge())(2.5)
    np.testing.assert_allclose(edge.centre, rmt.GaussianBeta(30, 2.5).soft_edge().centre, rtol=1e-6)
    assert np.isnan(jax.jit(lambda beta: rmt.GaussianBeta(2, beta).soft_edge().centre)(0.3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rmt.GOE(4).soft_edge("left"), ValueError, "`side` must be one of 'upper', 'lower', got 'left'"),
        (lambda: rmt.GOE(4).hard_edge(), NotImplementedError, "GOE has no hard edge there that is known"),
        (lambda: rmt.Wishart(4, 9).hard_edge("upper"), NotImplementedError, "Wishart has no hard edge there"),
        (lambda: rmt.Wigner(4).soft_edge(), NotImplementedError, "The soft edges of Wigner are not known"),
        (lambda: rmt.Wishart(4, 4).soft_edge("lower"), ValueError, r"`\|m - n\|` must be positive .* got 0.0"),
        (lambda: rmt.Jacobi(4, 5, 4).soft_edge(), ValueError, r"`\|m - n\|` must be positive .* got 0.0"),
        (lambda: rmt.GaussianBeta(2, 0.3).soft_edge(), ValueError, r"`n \+ 1/2 - 1/beta .*` must be positive where"),
        (lambda: rmt.GaussianBeta(2, 0.3).edge_levels(KEY), ValueError, r"`n \+ 1/2 - 1/beta` must be positive where"),
        (lambda: rmt.Jacobi(3, 1, 2).soft_edge(), ValueError, r"\(of levels that are not forced\)` must be positive"),
        (lambda: rmt.Wishart(10, 100).hard_edge(), ValueError, "`m - n` must be at most 49 for a hard edge, got 90"),
        (lambda: Edge(0.0, -1.0, rmt.laws.TracyWidom(1), "upper", "soft"), ValueError, "`scale` must be positive and"),
        (lambda: Edge(0.0, 1.0, rmt.laws.TracyWidom(1), "left", "soft"), ValueError, "`side` must be one of"),
        (lambda: rmt.LaguerreBeta(4, 9.0, 2.5).hard_edge(), ValueError, "`beta` must be 1, 2 or 4, got 2.5"),
        (lambda: rmt.Wishart(4, 9).largest_eigenvalues(KEY, 5), ValueError, "`k` must be at most 4, got 5"),
        (lambda: rmt.Wishart(4, 9).smallest_eigenvalues(KEY, 0), ValueError, "`k` must be an integer of at least 1"),
        (lambda: rmt.GOE(4).soft_edge().standardize(1j), ValueError, "`levels` must be real"),
        (lambda: rmt.GOE(4).soft_edge().levels(1j), ValueError, "`x` must be real"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
