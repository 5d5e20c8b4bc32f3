"""Spacings in the bulk: determinants in ball arithmetic, power series, sum rules, far tails, simulation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import spacing_table
from flint import arb, ctx

import rmtjax as rmt
from rmtjax.laws import Spacing
from rmtjax.testing import check_law
from tests.cases import daily, further
from tests.laws.tabulated import check_against_balls, tabulate

LAWS = {f"{beta}, {k}": Spacing(beta, k) for beta, most in ((1, 8), (2, 4), (4, 4)) for k in range(1, most + 1)}
# These use all rows of the table, and one law of β = 4.
SOME = ["1, 1", "2, 1", "4, 1", "1, 8", "2, 4"]
POINTS = [0.01, 0.3, 0.75, 2.0 - 2.0**-52, 2.0, 3.1, 8.5, 14.2]


@functools.cache
def by_determinants(s):
    """The tail 1 - F and F' at s, for each row of the table."""
    ctx.prec = 1200
    return dict(zip(spacing_table.SPACINGS, spacing_table.spacings(arb(s)), strict=True))


def reference(beta, k, s):
    """The law at a spacing s with k levels inside, in balls. For β = 4, E_4(k; s) = [E_+(k; 2s) + E_-(k; 2s)]/2."""
    if beta == 4:
        ctx.prec = 1200
        step = arb(s) * 2.0**-80
        at = lambda x: [(a + b) / 2 for a, b in zip(*spacing_table.parity_probabilities(2 * x), strict=True)]
        below, here, above = at(arb(s) - step), at(arb(s)), at(arb(s) + step)
        weights = [k - j + 1 for j in range(k + 1)]
        sf = -sum(w * (b - a) for w, a, b in zip(weights, below, above, strict=False)) / (2 * step)
        columns = zip(weights, below, here, above, strict=False)
        density = sum(w * (a - 2 * m + b) for w, a, m, b in columns) / step**2
    else:
        sf, density = by_determinants(s)[beta, k]
    return {"pdf": density, "cdf": 1 - sf, "sf": sf}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_both_tails_in_relative_error_against_determinants(name):
    law = LAWS[name]
    got = tabulate(law, jnp.asarray(POINTS))
    for i, s in enumerate(POINTS):
        check_against_balls(got, i, reference(law.beta, law.order - 1, s), least=1e-300, ulps=4)


@pytest.mark.slow
@pytest.mark.float32(only=True)
@pytest.mark.parametrize("name", SOME)
def test_single_precision(name):
    law, points = LAWS[name], [0.3, 2.0, 3.1]
    got = tabulate(law, jnp.asarray(points, jnp.float32))
    assert got["pdf"].dtype == jnp.float32
    for i, s in enumerate(np.asarray(points, np.float32).astype(float)):
        check_against_balls(got, i, reference(law.beta, law.order - 1, float(s)), least=1e-36, ulps=10)


# The first terms of the power series (Mehta 2004, chapters 6, 7 and 11).
SERIES = {
    1: lambda s: np.pi**2 * s / 6 - np.pi**4 * s**3 / 60,
    2: lambda s: np.pi**2 * s**2 / 3 - 2 * np.pi**4 * s**4 / 45,
    4: lambda s: 16 * np.pi**4 * s**4 / 135 - 128 * np.pi**6 * s**6 / 4725,
}


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_power_series_at_0(beta):
    s = np.array([1e-3, 3e-3])
    np.testing.assert_allclose(Spacing(beta).pdf(s), SERIES[beta](s), rtol=1e-8)


