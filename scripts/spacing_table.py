r"""Builds `src/rmtjax/laws/_spacings/spacing.npz`, the table of spacings in the bulk, from Fredholm determinants.

The even and odd parts of the sine kernel on an interval of length s, $K_\pm(x, y) = S(x - y) \pm S(x + y)$ on (0, s/2)
with $S(x) = \sin(\pi x)/(\pi x)$, generate the probabilities $\sum_k E_\pm(k)\,z^k = \det(1 - (1 - z) K_\pm)$. From
them those of exactly k levels in the interval,

$$E_1(2k) + E_1(2k - 1) = E_+(k), \qquad E_1(2k) + E_1(2k + 1) = E_-(k), \qquad E_2(k) = \sum_j E_+(j) E_-(k - j)$$

(Mehta 2004, chapters 6 and 7; Bornemann 2010, Markov Process. Relat. Fields 16, 803, section 5), and from these the
survival function $-\sum_{j\le k} (k - j + 1) E'(j)$ of the spacing with k levels inside, and its density. A spacing of
β = 4 is half of one of β = 1 with 2k + 1 levels inside (Mehta and Dyson 1963, J. Math. Phys. 4, 713).

Determinants are those of Gauss-Legendre discretisations in ball arithmetic, and derivatives are central differences
with so small a step that nothing is lost. On each panel the table holds Chebyshev coefficients of the logarithms of the
smaller tail and of its slope: up to the mean those of $F/s^{\gamma+1}$ and $s F'/F$, where $F' \sim s^\gamma$, above it
those of 1 - F and $F'/(1 - F)$. Beyond all panels it has the coefficients in the variable 1/s of

$$\log(1 - F) + \frac{\beta\pi^2 s^2}{16} - \Big(\beta k + \frac\beta2 - 1\Big)\frac{\pi s}2 - c \log s .$$

Run it with no arguments; it takes half an hour on two cores and needs python-flint.
"""

from multiprocessing import Pool
from pathlib import Path

import numpy as np
from ball_arithmetic import chebyshev_angles, chebyshev_coefficients, floats, gauss_legendre, identity
from flint import arb, arb_mat, ctx

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "laws" / "_spacings" / "spacing.npz"
MOST = 3  # largest k of E_±(k): spacings with up to MOST levels inside for β = 2, up to 2 MOST + 1 for β = 1
SPACINGS = [(1, k) for k in range(2 * MOST + 2)] + [(2, k) for k in range(MOST + 1)]
FIRST = {1: 0, 2: 2 * MOST + 2}  # place of k = 0 in SPACINGS for each β
PANELS = 40
WIDTH = 0.5
NODES = 26
KEPT = 18
FARTHEST = 40  # the expansion is fitted up to here
FAR_NODES = 12
# Differences lose the digits of the square of the step, which is also their error.
STEP = 2.0**-80


def precision(s: float) -> int:
    """Bits needed: determinants are small for a long interval, lower tails for a short one; derivatives lose 160."""
    return 1200 if s < 3 else 512 + round(0.9 * s**2)


def parity_probabilities(s: arb) -> list[list[arb]]:
    """E_+(k) and E_-(k) of an interval of length s, for k up to MOST."""
    rule = gauss_legendre(30 + 10 * round(float(s.mid()) / 6))
    points = [s / 4 * (x + 1) for x, _ in rule]
    roots = [(s / 4 * w).sqrt() for _, w in rule]
    n = len(rule)
    kernels = [[[arb(0)] * n for _ in range(n)] for _ in range(2)]
    for i in range(n):
        for j in range(i + 1):
            difference = (points[i] - points[j]).sinc_pi() if i != j else arb(1)
            total, weight = (points[i] + points[j]).sinc_pi(), roots[i] * roots[j]
            for kernel, sign in zip(kernels, (1, -1), strict=True):
                kernel[i][j] = kernel[j][i] = (difference + sign * total) * weight
    return [probabilities(arb_mat(kernel)) for kernel in kernels]


