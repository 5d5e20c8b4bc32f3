"""Gauss-Legendre quadrature on panels whose ends may carry square-root singularities."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from rmtjax.special._gauss import gauss_legendre


def integrate(
    fn: Callable[[Float[Array, " q"]], Float[Array, " q"]],
    panels: Float[Array, " k"],
    *,
    num_nodes: int = 64,
) -> Float[Array, ""]:
    r"""Integral of a function that is smooth between given points.

    On each panel $[a, b]$ the substitution $x = \tfrac{a+b}2 - \tfrac{b-a}2\cos\theta$ turns a square-root edge,
    vanishing or diverging, into a smooth integrand, and Gauss-Legendre in $\theta\in[0,\pi]$ does the rest.

    Args:
        fn: the integrand, elementwise on an array of abscissae; never evaluated at the ends of a panel.
        panels: ascending finite points between which `fn` is smooth; empty panels are allowed and give 0.
        num_nodes: nodes per panel.

    Returns:
        The integral from the first to the last point, in the dtype of `panels` promoted with that of `fn`.

    Example:
        >>> import jax.numpy as jnp
        >>> area = integrate(lambda x: jnp.sqrt(1 - x**2), jnp.array([-1.0, 1.0]))
        >>> print(f"{area:.4f}")
        1.5708
    """
    values = lambda x: jnp.broadcast_to(fn(x), x.shape)  # A constant is a function too.
    points, weights = panel_nodes(panels, num_nodes)
    # A loop outside of `jit` would be compiled anew at each call; inside it saves memory, as there may be hundreds.
    heights = (
        jax.lax.map(values, points) if isinstance(points, Tracer) else values(points.ravel()).reshape(points.shape)
    )
    return jnp.sum(weights * heights)


def panel_nodes(panels: Float[Array, " k"], num_nodes: int = 64) -> tuple[Float[Array, "k-1 q"], Float[Array, "k-1 q"]]:
    """The nodes and weights of `integrate`, by panels; those of an empty panel lie elsewhere and have the weight 0."""
    nodes, weights = gauss_legendre(num_nodes)
    angles = jnp.asarray(np.pi * (nodes + 1) / 2, panels.dtype)
    measure = jnp.asarray(np.pi / 2 * weights * np.sin(np.pi * (nodes + 1) / 2), panels.dtype)
    # Offsets from the nearer end, 1 ∓ cos, keep full relative accuracy close to an edge.
    from_left, from_right = jnp.sin(angles / 2) ** 2, jnp.cos(angles / 2) ** 2
    a, b = panels[:-1, None], panels[1:, None]
    x = jnp.where(from_left < 0.5, a + (b - a) * from_left, b - (b - a) * from_right)
    # An empty panel has x = a = b, where a function may be singular: its value there is never used.
    inside = b > a
    return jnp.where(inside, x, panels[0] / 2 + panels[-1] / 2), jnp.where(inside, (b - a) / 2, 0) * measure
