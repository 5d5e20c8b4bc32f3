"""Dyson's Brownian motion on the circle: exact moments and laws of steps, the stationary process, symmetry."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.ensembles._motion.heat_kernel import _factor, _log_acceptance
from rmtjax.testing import check_derivatives
from tests.ensembles.draws import dense_phases
from tests.statistical import assert_law, assert_mean

SCALE = 0.8
every_beta = pytest.mark.parametrize("beta", [1, 2, 4])


def paths(motion, times, number, key):
    """Phases along many independent paths, in double precision."""
    draw = jax.jit(lambda keys: jax.lax.map(lambda key: motion.eigenphases(key, times), keys, batch_size=1000))
    return np.asarray(draw(jax.random.split(key, number)), np.float64)


def rate(n, beta):
    """The rate at which the mean of the sum of all eigenvalues falls, by Itô's formula; at β = 2 one half."""
    return SCALE**2 * (1 / (beta * n) + (n - 1) / (2 * n))


@every_beta
@pytest.mark.parametrize("n", [1, 5])
def test_moments_along_a_path(getkey, n, beta):
    # d Σ e^{iθ} has the drift -rate Σ e^{iθ} and the quadratic variation 2s²/β. At n = 5 the last step is made of five.
    times = np.array([0.0, 0.2, 1.6])
    phases = paths(rmt.CircularBrownianMotion(np.zeros(n), beta, SCALE), times, 10_000, getkey())
    assert phases.shape == (10_000, 3, n)
    assert ((phases > -np.pi - 1e-6) & (phases < np.pi + 1e-6)).all()
    np.testing.assert_allclose(phases[:, 0], 0, rtol=0, atol=1e-6)
    sums = np.exp(1j * phases).sum(-1)
    stationary = SCALE**2 / beta / rate(n, beta)
    for place, time in enumerate(times[1:], start=1):
        assert_mean(sums[:, place].real, n * np.exp(-rate(n, beta) * time))
        assert_mean(sums[:, place].imag, 0)
        if n > 1:
            square = stationary + (n**2 - stationary) * np.exp(-2 * rate(n, beta) * time)
            assert_mean(np.abs(sums[:, place]) ** 2, square)
    both = (sums[:, 2] * sums[:, 1].conj()).real
    between = np.exp(-rate(n, beta) * (times[2] - times[1]))
    assert_mean(both, between * (np.abs(sums[:, 1]) ** 2).mean())


@every_beta
@pytest.mark.parametrize("start", [0.0, 1.2])
def test_distance_of_two_phases_is_a_jacobi_process(getkey, beta, start):
    # For n = 2 half of the distance, ψ in (0, π), has the noise s²/(2β) and the drift (s²/4) cot ψ. Gegenbauer's
    # polynomials of order β/2 are the eigenfunctions, with the rates s² k(k + β)/(4β), and sin^β ψ is the weight.
    time = 0.9
    motion = rmt.CircularBrownianMotion([-start, start], beta, SCALE)
    half = np.diff(paths(motion, time, 4000, getkey()))[..., 0] / 2
    order, k = beta / 2, np.arange(60)[:, None]
    psi = np.linspace(0, np.pi, 4001)
    polynomials = scipy.special.eval_gegenbauer(k, order, np.cos(psi))
    weight = np.sin(psi) ** beta
    norms = scipy.integrate.simpson(polynomials**2 * weight, x=psi, axis=-1)[:, None]
    at_start = scipy.special.eval_gegenbauer(k, order, np.cos(start))
    decay = np.exp(-(SCALE**2) * k * (k + beta) / (4 * beta) * time)
    density = (decay * polynomials * at_start / norms).sum(0) * weight
    cdf = scipy.integrate.cumulative_simpson(density, x=psi, initial=0)
    np.testing.assert_allclose(cdf[-1], 1, rtol=0, atol=1e-7)
    # The distance is known up to the way around the circle, ψ or π - ψ.
    shorter = np.minimum(half, np.pi - half)
    assert_law(shorter, lambda x: np.interp(x, psi, cdf) + 1 - np.interp(np.pi - x, psi, cdf))


@pytest.mark.parametrize(("base", "beta"), [(rmt.COE, 1), (rmt.CUE, 2), (rmt.CSE, 4)])
def test_the_circular_ensemble_is_stationary(getkey, base, beta):
    n, times = 3, np.array([0.0, 0.5])
    sums = np.exp(1j * paths(rmt.CircularBrownianMotion(base(n), beta, SCALE), times, 10_000, getkey())).sum(-1)
    stationary = SCALE**2 / beta / rate(n, beta)
    for place in (0, 1):
        assert_mean(np.abs(sums[:, place]) ** 2, stationary)
    assert_mean((sums[:, 1] * sums[:, 0].conj()).real, stationary * np.exp(-rate(n, beta) * 0.5))