def probabilities(kernel: arb_mat) -> list[arb]:
    """Coefficients of det(1 - (1 - z) K) by powers of z: det(1 - K) times those of det(1 + zR), R = K/(1 - K)."""
    n = kernel.nrows()
    complement = identity(n) - kernel
    resolvent = complement.solve(kernel)
    power, traces = resolvent, []
    for _ in range(MOST):
        traces.append(sum((power[i, i] for i in range(n)), arb(0)))
        power = power * resolvent
    # Newton's identities.
    elementary = [arb(1)]
    for k in range(1, MOST + 1):
        terms = ((-1) ** (j - 1) * elementary[k - j] * traces[j - 1] for j in range(1, k + 1))
        elementary.append(sum(terms, arb(0)) / k)
    gap = complement.det()
    return [gap * e for e in elementary]


def level_probabilities(s: arb) -> list[arb]:
    """E_β(k) of an interval of length s, in the order of SPACINGS."""
    even, odd = parity_probabilities(s)
    one = [even[0]]
    for k in range(1, 2 * MOST + 2):
        one.append((odd[k // 2] if k % 2 else even[k // 2]) - one[-1])
    return one + [sum((even[j] * odd[k - j] for j in range(k + 1)), arb(0)) for k in range(MOST + 1)]


def spacings(s: arb) -> list[tuple[arb, arb]]:
    """Survival function and density at s, in the order of SPACINGS."""
    step = s * STEP
    below, here, above = (level_probabilities(x) for x in (s - step, s, s + step))
    first = [(b - a) / (2 * step) for a, b in zip(below, above, strict=True)]
    second = [(a - 2 * m + b) / step**2 for a, m, b in zip(below, here, above, strict=True)]

    def weighted(values: list[arb], beta: int, k: int) -> arb:
        return sum(((k - j + 1) * values[FIRST[beta] + j] for j in range(k + 1)), arb(0))

    return [(-weighted(first, *which), weighted(second, *which)) for which in SPACINGS]


def exponent(beta: int, k: int) -> int:
    """The exponent of s in F near 0."""
    return k + beta * (k + 1) * (k + 2) // 2 + 1


def panel(index: int) -> list[tuple[list[float], list[float]]]:
    """The coefficients of tail and slope on one panel, in the order of SPACINGS."""
    ctx.prec = precision((index + 1) * WIDTH)
    points = [WIDTH * (index + (angle.cos() + 1) / 2) for angle in chebyshev_angles(NODES)]
    result = []
    for (beta, k), column in zip(SPACINGS, zip(*map(spacings, points), strict=True), strict=True):
        if index * WIDTH < k + 1:
            rows = [
                ((1 - sf) / s ** exponent(beta, k), s * pdf / (1 - sf))
                for s, (sf, pdf) in zip(points, column, strict=True)
            ]
        else:
            rows = [(sf, pdf / sf) for sf, pdf in column]
        series = [chebyshev_coefficients([value.log() for value in values]) for values in zip(*rows, strict=True)]
        result.append(tuple(floats(part)[:KEPT] for part in series))
    return result


def far_point(index: int) -> list[str]:
    """Values of the expansion at one node, in the order of SPACINGS, as text: balls cannot leave their process."""
    ctx.prec = precision(FARTHEST)
    near, far = 1 / arb(PANELS * WIDTH), 1 / arb(FARTHEST)
    s = 1 / ((near + far) / 2 + (near - far) / 2 * chebyshev_angles(FAR_NODES)[index].cos())
    pi, result = arb.pi(), []
    for (beta, k), (sf, _) in zip(SPACINGS, spacings(s), strict=True):
        power = 1 - arb(beta * k * (k - 1) + k * (2 * beta - 2)) / 4 - (arb(1) / 8 if beta == 1 else arb(1) / 4)
        linear = (beta * k + arb(beta) / 2 - 1) * pi / 2
        result.append(sf.log() + beta * (pi * s / 4) ** 2 - linear * s - power * s.log())
    return [value.str(40, radius=False) for value in result]


def build() -> dict[str, np.ndarray]:
    """The arrays of the table."""
    ctx.prec = 256
    with Pool() as pool:
        panels = pool.map(panel, range(PANELS), chunksize=1)
        far = pool.map(far_point, range(FAR_NODES), chunksize=1)
    part = lambda which: np.array([[row[which] for row in column] for column in zip(*panels, strict=True)])
    expansion = [floats(chebyshev_coefficients(list(map(arb, column)))) for column in zip(*far, strict=True)]
    return {"tail": part(0), "slope": part(1), "right": np.array(expansion)}


if __name__ == "__main__":
    np.savez(TABLE, **build())
