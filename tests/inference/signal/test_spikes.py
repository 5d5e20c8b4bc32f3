"""Estimates of spikes: the map forth and back, its slope, samples of spiked matrices, and signals plus noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference import spike_estimates

N, P, NOISE = 200.0, 50, 1.5
RATIO = P / N


def seen(population):
    """The level at which a population level shows, from the theorem."""
    excess = population / NOISE**2 - 1
    return population * (1 + RATIO / excess)


@pytest.mark.parametrize("beta", [1, 2])
def test_estimates_invert_the_map_of_bbp(beta):
    population = np.array([3.6, 5.0, 40.0])
    found = spike_estimates(seen(population), N, P, NOISE, beta=beta)
    np.testing.assert_allclose(found.population.value, population, rtol=1e-12)
    # The error of the level over the slope of the map.
    level, excess = population / NOISE**2, population / NOISE**2 - 1
    spread = np.sqrt(2 / beta / N) * level * np.sqrt(1 - RATIO / excess**2) * NOISE**2
    slope = (seen(population + 1e-6) - seen(population - 1e-6)) / 2e-6
    np.testing.assert_allclose(found.population.standard_error, spread / slope, rtol=1e-6)
    np.testing.assert_allclose(found.singular, NOISE * np.sqrt(N * excess), rtol=1e-12)


def test_nothing_is_said_below_the_edge():
    edge = NOISE**2 * (1 + RATIO**0.5) ** 2
    found = spike_estimates(edge * np.array([0.5, 0.999, 1.001]), N, P, NOISE)
    for values in jax.tree.leaves(found):
        assert np.isnan(values).tolist() == [True, True, False]
    # At the edge the vectors are orthogonal, and the error is infinite.
    assert found.variable_cosine[2] < 0.1
    total = lambda x: jnp.nansum(spike_estimates(x, N, P, NOISE).population.value)
    gradient = jax.grad(total)(edge * np.array([0.5, 1.5]))
    assert gradient[0] == 0
    assert gradient[1] > 1


def test_wrong_arguments_are_refused():
    for arguments, name in (((0, 5, 1.0), "n"), ((9, -1, 1.0), "p"), ((9, 5, 0.0), "noise")):
        with pytest.raises(ValueError, match=f"`{name}` must be positive"):
            spike_estimates(3.0, *arguments)
    with pytest.raises(ValueError, match="`beta` must be 1 or 2"):
        spike_estimates(3.0, 9, 5, 1.0, beta=4)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
def test_samples_of_spiked_matrices(beta, getkey):
    n, p, population = 800, 200, 4.0
    levels = rmt.simulate(rmt.Spiked(rmt.Wishart(p, n, beta), [population]).eigenvalues, getkey(), 2000)[:, -1]
    found = spike_estimates(levels, n, p, 1.0, beta=beta)
    # The bias is of the order 1/n, some hundredths of the standard error.
    assert abs(float(jnp.mean(found.population.value)) - population) < 0.15 * float(found.population.standard_error[0])
    np.testing.assert_allclose(jnp.std(found.population.value), jnp.mean(found.population.standard_error), rtol=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
def test_angles_and_singular_values_of_signals_in_noise(dtype, getkey):
    n, p, singular, draws = 300, 150, 30.0, 300

    def draw(key):
        noise = jax.random.normal(key, (n, p), dtype)
        u, y, v = jnp.linalg.svd(noise.at[0, 0].add(singular), full_matrices=False)
        return y[0], jnp.abs(u[0, 0]) ** 2, jnp.abs(v[0, 0]) ** 2

    y, left, right = rmt.simulate(draw, getkey(), draws)
    found = spike_estimates(y**2 / n, n, p, 1.0)
    np.testing.assert_allclose(jnp.mean(found.singular), singular, rtol=6e-3)
    # The bias is of the order 1/n.
    np.testing.assert_allclose(jnp.mean(left), jnp.mean(found.observation_cosine), rtol=0, atol=4 / n)
    np.testing.assert_allclose(jnp.mean(right), jnp.mean(found.variable_cosine), rtol=0, atol=4 / n)
