"""simulate_rare against closed forms, exact determinants, quadrature, asymptotic laws, and method against method."""

import math

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.simulation._rare.splitting import _moved, _Particles
from tests.cases import daily, further
from tests.simulation.pivot_chain import log_all_below
from tests.statistical import assert_law

# Errors are estimated from 32 groups or more; by Student's law a deviation of 6 errors is rarer than 1e-6.
SIGMAS = 6


def assert_event(event: rmt.simulation.RareEvent, log_exact: float, most: float) -> None:
    """The estimate is right within its error, and the error is at most this."""
    assert event.relative_standard_error < most, event
    distance = abs(float(event.log_probability) - log_exact)
    assert distance <= SIGMAS * float(event.relative_standard_error) + 1e-6, (event, log_exact)


def log_largest_above(n: int, moment, at: float) -> float:
    """P(λ_max > t) for β = 2 from Hankel determinants of `moment(k, t)`, integrals of the weight times x^k up to t."""
    with mp.workdps(500):  # the tail may be 1e-404
        below, whole = (mp.matrix(n, n) for _ in range(2))
        for i in range(n):
            for j in range(n):
                below[i, j], whole[i, j] = moment(i + j, at), moment(i + j, mp.inf)
        return float(mp.log(1 - mp.det(below) / mp.det(whole)))


def hermite_moment(k: int, t) -> mp.mpf:
    """The integral of x^k exp(-x²) from -∞ to t > 0."""
    half = mp.mpf(k + 1) / 2
    part = mp.gamma(half) if t == mp.inf else mp.gammainc(half, 0, mp.mpf(t) ** 2)
    return ((-1) ** k * mp.gamma(half) + part) / 2


def two_levels(power: float, beta: float, weight, lower: float, t: float) -> float:
    """P(λ_max > t) for two levels of density |x - y|^β w(x) w(y) on (lower, ∞), by quadrature."""
    inner = lambda x, upper: scipy.integrate.quad(lambda y: abs(x - y) ** beta * weight(y), lower, upper, epsabs=0)[0]
    tail = scipy.integrate.quad(lambda x: weight(x) / weight(t) * inner(x, x), t, t + 30, epsabs=0, epsrel=1e-9)[0]
    whole = scipy.integrate.quad(lambda x: weight(x) * inner(x, x), lower, 40, epsabs=0, epsrel=1e-9, limit=200)[0]
    return math.log(tail) + math.log(weight(t)) - math.log(whole)


@pytest.mark.parametrize("log10", [-30, -300])
def test_one_level_is_normal_or_gamma(getkey, log10):
    t = -scipy.stats.norm.ppf(10.0**log10)
    event = rmt.simulate_rare(rmt.GOE(1, 0.3), getkey(), "largest", 0.3 * 2**0.5 * t, 100)
    assert_event(event, log10 * math.log(10), 0.01)
    # A Laguerre ensemble of one level is λ = s²G/a.
    t = scipy.special.gammainccinv(2.5, 10.0**log10)
    event = rmt.simulate_rare(rmt.LaguerreBeta(1, 2.5, 1.0, 0.3), getkey(), "largest", 0.09 * t / 2.5, 100)
    assert_event(event, log10 * math.log(10), 0.05)


@pytest.mark.parametrize(("n", "t"), [(2, 9.0), *daily([(10, 4.0), (10, 2.0), (10, 14.0)], only=[(10, 4.0)])])
def test_tail_of_gue(getkey, n, t):
    exact = log_largest_above(n, hermite_moment, mp.mpf(t) * mp.sqrt(mp.mpf(n) / 2))
    event = rmt.simulate_rare(rmt.GUE(n), getkey(), "largest", t, 1000)
    assert_event(event, exact, 0.03 if t == 2.0 else 0.005)
    mirrored = rmt.simulate_rare(rmt.GUE(n), getkey(), "smallest", -t, 1000, side="below")
    assert_event(mirrored, exact, 0.03 if t == 2.0 else 0.005)


