r"""The exact law of the largest level of a classical ensemble of n levels, β = 1 and 2.

The notation follows `special._classical_weights`, $\varphi_k = \sqrt w\,p_k$. The variable y has
$dx = 2\sqrt f\,dy$, that is $x = y^2$ for the weights of Laguerre and $x = \sin^2 y$ for the weights of Jacobi. In y
everything is smooth up to the ends. Let J be the part of the axis above x. For β = 2 the probability of no level in J
is $\det(1 - M)$, $M_{ij} = \int_J \varphi_i \varphi_j$. For β = 1 it is (de Bruijn 1955; Chiani 2014 for Wishart
matrices) the quotient of the Pfaffians of

$$\iint \psi_i(s)\,\mathrm{sgn}(t - s)\,\psi_j(t), \qquad \psi_k = \varphi_k/\sqrt f,$$

over the square below x and over the whole, bordered by $\int \psi_i$ for odd n. With $T_k(x) = \int_x^\infty \psi_k$,
$\tau = \int \psi_0$, the $c_k$ of the skew relation, $\rho_0 = \rho_1 = 1$ and $\rho_k = \rho_{k-2}\,c_{k-2}/c_{k-1}$,

$$T_j = \sqrt f \sum_{k < j,\ j - k \text{ odd}} \frac{\rho_j}{\rho_{k+1} c_k}\,\varphi_k
+ [j \text{ even}]\,\rho_j T_0,$$

so that the matrix A over the whole is skew: $A_{ij} = 2\rho_j/(\rho_{i+1} c_i)$ for even i and odd j > i, minus this in
the transposed place, and otherwise 0. The integrals are $t_i = \rho_i \tau$ for even i. Below x it is $A - H + W$ with
$e_i = \tfrac12 t_i - T_i$ and, as in `laws.hermite_gap_probabilities`,

$$H_{ij} = \int_J (e_i \psi_j - \psi_i e_j), \qquad W_{ij} = \tfrac12 (t_i e_j(x) - e_i(x) t_j) .$$

The number of levels may be traced: rows beyond it are rows of the identity.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.special.internal import gauss_legendre

# At these distances below and above its centre, in units of its scale, the law of the largest level is 0 or 1 to
# rounding. The law of a few levels ends like exp(-x/2), which needs LAST more.
BELOW, ABOVE, LAST = 10.0, 14.5, 80.0
_NUM_NODES = 96


class Recurrence(NamedTuple):
    """Coefficients of orthonormal polynomials and of the skew relation; see the top of the file."""

    a: Float[Array, " m"]
    b: Float[Array, " m+1"]
    c: Float[Array, " m"]
    total: Float[Array, ""]  # τ


def log_probability(
    recurrence: Recurrence,
    count: Array | int,
    x: Float[Array, " q"],
    root_f: Float[Array, " q"],
    log_weight: Float[Array, " q"],
    length: Float[Array, ""],
    beta: int,
) -> Float[Array, ""]:
    """Logarithm of the probability that none of `count` levels is in J.

    The recurrence serves as many functions as the largest count. At the nodes x of `rule` on J, of this length in the
    variable y, `root_f` is √f and `log_weight` the logarithm of w.
    """
    _, weights, beyond = rule()
    weights, beyond = (length * jnp.asarray(each, x.dtype) for each in (weights, beyond))
    functions = functions_of(recurrence.a, recurrence.b, x, log_weight)
    inside = jnp.arange(functions.shape[0]) < count
    functions = jnp.where(inside[:, None], functions, 0)
    if beta == 2:
        return _log_determinant(-(weights[None] * root_f[None] * functions) @ functions.T)
    whole, totals = _whole(recurrence)
    totals = jnp.where(inside, totals, 0)
    tail = functions @ weights
    change = change_below(functions, totals, weights, functions @ beyond.T, tail)
    odd = like(totals, count % 2)
    matrix = _bordered(jnp.where(inside[:, None] & inside[None], whole, 0), odd * totals)
    diagonal = jnp.append(like(matrix, ~inside), 1 - odd)
    matrix = matrix + jnp.diag(diagonal)
    return _log_determinant(jnp.linalg.solve(matrix, _bordered(change, -odd * tail))) / 2


def change_below(
    functions: Inexact[Array, "m q"],
    totals: Inexact[Array, " m"],
    weights: Inexact[Array, " q"],
    tails: Inexact[Array, "m q"],
    tail: Inexact[Array, " m"],
) -> Inexact[Array, "m m"]:
    """The matrix W - H, from the integrals of ψ over the whole, beyond each node, and over J."""
    primitives, primitive = totals[:, None] / 2 - tails, totals / 2 - tail
    half = _skew((weights[None] * primitives) @ functions.T)
    return _skew(jnp.outer(totals / 2, primitive)) - half


def nodes(lower: Float[Array, ""], upper: Float[Array, ""]) -> Float[Array, " q"]:
    """The nodes of the rule on an interval of the variable y."""
    return lower + (upper - lower) * jnp.asarray(rule()[0], lower.dtype)


@functools.cache
def rule(num_nodes: int = _NUM_NODES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes on (0, 1), twice the weights, and the matrix that gives twice the integrals beyond each node."""
    t, w = gauss_legendre(num_nodes)
    legendre = np.polynomial.legendre.legvander(t, num_nodes)
    degree = np.arange(1, num_nodes)
    from_node = np.column_stack([1 - t, (legendre[:, :-2] - legendre[:, 2:]) / (2 * degree + 1)])
    of_values = (np.arange(num_nodes) + 0.5)[:, None] * legendre[:, :-1].T * w
    return (t + 1) / 2, w, from_node @ of_values


