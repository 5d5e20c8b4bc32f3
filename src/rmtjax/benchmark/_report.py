"""Measurements as a table and as JSON."""

from collections.abc import Iterable
from typing import Any

from rmtjax.benchmark._measure import Measurement
from rmtjax.benchmark._registry import Row

_COLUMNS = (
    "case", "n", "dtype", "device", "trace s", "compile s", "first s", "median s", "min s", "max s",
    "TFLOP/s", "GB/s", "MiB",
)  # fmt: skip


def table(rows: Iterable[Row]) -> str:
    """Lines of aligned columns; a dash where there is no number.

    Rates come from the work that the case states, never from XLA's count, which would mislead where loops or
    LAPACK do the work. A compile time marked `c` was a look-up in the persistent compilation cache.
    """
    cells = [_COLUMNS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(_aligned, range(len(line)), line, widths)).rstrip() for line in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


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
    return text.ljust(width) if column == 0 else text.rjust(width)
