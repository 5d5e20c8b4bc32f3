"""The classic cases on the current device: `python -m rmtjax.benchmark [names] [--full] [--size N] [--json FILE]`."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rmtjax.benchmark import _cases
from rmtjax.benchmark._cases import Problem, WrongAnswer
from rmtjax.benchmark._measure import Measurement, measured

_DESCRIPTION = """Time the classic cases and check their answers. Seconds are of one call. Under `compile s`, a dash
means that the first call includes all compilation, and a `c` that the persistent compilation cache answered. Rates
follow from operation counts that the cases state. Memory is what the compiler planned."""


class Case(NamedTuple):
    """The rows for a size and a dtype, the usual sizes, and a published figure that the table quotes."""

    problems: Callable[[int, Any], Iterable[Problem]]
    # On a CPU (some seconds, mostly of compilation), on a CPU with `--full`, and on other devices.
    sizes: tuple[int, int, int]
    published: str = ""


_MATMUL = "46 to 48 TFLOP/s at n = 16,000 to 20,000 in float32 on an RTX 4080"
CASES = {
    "matmul": Case(_cases.matmul, (2048, 4096, 16_384), _MATMUL),
    "sharded_matmul": Case(_cases.sharded_matmul, (2048, 4096, 16_384)),
    "recurrence": Case(_cases.recurrence, (1024, 2048, 2048)),
    "while": Case(_cases.power_iteration, (2048, 4096, 8192)),
    "wigner": Case(_cases.wigner, (1000, 2000, 8000), "25.65 s at n = 15,000 on an RTX 4080"),
    "cat": Case(_cases.cat, (200, 1000, 1000), "24.37 s at N = 1000, 100 matrices, μ = 0.9"),
    "derivatives": Case(_cases.derivatives, (100, 400, 1000)),
    "spectral_radius": Case(_cases.spectral_radii, (32, 128, 128)),
}
# Columns and their widths, fixed so that a row can be shown before the next is measured.
_COLUMNS = {"n": 6, "dtype": 10, "devices": 8} | dict.fromkeys(
    ("trace s", "compile s", "first s", "median s", "min s", "max s", "TFLOP/s", "GB/s", "MiB"), 10
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named cases, print their table, and return the exit status: 1 if an answer was wrong."""
    options = _options(arguments)
    dtype = jnp.dtype(options.dtype or jnp.zeros(()).dtype)
    on_cpu = jax.default_backend() == "cpu"
    usual = int(options.full) if on_cpu else 2
    names = options.names or list(CASES)
    sizes = {name: options.size or CASES[name].sizes[usual] for name in names}
    what = ", ".join(f"{name} {size}" for name, size in sizes.items())
    where = f"{jax.device_count()} {jax.devices()[0].device_kind}"
    print(f"In {dtype.name} on {where}, {options.repeats} timed calls after the first: {what}.", flush=True)
    if on_cpu and not (options.names or options.size or options.full):
        print("About a minute on two quiet cores, most of it compilation; --full takes larger sizes.")
    with jax.enable_x64(dtype == jnp.float64):
        records, right = _run(sizes, dtype, options.repeats)
    for name in names:
        if CASES[name].published:
            print(f"{name}: published {CASES[name].published}")
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=2) + "\n")
    return 0 if right else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rmtjax.benchmark", description=_DESCRIPTION)
    parser.add_argument("names", nargs="*", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--dtype", choices=("float32", "float64"), help="default: what JAX is set to")
    parser.add_argument("--size", type=int, metavar="N", help="at least 2; default: depends on the device")
    parser.add_argument("--full", action="store_true", help="larger sizes on a CPU: minutes instead of one")
    parser.add_argument("--repeats", type=int, default=5, metavar="R", help="timed calls, at least 1, default 5")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in CASES]:
        parser.error(f"no case is named {unknown[0]!r}; the cases are {', '.join(CASES)}")
    if options.repeats < 1 or (options.size is not None and options.size < 2):
        parser.error("--repeats must be at least 1, and --size at least 2")
    return options


def _run(sizes: Mapping[str, int], dtype: jnp.dtype, repeats: int) -> tuple[list[dict[str, Any]], bool]:
    """Show each row as soon as it is measured; return the records and whether all answers are right."""
    records, right = [], True
    header = line("case", _COLUMNS)
    print(f"{header}\n{'-' * len(header)}", flush=True)
    for name, size in sizes.items():
        try:
            for problem in CASES[name].problems(size, dtype):
                m, result = measured(problem.fn, problem.args, repeats, problem.jit)
                m = replace(m, work=problem.check(result))
                label = f"{name}/{problem.variant}" if problem.variant else name
                print(line(label, cells(problem.size, m)), flush=True)
                about = {"case": label, "size": problem.size, "jax_version": jax.__version__}
                records.append(about | asdict(m) | _rates(m))
        except WrongAnswer as error:
            right = False
            print(f"{name}: wrong answer: {error}", file=sys.stderr, flush=True)
    return records, right


def line(label: str, cells: Iterable[str]) -> str:
    """A row of the table."""
    widths = _COLUMNS.values()
    return f"{label:27}" + "".join(f" {cell}".rjust(width) for cell, width in zip(cells, widths, strict=True))


def cells(size: int, m: Measurement) -> list[str]:
    """The cells of a row; a dash marks a missing number, a `c` an answer of the cache instead of the compiler."""
    memory = m.planned_bytes and m.planned_bytes / 2**20
    seconds = m.trace_seconds, m.compile_seconds, m.first_call_seconds, m.median_seconds, m.min_seconds, m.max_seconds
    shown = ["-" if value is None else f"{value:.3g}" for value in (*seconds, *_rates(m).values(), memory)]
    shown[1] += "c" if m.compile_cached else ""
    return [str(size), m.dtype or "-", str(m.num_devices), *shown]


def _rates(m: Measurement) -> dict[str, float | None]:
    """Rates by the work that the case states; XLA's count would mislead if loops or LAPACK do the work."""
    names = ("teraflops_per_second", "gigabytes_per_second")
    return {name: getattr(m, name) if m.work else None for name in names}


if __name__ == "__main__":
    sys.exit(main())
