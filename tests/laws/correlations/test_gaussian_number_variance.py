"""Number variance of the Gaussian ensembles: joint densities, gap probabilities, the limit, matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import gaussian_number_variance, hermite_gap_probabilities, number_variance
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.laws.correlations.joint_density import rule
from tests.statistical import assert_mean

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
BETAS = [1, 2, 4]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
def test_the_joint_density(beta, dtype):
    a, b = dtype(-0.25), dtype(0.875)
    for n in (1, 2, 3):
        got = gaussian_number_variance(a, b, n, beta)
        assert got.dtype == dtype
        levels, mass = rule(n, beta, (float(a), float(b)))
        counts = ((levels > a) & (levels < b)).sum(1)
        expected = (counts - counts @ mass) ** 2 @ mass
        np.testing.assert_allclose(got, expected, rtol=0, atol=max(40 * np.finfo(dtype).eps, 1e-13))


@pytest.mark.parametrize("beta", BETAS)
def test_gap_probabilities(beta):
    # Second moments of the gap probabilities, which are interpolated from Pfaffians and have other references.
    for n in (8, 9):
        for a, b in [(0.0, jnp.inf), (-0.3, 1.2)]:
            p, k = np.asarray(hermite_gap_probabilities(n, (a, b), beta, n)), np.arange(n + 1)
            got = gaussian_number_variance(1.5 * a, 1.5 * b, n, beta, 1.5)
            np.testing.assert_allclose(got, k**2 @ p - (k @ p) ** 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_many_levels(beta):
    # The density has waves, so the middle of the interval runs over one mean spacing, π/n.
    n, length = 60, 2.5
    middle, half = np.arange(8) / 8 * np.pi / n, length * np.pi / (2 * n)
    mean = gaussian_number_variance(middle - half, middle + half, n, beta).mean()
    np.testing.assert_allclose(mean, number_variance(length, beta), rtol=0, atol={1: 1.3e-3, 2: 2e-4, 4: 4e-4}[beta])


@pytest.mark.float32
@pytest.mark.parametrize("beta", BETAS)
def test_the_range_of_intervals(beta):
    n, eps = 40, float(jnp.finfo(jnp.result_type(float)).eps)
    a, b = jnp.array([-jnp.inf, 0.3, 1.0, jnp.nan, -60.0]), jnp.array([jnp.inf, 0.3, 0.5, 1.0, -50.0])
    got = gaussian_number_variance(a, b, n, beta)
    np.testing.assert_allclose(got, [0, 0, np.nan, np.nan, 0], rtol=0, atol=10 * n * eps)
    ends, infinite = jnp.array([-1.9, -0.7, 0.0, 1.2, 2.1]), jnp.full(5, jnp.inf)
    below, above = gaussian_number_variance(-infinite, ends, n, beta), gaussian_number_variance(ends, infinite, n, beta)
    np.testing.assert_allclose(below, above, rtol=0, atol=15 * n * eps)
    # A short interval holds one level or none.
    short = gaussian_number_variance(0.5, 0.5 + 2.0**-12, n, beta) / (n * rmt.laws.Semicircle().pdf(0.5) * 2.0**-12)
    np.testing.assert_allclose(short, 1, rtol=0, atol=0.2)


def test_derivatives():
    ends = jnp.array([-0.4, 0.1]), jnp.array([0.7, 1.4])
    check_derivatives(lambda a, b, s: gaussian_number_variance(a, b, 5, 1, s), *ends, jnp.asarray(1.2))
    slopes = jax.grad(lambda b: gaussian_number_variance(-jnp.inf, b, 5, 4))(jnp.inf)
    np.testing.assert_array_equal(slopes, 0)


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [rmt.GOE(7, 1.3), *further(rmt.GUE(7, 1.3), rmt.GSE(7, 1.3), rmt.GOE(6, 1.3))])
def test_matrices(ensemble):
    beta, a, b = round(float(ensemble._beta())), jnp.array([-0.5, 0.2]), jnp.array([0.9, jnp.inf])

    def counts(key):
        levels = ensemble.eigenvalues(key)[:, None]
        return jnp.sum((levels > a[None]) & (levels < b[None]), axis=0)

    draws = np.asarray(rmt.simulate(counts, jax.random.key(5), 40000))
    for values, variance in zip(draws.T, gaussian_number_variance(a, b, ensemble.n, beta, 1.3), strict=True):
        assert_mean((values - values.mean()) ** 2, float(variance))
