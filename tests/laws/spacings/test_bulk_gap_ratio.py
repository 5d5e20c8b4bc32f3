"""The exact ratio of spacings: published means, resolvents, the law of one spacing, simulation, tiny arguments."""

import functools

import gap_ratio_table
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx

import rmtjax as rmt
from rmtjax.laws import GapRatio, GapRatioSurmise, Spacing, mean_gap_ratio
from rmtjax.special.internal import gauss_legendre
from tests.cases import further

BETAS = [1, 2, 4]


def test_published_means():
    # Atas et al. (2013), table I, with their errors; Nishigaki (2024) for β = 2.
    means = [float(GapRatio(beta).mean()) for beta in BETAS]
    np.testing.assert_allclose(means, [0.5307, 0.5996, 0.6744], rtol=0, atol=2e-4)
    np.testing.assert_allclose(means[1], 0.599750420951, rtol=0, atol=1e-12)
    np.testing.assert_allclose(means, [mean_gap_ratio(beta) for beta in BETAS], rtol=1e-14)


@pytest.mark.float32
@pytest.mark.parametrize("beta", BETAS)
def test_both_tails_make_one(beta):
    # Nothing was normalised, and each tail has a series of its own, so their sum checks the table.
    law, eps = GapRatio(beta), jnp.finfo(jnp.result_type(float)).eps
    r = jnp.array([0.3, 0.5, 0.5])
    below = jnp.nextafter(r, 0 * r)
    np.testing.assert_allclose(law.cdf(below) + law.sf(r), 1, rtol=10 * eps)
    np.testing.assert_allclose(law.cdf(r), law.cdf(below), rtol=20 * eps)
    np.testing.assert_allclose(law.sf(r), law.sf(below), rtol=20 * eps)
    nodes, weights = gauss_legendre(40)
    density = law.pdf(jnp.asarray((nodes + 1) / 2))
    np.testing.assert_allclose(density @ jnp.asarray(weights, density.dtype) / 2, 1, rtol=20 * eps)


def larger_than(t):
    """P(S1 > t S2) for β = 2, from the resolvent at the upper end of an interval that holds one level."""
    kernel = lambda x, y: np.sinc(np.subtract.outer(x, y)) - np.outer(np.sinc(x), np.sinc(y))
    (u, w), (v, q) = ([(nodes + 1) / 2, weights / 2] for nodes, weights in map(gauss_legendre, (16, 40)))
    total = 0
    for b, by_b in zip(7 * v, 7 * q, strict=True):
        # The law of S2 at b, with no level in (-tb, b) except the level at 0.
        x, root = np.concatenate([-t * b * u, b * u]), np.sqrt(np.concatenate([t * b * w, b * w]))
        operator = np.eye(x.size) - root[:, None] * kernel(x, x) * root
        column = root * kernel(x, [b])[:, 0]
        resolvent = kernel([b], [b])[0, 0] + column @ np.linalg.solve(operator, column)
        total += by_b * np.linalg.det(operator) * resolvent
    return total


