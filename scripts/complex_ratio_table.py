r"""Builds `src/rmtjax/laws/_spacings/complex_spacing_ratio.npz`, the table of complex spacing ratios in the bulk.

Condition an infinite complex Ginibre spectrum on a level at the origin, in the unit in which the density of levels is
1/π. The others are then a determinantal process with the orthogonal functions $z^{j+1} e^{-|z|^2/2}$, j = 0, 1, …,
which are orthogonal on every disc around the origin too. That the nearest two are at u and w, |u| < |w|, and no other
in the disc of radius |w|, has therefore the density

$$\prod_j \frac{\Gamma(j + 2, s)}{\Gamma(j + 2)} \det[R(x, y)]_{x, y \in \{u, w\}}, \qquad
R(x, y) = \frac{x \bar y}\pi e^{-(|x|^2 + |y|^2)/2} \sum_j \frac{(x \bar y)^j}{\Gamma(j + 2, s)}, \qquad s = |w|^2 .$$

With u = zw, and the formula of Cauchy and Binet for the determinant, the density of the ratio z is

$$p(z) = \frac{|z|^2}\pi \int_0^\infty s^3 e^{-s(1 + |z|^2)} E(s) \sum_{j < k} a_j a_k |z^j - z^k|^2\,ds, \qquad
E = \prod_j \frac{\Gamma(j + 2, s)}{\Gamma(j + 2)}, \quad a_j = \frac{s^j}{\Gamma(j + 2, s)} .$$

As $z^j - z^k$ has the factor 1 - z, this is $t\,|1 - z|^2 \sum_m h_m(t) \operatorname{Re} z^m$ with $t = |z|^2$ and
entire functions $h_m$, of which the table has the Chebyshev series by $2t - 1$. All sums and integrals are of positive
numbers, so float64 keeps its digits. The radial law is $F = t^2 G(t)$, and its quantile $t = w\,T(w)$ for
$w = \sqrt F$; the table has the series of G and T too. Nothing is normalised: that G(1) is 1 to 14 digits, which the
script prints, is a check.

Run it with no arguments; it takes some seconds and needs SciPy.
"""

import math
from pathlib import Path

import numpy as np
from scipy.special import gammaincc, gammaln

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "laws" / "_spacings" / "complex_spacing_ratio.npz"
TERMS = 70  # functions; a term of j has the weight s^j/j!
FARTHEST = 16.0  # E(s) is 1e-33 there
NODES = 24  # of the series of h and G
ORDERS = 32  # numbers m; h at m = 32 is 1e-17 of that at 0
QUANTILE_NODES = 32

_x, _w = np.polynomial.legendre.leggauss(160)
S, WEIGHTS = (_x + 1) * FARTHEST / 2, _w * FARTHEST / 2
J = np.arange(TERMS)
SURVIVAL = gammaincc(J[:, None] + 2, S)
A = np.exp(J[:, None] * np.log(S) - gammaln(J[:, None] + 2)) / SURVIVAL


def pairs(t: float) -> np.ndarray:
    """The integral with a_j a_k, for all j and k."""
    return (A * WEIGHTS * S**3 * np.exp(-S * (1 + t)) * SURVIVAL.prod(axis=0) / math.pi) @ A.T


def modes(t: float) -> np.ndarray:
    """The functions h_m at t."""
    integrals, sums = pairs(t), np.concatenate([[0], np.cumsum(t**J)])
    # |1 + z + … + z^(d-1)|² has the part (2 - δ_m0) (1 + t + … + t^(d-1-m)) Re z^m, d = k - j.
    lengths = J - J[:, None] - np.arange(ORDERS)[:, None, None]
    parts = np.sum(integrals * t ** J[:, None] * sums[np.maximum(lengths, 0)], axis=(1, 2))
    return np.where(np.arange(ORDERS) > 0, 2, 1) * parts


def circle(t: float) -> float:
    """The mean of p over the circle, over t."""
    powers = t**J
    return float(np.sum(np.triu(pairs(t), 1) * (powers[:, None] + powers)))


def series(values: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Chebyshev coefficients of functions, a column each, with their values at the cosines of these angles."""
    n = len(angles)
    coefficients = 2 / n * np.cos(np.arange(n)[:, None] * angles) @ values
    coefficients[0] /= 2
    return coefficients


def angles(n: int) -> np.ndarray:
    """The angles of the Chebyshev nodes."""
    return (np.arange(n) + 0.5) * np.pi / n


def value(coefficients: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """A series on [0, 1]."""
    return np.polynomial.chebyshev.chebval(2 * unit - 1, coefficients)


def build() -> dict[str, np.ndarray]:
    """The arrays of the table."""
    at = angles(NODES)
    units = (1 + np.cos(at)) / 2
    density = series(np.array([modes(t) for t in units]), at)
    mean = series(np.array([circle(t) for t in units]), at)
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2
    mass = series(np.array([math.pi * np.sum(w * x * value(mean, t * x)) for t in units]), at)
    at = angles(QUANTILE_NODES)
    targets = (1 + np.cos(at)) / 2
    t = targets * (1 + (1 / value(mass, np.zeros(1)) ** 0.5 - 1) * (1 - targets))
    for _ in range(50):
        root = t * value(mass, t) ** 0.5
        t = t - (root - targets) * 2 * root / (math.pi * t * value(mean, t))
    quantile = series(t / targets, at)
    h = np.array([modes(r * r) for r in x])
    # The part of cos θ in |1 - z|² Σ h_m Re z^m, over r.
    first = (1 + x**2) * h[:, 1] - 2 * h[:, 0] - x**2 * h[:, 2]
    print("mass - 1: ", value(mass, np.ones(1))[0] - 1)
    print("E|z|:     ", 2 * math.pi * np.sum(w * x**4 * value(mean, x**2)))
    print("E cos arg:", math.pi * np.sum(w * x**4 * first))
    return {"density": density, "mass": mass, "quantile": quantile}


if __name__ == "__main__":
    table = build()
    for name, array in table.items():
        print(name, array.shape, "last coefficient over the first:", np.abs(array[-1] / array[0]).max())
    np.savez_compressed(TABLE, **table)
