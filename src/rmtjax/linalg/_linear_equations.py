"""Linear equations with many matrices, and their determinants, by Gauss' elimination with partial pivoting.

Small matrices are eliminated together, in a few elementwise steps for each row. LAPACK takes them one by one instead,
in threads: two such calls side by side in one program can each wait forever for the other's thread (jaxlib 0.10 on two
cores), and laws that solve equations of matrices have many of them. Single matrices, as large ones are taken, do not.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Inexact, Int, Real

from rmtjax._varying import varying_like
from rmtjax.linalg._decompose import one_by_one

# Beyond this order elimination takes longer than LAPACK, one matrix after the other (256 matrices on two cores).
_SMALL = 12


def solve_each(a: Inexact[Array, "... n n"], b: Inexact[Array, "... n k"]) -> Inexact[Array, "... n k"]:
    """The solutions x of a x = b; not finite where a is singular. Leading axes are those of both."""
    a, b = varying_like((a, b), a, b)
    return jax.lax.custom_linear_solve(
        lambda x: jnp.matmul(a, x, precision="highest"),
        b,
        solve=lambda _, b: _solution(a, b),
        transpose_solve=lambda _, b: _solution(jnp.swapaxes(a, -1, -2), b),
    )


def inverse_of_each(a: Inexact[Array, "... n n"]) -> Inexact[Array, "... n n"]:
    """The inverses."""
    return solve_each(a, jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape))


@jax.custom_jvp
def log_determinant(a: Complex[Array, "... n n"]) -> Complex[Array, "..."]:
    """A logarithm of the determinant, whose angle is known up to multiples of 2π; its real part is -∞ for 0."""
    if a.shape[-1] == 0:
        return jnp.zeros_like(a, shape=a.shape[:-2])
    *_, chosen, pivots = _eliminated(a, a[..., :0])
    # A permutation is odd if it has an odd number of pairs in the wrong order.
    pairs = jnp.triu(chosen[..., :, None] > chosen[..., None, :], 1)
    odd = jnp.sum(pairs, axis=(-2, -1)) % 2 == 1
    sizes = jnp.abs(pivots).astype(a.dtype)
    phase = jnp.prod(pivots / jnp.where(sizes == 0, 1, sizes), axis=-1)
    return jnp.log(jnp.where(odd, -phase, phase)) + jnp.sum(jnp.log(sizes), axis=-1)


@log_determinant.defjvp
def _(primals: tuple, tangents: tuple) -> tuple:
    (a,), (change,) = primals, tangents
    return log_determinant(a), jnp.einsum("...ij,...ji->...", inverse_of_each(a), change, precision="highest")


@jax.jit  # traced and lowered once for many calls in a program
def _solution(a: Inexact[Array, "... n n"], b: Inexact[Array, "... n k"]) -> Inexact[Array, "... n k"]:
    if a.shape[-1] == 0:
        return b
    if a.shape[-1] <= _SMALL:
        return _back_substituted(*_eliminated(a, b))
    return _solved_one_by_one(a, b)


_solved_one_by_one = one_by_one(jnp.linalg.solve)


def _eliminated(
    a: Inexact[Array, "... n n"], b: Inexact[Array, "... n k"]
) -> tuple[Inexact[Array, "... n n"], Inexact[Array, "... n k"], Int[Array, "... n"], Inexact[Array, "... n"]]:
    """Both sides after elimination, which row was chosen for each column, and the entries there, the pivots.

    No rows are exchanged: those that are chosen are left alone from then on.
    """
    free = varying_like(jnp.ones(a.shape[:-1], bool), a)
    (rows, right, _), (chosen, pivots) = jax.lax.scan(_eliminate, (a, b, free), jnp.arange(a.shape[-1]))
    return rows, right, jnp.moveaxis(chosen, 0, -1), jnp.moveaxis(pivots, 0, -1)


def _eliminate(state: tuple[Array, Array, Array], k: Int[Array, ""]) -> tuple[tuple, tuple]:
    """Take the multiples of one row from those that have not been chosen yet."""
    rows, right, free = state
    column = jax.lax.dynamic_index_in_dim(rows, k, axis=-1, keepdims=False)
    chosen = jnp.argmax(jnp.where(free, _size(column), -1), axis=-1)
    here = _is(chosen, column)
    pivot = jnp.sum(jnp.where(here, column, 0), axis=-1, keepdims=True)
    free = free & ~here
    factor = jnp.where(free, column / pivot, 0)[..., None]
    rows = rows - factor * _row(rows, here)
    right = right - factor * _row(right, here)
    return (rows, right, free), (chosen, pivot[..., 0])


def _back_substituted(
    rows: Inexact[Array, "... n n"],
    right: Inexact[Array, "... n k"],
    chosen: Int[Array, "... n"],
    pivots: Inexact[Array, "... n"],
) -> Inexact[Array, "... n k"]:
    """The solution from what elimination gives."""
    steps = (jnp.arange(rows.shape[-1]), jnp.moveaxis(chosen, -1, 0), jnp.moveaxis(pivots, -1, 0))
    free = varying_like(jnp.ones(rows.shape[:-1], bool), rows)

    def step(state: tuple[Array, Array], row: tuple[Array, Array, Array]) -> tuple[tuple, Array]:
        right, free = state
        k, chosen, pivot = row
        column = jax.lax.dynamic_index_in_dim(rows, k, axis=-1, keepdims=False)
        here = _is(chosen, column)
        x = _row(right, here) / pivot[..., None, None]
        free = free & ~here
        return (right - jnp.where(free, column, 0)[..., None] * x, free), x[..., 0, :]

    _, x = jax.lax.scan(step, (right, free), steps, reverse=True)
    return jnp.moveaxis(x, 0, -2)


def _size(z: Inexact[Array, "..."]) -> Real[Array, "..."]:
    """A measure of size by which LAPACK chooses pivots as well."""
    return jnp.abs(jnp.real(z)) + jnp.abs(jnp.imag(z))


def _is(chosen: Int[Array, "..."], column: Inexact[Array, "... n"]) -> Bool[Array, "... n"]:
    return jax.nn.one_hot(chosen, column.shape[-1], dtype=bool)


def _row(matrix: Inexact[Array, "... n k"], here: Bool[Array, "... n"]) -> Inexact[Array, "... 1 k"]:
    return jnp.sum(jnp.where(here[..., None], matrix, 0), axis=-2, keepdims=True)
