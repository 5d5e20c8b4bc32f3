"""The root of an increasing function inside a bracket, with the derivative of the implicit function theorem."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


def bracketed_root(
    fn: Callable[[Float[Array, ""]], Float[Array, ""]],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
) -> Float[Array, ""]:
    r"""Solve $f(x) = 0$ for a non-decreasing $f$ on $[a, b]$ by bisection.

    What is halved is how many floating-point numbers the bracket holds, of which there are as many between 1e-300 and
    1e-200 as between 1 and 1e100: at most 65 evaluations (float32: 33) find the smallest number at which f is not
    negative, however near to 0. A function without a sign change gives the nearer end; an end that is NaN gives NaN.

    Outside of `jit` every call compiles, as it is for a function that JAX has not seen: put the call into a function of
    your own, and that into `jax.jit`.

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

    def bisect(f: Callable, _: Float[Array, ""]) -> Float[Array, ""]:
        def unfinished(bracket: tuple) -> Array:
            a, b, middle, _, begins = bracket
            return begins | ((a < middle) & (middle < b))

        # The sign is kept for the next turn. If both ends came from it in the same, XLA might compute it for each of
        # them, with different roundings, and then neither would ever move.
        def halve(bracket: tuple) -> tuple:
            a, b, middle, left, _ = bracket
            a, b = jnp.where(left, middle, a), jnp.where(left, b, middle)
            middle = (a & b) + ((a ^ b) >> 1)
            return a, b, middle, f(_number(jnp.maximum(middle, first), lower.dtype)) < 0, False

        # The lower end is tried as well.
        first, last = _rank(lower), _rank(upper)
        rank = jax.lax.while_loop(unfinished, halve, (first - 1, last, first - 1, True, True))[1]
        return jnp.where(jnp.isnan(lower) | jnp.isnan(upper), jnp.nan, _number(rank, lower.dtype))

    def divide_by_slope(linear: Callable, y: Float[Array, ""]) -> Float[Array, ""]:
        slope = linear(jnp.ones_like(y))
        flat = slope == 0
        return jnp.where(flat, 0, y / jnp.where(flat, 1, slope))

    return jax.lax.custom_root(fn, lower, bisect, divide_by_slope)


def _rank(x: Float[Array, ""]) -> Int[Array, ""]:
    """The place of a number among the floating-point numbers, 0 being that of 0."""
    # Bits of negative numbers ascend with their size.
    kind = np.dtype(f"int{jnp.finfo(x.dtype).bits}")
    bits = jax.lax.bitcast_convert_type(x, kind)
    return jnp.where(bits < 0, np.iinfo(kind).min - bits, bits)


def _number(rank: Int[Array, ""], dtype: np.dtype) -> Float[Array, ""]:
    """The inverse of `_rank`; subnormal numbers, which processors may take for 0, are 0."""
    x = jax.lax.bitcast_convert_type(jnp.where(rank < 0, np.iinfo(rank.dtype).min - rank, rank), dtype)
    return jnp.where(jnp.abs(x) < jnp.finfo(dtype).tiny, 0, x)
