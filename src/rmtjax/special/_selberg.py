"""Logarithms of Vandermonde determinants and of Selberg's integral and its limits, for joint densities."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Inexact, Int

from rmtjax._varying import varying_like
from rmtjax.special._incomplete import log_gamma_quotient


def log_vandermonde(x: Inexact[Array, " n"]) -> Float[Array, ""]:
    r"""The sum $\sum_{i<j} \log|x_i - x_j|$ in O(n) memory; a coinciding pair gives $-\infty$ and the derivative 0."""
    return _pair_sum(x, jnp.abs)


def log_circular_vandermonde(phases: Float[Array, " n"]) -> Float[Array, ""]:
    r"""The sum $\sum_{j<k} \log|e^{i\theta_j} - e^{i\theta_k}|$, with pairs treated as in `log_vandermonde`."""
    return _pair_sum(phases, lambda difference: 2 * jnp.abs(jnp.sin(difference / 2)))


def _pair_sum(x: Inexact[Array, " n"], distance_of: Callable[[Array], Array]) -> Float[Array, ""]:
    """The sum of the logarithms of the distances of all pairs."""
    n = x.size

    # Each step takes all pairs of indices at one cyclic distance; at the distance n/2 each pair comes twice.
    @jax.checkpoint
    def step(total: Float[Array, ""], distance: Int[Array, ""]) -> tuple[Float[Array, ""], None]:
        gap = distance_of(x - jnp.roll(x, distance))
        together = gap == 0
        logarithm = jnp.where(together, -jnp.inf, jnp.log(jnp.where(together, 1, gap)))
        weight = jnp.where(2 * distance == n, 0.5, 1.0).astype(logarithm.dtype)
        return total + weight * jnp.sum(logarithm), None

    start = varying_like(jnp.zeros((), jnp.finfo(x.dtype).dtype), x)
    return jax.lax.scan(step, start, jnp.arange(1, n // 2 + 1))[0]


def log_mehta(n: int, beta: Float[Array, ""]) -> Float[Array, ""]:
    r"""Logarithm of Mehta's integral $\int \prod_{i<j} |x_i - x_j|^\beta \prod_i e^{-x_i^2/2}\,dx_i$.

    It is $(2\pi)^{n/2} \prod_{j=1}^n \frac{\Gamma(1 + j\beta/2)}{\Gamma(1 + \beta/2)}$ (Mehta 2004, equation 17.6.7;
    Forrester and Warnaar 2008, equation 1.5).
    """
    j = jnp.arange(1, n + 1, dtype=beta.dtype)
    return n / 2 * math.log(2 * math.pi) + jnp.sum(gammaln(1 + j * beta / 2) - gammaln(1 + beta / 2))


def log_laguerre(n: int, a: Float[Array, ""], beta: Float[Array, ""]) -> Float[Array, ""]:
    r"""Logarithm of $\int \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{a - (n-1)\beta/2 - 1} e^{-x_i/2}\,dx_i$, x > 0.

    It is $2^{na} \prod_{j=1}^n \frac{\Gamma(1 + j\beta/2)\,\Gamma(a - (n-j)\beta/2)}{\Gamma(1 + \beta/2)}$
    (Mehta 2004, equation 17.6.5; Dumitriu and Edelman 2002, table I).
    """
    j = jnp.arange(1, n + 1, dtype=beta.dtype)
    factors = gammaln(1 + j * beta / 2) - gammaln(1 + beta / 2) + gammaln(a - (n - j) * beta / 2)
    return n * a * math.log(2) + jnp.sum(factors)


def log_selberg(n: int, p: Float[Array, ""], q: Float[Array, ""], beta: Float[Array, ""]) -> Float[Array, ""]:
    r"""Logarithm of Selberg's integral $\int \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{p-1} (1 - x_i)^{q-1}\,dx_i$.

    Over $[0, 1]^n$ it is, with γ = β/2,

    $$\prod_{j=0}^{n-1} \frac{\Gamma(p + j\gamma)\,\Gamma(q + j\gamma)\,\Gamma(1 + (j + 1)\gamma)}
    {\Gamma(p + q + (n + j - 1)\gamma)\,\Gamma(1 + \gamma)}$$

    (Selberg 1944; Forrester and Warnaar 2008, equation 1.1).
    """
    gamma = beta / 2
    j = jnp.arange(n, dtype=beta.dtype) * gamma
    # Logarithms of single gamma functions would cancel. The integral is symmetric in p and q.
    smaller, larger, last = jnp.minimum(p, q), jnp.maximum(p, q), (n - 1) * gamma
    betas = gammaln(smaller + j) - log_gamma_quotient(larger + last, smaller + j)
    return jnp.sum(betas - log_gamma_quotient(larger + j, last - j) + log_gamma_quotient(1 + gamma, j))


def log_dyson(n: int, beta: Float[Array, ""]) -> Float[Array, ""]:
    r"""Logarithm of $\int \prod_{j<k} |e^{i\theta_j} - e^{i\theta_k}|^\beta \prod_j d\theta_j$ over (-π, π].

    It is $(2\pi)^n\,\Gamma(1 + \beta n/2) / \Gamma(1 + \beta/2)^n$ (Dyson 1962; Forrester and Warnaar 2008,
    equation 1.13).
    """
    return n * math.log(2 * math.pi) + gammaln(1 + beta * n / 2) - n * gammaln(1 + beta / 2)


def log_flags(n: int, beta: int) -> float:
    r"""Logarithm of the volume c in Weyl's formula for the eigenvalues of self-adjoint matrices, β = 1, 2 or 4.

    $$\int f(H)\,dH = c \int f(\mathrm{diag}\,\lambda) \prod_{i<j} |\lambda_i - \lambda_j|^\beta\,d\lambda, \qquad
    c = \pi^{\beta n(n-1)/4} \prod_{j=1}^n \frac{\Gamma(1 + \beta/2)}{\Gamma(1 + j\beta/2)},$$

    for functions f of the n eigenvalues, integrated over $\mathbb{R}^n$ (Forrester 2010, Log-Gases and Random Matrices,
    section 1.3; with Mehta's integral it follows from $f = e^{-\operatorname{tr} H^2/2}$).
    """
    angles = (math.lgamma(1 + beta / 2) - math.lgamma(1 + j * beta / 2) for j in range(1, n + 1))
    return beta * n * (n - 1) / 4 * math.log(math.pi) + sum(angles)
