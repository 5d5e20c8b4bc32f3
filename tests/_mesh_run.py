"""A script for a separate process with eight devices: cases of `mapped.py` over an explicit axis against one device.

It prints the errors as JSON, in words where the shapes differ, and 0 where there are none.
"""

import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, reshard

import rmtjax as rmt
from tests.mapped import MAPPED, dependent, exists, stacked


def spread(fn: Any, args: tuple, mesh: Any) -> tuple[Any, Any]:
    """The results of the function for equal arguments on all devices, and its result on one."""
    found = jax.jit(jax.vmap(fn))(*jax.tree.map(lambda leaf: stacked(leaf, mesh), args))
    for leaf in dependent(found):
        assert len(leaf.sharding.device_set) == 8, leaf.sharding
        assert leaf.sharding.spec[0] == "d", leaf.sharding
    once = jax.jit(fn)(*args)
    return found, jax.tree.map(lambda leaf: jnp.stack([leaf] * 8), once)


def simulated(mesh: Any) -> tuple[Any, Any]:
    """Stacked and reduced draws inside of `jax.set_mesh`, and outside."""

    def draws() -> tuple[Any, Any]:
        goe, key = rmt.GOE(6), jax.random.key(0)
        histogram = rmt.simulate(goe.eigenvalues, key, 48, reduce=rmt.Histogram(np.linspace(-3, 3, 7)))
        return rmt.simulate(goe.eigenvalues, key, 48, batch_size=2), histogram.counts

    once = draws()
    law, points = rmt.laws.Symmetrized(rmt.laws.MarchenkoPastur(0.5)), jnp.linspace(0.5, 1.2, 8)
    with jax.set_mesh(mesh):
        inside = jax.jit(jax.shard_map(law.cdf, in_specs=jax.P("d"), out_specs=jax.P("d")))(reshard(points, jax.P("d")))
        stacked, counts = draws()
        uneven = rmt.simulate(rmt.GOE(6).eigenvalues, jax.random.key(0), 44, batch_size=2)  # of eight devices
        assert jax.typeof(stacked).sharding.spec[0] == ("d",) or jax.typeof(stacked).sharding.spec[0] == "d"
        # Another mesh, of some of the devices.
        few = jax.sharding.Mesh(mesh.devices[:2], ("draws",))
        apart = rmt.simulate(rmt.GOE(6).eigenvalues, jax.random.key(0), 48, batch_size=2, mesh=few)
    return (stacked, counts, apart, uneven, inside), (*once, once[0], once[0][:44], law.cdf(points))


def error(found: Any, expected: Any) -> float | str:
    """The largest error beyond rounding."""
    worst = 0.0
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return f"shapes {one.shape} and {other.shape}"
        rtol = 1e4 * np.finfo(one.dtype).eps if one.dtype.kind in "fc" else 0
        close = np.isclose(one, other, rtol=rtol, atol=rtol, equal_nan=True)
        if not close.all():
            worst = max(worst, float(np.max(np.abs(one - other), where=~close, initial=0)))
    return worst


def main(names: list[str]) -> None:
    """Run the cases and print their errors."""
    mesh = jax.make_mesh((8,), ("d",), (AxisType.Explicit,))
    errors = {}
    for name in names:
        if name == "simulate":
            errors[name] = error(*simulated(mesh))
        elif exists(*MAPPED[name]):
            errors[name] = error(*spread(*MAPPED[name], mesh))
        else:
            errors[name] = 0
        print(name, errors[name], file=sys.stderr, flush=True)
    print(json.dumps(errors))


if __name__ == "__main__":
    main(sys.argv[1:])
