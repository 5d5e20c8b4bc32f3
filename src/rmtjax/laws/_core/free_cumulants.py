r"""Free cumulants and moments of any type of number, and the numbers that count non-crossing partitions.

With $M(z) = \sum_k m_k z^k$ and $C(w) = 1 + \sum_k \kappa_k w^k$, $C(z M(z)) = M(z)$, and Lagrange inversion gives each
from the other (Nica and Speicher 2006, Lectures on the Combinatorics of Free Probability, lecture 16).
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)


def free_cumulant_of_moments(moments: Sequence[T]) -> T:
    r"""The k-th free cumulant from the moments $m_0, \dots, m_k$: $-\frac1{k-1} [z^k] M(z)^{1-k}$, or $m_1$."""
    k = len(moments) - 1
    return moments[1] if k == 1 else -_raised(moments, 1 - k)[k] / (k - 1)


def moment_of_free_cumulants(cumulants: Sequence[T]) -> T:
    r"""The k-th moment from the free cumulants $\kappa_1, \dots, \kappa_k$: $\frac1{k+1} [w^k] C(w)^{k+1}$."""
    k = len(cumulants)
    return _raised([cumulants[0] ** 0, *cumulants], k + 1)[k] / (k + 1)


def _raised(series: Sequence[T], exponent: int) -> list[T]:
    """The coefficients of the power of a series that starts with 1, by Euler's recursion."""
    found: list[Any] = [series[0]]
    for j in range(1, len(series)):
        terms = ((exponent * i - (j - i)) * series[i] * found[j - i] for i in range(1, j + 1))
        found.append(sum(terms) / j)
    return found


def catalan(m: int) -> int:
    """The m-th Catalan number."""
    return math.comb(2 * m, m) // (m + 1)


def catalan_share(m: int) -> float:
    """The m-th Catalan number divided by 4^m, which never overflows."""
    return catalan(m) / 4**m
