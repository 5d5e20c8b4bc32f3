r"""Number variance of the Gaussian ensembles at finite n, in any interval.

The variance is $P'' + P' - P'^2$ at z = 1, for the generating functions P(z) of `hermite_gap_probabilities`. For β = 2,
P is $\det(1 + (z - 1) M)$ and the variance $\mathrm{tr}\,M (1 - M)$. For β = 1 and 4, P is the Pfaffian of
$A + (z - 1) X + (z - 1)^2 Y$ with $A^{-1} = A^T$. Its logarithm is half of a trace of a logarithm, and with
$G = A^T X$ the variance is

$$\tfrac12 \mathrm{tr}\,G (1 - G) + \mathrm{tr}\,A^T Y; \qquad \beta = 4: X = H,\ Y = 0, \quad
\beta = 1: X = 2H + B,\ Y = H + W,$$

where B is the border for β = 1 and odd n.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, common_dtype
from rmtjax._typing import DysonIndex, RealLike, RealScalarLike
from rmtjax._units import quotient
from rmtjax.laws._correlations.gap_probabilities import not_negative
from rmtjax.laws._correlations.hermite_gap_probabilities import hermite_quadrature, skew_products
from rmtjax.special.internal import hermite_functions


def gaussian_number_variance(
    lower: RealLike, upper: RealLike, n: int, beta: DysonIndex = 2, scale: RealScalarLike = 1.0
) -> Float[Array, "..."]:
    r"""Variance of the number of the n levels of a Gaussian ensemble that lie in an interval, exactly.

    $$\mathrm{Var}\,N(J) = \int_J \rho(x)\,dx - \iint_J T_2(x, y)\,dx\,dy$$

    with the density ρ of the levels and their cluster function T₂. For β = 2, $T_2 = K_n(x, y)^2$ with the kernel of
    `special.hermite_kernel`. In the bulk the variance tends to `number_variance` of the mean number of levels. The
    absolute error is about 5n ulp. Each interval takes O(n³) operations; they run one by one, in O(n²) memory.

    Convention: levels of `GOE(n, scale)`, `GUE(n, scale)` and `GSE(n, scale)`, with the spectrum on [-2s, 2s]; at β = 4
    each pair of equal levels counts as one.

    Args:
        lower: lower ends of the intervals, which may be infinite.
        upper: upper ends, broadcast against `lower`; NaN where they are below it.
        n: number of levels, at least 1; static.
        beta: 1, 2 or 4; static.
        scale: s > 0.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> half_line = gaussian_number_variance(0.0, jnp.inf, n=10)
        >>> print(f"{half_line:.5f} {gaussian_number_variance(-1.0, 1.0, n=10, beta=1):.5f}")
        0.28945 0.72005

    References:
        Mehta (2004), Random Matrices, sections 6.2 and 7.2, and chapter 16; de Bruijn (1955), J. Indian Math. Soc. 19,
        133.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta)
    unit = _checks.positive("scale", scale) / math.sqrt((2 * n if beta == 4 else n) / 2)
    ends = (_checks.real(name, end) for name, end in (("lower", lower), ("upper", upper)))
    a, b, unit = aligned(*ends, unit)
    a, b = jnp.broadcast_arrays(quotient(a, unit), quotient(b, unit))
    return _variance(a, b, n, beta)


@functools.partial(compiled, static_argnums=(2, 3))
def _variance(lower: Float[Array, "..."], upper: Float[Array, "..."], n: int, beta: int) -> Float[Array, "..."]:
    size = 2 * n if beta == 4 else n
    edge = math.sqrt(2 * size) + 8  # to rounding, no level lies beyond
    lower, upper = (end.astype(common_dtype(lower, upper)) for end in (lower, upper))
    valid = lower <= upper
    # The rule for an empty interval has nodes of weight 0.
    a, b = (jnp.clip(jnp.where(valid, end, 0), -edge, edge).ravel() for end in (lower, upper))
    values = jax.lax.map(functools.partial(_of_interval, size=size, beta=beta), (a, b))
    return jnp.where(valid, not_negative(values.reshape(valid.shape)), jnp.nan)


def _of_interval(ends: tuple[Float[Array, ""], Float[Array, ""]], size: int, beta: int) -> Float[Array, ""]:
    if beta == 2:
        x, w = hermite_quadrature(size, *ends)
        functions = hermite_functions(size, x)
        return _trace_of_variances((w[None] * functions) @ functions.T)
    whole, inside, corners, border = skew_products(size, *ends, odd=beta == 4 or size % 2 == 1)
    if beta == 4:
        return _trace_of_variances(whole.T @ inside) / 2
    pairs = jnp.sum(whole * (inside + corners))
    return _trace_of_variances(whole.T @ (2 * inside + border)) / 2 + pairs


def _trace_of_variances(matrix: Float[Array, "m m"]) -> Float[Array, ""]:
    return jnp.trace(matrix) - jnp.sum(matrix * matrix.T)
