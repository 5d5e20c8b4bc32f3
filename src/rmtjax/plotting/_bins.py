"""Bins of histograms."""

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from rmtjax import _checks
from rmtjax.laws import AbstractLaw

# More of them cannot be told apart in a figure.
_MOST_BINS = 300


def by_rule(levels: Float[np.ndarray, " n"], rule: str, laws: Collection[AbstractLaw]) -> Float[np.ndarray, " k+1"]:
    """The bins of a rule of NumPy, aligned with the laws.

    The width is that for the levels on the supports, if most are there: a few levels far outside would make all bins
    too wide to compare them with the laws.
    """
    edges = np.histogram_bin_edges(levels, rule)
    if not laws:
        return edges
    ends = np.array([law.support() for law in laws], np.float64)
    inside = levels[(levels >= ends[:, 0].min()) & (levels <= ends[:, 1].max())]
    if levels.size // 2 < inside.size < levels.size:
        of_most, width = np.histogram_bin_edges(inside, rule), edges[-1] - edges[0]
        number = max(edges.size - 1, min(_MOST_BINS, round(width / (of_most[1] - of_most[0]))))
        edges = np.linspace(edges[0], edges[-1], number + 1)
    return _aligned(edges, laws)


def _aligned(edges: Float[np.ndarray, " k+1"], laws: Iterable[AbstractLaw]) -> Float[np.ndarray, " m+1"]:
    """Bins of about the same width over at least the same range, such that every end of a support is an edge.

    A bin that lies half outside the support is only filled to half of the density, which looks like a deviation from
    the law. Between two ends the width is adjusted to a whole number of bins. Beyond the ends it is the width of
    `edges`.
    """
    low, high = edges[0], edges[-1]
    width = (high - low) / (edges.size - 1)
    ends = [float(end) for law in laws for end in law.support()]
    cuts = [end for end in sorted(ends) if low - width < end < high + width]
    # Ends closer than half a bin, for example by rounding, count as one.
    cuts = [end for i, end in enumerate(cuts) if i == 0 or end - cuts[i - 1] > width / 2]
    if not cuts:
        return edges
    below = cuts[0] - width * np.arange(max(0, np.ceil((cuts[0] - low) / width)), 0, -1)
    above = cuts[-1] + width * np.arange(1, max(0, np.ceil((high - cuts[-1]) / width)) + 1)
    between = [
        np.linspace(left, right, max(1, round((right - left) / width)), endpoint=False)
        for left, right in pairwise(cuts)
    ]
    return np.concatenate([below, *between, cuts[-1:], above])


def chosen(bins: Any, start: float, end: float) -> Float[np.ndarray, " k+1"]:
    """The edges of a number of equal bins from start to end, or the edges that are given."""
    if np.ndim(bins) == 0:
        return np.linspace(start, end, _checks.integer("bins", bins, at_least=1) + 1)
    _checks.vector("bins", bins)
    edges = np.asarray(bins, np.float64)
    if edges.size < 2 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise _checks.refusal("bins", "be a number of bins, or finite and strictly ascending edges", bins)
    return edges


def over(values: Float[np.ndarray, "..."], bins: Any) -> Float[np.ndarray, " k+1"]:
    """The same as `chosen`, from the lowest to the highest value. Above a single value the bins have the length 1."""
    low, high = values.min(), values.max()
    return chosen(bins, low, high if high > low else low + 1)
