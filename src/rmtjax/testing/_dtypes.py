"""Check that the input decides the dtype, and that float32 is as accurate as its digits allow."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from rmtjax.testing._arguments import cast, has_inexact, has_key, traced_arguments
from rmtjax.testing._compare import fail, is_inexact, require_close

_ULPS = 1000  # allowed by default between float32 and float64


def check_dtypes(fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float = 0.0) -> None:
    """Check that float32 input gives float32 output, float64 input float64 output, and both the same numbers.

    Both runs have x64 enabled, so that a hidden default dtype shows. JAX draws different numbers in float32 and in
    float64, so only the dtypes are checked if the function takes a typed key.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys. Arrays that it closes over keep their dtype, so
            pass floating-point data as arguments, or as Python numbers.
        *args: example arguments, at least one of them floating-point or complex.
        rtol: allowed deviation of float32 from float64, relative to the largest entry of an array; 1000 ulp if None.
        atol: absolute deviation allowed in addition.

    Raises:
        AssertionError: a dtype or a value differs, or no argument is floating-point or complex.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> check_dtypes(rmt.eigvalsh, jnp.array([[2.0, 1.0], [1.0, 3.0]]))
    """
    call, traced = traced_arguments(fn, args)
    if not has_inexact(traced):
        fail("check_dtypes", "no argument is floating-point or complex.")
    with jax.enable_x64(True):
        # The arguments are rounded first, so that both runs see the same point: the function may be steep.
        single = cast(traced, 32)
        low, high = jax.jit(call)(*single), jax.jit(call)(*cast(single, 64))
        _require_bits(low, 32)
        _require_bits(high, 64)
        if not has_key(traced):
            rtol = _ULPS * float(jnp.finfo(jnp.float32).eps) if rtol is None else rtol
            require_close("check_dtypes", "float32 against float64", cast(low, 64), high, rtol=rtol, atol=atol)


def _require_bits(output: PyTree, bits: int) -> None:
    for path, leaf in jax.tree.leaves_with_path(output):
        if is_inexact(leaf) and jnp.finfo(leaf.dtype).bits != bits:
            fail("check_dtypes", f"float{bits} input gives {leaf.dtype} at `output{jax.tree_util.keystr(path)}`.")
