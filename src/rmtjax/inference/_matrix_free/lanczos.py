r"""Lanczos' tridiagonalisation of a Hermitian operator that is known by its products with vectors.

From a unit vector $q_0$ the vectors $q_0, A q_0, A^2 q_0, \dots$ made orthonormal, the rows of Q, give a tridiagonal
matrix $T = \bar Q A Q^T$ with the diagonal $\alpha$ and the off-diagonal $\beta$. Each product is made orthogonal to
all vectors before it, and a second time, after which they are orthonormal to rounding however far some levels have
converged (Giraud, Langou and Rozložník 2005): T is the exact matrix of an operator within rounding of A.

The library for this, matfree 0.6, makes orthogonal as often, but goes on where the vectors have run out: of the
identity matrix its T has off-diagonal entries of 5, and so levels that the matrix lacks.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._varying import varying_like

# What is left of a product counts as rounding below this many eps of the largest product.
_ROUNDING = 100


class Tridiagonal(NamedTuple):
    r"""What Lanczos' steps find.

    Args:
        diagonal: the α, 0 from `order` on; complex for a complex operator, with imaginary parts of rounding.
        off_diagonal: the β behind each of them; the last is what the next step would begin with.
        order: number of steps until the vectors ran out.
        complete: whether they did, so that the vectors span a space that A maps into itself.
        size: the Frobenius norm of $\bar Q A Q^T$.
        asymmetry: the part of it that is not of a Hermitian tridiagonal matrix.
    """

    diagonal: Inexact[Array, " depth"]
    off_diagonal: Float[Array, " depth"]
    order: Int[Array, ""]
    complete: Bool[Array, ""]
    size: Float[Array, ""]
    asymmetry: Float[Array, ""]


class _State(NamedTuple):
    vectors: Inexact[Array, "depth n"]
    following: Inexact[Array, " n"]
    off_diagonal: Float[Array, ""]
    largest: Float[Array, ""]


def tridiagonalised(
    product: Callable[[Inexact[Array, " n"]], Inexact[Array, " n"]], start: Inexact[Array, " n"], depth: int
) -> Tridiagonal:
    """The first steps from a unit vector; depth ≤ n."""
    real = start.real.dtype
    place, eps = jnp.arange(depth), jnp.finfo(real).eps

    def step(state: _State, k: Int[Array, ""]) -> tuple[_State, tuple]:
        q = state.following
        vectors = state.vectors.at[k].set(q)
        image = product(q)
        first = vectors.conj() @ image
        once = image - first @ vectors
        second = vectors.conj() @ once
        twice = once - second @ vectors
        left, largest = _norm(twice), jnp.maximum(state.largest, _norm(image))
        # Twice is enough (Parlett 1998, section 6.9): what loses length again is rounding.
        goes_on = (left > 0.5 * _norm(once)) & (left > _ROUNDING * eps * largest)
        following = jnp.where(goes_on, twice / jnp.where(goes_on, left, 1), 0)
        row = first + second
        expected = jnp.where(place == k - 1, state.off_diagonal, jnp.where(place == k, row.real, 0))
        found = row[k], left, goes_on, _norm(row), _norm(row - expected)
        return _State(vectors, following, jnp.where(goes_on, left, 0), largest), found

    kinds = jax.typeof(start), jax.typeof(jax.eval_shape(product, start))
    state = _State(jnp.zeros((depth, start.size), start.dtype), start, jnp.zeros((), real), jnp.zeros((), real))
    state = jax.tree.map(lambda leaf: varying_like(leaf, *kinds), state)
    _, (diagonal, left, goes_on, sizes, others) = jax.lax.scan(step, state, place)
    order = 1 + jnp.sum(jnp.cumprod(goes_on[:-1].astype(int)))
    size = _norm(sizes)
    return Tridiagonal(diagonal, left, order, ~goes_on.all(), size, _norm(others) / jnp.where(size > 0, size, 1))


def _norm(vector: Inexact[Array, " n"]) -> Float[Array, ""]:
    """The length of a vector; 0 has the derivative 0."""
    square = jnp.sum(jnp.real(vector * vector.conj()))
    zero = square == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, square)))
