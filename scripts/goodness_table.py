r"""Builds `src/rmtjax/inference/_goodness/null_tails.npz`, the tails of W² and A² for independent values at every n.

Both statistics are sums $T = c + \sum_i h_i(u_{(i)})$ over ordered uniform values. So their transform is a chain of n
integrals,

$$E\,e^{zT} = e^{cz}\,n! \int_{u_1 < \dots < u_n} \prod_i e^{z h_i(u_i)}\,du,$$

and for each λ > 0 at which it exists

$$P(T > x) = \frac1{2\pi i} \int_{\lambda - i\infty}^{\lambda + i\infty} E\,e^{zT}\,e^{-zx}\,\frac{dz}z .$$

The line that is used for x is near the saddle point of the integrand, which keeps the relative digits of small tails.

*W²: the line.* Each integral runs over the logit of u, by Gauss-Legendre rules on panels. At all points of the line the
quotients by the numbers at z = λ, which are positive, are bounded by 1.

The trapezoidal rule has nodes so near that its aliases, $e^{-\lambda L}$ and the tail at x + L, are below
1e-11. The transform falls like $e^{-\sqrt{|z|/4}}$, and from $n^2$ on like $|z|^{-n/2}$. So the rule is long and
ends with a smooth window, which smears the tail over the inverse of its length.

*A²: a recursion.* Let $q_k(v, y)$ be the probability that $\sum_{i \le k} (h_i - \min h_i) > y$ for k ordered values
below v. Then

$$v^k q_k(v, y) = \int_0^v k\,u^{k-1} q_{k-1}(u, y - h_k(u) + \min h_k)\,du .$$

The logarithm of q is kept at nodes in √y and is interpolated; $q_1$ is known in closed form.

*n = 1* has closed forms. *The limit* is a sum of exponentials: $T \to \sum_k Z_k^2/\lambda_k$ with independent normal
$Z_k$, where $\lambda_k = \pi^2 k^2$ and $k(k + 1)$. Its transform at λ/2 is
$f(\lambda) = \prod_k (1 - \lambda/\lambda_k)^{-1/2}$, with a cut on each $[\lambda_{2k-1}, \lambda_{2k}]$; the path
becomes a parabola around all cuts that crosses the axis between 0 and $\lambda_1$.

The table has Chebyshev series of $\log P(T > x)$ by s, on [0, REACH], where

$$s^2 = -\frac n3 \log \frac{n/3 - x}{n/3 - x_{\min}} \quad (W^2 \le n/3), \qquad s^2 = x - x_{\min} \quad (A^2).$$

In $s^2$ the logarithm becomes a line of slope -3 and about -1. Between the rows of the table the series are
interpolated in 1/n.

Run it with no arguments; it takes half an hour on one core.
"""

import functools
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev, legendre

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "inference" / "_goodness" / "null_tails.npz"
SIZES = (*range(1, 13), 16, 24, 48)  # and the limit
REACH = {"cramer-von-mises": 3.75, "anderson-darling": 8.0}
NUM_TERMS = 72
ORDER = 16  # of the rule on each panel


def lines(n: int) -> np.ndarray:
    """Values of λ, of which each x takes the best. Beyond 1800/n samples near 0 would underflow beside those near 1."""
    return np.geomspace(2, min(300, 1800 / n), 14)


def rule() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights on (-1, 1), and the matrix of the integrals from -1 to each node."""
    x, w = legendre.leggauss(ORDER)
    values = legendre.legvander(x, ORDER)
    degree = np.arange(ORDER)
    integrals = np.empty((ORDER, ORDER))
    integrals[:, 0] = 1 + x
    integrals[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degree[1:] + 1)
    return x, w, integrals @ ((degree[:, None] + 0.5) * values[:, :-1].T * w)


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and half lengths."""
    half = np.diff(edges) / 2
    return (edges[1:] + edges[:-1])[:, None] / 2 + half[:, None] * rule()[0], half


def mirrored(width: Callable[[float], float], reach: float) -> np.ndarray:
    """Edges from -reach to reach whose distances are a function of their distance from 0."""
    edges = [0.0]
    while edges[-1] < reach:
        edges.append(edges[-1] + width(edges[-1]))
    return np.array([-each for each in edges[:0:-1]] + edges)


