"""The derivative of gamma variates in their parameter, at a fixed probability."""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._compile import compiled

# The expansion has the terms w^j a^-m with j + 2m ≤ _DEGREE and m < _ORDERS: w² is small like 1/a.
_DEGREE, _ORDERS = 16, 7


@jax.custom_jvp
def with_derivative(a: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The value w = log(x/a) of a gamma variate x, with its derivative in a at fixed F(x; a)."""
    return w


@with_derivative.defjvp
def _with_derivative_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    a, w = primals
    # The value has the derivative too: second derivatives need it.
    w = with_derivative(a, w)
    return w, _slope(a, w) * tangents[0]


@compiled
def _slope(a: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The derivative $dw/da = (k - 1)/a$ with $k = \frac ax \frac{dx}{da}$."""
    # XLA's sums lose about a/2 ulp and take more and more terms. Errors of k, next to those by rounding of w: here
    # the expansion is right to 1e-7 in float32 (3e-7 five deviations out) and 1e-13 in float64 (eight deviations).
    large = a >= (64 if a.dtype == jnp.float64 else 8)
    excess = jnp.where(large, _expansion(jnp.where(large, a, 64), jnp.where(large, w, 0)), _exact(a, w, ~large) - 1)
    # Where x = 0 by underflow at a tiny a, an infinite slope would make the derivative of x NaN.
    limit = jnp.finfo(a.dtype).max
    return jnp.clip(excess / a, -limit, limit)


def _exact(a: Float[Array, "..."], w: Float[Array, "..."], where: Array) -> Float[Array, "..."]:
    r"""The factor k by the incomplete gamma function; at tiny x by $F = x^a / \Gamma(a + 1)$, right to 1 + O(x)."""
    x = a * jnp.exp(w)
    tiny = x < jnp.finfo(a.dtype).eps
    # The loop of XLA runs until the slowest element has converged; 1 is a quick one.
    regular = where & ~tiny
    a_regular, x_regular = jnp.where(regular, a, 1), jnp.where(regular, x, 1)
    k_regular = a_regular / x_regular * jax.lax.random_gamma_grad(a_regular, x_regular)  # pyright: ignore[reportCallIssue]
    small = jnp.where(where, a, 1)
    return jnp.where(regular, k_regular, jax.lax.digamma(small + 1) - jnp.log(small) - w)


def _expansion(a: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    """The excess k - 1 for large a, free of cancellation: the expansion has no constant term but 1."""
    total = jnp.zeros_like(a)
    for m, row in reversed(list(enumerate(_coefficients()))):
        polynomial = jnp.zeros_like(w)
        for j, coefficient in reversed(list(enumerate(row))):
            polynomial = polynomial * w + (0 if m == j == 0 else coefficient)
        total = total / a + polynomial
    return total


@functools.cache
def _coefficients() -> list[list[float]]:
    r"""Coefficients $k_{mj}$ of $k \sim \sum_m a^{-m} k_m(w)$, $k_m = \sum_j k_{mj} w^j$.

    Differentiating $f\,dx/da = -\partial F/\partial a$ in x gives, with x = a e^w,

    $$(e^w - 1)\, k = w + \log a - \psi(a) + \frac1a \frac{\partial k}{\partial w},$$

    and $\log a - \psi(a)$ is a series in 1/a, so the k_m follow one from the other. The left side vanishes at w = 0, so
    the constant terms on the right cancel (which is Stirling's series) and need not be known. The first is
    $k_0 = w/(e^w - 1)$, so the series in w converge for |w| < 2π.
    """
    divisor = [Fraction(1, math.factorial(j + 1)) for j in range(_DEGREE + 1)]  # of (e^w - 1)/w
    right = [Fraction(0), Fraction(1)] + [Fraction(0)] * _DEGREE
    rows = []
    for _ in range(_ORDERS):
        # Both sides are divided by w; with the derivative each order loses two powers of it.
        row = []
        for j in range(len(right) - 1):
            row.append(right[j + 1] - sum(row[i] * divisor[j - i] for i in range(j)))
        rows.append([float(coefficient) for coefficient in row])
        right = [j * row[j] for j in range(1, len(row))]
    return rows
