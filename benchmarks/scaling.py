"""What a run of `rmt.simulate` over many processes loses: measured parts, a model of the whole, and a simulation of it.

    python benchmarks/scaling.py

Two processes on this machine measure what a meeting of the processes costs, an exchange of states, and a checkpoint.
From these the model extrapolates: a message to P processes takes log₂ P times as long as to one, and every process
receives the states of all. The simulation adds what a model by means cannot know: processes that are slower than the
others, now and then or always, and processes that fail, so that all are started again from the checkpoint. The record
is `benchmarks/results/scaling.json`; `docs/scaling.md` discusses it.
"""

import argparse
import json
import math
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np

PROCESSES = (1, 2, 8, 64, 256, 1000)
STATE_BYTES = (10**3, 10**5, 10**7)
# A run as it is by default: meetings after 5 seconds of work, a checkpoint after 5 minutes.
VISIT, INTERVAL = 5.0, 300.0
# The surroundings of the simulation, in seconds, and the deviations of the processes' speed.
HOURS_BETWEEN_FAILURES_OF_ONE, RESTART = 24 * 180, 180.0
JITTER, SPREAD = 0.005, 0.01


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, extrapolate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", default=str(Path(__file__).parent / "results" / "scaling.json"), help="the record")
    parser.add_argument("--repeats", type=int, default=30, help="of each measurement (default %(default)s)")
    parser.add_argument(
        "--hours", type=float, default=100.0, help="of undisturbed work to simulate (default %(default)s)"
    )
    parser.add_argument("--measure", nargs=2, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.measure:
        port, process = args.measure
        jax.distributed.initialize(f"localhost:{port}", 2, process)
        costs = measured(args.repeats)
        if process == 0:
            print(json.dumps(costs))
        return

    costs = costs_of_two_processes(args.repeats)
    rows = [{"processes": p, **modelled(p, costs), **simulated(p, costs, args.hours)} for p in PROCESSES]
    record = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "jax": jax.__version__,
        "seconds": costs,
        "assumed": {
            "jitter": JITTER,
            "spread": SPREAD,
            "hours between failures of one process": HOURS_BETWEEN_FAILURES_OF_ONE,
            "seconds to restart": RESTART,
            "hours of work": args.hours,
        },
        "rows": rows,
    }
    Path(args.json).write_text(json.dumps(record, indent=1) + "\n")
    for name, seconds in costs.items():
        print(f"{name:36} {1e3 * seconds:9.2f} ms")
    print("\nprocesses   lost to   meetings   checkpoints   waiting   failures   efficiency   failures in the run")
    for row in rows:
        lost = [f"{row[name]:10.2%}" for name in ("meetings", "checkpoints", "waiting", "restarts", "efficiency")]
        print(f"{row['processes']:9}           {' '.join(lost)} {row['failures']:10}")


def costs_of_two_processes(repeats: int) -> dict[str, float]:
    """The costs in seconds, as the first of two processes sees them."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, f"--repeats={repeats}", "--measure", str(port)]
    first, second = (subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, text=True) for i in range(2))
    output, _ = first.communicate()
    second.communicate()
    return json.loads(output.splitlines()[-1])


def measured(repeats: int) -> dict[str, float]:
    """Median seconds of each part; runs in both processes."""
    from rmtjax.simulation._checkpoint import Saved, Store, packed
    from rmtjax.simulation._devices import resolve_mesh
    from rmtjax.simulation._processes import Processes

    processes = Processes(resolve_mesh(None))
    costs = {"meeting": _median(lambda: processes.numbers([0, 0]), repeats)}
    store = Store(Path(tempfile.mkdtemp()) / "checkpoint")
    for size in STATE_BYTES:
        saved = Saved(0, 1, {}, [np.zeros(size, np.uint8)])
        costs[f"exchange of {size:,} bytes"] = _median(lambda saved=saved: processes.blobs(packed(saved)), repeats)
        costs[f"checkpoint of {size:,} bytes"] = _median(lambda saved=saved: store.save(saved), repeats)
    return costs


def _median(action: Callable[[], object], repeats: int) -> float:
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def modelled(processes: int, costs: dict[str, float], state: int = 10**5) -> dict[str, float]:
    """The shares of time that meetings and checkpoints take."""
    steps = math.log2(processes) if processes > 1 else 0.0
    meetings = steps * costs["meeting"] / VISIT
    exchange = (processes - 1) * costs[f"exchange of {state:,} bytes"]
    checkpoints = (exchange + costs[f"checkpoint of {state:,} bytes"]) / INTERVAL
    return {"meetings": meetings, "checkpoints": checkpoints}


def simulated(processes: int, costs: dict[str, float], hours: float) -> dict[str, float]:
    """Waiting for the slowest, and failures, by playing a run: the share of time each takes, and what remains.

    A meeting is an operation of the devices, which do it after the chunk that they have: all begin the next one
    together.
    """
    random = np.random.default_rng(processes)
    model = modelled(processes, costs)
    constant = 1 + random.normal(0, SPREAD, processes)
    chunks = round(3600 * hours / VISIT)
    rate = processes / (3600 * HOURS_BETWEEN_FAILURES_OF_ONE)
    next_failure = random.exponential(1 / rate)
    clock, done, saved, last_save, failures, lost, waiting = 0.0, 0, 0, 0.0, 0, 0.0, 0.0
    while done < chunks:
        slowest = float((constant + random.exponential(JITTER, processes)).max())
        clock += VISIT * (slowest + model["meetings"])
        waiting += VISIT * (slowest - 1)
        done += 1
        if clock >= next_failure:
            failures += 1
            lost += (done - saved) * VISIT + RESTART
            clock, done = clock + RESTART, saved
            last_save, next_failure = clock, clock + random.exponential(1 / rate)
        elif clock - last_save >= INTERVAL:
            clock += INTERVAL * model["checkpoints"]
            saved, last_save = done, clock
    return {
        "waiting": waiting / clock,
        "restarts": lost / clock,
        "efficiency": chunks * VISIT / clock,
        "failures": failures,
    }


if __name__ == "__main__":
    main()
