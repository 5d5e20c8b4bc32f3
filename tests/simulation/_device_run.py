"""Run in a process of its own with a given number of devices; prints what a simulation gives, as JSON."""

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


def main() -> None:
    key, edges = jax.random.key(7), jnp.linspace(-2.0, 2.0, 33)
    results = {}
    for num_samples, batch_size in [(1, None), (2, 1), (101, None), (101, 4), (101, 5), (64, 64)]:
        # Dense matrices compile in a moment, tridiagonal ones do not: once is enough.
        ensemble = rmt.GOE(12) if batch_size == 5 else rmt.Wigner(12)
        mixed = rmt.Mixed(ensemble, 0.7)
        run = lambda fn, reduce=None, m=num_samples, b=batch_size: rmt.simulate(fn, key, m, reduce=reduce, batch_size=b)
        histogram = run(mixed.eigenvalues, rmt.Histogram(edges))
        moments, largest = run(ensemble.eigenvalues, (rmt.Moments(), rmt.Histogram([-9.0, 1.5, 9.0])))
        stacked = run(ensemble.eigenvalues)
        assert stacked.shape == (num_samples, 12)
        if num_samples % jax.device_count() == 0:
            assert len({shard.device for shard in stacked.addressable_shards}) == jax.device_count()
            assert stacked.addressable_shards[0].data.shape[0] == num_samples // jax.device_count()
        results[f"{num_samples} in batches of {batch_size}"] = {
            "counts": [histogram.underflow, *map(int, histogram.counts), histogram.overflow],
            "count": int(moments.count),
            "above": int(largest.counts[1]),
            "mean": np.asarray(moments.mean).tolist(),
            "variance": np.nan_to_num(moments.variance, nan=-1).tolist(),
            "stacked": np.asarray(stacked, np.float64).tolist(),
        }
    # One program for all values of the arguments, wherever these lie.
    results["arguments"] = [
        np.asarray(rmt.simulate(shifted, key, 7, args=(jax.device_put(shift, jax.devices()[-1]), shift))).tolist()
        for shift in (0.0, 1.0)
    ]
    assert TRACES == 2, TRACES
    print(json.dumps({"devices": jax.device_count(), "results": results}))


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    main()