@pytest.mark.parametrize("beta", daily([1, 4], only=[4]))
@pytest.mark.parametrize("t", [1.0, 1.7, 2.0, 2.4])
def test_both_sides_of_the_bulk_for_goe_and_gse(getkey, beta, t):
    # The thresholds lie on both sides of the edge, so that each event and its complement is simulated.
    below = float(rmt.laws.hermite_gap_probabilities(5, (t, jnp.inf), beta, 0)[0])
    for side, probability in (("below", below), ("above", 1 - below)):
        event = rmt.simulate_rare(rmt.GaussianBeta(5, beta), getkey(), "largest", t, 4096, side=side)
        assert_event(event, math.log(probability), 0.3 if side == "above" and t < 2 else 0.05)


def test_two_levels_for_any_beta(getkey):
    normal = lambda x: math.exp(-(x**2) / 2)
    beta = 1.3
    exact = two_levels(0, beta, normal, -40.0, 5.0)
    event = rmt.simulate_rare(rmt.GaussianBeta(2, beta), getkey(), "largest", 5.0 * (1 / beta) ** 0.5, 1000)
    assert_event(event, exact, 0.01)
    a = 1.9
    gamma = lambda x: x ** (a - beta / 2 - 1) * math.exp(-x)
    exact = two_levels(a - beta / 2 - 1, beta, gamma, 0.0, 9.0)
    event = rmt.simulate_rare(rmt.LaguerreBeta(2, a, beta), getkey(), "largest", 9.0 / a, 1000)
    assert_event(event, exact, 0.02)


