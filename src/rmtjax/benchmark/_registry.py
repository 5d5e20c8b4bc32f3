"""Benchmark cases: how they are registered and run, and how their answers are compared with independent ones."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from rmtjax import _checks
from rmtjax.benchmark._measure import Measurement, Work, measure_with_result


class WrongAnswer(ArithmeticError):
    """The result of a benchmark case differs from the independent answer."""


@dataclass(frozen=True)
class Problem:
    """One function to time, with the means to judge its result.

    Args:
        variant: distinguishes the rows of one case; empty if there is only one.
        size: the number that the table shows as n.
        fn: the function.
        args: its arguments.
        check: raises `WrongAnswer` for a wrong result.
        work: gives the stated work of one call from its result.
        jit: whether `fn` is compiled as a whole.
    """

    variant: str
    size: int
    fn: Callable[..., Any]
    args: tuple
    check: Callable[[Any], None]
    work: Callable[[Any], Work] | None = None
    jit: bool = True


@dataclass(frozen=True)
class Case:
    """A named benchmark.

    Args:
        name: name on the command line.
        problems: gives its rows for a size and a dtype.
        cpu_size: default size on a CPU: a few seconds on two cores, most of them compilation.
        full_cpu_size: size on a CPU with `--full`: the computation itself takes most of the time.
        accelerator_size: size on other devices.
        reference: a published figure that the table quotes.
    """

    name: str
    problems: Callable[[int, Any], Iterable[Problem]]
    cpu_size: int
    full_cpu_size: int
    accelerator_size: int
    reference: str = ""

    def default_size(self, full: bool = False) -> int:
        """The size for the default backend."""
        if jax.default_backend() != "cpu":
            return self.accelerator_size
        return self.full_cpu_size if full else self.cpu_size


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    size: int
    measurement: Measurement


CASES: dict[str, Case] = {}


def register(
    name: str, *, cpu_size: int, full_cpu_size: int, accelerator_size: int, reference: str = ""
) -> Callable[[Callable[[int, Any], Iterable[Problem]]], Callable[[int, Any], Iterable[Problem]]]:
    """Enter a function of (size, dtype) into the table of cases."""

    def enter(problems: Callable[[int, Any], Iterable[Problem]]) -> Callable[[int, Any], Iterable[Problem]]:
        CASES[name] = Case(name, problems, cpu_size, full_cpu_size, accelerator_size, reference)
        return problems

    return enter


def run_case(case: Case, size: int | None = None, dtype: Any = np.float32, repeats: int = 5) -> Iterator[Row]:
    """Time every problem of a case and check its answer, one after the other.

    Raises:
        WrongAnswer: a result is wrong.
    """
    size = case.default_size() if size is None else _checks.integer("size", size, at_least=2)
    for problem in case.problems(size, np.dtype(dtype)):
        record, result = measure_with_result(problem.fn, *problem.args, repeats=repeats, jit=problem.jit)
        problem.check(result)
        if problem.work is not None:
            record = replace(record, work=problem.work(result))
        label = f"{case.name}/{problem.variant}" if problem.variant else case.name
        yield Row(label, problem.size, record)


def expect_close(what: str, got: Any, expected: Any, tolerance: float) -> None:
    """Refuse a result that is anywhere further than `tolerance` from the expected one; NaN is never close."""
    got, expected = np.asarray(got), np.asarray(expected)
    expect(got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}")
    error = float(np.max(np.abs(got - expected)))
    expect(error <= tolerance, f"{what}: off by {error:.3g}, tolerance {tolerance:.3g}")


def expect(holds: bool, otherwise: str) -> None:
    """Refuse a result for which a statement does not hold."""
    if not holds:
        raise WrongAnswer(otherwise)


def rounding(dtype: Any) -> float:
    """The unit of rounding errors of a dtype."""
    return float(np.finfo(dtype).eps)


def device_grid(count: int) -> tuple[int, int]:
    """Two factors of a number of devices, as equal as possible, the larger first."""
    y = max(d for d in range(1, math.isqrt(count) + 1) if count % d == 0)
    return count // y, y
