r"""Builds `src/rmtjax/laws/_spacings/bulk_gap_ratio.npz`, the table of ratios of two consecutive spacings in the bulk.

In units of the mean spacing, let ρ(a, b) be the joint density of a level's distances a and b to its left and right
neighbours. The fraction $v = a/(a + b)$ then has the density

$$H(v) = \int_0^\infty s\,\rho(vs, (1 - v)s)\,ds, \qquad 0 < v < 1,$$

which is symmetric, and the ratio r = v/(1 - v) of the smaller to the larger spacing has the density
$2 (1 - v)^2 H(v)$, v < 1/2.

Density of both spacings. Levels in the bulk are a determinantal (β = 2) or Pfaffian process, whose correlations are
determinants, or square roots of determinants, of the kernels (Mehta 2004, sections 6.1, 7.2 and 8.1, with the pair
correlation $1 - S^2 + D I$ in all of them)

$$K_2 = S, \qquad K_{1,4} = \begin{pmatrix} S & D \\ I & S \end{pmatrix}, \qquad
S(x) = \frac{\sin(c\pi x)}{c\pi x}, \quad D = S', \quad I(x) = \int_0^x S - \tfrac12 [\beta = 1] \operatorname{sgn} x,$$

at x - y, with c = 2 for β = 4 and otherwise 1. That there are levels at -a, 0 and b and none between them is the sum
over k of $(-1)^k/k!$ times the integral of their correlation with k more levels, and so a Fredholm determinant that is
bordered by the three levels: with the indices i of the levels and q of the points of (-a, b)

$$\rho(a, b) = \det\begin{pmatrix} 1 - K_{qq} & -K_{qi} \\ K_{iq} & K_{ii} \end{pmatrix}^{\gamma}, \qquad
\gamma = 1 \text{ for } \beta = 2, \text{ else } \tfrac12 .$$

Gauss-Legendre rules on (-a, 0) and (0, b) make this a matrix with an error that falls faster than exponentially
(Bornemann 2010, Math. Comp. 79, 871), since S, D and the integral of S are entire. Only the sign function of β = 1
needs care: wherever it is an operator it stands between operators of smooth kernels, so it may be projected on the
polynomials of the rule, where it is exact, as the integral of a Legendre polynomial is a difference of two others.

Variables of the table. H is entire, and with $y = 1 - 2v = (1 - r)/(1 + r)$ even in y. So for each β short Chebyshev
series on one panel are the whole law, with both tails in relative accuracy: those of

$$\frac{H}{v^\beta (1 - v)^\beta} \text{ and } \frac{1 - F}y \text{ by } y^2 \in [0, 1], \qquad
\frac F{v^{\beta+1}} \text{ by } v \in [0, \tfrac12],$$

and of the quantiles, $v/w$ by w where $F = w^{\beta+1} \le \tfrac12$ and $y/q$ by q where $1 - F = q \le \tfrac12$.
Nothing is normalised: that the mass is 1 to 22 digits, which the script prints, is a check.

Run it with no arguments; it takes six minutes on one core and needs python-flint.
"""

import functools
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from ball_arithmetic import chebyshev_angles, chebyshev_coefficients, chebyshev_value, floats, gauss_legendre
from flint import arb, arb_mat, ctx

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "laws" / "_spacings" / "bulk_gap_ratio.npz"
BETAS = (1, 2, 4)
BITS = 400
# Beyond these lengths of both spacings together the density, a Gaussian function, is below 1e-20.
FARTHEST = {1: 11, 2: 8, 4: 7}
LENGTHS = 50  # nodes of the integral over s
NODES = 24  # nodes of the determinants on each spacing
FRACTIONS = 24  # nodes of the series
SERIES_NODES = 48  # nodes of the other series
KEPT = 34
STEPS = 8  # of Newton's method