def test_tail_of_wishart(getkey):
    n, m, t = 3, 5, 20.0
    moment = lambda k, x: mp.gammainc(m - n + k + 1, 0, x if x == mp.inf else m * mp.mpf(x))
    exact = log_largest_above(n, moment, t)
    assert exact < -30 * math.log(10)
    assert_event(rmt.simulate_rare(rmt.Wishart(n, m, 2), getkey(), "largest", t, 500), exact, 0.01)
    # X*X has the levels of XX* without the zeros, but is divided by n instead of m.
    assert_event(rmt.simulate_rare(rmt.Wishart(m, n, 2), getkey(), "largest", t * m / n, 500), exact, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_approach_to_tracy_widom(getkey, beta):
    # With the constants of `soft_edge` the correction falls like n^{-2/3}: by 4 for a size 8 times as large.
    s = 6.0
    corrections = []
    for n in (150, 1200):
        ensemble = {1: rmt.GOE, 2: rmt.GUE, 4: rmt.GSE}[beta](n)
        edge = ensemble.soft_edge()
        event = rmt.simulate_rare(ensemble, getkey(), "largest", edge.levels(s), 2000)
        corrections.append(float(event.log_probability - edge.law.logsf(s)))
    assert 3.6 < corrections[0] / corrections[1] < 4.4, corrections


@pytest.mark.parametrize(
    ("n", "probability"), [(1, 1 / 2), (2, (2 - 2**0.5) / 4), (3, (math.pi - 2 * 2**0.5) / (4 * math.pi))]
)
def test_all_negative_for_small_goe(getkey, n, probability):
    event = rmt.simulate_rare(rmt.GOE(n), getkey(), "largest", 0.0, side="below")
    assert_event(event, math.log(probability), 1e-12 if n == 1 else 0.01)
    np.testing.assert_allclose(log_all_below(n, 1, 0.0), math.log(probability), rtol=0, atol=1e-12)


def _information(density, lower: float, upper: float) -> float:
    """The integral of f log f, with endpoints that may be singular like a root."""
    middle, half = (lower + upper) / 2, (upper - lower) / 2

    def integrand(angle: float) -> float:
        f = density(middle - half * math.cos(angle))
        return f * math.log(f) * half * math.sin(angle)

    return scipy.integrate.quad(integrand, 0, math.pi, epsabs=1e-10)[0]


@pytest.mark.heavy
@pytest.mark.parametrize(("beta", "constant"), daily([(1, -0.0174), (2, -0.1436), (4, -0.3926)], only=[(1, -0.0174)]))
def test_all_negative_at_order_100(getkey, beta, constant):
    r"""The rate $-β n^2 (\log 3)/4$ with its next two orders.

    The order n is (β/2 - 1) times the change of $\int f \log f$ from the semicircle to the density on the half-line of
    Dean and Majumdar (2006, Phys. Rev. Lett. 97, 160201). The order log n comes from the left tail of the laws of Tracy
    and Widom, $(β/2 + 2/β - 3)/8\,\log |s|$, at s of order $n^{2/3}$ (Borot, Eynard, Majumdar and Nadal 2011, J. Stat.
    Mech. P11024). The constants come from the quadrature at n = 100 and 200.
    """
    n, end = 100, (8 / 3) ** 0.5
    pushed = lambda x: math.sqrt((end - x) / x) * (end + 2 * x) / (2 * math.pi)
    free = lambda x: math.sqrt(2 - x * x) / math.pi
    change = _information(pushed, 0, end) - _information(free, -(2**0.5), 2**0.5)
    rate = -beta * n**2 * math.log(3) / 4 + (beta / 2 - 1) * change * n
    expected = rate + (beta / 2 + 2 / beta - 3) * math.log(n) / 12 + constant
    np.testing.assert_allclose(log_all_below(n, beta, 0.0), expected, rtol=0, atol=2e-3)
    event = rmt.simulate_rare(rmt.GaussianBeta(n, beta), getkey(), "smallest", 0.0, 4096, side="above")
    assert_event(event, expected, 0.08)


@pytest.mark.parametrize(
    ("n", "beta", "t"),
    daily([(10, 0.3, -2.0), (10, 1.0, 3.0), (10, 7.0, 1.0), (60, 1.0, 9.0)], only=[(10, 0.3, -2.0), (10, 1.0, 3.0)]),
)
def test_pushed_levels_against_quadrature(getkey, n, beta, t):
    ensemble = rmt.GaussianBeta(n, beta)
    event = rmt.simulate_rare(ensemble, getkey(), "largest", t * (2 / (beta * n)) ** 0.5, 2048, side="below")
    assert_event(event, log_all_below(n, beta, t), 0.15)


def trace(matrix):
    return matrix.diagonal.sum()


def squares(matrix):
    return jnp.sum(matrix.diagonal**2) + 2 * jnp.sum(matrix.off_diagonal**2)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("statistic", "side"), daily([(trace, "above"), (squares, "below"), (squares, "above")], only=[(squares, "above")])
)
def test_splitting_of_sums_with_exact_laws(getkey, statistic, side):
    # The trace of GOE(n) has the variance 2; the trace of the square is 4/n times a gamma variate of shape n(n+1)/4.
    if statistic is trace:
        t, exact = 2**0.5 * 6, scipy.stats.norm.logsf(6)
    else:
        x, tail = (0.05, scipy.stats.gamma.logcdf) if side == "below" else (20.0, scipy.stats.gamma.logsf)
        t, exact = 4 / 3 * x, tail(x, 3)
    event = rmt.simulate_rare(rmt.GOE(3), getkey(), statistic, t, 4096, side=side)
    assert (event.method, event.num_samples) == ("splitting", 4096)
    assert_event(event, exact, 0.3)


@pytest.mark.heavy
@pytest.mark.slow
def test_splitting_of_a_laguerre_matrix(getkey):
    # Its trace is a gamma variate of shape n a, over a.
    event = rmt.simulate_rare(rmt.LaguerreBeta(3, 2.5, 1.7), getkey(), trace, 25 / 2.5, 4096)
    assert_event(event, scipy.stats.gamma.logsf(25, 7.5), 0.3)


