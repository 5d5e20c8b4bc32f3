"""Scalar functions of a Hermitian matrix."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import in_one_precision
from rmtjax._typing import ArrayLike, RealScalarLike
from rmtjax.linalg._hermitian import eigvalsh


def log_determinant(a: Annotated[ArrayLike, "*batch n n"]) -> Float[Array, "*batch"]:
    r"""Logarithm of the absolute determinant of a Hermitian matrix, $\sum_k \log|\lambda_k|$.

    The gradient is $A^{-1}$. A singular matrix gives $-\infty$.

    Args:
        a: finite matrices, batched over leading axes; read as their Hermitian part.

    Returns:
        One number per matrix.

    Raises:
        ValueError: `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> print(log_determinant(jnp.diag(jnp.array([-1.0, 1.0]))))
        0.0
    """
    magnitude = jnp.abs(eigvalsh(a))
    singular = magnitude == 0
    return jnp.sum(jnp.where(singular, -jnp.inf, jnp.log(jnp.where(singular, 1, magnitude))), axis=-1)


_EXPONENTS = _checks.Rule(lambda p: p >= 1, "be at least 1")


def schatten_norm(a: Annotated[ArrayLike, "*batch n n"], p: RealScalarLike = 2.0) -> Float[Array, "*batch"]:
    r"""Schatten norm of a Hermitian matrix, $\|A\|_p = \big(\sum_k |\lambda_k|^p\big)^{1/p}$.

    p = 1 is the trace norm, p = 2 the Frobenius norm, p = ∞ the operator norm. At A = 0 the subgradient 0 is used.

    Args:
        a: finite matrices, batched over leading axes; read as their Hermitian part.
        p: exponent in [1, ∞].

    Returns:
        One number per matrix.

    Raises:
        ValueError: `p` is below 1 or NaN; `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> print(schatten_norm(jnp.diag(jnp.array([-3.0, 4.0]))))
        5.0

    References:
        Bhatia (1997), Matrix Analysis, section IV.2.
    """
    p = _EXPONENTS("p", _checks.scalar("p", p))
    magnitude, p = in_one_precision((jnp.abs(eigvalsh(a)), p))
    largest = jnp.max(magnitude, axis=-1)
    # In units of the largest level no power overflows; the p-th root never sees a zero matrix.
    zero = largest == 0
    unit = jnp.where(zero, 1, largest)
    ratios = jax.lax.stop_gradient(unit)[..., None]
    finite_p = jnp.where(p == jnp.inf, 2, p)
    inside = (magnitude / ratios > 0) & ~zero[..., None]
    powers = jnp.where(inside, jnp.where(inside, magnitude / ratios, 1) ** finite_p, 0)
    total = jnp.where(zero, 1, jnp.sum(powers, axis=-1))
    norm = jnp.where(p == jnp.inf, largest, ratios[..., 0] * total ** (1 / finite_p))
    return jnp.where(zero, 0, norm)
