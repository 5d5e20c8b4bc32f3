r"""Correlated noise: rows are multiplied by a root of the noise covariance, and results are brought back.

Let the noise of a row have the covariance Σ, $\Sigma_{jk} = E\,z_j \bar z_k$. With $\Sigma = LL^*$ the rows of
$XL^{-T}$ have white noise, and multiplying by $L^T$ brings them back. Any other root is L times a unitary matrix, which
turns the white rows and is undone on the way back, so that no result depends on the choice.

**Squared errors after the way back.** Let the white matrix have singular values s, vectors $\hat u_k$ of rows and
$\hat v_k$ of columns, and noise of level σ. Write c and $\tilde c$ for the cosines of the angles of $\hat u_k$ and
$\hat v_k$ to the vectors of the signal, x for its singular values, and $B = L^T$. The part of $\hat v_k$ beside the
signal has a random direction, so that for large sizes, with $\mu = \operatorname{tr}(BB^*)/p$ (Leeb 2021),

$$\hat v_j^* BB^* \hat v_k = \tilde c_j \tilde c_k\, v_j^* BB^* v_k + \delta_{jk} (1 - \tilde c_k^2)\,\mu .$$

So the products $v_j^* BB^* v_k$ are known. With $\hat U$, $\hat V$ of the components that stand out and
$D = \hat V^* BB^* \hat V$, the matrix $\hat U C \hat V^* B$ nearest to the signal has, by least squares,

$$C = \operatorname{diag}(xc/\tilde c)\,\big(1 - \mu \operatorname{diag}(1 - \tilde c^2)\, D^{-1}\big).$$

Both diagonals are shrinkers. With $t = x^2$ (`singular_values`), $xc/\tilde c = (t + p\sigma^2)/s$, which is the
shrinker of the operator norm where p is the smaller side. And $(xc/\tilde c)(1 - \tilde c^2)$ is its excess over the
shrinker of squares, $xc\tilde c$, so that $B = 1$ gives that back. With the functions F of the white matrix that these
shrinkers define and the projection P on $\hat V$,

$$\hat X = \big(F_1 - (F_1 - F_2)\,(P BB^* P/\mu + 1 - P)^{-1}\big)\,B .$$

No single vector is in it, and its derivative is right where singular values are equal.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import in_one_precision
from rmtjax._units import over, times, unit_of
from rmtjax.inference._core.data import HERMITIAN, in_batch
from rmtjax.inference._signal.singular_values import Shrunk, with_shrunk_values
from rmtjax.linalg.internal import adjoint, hermitian_part


class Roots(NamedTuple):
    """What makes the noise of rows white, and what brings them back, both by multiplication from the right."""

    white: Inexact[Array, "*batch p p"]
    back: Inexact[Array, "*batch p p"]


def covariance_of_noise(
    covariance: Any, data: Inexact[Array, "*batch n p"], batch: tuple[int, ...]
) -> tuple[Inexact[Array, "*batch n p"], Inexact[Array, "..."] | None, Any]:
    """The data and the covariance of a row of noise in one precision, and whether the latter is valid.

    Raises:
        ValueError: the covariance is not Hermitian and positive definite, or is not p × p, alone or for each matrix.
    """
    if covariance is None:
        return data, None, True
    p = data.shape[-1]
    matrix = _checks.square_matrix("noise_covariance", covariance)
    if matrix.shape not in ((p, p), (*batch, p, p)):
        each = f", or {(*batch, p, p)} for each matrix" if batch else ""
        raise _checks.refusal("noise_covariance", f"have the shape {(p, p)} of the columns{each}", matrix.shape)
    if jnp.iscomplexobj(matrix) and not jnp.iscomplexobj(data):
        raise _checks.refusal("noise_covariance", "be real for real data", matrix.dtype)
    hermitian = HERMITIAN.kept("noise_covariance", matrix)  # to the rounding of its own precision
    data, matrix = in_one_precision((data, matrix))
    return data, matrix.astype(data.dtype), _checks.all_kept(hermitian, _DEFINITE.kept("noise_covariance", matrix))


def _is_definite(covariance: Any) -> Any:
    if isinstance(covariance, np.ndarray):
        try:
            np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            return False
        return True
    return jnp.isfinite(_root(covariance)).all((-2, -1))


def _smallest(covariance: np.ndarray) -> str:
    levels = np.linalg.eigvalsh(covariance)[..., 0]
    worst = np.unravel_index(np.argmin(levels), levels.shape)
    return f"the smallest eigenvalue {levels[worst]:.3g}{in_batch(worst)}"


_DEFINITE = _checks.Rule(
    _is_definite,
    "be positive definite (`shrink_covariance` of scans of noise alone is, however few they are)",
    _smallest,
)


def _root(covariance: Inexact[Array, "*batch p p"]) -> Inexact[Array, "*batch p p"]:
    """L, in a unit near the largest standard deviation."""
    unit = unit_of(jnp.sqrt(jnp.max(jnp.abs(covariance), axis=(-2, -1), keepdims=True)))
    return times(jnp.linalg.cholesky(hermitian_part(over(over(covariance, unit), unit))), unit)


def roots(covariance: Inexact[Array, "*batch p p"]) -> Roots:
    """The two matrices of `Roots` for a positive definite covariance."""
    root = _root(covariance)
    identity = jnp.broadcast_to(jnp.eye(root.shape[-1], dtype=root.dtype), root.shape)
    inverse = jax.scipy.linalg.solve_triangular(root, identity, lower=True)
    return Roots(jnp.swapaxes(inverse, -1, -2), jnp.swapaxes(root, -1, -2))


def with_least_squared_error(
    white: Inexact[Array, "n p"], level: Float[Array, ""], back: Inexact[Array, "p p"], beta: float, known: bool
) -> Shrunk:
    """Same as `with_shrunk_values` for squared errors, but with the best matrix after the way back.

    It is the last formula at the top of the file.
    """
    n, p = white.shape
    first = "operator" if p <= n else "larger side"
    nearest, before, after, scale = with_shrunk_values(white, level, beta, "frobenius", known)
    turned = with_shrunk_values(white, level, beta, first, known)[0]
    vectors = with_shrunk_values(white, level, beta, "vectors", known)[0]
    inside = adjoint(vectors) @ vectors
    scaled = over(back, unit_of(jnp.max(jnp.abs(back))))
    gram = scaled @ adjoint(scaled)
    gram = gram * (p / jnp.trace(gram))
    lengths = inside @ gram @ inside + jnp.eye(p, dtype=gram.dtype) - inside
    lost = adjoint(jnp.linalg.solve(lengths, adjoint(turned - nearest)))
    return (turned - lost) @ back, before, after, scale
