"""A script for a separate process with a given number of devices; it prints results of simulations as JSON."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

TRACES = 0


def shifted(key: jax.Array, array: jax.Array, number: float) -> jax.Array:
    """Draws of a uniform variate between integers, which are the arguments."""
    global TRACES
    TRACES += 1
    return jax.random.uniform(key) + array + number


def walk(key: jax.Array) -> jax.Array:
    """A loop whose carry starts the same on every device and then varies."""
    return jax.lax.fori_loop(0, 3, lambda i, x: x + jax.random.normal(jax.random.fold_in(key, i)), 0.0)


def levels(key: jax.Array) -> rmt.Spectrum:
    """A spectrum of 1 to 12 levels; only the ensemble below has matrices, which would be compiled for every case."""
    order = jax.random.randint(key, (), 1, 13)
    values = jnp.where(jnp.arange(12) < order, jax.random.normal(key, (12,)), jnp.inf)
    return rmt.Spectrum(jnp.sort(values), jnp.arange(12) < order)


def main() -> None:
    key, edges = jax.random.key(7), jnp.linspace(-2.0, 2.0, 33)
    reducers = rmt.Histogram(edges), rmt.Moments(), rmt.Histogram([-9.0, 1.5, 9.0])
    counted = lambda histogram: [histogram.underflow, *map(int, histogram.counts), histogram.overflow]
    results = {}
    for num_samples, batch_size in [(1, None), (2, 1), (101, None), (101, 4), (64, 64)]:
        run = lambda reduce, m=num_samples, b=batch_size: rmt.simulate(levels, key, m, reduce=reduce, batch_size=b)
        histogram, moments, largest = run(reducers)
        stacked = run(None).values
        assert stacked.shape == (num_samples, 12)
        if num_samples % jax.device_count() == 0:
            assert len({shard.device for shard in stacked.addressable_shards}) == jax.device_count()
            assert stacked.addressable_shards[0].data.shape[0] == num_samples // jax.device_count()
        results[f"{num_samples} in batches of {batch_size}"] = {
            "counts": counted(histogram),
            "count": np.asarray(moments.count).tolist(),
            "above": int(largest.counts[1]),
            "mean": np.nan_to_num(moments.mean, nan=-1).tolist(),
            "variance": np.nan_to_num(moments.variance, nan=-1).tolist(),
            "stacked": np.asarray(stacked, np.float64).tolist(),
        }
    mixed = rmt.Mixed(rmt.Wigner(12), 0.7)
    results["ensemble"] = counted(rmt.simulate(mixed.eigenvalues, key, 101, reduce=reducers[0], batch_size=4))
    results["loop"] = np.asarray(rmt.simulate(walk, key, 7)).tolist()
    # One program serves all values of the arguments, on any device.
    results["arguments"] = [
        np.asarray(rmt.simulate(shifted, key, 7, args=(jax.device_put(shift, jax.devices()[-1]), shift))).tolist()
        for shift in (0.0, 1.0)
    ]
    assert TRACES == 1, TRACES
    print(json.dumps({"devices": jax.device_count(), "results": results}))


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    main()
