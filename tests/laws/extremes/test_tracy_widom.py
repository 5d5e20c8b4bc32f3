"""Tracy-Widom laws: determinants in ball arithmetic, Painlevé II, published values, far tails, quantiles, bad input."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import tracy_widom_table
from ball_arithmetic import gauss_legendre
from flint import arb, ctx
from scipy import special

from rmtjax.laws import TracyWidom
from rmtjax.testing import check_law
from rmtjax.testing._law_evaluation import evaluate
from tests.cases import further
from tests.laws.core.methods import METHODS, check_slopes
from tests.laws.tabulated import check_against_balls, tabulate

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
BETAS = (1, 2, 4)
EULER = 0.5772156649015329
# Bornemann (2010), Markov Process. Relat. Fields 16, table 8: mean, variance, skewness, excess kurtosis; for β = 4
# in the scaling of Tracy and Widom.
MOMENTS = {
    1: (-1.206533574582, 1.607781034581, 0.293464524, 0.165242938),
    2: (-1.771086807411, 0.8131947928329, 0.224084203610, 0.0934480876),
    4: (-2.306884893241, 0.5177237207726, 0.165509494, 0.049195157),
}


def bornemann(beta):
    return TracyWidom(beta, "bornemann")


# The first three rows are the largest level of each β; for β = 4 ball arithmetic takes the second level of β = 1.
LAWS = {"1": TracyWidom(1), "2": TracyWidom(2), "4": bornemann(4)}
LAWS |= {f"{beta}, {k}": TracyWidom(beta, order=k) for beta, k in tracy_widom_table.ROWS[3:]}


@functools.cache
def by_determinants(s):
    """The law at s in balls of 448 bits, for each law: the density is a central difference of step 1e-30."""
    ctx.prec = 448
    step, rule = arb(10) ** -30, gauss_legendre(100)
    below, here, above = (tracy_widom_table.distributions(arb(s) + k * step, rule) for k in (-1, 0, 1))
    slopes = [(up - low) / (2 * step) for low, up in zip(below, above, strict=True)]
    rows = ({"pdf": slope, "cdf": f, "sf": 1 - f} for f, slope in zip(here, slopes, strict=True))
    return dict(zip(LAWS, rows, strict=True))


# Points of every kind: at and beyond both ends of the table, on both sides of the switch at -2, and at a joint.
POINTS = [-14.5, -12.75, -7.0, float(np.nextafter(-2, -3)), -2.0, 4.0, 13.25]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_both_tails_in_relative_error_against_determinants(law):
    got = tabulate(LAWS[law], jnp.asarray(POINTS))
    for k, s in enumerate(POINTS):
        # Beyond the table further levels have only leading terms.
        if "," not in law or -13 < s < 8:
            # Far to the left log(1 - F) needs more digits of F than the discretisation has.
            check_against_balls(got, k, by_determinants(s)[law], least=1e-70, ulps=4)


@pytest.mark.slow
@pytest.mark.float32(only=True)
@pytest.mark.parametrize("law", LAWS)
def test_single_precision(law):
    points = [-7.0, -2.0, 4.0]
    got = tabulate(LAWS[law], jnp.asarray(points, jnp.float32))
    assert got["pdf"].dtype == jnp.float32
    for k, s in enumerate(points):
        exact = by_determinants(s)[law]
        check_against_balls(got, k, exact, least=1e-36, ulps=8)
        for name, ball in exact.items():
            np.testing.assert_allclose(got[name][k], float(ball.mid()), rtol=0, atol=1e-6)


def painleve(lower, order=32):
    """(log F_2, ∫ q) at `lower`, by the Taylor series of q'' = sq + 2q³ from q ~ Ai at 12, where Ai³ is below 1e-40."""
    with mpmath.workdps(60):
        s, q, slope = mpmath.mpf(12), mpmath.airyai(12), mpmath.airyai(12, derivative=1)
        integral = mpmath.quad(mpmath.airyai, [12, 16, 24, 36])
        square = slope**2 - s * q**2  # ∫ q² beyond s
        log_f = -mpmath.quad(lambda y: (y - 12) * mpmath.airyai(y) ** 2, [12, 14, 18, 26])
        while s > lower:
            c = [q, slope]
            squares = []
            for k in range(order):
                squares.append(sum(c[i] * c[k - i] for i in range(k + 1)))
                cube = sum(c[i] * squares[k - i] for i in range(k + 1))
                c.append((s * c[k] + (c[k - 1] if k else 0) + 2 * cube) / ((k + 1) * (k + 2)))
            h = mpmath.mpf("-0.125")
            power = [h**k for k in range(order + 3)]
            q = sum(x * power[k] for k, x in enumerate(c))
            slope = sum(k * c[k] * power[k - 1] for k in range(1, len(c)))
            # (log F)' = ∫ q², and it falls as s grows.
            first = sum(x * power[k + 1] / (k + 1) for k, x in enumerate(squares))
            second = sum(x * power[k + 2] / ((k + 1) * (k + 2)) for k, x in enumerate(squares))
            log_f += square * h - second
            square -= first
            integral -= sum(x * power[k + 1] / (k + 1) for k, x in enumerate(c))
            s += h
        return log_f, integral


@pytest.mark.slow
@pytest.mark.parametrize("s", [-9.0, -1.0])
def test_painleve_ii_gives_the_same(s):
    log_f, integral = painleve(s)
    with mpmath.workdps(60):
        factors = {1: mpmath.exp(-integral / 2), 2: mpmath.exp(log_f / 2), 4: mpmath.cosh(integral / 2)}
        for beta in BETAS:
            f = mpmath.exp(log_f / 2) * factors[beta]
            got = tabulate(bornemann(beta), jnp.asarray(s))
            np.testing.assert_allclose(got["logcdf"], float(mpmath.log(f)), rtol=1e-14, atol=1e-17)
            np.testing.assert_allclose(got["logsf"], float(mpmath.log(1 - f)), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_published_moments(beta):
    law = TracyWidom(beta)
    got = jax.jit(lambda: (law.mean(), law.var(), law.skewness(), law.kurtosis()))()
    np.testing.assert_allclose(got, MOMENTS[beta], rtol=0, atol=1e-9)
    np.testing.assert_allclose(got[:2], MOMENTS[beta][:2], rtol=0, atol=2e-12)


TABLES = json.loads((Path(__file__).parents[2] / "golden" / "praehofer_spohn.json").read_text())["points"]


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_tables_of_praehofer_and_spohn(beta):
    def log_tails(row):
        # The table has logarithms where the numbers underflow.
        u, v = (mpmath.mpf(row[name]) or mpmath.exp(row[f"log {name}"]) for name in ("U", "V"))
        # β = 4 is in Bornemann's scaling.
        log_f = {1: -(u + v) / 2, 2: -v, 4: mpmath.log(mpmath.cosh(u / 2)) - v / 2}[beta]
        tail = -mpmath.expm1(log_f)
        return float(log_f), float(mpmath.log(tail)), float(v / tail)

    s = np.array([row["s"] for row in TABLES])
    with mpmath.workdps(1000):
        log_cdf, log_sf, lost = np.array([log_tails(row) for row in TABLES]).T
    law = bornemann(beta)
    np.testing.assert_allclose(law.cdf(s), np.exp(log_cdf), rtol=0, atol=4e-16)
    # On the right log F is minus the upper tail, which comes from a logarithm in the library and in the table.
    allowed = 3e-15 * np.maximum(1, -log_sf) * -log_cdf + np.finfo(float).tiny
    np.testing.assert_array_less(np.abs(law.logcdf(s) - log_cdf), allowed)
    # For β = 4 the tail is a small difference of the two functions.
    allowed = 1e-15 * (1 - log_sf * np.maximum(1, lost))
    np.testing.assert_array_less(np.abs(law.logsf(s) - log_sf), allowed)
    if beta != 4:
        density = np.array([row[f"log F{beta}'"] for row in TABLES])
        np.testing.assert_allclose(law.logpdf(s), density, rtol=2e-15)


def test_published_values():
    # Bornemann (2010), Math. Comput. 79, section 6.1.
    np.testing.assert_allclose(TracyWidom(2).cdf(-2.0), 0.413224142505123, rtol=0, atol=1e-14)
    # Percentiles of Johnstone (2001), Ann. Statist. 29, table 1.
    percentiles = jnp.array([-3.90, -1.27, 0.98, 2.02])
    np.testing.assert_allclose(TracyWidom(1).cdf(percentiles), [0.01, 0.5, 0.95, 0.99], rtol=0, atol=2e-3)


def test_conventions_differ_by_a_scale_at_beta_4_only():
    x = jnp.array([-3.0, -1.0, 0.5])
    # The mean is -3.262427903 in Bornemann's scaling, as in the literature.
    np.testing.assert_allclose(TracyWidom(4).mean(), -3.262427903 / 2**0.5, rtol=0, atol=1e-9)
    for name, stretch in (("tracy-widom", 2**0.5), ("stochastic-airy", 2 ** (2 / 3))):
        density = stretch * bornemann(4).pdf(stretch * x)
        np.testing.assert_allclose(TracyWidom(4, name).pdf(x), density, rtol=1e-14)
    for name in ("bornemann", "stochastic-airy"):
        np.testing.assert_array_equal(TracyWidom(1, name).pdf(x), TracyWidom(1).pdf(x))


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
def test_right_tail_to_100(beta):
    s = np.array([15.0, 30.0, 60.0, 100.0])
    got = bornemann(beta).logsf(s)
    for k, y in enumerate(s):
        with mpmath.workdps(60):
            y = mpmath.mpf(y)
            ai, slope = mpmath.airyai(y), mpmath.airyai(y, derivative=1)
            # In units of Ai(y), because the quadrature works to an absolute error.
            panels = [y + k / mpmath.sqrt(y) for k in (0, 3, 10, 30, 90)]
            first = ai * mpmath.quad(lambda x, ai=ai: mpmath.airyai(x) / ai, panels) / 2
            # ∫ (x - y) Ai² in closed form.
            second = (2 * y**2 * ai**2 - 2 * y * slope**2 - ai * slope) / 3
            tail = {1: first, 2: second, 4: (second - first**2) / 2}[beta]
            np.testing.assert_allclose(got[k], float(mpmath.log(tail)), rtol=1e-14)


@pytest.mark.parametrize("beta", BETAS)
def test_left_tail_to_minus_100(beta):
    # Baik, Buckingham and DiFranco (2008), equations 1-3, and one more term from Painlevé II for β = 2.
    x = np.array([40.0, 100.0])
    zeta = float(mpmath.zeta(-1, derivative=1))
    expected = {
        1: -(x**3) / 24 - x**1.5 / (3 * 2**0.5) - np.log(x) / 16 + zeta / 2 - 11 / 48 * np.log(2),
        2: -(x**3) / 12 - np.log(x) / 8 + zeta + np.log(2) / 24 + 3 / (64 * x**3),
        4: -(x**3) / 24 + x**1.5 / (3 * 2**0.5) - np.log(x) / 16 + zeta / 2 - 35 / 48 * np.log(2),
    }[beta]
    error = {1: 0.03 * x**-1.5, 2: 0.5 * x**-6.0, 4: 0.03 * x**-1.5}[beta]
    got = np.asarray(bornemann(beta).logcdf(-x))
    assert (np.abs(got - expected) <= error + 1e-15 * np.abs(expected)).all()


PROBABILITIES = [1e-300, 1e-200, 1e-60, 1e-44, 1e-20, 1e-3, 0.3, 0.5, 0.8, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53]


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_quantile_from_1e_300_to_one_ulp_below_1(beta):
    law, p = TracyWidom(beta), np.array(PROBABILITIES)
    x = law.ppf(p)
    assert (np.diff(x) > 0).all()
    np.testing.assert_allclose(law.logcdf(x), np.log(p), rtol=4e-15, atol=1e-17)
    np.testing.assert_allclose(law.sf(x)[p > 0.2], (1 - p)[p > 0.2], rtol=3e-14)
    slope = jax.vmap(jax.grad(law.ppf))(jnp.asarray(p))
    np.testing.assert_allclose(slope, 1 / np.asarray(law.pdf(x)), rtol=1e-12)


@pytest.mark.float32
def test_quantile_in_single_precision():
    law, p = TracyWidom(1), np.array([1e-37, 1e-12, 0.3, 0.7, 0.9999, 1 - 2.0**-24], np.float32)
    x = law.ppf(p)
    assert x.dtype == jnp.float32
    np.testing.assert_allclose(law.logcdf(x)[:4], np.log(p[:4]), rtol=2e-6)
    np.testing.assert_allclose(law.logsf(x)[2:], np.log1p(-p[2:]), rtol=2e-6)


def levels_beyond(s, beta, number=6):
    """E(j) for j levels beyond s, from the generating function on a circle, by scipy's Airy function."""
    nodes, weights = np.polynomial.legendre.leggauss(100)
    x = s + 20 * (nodes + 1)
    root = np.sqrt(20 * weights)
    v = np.linalg.eigvalsh(root[:, None] * special.airy((x[:, None] + x) / 2)[0] / 2 * root)
    epsilon = 0.5 * np.exp(2j * np.pi * np.arange(1024) / 1024)
    product = lambda c: np.prod(1 - c[:, None] * v, axis=1)
    if beta == 2:
        generating = product(np.sqrt(1 - epsilon)) * product(-np.sqrt(1 - epsilon))
    elif beta == 4:
        generating = (product(np.sqrt(1 - epsilon)) + product(-np.sqrt(1 - epsilon))) / 2
    else:
        # Theorem 2.1 of Dieng and Tracy (2011) as printed, with λ = 1 - ε, D_2 = D_- D_+ and e^μ = D_+/D_-.
        turned = 1 - epsilon**2
        minus, plus = product(np.sqrt(turned)), product(-np.sqrt(turned))
        square = epsilon * minus * plus + (plus**2 + minus**2) / 2 - np.sqrt(turned) * (plus**2 - minus**2) / 2
        square = square / (1 + epsilon)
        # The branch of the root that is continuous along the circle, from the positive one at ε = 1/2.
        generating = np.sqrt(square.astype(complex))
        for k in range(1, 1024):
            if abs(generating[k] - generating[k - 1]) > abs(generating[k] + generating[k - 1]):
                generating[k] *= -1
    return (np.fft.fft(generating).real / 1024)[:number] * 2.0 ** np.arange(number)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "order"), [(1, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (4, 1), (4, 2)])
