"""The exact law of the largest level over the trace, against closed forms, rational arithmetic and simulation."""

import itertools
from fractions import Fraction
from functools import partial
from math import factorial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import signal_rank, signal_rank_of_levels
from rmtjax.inference._signal.exact import wishart_p_values
from rmtjax.inference._signal.exact_ratio import _remainder, exact_ratio_p_values


@partial(jax.jit, static_argnums=(1, 2, 3))
def p_values(ratios, n, p, beta):
    """The p-values of the largest level, a given ratio of the sum."""
    return exact_ratio_p_values(ratios[:, None], 1 - ratios, n, p, beta)[:, 0]


@pytest.mark.parametrize(("n", "beta"), [(2, 1), (7, 1), (7, 2)])
def test_two_levels_have_a_law_of_beta(n, beta):
    """The square of 2u - 1 has the Beta law; for real entries this is Mauchly's test of two variables."""
    ratios = np.array([0.501, 0.6, 0.9, 0.999])
    expected = scipy.special.betaincc((beta + 1) / 2, beta * (n - 1) / 2, (2 * ratios - 1) ** 2)
    np.testing.assert_allclose(p_values(jnp.asarray(ratios), n, 2, beta), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [3, 4])
def test_three_levels_are_integrals_of_the_density(n):
    power = (n - 4) / 2
    density = lambda b, a: (a - b) * (a - (1 - a - b)) * (b - (1 - a - b)) * (a * b * (1 - a - b)) ** power
    # In units in which the smallest level is c = s², as its density may be infinite at 0.
    inner = lambda s, a: 2 * s * density(1 - a - s**2, a)
    span = lambda a: (max(1 - 2 * a, 0) ** 0.5, ((1 - a) / 2) ** 0.5)
    integral = lambda a: scipy.integrate.quad(inner, *span(a), args=(a,), epsrel=1e-11)[0]
    mass = lambda u: scipy.integrate.quad(integral, u, 1, epsrel=1e-10, points=[0.5] if u < 0.5 else None)[0]
    ratios = [0.36, 0.45, 0.55, 0.8]
    expected = [mass(u) / mass(1 / 3) for u in ratios]
    np.testing.assert_allclose(p_values(jnp.array(ratios), n, 3, 1), expected, rtol=0, atol=3e-5 if n == 3 else 3e-6)
    np.testing.assert_allclose(p_values(jnp.array(ratios), n, 3, 1)[2:], expected[2:], rtol=1e-8)


def rational_p_value(u: Fraction, n: int, m: int) -> Fraction:
    """The p-value for complex entries: all levels are below x with a probability that is a sum of x^i e^(-jx)."""
    shape, a = n * m, n - m

    def below(k):  # the incomplete gamma function over k!
        return {(0, 0): Fraction(1)} | {(1, i): Fraction(-1, factorial(i)) for i in range(k + 1)}

    total = {}
    for order in itertools.permutations(range(m)):
        sign = (-1) ** sum(order[i] > order[j] for i, j in itertools.combinations(range(m), 2))
        terms = {(0, 0): Fraction(sign)}
        for i, j in enumerate(order):
            size, product = factorial(a + i + j), {}
            for (e, x), one in terms.items():
                for (f, y), other in below(a + i + j).items():
                    product[e + f, x + y] = product.get((e + f, x + y), 0) + size * one * other
            terms = product
        for key, value in terms.items():
            total[key] = total.get(key, 0) + value
    w, whole, beyond = 1 / u, total[0, 0], Fraction(0)
    for (j, i), value in total.items():
        if 1 <= j < w and value:
            beyond -= value * (w - j) ** (shape - i - 1) / factorial(shape - i - 1)
    return factorial(shape - 1) * beyond / whole / w ** (shape - 1)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (6, 3)])
def test_four_complex_levels_in_rational_arithmetic(n, m):
    ratios = [Fraction(36, 100), Fraction(42, 100), Fraction(49, 100), Fraction(6, 10), Fraction(9, 10)]
    expected = [float(rational_p_value(u, n, m)) for u in ratios]
    np.testing.assert_allclose(p_values(jnp.array([float(u) for u in ratios]), n, m, 2), expected, rtol=1e-9)


@pytest.mark.parametrize(("n", "p", "beta"), [(5, 5, 1), (7, 12, 1), (6, 6, 2)])
def test_a_sum_that_fluctuates_gives_back_the_law_of_the_level(n, p, beta):
    shape, unit = beta * n * p / 2, 2 / beta
    edge = rmt.Wishart(p, n, beta, np.sqrt(n)).soft_edge()
    for level in np.asarray(edge.levels(jnp.array([-2.0, 0.5, 5.0]))):
        # The sum, by far inside of twelve standard deviations.
        logs = np.log(shape) + np.linspace(-12, 12, 161) / shape**0.5
        ratios = np.clip(level / unit / np.exp(logs), 1 / min(n, p), 1)
        values = np.asarray(p_values(jnp.asarray(ratios), n, p, beta))
        density = np.exp(shape * logs - np.exp(logs) - scipy.special.gammaln(shape))
        expected = float(wishart_p_values(jnp.array([level]), n, p, beta)[0])
        np.testing.assert_allclose(scipy.integrate.simpson(values * density, logs), expected, rtol=1e-5)


