"""Lévy matrices: stable entries by their characteristic function and by SciPy, the trace, smoothness in α."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import drawn
from tests.statistical import assert_counts, assert_law, assert_mean

SCALE = 0.7
DRAWS = 20_000
ALPHAS = (0.4, 0.9, 1.0, 1.5, 1.97)


@pytest.mark.float32
@pytest.mark.parametrize("alpha", ALPHAS)
def test_characteristic_functions_of_entries_and_trace(getkey, alpha):
    n = 3
    levels, samples = drawn(rmt.Levy(n, alpha, SCALE), DRAWS, getkey())
    np.testing.assert_array_equal(samples, np.swapaxes(samples, -1, -2))
    samples, levels = samples.astype(float), levels.astype(float)
    assert_mean(np.sign(samples[:, 0, 1] * samples[:, 0, 2]), 0)
    assert_mean(np.sign(samples[:, 0, 0] * samples[:, 1, 1]), 0)
    unit = SCALE * n ** (-1 / alpha)
    for t in (0.1, 0.5, 1.0, 2.0, 5.0):
        for entry in (samples[:, 0, 0], samples[:, 1, 0], samples[:, 2, 1]):
            assert_mean(np.cos(t * entry / unit), np.exp(-(t**alpha)))
        # The sum of n stable variables is n^{1/α} times one of them.
        assert_mean(np.cos(t * np.trace(samples, axis1=1, axis2=2) / SCALE), np.exp(-(t**alpha)))
    if alpha >= 0.9:  # below that, the rounding of the largest level makes an error of order 1 in their sum
        assert_mean(np.cos(levels.sum(-1) / SCALE), np.exp(-1))


def test_cauchy_entries(getkey):
    _, samples = drawn(rmt.Levy(1, 1.0, SCALE), DRAWS, getkey())
    assert_law(samples, scipy.stats.cauchy(scale=SCALE).cdf)


@pytest.mark.parametrize("alpha", [0.9, 1.5])
def test_distribution_of_entries_by_scipy(getkey, alpha):
    levels, _ = drawn(rmt.Levy(1, alpha, SCALE), DRAWS, getkey())
    edges = np.array([-8.0, -1.0, -0.2, 0.3, 2.0, 20.0])
    cdf = np.concatenate([[0], scipy.stats.levy_stable.cdf(edges, alpha, 0.0), [1]])
    counts, _ = np.histogram(levels.ravel() / SCALE, [-np.inf, *edges, np.inf])
    assert_counts(counts, np.diff(cdf))


@pytest.mark.float32
@pytest.mark.parametrize("alpha", [0.4, *further(1.0, 1.7)])
def test_tails_reach_as_far_as_they_should(getkey, alpha):
    # Far in the tail P(|X| > x) = (2/π) Γ(α) sin(πα/2) x^{-α}: 100 of 2 million entries.
    size = 1000
    samples = jax.jit(jax.vmap(rmt.Levy(size, alpha, SCALE).sample))(jax.random.split(getkey(), 4))
    entries = np.abs(np.asarray(samples, float))
    x = entries[:, *np.tril_indices(size)].ravel() * size ** (1 / alpha) / SCALE
    tail = 2 / np.pi * scipy.special.gamma(alpha) * np.sin(np.pi * alpha / 2)
    threshold = (tail * x.size / 100) ** (1 / alpha)
    exceed = (x > threshold).sum()
    assert scipy.stats.poisson(100).ppf(5e-7) <= exceed <= scipy.stats.poisson(100).isf(5e-7)


def test_smooth_through_1(getkey):
    key = getkey()
    alphas = jnp.array([0.7, 1.0, 1.6])
    levels = lambda alpha, scale: rmt.Levy(4, alpha, scale).eigenvalues(key)
    check_derivatives(lambda alpha, scale: jax.vmap(levels, (0, None))(alpha, scale), alphas, SCALE)
    # The two sides of α = 1 differ only by the derivative.
    above, below = (rmt.Levy(4, 1 + h).sample(key) for h in (1e-7, -1e-7))
    np.testing.assert_allclose(above, below, rtol=1e-5)


def test_law_is_not_known():
    with pytest.raises(NotImplementedError, match="The limiting law of Lévy matrices has heavy tails"):
        rmt.Levy(3, 1.5).law()


def test_a_matrix_that_overflows_has_no_levels(getkey):
    key, ensemble = getkey(), rmt.Levy(20, 0.002)
    assert jnp.isnan(ensemble.eigenvalues(key)).all()
    assert ensemble.count_below(key, 0.0) == -1


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_ends_of_the_range_are_refused(alpha):
    with pytest.raises(ValueError, match=rf"`alpha` must lie in \(0, 2\), got {alpha}"):
        rmt.Levy(3, alpha)
