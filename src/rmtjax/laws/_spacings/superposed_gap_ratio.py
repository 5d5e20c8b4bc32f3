r"""The mean ratio of consecutive spacings in spectra that are superposed of independent sequences of levels.

Derivation, in the unit of the mean spacing of all levels. Let ρ(a, b) be the density of levels at -a, 0 and b with no
level in between. Each of the three levels belongs to one of the sequences. So ρ is a sum over all assignments of the
levels to sequences, of products with one factor for each sequence. Sequence i, of density $f_i$, has levels at a subset
A of the three places and no other level in (-a, b) with the density $f_i^{|A|} E_i\,r_i(A)$ at $f_i a$ and $f_i b$.
Here E is the probability of an empty interval, and r(A) is a minor of the resolvent

$$R(x, y) = K(x, y) + \int_{-a}^b K(x, u)\,\big[(1 - K)^{-1} K\big](u, y)\,du, \qquad x, y \in \{-a, 0, b\} .$$

For β = 2, K is the sine kernel and $E = \det(1 - K)$. For β = 1 and 4, K is the matrix kernel with the rows (S, D) and
(I, S) of `scripts/gap_ratio_table.py`, E is the root of the determinant, and r(A) the Pfaffian of the rows (I, S) and
(-S, -D) of the resolvent. For independent levels r is 1. With the fraction v of the left spacing in the sum s of both,

$$E \min\Big(\frac{s_1}{s_2}, \frac{s_2}{s_1}\Big)
= 2 \int_0^{1/2} \frac v{1 - v} \int_0^\infty s\,\rho(vs, (1 - v)s)\,ds\,dv .$$

Gauss's rules on (-a, 0) and (0, b) make determinants and resolvents right to rounding (Bornemann 2010, Math. Comp. 79,
871). The sign in I for β = 1 is projected on the polynomials of the rule, on which it is exact.
"""

import functools
import math
from collections import Counter
from collections.abc import Sequence

import jax
import numpy as np
import scipy  # loads `scipy.special` when it is first used
from jax.core import Tracer

from rmtjax import _checks
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.laws._core.running_integrals import running_integrals, unit_rule
from rmtjax.laws._spacings.superposed_spacing import SuperposedSpacing

# Subsets of the places -a, 0 and b, as bits.
_SUBSETS, _ALL = range(8), 7
# Nodes on each spacing, of the fraction, and of the sum of both spacings.
_NODES, _FRACTIONS, _SUMS = 20, 16, 48
# An empty interval with this logarithm of its probability is too long to count.
_RAREST = 40.0


def mean_superposed_gap_ratio(betas: Sequence[DysonIndexOrZero], fractions: RealLike) -> float:
    r"""Mean of the ratio of two consecutive spacings in the bulk of independent spectra that are superposed.

    This is $E\min(s_1/s_2, s_2/s_1)$ for a spectrum with an unused symmetry: m blocks of equal size have $f_i = 1/m$.
    For two blocks it is 0.42350 (β = 1), 0.42203 (β = 2) and 0.41157 (β = 4). For three it is 0.40350, 0.39923 and
    0.39273, near the 0.38629 of independent levels, although each block is fully chaotic. For one sequence it is
    `mean_gap_ratio(beta)`. The law of the spacings is `SuperposedSpacing`.

    The error is 1e-12. The value comes from Fredholm determinants and Pfaffians with three marked levels. It is
    computed on the host, in 0.3 s for each different pair of β and fraction.

    Args:
        betas: β of each sequence, at least one: 0 (independent levels), 1, 2 or 4.
        fractions: positive shares $f_i$ of the levels that belong to the sequences, with sum 1; static.

    Raises:
        ValueError: an argument is outside its range, the numbers of β and fractions differ, or fractions are traced.

    Example:
        >>> print(f"{mean_superposed_gap_ratio([2, 2], [0.5, 0.5]):.5f}")
        0.42203

    References:
        Giraud, Macé, Vernier and Alet (2022), Phys. Rev. X 12, 011006, for surmises; Rosenzweig and Porter (1960),
        Phys. Rev. 120, 1698.
    """
    if any(isinstance(each, Tracer) for each in jax.tree.leaves(fractions)):
        raise _checks.refusal("fractions", "be known before tracing (static)", fractions)
    law = SuperposedSpacing(betas, fractions)
    shares = np.asarray(_checks.floating("fractions", fractions), float)
    return _mean(tuple(sorted(zip(law.betas, (shares / shares.sum()).tolist(), strict=True))))


