r"""Probabilities that an interval holds k levels, in the three limits of large spectra.

In each limit an operator is discretised by Gauss-Legendre quadrature, $(\sqrt{w_i}\,K(x_i, x_j)\sqrt{w_j})$. Its
determinant is a polynomial in z. The probabilities are the coefficients, from a recurrence over the eigenvalues.

Derivation for β = 1 and 4 at the edges. Let V be the operator whose square is the kernel of β = 2, and

$$D_\mp(c) = \det(1 \mp cV) = A(c^2) \mp c\,B(c^2) .$$

For β = 1 the generating function is, with $\varepsilon = \sin\theta$, $c = \cos\theta$, $t = \tan\tfrac\theta2$ (after
Dieng and Tracy 2011, theorem 2.1),

$$\sum_k E_1(k)\,\varepsilon^k = \frac{D_-(c) + t D_+(c)}{1 + t} = A - \frac{1 - t}{1 + t}\,c B
= A(1 - \varepsilon^2) - (1 - \varepsilon)\,B(1 - \varepsilon^2),$$

since $(1 - t)/(1 + t) = c/(1 + \varepsilon)$. So with $A(1 - z) = \sum a_k z^k$ and $B(1 - z) = \sum b_k z^k$

$$E_1(2k) = a_k - b_k, \qquad E_1(2k + 1) = b_k, \qquad E_4(k) = a_k = E_1(2k) + E_1(2k + 1) .$$

The last formula holds as every second level for β = 1 is a level for β = 4 (Forrester and Rains 2001, MSRI Publ. 40).
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import common_dtype
from rmtjax._typing import DysonIndex, RealLike
from rmtjax._varying import varying_like
from rmtjax.laws._extremes.bessel_operator import ALPHA, bessel_order, hard_edge_operator, legendre_rule
from rmtjax.laws._extremes.tracy_widom import Convention, TracyWidom
from rmtjax.linalg.internal import decompose_one_by_one
from rmtjax.special import airy, sine_kernel


def bulk_gap_probabilities(s: RealLike, beta: DysonIndex, max_count: int) -> Float[Array, "... k"]:
    r"""Probabilities E(0), …, E(max_count) of the numbers of levels in an interval of length s in the bulk.

    Let $\lambda_0 > \lambda_1 > \dots$ be the eigenvalues of the sine kernel on the interval; those with even index
    have even eigenfunctions. Let $E_+$ and $E_-$ be the coefficients of $\prod (1 - \lambda_j + \lambda_j z)$ over the
    even and over the odd indices. Then $E_2(k) = \sum_j E_+(j) E_-(k - j)$, and

    $$E_1(2k) + E_1(2k - 1) = E_+(k), \qquad E_1(2k) + E_1(2k + 1) = E_-(k), \qquad
    E_4(k; s) = \tfrac12 \big[E_+(k; 2s) + E_-(k; 2s)\big] .$$

    The absolute error is 1e-14 (float32: 1e-6).

    Convention: unit density of the levels; at β = 4 each pair of equal levels counts as one.

    Args:
        s: lengths; negative lengths give NaN.
        beta: 1, 2 or 4; static.
        max_count: largest number of levels K ≥ 0; static.

    Returns:
        The K + 1 probabilities on a last axis, after the axes of `s`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print([f"{p:.4f}" for p in bulk_gap_probabilities(1.0, beta=2, max_count=2)])
        ['0.1702', '0.6614', '0.1665']

    References:
        Mehta (2004), Random Matrices, sections 6.1, 7.3 and 11.7; Bornemann (2010), Markov Process. Relat. Fields 16,
        803, section 5.
    """
    beta = _checks.dyson_index(beta)
    count = _checks.integer("max_count", max_count, at_least=0)
    return _bulk(_checks.real("s", s), beta, count)


def soft_edge_gap_probabilities(
    s: RealLike, beta: DysonIndex, max_count: int, convention: Convention = "tracy-widom"
) -> Float[Array, "... k"]:
    r"""Probabilities E(0), …, E(max_count) of the numbers of levels beyond s at a soft edge.

    With the operator V of kernel $\tfrac12\mathrm{Ai}(\tfrac{x+y}2)$ on (s, ∞), whose square is the Airy kernel,

    $$\sum_k E_2(k)\,z^k = \det(1 - (1 - z)V^2), \qquad \sum_k E_4(k)\,z^k
    = \tfrac12\big[\det(1 - \sqrt{1 - z}\,V) + \det(1 + \sqrt{1 - z}\,V)\big], \qquad E_1(0) = \det(1 - V) .$$

    The first k sum to the distribution function of the k-th largest level, `TracyWidom(beta, convention, k)`.
    The absolute error is 1e-13 (float32: 1e-5).

    Convention: as for `TracyWidom`, where `convention` matters only for β = 4.

    Args:
        s: ends of the interval.
        beta: 1, 2 or 4; static.
        max_count: largest number of levels K ≥ 0; static.
        convention: `"tracy-widom"`, `"bornemann"` or `"stochastic-airy"`.

    Returns:
        The K + 1 probabilities on a last axis, after the axes of `s`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print([f"{p:.4f}" for p in soft_edge_gap_probabilities(-2.0, beta=2, max_count=2)])
        ['0.4132', '0.5729', '0.0139']

    References:
        Ferrari and Spohn (2005), J. Phys. A 38, L557; Bornemann (2010), Markov Process. Relat. Fields 16, 803,
        section 6; Dieng and Tracy (2011), in Random Matrices, Random Processes and Integrable Systems.
    """
    beta = _checks.dyson_index(beta)
    count = _checks.integer("max_count", max_count, at_least=0)
    stretch = TracyWidom(beta, convention)._stretch()
    return _soft_edge(stretch * _checks.real("s", s), beta, count)


def hard_edge_gap_probabilities(
    s: RealLike, alpha: RealLike, beta: DysonIndex, max_count: int
) -> Float[Array, "... k"]:
    r"""Probabilities E(0), …, E(max_count) of the numbers of levels in (0, s) at a hard edge.

    With the operator $T_a$ of kernel $\tfrac{\sqrt s}2 J_a(\sqrt{sxy})$ on (0, 1)

    $$\sum_k E_2(k)\,z^k = \det(1 - (1 - z)\,T_\alpha^2), \qquad E_1(0) = \det(1 - T_{2\alpha + 1}), \qquad
    E_4(0; s) = \tfrac12\big[\det(1 - T_{\alpha - 1}) + \det(1 + T_{\alpha - 1})\big]_{4s},$$

    and the further probabilities for β = 1 and 4 follow as at the soft edge. The absolute error is 1e-13 (float32:
    1e-5) if the order of the Bessel function is at least -1/2. Towards -0.9, where its range ends, digits are lost.

    Convention: the limit of the levels $4 n \lambda$ for the weight $x^\alpha e^{-\beta x/2}$, with the density
    $1/(2\pi\sqrt s)$ far away. For `Wishart(n, m, beta, c)` they are $4 n m \lambda/c^2$ with α = β(m - n + 1)/2 - 1,
    m - n fixed; for `LaguerreBeta(n, a, beta, c)` they are $8 n a \lambda/(\beta c^2)$ with α = a - (n - 1)β/2 - 1.

    Args:
        s: ends of the interval; negative ends give NaN.
        alpha: α in [-0.95, 24] for β = 1, [-0.9, 50] for β = 2, [0.1, 50] for β = 4. Broadcast against `s`.
        beta: 1, 2 or 4; static.
        max_count: largest number of levels K ≥ 0; static.

    Returns:
        The K + 1 probabilities on a last axis, after the axes of `s` and `alpha`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> got = hard_edge_gap_probabilities(4.0, 0.0, beta=2, max_count=1)
        >>> print([f"{p:.4f}" for p in got])  # the first is exp(-s/4)
        ['0.3679', '0.6279']

    References:
        Forrester (2006), Nonlinearity 19, 2989; Forrester and Rains (2001), MSRI Publ. 40, 171; Bornemann (2010),
        Markov Process. Relat. Fields 16, 803, section 6.
    """
    beta = _checks.dyson_index(beta)
    count = _checks.integer("max_count", max_count, at_least=0)
    alpha = ALPHA("alpha", _checks.real("alpha", alpha), beta)
    return _hard_edge(_checks.real("s", s), bessel_order(alpha, beta), beta, count)


@functools.partial(compiled, static_argnums=(1, 2))
def _bulk(s: Float[Array, "..."], beta: int, count: int) -> Float[Array, "... k"]:
    # The number of levels, counted as for β = 1, and the length of the interval in the unit of these levels.
    inside, length = (2 * count, 2 * s) if beta == 4 else (count, s)
    t, w = legendre_rule(40 + inside, s.dtype)

    @functools.partial(jnp.vectorize, signature="()->(k)")
    def probabilities(length: Float[Array, ""]) -> Float[Array, " k"]:
        x = length / 4 * (1 + t)
        scale = length / 4 * jnp.sqrt(w[:, None] * w[None])
        below, above = (scale * sine_kernel(x[:, None], sign * x) for sign in (1, -1))
        both = _eigenvalues(jnp.stack([below + above, below - above]))
        # For β = 1 the sum may start at the last coefficient, so all coefficients are needed.
        even, odd = (distribution(eigenvalues, t.size) for eigenvalues in both)
        if beta == 4:
            return (even + odd)[: count + 1] / 2
        if beta == 2:
            return jnp.convolve(even[: count + 1], odd[: count + 1])[: count + 1]
        return _terms(jnp.stack([even, odd], -1).ravel())[: count + 1]

    # Further out the probabilities are below rounding, and the quadrature is too coarse.
    resolved = (length >= 0) & (length <= 30 + inside)
    values = probabilities(jnp.where(resolved, length, 0))
    return _outside(values, resolved, jnp.zeros_like(resolved), length >= 0)


@functools.partial(compiled, static_argnums=(1, 2))
def _soft_edge(s: Float[Array, "..."], beta: int, count: int) -> Float[Array, "... k"]:
    inside = 2 * count if beta == 4 else count
    t, w = legendre_rule(40 + 4 * inside, s.dtype)

    @functools.partial(jnp.vectorize, signature="()->(k)")
    def probabilities(s: Float[Array, ""]) -> Float[Array, " k"]:
        # The kernel falls like Ai((x + y)/2), which is below rounding from 13 on.
        half = jnp.maximum(13 - s, 5)
        x = s + half * (1 + t)
        kernel = airy((x[:, None] + x[None]) / 2).ai / 2
        return _edge(_eigenvalues(half * jnp.sqrt(w[:, None] * w[None]) * kernel), beta, count)

    resolved = (s >= -10 - (1.5 * math.pi * inside) ** (2 / 3)) & (s <= 100)
    return _outside(probabilities(jnp.where(resolved, s, 0)), resolved, s > 0, ~jnp.isnan(s))


@functools.partial(compiled, static_argnums=(2, 3))
def _hard_edge(s: Float[Array, "..."], order: Float[Array, "..."], beta: int, count: int) -> Float[Array, "... k"]:
    inside, length = (2 * count, 4 * s) if beta == 4 else (count, s)
    dtype = common_dtype(s, order)
    length, order = (each.astype(dtype) for each in jnp.broadcast_arrays(length, order))

    @functools.partial(jnp.vectorize, signature="(),()->(k)")
    def probabilities(length: Float[Array, ""], order: Float[Array, ""]) -> Float[Array, " k"]:
        return _edge(_eigenvalues(hard_edge_operator(length, order, 64 + 4 * inside)), beta, count)

    farthest = (20 + math.pi * inside + 1.3 * jnp.maximum(order, 0)) ** 2
    resolved = (length > 0) & (length <= farthest)
    return _outside(probabilities(jnp.where(resolved, length, 1), order), resolved, length == 0, length >= 0)


def _outside(values: Float[Array, "... k"], resolved: Array, empty: Array, valid: Array) -> Float[Array, "... k"]:
    """The values where resolved; elsewhere E(0) = 1 if empty, all 0 for a too long interval, and NaN if not valid."""
    limits = jnp.where(empty[..., None], _one(values.shape[-1] - 1, values.dtype), 0)
    limits = jnp.where(valid[..., None], limits, jnp.nan)
    return jnp.where(resolved[..., None], not_negative(values), limits)


def not_negative(probabilities: Float[Array, "... k"]) -> Float[Array, "... k"]:
    """Negative values are rounding errors; they and -0 become 0, with unchanged derivatives."""
    return probabilities - jax.lax.stop_gradient(jnp.where(probabilities <= 0, probabilities, 0))


def _eigenvalues(matrix: Float[Array, "... q q"]) -> Float[Array, "... q"]:
    """The eigenvalues by the dense eigensolver: on a CPU `eigvalsh` is faster, but compiles ten times longer."""
    return decompose_one_by_one(matrix)[0]


def _edge(v: Float[Array, " q"], beta: int, count: int) -> Float[Array, " k"]:
    """E(0), …, E(count) at an edge, from the eigenvalues of the operator."""
    if beta == 2:
        return distribution(v**2, count)
    differences, b = _halves(v, count if beta == 4 else count // 2)
    return differences + b if beta == 4 else jnp.stack([differences, b], -1).ravel()[: count + 1]


def distribution(probabilities: Float[Array, " q"], count: int) -> Float[Array, " k"]:
    r"""The coefficients of $\prod (1 - \lambda + \lambda z)$, the law of the successes in independent trials."""

    def trial(values: Float[Array, " k"], p: Float[Array, ""]) -> tuple[Float[Array, " k"], None]:
        return (1 - p) * values + p * _shifted(values), None

    # Values that rounding has moved out of [0, 1] become 0 or 1. Exact values 0 and 1 keep their derivatives.
    inside = jnp.where(probabilities < 0, 0, jnp.where(probabilities > 1, 1, probabilities))
    return jax.lax.scan(trial, varying_like(_one(count, inside.dtype), inside), inside)[0]


def _halves(v: Float[Array, " q"], count: int) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """The coefficients $a_k - b_k$ and $b_k$ of the module's docstring."""

    def factor(state: tuple[Array, Array], v: Float[Array, ""]) -> tuple[tuple[Array, Array], None]:
        # The product of A - cB and 1 - cv has the parts A + c² v B and B + v A, with c² = 1 - z.
        differences, b = state
        return ((1 - v) * differences - v * _shifted(b), (1 + v) * b + v * differences), None

    # Ordered by size the eigenvalues alternate in sign, so all products stay of order 1.
    v = v[jnp.argsort(-jnp.abs(v))]
    one = varying_like(_one(count, v.dtype), v)
    return jax.lax.scan(factor, (one, jnp.zeros_like(one)), v)[0]


def _terms(sums: Float[Array, " k"]) -> Float[Array, " k"]:
    """The E(k) ≥ 0 from the sums E(k) + E(k - 1), starting at the end to which the E(k) fall: nothing cancels."""
    signs = (-1.0) ** jnp.arange(sums.size, dtype=sums.dtype)
    upwards = signs * jnp.cumsum(signs * sums)
    following = jnp.append(sums[1:], 0)
    downwards = signs * jnp.cumsum((signs * following)[::-1])[::-1]
    return jnp.where(sums < following, upwards, downwards)


def _one(count: int, dtype: np.dtype) -> Float[Array, " k"]:
    """The polynomial 1."""
    return jnp.zeros(count + 1, dtype).at[0].set(1)


def _shifted(values: Float[Array, " k"]) -> Float[Array, " k"]:
    """The polynomial times its variable, truncated."""
    return jnp.pad(values[:-1], (1, 0))
