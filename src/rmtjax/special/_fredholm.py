"""Fredholm determinants by quadrature."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, common_dtype, like
from rmtjax._typing import IntervalLike
from rmtjax.special._gauss import gauss_legendre

# Nodes on a half-line follow this many times the tangent (Bornemann's choice, for kernels that decay like Ai²).
_TANGENT = 10.0


class FredholmDeterminant(NamedTuple):
    """A determinant with an estimate of its absolute error.

    Example:
        >>> got = fredholm_det(lambda x, y: x * y, (0.0, 1.0))  # 1 - ∫ x² dx
        >>> print(f"{got.value:.4f} {got.error < 1e-4}")
        0.6667 True
    """

    value: Inexact[Array, ""]
    error: Float[Array, ""]


Kernel = TypeAliasType("Kernel", Callable[[Float[Array, "q 1"], Float[Array, "1 q"]], Inexact[Array, "q q"]])


def fredholm_det(
    kernel: Kernel, interval: IntervalLike, *, coupling: Array | complex = 1.0, num_nodes: int = 48
) -> FredholmDeterminant:
    r"""The Fredholm determinant $\det(1 - zK)$ of an integral operator with a smooth kernel on an interval.

    $$\det(1 - zK) \approx \det_{i,j}\big(\delta_{ij} - z\,w_i^{1/2} K(x_i, x_j)\,w_j^{1/2}\big)$$

    with the Gauss-Legendre rule. The smoother the kernel, the faster the determinants converge: exponentially for an
    analytic kernel. On an infinite interval the nodes follow a tangent. The error estimate is the difference from a
    rule with 2/3 of the nodes, which is far larger than the true error once it is small, plus the rounding error of the
    matrix. The ends of the interval, z, and what the kernel closes over are differentiable.

    Args:
        kernel: K(x, y), elementwise on arrays that broadcast; finite where x = y.
        interval: ends a < b, which may be infinite.
        coupling: z, real or complex.
        num_nodes: q, at least 3.

    Returns:
        The `value` and an estimate of its absolute `error`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> from rmtjax.special import sine_kernel
        >>> gap = fredholm_det(sine_kernel, (0.0, 1.0))  # no level of the GUE in a mean spacing
        >>> print(f"{gap.value:.5f} {gap.error < 1e-5}")
        0.17022 True

    References:
        Bornemann (2010), Math. Comput. 79, 871, equation 4.3 and theorem 6.2.
    """
    q = _checks.integer("num_nodes", num_nodes, at_least=3)
    lower, upper = _checks.interval("interval", interval)
    coupling = _checks.numbers("coupling", coupling, "be a scalar")
    if coupling.shape != ():
        raise _checks.refusal("coupling", "be a scalar (use `jax.vmap` for several)", coupling)
    # Ends that are Python numbers leave the precision to the coupling.
    precision = jnp.finfo(common_dtype(lower, upper, coupling)).dtype
    lower, upper = (end.astype(precision) for end in (lower, upper))
    rules = (nodes_and_weights(lower, upper, size) for size in (q, 2 * q // 3))
    values = lambda nodes: _checks.numbers("kernel", kernel(nodes[:, None], nodes[None, :]))
    fine, coarse = ((values(nodes), weights) for nodes, weights in rules)
    return _determinant(fine, coarse, coupling)


# All but the kernel is compiled, because operation by operation a new number of nodes would cost seconds.
@partial(compiled, static_argnums=2)
def nodes_and_weights(lower: Array, upper: Array, num_nodes: int) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
    """The Gauss-Legendre rule on an interval, which may be infinite."""
    t, w = (jnp.asarray(a, lower.dtype) for a in gauss_legendre(num_nodes))
    low, high = jnp.isfinite(lower), jnp.isfinite(upper)
    # The formulas never see an infinite end, where the derivative would be NaN.
    a, b = jnp.where(low, lower, 0), jnp.where(high, upper, 0)
    whole = (b - a) / 2
    angle = jnp.pi / 4 * (1 + t)
    beyond, stretch = _TANGENT * jnp.tan(angle), _TANGENT * jnp.pi / 4 / jnp.cos(angle) ** 2
    both, stretch_both = _TANGENT * jnp.tan(2 * angle - jnp.pi / 2), _TANGENT * jnp.pi / 2 / jnp.sin(2 * angle) ** 2
    finite = (a + whole * (1 + t), whole * jnp.ones_like(t))
    one_sided = jnp.where(low, a + beyond, b - beyond), stretch
    options = zip(finite, one_sided, (both, stretch_both), strict=True)
    nodes, slopes = (jnp.where(low & high, f, jnp.where(low | high, o, u)) for f, o, u in options)
    return nodes, slopes * w


@compiled
def _determinant(fine: tuple[Array, Array], coarse: tuple[Array, Array], coupling: Array) -> FredholmDeterminant:
    """The determinant by the finer rule, with its error estimated from the coarser one.

    A rule is given by the kernel on its nodes and by its weights.
    """
    value, norm = _nystrom(*fine, coupling)
    rounding = jnp.finfo(norm.dtype).eps * norm * jnp.maximum(1, jnp.abs(value))
    error = jnp.abs(value - _nystrom(*coarse, coupling)[0]) + rounding
    return FredholmDeterminant(value, jax.lax.stop_gradient(error))


def _nystrom(values: Inexact[Array, "q q"], weights: Float[Array, " q"], coupling: Array) -> tuple[Array, Array]:
    """The determinant by one rule, and a bound of the Frobenius norm of its matrix."""
    root = jnp.sqrt(weights)
    scaled = jnp.multiply(*aligned(coupling, jnp.multiply(*aligned(root[:, None], values)) * like(values, root)[None]))
    norm = jnp.linalg.norm(jax.lax.stop_gradient(scaled)) + weights.size**0.5
    return jnp.linalg.det(jnp.eye(weights.size, dtype=scaled.dtype) - scaled), norm
