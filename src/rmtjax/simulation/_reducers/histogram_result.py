"""The result of a histogram: counts, their density and its standard error."""

import numpy as np
from jaxtyping import Float, Int

from rmtjax._module import AbstractModule


class HistogramResult(AbstractModule):
    """Exact counts of pooled draws.

    Args:
        counts: number of values in each bin, int64.
        edges: the edges of the bins.
        underflow: number of values below the first edge.
        overflow: number of values above the last edge.
        draws: number of draws that the values come from; 0 if it is not known.
        standard_error: standard error of `density()` in each bin, from the variance over the draws; by default NaN, as
            for fewer than two draws.
        counts_standard_error: standard error of `counts`, by default NaN.

    Example:
        >>> import numpy as np
        >>> result = HistogramResult(np.array([3, 1]), np.array([0.0, 1.0, 3.0]), 0, 0)
        >>> print(result.total, result.density())
        4 [0.75  0.125]
    """

    _derived = ("total",)

    counts: Int[np.ndarray, " k"]
    edges: Float[np.ndarray, " k+1"]
    underflow: int
    overflow: int
    draws: int
    standard_error: Float[np.ndarray, " k"]
    counts_standard_error: Float[np.ndarray, " k"]

    def __init__(
        self,
        counts: Int[np.ndarray, " k"],
        edges: Float[np.ndarray, " k+1"],
        underflow: int,
        overflow: int,
        draws: int = 0,
        standard_error: Float[np.ndarray, " k"] | None = None,
        counts_standard_error: Float[np.ndarray, " k"] | None = None,
    ):
        self.counts, self.edges, self.underflow, self.overflow, self.draws = counts, edges, underflow, overflow, draws
        unknown = np.full(np.shape(counts), np.nan)
        self.standard_error = unknown if standard_error is None else standard_error
        self.counts_standard_error = unknown if counts_standard_error is None else counts_standard_error

    @property
    def total(self) -> int:
        """Number of values, including those outside the edges."""
        return int(self.counts.sum()) + self.underflow + self.overflow

    def density(self) -> Float[np.ndarray, " k"]:
        """Counts divided by total and bin width; the integral is the share of values inside the edges."""
        return self.counts / (self.total * np.diff(self.edges))
