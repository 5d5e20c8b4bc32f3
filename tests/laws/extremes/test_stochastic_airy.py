"""Stochastic Airy law: Tracy-Widom at β = 1, 2, 4, finite differences of the equation elsewhere, slope in β, tails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, linalg, special

import rmtjax as rmt
from rmtjax.laws import StochasticAiry, TracyWidom
from tests.cases import further
from tests.statistical import assert_law

X = np.array([-7.0, -5.5, -4.2, -3.1, -2.5, -2.05, -1.4, -0.6, 0.5, 1.7, 3.1, 4.4])


@jax.jit
def tabulate(beta, x):
    law = StochasticAiry(beta)
    return {"logcdf": law.logcdf(x), "logsf": law.logsf(x), "pdf": law.pdf(x)}


@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_tracy_widom(beta):
    law = TracyWidom(beta, "stochastic-airy")
    got = tabulate(jnp.asarray(float(beta)), X)
    np.testing.assert_allclose(np.exp(got["logcdf"]), law.cdf(X), rtol=0, atol=5e-13)
    np.testing.assert_allclose(got["pdf"], law.pdf(X), rtol=0, atol=1e-12)
    # Both tails in relative error; beyond the table they come from expansions.
    x = np.array([-30.0, -17.0, -10.0, -7.0, -5.0, -4.0, 0.0, 2.0, 4.0, 6.0, 9.0, 16.0])
    got = {key: np.asarray(value) for key, value in tabulate(jnp.asarray(float(beta)), x).items()}
    for name, tail in (("logcdf", law.logcdf(x)), ("logsf", law.logsf(x))):
        tail, inside = np.asarray(tail), (x > -7.5) & (x < 7.5)
        error = np.abs(got[name] - tail)
        assert error[inside & (tail > -40)].max() < 2e-11
        assert error[inside].max() < 1e-7
        assert error.max() < 5e-5


def by_differences(beta, x, number=800, step=4e-3):
    """F at x from the plain equation, by central differences in θ and the trapezoidal rule, from a Gaussian start."""
    theta = np.pi * np.arange(1, number + 1) / number
    h, s, c = np.pi / number, np.sin(theta), np.cos(theta)
    start = 10 * beta ** (-2 / 3) + 2
    f = special.ndtr(
        (np.sqrt(start) - np.divide(c, s, out=np.full(number, -np.inf), where=s > 1e-12))
        * np.sqrt(beta * np.sqrt(start))
    )
    grid = np.arange(start, min(x) - step, -step)
    values = [1.0]
    for y in grid[:-1]:
        spread = 2 / beta * s**4 / h**2
        drift = (4 / beta * s**3 * c + (y - step / 2) * s**2 - c**2) / (2 * h)
        lower, diagonal, upper = spread - drift, -2 * spread, spread + drift
        # At θ = π the flow leaves the interval, so a second-order difference from the left is used.
        matrix = np.zeros((4, number))
        matrix[0, 1:], matrix[1], matrix[2, :-1] = upper[:-1], diagonal, lower[1:]
        matrix[1, -1], matrix[2, -2], matrix[3, -3] = -1.5 / h, 2 / h, -0.5 / h
        rate = matrix[1] * f
        rate[:-1] += matrix[0, 1:] * f[1:]
        rate[1:] += matrix[2, :-1] * f[:-1]
        rate[2:] += matrix[3, :-2] * f[:-2]
        system = -step / 2 * matrix
        system[1] += 1
        f = linalg.solve_banded((2, 1), system, f + step / 2 * rate, check_finite=False)
        values.append(f[-1])
    return np.interp(x, grid[::-1], np.array(values)[::-1])


# The difference scheme itself is accurate to 2e-5.
@pytest.mark.parametrize("beta", [*further(0.5), 2.7, *further(8.0)])
def test_finite_differences(beta):
    points = {0.5: [-4.0, -1.0, 0.5], 2.7: [-3.0, -2.0, -1.0], 8.0: [-2.8, -2.2, -1.6]}[beta]
    got = np.exp(tabulate(jnp.asarray(beta), np.resize(points, X.size))["logcdf"])[:3]
    np.testing.assert_allclose(got, by_differences(beta, points), rtol=0, atol=4e-5)


# Log F, log(1 - F) and the density, from two marches of the equation of F itself, for log(1 - F) and for F divided by
# its leading decay, on 180 nodes, in 240 steps of order 7.
FINER = {
    0.2: {
        -9.0: (-20.0822078, -1.89848846e-09, 7.42345287e-09),
        -2.0: (-3.73238532, -0.0242267863, 0.0265629443),
        3.0: (-0.631323062, -0.759046873, 0.141495569),
        8.0: (-0.0520338977, -2.98176403, 0.028608802),
    },
    3.0: {
        -6.0: (-24.0679434, -3.52715874e-11, 4.46270675e-10),
        -4.0: (-6.60009245, -0.00136116824, 0.00724044511),
        -2.0: (-0.71088383, -0.675719645, 0.542493778),
        -0.5: (-0.0293847653, -3.54193533, 0.0796339721),
        2.0: (-1.43759968e-06, -13.4525364, 7.27000157e-06),
    },
    8.0: {
        -4.0: (-11.6252284, -8.93777415e-06, 0.000104393982),
        -3.0: (-3.35127495, -0.0356682683, 0.182960917),
        -2.3: (-0.872766863, -0.54093089, 0.866508472),
        -1.5: (-0.0680951876, -2.72070313, 0.265368766),
        0.0: (-4.36632384e-06, -12.3415913, 3.7755541e-05),
    },
}


@pytest.mark.parametrize("beta", FINER)
def test_another_march(beta):
    got = tabulate(jnp.asarray(beta), np.resize(list(FINER[beta]), X.size))
    log_cdf, log_sf, density = np.transpose(list(FINER[beta].values()))
    np.testing.assert_allclose(got["logcdf"][: log_cdf.size], log_cdf, rtol=2e-8)
    np.testing.assert_allclose(got["pdf"][: density.size], density, rtol=2e-8)
    # Elsewhere log(1 - F) came from a rounded F.
    kept = log_sf < -1e-6
    np.testing.assert_allclose(got["logsf"][: log_sf.size][kept], log_sf[kept], rtol=2e-8)


@pytest.mark.slow
def test_derivative_in_beta():
    weights = jnp.cos(jnp.arange(X.size))
    slope = jax.jit(jax.grad(lambda beta, x: weights @ jnp.exp(StochasticAiry(beta).logcdf(x))))
    value = lambda beta: weights @ np.exp(tabulate(jnp.asarray(beta), X)["logcdf"])
    for beta in (0.7, 5.0, 40.0):
        h = 1e-3 * beta
        central = lambda h, beta=beta: (value(beta + h) - value(beta - h)) / (2 * h)
        np.testing.assert_allclose(slope(jnp.asarray(beta), X), (4 * central(h) - central(2 * h)) / 3, rtol=1e-7)


def test_quantile_from_1e_300_to_one_ulp_below_1():
    law = StochasticAiry(2.7)
    p = jnp.array([1e-300, 1e-60, 1e-15, 1e-3, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53, 0, 1])
    x = jax.jit(law.ppf)(p)
    np.testing.assert_array_equal(x[-2:], [-np.inf, np.inf])
    # Another compilation rounds the march differently.
    got = tabulate(law.beta, x)
    assert (np.diff(x[:-2]) > 0).all()
    np.testing.assert_allclose(got["logcdf"][:5], np.log(p[:5]), rtol=1e-8)
    np.testing.assert_allclose(got["logsf"][5:10], np.log1p(-p[5:10]), rtol=1e-8)


@pytest.mark.slow
def test_mean_and_variance():
    law = TracyWidom(4, "stochastic-airy")
    moments = jax.jit(lambda law: (law.mean(), law.var()))
    np.testing.assert_allclose(moments(StochasticAiry(4.0)), (law.mean(), law.var()), rtol=1e-12)
    # For large β the mean is the lowest level of the Airy operator. The noise moves it with the variance 4/β · ∫ ψ⁴.
    zero = special.ai_zeros(1)[0][0]
    square = lambda x: (special.airy(x + zero)[0] / special.airy(zero)[1]) ** 2
    spread = 4 * integrate.quad(lambda x: square(x) ** 2, 0, 20, epsabs=1e-13)[0]
    mean, variance = moments(StochasticAiry(1e6))
    np.testing.assert_allclose(mean, zero, rtol=0, atol=2e-6)
    np.testing.assert_allclose(variance * 1e6, spread, rtol=2e-7)


def test_small_beta():
    # Up to O(β) this is the law of the largest of independent levels.
    beta, z = 0.001, np.array([1.5, 2.0, 2.5, 3.0, 4.0])
    ai, _, bi, _ = special.airy(z)
    expected = -2 / (np.pi * beta) * np.arctan(ai / bi)
    points = np.resize((beta / 2) ** (-2 / 3) * z, X.size)
    got = tabulate(jnp.asarray(beta), points)["logcdf"][: z.size]
    np.testing.assert_allclose(got, expected, rtol=0.04)
    np.testing.assert_allclose(got[2:], expected[2:], rtol=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [3.0, *further(0.001, 0.05, 1e4)])
def test_pieces_meet(beta):
    natural = (1 + 1 / beta) ** (2 / 3)
    x = natural * np.add.outer([-8.0, 9.0], [-1e-9, 1e-9])
    logs = jax.jit(lambda law: (law.logcdf(x[0]), law.logsf(x[1]), law.logpdf(x)))(StochasticAiry(beta))
    for left, right in ((log[..., 0], log[..., 1]) for log in logs[:2]):
        np.testing.assert_allclose(left, right, rtol=1e-8)
    np.testing.assert_allclose(logs[2][:, 0], logs[2][:, 1], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.float32(only=True)
@pytest.mark.parametrize("beta", [1, 4])
def test_single_precision(beta):
    law, x = TracyWidom(beta, "stochastic-airy"), jnp.asarray(X, jnp.float32)
    got = tabulate(jnp.asarray(beta, jnp.float32), x)
    assert all(values.dtype == jnp.float32 and np.isfinite(values).all() for values in got.values())
    np.testing.assert_allclose(np.exp(got["logcdf"]), law.cdf(x), rtol=0, atol=3e-6)
    np.testing.assert_allclose(got["pdf"], law.pdf(x), rtol=0, atol=3e-5)
    np.testing.assert_allclose(got["logcdf"], law.logcdf(x), rtol=1e-3)
    np.testing.assert_allclose(got["logsf"], law.logsf(x), rtol=1e-3)


@pytest.mark.float32
def test_bad_input():
    for beta in (0.0, -2.0, 0.0009, np.inf, np.nan):
        with pytest.raises(ValueError, match="`beta` must"):
            StochasticAiry(beta)
    with pytest.raises(ValueError, match=r"`beta` must be finite and at least 0.001, in float32 0.05, got 0.0099"):
        StochasticAiry(jnp.asarray(0.01, jnp.float32))
    least = StochasticAiry(jnp.asarray(0.05, jnp.float32))
    assert jnp.isfinite(jax.jit(least.logsf)(jnp.float32(60.0)))


@pytest.mark.slow
def test_simulated_edges():
    # The finite order shifts the mean by less than 1e-3, a tenth of the tolerance at 20,000 draws.
    ensemble, draws = rmt.GaussianBeta(10**6, 0.7), 20_000
    edges = rmt.simulate(lambda key: ensemble.edge_levels(key)[0], jax.random.key(3), draws)
    assert_law(edges, StochasticAiry(0.7).cdf)


@pytest.mark.slow
def test_logarithms_of_what_is_next_to_1_have_the_digits_of_the_other_tail():
    law, known = StochasticAiry(4.0), TracyWidom(4, "stochastic-airy")
    np.testing.assert_allclose(law.logcdf(4.0), -jnp.exp(law.logsf(4.0)), rtol=1e-13)
    np.testing.assert_allclose(law.logcdf(4.0), known.logcdf(4.0), rtol=1e-9)
    np.testing.assert_allclose(law.logsf(-6.0), known.logsf(-6.0), rtol=1e-9)
