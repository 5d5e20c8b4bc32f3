r"""The dominant eigenvalue of a general square matrix and its derivatives.

For a simple eigenvalue with $A v = \lambda v$ and $w^* A = \lambda w^*$ (Horn and Johnson 2013, theorem 6.3.12)

$$\dot\lambda = \frac{w^* \dot A v}{w^* v}.$$

The spectral radius is $\rho = |\lambda|$ for a dominant $\lambda$, so
$\dot\rho = \mathrm{Re}(\bar\lambda\dot\lambda)/\rho$. The complex eigenvalues of a real matrix come in conjugate pairs;
both members of a pair give the same $\dot\rho$.

Higher derivatives need $\dot v$ and $\dot w$. Normalised by $w_0^* v = 1$ with the undisturbed left vector, $\dot v$
solves the bordered system (nonsingular exactly where $\lambda$ is simple)

$$\begin{pmatrix} A - \lambda & -v \\ w_0^* & 0 \end{pmatrix}
\begin{pmatrix} \dot v \\ \dot\lambda \end{pmatrix} = \begin{pmatrix} -\dot A v \\ 0 \end{pmatrix},$$

and $\dot w$ solves the same system with $A^*$.
"""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Inexact, Real

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import complex_dtype, like
from rmtjax._typing import ArrayLike
from rmtjax.linalg._decompose import adjoint


@jax.custom_jvp
def _dominant_triple(a: Complex[Array, "n n"]) -> tuple[Complex[Array, ""], Complex[Array, " n"], Complex[Array, " n"]]:
    """An eigenvalue of largest absolute value with its right and left eigenvectors, each of norm 1."""
    eigenvalues, left, right = jax.lax.linalg.eig(a, compute_left_eigenvectors=True, compute_right_eigenvectors=True)
    k = jnp.argmax(jnp.abs(eigenvalues))
    return eigenvalues[k], right[:, k], left[:, k]


@_dominant_triple.defjvp
def _dominant_triple_jvp(primals: tuple, tangents: tuple) -> tuple:
    (a,), (tangent,) = primals, tangents
    eigenvalue, v, w = _dominant_triple(a)
    v_dot = _vector_derivative(a, eigenvalue, v, w, tangent)
    w_dot = _vector_derivative(adjoint(a), jnp.conj(eigenvalue), w, v, adjoint(tangent))
    # Where the dominant eigenvalue is 0 the matrix is nilpotent, w*v may vanish, and the derivative is set to 0.
    overlap = jnp.where(eigenvalue == 0, jnp.inf, jnp.vdot(w, v))
    eigenvalue_dot = jnp.vdot(w, tangent @ v) / overlap
    return (eigenvalue, v, w), (eigenvalue_dot, v_dot, w_dot)


def _vector_derivative(a: Array, eigenvalue: Array, v: Array, w: Array, tangent: Array) -> Array:
    """Derivative of the right eigenvector, by the bordered system."""
    n = a.shape[-1]
    shifted = a - eigenvalue * jnp.eye(n, dtype=a.dtype)
    bordered = jnp.block([[shifted, -v[:, None]], [jnp.conj(w)[None, :], jnp.zeros((1, 1), a.dtype)]])
    right_side = jnp.append(-tangent @ v, jnp.zeros((), a.dtype))
    return jnp.linalg.solve(bordered, right_side)[:n]


def spectral_radius(a: Annotated[ArrayLike, "*batch n n"]) -> Real[Array, "*batch"]:
    r"""Spectral radius of a general square matrix, $\rho(A) = \max_k |\lambda_k|$.

    Differentiable to any order where the dominant eigenvalue is simple, or one of a conjugate pair of a real matrix.
    At a nilpotent matrix, ρ = 0, the gradient is set to 0. For complex A, `jax.grad` returns the conjugate of the
    direction of steepest ascent, $\partial\rho/\partial\mathrm{Re}A - i\,\partial\rho/\partial\mathrm{Im}A$: descend
    along `-jnp.conj(grad)`.

    Args:
        a: finite real or complex matrices, batched over leading axes; no symmetry is needed.

    Returns:
        One number per matrix.

    Raises:
        ValueError: `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> print(spectral_radius(jnp.array([[0.0, -2.0], [2.0, 0.0]])))  # eigenvalues ±2i
        2.0

    References:
        Horn and Johnson (2013), Matrix Analysis, theorem 6.3.12.
    """
    return _radii(_checks.square_matrix("a", a))


@compiled
def _radii(a: Inexact[Array, "*batch n n"]) -> Real[Array, "*batch"]:
    return jnp.vectorize(_radius, signature="(n,n)->()")(a)


def _radius(matrix: Inexact[Array, "n n"]) -> Real[Array, ""]:
    # The matrix is divided by its largest entry. LAPACK scales matrices of extreme norm, but jaxlib returns the
    # eigenvalues without the scale (in float32 beyond 1e±14), and the derivative of hypot squares its arguments.
    unit = jax.lax.stop_gradient(jnp.max(jnp.abs(matrix)))
    unit = jnp.where(unit == 0, 1, unit)
    scaled = matrix / like(matrix, unit)
    eigenvalue, _, _ = _dominant_triple(scaled.astype(complex_dtype(scaled.dtype)))
    x, y = jnp.real(eigenvalue), jnp.imag(eigenvalue)
    zero = eigenvalue == 0
    return jnp.where(zero, 0, unit * jnp.hypot(jnp.where(zero, 1, x), y))
