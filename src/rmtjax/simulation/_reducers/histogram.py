"""Exact counts of pooled values in bins."""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike
from rmtjax.simulation._reducers.base import AbstractReducer, Draws


class HistogramResult(AbstractModule):
    """Exact counts of pooled draws.

    Args:
        counts: number of values in each bin, int64.
        edges: the edges of the bins.
        underflow: number of values below the first edge.
        overflow: number of values above the last edge.

    Example:
        >>> import numpy as np
        >>> result = HistogramResult(np.array([3, 1]), np.array([0.0, 1.0, 3.0]), 0, 0)
        >>> print(result.total, result.density())
        4 [0.75  0.125]
    """

    counts: Int[np.ndarray, " k"]
    edges: Float[np.ndarray, " k+1"]
    underflow: int
    overflow: int

    @property
    def total(self) -> int:
        """Number of values seen, those outside the edges included."""
        return int(self.counts.sum()) + self.underflow + self.overflow

    def density(self) -> Float[np.ndarray, " k"]:
        """Counts divided by total and bin width; the integral is the share of values inside the edges."""
        return self.counts / (self.total * np.diff(self.edges))


_ASCENDING = _checks.Rule(
    lambda edges: (abs(edges) < math.inf).all() & (edges[1:] > edges[:-1]).all(), "be finite and strictly ascending"
)


class Histogram(AbstractReducer):
    """Counts all values of all draws into bins, exactly.

    Bins are half-open, [a, b), and the last one is closed, as in numpy. Every real array that the function returns is
    counted, a `PaddedSpectrum` or `PaddedMatrix` without its padding. Totals are 64-bit integers whatever the dtype of
    the values.

    Args:
        edges: at least two finite numbers in strictly ascending order; compared in the dtype of the values.

    Raises:
        ValueError: the edges are fewer than two, not finite or not ascending; a value is complex or NaN.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> uniform = lambda key: jax.random.uniform(key, (5,))
        >>> result = rmt.simulate(uniform, jax.random.key(0), 100, reduce=Histogram(jnp.linspace(0, 1, 3)))
        >>> print(result.total)
        500

    References:
        Half-open bins: the convention of `numpy.histogram`.
    """

    edges: Annotated[Float[Array, " k+1"], _ASCENDING]

    def __init__(self, edges: RealLike):
        array = _checks.real("edges", edges)
        if array.ndim != 1 or array.size < 2:
            raise _checks.refusal("edges", "be at least two numbers", edges)
        self.edges = array

    def init(self, draw: PyTree) -> Int[np.ndarray, " k+3"]:
        """The numbers of values below the edges, in each bin, above the edges, and NaN."""
        return np.zeros(self.edges.size + 2, np.int64)

    def update(self, state: Int[Array, " k+3"], draws: Draws) -> Int[Array, " k+3"]:
        """The same with the values of these draws added."""
        num_edges = self.edges.size
        for values, mask in draws.entries():
            if jnp.iscomplexobj(values):
                raise _checks.refusal("fn", "return real values for a histogram", values.dtype.name)
            values = _checks.real("values", values)
            edges = self.edges.astype(values.dtype)
            place = jnp.searchsorted(edges, values, side="right")
            place = jnp.where(values == edges[-1], num_edges - 1, place)
            place = jnp.where(jnp.isnan(values), num_edges + 1, place)
            state = state.at[place].add(jnp.broadcast_to(mask, values.shape).astype(state.dtype))
        return state

    def merge(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sums of counts."""
        return left + right

    def finish(self, state: Int[np.ndarray, " k+3"]) -> HistogramResult:
        """Counts, edges and the numbers of values outside."""
        below, *counts, above, not_a_number = state.astype(np.int64)
        if not_a_number:
            raise ValueError(
                f"`fn` must return no NaN, got {not_a_number} of {state.sum()} values. Inside of a program a "
                "parameter out of range gives NaN; `EQX_ON_ERROR=raise`, set before Python starts, names it."
            )
        return HistogramResult(np.array(counts), np.asarray(self.edges), int(below), int(above))
