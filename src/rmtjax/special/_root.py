"""The root of an increasing function inside a bracket, with the derivative of the implicit function theorem."""

from collections.abc import Callable
from functools import partial, reduce

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax._automatic import mesh_of
from rmtjax._ordering import of_rank, rank_of
from rmtjax._promotion import aligned
from rmtjax._staging import is_staged, opened
from rmtjax._varying import varying_like


def bracketed_root(fn: Callable[[Array], Array], lower: Array | float, upper: Array | float) -> Float[Array, "..."]:
    r"""Solve $f(x) = 0$ for a non-decreasing $f$ on $[a, b]$ by bisection, separately for each bracket of an array.

    Each step halves the number of floating-point numbers in the bracket, of which there are as many between 1e-300 and
    1e-200 as between 1 and 1e100: at most 65 evaluations (float32: 33) find the smallest number at which f is not
    negative, however near to 0. A function without a sign change gives the nearer end; an end that is NaN gives NaN.
    The derivative by a number θ that `fn` closes over is $-\partial_\theta f / f'(x)$, or 0 where $f'(x) = 0$.

    Outside of `jit` the bisection runs operation by operation: it compiles nothing for a new function and takes tens of
    milliseconds. Inside of `jit` it is one loop.

    Args:
        fn: elementwise and non-decreasing; it gets an array of the shape of the brackets, and may close over arrays of
            that shape, such as the values that are to be reached.
        lower: left ends a, finite.
        upper: right ends b ≥ a, finite.

    Returns:
        The roots, in the dtype of the ends and the shape to which these broadcast.

    Raises:
        ValueError: `fn` calls numpy.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> root = lambda y: bracketed_root(lambda x: x**3 - y, 0 * y, 9 + 0 * y)
        >>> print(root(jnp.array([1.0, 8.0])), f"{jax.grad(root)(8.0):.4f}")
        [1. 2.] 0.0833
    """
    return implicit_root(fn, _bisect, *jnp.broadcast_arrays(*aligned(*map(jnp.asarray, (lower, upper)))))


def implicit_root(fn: Callable[[Array], Array], search: Callable[..., Array], *start: Array) -> Array:
    """The root `search(fn, *start)` of an elementwise function, with the derivatives of the root, not of the search.

    The function is traced only once, and its derivatives only cost something if they are asked for. The search must not
    close over anything that may be differentiated.
    """
    start = jax.lax.stop_gradient(start)
    evaluate, constants, kind = opened("fn", fn, start[0])
    with mesh_of((start, constants)):
        # Inside `shard_map` the carry of the search differs between devices if an end or a function value does.
        spread = varying_like(start, start, kind)
        if spread[0] is not start[0]:
            evaluate, constants, _ = opened("fn", fn, spread[0])
        fixed = jax.lax.stop_gradient(constants)
        root = search(lambda x: evaluate(x, *fixed), *spread)
        return _differentiable(evaluate, jax.lax.stop_gradient(root), constants)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _differentiable(fn: Callable[..., Array], root: Array, constants: list) -> Array:
    """The root of fn(·, *constants), with derivatives with respect to the constants."""
    del fn, constants
    return root


@_differentiable.defjvp
def _differentiable_jvp(fn: Callable[..., Array], primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    root = _differentiable(fn, *primals)
    constants = primals[1]
    _, change = jax.jvp(partial(fn, root), tuple(constants), tuple(tangents[1]))
    _, slope = jax.jvp(lambda x: fn(x, *constants), (root,), (jnp.ones_like(root),))
    flat = slope == 0
    # The function may have a wider dtype than the bracket.
    return root, jnp.where(flat, 0, -change / jnp.where(flat, 1, slope)).astype(root.dtype)


def _bisect(fn: Callable[[Array], Array], lower: Float[Array, ""], upper: Float[Array, ""]) -> Float[Array, ""]:
    first, last = rank_of(lower), rank_of(upper)

    def unfinished(bracket: tuple) -> Array:
        a, b, middle, _, begins = bracket
        return jnp.any(begins | ((a < middle) & (middle < b)))

    # The sign is carried to the next turn. If both ends were updated in the turn that computes it, XLA might compute it
    # once for each end, with different roundings, and then neither might ever move.
    def halve(bracket: tuple) -> tuple:
        a, b, middle, left, begins = bracket
        moves = begins | ((a < middle) & (middle < b))
        a, b = jnp.where(moves & left, middle, a), jnp.where(left | ~moves, b, middle)
        middle = (a & b) + ((a ^ b) >> 1)
        return a, b, middle, fn(_number(jnp.maximum(middle, first), lower.dtype)) < 0, begins & False

    # The search starts below the lower end, so that this end is tried as well. `begins` is an array because JAX does
    # not map a loop that carries a constant over an explicit axis.
    everywhere = jnp.ones_like(first, bool)
    begin = (first - 1, last, first - 1, everywhere, everywhere)
    if is_staged():
        rank = jax.lax.while_loop(unfinished, halve, begin)[1]
    else:
        # A loop over a new closure would be compiled at each call. Each turn halves the 2^32 or 2^64 numbers.
        turns = range(jnp.finfo(lower.dtype).bits + 1)
        rank = reduce(lambda bracket, _: halve(bracket), turns, begin)[1]
    return jnp.where(jnp.isnan(lower) | jnp.isnan(upper), jnp.nan, _number(rank, lower.dtype))


def _number(rank: Int[Array, ""], dtype: np.dtype) -> Float[Array, ""]:
    """The inverse of `rank_of`; subnormal numbers, which a processor may treat as 0, become 0."""
    x = of_rank(rank, dtype)
    return jnp.where(jnp.abs(x) < jnp.finfo(dtype).tiny, 0, x)
