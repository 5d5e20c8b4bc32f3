r"""Means of complex spacing ratios, for infinitely many levels and for n.

Derivation for n levels of a complex Ginibre matrix, with the weight $e^{-|z|^2}$. The ensemble is invariant under
rotations, so let the present level be at λ > 0, and let u, v, … be the positions of the others relative to it. Around λ
the levels of the infinite spectrum have the functions $\psi_j(u) = u^j e^{-|u|^2/2}/\sqrt{\pi j!}$. They are orthogonal
on every disc around λ, and have the masses $d_j = \gamma(j + 1, R^2)/j!$ on the disc of radius R. For a matrix of order
n this space is projected on the span of the functions of the first n orders around the origin, by the matrix

$$\Pi_{jk} = \sum_{l<n} T_{lj} T_{lk}, \qquad
T_{lj} = (-1)^{l-j} T_{jl} = \sqrt{j!/l!}\,\lambda^{l-j} e^{-\lambda^2/2} L_j^{(l-j)}(\lambda^2), \qquad
l T_{lj} = (j + \lambda^2) T_{lj} + \lambda \big[\sqrt j\,T_{l,j-1} + \sqrt{j+1}\,T_{l,j+1}\big],$$

with the overlaps T of the functions around both points. The recurrence in j is stable up to j = l. By the formula of
Christoffel and Darboux two orders are enough:

$$\Pi_{jk} = \lambda \sqrt n\,\frac{T_{n-1,j} T_{nk} - T_{nj} T_{n-1,k}}{j - k}, \qquad
\Pi_{j+1,j+1} - \Pi_{jj} = \frac{\Pi_{j,j+1}/\lambda + \sqrt{j+2}\,\Pi_{j,j+2} - \sqrt j\,\Pi_{j-1,j+1}}
{\sqrt{j+1}}, \qquad \Pi_{00} = \frac{\Gamma(n, \lambda^2)}{\Gamma(n)} .$$

The second formula says that Π commutes with the tridiagonal matrix of the recurrence. The density at λ is
$\Pi_{00}/\pi$. Only $\psi_0$ does not vanish at λ. So the condition that a level is at λ removes its row and column,
$C = \Pi - \Pi_{\cdot 0} \Pi_{0 \cdot}/\Pi_{00}$, j ≥ 1. Two other levels are at u and w, |u| < |w| = R, and no further
level is in the disc of radius R, with the density

$$\det(1 - Cd) \big[Q(u, u)\,Q(w, w) - |Q(u, w)|^2\big], \qquad Q = (1 - Cd)^{-1} C, \quad d = \mathrm{diag}(d_j) .$$

The integrals over the angles of u and w and over |u| are elementary. With $h_j = \gamma(j + \tfrac32, R^2)/j!$ and
$b_j = 2 R^{2j+1} e^{-R^2}/j!$ the mean of |z| is the integral over R, and over λ with the density, of

$$\det(1 - Cd) \sum_{jk} (Q_{jj} Q_{kk} - Q_{jk}^2)\,h_j b_k/R .$$

The mean of cos arg z has $Q_{j,j+1} Q_{k,k+1} - Q_{jk} Q_{j+1,k+1}$ in place of the parenthesis, and the terms
$h_j/\sqrt{j+1}$ and $R\,b_k/\sqrt{k+1}$. Only j up to $R^2$ plus a few standard deviations matter, whatever n is. Far
from the edge Π is 1, and the integrals have their limit.

Derivation for independent levels of the unit disc. Let one of them be at the distance ρ from the centre. The circle of
radius r around it has the half-angle φ(r) inside the disc. So another level is at the distance r with the density
$B = 2r\varphi/\pi$. The same density, weighted with the cosine of the direction relative to the line to the centre, is
$C = 2r \sin\varphi/\pi$. Then

$$E|z| = (n-1)(n-2) \int_0^1 2\rho\,d\rho \int dR \Big[1 - \int_0^R B\Big]^{n-3} \frac{B(R)}R \int_0^R r B(r)\,dr,$$

and E cos arg z is the same with $C(R) \int_0^R C$. Up to r = 1 - ρ the integrals are elementary. Beyond, the variable
is the angle t of the point $e^{it}$ where the two circles meet.
"""

import functools
import math
from typing import Literal

import numpy as np
import scipy  # loads `scipy.special` when it is first used