def log_transform(n: int, line: float, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The logarithm of E exp(λ W²), and E exp((λ + iy) W²) over this number."""
    largest = max(y, default=0.0)
    # The phase changes by a few radians on a panel.
    width = lambda x: min(1.5, 6 / math.sqrt(n), 5 / (largest * math.exp(-x)) if largest else 1.5)
    logit, half = panels(mirrored(width, 30))
    _, w, integrals = rule()
    log_u, log_rest = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    f, quotient, scale = np.ones_like(logit), np.ones((y.size, *logit.shape), complex), 0.0
    before = lambda parts: np.concatenate([np.zeros_like(parts[..., :1]), parts.cumsum(axis=-1)[..., :-1]], axis=-1)
    for k in range(1, n + 1):
        h = (np.exp(log_u) - (2 * k - 1) / (2 * n)) ** 2
        g = f * np.exp(line * h - line + log_u + log_rest) * half[:, None]  # h is at most 1
        product = quotient * np.exp(1j * y[:, None, None] * h) * g
        parts, of_product = g @ w, product @ w
        f = before(parts)[:, None] + np.maximum(g @ integrals.T, 0)
        inverse = np.where(f > 1e-290, 1 / np.where(f > 1e-290, f, 1), 0)
        quotient = (before(of_product)[..., None] + product @ integrals.T) * inverse
        total = parts.sum()
        f, scale = f / total, scale + math.log(k * total) + line
        last = of_product.sum(axis=1) / total
    constant = 1 / (12 * n)
    return scale + constant * line, last * np.exp(1j * constant * y)


def along_lines(n: int, x: np.ndarray) -> np.ndarray:
    """The logarithms of P(W² > x), by the integral along a line."""
    choices = lines(n)
    logs = np.array([log_transform(n, each, np.zeros(0))[0] for each in choices])
    exponent = logs - choices * x[:, None] - np.log(choices)
    best = exponent.argmin(axis=1)
    found = np.empty(x.size)
    for index in np.unique(best):
        chosen, line = best == index, choices[index]
        period = min((28 - min(exponent[chosen, index].min(), 0)) / line, n / 3 + 28 / line)
        step = 2 * math.pi / period
        reach = 30 * line + (1000 + 6e4 / n**2.5 if line < 40 else 0)
        y = (np.arange(math.ceil(reach / step)) + 0.5) * step
        window = np.array([0.5 * math.erfc(8 * (each / y[-1] - 0.5)) for each in y])
        blocks = np.array_split(y, math.ceil(y.size / 50))
        values = np.concatenate([log_transform(n, line, block)[1] for block in blocks])
        terms = np.exp(-1j * x[chosen, None] * y) * (values * window / (line + 1j * y))
        found[chosen] = logs[index] - line * x[chosen] + np.log(step / math.pi * terms.sum(axis=1).real)
    return found


def of_two(x: float) -> float:
    """P(W² > x) for two values: twice the area of a triangle outside of a circle around (1/4, 3/4)."""
    square = x - 1 / 24
    r, diagonal = math.sqrt(square), math.sqrt(max(square / 2 - 1 / 16, 0))
    side = math.sqrt(max(square - 1 / 16, 0))

    def outside(u: float) -> float:
        half = square - (u - 0.25) ** 2
        if half <= 0:
            return 1 - u
        half = math.sqrt(half)
        return max(0.75 - half - u, 0) + max(min(0.25 - half, 1 - u), 0)

    corners = [0.25 - r, 0.25 + r, 0.25 - side, 0.25 + side, 0.5 - diagonal, 0.5 + diagonal]
    edges = [0.0, *sorted(each for each in corners if 0 < each < 1), 1.0]
    t, w = legendre.leggauss(40)
    total = 0.0
    for lower, upper in itertools.pairwise(edges):
        # The ends of a piece may be roots.
        angle = math.pi * (t + 1) / 4
        u = lower + (upper - lower) * np.sin(angle) ** 2
        total += (upper - lower) * math.pi / 4 * w @ (np.sin(2 * angle) * [outside(each) for each in u])
    return 2 * total


def cramer_von_mises(n: int, x: np.ndarray) -> np.ndarray:
    """The logarithms of P(W² > x). Near n/3, where all values are near one end, P/(n/3 - x)^n is a smooth function."""
    if n == 2:
        return np.log([of_two(each) for each in x])
    distance, unit = n / 3 - x, n / lines(n)[-1]
    near = distance < 3 * unit
    found = np.empty(x.size)
    found[~near] = along_lines(n, x[~near])
    if near.any():
        known = np.array([1, 1.3, 1.7, 2.2, 3.0]) * unit
        smooth = along_lines(n, n / 3 - known) - n * np.log(known)
        found[near] = n * np.log(distance[near]) + np.polyval(np.polyfit(known, smooth, 4), distance[near])
    return found


def anderson_darling(n: int, s: np.ndarray) -> np.ndarray:
    """The logarithms of P(A² > s² + the least value), by the recursion."""
    fine = {2: 0.04, 3: 0.15, 4: 0.3}.get(n, 0.6)
    logit, half = panels(mirrored(lambda x: fine * max(min(1.0, 6 / n), 0.08 * x), 110))
    _, w, integrals = rule()
    shape, x = logit.shape, logit.ravel()
    log_u, log_rest = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    t = np.linspace(0, REACH["anderson-darling"] * 1.01, 400 if n == 2 else 1600 if n < 12 else 800)

    def height(k: int, x: np.ndarray) -> np.ndarray:
        p = (2 * k - 1) / (2 * n)
        lowest = p * math.log(p) + (1 - p) * math.log(1 - p)
        return 2 * (p * np.logaddexp(0, -x) + (1 - p) * np.logaddexp(0, x) + lowest)

    def log_first(t: np.ndarray) -> np.ndarray:
        """The logarithm of P(h_1 > t²) below u, from both ends of the interval where h_1 is smaller."""
        dense = np.linspace(0, t.max() + 1e-9, 20001)
        lowest = -math.log(2 * n - 1)
        ends = []
        for outer in (-250.0 * n, 250.0):
            inner, outer = np.full(dense.size, lowest), np.full(dense.size, outer)
            for _ in range(90):
                middle = (inner + outer) / 2
                above = height(1, middle) > dense**2
                inner, outer = np.where(above, inner, middle), np.where(above, middle, outer)
            ends.append(np.interp(t, dense, (inner + outer) / 2))
        left = np.minimum(-np.logaddexp(0, -ends[0]) - log_u, 0)
        above = np.exp(-np.logaddexp(0, ends[1])) - np.exp(log_rest)
        with np.errstate(divide="ignore"):
            return np.logaddexp(left, np.log(np.maximum(above, 0)) - log_u)

    log_q = np.zeros(0)
    for k in range(2, n + 1):
        h = height(k, x)
        rest = np.sqrt(np.maximum(t[:, None] ** 2 - h, 0))
        value = log_first(rest) if k == 2 else interpolated(log_q, rest / t[1])
        value = np.where(t[:, None] ** 2 > h, np.minimum(value, 0), 0)
        # The weight k u^(k-1) du, relative to its largest value on each panel.
        log_weight = (math.log(k) + k * log_u + log_rest).reshape(shape)
        top = log_weight.max(axis=1)
        g = (np.exp(log_weight - top[:, None]) * half[:, None]) * np.exp(value).reshape(t.size, *shape)
        found, log_base = np.empty((t.size, *shape)), np.full(t.size, -np.inf)
        for j in range(half.size):
            inside = np.maximum(g[:, j] @ integrals.T, 1e-300)
            found[:, j] = np.logaddexp(log_base[:, None], np.log(inside) + top[j])
            log_base = np.logaddexp(log_base, np.log(np.maximum(g[:, j] @ w, 1e-300)) + top[j])
        log_q = np.minimum(found.reshape(t.size, -1) - k * log_u, 0)
    return interpolated(np.minimum(log_base, 0)[:, None], (s / t[1])[:, None])[:, 0]


def interpolated(table: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Falling columns of a table at places between its rows, by polynomials through six of them.

    A value is between its neighbours, as a polynomial overshoots where a column turns.
    """
    start = np.clip(np.floor(place).astype(int) - 2, 0, table.shape[0] - 6)
    u = place - start
    columns = np.broadcast_to(np.arange(table.shape[1]), place.shape)
    total = np.zeros(place.shape)
    for a in range(6):
        others = [b for b in range(6) if b != a]
        total += math.prod((u - b) / (a - b) for b in others) * table[start + a, columns]
    before = np.clip(np.floor(place).astype(int), 0, table.shape[0] - 2)
    return np.clip(total, table[before + 1, columns], table[before, columns])


def least(test: str, n: int) -> float:
    """The smallest value of the statistic."""
    if test == "cramer-von-mises":
        return 1 / (12 * n)
    odd = 2 * np.arange(1, n + 1) - 1
    return -n - 2 / n * (odd @ np.log(odd / (2 * n)))


def nodes(test: str) -> np.ndarray:
    """The values of s at the nodes of the series."""
    return REACH[test] * (1 + chebyshev.chebpts1(NUM_TERMS)) / 2


def statistic(test: str, n: float, s: np.ndarray) -> np.ndarray:
    """The statistic at s."""
    if test == "cramer-von-mises":
        lowest = least(test, n) if n < math.inf else 0.0
        return lowest + s**2 if n == math.inf else n / 3 - (n / 3 - lowest) * np.exp(-3 * s**2 / n)
    return s**2 + (least(test, n) if n < math.inf else 0.0)


@functools.cache
def limit_rule(test: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the sum of exponentials, on the upper half of the parabola."""
    crossing, height, step, top = (8.0, 1.0, 0.06, 120.0) if test == "cramer-von-mises" else (1.6, 0.4, 0.025, 70.0)
    u = np.arange(0, top, step)
    weights = (2 * u + 2j * height) * step / np.pi
    weights[0] /= 2
    path = crossing + u**2 + 2j * height * u
    if test == "cramer-von-mises":
        theta = np.sqrt(path)
        f = np.sqrt(2 * theta / (1 - np.exp(2j * theta))) * np.exp(1j * (theta / 2 - np.pi / 4))
    else:
        angle = np.pi * np.sqrt(1 + 4 * path) / 2
        f = -1j * np.sqrt(2 * np.pi * path) * np.exp(1j * angle / 2) / np.sqrt(1 + np.exp(2j * angle))
    return path, weights * f / path


def log_tail(test: str, n: float, s: np.ndarray) -> np.ndarray:
    """The logarithm of the tail at s."""
    x = statistic(test, n, s)
    if n == math.inf:
        path, weights = limit_rule(test)
        inside = np.maximum(x, 1e-3)
        found = np.exp(-path / 2 * inside[:, None]) @ weights
        return np.where(x > 1e-3, np.log(np.minimum(found.imag, 1)), 0)
    if n > 1:
        return cramer_von_mises(int(n), x) if test == "cramer-von-mises" else anderson_darling(int(n), s)
    if test == "cramer-von-mises":  # P = 1 - 2 √(x - 1/12), with x = 1/3 - (1/3 - 1/12) exp(-3 s²)
        rest = np.exp(-3 * s**2) / 4
        return np.log(4 * rest / (1 + np.sqrt(1 - 4 * rest)))
    rest = np.exp(-(s**2))  # P = 1 - √(1 - 4 exp(-1 - x))
    return np.log(rest / (1 + np.sqrt(1 - rest)))


def build() -> dict[str, np.ndarray]:
    """The arrays of the table, one row for each size."""
    arrays: dict[str, np.ndarray] = {"inverse_sizes": np.array([*(1 / n for n in SIZES), 0.0])}
    for test in REACH:
        values = []
        for n in (*SIZES, math.inf):
            values.append(log_tail(test, n, nodes(test)))
            print(test, n, values[-1].round(3), flush=True)
        u = chebyshev.chebpts1(NUM_TERMS)
        arrays[test] = np.array([chebyshev.chebfit(u, row, NUM_TERMS - 1) for row in values])
        arrays[f"{test}-least"] = np.array([*(least(test, n) for n in SIZES), 0.0])
    return arrays


if __name__ == "__main__":
    np.savez(TABLE, **build())