@pytest.mark.parametrize("name", daily(LAWS, only=["1, 1", "2, 1", "4, 1", "1, 4"]))
def test_the_mean_is_the_order(name):
    np.testing.assert_allclose(LAWS[name].mean(), LAWS[name].order, rtol=2e-14)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_all_spacings_together_are_the_pair_correlation(beta):
    # Σ_k p(k; s) = 1 - Y_2(s); up to s = 1.5, more than three levels inside are negligible at β = 2 and 4.
    s = np.array([0.2, 0.7, 1.0, 1.4])
    total = sum(LAWS[name].pdf(s) for name in LAWS if LAWS[name].beta == beta)
    if beta == 2:
        np.testing.assert_allclose(total, 1 - np.sinc(s) ** 2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(total, rmt.laws.pair_correlation(s, beta), rtol=0, atol=1e-9)


def test_published_variances():
    # Dietz and Haake (1990), Z. Phys. B 80, 153.
    variances = [float(Spacing(beta).var()) for beta in (1, 2, 4)]
    np.testing.assert_allclose(variances, [0.286, 0.180, 0.104], rtol=0, atol=6e-4)


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_upper_tail_beyond_the_table(beta):
    law = Spacing(beta)
    s = np.array([19.9, 20.1, 39.0, 41.0, 4000.0]) / law._stretch()
    got, slope = np.asarray(law.logsf(s)), jax.vmap(jax.grad(law.logsf))(jnp.asarray(s))
    if beta == 2:  # Dyson (1976): E_2(0; s) with log 2/12 + 3 ζ'(-1)
        zeta, t = -0.1654211437004509, np.pi * s / 2
        log_gap = -(t**2) / 2 - np.log(t) / 4 + np.log(2) / 12 + 3 * zeta
        # sf = -E'(0; s) of this expansion, to order 1/t².
        expected = log_gap + np.log(np.pi / 2 * (t + 1 / (4 * t)))
        np.testing.assert_allclose(got, expected, rtol=0, atol=0.2 / t.min() ** 2)
    np.testing.assert_allclose(slope[:2], (got[1] - got[0]) / (s[1] - s[0]), rtol=2e-2)
    # Far out only the quadratic term remains.
    np.testing.assert_allclose(got[-1] / s[-1] ** 2, -(np.pi**2) * beta / 16, rtol=1e-3)


@pytest.mark.parametrize("name", [*further("1, 1", "4, 4"), "2, 2"])
def test_quantile_far_into_both_tails(name):
    law = LAWS[name]
    p = np.array([1e-300, 1e-100, 1e-12, 1e-3, 0.3, 0.55, 0.8, 0.999, 1 - 1e-12, 1 - 2**-53])
    x = law.ppf(p)
    assert (np.diff(x) > 0).all()
    np.testing.assert_allclose(law.logcdf(x), np.log(p), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(law.sf(x)[p > 0.2], (1 - p)[p > 0.2], rtol=5e-14)


# The contract is tested every day in single precision, where it is hardest to keep.
@pytest.mark.float32(only=True)
def test_law_in_single_precision():
    check_law(Spacing(2), reverse_mode=False)


@pytest.mark.slow
@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.COE(60), 1), (rmt.CUE(60), 2), (rmt.CSE(60), 4)])
def test_simulated_spacings(getkey, ensemble, beta):
    # Circular ensembles have a uniform density: spacings of the phases times n/2π, corrected to O(1/n²).
    phases = np.asarray(jax.jit(jax.vmap(ensemble.eigenphases))(jax.random.split(getkey(), 400)))
    for k in (1, 2):
        spacing = ((np.roll(phases, -k, axis=1) - phases) % (2 * np.pi)) * 60 / (2 * np.pi)
        # Every third spacing of every matrix is nearly independent of the others.
        drawn, law = np.sort(spacing[:, :: 2 + k].ravel()), Spacing(beta, k)
        steps = np.arange(drawn.size + 1) / drawn.size
        cdf = np.asarray(law.cdf(drawn))
        distance = max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max())
        # Kolmogorov's limit at 1e-6, and 1e-3 for the finite size. Another β is at least 0.04 away.
        assert distance < 2.7 / drawn.size**0.5 + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("index", [0, 2, 16])
def test_the_script_makes_the_table(index):
    with np.load(spacing_table.TABLE) as table:
        for row, (tail, slope) in enumerate(spacing_table.panel(index)):
            np.testing.assert_array_equal(table["tail"][row, index], tail)
            np.testing.assert_array_equal(table["slope"][row, index], slope)
