"""Cases of tests: both precisions, and those that are not run every day."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pytest

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def further(*cases: Any) -> list:
    """Cases, as values or tuples, that only `make test-slow` runs, because they are long and similar to others."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def daily(cases: Iterable, *, only: Collection | None = None, but: Collection = ()) -> list:
    """All of the cases in their order; `only` these, or all `but` these, run every day, and the others are further."""
    cases = list(cases)
    chosen = [case for case in cases if case not in but] if only is None else only
    unknown = [case for case in (*chosen, *but) if case not in cases]
    if unknown:
        raise ValueError(f"no such cases: {unknown}")
    return [case if case in chosen else further(case)[0] for case in cases]


# `check_law` compiles longest for the reverse mode; every day the forward mode stands for both.
every_mode = pytest.mark.parametrize("reverse_mode", [False, *further(True)], ids=["forward", "reverse"])
