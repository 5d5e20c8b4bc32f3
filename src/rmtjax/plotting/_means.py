"""Means over spectra, with their errors."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, PyTree, Shaped

from rmtjax._promotion import common_dtype
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


def binned(
    values: Float[np.ndarray, "*batch n"],
    mask: Bool[np.ndarray, "*batch n"],
    edges: Float[np.ndarray, " k+1"],
    weights: Float[np.ndarray, "*batch n"] | None = None,
) -> Float[np.ndarray, "m k"]:
    """For each spectrum the numbers of values that count in the bins, or the sums of their weights there."""
    each, inside = rows(values), rows(mask & (values >= edges[0]) & (values <= edges[-1]))
    spectrum, bins = np.nonzero(inside)[0], edges.size - 1
    place = spectrum * bins + np.minimum(np.searchsorted(edges, each[inside], side="right") - 1, bins - 1)
    sums = np.bincount(place, None if weights is None else rows(weights)[inside], len(each) * bins)
    return sums.reshape(-1, bins)


def quotient(means: tuple[Any, Any]) -> Any:
    """The first over the second, which may be 0."""
    dtype = common_dtype(*means)
    return jnp.asarray(means[0], dtype) / jnp.asarray(means[1], dtype)


def rows(values: Shaped[np.ndarray, "*batch n"]) -> Shaped[np.ndarray, "m n"]:
    """All axes of a batch as one."""
    *batch, size = values.shape
    return values.reshape(math.prod(batch), size)
