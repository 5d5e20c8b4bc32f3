r"""Builds `src/rmtjax/laws/_extremes/tracy_widom.npz`, the table of the Tracy-Widom laws, from Fredholm determinants.

With V the operator of kernel $\tfrac12\mathrm{Ai}(\tfrac{x+y}2)$ on $(s, \infty)$ and $D_\mp = \det(1 \mp V)$,

$$F_1 = D_-, \qquad F_2 = D_- D_+, \qquad F_4 = \tfrac12(D_- + D_+),$$

the last in the scaling of Bornemann (Ferrari and Spohn 2005, J. Phys. A 38, L557; Bornemann 2010, Markov Process.
Relat. Fields 16, 803, section 6). For the k-th largest level the generating functions are, with $E_\beta(j)$ the
probability of j levels beyond s,

$$\sum_j E_2(j)\,\varepsilon^j = \det(1 - (1 - \varepsilon) V^2), \qquad
\sum_j E_1(j)\,\varepsilon^j = \frac{D_-(c) + t D_+(c)}{1 + t}, \qquad D_\mp(c) = \det(1 \mp cV),$$

where $\varepsilon = \sin\theta$, $c = \cos\theta$, $t = \tan\tfrac\theta2$ (after Dieng and Tracy 2011, theorem 2.1).
The k-th level of β = 4 is the 2k-th of β = 1 (Forrester and Rains 2001, MSRI Publ. 40, 171), so F_4 is that of its
second. Determinants are those of Gauss-Legendre discretisations in ball arithmetic of 256 bits, where the tails keep 30
digits. On each of the panels of length 1 the table holds Chebyshev coefficients of the logarithm of the smaller tail,
log F up to near the median and log(1 - F) above, and of the logarithm of its slope. Outside of the panels it has the
coefficients of expansions, for the first three rows.

Left of the panels, with x = -s,

$$\log D_\mp = -\frac{x^3}{24} \mp \frac{x^{3/2}}{3\sqrt2} - \frac{\log x}{16} + c_\mp + \sum_{k\ge1} a_k x^{-3k/2},$$

from Painlevé II, $q'' = sq + 2q^3$, with $(\log F_2)'' = -q^2$ and $(\log D_+/D_-)' = -q$; the constants are $c_- =
\tfrac12\zeta'(-1) - \tfrac{11}{48}\log 2$ and $c_+ = \tfrac12\zeta'(-1) + \tfrac{13}{48}\log 2$ (Baik, Buckingham and
DiFranco 2008, Commun. Math. Phys. 280, 463, theorems 1 and 2). Right of them 1 - F is a trace to beyond rounding: of V
for β = 1, of V² for β = 2, half of tr V² - (tr V)² for β = 4; the table holds the Chebyshev coefficients in $s^{-3/2}$
of its logarithm, less that of the exponential and of the power of s.

Run it with no arguments; it takes a quarter of an hour on two cores and needs python-flint.
"""

import math
from fractions import Fraction
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from ball_arithmetic import (
    chebyshev_angles,
    chebyshev_coefficients,
    chebyshev_derivative,
    chebyshev_value,
    floats,
    gauss_legendre,
    identity,
)
from flint import arb, arb_mat, ctx

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "laws" / "_extremes" / "tracy_widom.npz"
# β and the place of the level, counted from the largest; the second of β = 1 is the largest of β = 4.
ROWS = ((1, 1), (2, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3))
REACH = 13  # the panels fill [-REACH, REACH]
HIGHEST = (13, 13, 13, 11, 8, 8, 6)  # end of each row, beyond which 1 - F is below 1e-36
SWITCHES = (-2, -2, -2, -4, -5, -4, -5)  # near the median of each row: log F below, log(1 - F) above
NODES = 22  # sampling points on each panel
KEPT = 18  # coefficients that the table keeps for a panel
LEFT_TERMS = 16  # powers of x^{-3/2}
RIGHT_TERMS = 16
PRECISION = 256

ctx.prec = PRECISION
# 1 - F falls as exp(-rate s^{3/2}) s^{-power} for the first three of ROWS.
RIGHT_RATE = (arb(2) / 3, arb(4) / 3, arb(4) / 3)
RIGHT_POWER = (arb(3) / 4, arb(3) / 2, arb(3))


RULE = gauss_legendre(100)


