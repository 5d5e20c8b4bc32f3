"""Confidence intervals from standard errors with few degrees of freedom."""

from typing import Any

import numpy as np

from rmtjax import _checks


def multiple(level: float, degrees_of_freedom: Any) -> Any:
    """How many standard errors an interval reaches to each side to hold the truth with a probability.

    By Student's distribution; infinite without a degree of freedom.
    """
    # Not at the top: `import rmtjax` shall not take the time of SciPy.
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise _checks.refusal("level", "lie in (0, 1)", level)
    known = stdtrit(np.maximum(degrees_of_freedom, 1), (1 + level) / 2)
    return np.where(np.greater(degrees_of_freedom, 0), known, np.inf)[()]
