"""Everything that a GPU should be asked, in one call: checks every answer, prints a table, and writes it as it goes.

    python benchmarks/gpu.py [--only SECTION ...] [--minutes 9] [--json FILE]
    python benchmarks/gpu.py --small          # to see on a CPU that everything runs

The record is `benchmarks/results/gpu-<device>.json`, written after every section: a run that is cut off loses nothing,
and a later one with `--only` replaces these sections and keeps the others. After `--minutes` no section is begun.

Seconds are medians of calls until their results are ready, after the first one, which stands beside them with tracing
and compilation. `rows/s` is rows times points per second. A Sturm sweep is a scan, and on a GPU each of its steps is a
launch or a few: JAX's profiler counts the `launches` of a call, and `busy` is the share of its time in which the device
computes instead of waiting for them. The two rows of `simulate` show what it takes beyond its program.

The exit status is 1 if an answer is wrong or a call failed.
"""

import argparse
import contextlib
import dataclasses
import json
import re
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

sys.path.insert(0, str(Path(__file__).parent))
from gpu_cases import SECTIONS, Task

import rmtjax as rmt
from rmtjax.benchmark._cases import WrongAnswer
from rmtjax.benchmark._measure import measured

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "equinox")
COLUMNS = {"dtype": 9, "first s": 9, "median s": 10, "10⁹ rows/s": 12, "launches": 10, "busy": 6, "MiB": 8}
HEADER = f"{'':50}" + "".join(name.rjust(width) for name, width in COLUMNS.items()) + "  answer"


def main(arguments: list[str] | None = None) -> int:
    """Run the sections, and return the exit status."""
    parser = argparse.ArgumentParser(description="The table of a GPU.")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--minutes", type=float, default=9.0, help="begin no section after so many, default 9")
    parser.add_argument("--json", type=Path, metavar="FILE", help="default: results/gpu-<device>.json, none if small")
    options = parser.parse_args(arguments)
    if jax.default_backend() == "cpu" and not options.small:
        parser.error("JAX sees no GPU here; --small tries the script on a CPU")
    file = options.json or (None if options.small else RESULTS / f"gpu-{slug(jax.devices()[0].device_kind)}.json")
    record = machine() | {"small": options.small, "sections": {}}
    if file is not None and file.exists():
        before = json.loads(file.read_text())
        if before["small"] == options.small and before["device"] == record["device"]:
            record["sections"] = before["sections"]
    print(f"{record['devices']} {record['device']}, {record['platform']}; {record['versions']}\n{HEADER}", flush=True)
    start, right = time.perf_counter(), True
    with jax.enable_x64(True):
        for name in options.only:
            if time.perf_counter() - start > 60 * options.minutes:
                print(f"{name}: not begun, after {options.minutes:g} minutes; go on with --only {name}")
                continue
            record["sections"][name] = section = run_section(name, options.small)
            right &= all(row["right"] for row in section["rows"])
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if text := overhead(record):
        print(text)
    return 0 if right else 1


def machine() -> dict[str, Any]:
    """Device and versions."""
    device = jax.devices()[0]
    return {
        "device": device.device_kind,
        "devices": jax.device_count(),
        "platform": device.client.platform_version.strip().splitlines()[-1],
        "device_bytes": (device.memory_stats() or {}).get("bytes_limit"),
        "versions": {"rmtjax": rmt.__version__} | {package: version(package) for package in PACKAGES},
    }


