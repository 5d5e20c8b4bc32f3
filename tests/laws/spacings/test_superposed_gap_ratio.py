"""Mean gap ratio of superposed sequences: one sequence, limits, simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import mean_gap_ratio, mean_superposed_gap_ratio
from tests.cases import further


@pytest.mark.parametrize("beta", [0, 1, 2, *further(4)])
def test_one_sequence(beta):
    # The values come from ball arithmetic; for β = 2 twelve digits are published.
    np.testing.assert_allclose(mean_superposed_gap_ratio([beta], [1.0]), mean_gap_ratio(beta), rtol=0, atol=1e-13)


def test_limits():
    # Independent levels may be split, many sequences tend to independent levels, and a rare sequence does not count.
    np.testing.assert_allclose(mean_superposed_gap_ratio([0, 0], [0.3, 0.7]), mean_gap_ratio(0), rtol=0, atol=1e-14)
    few, many = (mean_superposed_gap_ratio([2] * m, np.full(m, 1 / m)) - mean_gap_ratio(0) for m in (20, 40))
    assert 0 < many < few / 3.5
    rare = mean_superposed_gap_ratio([2, 1], [1 - 1e-6, 1e-6])
    np.testing.assert_allclose(rare, mean_gap_ratio(2), rtol=0, atol=1e-6)
    assert rare != mean_gap_ratio(2)


def test_order_does_not_matter():
    one, other = mean_superposed_gap_ratio([2, 0], [0.3, 0.7]), mean_superposed_gap_ratio([0, 2], jnp.array([0.7, 0.3]))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)


def check(key, betas, sizes, draws, limit):
    """Ratios on the circle, where n levels differ from their limit by about n^-2."""
    ensembles = [rmt.CircularBeta(n, float(beta)) for n, beta in zip(sizes, betas, strict=True) if beta]
    independent = sum(n for n, beta in zip(sizes, betas, strict=True) if not beta)

    def mean_ratio(key):
        first, *keys = jax.random.split(key, 1 + len(ensembles))
        levels = [ensemble.eigenphases(k) for ensemble, k in zip(ensembles, keys, strict=True)]
        levels.append(jax.random.uniform(first, (independent,), minval=-jnp.pi, maxval=jnp.pi))
        phases = jnp.sort(jnp.concatenate(levels))
        spacing = (jnp.roll(phases, -1) - phases) % (2 * jnp.pi)
        following = jnp.roll(spacing, -1)
        return jnp.mean(jnp.minimum(spacing, following) / jnp.maximum(spacing, following))

    found = rmt.simulate(mean_ratio, key, draws, reduce=rmt.Moments())
    expected = mean_superposed_gap_ratio(betas, np.array(sizes) / sum(sizes))
    assert abs(found.mean - expected) < limit * found.standard_error
    # The mean of one sequence and the mean of independent levels are excluded.
    for beta in (0, max(betas)):
        assert abs(found.mean - mean_gap_ratio(beta)) > 10 * found.standard_error


@pytest.mark.parametrize(("betas", "sizes"), [((1, 2, 0), (40, 40, 20)), *further(((2, 2), (40, 40)))])
def test_simulated_ratios(getkey, betas, sizes):
    check(getkey(), betas, sizes, 4000, 5)


@pytest.mark.slow
@pytest.mark.parametrize(("betas", "sizes"), [((1, 1), (100, 100)), ((4, 2), (120, 80)), ((1, 1, 1), (90, 60, 50))])
def test_five_million_simulated_ratios(getkey, betas, sizes):
    check(getkey(), betas, sizes, 25_000, 4)
