"""The distance of laws from the golden values of laws.json."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.instances import made

ENTRIES = {entry["law"]: entry for entry in json.loads(Path(__file__).with_name("laws.json").read_text())["laws"]}


def values(expression: str, dtype: Any, num_points: int = 16) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The result of each method and the right value, where that is a normal number in this precision."""
    points = ENTRIES[expression]["points"]
    at = made(expression, dtype)
    # One shape for all laws: operations are compiled once.
    x = jnp.asarray(np.resize([row["x"] for row in points], num_points), dtype)
    return {
        method: _normal(getattr(at, method)(x), [row[method] for row in points])
        for method in points[0]
        if method != "x"
    }


def _normal(got: jax.Array, expected: list[str]) -> tuple[np.ndarray, np.ndarray]:
    right = np.array([float(value) for value in expected])
    normal = (right == 0) | (np.abs(right) > np.finfo(got.dtype).tiny)
    return np.asarray(got, float)[: right.size][normal], right[normal]


def largest_errors(expression: str, dtype: Any, num_points: int) -> dict[str, float]:
    """The largest relative error of each method."""
    table = values(expression, dtype, num_points).items()
    return {
        method: float((np.abs(got - right) / np.where(right == 0, 1, right)).max()) for method, (got, right) in table
    }
