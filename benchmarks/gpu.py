"""Everything that a GPU should be asked, in one call: checks every answer, prints a table, and writes it as it goes.

    python benchmarks/gpu.py [--only SECTION ...] [--minutes 9] [--json FILE]
    python benchmarks/gpu.py --small          # to see on a CPU that everything runs

The record is `benchmarks/results/gpu-<device>.json`, written after every section: a run that is cut off loses nothing,
and a later one with `--only` replaces these sections and keeps the others. After `--minutes` no section is begun.

Seconds are medians of calls until their results are ready, after the first one, which stands beside them with tracing
and compilation. Sturm sweeps run on both routes, a scan that XLA compiles and the kernel of
`rmtjax/linalg/_sturm_kernel.py`, and `times` is how many times faster the kernel is. If it is right and faster in every
pair, the last line is the entry that makes it the default on this device (`MEASURED` in
`rmtjax/linalg/_sturm_route.py`). `busy` is the share of a call in which the device computes, by JAX's profiler, and the
two rows of each `simulate` show what it takes beyond its program.

The exit status is 1 if an answer is wrong or a call failed.
"""

import argparse
import contextlib
import json
import re
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

sys.path.insert(0, str(Path(__file__).parent))
from gpu_cases import SECTIONS, Task

from rmtjax.benchmark import _measure
from rmtjax.benchmark._measure import measure_with_result
from rmtjax.benchmark._registry import WrongAnswer
from rmtjax.linalg._sturm_route import ROUTE

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("rmtjax", "jax", "jaxlib", "numpy", "scipy", "equinox")
COLUMNS = {"dtype": 9, "route": 8, "first s": 9, "median s": 10, "times": 8, "10⁹ rows/s": 12, "busy": 6, "MiB": 8}
HEADER = f"{'':50}" + "".join(name.rjust(width) for name, width in COLUMNS.items()) + "  answer"
# These sections decide about the kernel; if it gains less than this in some pair, it is not the default.
DECIDING = ("counts", "levels", "histograms", "simulate", "cat")
LEAST_GAIN = 1.1


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
    for text in (*overheads(record), verdict(record, file)):
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
        "versions": {package: version(package) for package in PACKAGES},
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
            print(line(rows[-1], gain(rows, rows[-1])), flush=True)
    except Exception as error:  # The arguments of a task do not fit, or there is no CPU to compare with.
        rows.append(failed(name, error))
        print(line(rows[-1], None), flush=True)
    return {"date": time.strftime("%Y-%m-%d"), "seconds": time.perf_counter() - start, "rows": rows}


def run_task(task: Task) -> dict[str, Any]:
    """Measure and check a task; what goes wrong becomes a part of its row."""
    row = empty(task.name, task.dtype, task.route)
    problem = task.problem
    try:
        with on_route(task.route), jax.enable_x64(task.x64):
            measured, result = measure(task)
            row |= measured | {"dtype": task.dtype}
            if task.rows:
                row["rows_per_second"] = task.rows / row["median_seconds"]
            if task.profile:
                with contextlib.suppress(Exception):  # The profiler is an extra.
                    row["busy"] = share_busy(jax.jit(problem.fn) if problem.jit else problem.fn, problem.args)
        with jax.enable_x64(task.x64):
            row["error"], row["allowed"] = problem.check(result) or (None, None)
        row["right"] = True
    except WrongAnswer as error:
        row["note"] = f"WRONG: {error}"
    except Exception as error:  # A table with a hole is worth more than none.
        row["note"] = failed(task.name, error)["note"]
    return row


def empty(name: str, dtype: str = "", route: str = "") -> dict[str, Any]:
    """A row before anything is known."""
    return {"name": name, "dtype": dtype, "route": route, "right": False, "note": ""}


def failed(name: str, error: Exception) -> dict[str, Any]:
    """A row for what raised an error."""
    return empty(name) | {"note": f"FAILED: {type(error).__name__}: {str(error)[:400]}"}


