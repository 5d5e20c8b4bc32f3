r"""The operator whose Fredholm determinants are the laws of the hard edge, on Gauss-Legendre nodes."""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax.special import bessel_j
from rmtjax.special.internal import gauss_legendre

# At this argument J_a equals its leading power to rounding.
_SMALL = 1e-8
# The interval (0, 1) of the hard edge is cut off where the operator has fallen to about exp(-_DEPTH).
_DEPTH = 40.0
# The range of α for each β. There the order of the Bessel function lies between -0.9 and 50.
_ALPHA = {1: (-0.95, 24), 2: (-0.9, 50), 4: (0.1, 50)}
ALPHA = _checks.Rule(
    lambda alpha, beta: (alpha >= _ALPHA[beta][0]) & (alpha <= _ALPHA[beta][1]),
    lambda beta: f"lie in [{_ALPHA[beta][0]}, {_ALPHA[beta][1]}] for beta={beta}",
)


def bessel_order(alpha: Float[Array, "..."], beta: int) -> Float[Array, "..."]:
    """The order a of the operator $T_a$."""
    return {1: 2 * alpha + 1, 2: alpha, 4: alpha - 1}[beta]


def hard_edge_operator(
    s: Float[Array, ""],
    order: Float[Array, ""],
    num_nodes: int,
    bessel: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Float[Array, "q q"]:
    r"""The matrix of $T_a$ for s > 0.

    Near 0 functions behave like $x^{a/2}$. The substitution $x = e^{-\tau v^2}$ makes the integrands smooth for every
    a. They are cut off at v = 1, where $\tau = d/(a + 1)$ makes $x^{a+1}$ equal to $e^{-d}$. The depth d is `_DEPTH`,
    plus the logarithm of the factor $(s/4)^{a+1}/\Gamma(a + 1)^2$ of that power if it is positive.

    Args:
        s: end of the interval.
        order: a.
        num_nodes: size of the matrix.
        bessel: a function of log z that gives $J_a(z)$ as a number and the logarithm of a factor.
    """
    bessel = bessel or functools.partial(_bessel, order)
    t, w = legendre_rule(num_nodes, common_dtype(s, order))
    h = order + 1
    # The determinant does not depend on where the nodes end, so their end is not differentiated.
    depth = jax.lax.stop_gradient(_DEPTH + jnp.maximum(0, h * jnp.log(s / 4) - 2 * gammaln(h))) / h
    v = (1 + t) / 2
    root = jnp.sqrt(depth * v * w)
    # The logarithm of x does not underflow. The Bessel functions, most of the work, are computed for one triangle.
    log_x = -depth * v**2
    row, column = np.triu_indices(num_nodes)
    log_product = (log_x[row] + log_x[column]) / 2
    value, log_factor = bessel(jnp.log(s) / 2 + log_product)
    entries = value * jnp.exp(log_product + log_factor)
    half = jnp.zeros((num_nodes, num_nodes), entries.dtype).at[row, column].set(entries)
    return jnp.sqrt(s) / 2 * root[:, None] * (half + jnp.triu(half, 1).T) * root[None]


def _bessel(order: Float[Array, ""], log_z: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The Bessel function as a number and the logarithm of a factor, without underflow as z → 0."""
    excess = jnp.minimum(log_z - math.log(_SMALL), 0)
    return bessel_j(order, jnp.exp(log_z - excess)), order * excess


def legendre_rule(num_nodes: int, dtype: np.dtype) -> list[Float[Array, " q"]]:
    """The Gauss-Legendre rule on [-1, 1]."""
    return [jnp.asarray(array, dtype) for array in gauss_legendre(num_nodes)]
