"""Derivatives by finite differences."""

from collections.abc import Callable
from typing import Any


def by_differences(values: Callable[[Any], Any], at: Any, step: Any) -> Any:
    """The derivative of a function of one number, by the rule of fourth order with five points."""
    before_last, before, after, after_next = (values(at + k * step) for k in (-2, -1, 1, 2))
    return (8 * (after - before) - (after_next - before_last)) / (12 * step)
