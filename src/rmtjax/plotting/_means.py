"""Means over spectra, with their errors."""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float, PyTree

from rmtjax.statistics import over_samples


def mean(
    each: PyTree[Float[np.ndarray, "m ..."]], combine: Callable[[Any], Any] | None = None
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None, Any]:
    """The mean over spectra, and, if there are several, its 95 % confidence interval and standard error."""
    if len(jax.tree.leaves(each)[0]) == 1:
        one = jax.tree.map(lambda values: values[0], each)
        return np.asarray(one if combine is None else combine(one)), None, None
    estimate = over_samples(lambda each: each, each, combine=combine)
    low, high = estimate.interval()
    return np.asarray(estimate.value), (np.asarray(low), np.asarray(high)), np.asarray(estimate.standard_error)


def parts(numbers: Float[np.ndarray, "m ..."], totals: Float[np.ndarray, " m"]) -> Float[np.ndarray, "k ..."]:
    """For each spectrum that has values its part in the ratio of the two sums.

    Their mean is the ratio, and their spread gives its error to first order, as that of a ratio estimator.
    """
    numbers, totals = numbers[totals > 0], totals[totals > 0].reshape(-1, *(1,) * (numbers.ndim - 1))
    ratio = numbers.sum(axis=0) / totals.sum(axis=0)
    return ratio + (numbers - ratio * totals) / totals.mean(axis=0)


def counts(
    values: Float[np.ndarray, "*batch n"], mask: Bool[np.ndarray, "*batch n"], edges: Float[np.ndarray, " k+1"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each spectrum the numbers of values in the bins, the number of all, and their sum."""
    *batch, size = values.shape
    number, bins = math.prod(batch), edges.size - 1
    each, mask = values.reshape(number, size), mask.reshape(number, size)
    inside = mask & (each >= edges[0]) & (each <= edges[-1])
    spectrum, _ = np.nonzero(inside)
    place = np.minimum(np.searchsorted(edges, each[inside], side="right") - 1, bins - 1)
    numbers = np.bincount(spectrum * bins + place, minlength=number * bins).reshape(number, bins)
    return numbers, mask.sum(axis=1), np.where(mask, each, 0).sum(axis=1)
