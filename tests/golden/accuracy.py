"""The distance of laws from the golden values of laws.json, and its record, accuracy.json.

`JAX_ENABLE_X64=1 python -m tests.golden.accuracy` measures all laws again; with a name, those that begin with it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.instances import made

# One shape for all laws: operations are compiled once.
_NUM_POINTS = 16
RECORD = Path(__file__).with_name("accuracy.json")
ENTRIES = {entry["law"]: entry for entry in json.loads(Path(__file__).with_name("laws.json").read_text())["laws"]}


def values(expression: str, dtype: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The result of each method and the right value, where that is a normal number in this precision."""
    points = ENTRIES[expression]["points"]
    at = made(expression, dtype)
    x = jnp.asarray(np.resize([row["x"] for row in points], _NUM_POINTS), dtype)
    return {
        method: _normal(getattr(at, method)(x), [row[method] for row in points])
        for method in points[0]
        if method != "x"
    }


def _normal(got: jax.Array, expected: list[str]) -> tuple[np.ndarray, np.ndarray]:
    right = np.array([float(value) for value in expected])
    normal = (right == 0) | (np.abs(right) > np.finfo(got.dtype).tiny)
    return np.asarray(got, float)[: right.size][normal], right[normal]


def largest_errors(expression: str, dtype: Any) -> dict[str, float]:
    """The largest relative error of each method."""
    table = values(expression, dtype).items()
    return {
        method: float((np.abs(got - right) / np.where(right == 0, 1, right)).max()) for method, (got, right) in table
    }


def measured(expression: str) -> dict[str, float]:
    """What the record says of a law: the largest errors of its methods, and of all of them in single precision."""
    double, single = (largest_errors(expression, dtype) for dtype in (jnp.float64, jnp.float32))
    return double | {"float32": max(single.values())}


def recorded() -> dict[str, dict[str, float]]:
    """The record, by law."""
    return json.loads(RECORD.read_text())


def main(beginning: str = "") -> None:
    old = recorded() if RECORD.exists() else {}
    errors = {e: measured(e) if e.startswith(beginning) else old[e] for e in ENTRIES}
    rounded = {law: {method: float(f"{error:.1e}") for method, error in row.items()} for law, row in errors.items()}
    rows = (f"  {json.dumps(law)}: {json.dumps(row)}" for law, row in rounded.items())
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