def measure(task: Task) -> tuple[dict[str, Any], Any]:
    """The fields of `rmtjax.benchmark.Measurement`, as far as they are known, and the result."""
    problem = task.problem
    if task.repeats:
        more = {"repeats": task.repeats, "jit": problem.jit}
        measured, result = measure_with_result(problem.fn, *problem.args, **more)
        return measured.to_dict(), result
    jax.block_until_ready(problem.args)
    stages, call = _measure._staged(problem.fn, problem.args)
    seconds, result = _measure._timed(call, problem.args)
    return stages | {"first_call_seconds": seconds, "median_seconds": seconds, "repeats": 0}, result


def on_route(route: str) -> contextlib.AbstractContextManager:
    """The context in which Sturm sweeps take a route; on a CPU the kernel is interpreted."""
    if not route:
        return contextlib.nullcontext()
    kernel = "interpret" if jax.default_backend() == "cpu" else "always"
    return ROUTE({"scan": "never", "kernel": kernel}[route])


def share_busy(fn: Any, args: tuple) -> float | None:
    """The share of a call's time in which a kernel runs on the first GPU; None where the profiler does not say."""
    if jax.default_backend() == "cpu":
        return None
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
    return covered(spans) * 1e-9 / seconds if spans else None


def covered(spans: list[tuple[float, float]]) -> float:
    """The length of the union of intervals."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def gain(rows: list[dict[str, Any]], row: dict[str, Any]) -> float | None:
    """How many times faster than the scan the kernel is, for a row of the kernel."""
    if row["route"] != "kernel" or "median_seconds" not in row:
        return None
    pair = [r for r in rows if (r["name"], r["dtype"], r["route"]) == (row["name"], row["dtype"], "scan")]
    return pair[0]["median_seconds"] / row["median_seconds"] if pair and "median_seconds" in pair[0] else None


def gains(record: dict[str, Any]) -> list[float]:
    """The gains of all pairs; none at all if one is missing or an answer on either route is wrong."""
    sections = [record["sections"].get(name, {"rows": []})["rows"] for name in DECIDING]
    rows = [row for section in sections for row in section]
    found = [gain(section, row) for section in sections for row in section if row["route"] == "kernel"]
    complete = all(sections) and all(row["right"] for row in rows)
    return [times for times in found if times] if complete and all(found) else []


def is_a_gain(record: dict[str, Any]) -> bool:
    """Whether a record justifies the kernel as the default on its device: full sizes, all right, all pairs faster."""
    return not record["small"] and min(gains(record), default=0) >= LEAST_GAIN


def overheads(record: dict[str, Any]) -> list[str]:
    """For each route, how the time of `simulate` compares with that of its program alone."""
    rows, texts = record["sections"].get("simulate", {"rows": []})["rows"], []
    for route in sorted({row["route"] for row in rows}):
        seconds = [row.get("median_seconds") for row in rows if row["route"] == route]
        if len(seconds) == 2 and all(seconds):
            texts.append(f"simulate by the {route}: {seconds[0] / seconds[1]:.3g} times its program.")
    return texts


def verdict(record: dict[str, Any], file: Path | None) -> str:
    """What the record says about the kernel."""
    found = gains(record)
    if not found:
        return f"Kernel: no verdict before all of {', '.join(DECIDING)} are there and right."
    text = f"Kernel: {min(found):.3g} to {max(found):.3g} times as fast as the scan, {statistics.median(found):.3g} in"
    text += f" the median of {len(found)} pairs."
    if is_a_gain(record) and file is not None:
        return f"{text} The entry of this device: MEASURED[{record['device']!r}] = {file.name!r}"
    return f"{text} It stays off on this device."


def line(row: dict[str, Any], times: float | None) -> str:
    """A row of the table."""
    first = sum(row.get(part) or 0 for part in ("trace_seconds", "compile_seconds", "first_call_seconds"))
    per_second, memory = row.get("rows_per_second"), row.get("planned_bytes")
    cells = [
        row["dtype"],
        row["route"],
        number(first or None),
        number(row.get("median_seconds")),
        number(times),
        number(per_second and per_second / 1e9),
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
