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
    nodes, weights = gauss_legendre(num_nodes)
    angles = jnp.asarray(np.pi * (nodes + 1) / 2, panels.dtype)
    measure = jnp.asarray(np.pi / 2 * weights * np.sin(np.pi * (nodes + 1) / 2), panels.dtype)
    # Offsets from the nearer end, 1 ∓ cos, keep full relative accuracy close to an edge.
    from_left, from_right = jnp.sin(angles / 2) ** 2, jnp.cos(angles / 2) ** 2

    def panel(ends: tuple[Float[Array, "*k"], Float[Array, "*k"]]) -> Float[Array, "*k"]:
        a, b = (end[..., None] for end in ends)
        x = jnp.where(from_left < 0.5, a + (b - a) * from_left, b - (b - a) * from_right)
        # An empty panel has x = a = b, where fn may be singular: its value there is never used.
        inside = b > a
        values = fn(jnp.where(inside, x, panels[0] / 2 + panels[-1] / 2).ravel())
        values = jnp.broadcast_to(values, x.size).reshape(x.shape)  # A constant is a function too.
        return jnp.where(inside, (b - a) / 2 * values, 0) @ measure

    # A loop outside of `jit` would be compiled anew at each call; inside it saves memory, as there may be hundreds.
    ends = panels[:-1], panels[1:]
    return jnp.sum(jax.lax.map(panel, ends) if isinstance(panels, Tracer) else panel(ends))
