"""The root of an increasing function inside a bracket, with the derivative of the implicit function theorem."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def bracketed_root(
    fn: Callable[[Float[Array, ""]], Float[Array, ""]],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
) -> Float[Array, ""]:
    r"""Solve $f(x) = 0$ for a non-decreasing $f$ on $[a, b]$ by bisection.

    Bisection runs until the bracket holds neighbouring floating-point numbers (near 0, until it is eps² of its first
    width), so the root is as exact as `fn`. A function without a sign change gives the nearer end.

    The derivative with respect to whatever `fn` closes over is $-\partial_\theta f / f'(x)$; where $f'(x) = 0$ it
    is set to 0.

    Args:
        fn: non-decreasing scalar function of a scalar.
        lower: left end a, finite.
        upper: right end b ≥ a, finite.

    Returns:
        The root, of the dtype of the ends.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> root = lambda y: bracketed_root(lambda x: x**3 - y, jnp.array(0.0), jnp.array(9.0))
        >>> print(f"{root(8.0):.4f} {jax.grad(root)(8.0):.4f}")
        2.0000 0.0833
    """
    lower, upper = map(jax.lax.stop_gradient, jnp.broadcast_arrays(lower, upper))
    # A root at exactly 0 would otherwise be chased through a thousand halvings down to the subnormal numbers.
    most = 2 * jnp.finfo(lower.dtype).nmant

    def bisect(f: Callable, _: Float[Array, ""]) -> Float[Array, ""]:
        def unfinished(bracket: tuple) -> Array:
            a, b, middle, _, count = bracket
            return (count == 0) | ((a < middle) & (middle < b) & (count <= most))

        # The sign is kept for the next turn. If both ends came from it in the same, XLA might compute it for each of
        # them, with different roundings, and then neither would ever move.
        def halve(bracket: tuple) -> tuple:
            a, b, middle, left, count = bracket
            a, b = jnp.where(left, middle, a), jnp.where(left, b, middle)
            middle = a + (b - a) / 2
            return a, b, middle, f(middle) < 0, count + 1

        return jax.lax.while_loop(unfinished, halve, (lower, upper, lower, True, 0))[2]

    def divide_by_slope(linear: Callable, y: Float[Array, ""]) -> Float[Array, ""]:
        slope = linear(jnp.ones_like(y))
        flat = slope == 0
        return jnp.where(flat, 0, y / jnp.where(flat, 1, slope))

    return jax.lax.custom_root(fn, lower, bisect, divide_by_slope)
