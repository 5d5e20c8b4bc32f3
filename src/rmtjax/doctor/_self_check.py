"""A few numbers that are known exactly, computed and timed."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.doctor._parts import Finding, Part
from rmtjax.laws import Semicircle
from rmtjax.linalg import SymTridiagonal

_N = 64  # vertices of the path
_REMEDY = "Install jax, jaxlib and scipy anew; if it stays, report it with the output of this command."
# A name, a function without arguments, its exact value, and the largest error allowed.
Case = tuple[str, Callable[[], Any], np.ndarray, float]


def cases() -> list[Case]:
    """Levels and counts, a distribution function, and the derivative of its inverse.

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
        (f"levels of the path of {_N} vertices", path.eigenvalues, levels, 8 * eps),
        ("how many of them are below four points", lambda: path.count_below(points), below, 0),
        ("distribution function of the semicircle", lambda: law.cdf(points), cdf, 4 * eps),
        ("derivative of its quantile at the median", lambda: jax.grad(law.ppf)(0.5), np.array(np.pi), 64 * eps),
    ]


def judged(name: str, compute: Callable[[], Any], exact: np.ndarray, tolerance: float) -> Part:
    """Compute twice and compare the second result with the exact one; NaN is wrong."""
    first = second = np.nan
    try:
        (first, _), (second, result) = _timed(compute), _timed(compute)
        error = float(np.max(np.abs(result - exact))) if result.shape == exact.shape else np.inf
        wrong = "" if error <= tolerance else f"off by {error:.2g}, allowed {tolerance:.2g}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}".rstrip(".")
    state = "WRONG" if wrong else "right"
    text = f"{name:48}{state}   first call {first:6.2f} s, second {second:8.5f} s"
    return text, [Finding(f"wrong {name}: {wrong}", _REMEDY, broken=True)] if wrong else []


def _timed(compute: Callable[[], Any]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    result = np.asarray(jax.block_until_ready(compute()))
    return time.perf_counter() - start, result
