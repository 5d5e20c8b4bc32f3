"""What `rmt.simulate` costs besides the draws: against a loop written by hand, on two devices, with checkpoints.

    python benchmarks/simulation.py

Times are medians of several turns that take turns, after warm-up; the ratios are what counts on a machine with other
work. The record is `benchmarks/results/simulation.json`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

EDGES = np.linspace(-2.5, 2.5, 65)


def uniform(key: jax.Array) -> jax.Array:
    """A cheap draw."""
    return jax.random.uniform(key, (4,))


# Name, a function that makes the draw, number of draws, and the batch of the loop by hand, the best of several.
CASES: dict[str, tuple[Callable[[], Callable], int, int]] = {
    "4 uniform variates": (lambda: uniform, 4_000_000, 1 << 14),
    "levels of GUE(10)": (lambda: rmt.GUE(10).eigenvalues, 200_000, 1 << 12),
    "levels of GOE(200)": (lambda: rmt.GOE(200).eigenvalues, 400, 50),
}


@partial(jax.jit, static_argnums=(0, 3, 4))
def by_hand(fn: Callable, key: jax.Array, reduce: rmt.Histogram, number: int, batch: int) -> Any:
    """The same reducer in a loop as one would write it for this case alone; `number` is a multiple of `batch`."""

    def step(state: Any, first: jax.Array) -> tuple[Any, None]:
        index = first + jnp.arange(batch, dtype=jnp.uint32)
        values = jax.vmap(fn)(jax.vmap(partial(jax.random.fold_in, key))(index))
        return reduce.update(state, rmt.simulation.Draws(values, index, jnp.ones(batch, bool))), None

    empty = jax.tree.map(jnp.asarray, reduce.init(jax.eval_shape(fn, key)))
    return jax.lax.scan(step, empty, jnp.arange(0, number, batch, dtype=jnp.uint32))[0]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", default=str(Path(__file__).parent / "results" / "simulation.json"), help="the record")
    parser.add_argument("--turns", type=int, default=7, help="of each measurement (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of draws (default %(default)s)")
    parser.add_argument("--devices", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.devices:
        jax.config.update("jax_num_cpu_devices", args.devices)
        print(json.dumps({name: once(name, args.scale, args.turns) for name in CASES}))
        return

    rows = {name: overhead(name, args.scale, args.turns) for name in CASES}
    times = [on_devices(number, args) for number in (1, 2)]
    for name, row in rows.items():
        row["two devices, times as fast as one"] = times[0][name] / times[1][name]
    record = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "jax": jax.__version__,
        "rows": rows,
        "a checkpoint of 8 kB, seconds": checkpoint(args.turns),
    }
    Path(args.json).write_text(json.dumps(record, indent=1) + "\n")
    for name, row in rows.items():
        print(name)
        for what, number in row.items():
            print(f"    {what:40} {number:9.3f}")
    seconds = record["a checkpoint of 8 kB, seconds"]
    print(f"a checkpoint of 8 kB: {1e3 * seconds:.2f} ms, {seconds / 60:.4%} of a minute")


def draws(name: str, scale: float) -> tuple[Callable, int, int]:
    """The function of a case, how many draws, a multiple of the batch, and the batch."""
    made, number, batch = CASES[name]
    return made(), max(1, round(scale * number / batch)) * batch, batch


def overhead(name: str, scale: float, turns: int) -> dict[str, float]:
    """Times of both in turns."""
    fn, number, batch = draws(name, scale)
    key, reduce = jax.random.key(0), rmt.Histogram(EDGES)
    ours = lambda: rmt.simulate(fn, key, number, reduce=reduce)
    theirs = lambda: jax.block_until_ready(by_hand(fn, key, reduce, number, batch))
    start = time.perf_counter()
    result = ours()
    first = time.perf_counter() - start
    state = reduce.merge(reduce.init(jax.eval_shape(fn, key)), jax.tree.map(np.asarray, theirs()))
    assert (result.counts == reduce.finish(state).counts).all()
    times = [(_seconds(ours), _seconds(theirs)) for _ in range(turns)]
    return {
        "seconds": statistics.median(one for one, _ in times),
        "seconds by hand": statistics.median(other for _, other in times),
        "ratio": statistics.median(one / other for one, other in times),
        "first call, seconds": first,
    }


def once(name: str, scale: float, turns: int) -> float:
    """The time on the devices of this process."""
    fn, number, _ = draws(name, scale)
    run = partial(rmt.simulate, fn, jax.random.key(0), number, reduce=rmt.Histogram(EDGES))
    run()
    return statistics.median(_seconds(run) for _ in range(turns))


def on_devices(number: int, args: argparse.Namespace) -> dict[str, float]:
    """The times on so many devices, in a process of its own."""
    command = [sys.executable, __file__, f"--turns={args.turns}", f"--scale={args.scale}", f"--devices={number}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def checkpoint(turns: int) -> float:
    """The time that a state of 1,000 counts takes to the disk."""
    from rmtjax.simulation._checkpoint import Saved, Store

    store, saved = Store(Path(tempfile.mkdtemp()) / "checkpoint"), Saved(0, 1, {}, [np.arange(1000)])
    return statistics.median(_seconds(lambda: store.save(saved)) for _ in range(turns))


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
