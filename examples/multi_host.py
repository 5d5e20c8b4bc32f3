"""One campaign on many machines: the levels of the GUE in a histogram, resumed where it was stopped.

Every machine runs this script, and together they are one computation. For the checkpoint it is enough that the first
process can write to the folder. If a machine fails, all processes end; start them again, with any number of processes.

On one machine, also with several GPUs, no option is needed:

    python examples/multi_host.py

By hand, start every process with the same line and its own number. The coordinator is the machine of the first process:

    python examples/multi_host.py --coordinator host0:9911 --processes 3 --process 0
    python examples/multi_host.py --coordinator host0:9911 --processes 3 --process 1
    python examples/multi_host.py --coordinator host0:9911 --processes 3 --process 2

Where JAX finds the processes by itself, `--detect` is enough. Under Slurm, with a task for each GPU:

    srun --nodes=4 --ntasks-per-node=8 --gpus-per-task=1 python examples/multi_host.py --detect

Under Open MPI 4 (for 5 and later `pip install mpi4py`, and `--detect mpi4py`):

    mpirun -n 32 python examples/multi_host.py --detect

In an indexed job of Kubernetes, after `pip install "jax[k8s]"`, with a service account that may read pods and jobs:

    command: ["python", "examples/multi_host.py", "--detect"]
"""

import argparse
from collections.abc import Sequence

import jax
import numpy as np

import rmtjax as rmt

# After so many seconds the others notice a lost process; JAX's default is 100.
HEARTBEAT = 30


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coordinator", help="address and port of the first process")
    parser.add_argument("--processes", type=int, help="how many there are")
    parser.add_argument("--process", type=int, help="which one this is, from 0")
    parser.add_argument("--detect", nargs="?", const="auto", help="let JAX find the others, by this method if given")
    parser.add_argument("--n", type=int, default=100, help="order of the matrices (default %(default)s)")
    parser.add_argument("--draws", type=int, default=100_000, help="how many matrices (default %(default)s)")
    parser.add_argument("--checkpoint", default="gue.checkpoint", help="a file all runs share (default %(default)s)")
    args = parser.parse_args(argv)

    # This comes before any other call of JAX.
    if args.coordinator:
        jax.distributed.initialize(args.coordinator, args.processes, args.process, heartbeat_timeout_seconds=HEARTBEAT)
    elif args.detect:
        method = None if args.detect == "auto" else args.detect
        jax.distributed.initialize(cluster_detection_method=method, heartbeat_timeout_seconds=HEARTBEAT)

    ensemble = rmt.GUE(args.n)
    histogram = rmt.simulate(
        ensemble.eigenvalues,
        jax.random.key(1),
        args.draws,
        reduce=rmt.Histogram(np.linspace(-2.5, 2.5, 101)),
        checkpoint=args.checkpoint,
        every="1min",
        progress=True,
    )
    # Every process has the result, and one prints it.
    if jax.process_index() == 0:
        expected = np.diff(rmt.laws.Semicircle().cdf(histogram.edges))
        distance = abs(histogram.counts / histogram.total - expected).sum() / 2
        print(f"{histogram.total:,} levels on {jax.device_count()} devices of {jax.process_count()} processes")
        print(f"total variation distance from the semicircle: {distance:.4f}")


if __name__ == "__main__":
    main()
