"""Cases of tests that are not run every day."""

from typing import Any

import pytest


def further(*cases: Any) -> list:
    """Cases of one parameter, or tuples of several, that `make test-slow` runs: long programs, much like the others."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]
