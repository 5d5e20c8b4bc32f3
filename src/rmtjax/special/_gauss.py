"""Gauss rules for the classical weights, in float64 on the host.

Each function returns ascending nodes and their weights, which are read-only because they are cached. A rule of q nodes
is exact for polynomials of degree 2q - 1.
"""

import functools
from collections.abc import Callable

import numpy as np
import scipy  # loads `scipy.special` when it is first used

from rmtjax import _checks

Rule = tuple[np.ndarray, np.ndarray]


def gauss_legendre(num_nodes: int) -> Rule:
    """The Gauss-Legendre rule on [-1, 1] (Abramowitz and Stegun 1964, equation 25.4.29).

    Raises:
        ValueError: `num_nodes` is not a positive integer.

    Example:
        >>> nodes, weights = gauss_legendre(3)
        >>> print(round(float(weights @ nodes**4), 12))
        0.4
    """
    return _rule(_legendre, _checks.integer("num_nodes", num_nodes, at_least=1))


def gauss_hermite(num_nodes: int) -> Rule:
    r"""The Gauss-Hermite rule for the weight $e^{-x^2}$ (Abramowitz and Stegun 1964, equation 25.4.46).

    The outermost weights may underflow to 0.
    """
    return _rule(scipy.special.roots_hermite, num_nodes)


def gauss_laguerre(num_nodes: int) -> Rule:
    r"""The Gauss-Laguerre rule for the weight $e^{-x}$, x > 0 (Abramowitz and Stegun 1964, equation 25.4.45).

    The outermost weights may underflow to 0.

    Raises:
        ValueError: a weight leaves the range of float64, as happens for more than about 340 nodes.
    """
    return _rule(scipy.special.roots_laguerre, num_nodes)


@functools.cache
def _rule(roots: Callable[[int], Rule], num_nodes: int) -> Rule:
    with np.errstate(all="ignore"):
        nodes, weights = roots(num_nodes)
    if not (np.isfinite(nodes).all() and np.isfinite(weights).all()):
        raise _checks.refusal("num_nodes", "be smaller, as a weight leaves the range of float64", num_nodes)
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights


def _legendre(num_nodes: int) -> Rule:
    """Newton's method from Tricomi's approximation, in O(q²) operations, with accurate weights near the ends too.

    NumPy's rule takes O(q³), seconds for a thousand nodes, and its weights lose at least four digits near the ends.
    """
    q, k = num_nodes, np.arange(num_nodes, 0, -1)
    x = (1 - (q - 1) / (8 * q**3)) * np.cos(np.pi * (4 * k - 1) / (4 * q + 2))
    for _ in range(5):
        value, slope = _legendre_polynomial(q, x)
        x = x - value * (1 - x) * (1 + x) / slope
    # In the formula w = 2(1 - x²)/[(1 - x²) P']² the slope P' makes up for the rounding of x.
    return x, 2 * (1 - x) * (1 + x) / _legendre_polynomial(q, x)[1] ** 2


def _legendre_polynomial(degree: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The polynomial P and (1 - x²) P', which is q (P_{q-1} - x P) for the degree q."""
    before, here = np.zeros_like(x), np.ones_like(x)
    for k in range(degree):
        before, here = here, ((2 * k + 1) * x * here - k * before) / (k + 1)
    return here, degree * (before - x * here)
