r"""The dense eigendecomposition and its derivative, which is right at degeneracies too.

For $A = V \Lambda V^*$ with a Hermitian perturbation $\dot A$, write $E = V^* \dot A V$. First-order perturbation
theory (Kato 1966, chapter II, section 2) gives

$$\dot\lambda_i = E_{ii}, \qquad \dot V = V\,(F \circ E), \qquad
F_{ij} = \frac{1}{\lambda_j - \lambda_i},\ F_{ii} = 0.$$

Inside an eigenspace the basis is arbitrary and $F$ has no value; it is set to 0. Symmetric functions of the spectrum
need no $F$: $\sum_i g(\lambda_i)$ has the gradient $V g'(\Lambda) V^*$ at any degeneracy. Derivatives of projectors
onto whole eigenspaces have no term from inside an eigenspace, so they are right too. The derivative of a matrix
function $V f(\Lambda) V^*$ has such a term, $f'(\lambda) E_{ij}$, and a rule in `rmtjax.linalg.matrix_function`.

Second derivatives of levels do have a term from inside an eigenspace, $2 |E_{ij}|^2/(\lambda_i - \lambda_j)$. In a
symmetric function it becomes $2 g''(\lambda) |E_{ij}|^2$ for each pair of equal levels. A rule for levels cannot know
g, so these second derivatives are NaN.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Real

from rmtjax._automatic import whole
from rmtjax._promotion import like


def adjoint(a: Inexact[Array, "*batch m n"]) -> Inexact[Array, "*batch n m"]:
    """Conjugate transpose of the last two axes."""
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def hermitian_part(a: Inexact[Array, "*batch n n"]) -> Inexact[Array, "*batch n n"]:
    """The Hermitian matrix (A + A*)/2 that every function of this package acts on."""
    a = whole(a, 2)
    return a / 2 + adjoint(a) / 2


def inverse_gaps(
    levels: Real[Array, "*batch n"], chosen: Real[Array, "*batch k"], *, first: int = 0, at_equal: float = 0.0
) -> Real[Array, "*batch n k"]:
    """The matrix 1/(chosen_j - level_i), where the chosen levels are those from number `first` on.

    It is 0 on the diagonal, and a given number where two different levels are equal.
    """
    gaps = chosen[..., None, :] - levels[..., :, None]
    # The eigenvalues are known to about 4 eps‖A‖ only; levels closer than that cannot be told apart.
    resolution = 4 * jnp.finfo(gaps.dtype).eps * jnp.max(jnp.abs(levels), axis=-1)[..., None, None]
    equal = jnp.abs(gaps) <= jax.lax.stop_gradient(resolution)
    itself = jax.lax.broadcast_to_rank(jnp.eye(*gaps.shape[-2:], k=-first, dtype=bool), gaps.ndim)
    return jnp.where(equal, jnp.where(itself, 0, at_equal), 1 / jnp.where(equal, 1, gaps))


def one_by_one(function: Callable) -> Callable:
    """A function of matrices for arrays of them: on a CPU one after the other, under `vmap` as well.

    Two batched calls of LAPACK that run side by side in one program, e.g. for two methods or for a derivative in two
    directions, can each wait forever for the other's thread (jaxlib 0.10 on two cores).
    """
    single = jax.custom_batching.sequential_vmap(function)

    def mapped(*matrices: Inexact[Array, "*batch _ _"]) -> Any:
        each = single
        for _ in matrices[0].shape[:-2]:
            each = jax.vmap(each)
        return each(*matrices)

    return jax.jit(lambda *matrices: jax.lax.platform_dependent(*matrices, cpu=mapped, default=function))


@jax.custom_jvp
def decompose(a: Inexact[Array, "*batch n n"]) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    """`eigh` of a matrix that is known to be finite and Hermitian."""
    eigenvectors, eigenvalues = jax.lax.linalg.eigh(a, symmetrize_input=False)
    return eigenvalues, eigenvectors


_one_by_one = one_by_one(decompose)


@jax.custom_jvp
def decompose_one_by_one(
    a: Inexact[Array, "*batch n n"],
) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    """Same as `decompose`, but `one_by_one`. It is meant for small matrices."""
    return _one_by_one(a)


def slopes(
    a: Inexact[Array, "*batch n n"],
    levels: Real[Array, "*batch n"],
    v: Inexact[Array, "*batch n n"],
    moved: Inexact[Array, "*batch n n"],
) -> Real[Array, "*batch n"]:
    """The derivatives of the levels of A = V Λ V* in a direction, whose product with V is `moved`."""
    return jnp.real(jnp.sum(jnp.conj(parted(a, levels, v)) * moved, axis=-2))


@jax.custom_jvp
def parted(
    a: Inexact[Array, "*batch n n"], levels: Real[Array, "*batch n"], v: Inexact[Array, "*batch n n"]
) -> Inexact[Array, "*batch n n"]:
    """The vectors v, with derivatives that are NaN inside an eigenspace."""
    del a, levels
    return v


@parted.defjvp
def _parted_jvp(primals: tuple, tangents: tuple) -> tuple:
    a, levels, v = primals
    e = adjoint(v) @ tangents[0] @ v
    return parted(a, levels, v), v @ (like(e, inverse_gaps(levels, levels, at_equal=jnp.nan)) * e)


def _first_order(
    decomposition: Callable, a: Inexact[Array, "*batch n n"], tangent: Inexact[Array, "*batch n n"]
) -> tuple:
    """A decomposition and its derivative."""
    eigenvalues, v = decomposition(a)
    moved = tangent @ v
    e = adjoint(v) @ moved
    f = inverse_gaps(eigenvalues, eigenvalues)
    return (eigenvalues, v), (slopes(a, eigenvalues, v, moved), v @ (like(e, f) * e))


decompose.defjvp(lambda primals, tangents: _first_order(decompose, *primals, *tangents))
decompose_one_by_one.defjvp(lambda primals, tangents: _first_order(decompose_one_by_one, *primals, *tangents))
