"""The cost of the first call of every public name, each in a process of its own.

    python benchmarks/first_call.py [--only PATTERN] [--float64] [--json [FILE]]

The table shows clock and processor seconds of the first call and of the second, which compiles nothing; the lines of
the lowered program; and the number of compilations in each call. The ratio is that of processor seconds to
`jax.scipy.linalg.eigh_tridiagonal` of order 100, eigenvalues only, the median of three processes in the same run:
processor seconds hardly depend on what else the machine does. Imports, the start of the devices and the arguments come
before the clock starts; README's lines import the library themselves. A target in seconds refers to the clock, and a
target that is missed is marked. The exit status is 1 if a call failed.

Everything takes about an hour on two quiet cores; the scripts and the core, which come first, take some minutes.
"""

import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from first_call_cases import Case, Prepared, cases, reference

RESULTS = Path(__file__).parent / "results"
COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
REFERENCE = Case("jax.scipy.linalg.eigh_tridiagonal", reference, library=False)
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "equinox")
HEADER = (
    f"{'call':48}{'first s':>9}{'cpu s':>8}{'second s':>10}{'cpu s':>9}{'lines':>8}{'compiled':>10}{'ratio':>8}  target"
)


# In the process of one case


def measure(case: Case) -> dict[str, Any]:
    """The two calls, timed; the library is imported before them, unless the case imports it."""
    import jax

    if case.library:
        import rmtjax  # noqa: F401
    compiled: Counter[str] = Counter()
    jax.monitoring.register_event_duration_secs_listener(lambda event, _, **__: compiled.update([event]))
    fn, args = case.prepare()
    jax.block_until_ready(args)
    # The arguments may have compiled programs that the call needs too.
    jax.clear_caches()
    record: dict[str, Any] = {"device": jax.devices()[0].device_kind}
    for call in ("first", "second"):
        compiled.clear()
        clock, processor = time.perf_counter(), time.process_time()
        try:
            jax.block_until_ready(fn(*args))
        except NotImplementedError:
            return record | {"absent": True}
        record[call] = {
            "seconds": time.perf_counter() - clock,
            "processor_seconds": time.process_time() - processor,
            "compilations": compiled[COMPILE_EVENT],
        }
    return record | {"lines": lowered_lines((fn, args))}


def lowered_lines(prepared: Prepared) -> int | None:
    """The length of the program that JAX hands to the compiler; None if the case is not a function of arrays."""
    import jax

    fn, args = prepared
    try:
        return jax.jit(fn).lower(*args).as_text().count("\n")
    except Exception:  # a script, or a result that is no array
        return None


# In the process that runs the cases


def run(case: Case, float64: bool) -> dict[str, Any]:
    """Run the case in a new process, after another one that fills its cache if the case asks for that."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not re.match("JAX_.*CACHE", name)}
        environment |= {"JAX_ENABLE_X64": str(int(float64))}
        if case.warm:
            environment |= {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
            environment |= {"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
        command = [sys.executable, __file__, "--case", case.name]
        for _ in range(1 + case.warm):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def run_reference(float64: bool) -> dict[str, Any]:
    """The record of the reference: the median of three by the processor seconds of the first call."""
    records = [run(REFERENCE, float64) for _ in range(3)]
    for record in records:
        if "failed" in record:
            raise SystemExit(f"{REFERENCE.name}: {record['failed']}")
    return sorted(records, key=lambda record: record["first"]["processor_seconds"])[1]


def judged(case: Case, record: dict[str, Any], unit: float) -> dict[str, Any]:
    """The record with its ratio, its target, and whether that is reached."""
    first = record["first"]
    ratio = first["processor_seconds"] / unit
    reached = True
    if case.ratio is not None:
        reached = ratio <= case.ratio
    if case.seconds is not None:
        reached = first["seconds"] <= case.seconds
    targets = {"target_ratio": case.ratio, "target_seconds": case.seconds}
    return {"name": case.name, **record, "ratio": ratio, **targets, "reached": reached}


def line(record: dict[str, Any]) -> str:
    """A row of the table."""
    first, second = record["first"], record["second"]
    compiled = f"{first['compilations']}+{second['compilations']}"
    target = f"≤ {record['target_ratio']:g}×" if record["target_ratio"] else ""
    target = f"≤ {record['target_seconds']:g} s" if record["target_seconds"] else target
    lines = "-" if record["lines"] is None else record["lines"]
    numbers = f"{first['seconds']:9.2f}{first['processor_seconds']:8.2f}"
    numbers += (
        f"{second['seconds']:10.4f}{second['processor_seconds']:9.4f}{lines:>8}{compiled:>10}{record['ratio']:8.2f}"
    )
    return f"{record['name']:48}{numbers}  {target}{'' if record['reached'] else '  missed'}"


def main() -> int:
    parser = argparse.ArgumentParser(description="What the first call of every public name costs.")
    parser.add_argument("--only", metavar="PATTERN", help="a regular expression that the name of a case contains")
    parser.add_argument("--float64", action="store_true", help="with 64-bit types on")
    parser.add_argument("--json", type=Path, nargs="?", const=RESULTS / "first-call.json", metavar="FILE")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(measure(named(options.case))))
        return 0
    chosen = [case for case in cases() if re.search(options.only or "", case.name)]
    print(f"{len(chosen)} calls, each in a process of its own, in {'float64' if options.float64 else 'float32'}")
    print(HEADER, flush=True)
    unit = run_reference(options.float64)
    records = [judged(REFERENCE, unit, unit["first"]["processor_seconds"])]
    print(line(records[0]), flush=True)
    failed = run_all(chosen, options.float64, records)
    missed = sum(not record["reached"] for record in records)
    print(f"{len(records) - 1} calls: {missed} miss their target, {failed} failed")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(about(options.float64) | {"calls": records}, indent=2) + "\n")
    return 1 if failed else 0


def run_all(chosen: list[Case], float64: bool, records: list[dict[str, Any]]) -> int:
    """Print the row of each case as soon as it is known, append its record, and return how many failed."""
    failed = 0
    unit = records[0]["first"]["processor_seconds"]
    for case in chosen:
        record = run(case, float64)
        if "failed" in record:
            failed += 1
            print(f"{case.name:48} failed: {record['failed']}", flush=True)
        elif "absent" not in record:
            records.append(judged(case, record, unit))
            print(line(records[-1]), flush=True)
    return failed


def named(name: str) -> Case:
    """The case of this name; cases before those of the registry are found without importing it and the library."""
    return next(case for case in itertools.chain([REFERENCE], cases()) if case.name == name)


def about(float64: bool) -> dict[str, Any]:
    """The circumstances of the numbers."""
    from rmtjax import __version__

    return {
        "date": datetime.date.today().isoformat(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {"rmtjax": __version__} | {name: importlib.metadata.version(name) for name in PACKAGES},
        "dtype": "float64" if float64 else "float32",
    }


if __name__ == "__main__":
    sys.exit(main())