@functools.lru_cache(1024)
def _mean(sequences: tuple[tuple[int, float], ...]) -> float:
    v, by_v = (part / 2 for part in unit_rule(_FRACTIONS))
    s, by_s = (_farthest(sequences) * part for part in unit_rule(_SUMS))
    total = 0.0
    for fraction, weight in zip(v, by_v, strict=True):
        density = {levels: np.where(levels, 0, np.ones_like(s)) for levels in _SUBSETS}
        for (beta, f), number in Counter(sequences).items():
            own = _densities(beta, f * fraction * s, f * (1 - fraction) * s)
            own = {levels: f ** levels.bit_count() * value for levels, value in own.items()}
            for _ in range(number):
                density = _together(density, own)
        total += 2 * weight * fraction / (1 - fraction) * (by_s @ (s * density[_ALL]))
    return float(total)


def _together(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """The densities of two superposed sequences: the sum over all ways of sharing the levels."""
    share = lambda levels: (one[part] * other[levels ^ part] for part in _SUBSETS if part & levels == part)
    return {levels: np.sum(list(share(levels)), axis=0) for levels in _SUBSETS}


def _farthest(sequences: tuple[tuple[int, float], ...]) -> float:
    """A sum of both spacings that is rarely exceeded."""
    # -log E(s) is at least s, and for β > 0 at least its smallest leading term far out.
    exponent = lambda s: sum(f * s if beta == 0 else max(f * s, (math.pi * f * s / 4) ** 2) for beta, f in sequences)
    return scipy.optimize.brentq(lambda s: exponent(s) - _RAREST, 0, 2 * _RAREST)


def _densities(beta: int, a: np.ndarray, b: np.ndarray) -> dict[int, np.ndarray]:
    """The densities of levels at each subset of the places -a, 0 and b, with no other level in between."""
    if beta == 0:
        return dict.fromkeys(_SUBSETS, np.exp(-a - b))
    empty, resolvent = _resolvent(beta, a[:, None], b[:, None])
    densities = {}
    for levels in _SUBSETS:
        places = [place for place in range(3) if levels >> place & 1]
        if beta == 2:
            minor = np.linalg.det(resolvent[:, places][:, :, places])
        else:
            minor = _pfaffian(resolvent, [row for place in places for row in (place, place + 3)])
        densities[levels] = empty * minor
    return densities


def _resolvent(beta: int, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability that (-a, b) is empty, and the resolvent at its ends and at 0, antisymmetric for β = 1 and 4."""
    u, w = unit_rule(_NODES)
    x = np.concatenate([a * (u - 1), b * u, -a, 0 * a, b], axis=1)
    weights = np.concatenate([a * w, b * w], axis=1)[:, None]
    distance = x[:, :, None] - x[:, None, :]
    kernel = _kernel(beta, distance)
    rule, marked = slice(2 * _NODES), slice(2 * _NODES, None)
    operator = [[block[:, rule, rule] * weights for block in row] for row in kernel]
    if beta == 1:
        sign = np.sign(distance) / 2
        by_rule = sign[:, rule, rule] * weights
        for length, own in ((a, slice(_NODES)), (b, slice(_NODES, 2 * _NODES))):
            by_rule[:, own, own] = length[..., None] * (running_integrals(_NODES) - w / 2)
        operator[1][0] -= by_rule
        kernel[1][0] -= sign
    part = lambda rows, columns: np.block([[block[:, rows, columns] for block in row] for row in kernel])
    complement = np.eye(len(kernel) * 2 * _NODES) - np.block(operator)
    inner = np.linalg.solve(complement, part(rule, marked))
    resolvent = part(marked, marked) + part(marked, rule) @ (np.tile(weights, len(kernel)).swapaxes(1, 2) * inner)
    empty = np.linalg.det(complement)
    if beta == 2:
        return empty, resolvent
    # Where rounding makes the determinant negative, it is far too small to count.
    return np.sqrt(np.maximum(empty, 0)), np.concatenate([resolvent[:, 3:], -resolvent[:, :3]], axis=1)


def _kernel(beta: int, x: np.ndarray) -> list[list[np.ndarray]]:
    """The blocks of the kernel at some distances, without the sign function of β = 1."""
    c = 2 if beta == 4 else 1
    s = np.sinc(c * x)
    if beta == 2:
        return [[s]]
    slope = (np.cos(c * np.pi * x) - s) / np.where(x == 0, 1, x)
    return [[s, slope], [scipy.special.sici(c * np.pi * x)[0] / (c * np.pi), s]]


def _pfaffian(matrix: np.ndarray, rows: list[int]) -> np.ndarray:
    """The Pfaffian of some rows and columns of antisymmetric matrices, by expansion in its first row."""
    if not rows:
        return np.ones(len(matrix))
    first, *rest = rows
    terms = [(-1) ** k * matrix[:, first, j] * _pfaffian(matrix, rest[:k] + rest[k + 1 :]) for k, j in enumerate(rest)]
    return np.sum(terms, axis=0)
