"""The result of a sketch of quantiles."""

import numpy as np
from jaxtyping import Float, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike
from rmtjax.special.internal import student_multiple

# The window of the density, in standard errors.
_WINDOW = 3


class QuantilesResult(AbstractModule):
    """Quantiles of the pooled values of all draws.

    Every value lies in a cell, and the counts of the cells are exact. So the cell of the p-quantile of N values, the
    smallest value x with at least pN values up to x, is certain. Between the ends of the cell the quantile is
    interpolated.

    Args:
        probabilities: the probabilities that were asked for.
        lower: the smallest value that may be in each cell, ascending.
        upper: the largest value that may be in each cell; the same as `lower` if a cell holds a single number.
        counts: how many values are in each cell.
        rank_standard_error: standard error of the share of values up to each quantile, from the draws.
        draws: number of draws.
        kept: number of draws that the standard errors were estimated from.

    Example:
        >>> import numpy as np
        >>> cells = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5, 2.0]), np.array([10, 80, 10])
        >>> result = QuantilesResult(np.array([0.5]), *cells, np.array([0.01]), draws=100, kept=100)
        >>> print(result.values, *result.bracket(0.5), result.rank_error)
        [1.246875] 1.0 1.5 [0.8]
    """

    _derived = ("values", "standard_error")

    probabilities: Float[np.ndarray, " q"]
    lower: Float[np.ndarray, " k"]
    upper: Float[np.ndarray, " k"]
    counts: Int[np.ndarray, " k"]
    rank_standard_error: Float[np.ndarray, " q"]
    draws: int
    kept: int

    @property
    def total(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def values(self) -> Float[np.ndarray, " q"]:
        """The quantiles that were asked for."""
        return self.quantile(self.probabilities)

    @property
    def rank_error(self) -> Float[np.ndarray, " q"]:
        """A bound for the difference between the share of values up to each quantile and its probability.

        It is the share of the values in the cell of the quantile, or 1/N if the cell is a single number.
        """
        cell = self._cells(self.probabilities)
        counts = np.where(self.lower[cell] == self.upper[cell], 1, self.counts[cell])
        return counts / self.total if self.total else np.full(np.shape(cell), np.nan)

    @property
    def standard_error(self) -> Float[np.ndarray, " q"]:
        """Standard errors of the quantiles, which are the standard errors of the ranks over the density.

        The density is the mean over three standard errors in rank up and down, because a narrower window holds too few
        values. It needs some hundred draws; `interval` needs no density.
        """
        error = self.rank_standard_error
        low, high = (np.clip(self.probabilities + sign * _WINDOW * _known(error), 0, 1) for sign in (-1, 1))
        distance = np.where(high > low, high - low, 1)
        return (self.quantile(high) - self.quantile(low)) / distance * error

    def interval(self, confidence: float = 0.95) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        """Confidence intervals: the quantiles at the two ends of a confidence interval of their rank.

        Args:
            confidence: probability that an interval holds the true quantile, between 0 and 1.

        Returns:
            The lower and the upper ends.

        References:
            Woodruff (1952), Journal of the American Statistical Association 47, 635.
        """
        times = student_multiple(confidence, max(1, self.kept - 1))
        error = self.rank_standard_error
        ends = (self.quantile(np.clip(self.probabilities + sign * times * _known(error), 0, 1)) for sign in (-1, 1))
        lower, upper = (np.where(np.isnan(error), np.nan, end) for end in ends)
        return lower, upper

    def quantile(self, p: RealLike) -> Float[np.ndarray, "..."]:
        """The smallest value with a share of at least p up to it, interpolated within its cell; NaN without values.

        Args:
            p: probabilities in [0, 1].
        """
        share_up_to = _probabilities("p", p)
        if not self.total:
            return np.full(share_up_to.shape, np.nan)[()]
        cell, (lower, upper) = self._cells(share_up_to), self._ends(share_up_to)
        before = np.cumsum(self.counts)[cell] - self.counts[cell]
        share = (self._ranks(share_up_to) - before - 0.5) / self.counts[cell]
        with np.errstate(invalid="ignore"):
            between = lower + share * (upper - lower)
        # There is no middle between a number and an infinite end.
        finite = np.where(np.isinf(lower), upper, lower)
        return np.where(np.isfinite(lower) & np.isfinite(upper), between, finite)[()]

    def bracket(self, p: RealLike) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """Two numbers between which the p-quantile of the values certainly lies, ends included.

        Args:
            p: probabilities in [0, 1].
        """
        share_up_to = _probabilities("p", p)
        if not self.total:
            unknown = np.full(share_up_to.shape, np.nan)[()]
            return unknown, unknown
        lower, upper = self._ends(share_up_to)
        return lower[()], upper[()]

    def _ranks(self, p: np.ndarray) -> np.ndarray:
        # The rounding of pN must not raise a whole number to the next one.
        return np.clip(np.ceil(p * self.total * (1 - 4 * np.finfo(float).eps)), 1, max(1, self.total))

    def _cells(self, p: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.cumsum(self.counts), self._ranks(p), side="left")

    def _ends(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cell = self._cells(p)
        return self.lower[cell].astype(np.float64), self.upper[cell].astype(np.float64)


def _known(error: np.ndarray) -> np.ndarray:
    """The error, or 0 if it is not known."""
    return np.where(np.isnan(error), 0, error)


def _probabilities(name: str, value: object) -> np.ndarray:
    _checks.real(name, value)
    p = np.asarray(value, np.float64)  # The check may return an array rounded to single precision.
    if not ((p >= 0) & (p <= 1)).all():
        raise _checks.refusal(name, "lie in [0, 1]", value)
    return p
