"""The classic cases on the current device: `python -m rmtjax.benchmark [names] [--full] [--size N] [--json FILE]`."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp

# Importing the two modules registers their cases.
from rmtjax.benchmark import _compute_cases, _spectral_cases  # noqa: F401
from rmtjax.benchmark._registry import CASES, Row, WrongAnswer, run_case
from rmtjax.benchmark._report import header, line, to_record

_DESCRIPTION = """Time the classic cases and check their answers. Seconds are of one call. A dash under
`compile s` means that the function runs as it is and that its first call includes all compilation, a `c` that
the persistent compilation cache answered. Rates follow from operation counts that the cases state. Memory is
what the compiler planned."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named cases, print their table, and return the exit status: 1 if an answer was wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = options.names or list(CASES)
    for name in names:
        if name not in CASES:
            parser.error(f"no case is named {name!r}; the cases are {', '.join(CASES)}")
    dtype = jnp.dtype(options.dtype or jnp.zeros(()).dtype)
    sizes = {name: options.size or CASES[name].default_size(options.full) for name in names}
    print(_plan(sizes, dtype, options.repeats, usual=not (options.names or options.size or options.full)), flush=True)
    with jax.enable_x64(dtype == jnp.float64):
        rows, wrong = _run(sizes, dtype, options.repeats)
    for name in names:
        if CASES[name].reference:
            print(f"{name}: published {CASES[name].reference}")
    if options.json is not None:
        options.json.write_text(json.dumps([to_record(row) for row in rows], indent=2) + "\n")
    for name, error in wrong.items():
        print(f"{name}: wrong answer: {error}", file=sys.stderr)
    return 1 if wrong else 0


def _plan(sizes: Mapping[str, int], dtype: jnp.dtype, repeats: int, usual: bool) -> str:
    """A text that says what will be measured, and about how long that takes."""
    device = jax.devices()[0].device_kind
    what = ", ".join(f"{name} {size}" for name, size in sizes.items())
    plan = f"In {dtype.name} on {len(jax.devices())} {device}, {repeats} timed calls after the first: {what}."
    if not usual or jax.default_backend() != "cpu":
        return plan
    return plan + "\nAbout a minute on two quiet cores, most of it compilation; --full takes larger sizes."


def _run(sizes: Mapping[str, int], dtype: jnp.dtype, repeats: int) -> tuple[list[Row], dict[str, WrongAnswer]]:
    """Run the cases, and show each row as soon as it is measured."""
    rows, wrong = [], {}
    device = jax.devices()[0].device_kind
    print(header(device), flush=True)
    for name, size in sizes.items():
        try:
            for row in run_case(CASES[name], size, dtype, repeats):
                rows.append(row)
                print(line(row, device), flush=True)
        except WrongAnswer as error:
            wrong[name] = error
    return rows, wrong


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rmtjax.benchmark",
        description=_DESCRIPTION,
    )
    parser.add_argument("names", nargs="*", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--dtype", choices=("float32", "float64"), help="default: what JAX is set to")
    parser.add_argument("--size", type=_at_least(2), metavar="N", help="default: depends on the device")
    parser.add_argument("--full", action="store_true", help="larger sizes on a CPU: minutes instead of one")
    parser.add_argument("--repeats", type=_at_least(1), default=5, metavar="R", help="timed calls, default 5")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there")
    return parser


def _at_least(smallest: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not text.isdecimal() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"must be an integer of at least {smallest}, got {text!r}")
        return int(text)

    return whole_number


if __name__ == "__main__":
    sys.exit(main())