def test_small_probabilities_have_their_digits():
    """The two formulas meet at a half, where the p-value of 8 × 30 is 1e-12 and the one of 30 × 8 complex is 1e-23."""
    near = jnp.array([0.5 - 1e-9, 0.5])
    for beta, size in ((1, 1.224046894910e-12), (2, 9.1118849897e-24)):
        below, at = np.asarray(p_values(near, 8, 30, beta))
        np.testing.assert_allclose([below, at], size, rtol=1e-6)
    ratios = jnp.linspace(0.126, 0.999, 60)
    values = np.asarray(p_values(ratios, 8, 30, 1))
    assert (np.diff(values) <= 1e-10).all()
    assert values[0] == pytest.approx(1, abs=1e-10)
    assert values[-1] >= 0


def test_levels_behind_others_are_those_of_smaller_matrices():
    levels = jnp.array([[9.0, 3.0, 2.5, 1.0], [4.0, 3.6, 3.5, 0.2]])
    each = jax.jit(exact_ratio_p_values, static_argnums=(2, 3, 4))
    found = each(levels, jnp.zeros(2), 6, 4, 1)
    behind = each(levels[:, 1:], jnp.zeros(2), 5, 3, 1)
    np.testing.assert_allclose(found[:, 1:], behind, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[:, -1], 1)
    few = each(levels[:, :1], levels[:, 1:].sum(-1), 6, 4, 1)
    np.testing.assert_allclose(few[:, 0], found[:, 0], rtol=1e-9)
    assert np.isnan(each(jnp.zeros((2, 4)), jnp.zeros(2), 6, 4, 1)[:, :-1]).all()


@pytest.mark.parametrize("shape", [0.5, 3.0, 29.5, 30.0, 1e3, 1e6])
def test_the_norm_keeps_its_digits(shape):
    with mpmath.workdps(40):
        norm = mpmath.gamma(shape) * mpmath.mpf(shape) ** (1 - mpmath.mpf(shape)) * mpmath.exp(shape)
        remainder = mpmath.log(norm / mpmath.sqrt(2 * mpmath.pi * shape))
    assert _remainder(shape) == pytest.approx(float(remainder), abs=5e-14)


def test_the_derivative_is_the_density():
    ratios = jnp.array([0.42, 0.46, 0.52, 0.7])
    total = lambda ratios: jnp.sum(p_values(ratios, 6, 4, 1))
    slope = (p_values(ratios + 1e-5, 6, 4, 1) - p_values(ratios - 1e-5, 6, 4, 1)) / 2e-5
    np.testing.assert_allclose(jax.grad(total)(ratios), slope, rtol=1e-5)
    mapped = jax.vmap(lambda ratio: p_values(ratio[None], 6, 4, 1)[0])(ratios)
    np.testing.assert_allclose(mapped, p_values(ratios, 6, 4, 1), rtol=1e-9)


@pytest.mark.float32
def test_single_precision():
    ratios = np.array([0.35, 0.42, 0.49, 0.6, 0.8])
    single = p_values(jnp.asarray(ratios, jnp.float32), 5, 5, 1)
    assert single.dtype == jnp.float32
    with jax.enable_x64(True):
        np.testing.assert_allclose(single, p_values(jnp.asarray(ratios), 5, 5, 1), rtol=0, atol=3e-5)


def test_the_default_is_exact_for_small_matrices():
    data = np.random.default_rng(2).normal(size=(5, 3)) + 4 * np.random.default_rng(3).normal(size=(5, 1))
    found = signal_rank(data)
    np.testing.assert_array_equal(found.p_values, signal_rank(data, method="exact").p_values)
    levels = signal_rank_of_levels(found.levels[::-1], 4, 3)
    np.testing.assert_allclose(levels.p_values, found.p_values, rtol=1e-9)
    assert (found.rank, levels.rank) == (1, 1)
    # The law of Tracy and Widom never has a p-value below 5 % there.
    for options in ({"method": "tracy-widom"}, {"n": 4.0}):
        assert signal_rank(data, **options).p_values[0] > 0.05
    wide = np.random.default_rng(2).normal(size=(8, 6))
    for n in (7, 8.5):
        found = signal_rank_of_levels(np.linspace(0.5, 3, 6), n, 6)
        again = signal_rank_of_levels(np.linspace(0.5, 3, 6), n, 6, method="tracy-widom")
        np.testing.assert_array_equal(found.p_values, again.p_values)
    np.testing.assert_array_equal(signal_rank(wide).p_values, signal_rank(wide, method="tracy-widom").p_values)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize(("n", "p"), [(4, 3), (5, 5), (10, 3), (20, 5), (8, 30)])
def test_rates_of_false_alarms_are_exact(n, p, beta, getkey):
    """Rates at 1, 5 and 10 %; the law of Tracy and Widom has 0 % at the nominal 5 % for 4 × 3, and 2 % for 5 × 5."""
    levels = rmt.simulate(rmt.Wishart(p, n, beta).eigenvalues, getkey(), 20_000)[:, -min(n, p) :]
    ratios = levels[:, -1] / levels.sum(-1)
    # p-values from a table, which a smooth and monotonic function allows.
    grid = jnp.linspace(1 / min(n, p), 1, 401)
    values = np.interp(ratios, grid, p_values(grid, n, p, beta))
    for rate in (0.01, 0.05, 0.1):
        # 4.9 standard deviations, one chance in a million, are below half a per cent at 1 % and above it at 10 %.
        assert abs((values < rate).mean() - rate) < 4.9 * (rate * (1 - rate) / 20_000) ** 0.5 + 1e-4
