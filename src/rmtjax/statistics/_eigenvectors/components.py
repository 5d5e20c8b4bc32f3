"""Components of eigenvectors, and the part of a vector in a subspace."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, common_dtype
from rmtjax._typing import ArrayLike
from rmtjax.statistics._eigenvectors.participation import Vectors, checked_vectors, intensities, scaled, squares


def porter_thomas_intensities(vectors: Annotated[ArrayLike, "*batch n k"]) -> Float[Array, "*batch n k"]:
    r"""Intensities $n |v_i|^2$ of the components, for $\sum_i |v_i|^2 = 1$; their mean is 1.

    For vectors of invariant ensembles the law of each is `laws.EigenvectorIntensity`, and `laws.PorterThomas` as n → ∞.
    Components of one vector depend on each other, so take errors over several matrices, by `over_samples`. The vectors
    of a degenerate level are a choice of basis, on which the intensities depend; all levels of quaternion matrices in
    complex form are degenerate.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, as `rmt.eigh` returns them; of any length.

    Returns:
        Values of the shape of the vectors; NaN for a zero vector. Differentiable.

    Raises:
        ValueError: the vectors have fewer than two axes.

    Example:
        >>> import jax.numpy as jnp
        >>> print(porter_thomas_intensities(jnp.array([[3.0], [4.0]])).T)
        [[0.72 1.28]]

    References:
        Porter and Thomas (1956), Phys. Rev. 104, 483.
    """
    return _intensities(checked_vectors("vectors", vectors))


def subspace_overlap(
    vectors: Annotated[ArrayLike, "*batch n k"], basis: Annotated[ArrayLike, "*batch n d"]
) -> Float[Array, "*batch k"]:
    r"""The part of each vector in a subspace, $|P v|^2 / |v|^2$ with the orthogonal projection P.

    For a vector that is uniform on the sphere of n components, real (β = 1) or complex (β = 2), it is a beta variate
    with parameters βd/2 and β(n - d)/2, whose mean is d/n.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, of any length.
        basis: d ≤ n linearly independent columns `(..., n, d)`, which span the subspace; they need not be orthogonal.

    Returns:
        Values from 0 to 1 of the shape `(..., k)`, with the batch axes of vectors and basis broadcast. NaN for a zero
        vector, and where the columns of the basis are linearly dependent up to rounding. Differentiable in both.

    Raises:
        ValueError: an argument has another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> print(subspace_overlap(jnp.array([[3.0], [4.0], [0.0]]), jnp.array([[2.0], [0.0], [0.0]])))
        [0.36]
    """
    columns, span = checked_vectors("vectors", vectors), checked_vectors("basis", basis)
    n = columns.shape[-2]
    if span.shape[-2] != n or span.shape[-1] > n:
        raise _checks.refusal("basis", f"have at most {n} columns of {n} numbers, as the vectors have", span.shape)
    dtype = common_dtype(columns, span)
    return _overlap(columns.astype(dtype), span.astype(dtype))


@compiled
def _intensities(vectors: Vectors) -> Float[Array, "*batch n k"]:
    return vectors.shape[-2] * intensities(vectors)


@compiled
def _overlap(vectors: Vectors, basis: Inexact[Array, "*batch n d"]) -> Float[Array, "*batch k"]:
    orthonormal, triangle = jnp.linalg.qr(scaled(basis))
    columns = scaled(vectors)
    inside = jnp.matmul(orthonormal.mT.conj(), columns, precision="highest")
    overlap = jnp.divide(*aligned(squares(inside).sum(-2), squares(columns).sum(-2)))
    rounding = basis.shape[-2] * jnp.finfo(basis.dtype).eps * jnp.sqrt(squares(triangle).sum(-2))
    spans = (abs(jnp.diagonal(triangle, axis1=-2, axis2=-1)) > rounding).all(-1)
    return jnp.where(spans[..., None], overlap, jnp.nan)
