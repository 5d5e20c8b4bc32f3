"""Superposed sequences: the product of empty intervals, limits, both tails, matrices, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import BerryRobnik, PoissonSpacing, Spacing, SuperposedSpacing, bulk_gap_probabilities
from rmtjax.laws._spacings.empty_interval import distance_to_level, log_empty
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.statistical import assert_counts, assert_law

MIXED = ((0, 1, 2, 4), (0.1, 0.2, 0.3, 0.4))
S = [1e-20, 1e-3, 0.2, 0.999, 1.001, 3.1, 7.3, 30.0]


@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_empty_intervals(beta):
    law = Spacing(beta)
    s = jnp.array([1e-3, 0.2, 0.49, 0.51, 0.99, 1.3, 2.2, 3.7])
    determinants = bulk_gap_probabilities(s, beta, 0)[:, 0]
    np.testing.assert_allclose(jnp.exp(log_empty(law, s)), determinants, rtol=0, atol=2e-14)
    # The slope is the tail of the law of spacings. Differences of the logarithm on both sides of all joints show it.
    s = jnp.array([0.2, 1.9, 7.4, 9.99, 10.01, 19.99, 20.01, 400.0])
    step = 2.0**-12 * s
    near, far = (log_empty(law, s + k * step) - log_empty(law, s - k * step) for k in (1, 2))
    slope = (8 * near - far) / (12 * step)
    np.testing.assert_allclose(slope, -jnp.exp(law.logsf(s) - log_empty(law, s)), rtol=1e-9)
    logarithm = -jnp.array([1e-15, 1e-3, 0.7, 3.0, 40.0, 700.0])
    np.testing.assert_allclose(log_empty(law, distance_to_level(law, logarithm)), logarithm, rtol=1e-13)


@pytest.mark.float32
@pytest.mark.parametrize("beta", [*further(0, 1), 2, *further(4)])
def test_one_sequence(beta):
    alone, known = SuperposedSpacing([beta], [1.0]), Spacing(beta) if beta else PoissonSpacing()
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    x = jnp.array(S[1:])
    for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf"):
        got, expected = (np.asarray(getattr(law, name)(x), float) for law in (alone, known))
        # An exponential is as uncertain as its exponent.
        size = 1 if name.startswith("log") else 1 - np.log(np.clip(expected, 1e-300, 1))
        # Near 1 the logarithm of a density has no relative digits, and the logarithm of a tail is the other tail.
        floor = {"logpdf": 1, "logcdf": eps, "logsf": eps}.get(name, 0)
        allowed = 100 * eps * (np.abs(expected) + floor) + 1e-37
        np.testing.assert_array_less(np.abs(got - expected) / size, allowed, err_msg=name)


def test_independent_levels_in_parts():
    law = SuperposedSpacing([0, 0, 0], [0.5, 0.3, 0.2])
    x = jnp.array(S)
    np.testing.assert_allclose(law.logsf(x), -x, rtol=1e-14)
    expected = jnp.where(x < 1, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))
    np.testing.assert_allclose(law.logcdf(x), expected, rtol=1e-13)


def test_near_berry_and_robnik():
    # Berry and Robnik use Wigner's surmise, whose distribution function is up to 0.006 from the exact one.
    x = jnp.linspace(0.05, 4, 40)
    exact, surmise = SuperposedSpacing([0, 1], [0.3, 0.7]), BerryRobnik(0.3)
    np.testing.assert_allclose(exact.cdf(x), surmise.cdf(x), rtol=0, atol=0.006)
    np.testing.assert_allclose(exact.pdf(0.0), surmise.pdf(0.0), rtol=1e-15)


def test_many_sequences():
    # E = Π E_i(s/m) is exp(-s) up to O(1/m), as -log E_i(s) = s + O(s²).
    x = jnp.array([0.1, 1.0, 4.0])
    errors = [
        np.abs(SuperposedSpacing([2] * m, np.full(m, 1 / m)).sf(x) - PoissonSpacing().sf(x)).max() for m in (8, 16)
    ]
    assert errors[0] < 0.08
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.15)


@pytest.mark.float32
def test_the_tails_agree_and_small_fractions_keep_their_digits():
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    law = SuperposedSpacing(*MIXED)
    np.testing.assert_allclose(law.cdf(jnp.array(S)) + law.sf(jnp.array(S)), 1, rtol=4 * eps)
    np.testing.assert_allclose(law.pdf(0.0), 1 - 0.2**2 - 0.3**2 - 0.4**2, rtol=4 * eps)
    tiny = SuperposedSpacing([1, 2], [1 - 2.0**-18, 2.0**-18])
    density = 2.0**-17 * (1 - 2.0**-18)
    np.testing.assert_allclose([tiny.pdf(0.0), tiny.cdf(1e-20) / 1e-20], density, rtol=40 * eps)


def test_moments():
    # The mean of S² is twice the integral of E, here from determinants.
    law = SuperposedSpacing([1, 2], [0.4, 0.6])
    nodes, weights = np.polynomial.legendre.leggauss(80)
    s = 6 * (nodes + 1)
    empty = bulk_gap_probabilities(0.4 * s, 1, 0)[:, 0] * bulk_gap_probabilities(0.6 * s, 2, 0)[:, 0]
    np.testing.assert_allclose(law.moment(2), 12 * weights @ np.asarray(empty), rtol=1e-11)
    assert law.mean() == 1


def two_blocks(key):
    """The spacings of the joint phases of two blocks: 60 levels of the COE and 40 of the CUE."""
    first, second = jax.random.split(key)
    phases = jnp.sort(jnp.concatenate([rmt.COE(60).eigenphases(first), rmt.CUE(40).eigenphases(second)]))
    return jnp.diff(phases) * 100 / (2 * jnp.pi)


@pytest.mark.slow
def test_matrices():
    # Spacings of one matrix depend on each other a little; every tenth is nearly independent of the others.
    spacings = np.asarray(rmt.simulate(two_blocks, jax.random.key(11), 1000))[:, 5::10].ravel()
    edges = np.array([0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, np.inf])
    law = SuperposedSpacing([1, 2], [0.6, 0.4])
    counts, _ = np.histogram(spacings, edges)
    assert_counts(counts, np.diff(np.append(law.cdf(edges[:-1]), 1)))
    # The test tells the classes apart.
    with pytest.raises(AssertionError):
        assert_counts(counts, np.diff(np.append(SuperposedSpacing([4, 4], [0.6, 0.4]).cdf(edges[:-1]), 1)))


@pytest.mark.slow
@pytest.mark.float32
def test_samples():
    law = SuperposedSpacing(*MIXED)
    assert_law(law.sample(jax.random.key(4), 20000), law.cdf)


@pytest.mark.slow
def test_derivatives():
    # The fractions are divided by their sum, so a derivative in them has no component along them.
    law, x = SuperposedSpacing([1, 2], [0.4, 0.6]), jnp.array([1e-6, 0.3, 0.99, 2.0, 9.0, 60.0])
    formulas = lambda x: (law.pdf(x), law.cdf(x), law.sf(x), law.logpdf(x), law.logcdf(x), law.logsf(x))
    check_derivatives(formulas, x[1:-1])
    for method in ("logpdf", "logcdf", "logsf", "pdf", "cdf", "sf"):
        slopes = jax.vmap(jax.grad(lambda law, x, m=method: getattr(law, m)(x)), (None, 0))(law, x).fractions
        assert np.isfinite(slopes).all()
        np.testing.assert_allclose(slopes @ law.fractions, 0, rtol=0, atol=1e-10 * (1 + np.abs(slopes).max()))
    by_share = jax.grad(lambda f, x: SuperposedSpacing([1, 2], jnp.stack([f, 1 - f])).logsf(x))
    for s in (0.4, 3.0):
        step = 1e-4
        sides = [float(SuperposedSpacing([1, 2], [0.4 + d, 0.6 - d]).logsf(s)) for d in (-step, step)]
        np.testing.assert_allclose(by_share(0.4, s), (sides[1] - sides[0]) / (2 * step), rtol=1e-6)