@pytest.mark.heavy
@pytest.mark.slow
def test_splitting_agrees_with_importance_sampling(getkey):
    for t, side in ((6.0, "above"), (0.0, "below")):
        importance, splitting = (
            rmt.simulate_rare(rmt.GOE(3), getkey(), "largest", t, side=side, method=method)
            for method in ("importance", "splitting")
        )
        assert importance.relative_standard_error < splitting.relative_standard_error
        assert_event(splitting, float(importance.log_probability), 0.2)


@pytest.mark.parametrize("shape", [0.3, 6.0])
def test_moves_leave_the_entries_law_and_are_reversible(getkey, shape):
    entries = rmt.GaussianBeta(2, 2 * shape)._independent_entries()
    step, size = 0.4, (20, 1000)
    g = jax.random.gamma(getkey(), shape, (*size, 2))
    x = jax.random.normal(getkey(), (*size, 2))
    shapes = [jnp.ones(2), jnp.full(2, shape)]
    start = _Particles(x, g, jnp.zeros(size))
    moved = _moved(entries, getkey(), shapes, start, jnp.asarray(step), lambda first, second: first[..., 0])
    assert_law(moved.first, scipy.stats.norm.cdf)
    assert_law(moved.second, scipy.stats.gamma(shape).cdf)
    # Reversible: the pair (before, after) has the law of (after, before), here by its third moments.
    for before, after in ((x, moved.first), (g, moved.second)):
        before, after = np.ravel(before), np.ravel(after)
        skew = before**2 * after - before * after**2
        assert abs(skew.mean()) < 5 * skew.std() / skew.size**0.5
    correlation = np.corrcoef(np.ravel(g), np.ravel(moved.second))[0, 1]
    assert abs(correlation - (1 - step)) < 0.05


@pytest.mark.parametrize(
    ("ensemble", "side", "t", "num_samples"),
    daily(
        [(rmt.GUE(10), "above", 2.0, 200), (rmt.GOE(10), "below", 0.0, 2048), (rmt.GOE(5), "above", 2.4, 200)],
        only=[(rmt.GUE(10), "above", 2.0, 200)],
    ),
)
def test_errors_are_honest(getkey, ensemble, side, t, num_samples):
    n, beta = ensemble.n, ensemble._beta()
    exact = log_all_below(n, beta, t * (beta * n / 2) ** 0.5)
    exact = exact if side == "below" else math.log(-math.expm1(exact))
    run = lambda key: rmt.simulate_rare(ensemble, key, "largest", t, num_samples, side=side)
    events = jax.vmap(run)(jax.random.split(getkey(), 400))
    error = np.asarray(events.relative_standard_error)
    ratio = np.exp(np.asarray(events.log_probability) - exact)
    # The mean of the estimates is right, the errors have the size of their spread, and intervals of 95 % cover 95 %.
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / 20
    assert 0.85 < error.mean() / ratio.std() < 1.15
    assert 0.9 < np.mean(np.abs(ratio - 1) < 1.96 * error * ratio) < 0.99


@pytest.mark.slow
def test_traced_thresholds_on_both_sides_of_the_edge(getkey):
    key, goe = getkey(), rmt.GOE(4)
    run = lambda t, key: rmt.simulate_rare(goe, key, "largest", t, 2048)
    for t in (1.0, 3.0):
        traced, direct = jax.jit(run)(t, key), run(t, key)
        np.testing.assert_allclose(traced.log_probability, direct.log_probability, rtol=0, atol=1e-4)
        np.testing.assert_allclose(traced.relative_standard_error, direct.relative_standard_error, rtol=1e-2)
    assert bool(jnp.isnan(jax.jit(run)(jnp.nan, key).log_probability))


def test_new_values_do_not_compile_again(getkey):
    traces = []
    statistic = lambda matrix: traces.append(1) or trace(matrix)
    rmt.simulate_rare(rmt.GOE(2), getkey(), statistic, 0.1, 2)
    once = len(traces)
    for t, scale in ((0.2, 1.0), (0.3, 1.4)):
        rmt.simulate_rare(rmt.GOE(2, scale), getkey(), statistic, t, 2)
    assert len(traces) == once


