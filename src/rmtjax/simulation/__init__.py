"""Many independent draws of any function of a key, over all devices, streamed."""

from rmtjax.simulation._interrupts import Interrupted as Interrupted
from rmtjax.simulation._reducers.base import AbstractReducer as AbstractReducer
from rmtjax.simulation._reducers.base import Draws as Draws
from rmtjax.simulation._reducers.histogram import Histogram as Histogram
from rmtjax.simulation._reducers.histogram import HistogramResult as HistogramResult
from rmtjax.simulation._reducers.moments import Moments as Moments
from rmtjax.simulation._reducers.moments import MomentsResult as MomentsResult
from rmtjax.simulation._simulate import simulate as simulate
from rmtjax.simulation._work import MemoryPlan as MemoryPlan
from rmtjax.simulation._work import memory_plan as memory_plan
