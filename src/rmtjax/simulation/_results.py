"""Types of the results of `simulate` and `Part`: the result of a reducer is what its `finish` returns."""

from typing import Any, Protocol, TypeVar

from rmtjax.simulation._reducers.covariance import CovarianceResult
from rmtjax.simulation._reducers.extremes import ExtremesResult
from rmtjax.simulation._reducers.histogram_result import HistogramResult
from rmtjax.simulation._reducers.kept_draws import KeptDraws
from rmtjax.simulation._reducers.moments_result import MomentsResult
from rmtjax.simulation._reducers.quantiles_result import QuantilesResult

Result = TypeVar("Result", covariant=True)
# A mapping of reducers of one kind has results of one kind. A union of several kinds would be of no use.
Same = TypeVar("Same", CovarianceResult, ExtremesResult, HistogramResult, KeptDraws, MomentsResult, QuantilesResult)


class Reducer(Protocol[Result]):
    """A reducer with this result."""

    def init(self, draw: Any) -> Any: ...

    def update(self, state: Any, draws: Any) -> Any: ...

    def merge(self, left: Any, right: Any) -> Any: ...

    def finish(self, state: Any) -> Result: ...
