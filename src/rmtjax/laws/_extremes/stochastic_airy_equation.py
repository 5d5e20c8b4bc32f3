r"""The law of Tracy and Widom for every β > 0, from the equation of Bloemendal and Virág.

The lowest level of the stochastic Airy operator lies above -x if the diffusion that comes from +∞ at x,
$dw = (x - w^2)\,dx + \frac2{\sqrtβ}\,dB$, never reaches -∞. For a start at w the probability F(x, w) of this solves

$$\partial_x F + \tfrac2β\,\partial_w^2 F + (x - w^2)\,\partial_w F = 0 .$$

F is a front that gets steeper as β grows and has tails that underflow. With the normal distribution function Φ, let
$F = Φ(\sqrtβ\,G)$. Then G is of order 1, without tails and smooth for every β:

$$\partial_x G + \tfrac2β\,\partial_w^2 G - 2 G (\partial_w G)^2 + (x - w^2)\,\partial_w G = 0 .$$

Both tails of F follow from G in relative accuracy. As β → ∞ the equation becomes the Hamilton-Jacobi equation for the
action $G^2/2$ of the likeliest path. Its characteristics come from the front G = 0 and leave at both ends. So no
boundary values are needed at the ends, and errors of the initial values die out.

As w → -∞, $G \sim -|w|^{3/2}/\sqrt3$ for every β. With w = -κ(x) cot θ and $G = \sin^{-3/2}(θ/2)\,Y$ the unknown Y is
bounded. Its value at θ = 0 is known, and its value at θ = π is G(x, ∞). With $D = \partial_θ$ and

$$A = \sin^2 θ\,D - \tfrac32 \sin θ \cos^2\tfrac θ2, \qquad
\partial_w G = κ^{-1} \sin^{-3/2}(θ/2)\,A Y, \qquad \partial_x \to \partial_x + (κ'/κ) \cot θ\,\sin^2 θ\,D,$$

    -Y_x = (κ'/κ) cotθ A Y + 2/(βκ²) A²Y - (2/κ²) sin⁻³(θ/2) Y (AY)² + (x/κ) AY - κ cot²θ AY,

and $Y_x = κ\,D Y$ at θ = π.

At large x the leading order suffices as a start. With r = √x and u = w + r it is the stationary $G = u \sqrt{r - u/3}$
up to w = r, and constant beyond. The upper tail of F(x, ∞) is known to all orders. Its density is an integral over β
variables (Forrester 2012), all at one saddle point. So it is the mean of $\exp(i p_3/3x^{3/4})$ over a Gaussian
ensemble of β levels of Dyson index 4/β. The sum of their cubes $p_3$ has cumulants that are polynomials in β and 1/β.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax._promotion import complex_dtype, like
from rmtjax.special.internal import chebyshev_coefficients, chebyshev_nodes

# Number of nodes in θ, by the bits of the dtype: rounding grows as its square, which matters in float32.
_NODES = {32: 40, 64: 96}
# Stages of the Radau IIA method, which has order 11, and Newton iterations in each step.
_STAGES, _ITERATIONS = 6, 8
# Ends of the table in units of x, points of the march between them, and nodes in each panel of one unit. _FIRST holds
# the steps before the table. They are short at first, while errors of the start die out fast, and then longer.
LOWER, UPPER, _POINTS, _PANEL_NODES = -8, 9, 72, 12
_FIRST = np.minimum(1e-5 * 1.5 ** np.arange(40), 0.5)
# Row k = 1, 2, … is the coefficient of x^{-3k/2} in log(1 - F), as its coefficients of β^{-3}, …, β.
TAIL = (
    (0, 0, -5 / 12, 3 / 8, -13 / 16),
    (0, 0, 55 / 32, -95 / 64, 45 / 32),
    (-1105 / 576, 45 / 16, -7775 / 768, 1941 / 256, -13811 / 3072),
    (7943 / 256, -11265 / 256, 36969 / 512, -93607 / 2048, 2523 / 128),
)


class _Collocation(NamedTuple):
    """The angles of the nodes, sin⁻³(θ/2) there, and the matrices of A, A², cotθ A and cot²θ A.

    The node θ = 0 has a column but no row.
    """

    angles: np.ndarray
    cubes: np.ndarray
    first: np.ndarray
    second: np.ndarray
    mixed: np.ndarray
    outward: np.ndarray


@functools.cache
def _collocation(number: int) -> _Collocation:
    k = np.arange(number + 1)
    phase = np.pi * k / (2 * number)
    angles = np.pi * np.sin(phase) ** 2
    sine, cosine, half_sine, half_cosine = np.sin(angles), np.cos(angles), np.sin(angles / 2), np.cos(angles / 2)
    sine[-1] = half_cosine[-1] = 0
    signs = (-1.0) ** k * np.where((k == 0) | (k == number), 2, 1)
    gaps = np.pi * np.sin(phase[:, None] + phase) * np.sin(phase[:, None] - phase) + np.eye(number + 1)
    slope = np.outer(signs, 1 / signs) / gaps * (1 - np.eye(number + 1))
    slope -= np.diag(slope.sum(1))
    first = sine[:, None] ** 2 * slope - 1.5 * np.diag(sine * half_cosine**2)
    mixed = (sine * cosine)[:, None] * slope - 1.5 * np.diag(cosine * half_cosine**2)
    # The quotient cos²(θ/2)/sin θ equals cos(θ/2)/(2 sin(θ/2)).
    decay = np.append(0, (cosine**2 * half_cosine)[1:] / (2 * half_sine[1:]))
    outward = cosine[:, None] ** 2 * slope - 1.5 * np.diag(decay)
    return _Collocation(angles[1:], half_sine[1:] ** -3, first[1:], (first @ first)[1:], mixed[1:], outward[1:])


class _Radau(NamedTuple):
    """Nodes and matrix of the Radau IIA method, and its eigenvalues with Im > 0, with right and left eigenvectors."""

    nodes: np.ndarray
    matrix: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray
    rows: np.ndarray


@functools.cache
def _radau() -> _Radau:
    last = np.zeros(_STAGES + 1)
    last[-2:] = 1, -1
    nodes = (np.sort(np.polynomial.legendre.legroots(last).real) + 1) / 2
    powers = np.arange(1, _STAGES + 1)
    matrix = nodes[:, None] ** powers / powers @ np.linalg.inv(nodes[:, None] ** (powers - 1))
    eigenvalues, vectors = np.linalg.eig(matrix)
    # For an even number of stages no eigenvalue is real.
    upper, rows = np.imag(eigenvalues) > 0, np.linalg.inv(vectors)
    return _Radau(nodes, matrix, eigenvalues[upper], vectors[:, upper], rows[upper])


def right_tail(beta: Array, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The expansion of log(1 - F) as x → ∞."""
    root = x * jnp.sqrt(x)
    constant = gammaln(beta / 2) - beta / 2 * jnp.log(4 * beta) - jnp.log(2 * jnp.pi)
    series = jnp.zeros_like(root)
    for row in reversed(TAIL):
        series = (series + jnp.polyval(jnp.asarray(row[::-1], beta.dtype), beta) / beta**3) / root
    return constant - 3 * beta / 4 * jnp.log(x) - 2 * beta / 3 * root + series