from rmtjax import _checks
from rmtjax.laws._core.running_integrals import running_integrals, unit_rule

# The limits; for β = 2 the numbers are those that `scripts/complex_ratio_table.py` prints.
_LIMITS = {0: (2 / 3, 0.0), 2: (0.7386601020935, -0.2468308160578)}
# At this distance inside the edge, a level of a Ginibre matrix has the ratios of the limit to 1e-12. At the other
# distance outside the edge, the density is below 1e-12.
_INSIDE, _OUTSIDE = 6.0, 4.2
# A disc with a radius of so many mean distances, and half of it, holds fewer than two levels with probability 1e-14.
_FAR = 8.5


def mean_complex_spacing_ratio(beta: Literal[0, 2], n: int | None = None) -> tuple[float, float]:
    r"""Means of $|z|$ and $\cos\arg z$ of complex spacing ratios z: exactly for n levels, or in the bulk as n → ∞.

    A level at the edge of the spectrum has its neighbours on one side, which makes the cosine larger. The share of such
    levels falls only as $n^{-1/2}$, and so does the distance from the limit. At n = 100 the mean of the cosine is -0.17
    for Ginibre matrices and 0.042 for independent levels; the limits are -0.25 and 0. So compare ratios of all levels
    of a matrix with the means for its size, and ratios of levels in its bulk with the limit.

    Convention: independent levels are uniform in a disc. The limit is the same for every shape, the mean at n is not.

    Args:
        beta: 0 for independent levels, whose ratios in the limit are uniform in the unit disc, or 2 for complex Ginibre
            matrices, whose ratios in the limit have the law `ComplexSpacingRatio`.
        n: number of levels, at least 3, for the mean over all of them; None for the limit. The first call for an n
            takes some milliseconds on the host for β = 0, and 0.3 s for β = 2, whatever n is.

    Returns:
        The two means. In the limit they are 2/3 and 0 (β = 0), or 0.73866 and -0.24683 (β = 2), to 13 digits. At n the
        error is 1e-13 (β = 0), or 1e-11 plus √n · 1e-14 (β = 2).

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(mean_complex_spacing_ratio(2))
        (0.7386601020935, -0.2468308160578)
        >>> print("{:.5f} {:.5f}".format(*mean_complex_spacing_ratio(2, n=100)))
        0.73391 -0.16981

    References:
        Sá, Ribeiro and Prosen (2020), Phys. Rev. X 10, 021019; Dusa and Wettig (2022), Phys. Rev. E 105, 044144.
    """
    beta = _checks.dyson_index(beta, Literal[0, 2])
    return _LIMITS[beta] if n is None else _finite(beta, _checks.integer("n", n, at_least=3))


@functools.lru_cache(1024)
def _finite(beta: int, n: int) -> tuple[float, float]:
    modulus, cosine = _ginibre(n) if beta else _independent(n)
    return float(modulus), float(cosine)


def _ginibre(n: int) -> np.ndarray:
    edge = math.sqrt(n)
    start = max(edge - _INSIDE, 0)
    total = start**2 / n * np.array(_LIMITS[2])
    nodes, weights = unit_rule(48)
    width = edge + _OUTSIDE - start
    for level, weight in zip(start + width * nodes, width * weights, strict=True):
        # A larger disc holds at least two other levels, up to 1e-13 in the sum.
        radius = max(3.7, min(5.1 + 0.75 * (level - edge), 6.3)) + 6 / (n - 1)
        total += weight * 2 * level / n * _around(n, level, radius)
    return total


def _around(n: int, level: float, radius: float) -> np.ndarray:
    """The two means at a level, with neighbours in a disc, times the density there relative to the bulk."""
    span = _span(n, level, _size(radius))
    conditioned = span[1:, 1:] - span[1:, :1] * span[:1, 1:] / span[0, 0]
    total = np.zeros(2)
    nodes, weights = unit_rule(32)
    for r, weight in zip(radius * nodes, radius * weights, strict=True):
        j = np.arange(1, _size(r))
        c = conditioned[: j.size, : j.size]
        log_factorial = scipy.special.gammaln(j + 1)
        hole = np.eye(j.size) - c * scipy.special.gammainc(j + 1, r**2)
        q = np.linalg.solve(hole, c)
        h = np.exp(scipy.special.gammaln(j + 1.5) - log_factorial) * scipy.special.gammainc(j + 1.5, r**2)
        b = 2 * np.exp((2 * j + 1) * math.log(r) - r**2 - log_factorial)
        modulus = _pairs(np.diag(q), q**2, h / r, b)
        root = np.sqrt(j[1:])
        cosine = _pairs(np.diag(q, 1), q[:-1, :-1] * q[1:, 1:], h[:-1] / root, r * b[:-1] / root)
        total += weight * np.linalg.det(hole) * np.array([modulus, cosine])
    return span[0, 0] * total


