"""Checks of first and second derivatives, always in float64."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from rmtjax.testing._arguments import cast, random_like, traced_arguments
from rmtjax.testing._compare import fail, host, is_inexact, magnitude, require_finite

_FIRST, _SECOND = "check_derivatives", "check_second_derivative"
# The error of a central difference, h² f'''/6 + eps f/h, is smallest near the cube root of eps.
_STEP = float(np.cbrt(np.finfo(float).eps))
_NOISE = 50 * np.finfo(float).eps / _STEP
# jvp and vjp take one sum in two orders, so they differ by rounding only.
_ROUNDING = 1e-9
# A vanishing derivative is known only to the rounding of the function, because directions have the size of arguments.
_FLOOR = 1000 * np.finfo(float).eps


def check_derivatives(
    fn: Callable[..., Any],
    *args: Any,
    rtol: float = 1e-6,
    atol: float = 0.0,
    num_directions: int = 2,
    second_derivative: bool = False,
) -> None:
    r"""Check first derivatives: forward against reverse mode, and against central finite differences.

    With random directions t and cotangents c, $\langle c, J t\rangle = \langle J^T c, t\rangle$ must hold to rounding,
    and $J t = [f(x + h t) - f(x - h t)]/2h$ to `rtol`; both must be finite. Complex arguments are pairs of real ones,
    with independent real and imaginary parts in a direction. The check runs in float64; keys, integers and booleans
    are fixed. Directions ignore constraints: a function of symmetric matrices must symmetrise its argument.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys, smooth near the example.
        *args: example arguments.
        rtol: allowed deviation from finite differences, relative to the largest entry of an array.
        atol: absolute deviation from finite differences allowed in addition.
        num_directions: number of random directions.
        second_derivative: whether to run `check_second_derivative` as well, on the same compiled program.

    Raises:
        AssertionError: a derivative is wrong or not finite, or there is nothing to differentiate.

    Example:
        >>> import jax.numpy as jnp
        >>> check_derivatives(jnp.sin, 0.3)
    """
    with jax.enable_x64(True):
        smooth, x = _smooth_part(_FIRST, fn, args)
        modes = _Modes(smooth, x, _orders_two if second_derivative else _orders_one)
        _check_first(modes, rtol, atol, num_directions)
        if second_derivative:
            _check_second(modes)


def check_second_derivative(fn: Callable[..., Any], *args: Any) -> None:
    r"""Check that second derivatives are finite, and the same by two routes.

    The routes are forward over forward and forward over reverse mode. The check runs in float64 along a random
    direction t with a random cotangent c:
    $\langle c, \partial_t^2 f\rangle = \langle \partial_t (J^T c), t\rangle$ must hold to rounding.

    Args:
        fn: a function of pytrees of arrays, numbers and typed keys.
        *args: example arguments.

    Raises:
        AssertionError: a second derivative is not finite, the two differ, or there is nothing to differentiate.

    Example:
        >>> import jax.numpy as jnp
        >>> check_second_derivative(jnp.sin, 0.3)
    """
    with jax.enable_x64(True):
        smooth, x = _smooth_part(_SECOND, fn, args)
        _check_second(_Modes(smooth, x, _orders_two))


class _Modes:
    """A function and its derivatives along a direction, in one compiled program, which also gives the values."""

    def __init__(self, smooth: Callable[[PyTree], list], x: PyTree, orders: Callable):
        self.x = x
        self._program = jax.jit(partial(orders, smooth))
        self._unknown = jax.tree.map(jnp.zeros_like, jax.eval_shape(smooth, x))

    def __call__(self, tangent: PyTree, cotangent: list[Array]) -> tuple:
        return self._program(self.x, tangent, cotangent)

    def value(self, x: PyTree) -> list[Array]:
        return self._program(x, x, self._unknown)[0]

    @cached_property
    def centre(self) -> list[Array]:
        return self.value(self.x)

    def directions(self, seed: int) -> tuple[PyTree, list[Array]]:
        # A cotangent is random where the value is finite, and 0 elsewhere.
        return random_like(self.x, 2 * seed, scaled=True), random_like(self.centre, 2 * seed + 1, scaled=False)


def _orders_one(smooth: Callable, x: PyTree, tangent: PyTree, cotangent: list[Array]) -> tuple:
    """Value and first derivatives, in forward and reverse mode."""
    return *jax.jvp(smooth, (x,), (tangent,)), jax.vjp(smooth, x)[1](cotangent)[0]


def _orders_two(smooth: Callable, x: PyTree, tangent: PyTree, cotangent: list[Array]) -> tuple:
    """The results of `_orders_one`, and the derivatives of both modes along the tangent."""
    along = lambda y: jax.jvp(smooth, (y,), (tangent,))
    adjoint = lambda y: jax.vjp(smooth, y)[1](cotangent)[0]
    (value, forward), (_, second) = jax.jvp(along, (x,), (tangent,))
    reverse, of_reverse = jax.jvp(adjoint, (x,), (tangent,))
    return value, forward, reverse, second, of_reverse


def _check_first(modes: _Modes, rtol: float, atol: float, num_directions: int) -> None:
    for seed in range(num_directions):
        tangent, cotangent = modes.directions(seed)
        _, forward, reverse, *_ = modes(tangent, cotangent)
        require_finite(_FIRST, "the forward-mode derivative", forward)
        require_finite(_FIRST, "the reverse-mode derivative", reverse)
        pairs = (cotangent, forward), (reverse, tangent), (cotangent, modes.centre)
        _require_adjoint(_FIRST, "jvp against vjp", *pairs)
        _require_differences(modes.value, modes.x, tangent, forward, rtol, atol)


def _check_second(modes: _Modes) -> None:
    tangent, cotangent = modes.directions(0)
    *_, forward, reverse = modes(tangent, cotangent)
    require_finite(_SECOND, "the second derivative (forward over forward)", forward)
    require_finite(_SECOND, "the second derivative (forward over reverse)", reverse)
    what = "forward over forward against forward over reverse"
    pairs = (cotangent, forward), (reverse, tangent), (cotangent, modes.centre)
    _require_adjoint(_SECOND, what, *pairs)


def _smooth_part(check: str, fn: Callable[..., Any], args: tuple) -> tuple[Callable[[PyTree], list], PyTree]:
    """The floating-point outputs as a function of the floating-point inputs, and those inputs in float64."""
    call, traced = traced_arguments(fn, args)
    x, fixed = eqx.partition(cast(traced, 64), is_inexact)

    def smooth(x: PyTree) -> list[Array]:
        output = call(*eqx.combine(x, fixed))
        return [leaf for leaf in jax.tree.leaves(output) if is_inexact(leaf)]

    if not jax.tree.leaves(x):
        fail(check, "nothing to differentiate: no argument is floating-point or complex.")
    if not jax.eval_shape(smooth, x):
        fail(check, "nothing to differentiate: no output is floating-point or complex.")
    return smooth, x


def _inner(a: PyTree, b: PyTree) -> tuple[float, float]:
    """Re Σ a b, the pairing with which JAX transposes, and the size of its terms."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    # If the value is infinite, the cotangent is 0, and so is the product.
    terms = [np.where(host(u) == 0, 0, host(u)) * np.where(host(u) == 0, 0, host(v)) for u, v in pairs]
    return sum(float(np.real(t).sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)


def _require_adjoint(check: str, what: str, left: tuple, right: tuple, value: tuple) -> None:
    (a, size_a), (b, size_b), (_, size) = _inner(*left), _inner(*right), _inner(*value)
    allowed = _ROUNDING * max(size_a, size_b) + _FLOOR * size
    if abs(a - b) > allowed:
        deviation = f"the deviation is {abs(a - b):.3g}, allowed is {allowed:.3g}"
        fail(check, f"{what}: {a:.12g} against {b:.12g}; {deviation}.")


def _require_differences(
    value: Callable[[PyTree], list], x: PyTree, tangent: PyTree, forward: list[Array], rtol: float, atol: float
) -> None:
    above, centre, below = (value(jax.tree.map(lambda y, t, k=k: y + k * _STEP * t, x, tangent)) for k in (1, 0, -1))
    for leaf, (up, here, down, derivative) in enumerate(zip(above, centre, below, forward, strict=True)):
        up, here, down, derivative = map(host, (up, here, down, derivative))
        finite = np.isfinite(here)
        difference = (np.where(finite, up, 0) - np.where(finite, down, 0)) / (2 * _STEP)
        require_finite(_FIRST, "the finite difference", jnp.asarray(difference))
        deviation = magnitude(difference - np.where(finite, derivative, 0))
        allowed = rtol * magnitude(difference) + _NOISE * magnitude(here) + atol
        if deviation > allowed:
            fail(
                _FIRST,
                f"jvp against finite differences, floating-point output {leaf}: the worst deviation is "
                f"{deviation:.3g} of {magnitude(difference):.3g}, allowed is {allowed:.3g}.",
            )
