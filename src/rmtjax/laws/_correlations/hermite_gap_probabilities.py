r"""Probabilities that an interval J holds k of the n levels of the Gaussian ensembles.

For β = 2, k is the number of successes in independent trials. The probabilities of success are the eigenvalues of
$\int_J \varphi_i \varphi_j$ for orthonormal Hermite functions φ. For β = 1 and 4 let $\rho = 1 + (z - 1) 1_J$ and
$(\varepsilon h)(x) = \frac12 \int \mathrm{sgn}(x - y)\,h(y)\,dy$. By de Bruijn (1955) the generating function
$P(z) = \sum_k E(k) z^k$ is the Pfaffian of the skew products of functions f, g that span a space,

$$\beta = 4: \int (f g' - f' g)\,\rho, \qquad \beta = 1: \iint f(x)\,\mathrm{sgn}(y - x)\,g(y)\,\rho(x) \rho(y),$$

divided by its value at z = 1. The space is spanned by $\varphi_0, \dots, \varphi_{n-1}$ for β = 1 and by
$\varphi_0, \dots, \varphi_{2n-1}$ for β = 4. With functions h and $e = \varepsilon h$, so that $e' = h$, let

$$H_{ij} = \int_J (e_i h_j - h_i e_j), \qquad W_{ij} = e_i(b)\,e_j(a) - e_i(a)\,e_j(b), \qquad J = (a, b),$$

and let A be H for the whole line. Then the matrices of the skew products are

$$\beta = 4: A + (z - 1) H \ \ (h = f'), \qquad \beta = 1: A + (z^2 - 1) H + (z - 1)^2 W \ \ (h = f) .$$

The formula for β = 1 holds because the double integral is H + W over J, and 2H with one of the points in J. A consists
of blocks $\begin{pmatrix} 0 & 1 \\ -1 & 0 \end{pmatrix}$ in the basis of pairs $h = (\psi'/\sqrt2, \psi/\sqrt2)$. For
β = 1 and even n, ψ runs through the even φ, and otherwise through the odd ones; for β = 4 the space holds both φ and εφ
of these. For β = 1 and odd n the even $\varphi_{n-1}$ remains. It is scaled to have the integral 1, and the matrix is
bordered by $\int h \rho$, which at z = 1 is 0 for all the other functions.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import complex_dtype
from rmtjax._typing import DysonIndex, IntervalLike
from rmtjax._varying import varying_like
from rmtjax.laws._correlations.gap_probabilities import distribution, not_negative
from rmtjax.linalg.internal import decompose_one_by_one
from rmtjax.special.internal import hermite_functions, nodes_and_weights


def hermite_gap_probabilities(n: int, interval: IntervalLike, beta: DysonIndex, max_count: int) -> Float[Array, " k"]:
    r"""Probabilities E(0), …, E(max_count) of the numbers of levels of a Gaussian ensemble in an interval.

    For β = 2 they are the coefficients of $\det(1 - (1 - z) M)$, $M_{ij} = \int_J \varphi_i \varphi_j$, with the first
    n orthonormal Hermite functions. For β = 1 and 4 they are the coefficients of Pfaffians, interpolated at roots of
    unity. The absolute error is 1e-13 for n = 10 and 2e-12 for n = 40 (float32: 1e-5). The computation takes O(n³)
    operations for β = 2 and O(n⁴) for β = 1 and 4.

    Convention: levels of `GOE(n)`, `GUE(n)` and `GSE(n)`, with the spectrum on [-2, 2] and the weight
    $e^{-\beta n x^2/4}$. At β = 4 each pair of equal levels counts as one.

    Args:
        n: number of levels, n ≥ 1; static.
        interval: ends a < b, which may be infinite.
        beta: 1, 2 or 4; static.
        max_count: largest number of levels K ≥ 0; static.

    Returns:
        The K + 1 probabilities; 0 for more levels than n.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> positive = (0.0, float("inf"))
        >>> print([f"{p:.4f}" for p in hermite_gap_probabilities(2, positive, beta=1, max_count=2)])
        ['0.1464', '0.7071', '0.1464']

    References:
        de Bruijn (1955), J. Indian Math. Soc. 19, 133; Mehta (2004), Random Matrices, sections 6.3 and 7.3; Forrester
        (2010), Log-Gases and Random Matrices, chapters 6 and 9.
    """
    n, count = _checks.integer("n", n, at_least=1), _checks.integer("max_count", max_count, at_least=0)
    beta = _checks.dyson_index(beta)
    lower, upper = _checks.interval("interval", interval)
    return _probabilities(n, lower, upper, beta, count)


@functools.partial(compiled, static_argnums=(0, 3, 4))
def _probabilities(
    n: int, lower: Float[Array, ""], upper: Float[Array, ""], beta: int, count: int
) -> Float[Array, " k"]:
    size = 2 * n if beta == 4 else n
    # To rounding, no level lies beyond this edge.
    edge = math.sqrt(2 * size) + 8
    # The Hermite functions contain the root of the weight exp(-x²) for β = 2, the whole weight for β = 1, and the root
    # of the weight, with x larger by √2, for β = 4.
    a, b = (jnp.clip(math.sqrt(size / 2) * end, -edge, edge) for end in (lower, upper))
    values = _unitary(n, a, b, min(count, n)) if beta == 2 else _pfaffians(size, a, b, beta, min(count, n))
    return jnp.pad(not_negative(values), (0, max(count - n, 0)))


def hermite_quadrature(
    size: int, a: Float[Array, ""], b: Float[Array, ""]
) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
    """Nodes and weights on (a, b) that resolve products of two functions."""
    return nodes_and_weights(a, b, 2 * size + int(13 * math.sqrt(size)) + 60)


def _unitary(n: int, a: Float[Array, ""], b: Float[Array, ""], count: int) -> Float[Array, " k"]:
    x, w = hermite_quadrature(n, a, b)
    functions = hermite_functions(n, x)
    return distribution(decompose_one_by_one((w[None] * functions) @ functions.T)[0], count)


def _pfaffians(size: int, a: Float[Array, ""], b: Float[Array, ""], beta: int, count: int) -> Float[Array, " k"]:
    """E(0), …, E(count) for β = 1 and 4, as the coefficients of P."""
    products = skew_products(size, a, b, odd=beta == 4 or size % 2 == 1)
    whole, inside, corners, border = (each.astype(complex_dtype(each.dtype))[None] for each in products)
    # The Fourier transform of P at roots of unity gives its coefficients. P(1) is 1, and conjugate roots have conjugate
    # values, so the upper roots suffice. Their number is odd, as -1 is a zero of P for half of the line and odd n.
    degree = size // 2 if beta == 4 else size
    num_roots = degree + 1 + degree % 2
    upper = np.arange(1, num_roots // 2 + 1)
    z = np.exp(2j * np.pi * upper / num_roots)[:, None, None].astype(complex_dtype(inside.dtype))
    if beta == 4:
        matrices = whole + (z - 1) * inside
    else:
        matrices = whole + (z**2 - 1) * inside + (z - 1) ** 2 * corners + (z - 1) * border
    phases = np.exp(-2j * np.pi * np.outer(np.arange(count + 1), upper) / num_roots).astype(z.dtype)
    return (1 + 2 * jnp.real(phases @ jax.vmap(_pfaffian)(matrices))) / num_roots


def skew_products(size: int, a: Float[Array, ""], b: Float[Array, ""], *, odd: bool) -> tuple[Array, ...]:
    r"""The matrices A, H and W of the module's docstring, and the factor of z - 1 in the border $\int h \rho$."""
    x, w = hermite_quadrature(size, a, b)
    points = jnp.concatenate([x, jnp.stack([a, b])])
    known = jnp.concatenate([hermite_functions(size + 1, points), erf(points / math.sqrt(2))[None]])
    h, e = (jnp.asarray(each, x.dtype) @ known for each in skew_basis(size, odd=odd))
    h, e, (e_at_a, e_at_b) = h[:, :-2], e[:, :-2], e[:, -2:].T
    whole = jnp.asarray(np.kron(np.eye(h.shape[0] // 2), [[0, 1], [-1, 0]]), x.dtype)
    last = jnp.zeros_like(e_at_a).at[-1].set(size % 2)
    return whole, _skew((w[None] * e) @ h.T), _skew(jnp.outer(e_at_b, e_at_a)), _skew(jnp.outer(e_at_b - e_at_a, last))


@functools.cache
def skew_basis(size: int, *, odd: bool) -> tuple[np.ndarray, np.ndarray]:
    r"""The coefficients of h and e in $\varphi_0, \dots, \varphi_m$, m = size, and the error function.

    They use $\varphi_k' = c_{k-1} \varphi_{k-1} - c_k \varphi_{k+1}$, $c_k = \sqrt{(k + 1)/2}$, and its integral.
    """
    unit = np.eye(size + 2)
    functions, slopes, integrals = unit[:size], np.zeros((size, size + 2)), np.zeros((size, size + 2))
    integrals[0] = np.pi**0.25 / math.sqrt(2) * unit[-1]
    for k in range(size):
        before, after = math.sqrt(k / 2), math.sqrt((k + 1) / 2)
        slopes[k] = before * unit[k - 1] - after * unit[k + 1]
        if k + 1 < size:
            integrals[k + 1] = (before * integrals[k - 1] - functions[k]) / after
    chosen = slice(int(odd), size - size % 2, 2)
    h = np.stack([slopes[chosen], functions[chosen]], 1).reshape(-1, size + 2) / math.sqrt(2)
    e = np.stack([functions[chosen], integrals[chosen]], 1).reshape(-1, size + 2) / math.sqrt(2)
    if size % 2:
        # From one end of the line to the other, the error function grows by 2. The last row is for the border.
        whole, none = 2 * integrals[-1, -1], np.zeros(size + 2)
        h, e = np.vstack([h, functions[-1] / whole, none]), np.vstack([e, integrals[-1] / whole, none])
    return h, e


def _skew(matrix: Float[Array, "m m"]) -> Float[Array, "m m"]:
    return matrix - matrix.T


def _pfaffian(matrix: Complex[Array, "m m"]) -> Complex[Array, ""]:
    """The Pfaffian, by elimination of two rows and columns at a time; each pivot block [[0, p], [-p, 0]] gives p."""
    index = np.arange(matrix.shape[0])

    def eliminate(state: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], None]:
        a, value = state
        sizes = jnp.abs(jax.lax.stop_gradient(a[k]))
        chosen = jnp.argmax(jnp.where(index > k, sizes, -1))
        order = jnp.asarray(index).at[k + 1].set(chosen).at[chosen].set(k + 1)
        a = a[order][:, order]
        pivot = a[k, k + 1]
        value = jnp.where(chosen == k + 1, value, -value) * pivot
        return (a - _skew(jnp.outer(a[k] / pivot, a[k + 1])), value), None

    one = varying_like(jnp.ones((), matrix.dtype), matrix)
    return jax.lax.scan(eliminate, (matrix, one), jnp.arange(0, index.size, 2))[0][1]