def _pairs(single: np.ndarray, pair: np.ndarray, near: np.ndarray, far: np.ndarray) -> np.floating:
    return np.dot(single, near) * np.dot(single, far) - np.dot(near, np.dot(pair, far))


def _size(radius: float) -> int:
    """The number of functions that matter in a disc."""
    # From 100 on LAPACK would start threads, which wait for each other under load. The disc is that large only for
    # small n, where the levels are in the span of the first functions.
    return min(int(radius**2 + 6 * radius + 10), 99)


def _span(n: int, shift: float, size: int) -> np.ndarray:
    """The matrix Π of the first functions around a point, from the overlaps of the orders n - 1 and n."""
    # Rows from n - 1 on. By symmetry the rows beyond n give the entries of the first two rows beyond j = l.
    first, size = n - 1, size + 2
    order = np.arange(first, max(n + 1, size))
    overlaps = np.empty((order.size, size))
    now = np.exp(order * math.log(shift) - (shift**2 + scipy.special.gammaln(order + 1)) / 2)
    before = np.zeros_like(now)
    for j in range(size):
        overlaps[:, j] = now
        after = ((order - j - shift**2) / shift * now - math.sqrt(j) * before) / math.sqrt(j + 1)
        before, now = now, np.where(order > j, after, 0)
    square = overlaps[: max(size - first, 0), first:]
    signs = (-1.0) ** np.arange(square.shape[0])
    square += np.tril(signs[:, None] * square * signs, -1).T

    last, following = overlaps[:2]
    j = np.arange(size)
    span = shift * math.sqrt(n) * (np.outer(last, following) - np.outer(following, last))
    span /= np.subtract.outer(j, j) + np.eye(size)
    next_to, second = np.diag(span, 1), np.diag(span, 2)
    root = np.sqrt(j)
    steps = next_to[:-1] / shift + root[2:] * second - root[:-2] * np.append(0, second[:-1])
    diagonal = scipy.special.gammaincc(n, shift**2) + np.append(0, np.cumsum(steps / root[1:-1]))
    span = span[:-2, :-2]
    span[np.diag_indices_from(span)] = diagonal[:-1]
    return span


def _independent(n: int) -> np.ndarray:
    unit, share = unit_rule(64)
    running = running_integrals(unit.size)
    reach = _FAR / math.sqrt(n)
    width = min(1, reach)
    total = (1 - width) ** 2 * np.array(_LIMITS[0])
    # More nodes lie near the edge, where the distance ε from it is small against the distance of the neighbours.
    for eps, weight in zip(width * unit**2, 2 * width * unit * share, strict=True):
        rho = 1 - eps
        others = lambda inside: (n - 1) * (n - 2) * (1 - inside) ** (n - 3)
        r = eps * unit
        modulus, cosine = eps * share @ (others(r**2) * 4 / 3 * r**3), 0.0
        # The two circles meet at the angle t. The distance grows on the scale of ε, as a square root.
        scale = eps / math.sqrt(rho)
        end = math.asinh(min(math.pi, reach) / scale)
        t, dt = scale * np.sinh(end * unit), scale * np.cosh(end * unit) * end
        r = np.sqrt(eps**2 + 4 * rho * np.sin(t / 2) ** 2)
        phi, dr = np.arctan2(np.sin(t), rho - np.cos(t)), rho * np.sin(t) / r * dt
        b, c = 2 / math.pi * r * phi * dr, 2 / math.pi * r * np.sin(phi) * dr
        left = others(eps**2 + running @ b)
        modulus += share @ (left * b / r * (2 / 3 * eps**3 + running @ (r * b)))
        cosine += share @ (left * c * (running @ c))
        total += weight * 2 * rho * np.array([modulus, cosine])
    return total
