r"""Lanczos' tridiagonalisation of a Hermitian operator that is known by its products with vectors.

Let the rows of Q be the vectors $q_0, A q_0, A^2 q_0, \dots$ made orthonormal, for a unit vector $q_0$. Then
$T = \bar Q A Q^T$ is tridiagonal, with the diagonal $\alpha$ and the off-diagonal $\beta$. Each product is made
orthogonal to all earlier vectors twice. The vectors are then orthonormal to rounding, however far some levels have
converged (Giraud, Langou and Rozložník 2005), and T is the exact matrix of an operator within rounding of A.

The library matfree 0.6 makes vectors orthogonal as often, but goes on where they have run out: for the identity matrix
its T has off-diagonal entries of 5, and so levels that the matrix does not have.

*Without orthogonality to all vectors*, each product is made orthogonal to the last two only, which would suffice for
exact numbers. T is then the exact matrix of an operator that has a narrow cluster of levels where A has one, and whose
vector sees each cluster as A's vector sees its level (Greenbaum 1989, Linear Algebra Appl. 113, 7). Averages keep their
digits (Knizhnerman 1996, Comput. Math. Math. Phys. 36, 1481), but a converged level is found several times.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._promotion import like
from rmtjax._units import in_unit, over
from rmtjax._varying import varying_like

# The rest of a product counts as rounding below this many eps of the largest product.
_ROUNDING = 100


class Tridiagonal(NamedTuple):
    r"""The result of Lanczos' steps, in a unit in which the first product has a length of order 1.

    Args:
        unit: a power of two. In the unit of the operator, squares of products may overflow, or underflow and pass for
            vectors that have run out.
        diagonal: the α, 0 from `order` on; complex for a complex operator, with imaginary parts of rounding.
        off_diagonal: the β behind each α; the next step would begin with the last one.
        order: number of steps until the vectors ran out.
        complete: whether the vectors ran out, so that they span a space that A maps into itself.
        size: the Frobenius norm of $\bar Q A Q^T$.
        asymmetry: the share of this norm that does not belong to a Hermitian tridiagonal matrix, or the asymmetry that
            a `witness` sees, if it is larger.
    """

    unit: Float[Array, ""]
    diagonal: Inexact[Array, " depth"]
    off_diagonal: Float[Array, " depth"]
    order: Int[Array, ""]
    complete: Bool[Array, ""]
    size: Float[Array, ""]
    asymmetry: Float[Array, ""]


class _State(NamedTuple):
    unit: Float[Array, ""]
    vectors: Inexact[Array, "kept n"]
    following: Inexact[Array, " n"]
    off_diagonal: Float[Array, ""]
    largest: Float[Array, ""]


def tridiagonalised(
    product: Callable[[Inexact[Array, " n"]], Inexact[Array, " n"]],
    start: Inexact[Array, " n"],
    witness: Inexact[Array, " n"] | None = None,
    *,
    depth: int,
    orthogonal: bool = True,
) -> Tridiagonal:
    r"""The first steps from a unit vector; depth ≤ n. If not `orthogonal`, a few vectors are kept instead of all.

    The steps see only the part of A between their vectors. A single step sees one number, which is symmetric whatever A
    is; steps that keep few vectors and have a witness see no more. A random unit vector u as a `witness` costs one more
    product and sees all of A: the numbers $\langle u, A q_0\rangle$ and $\langle A u, q_0\rangle$ have the size of
    $|A q_0|/\sqrt n$ and differ by the share $\lVert A - A^*\rVert_F/\lVert A\rVert_F$ of it.
    """
    real = start.real.dtype
    place, eps = jnp.arange(depth), jnp.finfo(real).eps
    other = start if witness is None else witness

    def step(state: _State, k: Int[Array, ""]) -> tuple[_State, tuple]:
        # The product with the witness is the last step, because a second copy of the operator would be compiled again.
        # Its row is beyond the vectors, where a write is dropped.
        q = state.following if witness is None else jnp.where(k < depth, state.following, witness)
        image = product(q)
        unit = jax.lax.cond(k == 0, lambda: in_unit(image, 0)[1][0], lambda: state.unit)
        image = over(image, unit)
        if orthogonal:
            vectors = state.vectors.at[k].set(q)
            row, once, rest = _against_all(vectors, image)
            expected = jnp.where(place == k - 1, state.off_diagonal, jnp.where(place == k, row.real, 0))
            entry = row[k]
        else:
            before, its_image = state.vectors[0], state.vectors[-1]
            once = image - like(image, state.off_diagonal) * before
            entry = jnp.vdot(q, once)
            rest = once - entry * q
            vectors, row, expected = q[None], entry[None], entry.real[None]
            if witness is None:
                # Beside a level far beyond the rest vectors are hardly orthogonal to their second neighbours, and both
                # numbers are not β.
                vectors = jnp.stack([q, image])
                row = jnp.append(row, jnp.vdot(before, image))
                expected = jnp.append(like(row, expected), jnp.vdot(its_image, q))
        left, largest = _norm(rest), jnp.maximum(state.largest, _norm(image))
        goes_on = left > _ROUNDING * eps * largest
        if orthogonal:  # Twice is enough (Parlett 1998, section 6.9): a vector that loses length again is rounding.
            goes_on &= left > 0.5 * _norm(once)
        following = jnp.where(goes_on, rest / like(rest, jnp.where(goes_on, left, 1)), 0)
        # The two numbers that a witness compares.
        across = jax.lax.cond(
            (k == 0) | (k == depth), lambda: jnp.vdot(jnp.where(k == 0, other, start), image), lambda: 0 * entry
        )
        found = entry, left, goes_on, _norm(row), _norm(row - like(row, expected)), (across, _norm(image))
        return _State(unit, vectors, following, jnp.where(goes_on, left, 0), largest), found

    # Made of the vector: JAX does not map a loop over an explicit axis if it carries constants, which have no mesh.
    none = jnp.sum(0 * start.real)
    number = depth if orthogonal else 1 + (witness is None)
    kept = jnp.zeros((number, start.size), start.dtype)
    state = _State(none + 1, kept + like(start, none), start, none, none)
    state = varying_like(state, start, jax.eval_shape(product, start))
    steps = place if witness is None else jnp.arange(depth + 1)
    last, (*found, seen) = jax.lax.scan(step, state, steps)
    diagonal, left, goes_on, sizes, others = (part[:depth] for part in found)
    order = 1 + jnp.sum(jnp.cumprod(goes_on[:-1].astype(int)))
    size = _norm(sizes)
    asymmetry = _ratio(_norm(others), size)
    if witness is not None:
        across, images = seen
        apart = abs(across[0] - across[depth].conj()) * start.size**0.5
        asymmetry = jnp.maximum(asymmetry, _ratio(apart, jnp.hypot(images[0], images[depth])))
    return Tridiagonal(last.unit, diagonal, left, order, ~goes_on.all(), size, asymmetry)


def _against_all(
    vectors: Inexact[Array, "depth n"], image: Inexact[Array, " n"]
) -> tuple[Inexact[Array, " depth"], Inexact[Array, " n"], Inexact[Array, " n"]]:
    """The components of a product, and the rest of it after one and after two projections."""
    first = vectors.conj() @ image
    once = image - first @ vectors
    second = vectors.conj() @ once
    return first + second, once, once - second @ vectors


def _ratio(part: Float[Array, ""], whole: Float[Array, ""]) -> Float[Array, ""]:
    """The quotient of a part and a whole that may be 0."""
    return part / jnp.where(whole > 0, whole, 1)


def _norm(vector: Inexact[Array, " n"]) -> Float[Array, ""]:
    """The length of a vector; 0 has the derivative 0."""
    square = jnp.sum(jnp.real(vector * vector.conj()))
    zero = square == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, square)))
