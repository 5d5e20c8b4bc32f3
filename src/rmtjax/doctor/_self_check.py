"""A few numbers that are known exactly, computed and timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.doctor._finding import Finding
from rmtjax.laws import Semicircle
from rmtjax.linalg import SymTridiagonal

_N = 64  # vertices of the path
_REPORT = "Install jax, jaxlib and scipy anew; if it stays, report it with the output of this command."


@dataclass(frozen=True)
class Case:
    """A function without arguments, its exact value, and the largest error allowed."""

    name: str
    compute: Callable[[], Any]
    exact: np.ndarray
    tolerance: float


@dataclass(frozen=True)
class Verdict:
    """The seconds of the first and the second call, and what is wrong with the result, if anything."""

    name: str
    first: float
    second: float
    wrong: str | None

    def __str__(self) -> str:
        state = "right" if self.wrong is None else "WRONG"
        return f"{self.name:48}{state}   first call {self.first:6.2f} s, second {self.second:8.5f} s"


def cases() -> list[Case]:
    """Cases for levels and counts, a distribution function, and a derivative of its inverse.

    The path of n vertices has the levels 2cos(kπ/(n+1)). The semicircle on [-2, 2] has the distribution function
    1/2 + x√(4-x²)/(4π) + arcsin(x/2)/π and the density 1/π at its median.
    """
    path = SymTridiagonal(jnp.zeros(_N), jnp.ones(_N - 1))
    levels = 2 * np.cos(np.pi * np.arange(_N, 0, -1) / (_N + 1))
    points = np.array([-1.5, -0.25, 0.0, 1.75])
    below = np.searchsorted(levels, points)
    law = Semicircle()
    cdf = 0.5 + points * np.sqrt(4 - points**2) / (4 * np.pi) + np.arcsin(points / 2) / np.pi
    eps = float(jnp.finfo(jnp.zeros(()).dtype).eps)
    return [
        # The eigenvalue search promises 4 eps of the norm, which is 2.
        Case(f"levels of the path of {_N} vertices", path.eigenvalues, levels, 8 * eps),
        Case("how many of them are below four points", lambda: path.count_below(points), below, 0),
        Case("distribution function of the semicircle", lambda: law.cdf(points), cdf, 4 * eps),
        Case("derivative of its quantile at the median", lambda: jax.grad(law.ppf)(0.5), np.array(np.pi), 64 * eps),
    ]


def judge(case: Case) -> Verdict:
    """Compute twice and compare the second result with the exact one; NaN is wrong."""
    try:
        (first, _), (second, result) = _timed(case.compute), _timed(case.compute)
    except Exception as error:
        return Verdict(case.name, np.nan, np.nan, f"{type(error).__name__}: {error}")
    if result.shape != case.exact.shape:
        return Verdict(case.name, first, second, f"shape {result.shape} instead of {case.exact.shape}")
    error = float(np.max(np.abs(result - case.exact)))
    wrong = None if error <= case.tolerance else f"off by {error:.2g}, allowed {case.tolerance:.2g}"
    return Verdict(case.name, first, second, wrong)


def _timed(compute: Callable[[], Any]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    result = np.asarray(jax.block_until_ready(compute()))
    return time.perf_counter() - start, result


def verdict_findings(verdict: Verdict) -> list[Finding]:
    """A finding for a wrong result or a failed call."""
    if verdict.wrong is None:
        return []
    return [Finding(f"wrong {verdict.name}: {verdict.wrong.rstrip('.')}", _REPORT, broken=True)]
