"""When a result is good enough to stop."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from rmtjax import _checks

# The number of times that a run looks at its result.
_LOOKS = 100


class Goal:
    """A target for the standard error, or a condition on the result; None is never reached.

    The numbers of draws between two looks depend on `num_samples` alone, so that a run stops at the same draw for all
    devices and batches.
    """

    def __init__(self, stop_when: float | Callable[[Any], Any] | None, num_samples: int):
        self._every = math.inf if stop_when is None else math.ceil(num_samples / _LOOKS)
        self._condition: Any = stop_when
        if not (stop_when is None or callable(stop_when)):
            self._condition = functools.partial(_is_below, float(_checks.positive("stop_when", stop_when)))

    def next_look(self, start: int) -> float:
        """The number of draws at which the first look after `start` draws comes."""
        return (start // self._every + 1) * self._every

    def is_look(self, done: int) -> bool:
        """Whether there is a look after this number of draws."""
        return done % self._every == 0

    def is_reached(self, result: Any) -> bool:
        """Whether the result is good enough."""
        answer = self._condition(result)
        if answer is None:
            raise _checks.refusal("stop_when", "return whether the result is good enough", answer)
        return bool(np.all(answer))


def _is_below(target: float, result: Any) -> bool:
    error = largest_standard_error(result)
    if error is None:
        raise _checks.refusal("stop_when", "be a function of the result, which has no standard error", target)
    return error <= target


def largest_standard_error(result: Any) -> float | None:
    """The largest standard error in the results of reducers, infinite if one is unknown; None if no result has any."""
    has_error = lambda node: hasattr(node, "standard_error")
    found = [node.standard_error for node in jax.tree.leaves(result, is_leaf=has_error) if has_error(node)]
    if not found:
        return None
    errors = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(found)])
    # If all errors are 0, no two draws have differed yet, which says nothing about the next one.
    return math.inf if np.isnan(errors).any() or not errors.any() else float(errors.max())