def test_further_levels(beta, order):
    for s in (-6.0, -3.5, -1.0):
        expected = levels_beyond(s, beta)[:order].sum()
        np.testing.assert_allclose(TracyWidom(beta, "bornemann", order).cdf(s), expected, rtol=0, atol=2e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "order"), [(1, 3), *further((2, 3), (1, 4), (2, 2), (4, 2))])
def test_tails_of_further_levels_go_on_smoothly(beta, order):
    law, h = TracyWidom(beta, "bornemann", order), 1e-7
    row = tracy_widom_table.ROWS.index((1, 2 * order) if beta == 4 else (beta, order))
    for end, method in ((-13.0, law.logcdf), (float(tracy_widom_table.HIGHEST[row]), law.logsf)):
        below, above = method(jnp.array([end - h, end + h]))
        slope = jax.vmap(jax.grad(method))(jnp.array([end - h, end + h]))
        np.testing.assert_allclose(above - below, 2 * h * slope[0], rtol=1e-5)
        np.testing.assert_allclose(slope[1], slope[0], rtol=1e-5)
    np.testing.assert_allclose(law.logcdf(-1e4), -(2 if beta == 2 else 1) * 1e12 / 24, rtol=1e-4)


# The contract is tested in single precision, where it is hardest to keep.
@pytest.mark.slow
@pytest.mark.float32(only=True)
def test_law_in_single_precision():
    check_law(TracyWidom(2), reverse_mode=False)


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
def test_slopes_of_all_methods_stay_finite_and_right_far_out(dtype):
    law, x = TracyWidom(1), jnp.asarray([-1e4, -100.0, -5.0, 5.0, 100.0, 1e4], dtype)
    slope = evaluate(law, np.asarray(x))["slopes"]
    assert all(np.isfinite(values).all() for values in slope.values())
    rtol = 200 * np.finfo(dtype).eps
    # Leading terms: x²/8 + √(-x)/2√2 to the left, √x to the right.
    np.testing.assert_allclose(slope["logcdf"][:2], x[:2] ** 2 / 8 + jnp.sqrt(-x[:2] / 8), rtol=1e-5)
    np.testing.assert_allclose(slope["logsf"][4:], -jnp.sqrt(x[4:]), rtol=2e-3)
    inside = slice(1, 5)
    np.testing.assert_allclose(slope["cdf"][inside], law.pdf(x)[inside], rtol=rtol * 50)
    np.testing.assert_allclose(slope["sf"][inside], -law.pdf(x)[inside], rtol=rtol * 50)


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
@pytest.mark.parametrize("convention", ["tracy-widom", *further("bornemann", "stochastic-airy")])
def test_tails_meet_where_one_takes_over_from_the_other(convention, dtype):
    # The table of β = 4 is in other units, so rounding may move a point next to the switch to its other side.
    law = TracyWidom(4, convention)
    x = [dtype(law._switch())]
    for _ in range(3):
        x = [np.nextafter(x[0], dtype(-9)), *x, np.nextafter(x[-1], dtype(9))]
    got = tabulate(law, jnp.asarray(np.array(x)))
    for name in METHODS:
        assert got[name].dtype == dtype
        np.testing.assert_allclose(got[name], got[name][3], rtol=20 * np.finfo(dtype).eps, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_slope_of_the_density(beta):
    law, x, h = TracyWidom(beta), np.array([-16.3, -9.37, -3.1, -1.2, 0.7, 6.2, 14.5]), 1e-5
    slope = jax.vmap(jax.grad(law.logpdf))(jnp.asarray(x))
    difference = (law.logpdf(x + h) - law.logpdf(x - h)) / (2 * h)
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "`beta` must be 1, 2 or 4, got 3"),
        ((4, "edelman"), "`convention` must be one of 'tracy-widom', 'bornemann', 'stochastic-airy', got"),
        ((2, "bornemann", 4), "`order` must be at most 3 for beta=2, got 4"),
        ((2, "bornemann", 0), "`order` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        TracyWidom(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("left", [-13, -3, -2, 12])
def test_the_script_makes_the_table(left):
    with np.load(tracy_widom_table.TABLE) as table:
        for row, (tail, slope) in enumerate(tracy_widom_table.panel(left)):
            np.testing.assert_array_equal(table["tail"][row, left + 13], tail)
            np.testing.assert_array_equal(table["slope"][row, left + 13], slope)


def test_the_script_makes_the_expansions():
    with np.load(tracy_widom_table.TABLE) as table:
        np.testing.assert_array_equal(table["left"], tracy_widom_table.left_expansion())
        np.testing.assert_array_equal(table["right"], tracy_widom_table.right_expansion())


@pytest.mark.float32(only=True)
@pytest.mark.parametrize(
    "law", [TracyWidom(1), *further(TracyWidom(2), TracyWidom(4), TracyWidom(2, order=3))], ids=str
)
def test_where_cubes_are_no_numbers(law):
    huge = float(jnp.finfo(jnp.result_type(float)).max) / 2
    x = jnp.array([-huge, -(huge**0.5), -1e4, -5.0, 5.0, 1e4, huge**0.5, huge])
    got = tabulate(law, x)
    far = np.array([0, 1, -2, -1])
    np.testing.assert_array_equal(got["cdf"][far], [0, 0, 1, 1])
    np.testing.assert_array_equal(got["pdf"][far], 0)
    check_slopes(law, x)
    for name in METHODS:
        assert not np.isnan(got[name]).any()
