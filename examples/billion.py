"""A billion levels in a histogram, in a run that is killed on the way and loses nothing.

The run draws 1,000 matrices of the GOE of order 10⁶. The levels themselves are not needed: one pass over the rows of
the tridiagonal model counts the levels below the edges of the bins, and the rows are never stored. The counts of a
matrix are integers. `rmt.Moments` gives their mean and its standard error. The state of the run is saved every 5
seconds.

The run is its own process. As soon as it has saved a state it is killed by SIGKILL, which it cannot handle, and started
again with the same line. The result is the same as without the interruption.

The last column is the fluctuation of the number of levels in a bin. It is tiny, because levels repel each other. The
number of independent levels would fluctuate by some hundreds.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

EDGES = np.linspace(-2.0, 2.0, 17)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="order of the matrices (default %(default)s)")
    parser.add_argument("--matrices", type=int, default=1_000, help="how many (default %(default)s)")
    parser.add_argument("--devices", type=int, default=os.cpu_count(), help="parts of the CPU (default %(default)s)")
    parser.add_argument("--every", default="5s", help="time or draws between two checkpoints (default %(default)s)")
    parser.add_argument("--checkpoint", default="billion.checkpoint", help="a file (default %(default)s)")
    parser.add_argument("--run", action="store_true", help="do the work in this process, and do not kill it")
    args = parser.parse_args(argv)
    if args.run:
        run(args)
        return

    again = [
        sys.executable,
        __file__,
        "--run",
        *(f"--{name}={getattr(args, name)}" for name in vars(args) if name != "run"),
    ]
    Path(args.checkpoint).unlink(missing_ok=True)
    start = time.monotonic()
    process = subprocess.Popen(again)
    while process.poll() is None and not Path(args.checkpoint).exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    print(f"killed after {time.monotonic() - start:.1f} s, and started again")
    subprocess.run(again, check=True)
    print(f"{time.monotonic() - start:.1f} s in all")


def run(args: argparse.Namespace) -> None:
    """Draw what has not been drawn yet, and print the histogram."""
    jax.config.update("jax_num_cpu_devices", args.devices)
    ensemble = rmt.GOE(args.n)
    moments = rmt.simulate(
        counts,
        jax.random.key(10),
        args.matrices,
        args=(ensemble,),
        reduce=rmt.Moments(),
        checkpoint=args.checkpoint,
        every=int(args.every) if args.every.isdecimal() else args.every,
        progress=True,
    )
    expected = args.n * np.diff(ensemble.law().cdf(EDGES))
    print(f"{round(moments.mean.sum() * args.matrices):,} levels of {args.matrices:,} matrices, in each on average")
    print("        from     to         counted     semicircle    deviation")
    rows = zip(EDGES[:-1], EDGES[1:], moments.mean, moments.standard_error, expected, moments.variance, strict=True)
    for lower, upper, mean, error, law, variance in rows:
        print(f"{lower:12.2f} {upper:6.2f} {mean:13.2f} ± {error:.2f} {law:11.2f} {variance**0.5:12.2f}")


def counts(key: jax.Array, ensemble: rmt.GOE) -> jax.Array:
    """The numbers of levels of one matrix in the bins."""
    return jnp.diff(ensemble.count_below(key, EDGES), prepend=0, append=ensemble.n)[1:-1]


if __name__ == "__main__":
    main()
