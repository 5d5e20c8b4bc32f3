"""Gauss-Legendre quadrature on panels whose ends may carry square-root singularities."""

from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._automatic import whole
from rmtjax._promotion import aligned
from rmtjax._staging import is_staged
from rmtjax._typing import RealLike
from rmtjax.special._gauss import gauss_legendre


def integrate(
    fn: Callable[[Float[Array, " q"]], Float[Array, " q"]], panels: Annotated[RealLike, "k"], *, num_nodes: int = 64
) -> Float[Array, ""]:
    r"""Integral of a function that is smooth between given points.

    Each panel $[a, b]$ has the Gauss-Legendre rule in $\theta\in[0,\pi]$, $x = \tfrac{a+b}2 - \tfrac{b-a}2\cos\theta$.
    In θ an integrand is smooth even if it behaves like $\sqrt d$ or $1/\sqrt d$ at a distance d from an end.

    Args:
        fn: the integrand, elementwise on an array of abscissae; never evaluated at the ends of a panel.
        panels: a vector of ascending finite points between which `fn` is smooth; empty panels are allowed and give 0.
        num_nodes: number of nodes per panel.

    Returns:
        The integral from the first to the last point, in the common dtype of `panels` and the values of `fn`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> area = integrate(lambda x: jnp.sqrt(1 - x**2), jnp.array([-1.0, 1.0]))
        >>> print(f"{area:.4f}")
        1.5708
    """
    panels = whole(_checks.vector("panels", panels))
    elsewhere = inside_a_panel(panels)

    def panel(ends: tuple[Float[Array, "*k"], Float[Array, "*k"]]) -> Float[Array, "*k"]:
        x, weights = _nodes(*ends, elsewhere, num_nodes)
        # A constant `fn` may return a single number.
        heights = jnp.broadcast_to(_checks.numbers("fn", fn(x.ravel())), x.size).reshape(x.shape)
        weights, heights = aligned(weights, heights)
        return jnp.sum(jnp.where(weights > 0, weights * heights, 0), axis=-1)

    # Outside of `jit` a loop would be compiled again at each call; inside it saves memory where panels are many.
    ends = panels[:-1], panels[1:]
    return jnp.sum(jax.lax.map(panel, ends) if is_staged() else panel(ends))


def panel_nodes(panels: Float[Array, " k"]) -> tuple[Float[Array, "k-1 q"], Float[Array, "k-1 q"]]:
    """The 64 nodes and weights of `integrate` on each panel; an empty panel has the weight 0 at a point of another."""
    return _nodes(panels[:-1], panels[1:], inside_a_panel(panels), 64)


def _nodes(a: Array, b: Array, elsewhere: Array, num_nodes: int) -> tuple[Float[Array, "*k q"], Float[Array, "*k q"]]:
    """Nodes and weights between two ends; where the ends coincide, the weight is 0 at the point `elsewhere`."""
    nodes, weights = gauss_legendre(num_nodes)
    angles = jnp.asarray(np.pi * (nodes + 1) / 2, a.dtype)
    measure = jnp.asarray(np.pi / 2 * weights * np.sin(np.pi * (nodes + 1) / 2), a.dtype)
    # Offsets from the nearer end, 1 ∓ cos, keep full relative accuracy close to an edge.
    from_left, from_right = jnp.sin(angles / 2) ** 2, jnp.cos(angles / 2) ** 2
    a, b, from_left, from_right, measure = aligned(a[..., None], b[..., None], from_left, from_right, measure)
    x = jnp.where(from_left < 0.5, a + (b - a) * from_left, b - (b - a) * from_right)
    inside = b > a
    return jnp.where(inside, x, elsewhere), jnp.where(inside, (b - a) / 2, 0) * measure


def inside_a_panel(panels: Float[Array, " k"]) -> Float[Array, ""]:
    """The middle of the widest panel, because a function may be singular at the ends of panels."""
    widest = jnp.argmax(jnp.diff(panels)) if panels.size > 1 else 0
    return panels[widest] / 2 + panels[jnp.minimum(widest + 1, panels.size - 1)] / 2
