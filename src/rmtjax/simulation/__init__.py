"""Many independent draws of any function of a key, over all devices, streamed; and probabilities of rare events."""

from rmtjax.simulation._interrupts import Interrupted as Interrupted
from rmtjax.simulation._rare.result import RareEvent as RareEvent
from rmtjax.simulation._rare.simulate_rare import simulate_rare as simulate_rare
from rmtjax.simulation._reducers.base import AbstractReducer as AbstractReducer
from rmtjax.simulation._reducers.base import Draws as Draws
from rmtjax.simulation._reducers.collect import Collect as Collect
from rmtjax.simulation._reducers.covariance import Covariance as Covariance
from rmtjax.simulation._reducers.covariance import CovarianceResult as CovarianceResult
from rmtjax.simulation._reducers.extremes import Extremes as Extremes
from rmtjax.simulation._reducers.extremes import ExtremesResult as ExtremesResult
from rmtjax.simulation._reducers.histogram import Histogram as Histogram
from rmtjax.simulation._reducers.histogram_result import HistogramResult as HistogramResult
from rmtjax.simulation._reducers.jackknife import Jackknife as Jackknife
from rmtjax.simulation._reducers.jackknife import JackknifeResult as JackknifeResult
from rmtjax.simulation._reducers.keep import Keep as Keep
from rmtjax.simulation._reducers.kept_draws import KeptDraws as KeptDraws
from rmtjax.simulation._reducers.moments import Moments as Moments
from rmtjax.simulation._reducers.moments_result import MomentsResult as MomentsResult
from rmtjax.simulation._reducers.part import Part as Part
from rmtjax.simulation._reducers.quantiles import Quantiles as Quantiles
from rmtjax.simulation._reducers.quantiles_result import QuantilesResult as QuantilesResult
from rmtjax.simulation._simulate import simulate as simulate
from rmtjax.simulation._work import MemoryPlan as MemoryPlan
from rmtjax.simulation._work import memory_plan as memory_plan
