"""Level densities at finite n: against de Bruijn's formulas in mpmath, joint densities, moments, simulated levels."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import LevelDensity, Semicircle
from rmtjax.laws._finite_n.orthogonal_polynomials import Side, log_density, log_tail
from rmtjax.laws._finite_n.table import table
from rmtjax.testing import check_derivatives, check_law
from tests.cases import daily, every_dtype, every_mode, further
from tests.laws.finite_n import reference

HALF = mpmath.mpf(1) / 2
LINE = [-12.0, -4.0, -2.25, -1.0, 0.125, 1.5, 3.0, 12.0]
RAY = [2.0**-100, 2.0**-20, 0.015625, 0.25, 1.25, 4.0, 12.0, 60.0]
INTERVAL = [2.0**-100, 2.0**-20, 0.015625, 0.25, 0.625, 0.875, 0.9375]


def gaussian(ensemble, beta, scale=1):
    return ensemble, beta, reference.gaussian(beta * mpmath.mpf(ensemble.n) / (4 * mpmath.mpf(scale) ** 2)), LINE


def wishart(n, m, beta, scale=1):
    power, rate = beta * (abs(m - n) + 1) * HALF - 1, beta * m * HALF / mpmath.mpf(scale) ** 2
    return rmt.Wishart(n, m, beta, scale), beta, reference.gamma(power, rate), RAY


def jacobi(n, m1, m2, beta):
    powers = (beta * (abs(m - n) + 1) * HALF - 1 for m in (m1, m2))
    return rmt.Jacobi(n, m1, m2, beta), beta, reference.beta(*powers), INTERVAL


CASES = {
    "GOE, odd": gaussian(rmt.GOE(3, 1.25), 1, 1.25),
    "GOE, even": gaussian(rmt.GOE(2), 1),
    "GUE": gaussian(rmt.GUE(4, 0.75), 2, 0.75),
    "GSE": gaussian(rmt.GSE(3, 0.75), 4, 0.75),
    "LOE, singular": wishart(3, 3, 1),
    "LOE, finite at 0": wishart(2, 3, 1),
    "LUE, atom": wishart(5, 3, 2, 1.25),
    "LUE, soft edges": wishart(2, 60, 2),
    "JOE, singular at 1": jacobi(2, 3, 2, 1),
    "LSE, atom": wishart(4, 3, 4),
    "JUE, forced levels": jacobi(6, 5, 4, 2),
    "JSE": jacobi(2, 3, 2, 4),
}


@functools.cache
def expected_density(name):
    ensemble, beta, weight, _ = CASES[name]
    levels = LevelDensity(ensemble).classical.n
    fraction = mpmath.mpf(levels) / ensemble.n
    density = reference.density(beta, weight, levels)
    return lambda x: fraction * density(x)


@functools.cache
def expected_logpdf(name):
    with mpmath.workdps(30):
        return np.array([float(mpmath.log(expected_density(name)(x))) for x in CASES[name][3]])


@every_dtype
@pytest.mark.parametrize(
    "name", daily(CASES, only=["GOE, even", "GOE, odd", "GSE", "LUE, soft edges", "JUE, forced levels", "JSE"])
)
def test_the_density_is_that_of_de_bruijn_far_into_the_tails(name, dtype):
    ensemble, _, _, points = CASES[name]
    law, x, expected = LevelDensity(ensemble), jnp.asarray(points, dtype), expected_logpdf(name)
    got, pdf = jax.jit(lambda x: (law.logpdf(x), law.pdf(x)))(x)
    assert got.dtype == pdf.dtype == dtype
    absolute = 5e-6 if dtype == np.float32 else 3e-14
    np.testing.assert_allclose(got, expected, rtol=10 * np.finfo(dtype).eps, atol=absolute)
    near = expected > -20
    np.testing.assert_allclose(pdf[near], np.exp(expected[near]), rtol=absolute)


def log_tail_of(density, x, end):
    """The logarithm of the integral from x to an end of the support."""
    scale = density(x)
    rate = abs(mpmath.diff(lambda y: mpmath.log(density(y)), x, h=abs(x) * mpmath.mpf(10) ** -8))
    # The density falls by at least e^-60 within this.
    far = min(x + 60 / rate, end) if end > x else max(x - 60 / rate, end)
    # The integrand is smooth in the root of the distance from a hard edge; quad works to an absolute error.
    at_root = lambda s: 2 * s * density(far + (x - far) * s**2) / scale
    return mpmath.log(scale * abs(x - far)) + mpmath.log(mpmath.quad(at_root, [0, HALF, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GOE, even", "GSE", "LUE, soft edges", "JSE"])
def test_both_tails_in_relative_error(name):
    ensemble, _, weight, points = CASES[name]
    law = LevelDensity(ensemble)
    low, high = np.array(points[:2]), np.array(points[-2:])
    with mpmath.workdps(25):
        density = expected_density(name)
        below = [float(log_tail_of(density, mpmath.mpf(x), weight.ends[0])) for x in low]
        above = [float(log_tail_of(density, mpmath.mpf(x), weight.ends[-1])) for x in high]
    np.testing.assert_allclose(law.logcdf(low), below, rtol=3e-15, atol=1e-13)
    np.testing.assert_allclose(law.logsf(high), above, rtol=3e-15, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ensemble", [rmt.GOE(2, 1.2), rmt.GUE(2), rmt.GSE(2), rmt.Wishart(2, 3, 1, 0.8), rmt.Wishart(2, 2, 4)]
)
def test_the_joint_density_integrates_to_it(ensemble):
    nodes, weights = np.polynomial.legendre.leggauss(120)
    law, x = LevelDensity(ensemble), jnp.array([0.3, 1.1])
    lower = jnp.maximum(law.support()[0], -9)

    def marginal(x):
        panels = [(lower, x), (x, 12.0)]
        y = jnp.concatenate([a + (b - a) * (nodes + 1) / 2 for a, b in panels])
        measure = jnp.concatenate([(b - a) / 2 * weights for a, b in panels])
        joint = jax.vmap(lambda y: jnp.exp(ensemble.joint_logpdf(jnp.stack([x, y]))))(y)
        return measure @ joint

    np.testing.assert_allclose(law.pdf(x), jax.jit(jax.vmap(marginal))(x), rtol=1e-7)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("n", [1, 5, 40])
def test_moments(n):
    eps = jnp.finfo(jnp.result_type(float)).eps
    # The symplectic moments are the orthogonal ones at -2n (Mulase and Waldron 2003).
    goe = lambda n: (1 + 1 / n, 2 + 5 / n + 5 / n**2)
    fourth = {rmt.GOE: goe(n), rmt.GUE: (1, 2 + 1 / n**2), rmt.GSE: goe(-2 * n)}
    for cls, (second, fourth_moment) in fourth.items():
        law = LevelDensity(cls(n, 1.5))
        got = [law.mean() + 1, law.var(), law.moment(2), law.moment(4)]
        np.testing.assert_allclose(got, [1, 2.25 * second, 2.25 * second, 2.25**2 * fourth_moment], rtol=200 * eps)
    for beta, extra in ((1, 1), (2, 0), (4, -0.5)):
        law = LevelDensity(rmt.Wishart(n, 7, beta, 0.5))
        second_moment = (1 + (n + extra) / 7) / 16
        got = [law.moment(0), law.mean(), law.moment(2), law.var()]
        np.testing.assert_allclose(got, [1, 1 / 4, second_moment, second_moment - 1 / 16], rtol=200 * eps)
    np.testing.assert_allclose(LevelDensity(rmt.Jacobi(n, 33, 24, 2)).mean(), 33 / 57, rtol=200 * eps)


@pytest.mark.parametrize("ensemble", [rmt.GOE(20), *further(rmt.Wishart(12, 9, 4, 1.5), rmt.Jacobi(8, 9, 5, 1))])
def test_simulated_levels(ensemble):
    samples = jax.jit(jax.vmap(ensemble.sample))(jax.random.split(jax.random.key(1), 1000))
    levels = np.linalg.eigvalsh(np.asarray(samples))
    law = LevelDensity(ensemble)
    edges = np.linspace(levels.min() + 1e-3, levels.max() - 1e-3, 13)
    share = np.array([(levels <= edge).mean(axis=1) for edge in edges])
    expected = np.asarray(law.cdf(edges))
    # Forced levels are 0 and 1 up to the solver's rounding; repulsion makes counts fluctuate less than binomial ones.
    error = share.std(axis=1) / np.sqrt(len(levels))
    assert (np.abs(share.mean(axis=1) - expected) < 4.5 * error + 1e-3 / len(edges)).all()


@pytest.mark.slow
def test_limits_for_large_n():
    x = jnp.linspace(-1.8, 1.8, 50)
    for cls, offset in ((rmt.GOE, 0.4), (rmt.GUE, 0.02), (rmt.GSE, 0.4)):
        law = LevelDensity(cls(200, 0.5))
        assert np.abs(200 * (law.cdf(x / 2) - Semicircle(1.0).cdf(x / 2))).max() < offset
    np.testing.assert_allclose(LevelDensity(rmt.GUE(200)).pdf(x), Semicircle().pdf(x), rtol=2 / 200)


@pytest.mark.parametrize(
    "ensemble", [rmt.GOE(41), *further(rmt.GSE(30), rmt.Wishart(30, 31, 1), rmt.Wishart(20, 500, 2))]
)
def test_the_table_is_the_recurrence(ensemble):
    law = LevelDensity(ensemble)
    middle = table(law.classical)
    edges = middle.edges
    x = np.linspace(edges[0] + 1e-9, edges[-1], 400)[:-1]
    formula = np.exp(log_density(law.classical, np, x))
    np.testing.assert_allclose(middle.pdf(jnp.asarray(x)), formula, rtol=2e-11, atol=1e-13 * formula.max())
    # The rows of the table are sums from either side, so their total is not 1 by construction.
    np.testing.assert_allclose(middle.below + middle.above, 1, rtol=1e-13)
    y = edges[-1] * np.array([1.01, 1.5])
    on_device, on_host = (log_tail(law.classical, xp, xp.asarray(y), Side.UPPER) for xp in (jnp, np))
    np.testing.assert_allclose(on_device, on_host, rtol=1e-12)


def test_ends_and_atoms():
    assert LevelDensity(rmt.GUE(3)).atoms()[0].size == 0
    np.testing.assert_array_equal(LevelDensity(rmt.GUE(3)).support(), (-np.inf, np.inf))
    np.testing.assert_allclose(LevelDensity(rmt.Wishart(4, 4, 2)).pdf(0.0), 4, rtol=1e-12)  # m Σ L_k(0)²/n
    law = LevelDensity(rmt.Wishart(2, 3, 1))
    np.testing.assert_allclose(law.pdf(0.0), law.pdf(1e-12), rtol=1e-10)
    assert LevelDensity(rmt.Wishart(3, 3, 1)).pdf(0.0) == 0  # the density itself is infinite
    law = LevelDensity(rmt.Jacobi(6, 5, 4, 2))
    np.testing.assert_allclose(law.atoms(), [[0, 1], [1 / 6, 1 / 3]])
    np.testing.assert_allclose([law.cdf(0.0), law.sf(1 - 1e-14)], [1 / 6, 1 / 3], rtol=1e-10)
    np.testing.assert_allclose(law.ppf(jnp.array([0.1, 0.7, 1.0])), [0, 1, 1])
    draws = np.asarray(law.sample(jax.random.key(0), (6000,)))
    assert np.abs([(draws == 0).mean() - 1 / 6, (draws == 1).mean() - 1 / 3]).max() < 0.03


@pytest.mark.slow
def test_derivatives():
    x = jnp.array([-4.5, -2.0, 0.3, 1.7, 4.0])
    formulas = lambda law, x: (law.logpdf(x), law.logsf(x))
    check_derivatives(formulas, LevelDensity(rmt.GUE(3, 1.1)), x, second_derivative=True)
    law = lambda scale: LevelDensity(rmt.GOE(3, scale))
    got = jax.grad(lambda scale: law(scale).sf(2.0))(1.3)
    np.testing.assert_allclose(got, law(1.3).pdf(2.0) * 2.0 / 1.3, rtol=1e-12)


def test_one_compilation_for_every_scale():
    value = jax.jit(lambda scale: LevelDensity(rmt.GUE(3, scale)).cdf(0.4))
    scales = jnp.array([0.5, 2.0])
    one_by_one = [value(scale) for scale in scales]
    assert value._cache_size() == 1
    np.testing.assert_allclose(jax.vmap(value)(scales), one_by_one, rtol=1e-14)


def panels(law):
    """A few of the law's own panels; the widest of all lie in the tails."""
    own, edges = law.breakpoints(), law.unit * table(law.classical).edges
    keep = [edges[:: max(1, len(edges) // 6)], edges[jnp.array([1, -2, -1])], own[jnp.array([0, -1])]]
    return np.unique(np.concatenate(keep)).astype(own.dtype)


DAILY = pytest.param(rmt.Jacobi(4, 3, 4, 2), marks=pytest.mark.float32(further=True))


@pytest.mark.parametrize("ensemble", [DAILY, *further(rmt.GOE(3, 1.2), rmt.Wishart(3, 3, 4))])
@every_mode
def test_the_contract_of_laws(ensemble, reverse_mode):
    law = LevelDensity(ensemble)
    check_law(law, breakpoints=panels(law), reverse_mode=reverse_mode)


@pytest.mark.parametrize("ensemble", [rmt.Ginibre(3), rmt.GaussianBeta(3, 2.5), rmt.CUE(3), 3.0, rmt.GOE])
def test_other_ensembles_are_refused(ensemble):
    with pytest.raises(ValueError, match=r"`ensemble` must be an ensemble with a known level density.*, got"):
        LevelDensity(ensemble)


def test_forced_levels_alone_are_refused():
    with pytest.raises(ValueError, match="`ensemble` must have levels that are not forced"):
        LevelDensity(rmt.Jacobi(2, 1, 1, 2))
