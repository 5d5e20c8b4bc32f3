"""Confidence intervals from standard errors with few degrees of freedom, by Student's distribution."""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from rmtjax import _checks


def decimals(error: float) -> int:
    """How many decimals show two digits of a standard error."""
    return max(1 - math.floor(math.log10(error)), 0)


def student_multiple(confidence: float, degrees_of_freedom: Any) -> Any:
    """How many standard errors an interval reaches to each side to hold the truth with a probability.

    Infinite without a degree of freedom; a float for a single number of them.
    """
    # Not at the top: `import rmtjax` shall not take the time of SciPy.
    from scipy.special import stdtrit

    confidence = _checks.static_real("confidence", confidence)
    if not 0 < confidence < 1:
        raise _checks.refusal("confidence", "lie in (0, 1)", confidence)
    known = stdtrit(np.maximum(degrees_of_freedom, 1), (1 + confidence) / 2)
    times = np.where(np.greater(degrees_of_freedom, 0), known, np.inf)
    return times if times.ndim else float(times)


def student_interval(
    confidence: float, value: PyTree, standard_error: PyTree, degrees_of_freedom: PyTree
) -> tuple[PyTree, PyTree]:
    """The lower and the upper ends, for a number of degrees of freedom or a tree of such numbers."""
    times = jax.tree.map(lambda degrees: student_multiple(confidence, degrees), degrees_of_freedom)
    move = lambda value, error, by: jax.tree.map(lambda x, error: x + by * error, value, error)
    end = lambda sign: jax.tree.map(lambda times, x, error: move(x, error, sign * times), times, value, standard_error)
    return end(-1), end(1)
