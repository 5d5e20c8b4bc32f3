"""Checks of the values of functions under `jit` and `vmap`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from rmtjax.testing._arguments import NUM_STACKED, member, stacked, traced_arguments
from rmtjax.testing._compare import fail, require_close


def check_jit(fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float = 0.0) -> None:
    """Check that a compiled function returns the same as the function itself.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys.
        *args: example arguments. Arrays and numbers are traced; everything else is closed over.
        rtol: allowed deviation, relative to the largest entry of an array; 100 ulp if None.
        atol: absolute deviation allowed in addition.

    Raises:
        AssertionError: values, shapes, dtypes or structure differ.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> check_jit(rmt.eigvalsh, jnp.array([[2.0, 1.0], [1.0, 3.0]]))
    """
    call, traced = traced_arguments(fn, args)
    require_hashable(fn, "check_jit")
    compiled = jax.jit(call)(*traced)
    require_close("check_jit", "jit against eager", compiled, call(*traced), rtol=rtol, atol=atol)


def check_vmap(fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float = 0.0) -> None:
    """Check that `vmap` returns the same as a loop, over all arguments at once and over each of them alone.

    The batch holds the example arguments and two copies, with numbers shrunk by a few per cent and keys folded.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys.
        *args: example arguments. Arrays and numbers are mapped over; everything else is closed over.
        rtol: allowed deviation, relative to the largest entry of an array; 100 ulp if None.
        atol: absolute deviation allowed in addition.

    Raises:
        AssertionError: values, shapes, dtypes or structure differ.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> check_vmap(rmt.eigvalsh, jnp.array([[2.0, 1.0], [1.0, 3.0]]))
    """
    call, traced = traced_arguments(fn, args)
    batches = stacked(traced)
    mapped = [i for i, argument in enumerate(traced) if jax.tree.leaves(argument)]
    subsets = [mapped] + ([[i] for i in mapped] if len(mapped) > 1 else [])
    for subset in subsets:
        mix = [batches[i] if i in subset else argument for i, argument in enumerate(traced)]
        axes = tuple(0 if i in subset else None for i in range(len(traced)))
        rows = [
            call(*(member(argument, row) if i in subset else argument for i, argument in enumerate(mix)))
            for row in range(NUM_STACKED)
        ]
        expected = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *rows)
        got = jax.jit(jax.vmap(call, in_axes=axes))(*mix)
        what = f"vmap over argument{'s' if len(subset) > 1 else ''} {subset} against a loop"
        require_close("check_vmap", what, got, expected, rtol=rtol, atol=atol)


def require_hashable(fn: Callable[..., Any], check: str) -> None:
    """End a check unless `fn` is hashable, as `jax.jit(fn)` demands."""
    try:
        hash(fn)
    except TypeError as error:
        fail(check, f"`jax.jit` does not take this function: {error}.")
