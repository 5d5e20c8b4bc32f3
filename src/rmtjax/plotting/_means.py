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
    """The mean over spectra. Of several spectra also its 95 % confidence interval and its standard error."""
    if len(jax.tree.leaves(each)[0]) == 1:
        one = jax.tree.map(lambda values: values[0], each)
        return np.asarray(one if combine is None else combine(one)), None, None
    with jax.enable_x64(True):  # for sums that NumPy made, whose deviations may be rounding in single precision
        estimate = over_samples(lambda each: each, each, combine=combine)
        low, high = estimate.interval()
    return np.asarray(estimate.value), (np.asarray(low), np.asarray(high)), np.asarray(estimate.standard_error)


def parts(numbers: Float[np.ndarray, "m ..."], totals: Float[np.ndarray, " m"]) -> Float[np.ndarray, "k ..."]:
    """Parts of the ratio of the two sums, one for each spectrum that has values.

    The mean of the parts is the ratio. Their spread gives its error to first order, as for a ratio estimator.
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
    """The number of values that count in each bin, or the sum of their weights, for each spectrum."""
    each, inside = rows(values), rows(mask & (values >= edges[0]) & (values <= edges[-1]))
    spectrum, bins = np.nonzero(inside)[0], edges.size - 1
    place = spectrum * bins + np.minimum(np.searchsorted(edges, each[inside], side="right") - 1, bins - 1)
    sums = np.bincount(place, None if weights is None else rows(weights)[inside], len(each) * bins)
    return sums.reshape(-1, bins)


def quotient(means: tuple[Any, Any]) -> Any:
    """The first mean over the second one, which may be 0."""
    dtype = common_dtype(*means)
    return jnp.asarray(means[0], dtype) / jnp.asarray(means[1], dtype)


def rows(values: Shaped[np.ndarray, "*batch n"]) -> Shaped[np.ndarray, "m n"]:
    """The values with all axes of the batch as one."""
    *batch, size = values.shape
    return values.reshape(math.prod(batch), size)
