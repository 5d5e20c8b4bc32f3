"""Rigidity of n levels on the circle, from their number variance."""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.laws._correlations.circular import circular_number_variance
from rmtjax.special.internal import gauss_legendre

# A rule of so many nodes integrates a smooth function times so many periods of a wave to 1e-16.
_NUM_NODES, _PERIODS = 48, 8


def circular_rigidity(lengths: RealLike, n: int, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Spectral rigidity $\Delta_3(L)$ of n levels on the circle, exactly.

    It is the mean squared deviation of the counting function from its best straight line, over an arc that holds L
    levels on average. With $\Sigma^2$ of `circular_number_variance`

    $$\Delta_3(L) = \frac2{L^4} \int_0^L (L^3 - 2L^2 r + r^3)\,\Sigma^2(r)\,dr .$$

    The waves of the variance in r are no shorter than the mean spacing, or half of it for β = 4. So Gauss rules on
    panels of some waves are right to rounding. The relative error is some ten ulp, and a length takes O(n) operations.
    For independent levels, β = 0, the rigidity is L/15 at every n. `rigidity` is the limit of many levels.

    Convention: the arc has the angle 2πL/n; at β = 4 each pair of equal levels counts as one.

    Args:
        lengths: L in [0, n]; other real numbers give NaN.
        n: number of levels, at least 1; static.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{circular_rigidity(5.0, n=10, beta=1):.5f} {circular_rigidity(5.0, n=10, beta=2):.5f}")
        0.17407 0.14074

    References:
        Dyson and Mehta (1963), J. Math. Phys. 4, 701; Pandey (1979), Ann. Phys. 119, 170, for the integral.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta, DysonIndexOrZero)
    return _rigidity(_checks.real("lengths", lengths), n, beta)


@functools.partial(compiled, static_argnums=(1, 2))
def _rigidity(length: Float[Array, "..."], n: int, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    valid = (length >= 0) & (length <= n)
    inside = jnp.where(valid, length, 0)
    if beta == 0:
        return jnp.where(valid, inside / 15, jnp.nan)
    nodes, weights = (jnp.asarray(each, length.dtype) for each in gauss_legendre(_NUM_NODES))
    num_panels = math.ceil((2 * n if beta == 4 else n) / _PERIODS)

    def add(total: Float[Array, "..."], panel: Float[Array, ""]) -> tuple[Float[Array, "..."], None]:
        v = (panel + (1 + nodes) / 2) / num_panels
        kernel = (1 - v) * (1 - v - v**2) * weights / num_panels
        return total + circular_number_variance(jnp.multiply(*aligned(inside[..., None], v)), n, beta) @ kernel, None

    total, _ = jax.lax.scan(add, jnp.zeros_like(inside), jnp.arange(num_panels, dtype=length.dtype))
    return jnp.where(valid, total, jnp.nan)
