"""A script for a separate process with two devices; it prints laws under `shard_map` and outside it, as JSON."""

import json
import sys

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec

from rmtjax import laws
from rmtjax.special.internal import bracketed_root

FUNCTIONS = {
    "a mixture's quantile": lambda x: laws.Mixture([0.3, 0.7], [laws.Semicircle(1.0), laws.Arcsine(2.0)]).ppf(x),
    "a distribution function that solves linear systems": lambda x: laws.StochasticAiry(2.0).cdf(x),
    "a root above an end that differs between devices": lambda x: bracketed_root(lambda y: y**3 - x, 0 * x, 2.0),
    "levels in the bulk": lambda x: laws.bulk_gap_probabilities(x, beta=1, max_count=2),
    "levels at a hard edge": lambda x: laws.hard_edge_gap_probabilities(x, 0.5, beta=1, max_count=1),
}


def main(names: list[str]) -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    spec, points = PartitionSpec("x"), jnp.linspace(0.1, 0.9, 4)
    results = {}
    for name in names or FUNCTIONS:
        fn = FUNCTIONS[name]
        sharded = jax.jit(jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=spec))(points)
        assert len(sharded.sharding.device_set) == 2
        results[name] = [sharded.tolist(), fn(points).tolist()]
    print(json.dumps(results))


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 2)
    main(sys.argv[1:])
