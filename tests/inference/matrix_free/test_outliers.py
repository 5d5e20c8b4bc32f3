"""Planted levels outside of a bulk are found, and the levels of a bulk are not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import SpectralDensityEstimate, spectral_density_of, spectral_outliers
from tests.statistical import ERROR_RATE

N, BULK = 300, rmt.laws.Semicircle(2.0)


def product(v, a):
    return a @ v


def density(a, key):
    return spectral_density_of(product, key, N, args=(a,), depth=60, probes=2)


def test_planted_levels_are_found_on_both_sides(getkey):
    spikes = jnp.zeros(N).at[jnp.arange(3)].set(jnp.array([3.0, 2.0, -4.0]))
    found = density(rmt.GOE(N).sample(getkey()) + jnp.diag(spikes), getkey())
    for side, strengths in (("upper", [3.0, 2.0]), ("lower", [-4.0])):
        outside = spectral_outliers(found, BULK, side=side)
        assert outside.count == len(strengths)
        # θ + 1/θ, with a deviation of the square root of 2/n.
        expected = [strength + 1 / strength for strength in strengths]
        np.testing.assert_allclose(outside.levels[: len(expected)], expected, rtol=0, atol=0.45)
        assert outside.edge == (2 if side == "upper" else -2)
        assert (outside.p_values[: len(expected)] < 1e-6).all()
        assert outside.p_values[len(expected)] > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [rmt.GOE(N), rmt.GUE(N)], ids=["real", "complex"])
def test_a_bulk_has_outliers_at_the_nominal_rate(getkey, ensemble):
    @jax.jit
    @jax.vmap
    def p_values(key):
        found = density(ensemble.sample(key), key)
        return [spectral_outliers(found, BULK, side=side).p_values[0] for side in ("upper", "lower")]

    p = np.stack(p_values(jax.random.split(getkey(), 300)))
    # The law of Tracy and Widom at n = 300 is right to a few percent of its probabilities.
    for level in (0.05, 0.5):
        low, high = scipy.stats.binom.ppf([ERROR_RATE / 2, 1 - ERROR_RATE / 2], p.size, level)
        assert 0.9 * low < (p < level).sum() < 1.1 * high


@pytest.mark.slow
def test_unconverged_levels_are_not_outside(getkey):
    # Two products find neither the end of the bulk nor a level beyond it, but residuals say so.
    found = spectral_density_of(product, getkey(), N, args=(rmt.GOE(N).sample(getkey()),), depth=2, probes=2)
    assert spectral_outliers(found, rmt.laws.Semicircle(0.9)).count == 0
    assert found.extreme_levels(1)[0] > 0.95


def test_bad_arguments_are_refused(getkey):
    found = SpectralDensityEstimate(*jnp.zeros((3, 2, 4)), jnp.zeros(2, bool), 30, 1)
    for refused, words in (
        (lambda: spectral_outliers(jnp.ones(3), BULK), "density"),
        (lambda: spectral_outliers(found, 2.0), "bulk"),
        (lambda: spectral_outliers(found, rmt.laws.TracyWidom(1)), "bulk"),
        (lambda: spectral_outliers(found, BULK, side="both"), "side"),
        (lambda: spectral_outliers(found, BULK, alpha=0), "alpha"),
    ):
        with pytest.raises(ValueError, match=f"`{words}` must"):
            refused()
