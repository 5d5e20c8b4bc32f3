"""Streaming summaries of many draws: what is kept of each batch, and how two summaries are merged."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike
from rmtjax.linalg import PaddedMatrix, PaddedSpectrum


class AbstractReducer(AbstractModule):
    """A way to reduce draws to a summary of constant size.

    `summarize` runs compiled on each device, `merge` and `finish` on the host. `merge` must be associative and
    commutative: then the result depends neither on the batch size nor on the number of devices.
    """

    @abstractmethod
    def summarize(self, samples: PyTree, valid: Bool[Array, " m"]) -> PyTree:
        """Summary of a batch of draws, stacked along a leading axis; draws that are not valid are left out."""

    @abstractmethod
    def merge(self, left: PyTree, right: PyTree) -> PyTree:
        """Summary of two sets of draws from their summaries; leaves are numpy arrays."""

    @abstractmethod
    def finish(self, summary: PyTree) -> Any:
        """The result for the user, from the summary of all draws."""


def _is_padded(node: object) -> bool:
    return isinstance(node, PaddedSpectrum | PaddedMatrix)


def _entries(samples: PyTree, valid: Bool[Array, " m"]) -> Iterator[tuple[Array, Bool[Array, "..."]]]:
    """The arrays among the draws, each with a mask that broadcasts against it; padding is left out."""
    for leaf in jax.tree.leaves(samples, is_leaf=_is_padded):
        if _is_padded(leaf):
            yield leaf.values, leaf.mask & valid.reshape(-1, *(1,) * (leaf.values.ndim - 1))
        else:
            yield leaf, valid.reshape(-1, *(1,) * (leaf.ndim - 1))


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

    def summarize(self, samples: PyTree, valid: Bool[Array, " m"]) -> Int[Array, " k+4"]:
        """The numbers of values below the edges, in each bin, above the edges, and NaN."""
        num_edges = self.edges.size
        summary = jnp.zeros(num_edges + 2, jnp.int32)
        for values, mask in _entries(samples, valid):
            if jnp.iscomplexobj(values):
                raise _checks.refusal("fn", "return real values for a histogram", values.dtype.name)
            if values.size >= 2**31:
                raise _checks.refusal("batch_size", "give fewer than 2^31 values per device", values.size)
            values = _checks.real("values", values)
            edges = self.edges.astype(values.dtype)
            place = jnp.searchsorted(edges, values, side="right")
            place = jnp.where(values == edges[-1], num_edges - 1, place)
            place = jnp.where(jnp.isnan(values), num_edges + 1, place)
            summary = summary.at[place].add(jnp.broadcast_to(mask, values.shape).astype(jnp.int32))
        return summary

    def merge(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sums of counts, in 64 bits."""
        return left.astype(np.int64) + right.astype(np.int64)

    def finish(self, summary: np.ndarray) -> HistogramResult:
        """Counts, edges and the numbers of values outside."""
        below, *counts, above, not_a_number = summary.astype(np.int64)
        if not_a_number:
            raise ValueError(
                f"`fn` must return no NaN, got {not_a_number} of {summary.sum()} values. Inside of a program a "
                "parameter out of range gives NaN; `EQX_ON_ERROR=raise`, set before Python starts, names it."
            )
        return HistogramResult(np.array(counts), np.asarray(self.edges), int(below), int(above))


class _Moment(NamedTuple):
    """Number, mean and sum of squared deviations of one entry."""

    count: Any
    mean: Any
    squares: Any


def _is_moment(node: object) -> bool:
    return isinstance(node, _Moment)


class MomentsResult(AbstractModule):
    """Mean and variance of each entry of the draws; every field has the tree structure of a draw.

    Args:
        count: number of draws in which an entry was present.
        mean: sample means, float64 or complex128.
        variance: unbiased sample variances, E|x - mean|² for complex entries; NaN where the count is below 2.

    Example:
        >>> import numpy as np
        >>> result = MomentsResult(np.int64(100), np.float64(0.5), np.float64(4.0))
        >>> print(result.standard_error)
        0.2
    """

    count: PyTree
    mean: PyTree
    variance: PyTree

    @property
    def standard_error(self) -> PyTree:
        """Standard error of the mean, sqrt(variance / count)."""
        return jax.tree.map(lambda variance, count: np.sqrt(variance / count), self.variance, self.count)


class Moments(AbstractReducer):
    r"""Mean and variance of every entry over the draws.

    Batches are reduced on the device in two passes and merged in float64 by
    $\bar x = \bar x_a + \delta\,n_b/n$, $M = M_a + M_b + |\delta|^2 n_a n_b / n$, $\delta = \bar x_b - \bar x_a$.
    Results for different batch sizes and device counts agree to the rounding of the dtype of the draws.

    Example:
        >>> import jax, rmtjax as rmt
        >>> trace = lambda key: rmt.GOE(4).sample(key).trace()
        >>> result = rmt.simulate(trace, jax.random.key(0), 1000, reduce=Moments())
        >>> print(result.count, bool(abs(result.mean) < 5 * result.standard_error))
        1000 True

    References:
        Chan, Golub and LeVeque (1983), The American Statistician 37, equations 1.5.
    """

    def summarize(self, samples: PyTree, valid: Bool[Array, " m"]) -> PyTree:
        """The number, mean and sum of squared deviations for each array of a draw."""

        def of_entry(values: Array, mask: Bool[Array, "..."]) -> _Moment:
            values = values if jnp.issubdtype(values.dtype, jnp.inexact) else values.astype(float)
            count = jnp.sum(mask, axis=0).reshape(() if mask.size == mask.shape[0] else mask.shape[1:])
            mean = jnp.sum(jnp.where(mask, values, 0), axis=0) / jnp.maximum(count, 1)
            deviation = jnp.where(mask, jnp.abs(jnp.where(mask, values, 0) - mean), 0)
            return _Moment(count, mean, jnp.sum(deviation**2, axis=0))

        structure = jax.tree.structure(samples, is_leaf=_is_padded)
        return jax.tree.unflatten(structure, [of_entry(*entry) for entry in _entries(samples, valid)])

    def merge(self, left: PyTree, right: PyTree) -> PyTree:
        """Moments of the union of two sets of draws."""

        def pair(a: _Moment, b: _Moment) -> _Moment:
            count_a, count_b = a.count.astype(np.int64), b.count.astype(np.int64)
            count = count_a + count_b
            share = count_b / np.maximum(count, 1)
            shift = b.mean.astype(np.result_type(b.mean, np.float64)) - a.mean
            squares = a.squares.astype(np.float64) + b.squares + np.abs(shift) ** 2 * count_a * share
            return _Moment(count, a.mean + shift * share, squares)

        return jax.tree.map(pair, left, right, is_leaf=_is_moment)

    def finish(self, summary: PyTree) -> MomentsResult:
        """Counts, means and unbiased variances."""
        field = lambda fn: jax.tree.map(fn, summary, is_leaf=_is_moment)
        variance = lambda m: np.where(m.count > 1, m.squares / np.maximum(m.count - 1, 1), np.nan)[()]
        mean = lambda m: m.mean.astype(np.result_type(m.mean, np.float64))
        return MomentsResult(field(lambda m: m.count.astype(np.int64)), field(mean), field(variance))
