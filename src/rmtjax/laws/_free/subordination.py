"""Root searches for laws with a subordinate point ω, for which in the bands a sum of m/|ω - t|² over masses is 1."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.special.internal import bracketed_root, implicit_root


def harmonic_root(deficit: Callable[[Array], Array], start: Float[Array, ""]) -> Float[Array, ""]:
    """The root of the deficit 1 - c(s) above `start`, or `start` if c is at most 1 there; differentiable.

    Newton's method is applied to 1/c, which is a weighted harmonic mean of linear functions and therefore concave and
    increasing: from below its steps never pass the root. It takes about ten steps where bisection takes a hundred.
    """

    def search(deficit: Callable[[Array], Array], start: Float[Array, ""]) -> Float[Array, ""]:
        def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
            _, s = state
            value, slope = jax.jvp(deficit, (s,), (jnp.ones_like(s),))
            return s, s - value * (1 - value) / slope

        return jax.lax.while_loop(lambda state: state[1] > state[0], step, step((start, start)))[0]

    return implicit_root(deficit, search, start)


def gap_ends(points: Float[Array, " k"], masses: Float[Array, " k"]) -> Float[Array, " 2k-2"]:
    """The points where the sum of m/(u - t)² falls to 1 and where it rises above 1 again, between neighbouring t.

    Where the sum stays above 1, both are the point where it is least.
    """
    order = jnp.argsort(points)
    points, masses = points[order], masses[order]
    excess = lambda u: jnp.sum(masses / (u - points) ** 2) - 1

    def gap(left: Float[Array, ""], right: Float[Array, ""]) -> Float[Array, " 2"]:
        # Between two neighbouring points the sum is convex.
        slope = lambda u: -jnp.sum(masses / (u - points) ** 3)
        middle = bracketed_root(slope, left, right)
        start = bracketed_root(lambda u: -excess(u), left, middle)
        return jnp.stack([start, bracketed_root(excess, middle, right)])

    return jax.vmap(gap)(points[:-1], points[1:]).ravel()
