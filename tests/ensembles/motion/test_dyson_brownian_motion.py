"""Dyson's Brownian motion on the line: laws of steps, moments along a path, the stationary process, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.statistical import assert_law, assert_mean

SCALE, REVERSION = 0.7, 0.4
LEVELS = np.array([0.9, -1.3, 0.2])
TIMES = np.array([0.0, 0.3, 1.1, 1.1])


def paths(motion, times, number, key):
    """Levels along many independent paths, in double precision."""
    draw = jax.jit(jax.vmap(lambda key: motion.eigenvalues(key, times)))
    return np.asarray(draw(jax.random.split(key, number)), np.float64)


def decay_and_variance(time, reversion=REVERSION):
    variance = -np.expm1(-2 * reversion * time) / (2 * reversion) if reversion else time
    return np.exp(-reversion * time), SCALE**2 * variance


@pytest.mark.parametrize("beta", [1, 2, 4])
@pytest.mark.parametrize("reversion", [0.0, REVERSION], ids=["line", "mean reverting"])
def test_moments_along_a_path(getkey, beta, reversion):
    n = LEVELS.size
    levels = paths(rmt.DysonBrownianMotion(LEVELS, beta, SCALE, reversion), TIMES, 10_000, getkey())
    assert levels.shape == (10_000, 4, n)
    assert (np.diff(levels) > 0).all()
    np.testing.assert_allclose(levels[:, 0], np.broadcast_to(np.sort(LEVELS), (10_000, n)), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(levels[:, 2], levels[:, 3])
    for place, time in enumerate(TIMES[1:3], start=1):
        decay, variance = decay_and_variance(time, reversion)
        c = variance * (1 + (2 / beta - 1) / n)
        trace = levels[:, place].sum(-1)
        assert_law(trace, scipy.stats.norm(decay * LEVELS.sum(), (2 / beta * variance) ** 0.5).cdf)
        assert_mean((levels[:, place] ** 2).sum(-1), decay**2 * (LEVELS**2).sum() + n * c)
        assert_mean((levels[:, place] ** 3).sum(-1), decay**3 * (LEVELS**3).sum() + 3 * c * decay * LEVELS.sum())
    # The second step starts where the first one ended, with noise of its own.
    decay, variance = decay_and_variance(TIMES[2] - TIMES[1], reversion)
    step = levels[:, 2].sum(-1) - decay * levels[:, 1].sum(-1)
    assert_law(step, scipy.stats.norm(0, (2 / beta * variance) ** 0.5).cdf)
    assert abs(np.corrcoef(step, levels[:, 1].sum(-1))[0, 1]) < 5 / 10_000**0.5


@pytest.mark.parametrize("beta", [1, 2, pytest.param(4, marks=pytest.mark.float32(further=True))])
def test_distance_of_two_levels_is_a_bessel_process(getkey, beta):
    # For n = 2 the distance has the noise 2s²/β and the drift s²/r: a Bessel process of dimension β + 1.
    times = np.array([0.2, 0.9])
    distance = np.diff(paths(rmt.DysonBrownianMotion([0.0, 0.5], beta, SCALE, REVERSION), times, 4000, getkey()))[
        ..., 0
    ]
    before, start = np.full(4000, 0.5), 0.0
    uniforms = []
    for place, time in enumerate(times):
        decay, variance = decay_and_variance(time - start)
        unit = 2 / beta * variance
        law = scipy.stats.ncx2(beta + 1, (decay * before) ** 2 / unit)
        uniforms.append(law.cdf(distance[:, place] ** 2 / unit))
        before, start = distance[:, place], time
        assert_law(uniforms[-1], scipy.stats.uniform.cdf)
    assert abs(np.corrcoef(*uniforms)[0, 1]) < 5 / 4000**0.5


@pytest.mark.parametrize(("base", "beta"), [(rmt.GOE, 1), (rmt.GUE, 2), (rmt.GSE, 4)])
def test_the_gaussian_ensemble_is_stationary(getkey, base, beta):
    n, times = 3, [0.0, 0.5]
    motion = rmt.DysonBrownianMotion(base(n, SCALE), beta, SCALE * (2 * REVERSION) ** 0.5, REVERSION)
    levels = paths(motion, times, 20_000, getkey())
    second = n * SCALE**2 * (1 + (2 / beta - 1) / n)
    trace, square = levels.sum(-1), (levels**2).sum(-1)
    for place in (0, 1):
        assert_mean(square[:, place], second)
        assert_mean((trace[:, place]) ** 2, 2 / beta * SCALE**2)
    # Hermite polynomials of degree k of the entries decay as e^{-kθτ}. The variance of tr H² is that of a gamma law.
    decay, components = np.exp(-REVERSION * 0.5), n + beta * n * (n - 1) / 2
    assert_mean(trace[:, 0] * trace[:, 1], decay * 2 / beta * SCALE**2)
    centred = square - second
    assert_mean(centred[:, 0] * centred[:, 1], decay**2 * 2 * second**2 / components)
    law = motion.law(0.5)
    np.testing.assert_allclose([law.mean(), law.var()], [0, SCALE**2], rtol=0, atol=1e-12)


def test_from_orthogonal_to_unitary(getkey):
    # A GOE whose entries get an imaginary part.
    motion = rmt.DysonBrownianMotion(rmt.GOE(2), 2)
    levels = paths(motion, [0.0, 0.5], 20_000, getkey())
    assert_mean((levels[:, 0] ** 2).sum(-1), 3.0)
    assert_mean((levels[:, 1] ** 2).sum(-1), 3.0 + 0.5 * 2)
    # The distance at 0 is Rayleigh's, and every step is one of β = 2.
    distance = np.diff(levels)[..., 0]
    assert_law(distance[:, 0], scipy.stats.rayleigh(scale=2**0.5).cdf)
    uniforms = scipy.stats.ncx2(3, distance[:, 0] ** 2 / 0.5).cdf(distance[:, 1] ** 2 / 0.5)
    assert_law(uniforms, scipy.stats.uniform.cdf)


def test_a_real_matrix_becomes_quaternions(getkey):
    matrices = rmt.DysonBrownianMotion(rmt.GOE(3), 4).sample(getkey(), [0.0, 0.2])
    levels = np.linalg.eigvalsh(np.asarray(matrices, np.complex128))
    np.testing.assert_allclose(levels[:, ::2], levels[:, 1::2], rtol=0, atol=1e-5)
    assert matrices.shape == (2, 6, 6)


@pytest.mark.parametrize("reversion", [0.0, 0.8])
def test_law_of_many_levels(getkey, reversion):
    n, time = 200, 0.3
    start = np.repeat([-1.5, 1.0], [n // 4, 3 * n // 4])
    motion = rmt.DysonBrownianMotion(start, 2, SCALE, reversion)
    levels = paths(motion, time, 10, getkey())
    law, x = motion.law(time), np.linspace(-2.5, 2.5, 41)
    empirical = (levels.ravel()[:, None] <= x).mean(0)
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.006)
    assert np.abs(empirical - motion.law(1.3 * time).cdf(x)).max() > 0.009
    decay, variance = decay_and_variance(time, reversion)
    parts = rmt.laws.Empirical(decay * start, np.full(n, 1 / n)), rmt.laws.Semicircle(2 * variance**0.5)
    np.testing.assert_allclose(rmt.laws.FreeSum(*parts).pdf(x), law.pdf(x), rtol=0, atol=2e-5)


@pytest.mark.float32
@pytest.mark.parametrize(("beta", "copies"), [(1, 1), (2, 1), (4, 2)])
def test_levels_are_those_of_the_matrices(getkey, beta, copies):
    key, motion = getkey(), rmt.DysonBrownianMotion(LEVELS, beta, SCALE, REVERSION)
    matrices, levels = motion.sample(key, TIMES), np.asarray(motion.eigenvalues(key, TIMES))
    assert matrices.shape == (4, copies * 3, copies * 3)
    reference = np.linalg.eigvalsh(np.asarray(matrices, np.complex128))[:, ::copies]
    np.testing.assert_allclose(levels, reference, rtol=0, atol=30 * np.finfo(levels.dtype).eps)


@pytest.mark.parametrize(
    "motion", [rmt.DysonBrownianMotion(LEVELS), rmt.CircularBrownianMotion(LEVELS)], ids=["line", "circle"]
)
def test_more_times_at_the_end_leave_a_path_as_it_is(getkey, motion):
    key = getkey()
    path = np.asarray(motion.sample(key, TIMES))
    np.testing.assert_array_equal(motion.sample(key, TIMES[:2]), path[:2])
    np.testing.assert_array_equal(motion.sample(key, 0.3), motion.sample(key, [0.3])[0])


@pytest.mark.float32
def test_long_times_forget_the_start():
    dtype = jnp.zeros(0).dtype
    motion = rmt.DysonBrownianMotion(rmt.GOE(3), 1, jnp.asarray(1.0, dtype), 0.5)
    right = rmt.laws.Semicircle(jnp.asarray(2.0, dtype)).cdf(0.3)
    for time in (100.0, 240.0, 4000.0, 1e20, 1e30):
        np.testing.assert_allclose(motion.law(time).cdf(0.3), right, rtol=1e-5)
    key, fast = jax.random.key(0), rmt.DysonBrownianMotion([0.0, 1.0], 2, 1.0, 1e20)
    spread = np.ptp(fast.eigenvalues(key, 1e20)) * 1e10
    assert 0.01 < spread < 10


def test_streams_through_simulate(getkey):
    motion, times = rmt.DysonBrownianMotion(np.zeros(4), 2), jnp.array([0.5, 1.0])
    moments = rmt.simulate(lambda key: motion.eigenvalues(key, times).sum(-1), getkey(), 2000, reduce=rmt.Moments())
    # The trace is √2/β^½ times a Brownian motion, here a standard one.
    np.testing.assert_allclose(moments.variance, times, rtol=6 * (2 / 2000) ** 0.5)


def test_derivatives(getkey):
    key = getkey()
    levels = lambda *args: rmt.DysonBrownianMotion(args[0], 2, *args[1:3]).eigenvalues(key, args[3])
    check_derivatives(levels, jnp.array([0.9, -1.3, 0.2]), SCALE, REVERSION, jnp.array([0.3, 1.1]))
    # At θ = 0 the variance is t - θt² + …
    law = lambda reversion: rmt.DysonBrownianMotion([0.0, 0.0], 2, 1.0, reversion).law(0.5).var()
    np.testing.assert_allclose(jax.grad(law)(0.0), -0.25, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.DysonBrownianMotion([0.0, np.inf]), "`initial` must be finite"),
        (lambda: rmt.DysonBrownianMotion(rmt.AltlandZirnbauer("DIII", 4), 4), "`initial` must have real matrices, or"),
        (lambda: rmt.DysonBrownianMotion(np.zeros((2, 2))), "`initial` must be a vector"),
        (lambda: rmt.DysonBrownianMotion([0.0, 1.0], 3), "`beta` must be 1, 2 or 4, got 3"),
        (lambda: rmt.DysonBrownianMotion([0.0, 1.0], 2, 0.0), "`scale` must be positive"),
        (lambda: rmt.DysonBrownianMotion([0.0, 1.0], 2, 1.0, -0.1), "`reversion` must be finite and not negative"),
        (lambda: rmt.DysonBrownianMotion(rmt.GUE(3), 1), "`initial` must have real matrices for beta = 1, got GUE"),
        (lambda: rmt.DysonBrownianMotion(rmt.GSE(3), 2), "`initial` must have n rows for beta = 2, got GSE"),
        (lambda: rmt.DysonBrownianMotion(rmt.GUE(3), 4), "`initial` must have real matrices, or quaternions"),
        (
            lambda: rmt.DysonBrownianMotion([0.0]).eigenvalues(jax.random.key(0), [1.0, 0.5]),
            "`times` must be finite, at",
        ),
        (lambda: rmt.DysonBrownianMotion([0.0]).sample(jax.random.key(0), -1.0), "`times` must be finite, at least 0"),
        (
            lambda: rmt.DysonBrownianMotion([0.0]).sample(jax.random.key(0), [[1.0]]),
            "`times` must be a number or a vec",
        ),
        (lambda: rmt.DysonBrownianMotion([0.0]).law(0.0), "`time` must be positive"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_times_in_a_program_give_nan(getkey):
    levels = jax.jit(lambda times: rmt.DysonBrownianMotion([0.0, 1.0]).eigenvalues(jax.random.key(0), times))
    assert np.isnan(levels(jnp.array([1.0, 0.5]))).all()
    assert np.isfinite(levels(jnp.array([0.5, 1.0]))).all()