def test_resolvents_of_the_sine_kernel():
    t = np.array([0.05, 0.3, 0.6, 0.95])
    # The ratio is above t if S1 > t S2 and S2 > t S1; one of the two always holds.
    above = [2 * larger_than(ratio) - 1 for ratio in t]
    np.testing.assert_allclose(GapRatio(2).sf(t), above, rtol=0, atol=2e-13)


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
def test_one_of_both_spacings_has_the_law_of_gaudin_and_mehta(beta):
    # The table is made from the joint density of two spacings, here integrated over one of them.
    ctx.prec, (nodes, weights), end = gap_ratio_table.BITS, gauss_legendre(40), gap_ratio_table.FARTHEST[beta]
    for s in (0.3, 1.2):
        density = [gap_ratio_table.both_spacings(beta, arb(s), arb(end * (x + 1) / 2), 20) for x in nodes]
        total = sum(end * w / 2 * float(value.mid()) for w, value in zip(weights, density, strict=True))
        np.testing.assert_allclose(total, Spacing(beta).pdf(s), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
def test_the_script_makes_the_table(beta):
    with np.load(gap_ratio_table.TABLE) as table:
        series = table["series"][BETAS.index(beta)]
    ctx.prec = gap_ratio_table.BITS
    y = float(gap_ratio_table.chebyshev_angles(gap_ratio_table.FRACTIONS)[5].cos())
    expected = float(arb(gap_ratio_table.node(beta, 5)).mid())
    np.testing.assert_allclose(np.polynomial.chebyshev.chebval(y, series[0]), expected, rtol=1e-14)
    law = gap_ratio_table.Law(beta, [arb(c) for c in series[0].tolist()])
    for row, again in zip(series, gap_ratio_table.series(law), strict=True):
        np.testing.assert_allclose(row, gap_ratio_table.kept(again), rtol=0, atol=1e-15 * np.abs(row).max())


@pytest.mark.parametrize("beta", BETAS)
def test_three_levels_on_the_circle_are_near(beta):
    # The joint density with spacings rs and s, which together fill at most a turn; its relative distance is below 6/n⁴.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    r = np.concatenate([(nodes + 1) / 2, [1e-4, 1]])
    turn = (nodes[:, None] + 1) / 2 * np.pi / (1 + r)
    mass = np.abs(np.sin(r * turn) * np.sin(turn) * np.sin((1 + r) * turn)) ** beta * turn / (1 + r)
    density = weights @ mass
    density *= 2 / (density[:40] @ weights)
    distance = np.abs(density / np.asarray(GapRatio(beta).pdf(r)) - 1).max() * 3**4
    assert 3 < distance < 6
    # The surmise is as far off as its docstring says.
    near, far = np.asarray(GapRatioSurmise(beta).pdf(r[-2:]) / GapRatio(beta).pdf(r[-2:])) - 1
    assert -0.055 < near < -0.04
    assert 0.008 < far < 0.023


def ratios(ensemble, key):
    """All ratios on the circle."""
    phases = ensemble.eigenphases(key)
    spacing = (jnp.roll(phases, -1) - phases) % (2 * jnp.pi)
    following = jnp.roll(spacing, -1)
    return jnp.minimum(spacing / following, following / spacing)


def deviations(bins, mean, law):
    """The distances of all bins and of the mean from a law, in standard errors."""
    expected = np.diff(np.asarray(law.cdf(bins.edges))) * bins.total
    by_mean = (float(mean.mean) - float(law.mean())) / float(mean.standard_error)
    return np.append((bins.counts - expected) / bins.counts_standard_error, by_mean)


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
def test_ten_million_simulated_ratios(getkey, beta):
    # For n = 20 levels the relative distance of the density from its limit is below 4/n⁴.
    fn = functools.partial(ratios, rmt.CircularBeta(20, float(beta)))
    reduce = rmt.Histogram(np.linspace(0, 1, 17)), rmt.simulation.Part(jnp.mean, rmt.Moments())
    result = rmt.simulate(fn, getkey(), 500_000, reduce=reduce)
    # The limit for 17 numbers is at the 1e-6 level.
    assert np.abs(deviations(*result, GapRatio(beta))).max() < 5.6
    assert np.abs(deviations(*result, GapRatioSurmise(beta))).max() > 20


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_extreme_arguments_and_quantiles(beta):
    law, r = GapRatio(beta), jnp.array([1e-200, 1e-60, 1e-3])
    # F is r^(β+1) times a constant near 0, and the density its derivative.
    scaled = law.logcdf(r) - (beta + 1) * jnp.log(r)
    np.testing.assert_allclose(scaled[0], scaled[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(law.logpdf(r) - law.logcdf(r) + jnp.log(r), jnp.log(beta + 1.0), rtol=0, atol=0.02)
    p = jnp.array([1e-300, 1e-100, 1e-12, 1e-3, 0.3, 0.499, 0.5, 0.501, 0.8, 0.999])
    x, y = law.ppf(p), law.isf(p)
    np.testing.assert_allclose(law.logcdf(x), jnp.log(p), rtol=2e-14, atol=1e-15)
    near = p > 1e-6  # a quantile nearer to 1 than eps is 1
    np.testing.assert_allclose(law.sf(y)[near], p[near], rtol=2e-14, atol=1e-15)
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) <= 0).all()
    # Near 1 the survival function is linear.
    np.testing.assert_allclose(law.sf(1 - 2.0**-40) * 2.0**40, law.pdf(1.0), rtol=1e-11)
    slopes = jax.vmap(jax.grad(law.ppf))(p[3:])
    np.testing.assert_allclose(slopes * law.pdf(x[3:]), 1, rtol=1e-13)
