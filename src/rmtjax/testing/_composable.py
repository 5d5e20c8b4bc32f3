"""All checks of composability in one call."""

from collections.abc import Callable
from typing import Any

from rmtjax.testing._arguments import has_inexact
from rmtjax.testing._derivatives import check_derivatives
from rmtjax.testing._dtypes import check_dtypes
from rmtjax.testing._transformations import check_jit, check_vmap


def check_composable(
    fn: Callable[..., Any], *args: Any, derivatives: bool = True, second_derivative: bool = True
) -> None:
    """Check that a function composes with JAX: jit, vmap, derivatives, second derivative, dtypes.

    It runs `check_jit`, `check_vmap`, `check_dtypes` (if an argument is floating-point), `check_derivatives` and
    `check_second_derivative` (in one program) with their defaults. For other tolerances, call each of them by itself.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys.
        *args: example arguments.
        derivatives: False for functions without derivatives, such as functions of a key only or with integer values.
        second_derivative: False for functions that have only a first derivative.

    Raises:
        AssertionError: a check failed; the message begins with its name.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> check_composable(rmt.eigvalsh, jnp.array([[2.0, 1.0], [1.0, 3.0]]))
    """
    check_jit(fn, *args)
    check_vmap(fn, *args)
    if has_inexact(args):
        check_dtypes(fn, *args)
    if derivatives:
        check_derivatives(fn, *args, second_derivative=second_derivative)
