r"""Eigenvalues and eigenvectors of real symmetric and complex Hermitian matrices, differentiable at degeneracy.

The derivative. For $A = V \Lambda V^*$ with a Hermitian perturbation $\dot A$, write $E = V^* \dot A V$. First-order
perturbation theory (Kato 1966, chapter II, section 2) gives

$$\dot\lambda_i = E_{ii}, \qquad \dot V = V\,(F \circ E), \qquad
F_{ij} = \frac{1}{\lambda_j - \lambda_i},\ F_{ii} = 0.$$

Inside an eigenspace the basis is arbitrary and $F$ has no value; we set it to 0. Symmetric functions of the spectrum
need no $F$: $\sum_i g(\lambda_i)$ has the gradient $V g'(\Lambda) V^*$ at any degeneracy. Projectors onto whole
eigenspaces have no contribution from inside, so their derivatives stay right too. A matrix function $V f(\Lambda) V^*$
does have one, $f'(\lambda) E_{ij}$, and a rule of its own: `rmtjax.linalg.matrix_function`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Real

from rmtjax import _checks


def adjoint(a: Inexact[Array, "*batch m n"]) -> Inexact[Array, "*batch n m"]:
    """Conjugate transpose of the last two axes."""
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def hermitian_part(a: Inexact[Array, "*batch n n"]) -> Inexact[Array, "*batch n n"]:
    """The Hermitian matrix (A + A*)/2 that every function of this package acts on."""
    return a / 2 + adjoint(a) / 2


# On a CPU `jax.lax.linalg.eigh` always computes eigenvectors. Levels alone take 1/2 to 1/3 of its time in float32 from
# n = 50 on; in float64 the two are equal there and 2 to 3 apart at n = 300.
_SMALLEST_TRIDIAGONAL = 50


@jax.custom_jvp
def decompose(
    a: Inexact[Array, "*batch n n"],
) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    """`eigh` of a matrix that is known to be finite and Hermitian: the seam for faster routes."""
    eigenvectors, eigenvalues = jax.lax.linalg.eigh(a, symmetrize_input=False)
    return eigenvalues, eigenvectors


@decompose.defjvp
def _decompose_jvp(primals: tuple, tangents: tuple) -> tuple:
    (a,), (tangent,) = primals, tangents
    eigenvalues, v = decompose(a)
    e = adjoint(v) @ tangent @ v
    gaps = eigenvalues[..., None, :] - eigenvalues[..., :, None]
    # The eigenvalues themselves are known to about 4 eps‖A‖: closer levels are one level to this arithmetic.
    resolution = 4 * jnp.finfo(gaps.dtype).eps * jnp.max(jnp.abs(eigenvalues), axis=-1)[..., None, None]
    equal = jnp.abs(gaps) <= jax.lax.stop_gradient(resolution)
    f = jnp.where(equal, 0, 1 / jnp.where(equal, 1, gaps))
    return (eigenvalues, v), (jnp.real(jnp.diagonal(e, axis1=-2, axis2=-1)), v @ (f * e))


@jax.custom_jvp
def levels(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    """`eigvalsh` of a matrix that is known to be finite and Hermitian: the seam for faster routes."""
    if a.shape[-1] < _SMALLEST_TRIDIAGONAL:
        return decompose(a)[0]
    return jax.lax.platform_dependent(a, cpu=_bisected_levels, default=lambda b: decompose(b)[0])


def _bisected_levels(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    """Levels without vectors, by bisection on the tridiagonal form; as exact as LAPACK's, within a few eps‖A‖."""

    def of_one(matrix: Inexact[Array, "n n"]) -> Real[Array, " n"]:
        # The recurrence squares the entries: a power of 2 brings them near 1, without rounding. The inverse of the very
        # largest powers is subnormal and counts as 0; short of those the entries are near enough to 1.
        info = jnp.finfo(matrix.dtype)
        _, exponent = jnp.frexp(jnp.max(jnp.abs(matrix)))
        exponent = jnp.clip(exponent, 8 - info.maxexp, info.maxexp - 8)
        scaled = matrix * jnp.ldexp(jnp.ones((), info.dtype), -exponent)
        _, diagonal, off_diagonal, _ = jax.lax.linalg.tridiagonal(scaled)
        values = jax.scipy.linalg.eigh_tridiagonal(diagonal, off_diagonal, eigvals_only=True)
        return jnp.ldexp(values, exponent)

    return jnp.vectorize(of_one, signature="(n,n)->(n)")(a)


@levels.defjvp
def _levels_jvp(primals: tuple, tangents: tuple) -> tuple:
    (a,), (tangent,) = primals, tangents
    eigenvalues, v = decompose(a)
    return eigenvalues, jnp.real(jnp.sum(jnp.conj(v) * (tangent @ v), axis=-2))


def eigh(
    a: Inexact[Array, "*batch n n"],
) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    r"""Eigenvalues and eigenvectors of a real symmetric or complex Hermitian matrix.

    $A = V \Lambda V^*$ with ascending real eigenvalues and orthonormal columns $v_k$. The matrix is symmetrised
    first, $A \to (A + A^*)/2$, so an asymmetric argument is read as its Hermitian part.

    Derivatives of eigenvalues are right wherever these are distinct; the gradient of every symmetric function of the
    spectrum, and of the projector onto a whole eigenspace, is right even at exact degeneracy. Levels closer than
    4 eps‖A‖ count as equal. Functions of the matrix, V f(Λ) V*, are differentiated by `linalg.matrix_function`. Second
    derivatives are right for distinct levels.

    Args:
        a: finite matrices, batched over leading axes.

    Returns:
        Eigenvalues of shape `(*batch, n)`, ascending, and eigenvectors `(*batch, n, n)` as columns.

    Raises:
        ValueError: `a` is not square, not floating-point, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> eigenvalues, _ = eigh(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> print(eigenvalues)
        [-1.  1.]

    References:
        Kato (1966), Perturbation Theory for Linear Operators, chapter II, section 2.
    """
    return decompose(hermitian_part(_checks.square_matrix("a", a)))


def eigvalsh(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    r"""Ascending eigenvalues of a real symmetric or complex Hermitian matrix.

    The matrix is read as its Hermitian part, $(A + A^*)/2$. The derivative is $\dot\lambda_k = v_k^* \dot A v_k$,
    with the guarantees of `eigh`.

    Args:
        a: finite matrices, batched over leading axes.

    Returns:
        Eigenvalues of shape `(*batch, n)`, ascending.

    Raises:
        ValueError: `a` is not square, not floating-point, or holds NaN or infinity.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> gradient = jax.grad(lambda a: eigvalsh(a).sum())(jnp.ones((2, 2)))
        >>> print(jnp.allclose(gradient, jnp.eye(2), atol=1e-6))  # it is the trace
        True

    References:
        Kato (1966), Perturbation Theory for Linear Operators, chapter II, section 2.
    """
    return levels(hermitian_part(_checks.square_matrix("a", a)))
