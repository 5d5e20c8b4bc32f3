"""Free cumulants and moments, and the numbers that count non-crossing partitions."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)


def free_cumulant_of_moments(moments: Sequence[T]) -> T:
    r"""The k-th free cumulant from the moments $m_0, \dots, m_k$, numbers of any type, such as fractions.

    With $M(z) = \sum_j m_j z^j$, Lagrange inversion of $C(z M(z)) = M(z)$ gives $-\frac1{k-1} [z^k] M(z)^{1-k}$. The
    coefficients of the power follow from Euler's recursion.

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 16.
    """
    k = len(moments) - 1
    if k == 1:
        return moments[1]
    raised: list[Any] = [moments[0]]
    for j in range(1, k + 1):
        raised.append(sum(((1 - k) * i - (j - i)) * moments[i] * raised[j - i] for i in range(1, j + 1)) / j)
    return -raised[k] / (k - 1)


def catalan(m: int) -> int:
    """The m-th Catalan number."""
    return math.comb(2 * m, m) // (m + 1)


def catalan_share(m: int) -> float:
    """The m-th Catalan number divided by 4^m, which never overflows."""
    return catalan(m) / 4**m