def kernels(beta: int, x: arb) -> tuple[arb, arb, arb]:
    """S(x), its derivative, and its integral from 0."""
    c = 2 if beta == 4 else 1
    value = (c * x).sinc_pi()
    return value, ((c * x).cos_pi() - value) / x, (c * arb.pi() * x).si() / (c * arb.pi())


@functools.cache
def half_sign(num_nodes: int) -> list[list[arb]]:
    """The operator of the kernel sgn(x - y)/2 on [-1, 1] between polynomials, in the symmetric scaling of the rule."""
    rule = gauss_legendre(num_nodes)
    # P_0, ..., P_n at each node; P_n vanishes there, and with it the part that is no polynomial of the rule.
    values = [[x.legendre_p(k) for k in range(num_nodes + 1)] for x, _ in rule]
    integrals = [[p[1], *((p[k + 1] - p[k - 1]) / (2 * k + 1) for k in range(1, num_nodes))] for p in values]
    roots = [w.sqrt() for _, w in rule]
    moments = [[(2 * k + 1) * p[k] / 2 * root for k in range(num_nodes)] for p, root in zip(values, roots, strict=True)]
    return [
        [root * sum((f * g for f, g in zip(row, column, strict=True)), arb(0)) for column in moments]
        for row, root in zip(integrals, roots, strict=True)
    ]


