"""Eigenvalues and eigenvectors of real symmetric and complex Hermitian matrices."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Real

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import ArrayLike
from rmtjax.linalg import _lapack, _sturm
from rmtjax.linalg._decompose import decompose, hermitian_part, slopes
from rmtjax.linalg._tridiagonal import block_eigenvalues

# By `dtype.kind`, for real and for complex matrices: up to this n, levels on a CPU come from LAPACK's driver without
# vectors, and beyond it from the sweeps of this package. For n < 50 the driver takes half the time of the driver with
# vectors. For real matrices of n = 100 it takes as long as the sweeps in double precision, and 1.1 to 1.3 times as long
# in single precision; but its program compiles in 0.1 s instead of 1.1 s. For complex matrices it falls behind earlier.
_LARGEST_DIRECT = {"f": 100, "c": 50}


# Compiled here, so that calls outside of `jit` do not compile the loops each time.
@jax.custom_jvp
@compiled
def hermitian_eigenvalues(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    """`eigvalsh` of a matrix that is known to be finite and Hermitian."""
    direct = a.shape[-1] <= _LARGEST_DIRECT[a.dtype.kind]
    on_cpu = _lapack.levels if direct else _reduced_levels
    return jax.lax.platform_dependent(a, cpu=on_cpu, default=lambda b: decompose(b)[0])


def _reduced_levels(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    """Levels without vectors, by LAPACK's reduction to tridiagonal form and the Sturm sweeps of this package."""
    n = a.shape[-1]

    def of_one(matrix: Inexact[Array, "n n"]) -> Real[Array, " n"]:
        # Scale, as LAPACK's own drivers do: entries near the ends of the exponent range do not survive the reduction.
        exponent = _sturm.exponent_above(jnp.max(jnp.maximum(jnp.abs(matrix.real), jnp.abs(matrix.imag))))
        real, imag = (_sturm.scaled(part, -exponent) for part in (matrix.real, matrix.imag))
        scaled = jax.lax.complex(real, imag) if jnp.iscomplexobj(matrix) else real
        _, diagonal, off_diagonal, _ = jax.lax.linalg.tridiagonal(scaled)
        return _sturm.scaled(block_eigenvalues(0, n, diagonal, off_diagonal, jnp.int32(n)), exponent)

    return jnp.vectorize(of_one, signature="(n,n)->(n)")(a)


@hermitian_eigenvalues.defjvp
def _hermitian_eigenvalues_jvp(primals: tuple, tangents: tuple) -> tuple:
    (a,), (tangent,) = primals, tangents
    eigenvalues, v = decompose(a)
    return eigenvalues, slopes(a, eigenvalues, v, tangent @ v)


@compiled
def _decomposed(a: Inexact[Array, "*batch n n"]) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    return decompose(hermitian_part(a))


@compiled
def _levels_of(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch n"]:
    return hermitian_eigenvalues(hermitian_part(a))


def eigh(a: Annotated[ArrayLike, "*batch n n"]) -> tuple[Real[Array, "*batch n"], Inexact[Array, "*batch n n"]]:
    r"""Eigenvalues and eigenvectors of a real symmetric or complex Hermitian matrix.

    $A = V \Lambda V^*$ with ascending real eigenvalues and orthonormal columns $v_k$. The matrix is symmetrised
    first, $A \to (A + A^*)/2$, so an asymmetric argument is read as its Hermitian part.

    First and second derivatives are right where the eigenvalues are distinct. Gradients of symmetric functions of the
    spectrum, and of projectors onto whole eigenspaces, are right even at exact degeneracy, where second derivatives of
    levels are NaN. Levels closer than 4 eps‖A‖ count as equal. `linalg.matrix_function` differentiates functions of the
    matrix, V f(Λ) V*.

    Args:
        a: finite matrices, batched over leading axes.

    Returns:
        Eigenvalues of shape `(*batch, n)`, ascending, and eigenvectors `(*batch, n, n)` as columns.

    Raises:
        ValueError: `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> eigenvalues, _ = eigh(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> print(eigenvalues)
        [-1.  1.]

    References:
        Kato (1966), Perturbation Theory for Linear Operators, chapter II, section 2.
    """
    return _decomposed(_checks.square_matrix("a", a))


def eigvalsh(a: Annotated[ArrayLike, "*batch n n"]) -> Real[Array, "*batch n"]:
    r"""Ascending eigenvalues of a real symmetric or complex Hermitian matrix.

    The matrix is read as its Hermitian part, $(A + A^*)/2$. The derivative is $\dot\lambda_k = v_k^* \dot A v_k$,
    with the guarantees of `eigh`.

    Args:
        a: finite matrices, batched over leading axes.

    Returns:
        Eigenvalues of shape `(*batch, n)`, ascending.

    Raises:
        ValueError: `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> gradient = jax.grad(lambda a: eigvalsh(a).sum())(jnp.ones((2, 2)))
        >>> print(jnp.allclose(gradient, jnp.eye(2), atol=1e-6))  # it is the trace
        True

    References:
        Kato (1966), Perturbation Theory for Linear Operators, chapter II, section 2.
    """
    return _levels_of(_checks.square_matrix("a", a))
