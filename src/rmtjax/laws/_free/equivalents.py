r"""Deterministic equivalents: what resolvents and determinants of a known matrix with noise are near to.

For free A and B the conditional expectation of $(z - A - B)^{-1}$ on A is $(\omega - A)^{-1}$ at the subordinate point
ω(z) of A. For a product it is $\frac{\omega}{z} (\omega - A)^{-1}$, as $z (z - M)^{-1} - 1$ has the expectation
$\omega (\omega - A)^{-1} - 1$ (Biane 1998, Math. Z. 227, 143).
"""

from typing import Annotated, Literal

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._free.empirical import Empirical
from rmtjax.laws._free.free_product import FreeProduct
from rmtjax.laws._free.free_sum import FreeSum
from rmtjax.linalg import eigh

Operation = Literal["sum", "product"]
_POSITIVE = _checks.Rule(
    lambda levels: (levels >= 0).all() & (levels != 0).any(),
    "have no negative levels, and not be 0, for a product",
    lambda levels: f"levels from {levels.min():.4g} to {levels.max():.4g}",
)


def resolvent_equivalent(
    matrix: Annotated[ArrayLike, "n n"],
    law: AbstractSpectralLaw,
    z: Annotated[ArrayLike, "*points"],
    operation: Operation = "product",
) -> Complex[Array, "*points n n"]:
    r"""The matrix to which $(z - M)^{-1}$ is near, for a known matrix A with noise B in general position.

    $M = A + B$ for a sum and $A^{1/2} B A^{1/2}$ for a product. With the eigenvectors of A the equivalent is
    $(\omega - A)^{-1}$ for a sum and $\frac{\omega}{z} (\omega - A)^{-1}$ for a product. The subordinate point ω(z)
    solves the equation of `FreeSum` or `FreeProduct` for the law of B and the levels of A. Traces
    $\frac1n \operatorname{tr} T (z - M)^{-1}$ with a bounded T, and quadratic forms, tend to those of the equivalent;
    for Gaussian B their errors are of the order of 1/n and $1/\sqrt n$. A sample covariance matrix of m normal
    observations is the product of the population covariance matrix A, of order n, and `MarchenkoPastur(n/m)`.

    Args:
        matrix: A, symmetric or Hermitian, and otherwise taken for $(A + A^*)/2$; for a product positive semidefinite
            and not 0.
        law: the limiting law of the levels of B; of numbers that are not negative for a product.
        z: complex or real points of any shape; on the real axis the limit from above, and NaN at 0 for a product.
        operation: `"sum"` or `"product"`; static.

    Returns:
        An n × n matrix for each point.

    Raises:
        ValueError: `matrix` is not square or not finite, or has negative levels for a product.
        ValueError: another argument is not what it should be.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> covariance = jnp.diag(jnp.linspace(1.0, 3.0, 200))
        >>> data = jax.random.normal(jax.random.key(0), (400, 200)) @ jnp.sqrt(covariance)
        >>> resolvent = jnp.linalg.inv(jnp.eye(200) + data.T @ data / 400)
        >>> equivalent = -resolvent_equivalent(covariance, rmt.laws.MarchenkoPastur(0.5), -1.0).real
        >>> print(f"{jnp.trace(resolvent) / jnp.trace(equivalent):.2f}")
        1.00

    References:
        Biane (1998), Math. Z. 227, 143, section 3; Bun, Bouchaud and Potters (2017), Phys. Rep. 666, 1, chapter 4;
        Couillet and Liao (2022), Random Matrix Methods for Machine Learning, theorem 2.6.
    """
    points = in_plane(_checks.numbers("z", z))
    levels, vectors, noisy = _with_noise(matrix, law, operation)
    w = noisy.subordinate(points)
    return _equivalent(vectors, w if operation == "sum" else points, w, levels)


def log_det_equivalent(
    matrix: Annotated[ArrayLike, "n n"],
    law: AbstractSpectralLaw,
    z: Annotated[ArrayLike, "*points"],
    operation: Operation = "product",
) -> Float[Array, "*points"]:
    r"""The number to which $\log|\det(z - M)|$ is near, for a known matrix A with noise B in general position.

    It is $n \operatorname{Re} U(z)$ with the logarithmic potential $U(z) = E \log(z - X)$ of the free sum or product.
    For z outside of the support the error tends to a normal variable of the order of one, while the determinant has the
    order of $e^n$. Inside, the variance of the error grows like log n. The capacity of a channel,
    $\log \det(1 + \rho M)$, is $n \log \rho$ plus this at $z = -1/\rho$.

    Args:
        matrix: A, symmetric or Hermitian, and otherwise taken for $(A + A^*)/2$; for a product positive semidefinite
            and not 0.
        law: the limiting law of the levels of B; of numbers that are not negative for a product.
        z: complex or real points of any shape.
        operation: `"sum"` or `"product"`, as for `resolvent_equivalent`; static.

    Returns:
        A number for each point.

    Raises:
        ValueError: an argument is not what it should be, as for `resolvent_equivalent`.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> covariance = jnp.diag(jnp.linspace(1.0, 3.0, 200))
        >>> data = jax.random.normal(jax.random.key(0), (400, 200)) @ jnp.sqrt(covariance)
        >>> capacity = jnp.linalg.slogdet(jnp.eye(200) + data.T @ data / 400)[1]
        >>> print(f"{capacity / log_det_equivalent(covariance, rmt.laws.MarchenkoPastur(0.5), -1.0):.2f}")
        1.00

    References:
        Tulino and Verdú (2004), Random Matrix Theory and Wireless Communications, section 2.2.3; Bai and Silverstein
        (2004), Ann. Probab. 32, 553, for the fluctuations.
    """
    levels, _, noisy = _with_noise(matrix, law, operation)
    return levels.size * noisy.log_potential(z).real


def _with_noise(
    matrix: ArrayLike, law: AbstractSpectralLaw, operation: Operation
) -> tuple[Float[Array, " n"], Inexact[Array, "n n"], FreeSum | FreeProduct]:
    """The levels and vectors of A, and the law of M."""
    _checks.choice("operation", operation, Operation)
    array = _checks.square_matrix("matrix", matrix)
    if array.ndim != 2:
        raise _checks.refusal("matrix", "be one square matrix", array.shape)
    levels, vectors = eigh(array)
    if operation == "sum":
        return levels, vectors, FreeSum(Empirical(levels), law)
    rounding = levels.size * float(jnp.finfo(levels.dtype).eps) * jnp.abs(levels).max()
    levels = _POSITIVE("matrix", jnp.where(levels > -rounding, jnp.maximum(levels, 0), levels))
    return levels, vectors, FreeProduct(Empirical(levels), law)


@compiled
def _equivalent(
    vectors: Inexact[Array, "n n"],
    beside: Complex[Array, "*points"],
    w: Complex[Array, "*points"],
    levels: Float[Array, " n"],
) -> Complex[Array, "*points n n"]:
    of_levels = (w / beside)[..., None] / jnp.subtract.outer(w, like(w, levels))
    turned = like(w, vectors)
    return jnp.einsum("ij,...j,kj->...ik", turned, of_levels, jnp.conj(turned))