def test_thresholds_inside_of_the_bulk_of_a_wishart_matrix(getkey):
    run = lambda t, key: rmt.simulate_rare(rmt.Wishart(3, 5), key, "largest", t, 100)
    with pytest.raises(ValueError, match="`threshold` must lie beyond the end of the bulk"):
        rmt.simulate_rare(rmt.Wishart(3, 5), getkey(), "largest", 1.0, 100, method="importance")
    # Where it may choose, splitting takes over.
    key = getkey()
    for threshold in (1.0, 2.5):
        event = run(threshold, key)
        assert event.method == "splitting"
        named = rmt.simulate_rare(rmt.Wishart(3, 5), key, "largest", threshold, 100, method="splitting")
        assert event.log_probability == named.log_probability
    found = jax.jit(jax.vmap(run, (0, None)))(jnp.array([1.0, 6.0]), getkey()).log_probability
    assert jnp.isnan(found).tolist() == [True, False]


@pytest.mark.parametrize("dtype", [pytest.param(jnp.float32, marks=pytest.mark.float32), *further(jnp.float64)])
def test_number_types(getkey, dtype):
    scale = jnp.asarray(1.0, dtype)
    event = rmt.simulate_rare(rmt.GOE(30, scale), getkey(), "largest", jnp.asarray(0.0, dtype), 2048, side="below")
    assert event.log_probability.dtype == dtype
    assert_event(event, log_all_below(30, 1, 0.0), 0.1)
    event = rmt.simulate_rare(rmt.GUE(100, scale), getkey(), "largest", jnp.asarray(2.5, dtype), 500)
    assert event.log_probability.dtype == dtype
    assert_event(event, log_largest_above_at_order_100(), 0.01)


def log_largest_above_at_order_100() -> float:
    """The logarithm of P(λ_max > 2.5) for GUE(100), which is the mean number of levels there up to its square."""
    x = np.linspace(2.5, 3.5, 20001) * 50**0.5
    functions = np.zeros((2, x.size))
    functions[1] = np.pi**-0.25 * np.exp(-(x**2) / 2)
    density = functions[1] ** 2
    for k in range(1, 100):
        functions = np.stack([functions[1], np.sqrt(2 / k) * x * functions[1] - np.sqrt((k - 1) / k) * functions[0]])
        density += functions[1] ** 2
    return math.log(scipy.integrate.simpson(density, x=x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: rmt.simulate_rare(rmt.Wigner(3), k, "largest", 3.0), "`ensemble` must have a tridiagonal model"),
        (lambda k: rmt.simulate_rare(rmt.Wishart(5, 3), k, "smallest", 9.0), "`statistic` must be 'largest' for an"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, "second", 3.0), "`statistic` must be one of 'largest', 'smallest'"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, 1.0, 3.0), "`statistic` must be one of .* or a function"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, "largest", jnp.inf), "`threshold` must be finite"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), 0, "largest", 3.0), "`key` must be a typed key"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, "largest", 3.0, 1), "`num_samples` must be an integer of at least"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, "largest", 3.0, side="over"), "`side` must be one of"),
        (lambda k: rmt.simulate_rare(rmt.GOE(3), k, trace, 3.0, method="importance"), "`method` must be 'splitting'"),
        (
            lambda k: rmt.simulate_rare(rmt.Wishart(3, 5), k, "smallest", 0.1, method="importance"),
            "`method` must be 'splitting' for this statistic and side of Wishart",
        ),
        (lambda k: rmt.simulate_rare(rmt.GaussianBeta(3, jnp.inf), k, "largest", 3.0), "`beta` must be finite"),
        (
            lambda k: rmt.simulate_rare(rmt.GOE(3), k, lambda t: t.diagonal, 3.0),
            "`statistic` must return a real number",
        ),
    ],
)
def test_refusals(getkey, call, message):
    with pytest.raises(ValueError, match=message):
        call(getkey())