def slug(device: str) -> str:
    """A name for a file."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")


def run_section(name: str, small: bool) -> dict[str, Any]:
    """Run the tasks of a section, and show each row at once."""
    print(f"{name}: {SECTIONS[name].__doc__}", flush=True)
    start, rows = time.perf_counter(), []
    try:
        for task in SECTIONS[name](small):
            rows.append(run_task(task))
            print(line(rows[-1]), flush=True)
    except Exception as error:  # The arguments of a task do not fit, or there is no CPU to compare with.
        rows.append(failed(name, error))
        print(line(rows[-1]), flush=True)
    return {"date": time.strftime("%Y-%m-%d"), "seconds": time.perf_counter() - start, "rows": rows}


def run_task(task: Task) -> dict[str, Any]:
    """Measure and check a task; what goes wrong becomes a part of its row."""
    row = empty(task.name, task.dtype)
    problem = task.problem
    try:
        with jax.enable_x64(task.x64):
            record, result = measured(problem.fn, problem.args, task.repeats, problem.jit)
            row |= dataclasses.asdict(record) | {"dtype": task.dtype}
            if task.rows:
                row["rows_per_second"] = task.rows / row["median_seconds"]
            if task.profile:
                with contextlib.suppress(Exception):  # The profiler is an extra.
                    row |= profiled(jax.jit(problem.fn) if problem.jit else problem.fn, problem.args)
        with jax.enable_x64(task.x64):
            judged = problem.check(result)
            # The classic cases return their work instead.
            row["error"], row["allowed"] = judged if isinstance(judged, tuple) else (None, None)
        row["right"] = True
    except WrongAnswer as error:
        row["note"] = f"WRONG: {error}"
    except Exception as error:  # A table with a hole is worth more than none.
        row["note"] = failed(task.name, error)["note"]
    return row


def empty(name: str, dtype: str = "") -> dict[str, Any]:
    """A row before anything is known."""
    return {"name": name, "dtype": dtype, "right": False, "note": ""}


def failed(name: str, error: Exception) -> dict[str, Any]:
    """A row for what raised an error."""
    return empty(name) | {"note": f"FAILED: {type(error).__name__}: {str(error)[:400]}"}


def profiled(fn: Any, args: tuple) -> dict[str, Any]:
    """What a call starts on the first GPU, and the share of its time in which that runs; nothing on a CPU."""
    if jax.default_backend() == "cpu":
        return {}
    jax.block_until_ready(fn(*args))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            start = time.perf_counter()
            jax.block_until_ready(fn(*args))
            seconds = time.perf_counter() - start
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = list(jax.profiler.ProfileData.from_file(str(file)).planes)
        spans = [
            (event.start_ns, event.start_ns + event.duration_ns)
            for plane in planes
            if plane.name.startswith("/device:GPU:0")
            for timeline in plane.lines
            if timeline.name.startswith("Stream")
            for event in timeline.events
        ]
    return {"launches": len(spans), "busy": covered(spans) * 1e-9 / seconds} if spans else {}


def covered(spans: list[tuple[float, float]]) -> float:
    """The length of the union of intervals."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def overhead(record: dict[str, Any]) -> str:
    """How the time of `simulate` compares with that of its program alone; empty if one of them is not known."""
    seconds = [row.get("median_seconds") for row in record["sections"].get("simulate", {"rows": []})["rows"]]
    if len(seconds) == 2 and all(seconds):
        return f"simulate: {seconds[0] / seconds[1]:.3g} times its program."
    return ""


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    first = sum(row.get(part) or 0 for part in ("trace_seconds", "compile_seconds", "first_call_seconds"))
    per_second, memory = row.get("rows_per_second"), row.get("planned_bytes")
    cells = [
        row["dtype"],
        number(first or None),
        number(row.get("median_seconds")),
        number(per_second and per_second / 1e9),
        str(row.get("launches", "-")),
        number(row.get("busy")),
        number(memory and memory / 2**20),
    ]
    answer = "right" if row["right"] else row["note"]
    if row["right"] and row["allowed"]:
        answer += f", error {row['error']:.1e} of {row['allowed']:.1e}"
    name = f"  {row['name']}"
    return (
        f"{name:50}"
        + "".join(cell.rjust(width) for cell, width in zip(cells, COLUMNS.values(), strict=True))
        + f"  {answer}"
    )


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