def distributions(s: arb, rule: list[tuple[arb, arb]] = RULE) -> list[arb]:
    """F at s, in the order of ROWS."""
    # Ai(36) is below 1e-63.
    half = (36 - s) / 2
    nodes = [s + half * (t + 1) for t, _ in rule]
    roots = [(half * w).sqrt() for _, w in rule]
    n = len(rule)
    entries = [[arb(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            entries[i][j] = entries[j][i] = ((nodes[i] + nodes[j]) / 2).airy_ai() * roots[i] * roots[j] / 2
    v, one = arb_mat(entries), identity(n)
    minus, plus = (one - v).det(), (one + v).det()
    below, above = (one - v).solve(v), (one + v).solve(v)
    r_minus, r_plus = trace(below), trace(above)
    # V²/(1 - V²), and the elementary symmetric functions of its eigenvalues.
    resolvent = (below - above) * (arb(1) / 2)
    e_1, squares = trace(resolvent), trace(resolvent * resolvent)
    e_2 = (e_1**2 - squares) / 2
    two = minus * plus
    return [
        minus,
        two,
        (minus + plus) / 2,
        (3 * minus + plus) / 4 + r_minus * minus / 2,
        (minus + plus) / 2 + (r_minus * minus - r_plus * plus) / 4,
        two * (1 + e_1),
        two * (1 + e_1 + e_2),
    ]


def trace(matrix: arb_mat) -> arb:
    """The sum of the diagonal."""
    return sum((matrix[i, i] for i in range(matrix.nrows())), arb(0))


def panel(left: int) -> list[tuple[list[float], list[float]]]:
    """For each row the coefficients of the logarithms of the smaller tail and of its slope on [left, left + 1]."""
    ctx.prec = PRECISION
    angles = chebyshev_angles(NODES)
    sampled = [distributions(left + (a.cos() + 1) / 2) for a in angles]
    result = []
    for highest, switch, column in zip(HIGHEST, SWITCHES, zip(*sampled, strict=True), strict=True):
        if left >= highest:
            result.append(([0.0] * KEPT, [0.0] * KEPT))
            continue
        tail = chebyshev_coefficients([(f if left < switch else 1 - f).log() for f in column])
        slope = chebyshev_derivative(tail)
        # The panel has length 1, so d/ds is twice the derivative by the variable of the series.
        slopes = chebyshev_coefficients([(2 * abs(chebyshev_value(slope, a))).log() for a in angles])
        result.append((floats(tail)[:KEPT], floats(slopes)[:KEPT]))
    return result


def painleve(terms: int) -> list[Fraction]:
    r"""The $b_k$ of $q(-x) = \sqrt{x/2} \sum_k b_k x^{-3k}$."""
    b = [Fraction(1)]
    for k in range(1, terms):
        # With p = q √2: p'' = -x p + p³, at the power x^{3/2 - 3k}; there b_k has the coefficient -1 + 3.
        exponent = Fraction(1, 2) - 3 * (k - 1)
        second = exponent * (exponent - 1) * b[k - 1]
        cube = sum(b[i] * b[j] * b[k - i - j] for i in range(k) for j in range(k) if 0 <= k - i - j < k)
        b.append((second - cube) / 2)
    return b


def left_expansion() -> np.ndarray:
    """The values c and a_k of log D_∓, rows - and +."""
    b = painleve(LEFT_TERMS // 2 + 1)
    square = [sum(b[i] * b[k - i] for i in range(k + 1)) for k in range(len(b))]
    a = np.zeros((2, LEFT_TERMS + 1))
    for k in range(1, LEFT_TERMS // 2):
        # (log F_2)'' = -q² has the terms x/2 · square · x^{-3k}; the first two of log F_2 are x³/12 and log x/8.
        power = 1 - 3 * (k + 1)
        a[:, 2 * k] = -float(square[k + 1] / 2 / ((power + 1) * (power + 2))) / 2
    for k in range(1, LEFT_TERMS // 2):
        # ½ log(D_+/D_-) has the derivative -q/2 by s and q/2 by x, with q the sum of √(x/2) b x^{-3k}.
        power = Fraction(1, 2) - 3 * k + 1
        a[0, 2 * k - 1] = -float(b[k] / power) / (2 * math.sqrt(2))
        a[1, 2 * k - 1] = -a[0, 2 * k - 1]
    zeta = float(arb(1) / 12 - arb.const_glaisher().log())  # ζ'(-1)
    a[:, 0] = zeta / 2 + math.log(2) * np.array([-11, 13]) / 48
    return a


def traces(s: arb) -> list[arb]:
    """1 - F at s to first order, for the first three of ROWS."""
    # Beyond s the integrands fall by a factor e over 1/√s.
    half = 75 / s.sqrt()
    v = v_square = arb(0)
    for t, w in RULE:
        beyond = half * (t + 1)
        airy = (s + beyond).airy_ai()
        v += half * w * airy / 2
        v_square += half * w * beyond * airy**2
    return [v, v_square, (v_square - v**2) / 2]


def right_expansion() -> np.ndarray:
    """Coefficients in the variable 2 (REACH/s)^{3/2} - 1, for the first three of ROWS."""
    sampled = []
    for angle in chebyshev_angles(RIGHT_TERMS):
        s = REACH * ((angle.cos() + 1) / 2) ** (arb(-2) / 3)
        sampled.append(
            [
                tail.log() + rate * s ** (arb(3) / 2) + power * s.log()
                for tail, rate, power in zip(traces(s), RIGHT_RATE, RIGHT_POWER, strict=True)
            ]
        )
    return np.array([floats(chebyshev_coefficients(list(column))) for column in zip(*sampled, strict=True)])


def build() -> dict[str, np.ndarray]:
    """The arrays of the table."""
    with Pool() as pool:
        panels = pool.map(panel, range(-REACH, REACH), chunksize=1)
    part = lambda which: np.array([[row[which] for row in column] for column in zip(*panels, strict=True)])
    return {"tail": part(0), "slope": part(1), "left": left_expansion(), "right": right_expansion()}


if __name__ == "__main__":
    np.savez(TABLE, **build())
