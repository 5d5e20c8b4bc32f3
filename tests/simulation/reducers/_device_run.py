"""A script for a separate process with three devices: every reducer has the same result on all of them as on one."""

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt
from tests.simulation.reducers.draws import padded_spectrum

Part = rmt.simulation.Part


def draw(key: jax.Array) -> dict:
    """A spectrum of 1 to 6 levels, and three numbers."""
    return {"levels": padded_spectrum(key), "rest": jax.random.uniform(key, (3,))}


def share(histogram: rmt.simulation.HistogramResult) -> np.ndarray:
    """A statistic for the jackknife."""
    return histogram.counts / histogram.total


def main() -> None:
    edges, key = jnp.linspace(-2, 2, 9), jax.random.key(3)
    exact = [
        rmt.Histogram(edges),
        rmt.simulation.Quantiles([0.1, 0.5], size=64),
        rmt.simulation.Extremes(4),
        rmt.simulation.Keep(7),
        rmt.simulation.Jackknife(share, rmt.Histogram(edges[::4]), 8),
    ]
    rounded = Part("rest", [rmt.simulation.Covariance(), rmt.Moments(order=4)])
    one = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("draws",))
    expected = rmt.simulate(draw, key, 1001, reduce=(exact, rounded), mesh=one)
    for batch_size in (None, 17):
        result = rmt.simulate(draw, key, 1001, reduce=(exact, rounded), batch_size=batch_size)
        for left, right in zip(jax.tree.leaves(result[0]), jax.tree.leaves(expected[0]), strict=True):
            np.testing.assert_array_equal(left, right)
        for left, right in zip(jax.tree.leaves(result[1]), jax.tree.leaves(expected[1]), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)
    reduce = Part("levels", rmt.simulation.Collect())
    collected = rmt.simulate(draw, key, 101, reduce=reduce, batch_size=8)
    np.testing.assert_array_equal(collected.values.values, rmt.simulate(draw, key, 101)["levels"].values)
    print(jax.device_count())


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 3)
    main()
