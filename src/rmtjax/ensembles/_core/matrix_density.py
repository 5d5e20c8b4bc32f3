r"""Densities of positive definite matrices, from their Cholesky factors.

Bartlett's decomposition makes the density of a Wishart matrix a product of gamma and normal densities. So no terms of
the size of the degrees of freedom cancel, and variables of very different units keep their digits.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax.special.internal import log_gamma_density


def cholesky_factor(matrix: Inexact[Array, "n n"]) -> tuple[Inexact[Array, "n n"], Bool[Array, ""]]:
    """The Cholesky factor, and whether there is one; if not, the identity, at which all derivatives are finite."""
    known = jnp.isfinite(jnp.linalg.cholesky(jax.lax.stop_gradient(matrix), symmetrize_input=False)).all()
    identity = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    return jnp.linalg.cholesky(jnp.where(known, matrix, identity), symmetrize_input=False), known


def whitened(factor: Inexact[Array, "n n"], root: Inexact[Array, "n n"]) -> Inexact[Array, "n n"]:
    """The factor of $C^{-1} W C^{-*}$ for the factor of W and the triangular root C."""
    return jax.lax.linalg.triangular_solve(root, factor, left_side=True, lower=True)


def inverted(factor: Inexact[Array, "n n"]) -> Inexact[Array, "n n"]:
    r"""The lower triangular $J L^{-*} J$, where J reverses the order: a factor of $J (L L^*)^{-1} J$."""
    inverse = jax.lax.linalg.triangular_solve(factor, jnp.eye(factor.shape[-1], dtype=factor.dtype), lower=True)
    return inverse.conj().T[::-1, ::-1]


def log_diagonal(factor: Inexact[Array, "rows rows"], beta: int) -> Float[Array, " n"]:
    """Logarithms of the diagonal entries, one for each quaternion."""
    return jnp.log(jnp.diagonal(factor).real[:: 2 if beta == 4 else 1])


def exponent(n: int, beta: int) -> float:
    r"""The number β(n - 1) + 2, by which $d(C H C^*) = \det(C C^*)^{\kappa/2}\,dH$ (n + 1 for real matrices)."""
    return beta * (n - 1) + 2


def log_bartlett(factor: Inexact[Array, "rows rows"], m: Float[Array, ""], beta: int) -> Float[Array, ""]:
    r"""Logarithm of the density of $XX^*/m$ at $L L^*$, for an n×m matrix X with $E|X_{ij}|^2 = 1$.

    With $a = \beta m/2$, the diagonal entries have $a\,l_i^2 \sim \mathrm{Gamma}(a - \tfrac\beta2 (i - 1))$, and the
    components below it are normal with the variance 1/(2a). The map from L to $L L^*$ has the determinant
    $\prod_i 2\,l_i^{1 + \beta (n - i)}$ (Muirhead 1982, theorems 2.1.9 and 3.2.14, for β = 1).
    """
    copies, a = 2 if beta == 4 else 1, beta * m / 2
    logarithm = log_diagonal(factor, beta)
    n = logarithm.size
    row, log_x = jnp.arange(n, dtype=a.dtype), jnp.log(a) + 2 * logarithm
    below = jnp.sum(jnp.abs(jnp.tril(factor, -1)) ** 2) / copies
    diagonal = log_gamma_density(a - beta / 2 * row, jnp.exp(log_x), log_x) - (2 + beta * (n - 1 - row)) * logarithm
    return jnp.sum(diagonal) - a * below + beta * n * (n - 1) / 4 * (jnp.log(a) - math.log(math.pi))


def log_inverse_bartlett(factor: Inexact[Array, "rows rows"], m: Float[Array, ""], beta: int) -> Float[Array, ""]:
    r"""Logarithm of the density of $(XX^*/m)^{-1}$ at $L L^*$, from the density of $XX^*/m$ at the inverse."""
    logarithm = log_diagonal(factor, beta)
    return log_bartlett(inverted(factor), m, beta) - 2 * exponent(logarithm.size, beta) * jnp.sum(logarithm)
