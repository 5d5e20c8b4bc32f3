r"""Distances between two levels of the GOE or the GSE, for their form factors.

Derivation, in the notation of `hermite_gap_probabilities` with a function f in place of the indicator of J. Let
$\{u, v\} = u^T A^T v$, and let c be 2 for β = 1 and 1 for β = 4. The second order of the generating function gives the
density $\rho(x) = c\,\{h(x), e(x)\}$ of the levels and

$$\mathrm{Var} \sum_j f(x_j) = \int |f|^2 \rho + P[f] - \iint f(x)\,\bar f(y)\,T(x, y), \qquad
T = c^2 \big[\{h(x), e(y)\} \{h(y), e(x)\} + \{h(x), h(y)\} \{e(x), e(y)\}\big] .$$

For β = 1 and odd n the border is one more function, with h = 0 and e = -1/2. For β = 4, P is 0. For β = 1, P is the
term with the sign of x - y. For $f(x) = e^{i\tau x}$ its Fourier transform is a principal value, because the
$\varphi_p$ are their own Fourier transforms:

$$P = \sum_p \iint e^{i\tau(x - y)}\,\mathrm{sgn}(y - x)\,\psi_p'(x)\,\psi_p(y)
= 2 \sum_p \mathrm{PV}\!\!\int \frac{q\,\varphi_p(q)^2}{q - \tau}\,dq .$$

All of these functions are entire and decay beyond $\sqrt{2m}$, m = size. Their Fourier transforms decay beyond twice
this number. On a grid of step $\pi/(2\sqrt{2m} + 13)$ the trapezoidal rule is therefore right to rounding, and so is
its companion for principal values,

$$\mathrm{PV}\!\!\int \frac{g(q)}{q - \tau}\,dq = \sum_a g(x_a)\,\frac{1 - \cos \pi v_a}{v_a}, \qquad
v_a = (x_a - \tau)/\text{step} .$$

On the grid the exponential depends only on the difference of the indices of x and y. So T is summed along its diagonals
once, and a time takes O(n) operations.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy  # loads `scipy.special` when it is first used

from rmtjax.laws._correlations.hermite_gap_probabilities import skew_basis

# Beyond these distances from the edges the functions, and their Fourier transforms, are below 1e-17.
_MARGIN, _MARGIN_OF_TIMES = 9.0, 13.0
_ROWS = 256  # rows of T at a time


class Distances(NamedTuple):
    r"""Sums on a grid of points $x_a = a\,\text{step}$, from -m to m."""

    step: float
    density: np.ndarray  # step times the density of the levels
    pairs: np.ndarray  # sums of T over the pairs of points at the distances 0, …, 2m steps, in both directions
    squares: np.ndarray | None  # the sum of the φ_p² in the principal value; None for β = 4


@functools.cache
def distances(n: int, beta: int) -> Distances:
    """The sums for β = 1 or 4, in float64 on the host."""
    size = 2 * n if beta == 4 else n
    edge, odd = math.sqrt(2 * size), beta == 4 or size % 2 == 1
    step = math.pi / (2 * edge + _MARGIN_OF_TIMES)
    last = math.ceil((edge + _MARGIN) / step)
    x = step * np.arange(-last, last + 1)

    functions = _hermite_functions(size + 1, x)
    known = np.vstack([functions, scipy.special.erf(x / math.sqrt(2))])
    h, e = (coefficients @ known for coefficients in skew_basis(size, odd=odd))
    if size % 2:
        e[-1] = -0.5
    turned = lambda u: np.stack([-u[1::2], u[::2]], 1).reshape(u.shape)  # A^T u
    c, turned_h, turned_e = 2 if beta == 1 else 1, turned(h), turned(e)
    pairs = np.zeros(x.size)
    for start in range(0, x.size, _ROWS):
        rows, on = slice(start, start + _ROWS), slice(start, None)
        he, hh, ee = h[:, rows].T @ turned_e[:, on], h[:, rows].T @ turned_h[:, on], e[:, rows].T @ turned_e[:, on]
        block = he * (turned_e[:, rows].T @ h[:, on]) + hh * ee
        for i, row in enumerate(block):
            pairs[: row.size - i] += row[i:]
    pairs *= (c * step) ** 2
    pairs[1:] *= 2
    squares = np.sum(functions[int(odd) : size - size % 2 : 2] ** 2, axis=0) if beta == 1 else None
    return Distances(step, step * c * np.sum(h * turned_e, axis=0), pairs, squares)


def _hermite_functions(count: int, x: np.ndarray) -> np.ndarray:
    """Orthonormal Hermite functions on the host, with an exponent for each point against underflow."""
    exponent = np.round(-(x**2) / (2 * math.log(2))).astype(int)
    before, now = np.zeros_like(x), np.pi**-0.25 * np.exp(-(x**2) / 2 - exponent * math.log(2))
    functions = np.empty((count, x.size))
    for k in range(count):
        functions[k] = np.ldexp(now, exponent)
        before, now = now, math.sqrt(2 / (k + 1)) * x * now - math.sqrt(k / (k + 1)) * before
        shift = np.frexp(np.maximum(np.abs(now), np.abs(before)))[1]
        before, now, exponent = np.ldexp(before, -shift), np.ldexp(now, -shift), exponent + shift
    return functions
