"""Gauss rules for the classical weights, in float64 on the host."""

import functools
from collections.abc import Callable

import numpy as np
import scipy  # loads `scipy.special` when it is first used

from rmtjax import _checks

Rule = tuple[np.ndarray, np.ndarray]


def gauss_legendre(num_nodes: int) -> Rule:
    """Nodes and weights of the Gauss-Legendre rule on [-1, 1], in float64 on the host.

    Args:
        num_nodes: number of nodes q; the rule is exact for polynomials of degree 2q - 1.

    Returns:
        Ascending nodes and positive weights, each of length `num_nodes`, read-only.

    Raises:
        ValueError: `num_nodes` is not a positive integer.

    Example:
        >>> nodes, weights = gauss_legendre(3)
        >>> print(round(float(weights @ nodes**4), 12))
        0.4

    References:
        Abramowitz and Stegun (1964), equation 25.4.29.
    """
    return _checked(_legendre, num_nodes)


def gauss_hermite(num_nodes: int) -> Rule:
    r"""Nodes and weights of the Gauss-Hermite rule for the weight $e^{-x^2}$, in float64 on the host.

    Convention: the weight of the physicists' Hermite polynomials; the weights of the rule sum to $\sqrt\pi$.

    Args:
        num_nodes: number of nodes q; the rule is exact for polynomials of degree 2q - 1.

    Returns:
        Ascending nodes and weights, each of length `num_nodes`, read-only. The outermost weights may underflow to 0.

    Raises:
        ValueError: `num_nodes` is not a positive integer.

    Example:
        >>> nodes, weights = gauss_hermite(3)
        >>> print(round(float(weights @ nodes**2), 6))  # √π/2
        0.886227

    References:
        Abramowitz and Stegun (1964), equation 25.4.46.
    """
    return _checked(scipy.special.roots_hermite, num_nodes)


def gauss_laguerre(num_nodes: int, alpha: float = 0.0) -> Rule:
    r"""Nodes and weights of the Gauss-Laguerre rule for the weight $x^\alpha e^{-x}$, x > 0, in float64 on the host.

    Args:
        num_nodes: number of nodes q; the rule is exact for polynomials of degree 2q - 1.
        alpha: α > -1.

    Returns:
        Ascending nodes and weights, each of length `num_nodes`, read-only. The outermost weights may underflow to 0.

    Raises:
        ValueError: `num_nodes` is not a positive integer, `alpha` is not finite and above -1, or a weight cannot be
            computed in float64, as for more than about 340 nodes.

    Example:
        >>> nodes, weights = gauss_laguerre(3, 0.5)
        >>> print(round(float(weights @ nodes), 6))  # Γ(5/2)
        1.32934

    References:
        Abramowitz and Stegun (1964), equation 25.4.45; DLMF, 3.5(v).
    """
    return _checked(scipy.special.roots_genlaguerre, num_nodes, alpha=alpha)


def gauss_jacobi(num_nodes: int, alpha: float, beta: float) -> Rule:
    r"""Nodes and weights of the Gauss-Jacobi rule for the weight $(1 - x)^\alpha (1 + x)^\beta$ on [-1, 1].

    Args:
        num_nodes: number of nodes q; the rule is exact for polynomials of degree 2q - 1.
        alpha: exponent at 1, α > -1.
        beta: exponent at -1, β > -1.

    Returns:
        Ascending nodes and positive weights in float64, on the host, each of length `num_nodes`, read-only.

    Raises:
        ValueError: `num_nodes` is not a positive integer, an exponent is not finite and above -1, or a weight cannot be
            computed in float64.

    Example:
        >>> nodes, weights = gauss_jacobi(3, 0.5, 0.5)
        >>> print(round(float(weights @ nodes**2), 6))  # π/8
        0.392699

    References:
        DLMF, 3.5(v).
    """
    return _checked(scipy.special.roots_jacobi, num_nodes, alpha=alpha, beta=beta)


def _checked(roots: Callable[..., Rule], num_nodes: int, **exponents: float) -> Rule:
    """The rule of checked arguments."""
    num_nodes = _checks.integer("num_nodes", num_nodes, at_least=1)
    given = [_ABOVE(name, _checks.static_real(name, exponent)) for name, exponent in exponents.items()]
    return _rule(roots, num_nodes, *given)


_ABOVE = _checks.Rule(lambda exponent: -1 < exponent < np.inf, "be finite and above -1")


@functools.cache
def _rule(roots: Callable[..., Rule], num_nodes: int, *exponents: float) -> Rule:
    """A rule with finite values, made read-only because it is cached."""
    with np.errstate(all="ignore"):
        nodes, weights = roots(num_nodes, *exponents)
    if not (np.isfinite(nodes).all() and np.isfinite(weights).all()):
        raise _checks.refusal("num_nodes", "be smaller, as a weight leaves the range of float64", num_nodes)
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights


def _legendre(num_nodes: int) -> Rule:
    """Newton's method from Tricomi's approximation: O(q²), and weights that are accurate near the ends too.

    NumPy's are O(q³), seconds for a thousand nodes, and its weights lose four digits and more near the ends.
    """
    q, k = num_nodes, np.arange(num_nodes, 0, -1)
    x = (1 - (q - 1) / (8 * q**3)) * np.cos(np.pi * (4 * k - 1) / (4 * q + 2))
    for _ in range(5):
        value, slope = _legendre_polynomial(q, x)
        x = x - value * (1 - x) * (1 + x) / slope
    # w = 2(1 - x²)/[(1 - x²) P']², where P makes up for the rounding of x.
    return x, 2 * (1 - x) * (1 + x) / _legendre_polynomial(q, x)[1] ** 2


def _legendre_polynomial(degree: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The polynomial P and (1 - x²) P', which is q (P_{q-1} - x P) for the degree q."""
    before, here = np.zeros_like(x), np.ones_like(x)
    for k in range(degree):
        before, here = here, ((2 * k + 1) * x * here - k * before) / (k + 1)
    return here, degree * (before - x * here)