def both_spacings(beta: int, a: arb, b: arb, num_nodes: int = NODES) -> arb:
    """The joint density ρ(a, b) of two consecutive spacings."""
    rule = gauss_legendre(num_nodes)
    points = [(x - 1) * a / 2 for x, _ in rule] + [(x + 1) * b / 2 for x, _ in rule] + [-a, arb(0), b]
    roots = [(w * a / 2).sqrt() for _, w in rule] + [(w * b / 2).sqrt() for _, w in rule] + [arb(1)] * 3
    n, inside = len(points), 2 * num_nodes
    entries: list[list[tuple[arb, arb, arb]]] = [[(arb(0), arb(0), arb(0))] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            # The difference of a ball and itself is no exact 0.
            s, d, integral = kernels(beta, points[i] - points[j]) if i != j else (arb(1), arb(0), arb(0))
            weight = roots[i] * roots[j]
            integral = weight * integral
            if beta == 1 and i != j:
                if i < inside and i // num_nodes == j // num_nodes:
                    sign = half_sign(num_nodes)[i % num_nodes][j % num_nodes] * (a if i < num_nodes else b) / 2
                else:
                    sign = weight / 2 * (1 if points[i] > points[j] else -1)
                integral -= sign
            entries[i][j], entries[j][i] = (weight * s, weight * d, integral), (weight * s, -weight * d, -integral)
    blocks = ((0,),) if beta == 2 else ((0, 1), (2, 0))
    rows = []
    for p, line in enumerate(blocks):
        for i in range(n):
            sign = -1 if i < inside else 1
            row = [sign * entries[i][j][which] for which in line for j in range(n)]
            if i < inside:
                row[p * n + i] += 1
            rows.append(row)
    determinant = arb_mat(rows).det()
    return determinant if beta == 2 else determinant.sqrt()


def fraction_density(beta: int, v: arb, lengths: int = LENGTHS, num_nodes: int = NODES) -> arb:
    """The density H(v) of the fraction v that the left spacing has of both."""
    half = arb(FARTHEST[beta]) / 2
    nodes = [((x + 1) * half, w * half) for x, w in gauss_legendre(lengths)]
    return sum((w * s * both_spacings(beta, v * s, (1 - v) * s, num_nodes) for s, w in nodes), arb(0))


def node(beta: int, index: int, num_nodes: int = FRACTIONS) -> str:
    """The value of H/(v(1 - v))^β at one node, as text: balls cannot leave their process."""
    ctx.prec = BITS
    z = (1 + chebyshev_angles(num_nodes)[index].cos()) / 2
    v = (1 - z.sqrt()) / 2
    return (fraction_density(beta, v) / (v * (1 - v)) ** beta).str(60)


class Law:
    """The law from the coefficients of its first series, in ball arithmetic."""

    def __init__(self, beta: int, coefficients: list[arb]):
        self.beta, self.coefficients = beta, coefficients
        self.rule = [((x + 1) / 2, w / 2) for x, w in gauss_legendre(36)]  # exact up to degree 71

    def reduced(self, v: arb) -> arb:
        """H/(v(1 - v))^β."""
        return chebyshev_value(self.coefficients, (2 * (1 - 2 * v) ** 2 - 1).acos())

    def density(self, v: arb) -> arb:
        """H(v)."""
        return (v * (1 - v)) ** self.beta * self.reduced(v)

    def lower(self, v: arb) -> arb:
        """F/v^(β+1)."""
        values = ((t, w, self.reduced(v * t)) for t, w in self.rule)
        return 2 * sum((w * (t * (1 - v * t)) ** self.beta * h for t, w, h in values), arb(0))

    def upper(self, y: arb) -> arb:
        """(1 - F)/y."""
        return sum((w * self.density((1 - y * t) / 2) for t, w in self.rule), arb(0))

    def lower_quantile(self, w: arb, start: arb) -> arb:
        """The v at which F is w^(β+1), by Newton's method for F^(1/(β+1)), which is nearly linear."""
        v, power = start, self.beta + 1
        for _ in range(STEPS):
            root = v * self.lower(v).root(power)
            v = arb((v - (root - w) * power * root**self.beta / (2 * self.density(v))).mid())
        return v

    def upper_quantile(self, q: arb, start: arb) -> arb:
        """The y at which 1 - F is q."""
        y = start
        for _ in range(STEPS):
            y = arb((y - (y * self.upper(y) - q) / self.density((1 - y) / 2)).mid())
        return y

    def mean(self) -> arb:
        """The mean of the ratio."""
        return sum((w * t / 2 / (1 - t / 2) * self.density(t / 2) for t, w in self.rule), arb(0))


def series(law: Law) -> list[list[arb]]:
    """The coefficients of the five series."""
    units = [(1 + angle.cos()) / 2 for angle in chebyshev_angles(SERIES_NODES)]
    lower, upper = [law.lower(u / 2) for u in units], [law.upper(z.sqrt()) for z in units]
    # Nodes descend, and each search starts from the solution at the node before.
    largest, v, y = (arb(1) / 2).root(law.beta + 1), arb(0.3), arb(0.3)
    fractions, distances = [], []
    for u in units:
        v, y = law.lower_quantile(largest * u, v), law.upper_quantile(u / 2, y)
        fractions.append(v / (largest * u))
        distances.append(y / (u / 2))
    return [law.coefficients, *map(chebyshev_coefficients, (lower, upper, fractions, distances))]


def kept(coefficients: list[arb]) -> list[float]:
    """The coefficients in float64, with 0 where they are lost in rounding."""
    row = np.array(floats(coefficients))
    row[np.abs(row) < 2.0**-58 * np.abs(row).max()] = 0
    assert not row[KEPT:].any()
    return np.pad(row, (0, KEPT))[:KEPT].tolist()


def build() -> dict[str, np.ndarray]:
    """The arrays of the table."""
    ctx.prec = BITS
    with Pool() as pool:
        values = pool.starmap(node, [(beta, k) for beta in BETAS for k in range(FRACTIONS)], chunksize=1)
    table = []
    for place, beta in enumerate(BETAS):
        law = Law(beta, chebyshev_coefficients([arb(v) for v in values[place * FRACTIONS :][:FRACTIONS]]))
        print(beta, "mass - 1:", (law.upper(arb(1)) - 1).str(5), "mean:", law.mean().str(20, radius=False))
        table.append([kept(row) for row in series(law)])
    return {"series": np.array(table)}


if __name__ == "__main__":
    np.savez(TABLE, **build())
