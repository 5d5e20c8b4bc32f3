"""The result of `Moments`: means, variances, skewness and kurtosis, with standard errors."""

import jax
import numpy as np

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree
from rmtjax.special.internal import student_interval


class MomentsResult(AbstractModule):
    r"""Moments of each entry of the draws; every field but `draws` has the tree structure of a draw.

    Convention: the variance is unbiased, $M_2/(m - 1)$ with $M_k = \sum (x - \bar x)^k$ over m draws. Skewness
    $\sqrt m\,M_3/M_2^{3/2}$ and excess kurtosis $m\,M_4/M_2^2 - 3$ are sample values, as in `scipy.stats`; both are 0
    for a Gaussian.

    Args:
        count: number of draws in which an entry was present.
        mean: sample means, float64 or complex128; NaN where the count is 0.
        variance: unbiased sample variances, E|x - mean|² for complex entries; NaN where the count is below 2.
        skewness: sample skewness, NaN where all values are the same; None unless the order is 4.
        kurtosis: excess kurtosis of the sample, NaN or None in the same cases.
        draws: number of draws; 0 if it is not known.

    Example:
        >>> import numpy as np
        >>> result = MomentsResult(np.int64(100), np.float64(0.5), np.float64(4.0))
        >>> print(result.standard_error)
        0.2
    """

    _derived = ("standard_error",)

    count: PyTree
    mean: PyTree
    variance: PyTree
    skewness: PyTree = None
    kurtosis: PyTree = None
    draws: int = 0

    @property
    def standard_error(self) -> PyTree:
        """Standard error of the mean, sqrt(variance / count)."""
        return jax.tree.map(lambda variance, count: np.sqrt(variance / count), self.variance, self.count)

    def interval(self, confidence: float = 0.95) -> tuple[PyTree, PyTree]:
        """Confidence intervals of the mean, by Student's distribution with count - 1 degrees of freedom.

        Args:
            confidence: probability that an interval holds the true value, between 0 and 1.

        Returns:
            The lower and the upper ends; NaN where the count is below 2.

        Raises:
            ValueError: the entries are complex; `standard_error` is then the standard error of the distance.
        """
        if any(map(np.iscomplexobj, jax.tree.leaves(self.mean))):
            raise _checks.refusal("mean", "be real for an interval", self.mean)
        degrees = jax.tree.map(lambda count: count - 1, self.count)
        return student_interval(confidence, self.mean, self.standard_error, degrees)

    @property
    def variance_standard_error(self) -> PyTree:
        r"""Standard error of the variance, $s^2 \sqrt{(g + 2m/(m - 1))/m}$ with the excess kurtosis g.

        It comes from the exact variance $\kappa_4/m + 2\kappa_2^2/(m - 1)$, with sample moments for the cumulants.

        Raises:
            ValueError: the moments are not of order 4.

        References:
            Cramér (1946), Mathematical Methods of Statistics, chapter 27.
        """
        if self.kurtosis is None:
            raise _checks.refusal("order", "be 4 for the standard error of the variance", 2)

        def error(variance: np.ndarray, kurtosis: np.ndarray, count: np.ndarray) -> np.ndarray:
            return variance * np.sqrt((kurtosis + 2 * count / np.maximum(count - 1, 1)) / np.maximum(count, 1))

        return jax.tree.map(error, self.variance, self.kurtosis, self.count)
