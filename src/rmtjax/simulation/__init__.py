"""Many independent draws of any function of a key, over all devices, streamed."""

from rmtjax.simulation._reducers import AbstractReducer as AbstractReducer
from rmtjax.simulation._reducers import Histogram as Histogram
from rmtjax.simulation._reducers import HistogramResult as HistogramResult
from rmtjax.simulation._reducers import Moments as Moments
from rmtjax.simulation._reducers import MomentsResult as MomentsResult
from rmtjax.simulation._simulate import simulate as simulate
