"""Tools of the table builders: quadrature rules and Chebyshev series in the ball arithmetic of Arb."""

import functools

from flint import arb, arb_mat, ctx


def gauss_legendre(num_nodes: int) -> list[tuple[arb, arb]]:
    """Nodes and weights on [-1, 1], in the current precision."""
    return _rule(num_nodes, ctx.prec)


@functools.cache
def _rule(num_nodes: int, bits: int) -> list[tuple[arb, arb]]:
    assert bits == ctx.prec
    return [arb.legendre_p_root(num_nodes, k, weight=True) for k in range(num_nodes)]


def identity(n: int) -> arb_mat:
    """The unit matrix."""
    return arb_mat([[int(i == j) for i in range(n)] for j in range(n)])


def chebyshev_angles(num_nodes: int) -> list[arb]:
    """The angles of the Chebyshev nodes cos(angle), nodes descending."""
    return [arb.pi() * (2 * k + 1) / (2 * num_nodes) for k in range(num_nodes)]


def chebyshev_coefficients(values: list[arb]) -> list[arb]:
    """Coefficients of the polynomial through values at the nodes."""
    angles, n = chebyshev_angles(len(values)), len(values)
    sums = [sum((v * (k * a).cos() for v, a in zip(values, angles, strict=True)), arb(0)) for k in range(n)]
    return [2 * total / n / (2 if k == 0 else 1) for k, total in enumerate(sums)]


def chebyshev_value(coefficients: list[arb], angle: arb) -> arb:
    """The value of the series at cos(angle)."""
    return sum((c * (k * angle).cos() for k, c in enumerate(coefficients)), arb(0))


def chebyshev_derivative(coefficients: list[arb]) -> list[arb]:
    """Coefficients of the derivative of a series (DLMF 18.9.21, downwards)."""
    result = [arb(0)] * (len(coefficients) + 1)
    for k in range(len(coefficients) - 1, 0, -1):
        result[k - 1] = result[k + 1] + 2 * k * coefficients[k]
    return [result[0] / 2, *result[1:-2]]


def floats(values: list[arb]) -> list[float]:
    """The values rounded to float64; an error if a ball is wider than the rounding."""
    assert all(v.rad() < 2.0**-60 for v in values)
    return [float(v.mid()) for v in values]
