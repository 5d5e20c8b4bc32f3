"""A campaign for a separate process, which may be killed; it prints the counts of a histogram as JSON.

Arguments: the checkpoint, the number of draws, the batch size, and, for several processes, the port of the
coordinator, the number of processes and the number of this one.
"""

import json
import signal
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

EDGES = np.linspace(0.1, 0.9, 25)


def draw(key: jax.Array) -> jax.Array:
    """Cheap, so that the process is mostly between two draws."""
    return jax.random.uniform(key, (4,), jnp.float32)


def run(checkpoint: str | None, num_samples: int, batch_size: int | None) -> list[int]:
    key, reduce = jax.random.key(11), rmt.Histogram(EDGES)
    kwargs = {} if checkpoint is None else {"checkpoint": checkpoint, "every": 100_000}
    result = rmt.simulate(draw, key, num_samples, reduce=reduce, batch_size=batch_size, **kwargs)
    return [result.underflow, *map(int, result.counts), result.overflow]


def main(checkpoint: str, num_samples: str, batch_size: str, port: str = "", processes: str = "", me: str = "") -> None:
    if port:
        # The others notice after this many seconds that a process has ended.
        jax.distributed.initialize(f"localhost:{port}", int(processes), int(me), heartbeat_timeout_seconds=10)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A process in the background may have it ignored.
    print("ready", flush=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = run(checkpoint, int(num_samples), int(batch_size))
    print(json.dumps({"counts": counts, "warnings": [str(each.message) for each in caught]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