def left_leading(beta: Array, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The leading terms of log F as x → -∞, up to a constant (Borot et al. 2011)."""
    root = -x * jnp.sqrt(-x)
    power = (beta / 2 + 2 / beta - 3) / 8
    return -beta * root**2 / 24 + 2**0.5 / 3 * (beta / 2 - 1) * root + power * jnp.log(-x)


def unit(beta: Array) -> Array:
    """The unit of x: the scale of the noise for small β, and the scale of the Airy function for large β."""
    return (1 + 1 / beta) ** (2 / 3)


def _stretch(beta: Array, x: Array) -> Array:
    """The stretch κ of w, on the scale √|x| of the drift."""
    scale = unit(beta)
    return jnp.sqrt(jnp.sqrt(x**2 + 9 * scale**2) + scale)


def _rate(beta: Array, x: Array, y: Float[Array, " n"]) -> Float[Array, " n"]:
    """The derivative of Y in x."""
    terms = [jnp.asarray(array, beta.dtype) for array in _collocation(_NODES[jnp.finfo(beta.dtype).bits])]
    _, cubes, first, second, mixed, outward = terms
    kappa, growth = jax.jvp(lambda x: _stretch(beta, x), (x,), (jnp.ones_like(x),))
    y = jnp.append(-((kappa / 2) ** 1.5) / 3**0.5, y)
    slope = first @ y
    linear = growth / kappa * (mixed @ y) + 2 / (beta * kappa**2) * (second @ y) - kappa * (outward @ y)
    return 2 / kappa**2 * cubes * y[1:] * slope**2 - x / kappa * slope - linear


# By default GPUs round the factors of matrix products to half of their digits.
@jax.default_matmul_precision("highest")
def table(beta: Array) -> Float[Array, "k m"]:
    """Chebyshev coefficients of G(x, ∞) on panels from `LOWER` to `UPPER`, each as wide as a unit of x."""
    # Real arrays get the dtype of β, and complex arrays get the same precision.
    nodes, matrix, eigenvalues, vectors, rows = (
        jnp.asarray(array, complex_dtype(beta.dtype) if np.iscomplexobj(array) else beta.dtype) for array in _radau()
    )
    rate = functools.partial(_rate, beta)

    def step(y: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        x, width = at
        points = x - nodes * width
        # A straight line is a safer guess than the polynomial of the last step.
        stages = y[None] - width * nodes[:, None] * rate(x, y)[None]
        jacobian = jax.jacfwd(rate, 1)(x - width / 2, stages.mean(0))
        # With one Jacobian for all stages, Newton's method decouples into one system for each eigenvalue. The system
        # multiplies a residual that tends to 0, so it need not be differentiated.
        scaled = like(eigenvalues, width) * eigenvalues
        identity, jacobian = (like(scaled, each)[None] for each in (jnp.eye(y.size), jacobian))
        systems = identity + scaled[:, None, None] * jacobian
        # Factored one by one: batched LAPACK calls on several CPU devices can hang (jaxlib 0.10 on two cores).
        factors = jax.lax.map(lu_factor, jax.lax.stop_gradient(systems))

        def improve(_: int, stages: Array) -> Array:
            residual = rows @ like(rows, stages - y[None] + width * matrix @ jax.vmap(rate)(points, stages))
            return stages - 2 * jnp.real(vectors @ jax.lax.map(_solve, (factors, residual)))

        stages = jax.lax.fori_loop(0, _ITERATIONS, improve, stages)
        return stages[-1], stages[-1]

    points = (LOWER + UPPER) / 2 + (UPPER - LOWER) / 2 * chebyshev_nodes(_POINTS)
    before = points[0] + np.append(np.cumsum(_FIRST[::-1])[::-1], 0)
    x = unit(beta) * jnp.asarray(np.append(before, points[1:]), beta.dtype)
    _, values = jax.lax.scan(step, _initial(beta, x[0]), (x[:-1], x[:-1] - x[1:]))
    series = chebyshev_coefficients(values[len(_FIRST) - 1 :, -1])
    # Panels are faster to evaluate, and to compile, than one long series.
    inner = np.arange(UPPER - LOWER)[:, None] + (1 + chebyshev_nodes(_PANEL_NODES)) / 2
    polynomials = np.polynomial.chebyshev.chebvander(2 * inner / (UPPER - LOWER) - 1, _POINTS - 1)
    return chebyshev_coefficients(jnp.asarray(polynomials, beta.dtype) @ series)


def _solve(system: tuple[tuple[Array, Array], Array]) -> Array:
    return lu_solve(*system)


def _initial(beta: Array, x: Array) -> Float[Array, " n"]:
    """The initial Y at a large x, from the leading order at the top of the file."""
    angles, cubes, *_ = _collocation(_NODES[jnp.finfo(beta.dtype).bits])
    root = jnp.sqrt(x)
    w = jnp.append(-_stretch(beta, x) / jnp.tan(jnp.asarray(angles[:-1], beta.dtype)), root)
    u = jnp.minimum(w, root) + root
    return u * jnp.sqrt(root - u / 3) / jnp.sqrt(jnp.asarray(cubes, beta.dtype))