def functions_of(
    a: Inexact[Array, " m"], b: Inexact[Array, " m+1"], x: Inexact[Array, " q"], log_weight: Inexact[Array, " q"]
) -> Inexact[Array, "m q"]:
    """The functions φ; each polynomial has its own power of 2 as a unit."""

    def step(state: tuple, row: tuple) -> tuple:
        before, now, exponent = state
        a, b, b_next = row
        after = ((x - a) * now - b * before) / b_next
        size = jax.lax.stop_gradient(jnp.abs(now) + jnp.abs(after))
        mantissa, shift = jnp.frexp(size)
        unit = like(now, mantissa / size)
        return (unit * now, unit * after, exponent + shift), now * jnp.exp(
            log_weight / 2 + math.log(2) * like(x, exponent)
        )

    start = (jnp.zeros_like(x), jnp.ones_like(x), jnp.zeros_like(x, jnp.int32))
    return jax.lax.scan(step, start, (a, b[:-1], b[1:]))[1]


def _whole(recurrence: Recurrence) -> tuple[Float[Array, "m m"], Float[Array, " m"]]:
    """The matrix A and the integrals of ψ."""
    c = recurrence.c
    index = np.arange(c.size)
    padded = jnp.concatenate([c, jnp.ones((-c.size) % 2, c.dtype)])
    steps = jnp.concatenate([jnp.ones(2, c.dtype), padded[:-2] / padded[1:-1]])
    rho = jnp.cumprod(steps.reshape(-1, 2), axis=0).reshape(-1)
    after = jnp.append(rho, 1)[1 : c.size + 1]
    rho = rho[: c.size]
    pairs = (index[:, None] % 2 == 0) & (index % 2 == 1) & (index[:, None] < index)
    return _skew(jnp.where(pairs, 2 * rho[None] / (after * c)[:, None], 0)), jnp.where(
        index % 2 == 0, rho * recurrence.total, 0
    )


def _skew(matrix: Inexact[Array, "m m"]) -> Inexact[Array, "m m"]:
    return matrix - matrix.T


def _bordered(matrix: Float[Array, "m m"], column: Float[Array, " m"]) -> Float[Array, "m+1 m+1"]:
    corner = jnp.zeros((1, 1), matrix.dtype)
    return jnp.block([[matrix, column[:, None]], [-column[None], corner]])


def _log_determinant(change: Float[Array, "m m"]) -> Float[Array, ""]:
    """The logarithm of det(1 + D); for a small D it has all digits of D."""
    size = jnp.sqrt(jnp.sum(change**2))
    small = size < 1e-3
    little = jnp.where(small, change, 0)
    square = little @ little
    traces = jnp.trace(little), jnp.trace(square), jnp.sum(square * little.T), jnp.sum(square * square.T)
    series = traces[0] - traces[1] / 2 + traces[2] / 3 - traces[3] / 4
    large = jnp.linalg.slogdet(jnp.eye(change.shape[0], dtype=change.dtype) + jnp.where(small, 0, change))[1]
    return jnp.where(small, series, large)


def wishart_p_values(levels: Float[Array, "*batch k"], n: int, p: int, beta: int) -> Float[Array, "*batch k"]:
    """The exact p-value of each level of X*X, descending and in units of σ², as noise behind all larger ones.

    Level k + 1 is compared with the largest level of n observations of p - k variables.
    """
    before = np.arange(levels.shape[-1])
    counts = jnp.asarray(np.minimum(n, p - before))
    excess = jnp.asarray(np.abs(n - p + before), levels.dtype)
    size = min(n, p)

    def one(test: tuple[Array, Array, Array]) -> Float[Array, ""]:
        level, count, excess = test
        return jnp.abs(jnp.expm1(_laguerre(level, count, excess, size, beta)))  # not -0 far out

    flat = levels.reshape(-1, levels.shape[-1])
    shared = (jnp.broadcast_to(each, flat.shape).reshape(-1) for each in (counts, excess))
    return jax.lax.map(one, (flat.reshape(-1), *shared)).reshape(levels.shape)


def _laguerre(level: Float[Array, ""], count: Array, excess: Float[Array, ""], size: int, beta: int) -> Array:
    """The logarithm of the probability that no level of X*X is above this one."""
    order = count.astype(level.dtype)
    centre, scale = largest_laguerre_level(order, order + excess, beta)
    start = jnp.maximum(level, jnp.maximum(centre - BELOW * scale, 0))
    lower, upper = jnp.sqrt(start), jnp.sqrt(jnp.maximum(start, centre) + ABOVE * scale + LAST)
    y = nodes(lower, upper)
    k = jnp.arange(size + 1, dtype=level.dtype)
    b = jnp.sqrt(k * (k + excess))
    log_gamma = jax.lax.lgamma(excess + 1)
    log_total = (excess + 1) / 2 * math.log(2) + jax.lax.lgamma((excess + 1) / 2) - log_gamma / 2
    recurrence = Recurrence(2 * k[:-1] + excess + 1, b, b[1:] / 2, jnp.exp(log_total))
    log_weight = 2 * excess * jnp.log(y) - y**2 - log_gamma
    return log_probability(recurrence, count, y**2, y, log_weight, upper - lower, beta)
