r"""Eigenvalues and eigenvectors of general square matrices, with derivatives of every order.

With $A V = V \Lambda$ and $E = V^{-1} \dot A V$, where the columns of V have any length and phase,
$\dot\lambda_i = E_{ii}$ and $\dot V = V (F \circ E)$, $F_{ij} = 1/(\lambda_j - \lambda_i)$, $F_{ii} = 0$ (Horn and
Johnson 2013, theorem 6.3.12).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Inexact

from rmtjax._promotion import like
from rmtjax.linalg._decompose import one_by_one
from rmtjax.linalg._linear_equations import solve_each


@jax.custom_jvp
def general_eigenvalues(a: Inexact[Array, "... n n"]) -> Complex[Array, "... n"]:
    """The eigenvalues of a general matrix in LAPACK's order."""
    (levels,) = jax.lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return levels


@jax.custom_jvp
def general_eigensystem(a: Inexact[Array, "... n n"]) -> tuple[Complex[Array, "... n"], Complex[Array, "... n n"]]:
    """The eigenvalues, and eigenvectors of arbitrary length and phase, `one_by_one`."""
    return _eigensystems(a)


@one_by_one
def _eigensystems(a: Inexact[Array, "... n n"]) -> tuple[Complex[Array, "... n"], Complex[Array, "... n n"]]:
    levels, v = jax.lax.linalg.eig(a, compute_left_eigenvectors=False)
    return levels, v


@general_eigenvalues.defjvp
def _(primals: tuple, tangents: tuple) -> tuple:
    levels, v = general_eigensystem(*primals)
    return levels, jnp.diagonal(solve_each(v, like(v, tangents[0]) @ v), axis1=-2, axis2=-1)


@general_eigensystem.defjvp
def _(primals: tuple, tangents: tuple) -> tuple:
    levels, v = general_eigensystem(*primals)
    e = solve_each(v, like(v, tangents[0]) @ v)
    gaps = levels[..., None, :] - levels[..., :, None]
    equal = gaps == 0
    f = jnp.where(equal, 0, 1 / jnp.where(equal, 1, gaps))
    return (levels, v), (jnp.diagonal(e, axis1=-2, axis2=-1), v @ (f * e))
