"""Root searches in laws with a subordinate point ω, for which in the bands a sum of m/|ω - t|² over masses is 1."""

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


def ends_of_gaps(
    image: Callable[[Float[Array, ""]], Float[Array, ""]],
    abscissa: Callable[[Float[Array, ""]], Float[Array, ""]],
    points: Float[Array, " k"],
    masses: Float[Array, " k"],
) -> Float[Array, " 2k-2"]:
    """The points x where the gaps between neighbouring t begin and end, in the order of t; differentiable.

    Between two t that have no gap it is twice the point where one would open.

    Args:
        image: the x of a real ω in a gap. It is stationary at the ends.
        abscissa: the x in a band, from the real part of ω or from |ω|, whichever the law is solved for.
        points: t.
        masses: m.
    """
    u = _gap_ends(points, masses)
    has_gap = jnp.repeat(u[::2] < u[1::2], 2)
    # Each function is evaluated where it has finite derivatives: one outside of the bands, one in them.
    in_gaps = jax.vmap(image)(jnp.where(has_gap, u, 2 * jnp.max(jnp.abs(points)) + 1))
    return jnp.where(has_gap, in_gaps, jax.vmap(abscissa)(jnp.where(has_gap, points[0], u)))


def _gap_ends(points: Float[Array, " k"], masses: Float[Array, " k"]) -> Float[Array, " 2k-2"]:
    """The points where the sum of m/(u - t)² falls to 1 and where it rises above 1 again, constant.

    Where the sum stays above 1, both are the point where it is least, which is differentiable.
    """
    order = jnp.argsort(points)
    points, masses = points[order], masses[order]
    excess = lambda u: jnp.sum(masses / (u - points) ** 2) - 1
    # If two points tend to each other, the point between them tends to this mean of theirs.
    roots = jax.lax.stop_gradient(jnp.cbrt(jnp.stack([masses[1:], masses[:-1]])))
    roots = jnp.where(jnp.sum(roots, axis=0) > 0, roots, 1)
    means = (roots[0] * points[:-1] + roots[1] * points[1:]) / jnp.sum(roots, axis=0)

    def gap(left: Float[Array, ""], right: Float[Array, ""], mean: Float[Array, ""]) -> Float[Array, " 2"]:
        # Between two neighbouring points the sum is convex. Between equal ones it is infinite.
        equal = left == right
        slope = lambda u: -jnp.sum(masses / (u - points) ** 3)
        middle = jnp.where(equal, mean, bracketed_root(slope, left, jnp.where(equal, left + 1, right)))
        start = bracketed_root(lambda u: -excess(u), left, middle)
        ends = jax.lax.stop_gradient(jnp.stack([start, bracketed_root(excess, middle, right)]))
        return jnp.where(ends[0] < ends[1], ends, middle)

    return jax.vmap(gap)(points[:-1], points[1:], means).ravel()
