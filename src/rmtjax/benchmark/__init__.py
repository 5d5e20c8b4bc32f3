"""Compiled benchmarks: `measure` for any function, and the classic cases of `python -m rmtjax.benchmark`."""

from rmtjax.benchmark._measure import Measurement as Measurement
from rmtjax.benchmark._measure import Work as Work
from rmtjax.benchmark._measure import measure as measure
