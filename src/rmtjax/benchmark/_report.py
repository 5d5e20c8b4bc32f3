"""Measurements as a table and as JSON."""

from typing import Any

from rmtjax.benchmark._measure import Measurement
from rmtjax.benchmark._registry import Row

# Columns and their widths, fixed so that a row can be shown before the next is measured.
_COLUMNS = {
    "case": 27, "n": 6, "dtype": 10, "device": 7, "trace s": 10, "compile s": 10, "first s": 10, "median s": 10,
    "min s": 10, "max s": 10, "TFLOP/s": 10, "GB/s": 10, "MiB": 10,
}  # fmt: skip


def header(device: str) -> str:
    """The names of the columns, for a kind of device, and a rule below."""
    names = _line(tuple(_COLUMNS), device)
    return f"{names}\n{'-' * len(names)}"


def line(row: Row, device: str) -> str:
    """One row below `header(device)`, with a dash where there is no number.

    Rates come from the work that the case states, never from XLA's count, which would mislead where loops or
    LAPACK do the work. A compile time marked `c` was a look-up in the persistent compilation cache.
    """
    return _line(_cells(row), device)


def _line(cells: tuple[str, ...], device: str) -> str:
    # Names of GPUs are long; the number of devices may stand before them.
    widths = _COLUMNS | {"device": max(_COLUMNS["device"], len(device) + 4)}
    return "".join(map(_aligned, range(len(cells)), cells, widths.values())).rstrip()


def to_record(row: Row) -> dict[str, Any]:
    """A row as plain Python values: case, size, the fields of the measurement and the achieved rates."""
    teraflops, gigabytes = _rates(row.measurement)
    rates = {"teraflops_per_second": teraflops, "gigabytes_per_second": gigabytes}
    return {"case": row.case, "size": row.size, **row.measurement.to_dict(), **rates}


def _rates(m: Measurement) -> tuple[float | None, float | None]:
    return (m.teraflops_per_second, m.gigabytes_per_second) if m.work else (None, None)


def _cells(row: Row) -> tuple[str, ...]:
    m = row.measurement
    device = m.device if m.num_devices == 1 else f"{m.num_devices}×{m.device}"
    return (
        row.case,
        str(row.size),
        m.dtype or "-",
        device,
        _number(m.trace_seconds),
        _number(m.compile_seconds, "c" if m.compile_cached else ""),
        *map(_number, (m.first_call_seconds, m.median_seconds, m.min_seconds, m.max_seconds)),
        *map(_number, _rates(m)),
        _number(None if m.planned_bytes is None else m.planned_bytes / 2**20),
    )


def _number(value: float | None, mark: str = "") -> str:
    return "-" if value is None else f"{value:.3g}{mark}"


def _aligned(column: int, text: str, width: int) -> str:
    return text.ljust(width) if column == 0 else f" {text}".rjust(width)