def test_after_a_very_long_time_nothing_is_left_of_the_start(getkey):
    # What would take 4·10¹² steps is drawn at once.
    motion = rmt.CircularBrownianMotion([0.0, 0.1], 2)
    phases = paths(motion, np.array([1e12]), 400, getkey())[:, 0]
    half = np.diff(phases)[..., 0] / 2
    assert_law(np.minimum(half, np.pi - half), lambda x: 2 * (x - np.sin(2 * x) / 2) / np.pi)


@pytest.mark.float32
@pytest.mark.parametrize(("beta", "copies"), [(1, 1), (2, 1), (4, 2)])
def test_phases_are_those_of_the_matrices(getkey, beta, copies):
    key, times, start = getkey(), np.array([0.0, 0.3, 1.1]), np.array([2.1, -0.4, np.pi])
    motion = rmt.CircularBrownianMotion(start, beta, SCALE)
    matrices, phases = np.asarray(motion.sample(key, times)), np.asarray(motion.eigenphases(key, times))
    eps = np.finfo(phases.dtype).eps
    np.testing.assert_allclose(
        matrices @ matrices.conj().swapaxes(1, 2), [np.eye(3 * copies)] * 3, rtol=0, atol=20 * eps
    )
    if beta == 1:
        np.testing.assert_array_equal(matrices, matrices.swapaxes(1, 2))
    if beta == 4:
        z = np.kron(np.eye(3), [[0, 1], [-1, 0]])
        np.testing.assert_array_equal(z @ matrices.swapaxes(1, 2) @ z.T, matrices)
    distance = np.exp(1j * dense_phases(matrices)[:, ::copies]) - np.exp(1j * phases)
    assert np.abs(distance[1:]).max() < 100 * eps
    np.testing.assert_allclose(np.sort(np.cos(phases[0])), np.sort(np.cos(start)), rtol=0, atol=20 * eps)


def test_without_rejection_a_step_would_be_wrong(getkey):
    # At this length a third of the proposals count, and without the rejection both means are 5 errors off.
    n, time = 8, jnp.asarray(1.0)
    factors = jax.jit(lambda keys: jax.lax.map(lambda key: _factor(key, n, time), keys, batch_size=1000))
    trace = np.trace(np.asarray(factors(jax.random.split(getkey(), 30_000))), axis1=1, axis2=2)
    assert_mean(trace.real, n * np.exp(-0.5))
    assert_mean(np.abs(trace) ** 2, 1 + (n**2 - 1) * np.exp(-1.0))


@pytest.mark.parametrize("reach", [0.3, 2.0, 5.0])
def test_the_probability_of_acceptance(reach):
    levels = [-reach / 2, -0.11, 0.07, reach / 2]
    pairs = [mp.mpf(b) - mp.mpf(a) for i, a in enumerate(levels) for b in levels[i + 1 :]]
    right = sum(mp.log(mp.sin(d / 2) / (d / 2)) + d**2 / 24 for d in pairs)
    np.testing.assert_allclose(_log_acceptance(jnp.array(levels)), float(right), rtol=1e-9)
    assert _log_acceptance(jnp.array([0.0, 6.3])) == -np.inf


def test_many_steps_keep_the_matrix_unitary(getkey):
    matrix = np.asarray(rmt.CircularBrownianMotion(np.zeros(20), 2).sample(getkey(), jnp.linspace(0, 40, 60)))[-1]
    eps = np.finfo(matrix.dtype).eps
    np.testing.assert_allclose(matrix @ matrix.conj().T, np.eye(20), rtol=0, atol=30 * eps)


@every_beta
def test_derivatives_are_those_of_the_start(getkey, beta):
    key = getkey()
    phases = lambda start: rmt.CircularBrownianMotion(start, beta, SCALE).eigenphases(key, 0.3)
    start = jnp.array([0.9, -1.3, 0.2])
    check_derivatives(phases, start)
    # A rotation of all phases rotates all.
    slopes = np.asarray(jax.jacobian(phases)(start))
    np.testing.assert_allclose(slopes.sum(1), 1, rtol=1e-4)
    with pytest.raises(NotImplementedError, match="no derivative in its times and its scale"):
        jax.jacobian(lambda x: rmt.CircularBrownianMotion(start, beta, x).eigenphases(key, 0.3))(SCALE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.CircularBrownianMotion([0.0, np.inf]), "`initial` must be finite"),
        (lambda: rmt.CircularBrownianMotion(rmt.CUE(3), 1), "`initial` must have the symmetry of beta = 1, got CUE"),
        (lambda: rmt.CircularBrownianMotion(rmt.COE(3), 4), "`initial` must have the symmetry of beta = 4, got COE"),
        (lambda: rmt.CircularBrownianMotion([0.0, 1.0], 3), "`beta` must be 1, 2 or 4, got 3"),
        (lambda: rmt.CircularBrownianMotion([0.0, 1.0], 2, -1.0), "`scale` must be positive"),
        (
            lambda: rmt.CircularBrownianMotion([0.0]).eigenphases(jax.random.key(0), [1.0, 0.5]),
            "`times` must be finite, at least 0 and ascending",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
