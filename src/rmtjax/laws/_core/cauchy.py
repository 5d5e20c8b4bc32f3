r"""The Cauchy integral of functions that are known by their values, everywhere in the closed upper half plane.

Derivation. On a panel from a to b let $x = a + (b - a)/(1 + e^{-s})$, so that $F(s) = f(x)\,dx/ds$ is analytic in a
strip and decays at both ends. The points s of z are $\log\frac{z - a}{b - z} + 2 \pi i k$, at most one of them with
$|\operatorname{Im} s| < \pi$. A trapezoidal sum of $F(s)/(z - x)$ with steps of h is wrong only by the pole at this s,
beyond rounding, and with alternating signs the sum is nothing but this pole. So

$$\int \frac{f(x)\,dx}{z - x} = h \sum_j F(s_j)\,\frac{1 - e^{i \pi (s - s_j)/h}}{z - x_j},$$

which needs f at the nodes only (Stenger 1993, Numerical Methods Based on Sinc and Analytic Functions, section 3.3). On
the real axis it is the limit from above. Where z is a node, a term is 0/0. So the nodes are the multiples of h/2, and
the sum is taken over every second one: those among which the nearest one, n, is not.

The double exponential map needs fewer nodes, but beside an end its points of z crowd about the real axis, and f may
have another value at each of them. Then nothing separates their parts of the error.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import in_one_precision, like
from rmtjax.laws._core.half_plane import upper_logs
from rmtjax.special.internal import inside_a_panel

_STEP, _LAST = 0.2, 1100
# The nodes s, and the parts of a panel on the left and on the right of each.
_NODES = np.arange(-_LAST, _LAST + 1) * (_STEP / 2)
_LEFT, _RIGHT = 1 / (1 + np.exp(-_NODES)), 1 / (1 + np.exp(_NODES))


def cauchy_integrals(
    function: Callable[[Array], Array], panels: Float[Array, " k"], z: Complex[Array, "..."]
) -> Complex[Array, "r ..."]:
    r"""The integrals $\int \frac{f(x)\,dx}{z - x}$ of r functions over all panels, in the closed upper half plane.

    The error is some 1e-14 of the largest part. Where f diverges at an end, it is the square root of rounding, except
    at an end that is 0.

    Args:
        function: it maps m points to r by m values, the values of each f. These are analytic inside of each panel, and
            the ends of panels are not among the points.
        panels: ascending finite points; neighbours may be equal.
        z: points of any shape.
    """
    left, right, by_s = (like(panels, each) for each in (_LEFT, _RIGHT, _LEFT * _RIGHT * _STEP))
    # An empty panel has no point of its own.
    elsewhere = inside_a_panel(panels)
    least = float(jnp.finfo(panels.dtype).tiny)

    def masses(_: None, ends: tuple[Array, Array]) -> tuple[None, tuple[Array, Array]]:
        a, b = ends
        x = jnp.where(left < 0.5, a + (b - a) * left, b - (b - a) * right)
        # A node that is rounded to an end stands for the points beside it.
        beside = [jnp.maximum(jnp.abs(end) * float(jnp.finfo(panels.dtype).eps), least) for end in ends]
        lowest, highest = a + beside[0], b - beside[1]
        has_points = lowest < highest
        values = function(jnp.where(has_points, jnp.clip(x, lowest, highest), elsewhere))
        values = jnp.where(has_points, values, 0)
        return None, (values * ((b - a) * by_s)[None], values[:, jnp.array([0, -1])])

    ends = panels[:-1], panels[1:]
    masses_at_nodes, at_ends = jax.lax.scan(masses, None, ends)[1]
    beside = _beside_joints(jnp.real(z), panels, masses_at_nodes, at_ends)
    z = z + like(z, jnp.where(jnp.imag(z) == 0, beside, 0))

    def panel(_: None, given: tuple[Array, ...]) -> tuple[None, Array]:
        return None, jax.vmap(_of_panel, in_axes=(None, None, None, 0))(z, *given)

    return jnp.sum(jax.lax.scan(panel, None, (*ends, like(z, masses_at_nodes)))[1], axis=0)


def _beside_joints(
    x: Float[Array, "..."],
    panels: Float[Array, " k"],
    masses: Float[Array, "k-1 r m"],
    at_ends: Float[Array, "k-1 r 2"],
) -> Float[Array, "..."]:
    """The step from a point where two panels meet to a point beside it; 0 elsewhere, and where the functions vanish.

    The parts of the two panels are infinite there, and only their sum is not.
    """
    width = jnp.diff(panels)
    scale = jnp.sum(jnp.abs(masses), axis=(0, 2)) / jnp.sum(width)
    least = float(jnp.finfo(panels.dtype).eps) ** 0.4
    place = jnp.arange(width.size)
    before = jax.lax.cummax(jnp.where(width > 0, place, 0))[:-1]
    behind = jax.lax.cummin(jnp.where(width > 0, place, width.size - 1), reverse=True)[1:]
    lower = jnp.minimum(jnp.abs(at_ends[before, :, 1]), jnp.abs(at_ends[behind, :, 0]))
    size = jnp.maximum(jnp.abs(panels[1:-1]), jnp.minimum(width[before], width[behind]))
    step = jnp.where(jnp.any(lower > least * scale[None], axis=-1), float(jnp.finfo(panels.dtype).eps) * size, 0)
    step = jax.lax.stop_gradient(jnp.where((panels[1:-1] > panels[0]) & (panels[1:-1] < panels[-1]), step, 0))
    here = jnp.subtract.outer(*in_one_precision((x, panels[1:-1]))) == 0
    return here.astype(x.dtype) @ like(x, step)


def _of_panel(z: Complex[Array, "..."], a: Array, b: Array, masses: Complex[Array, " m"]) -> Complex[Array, "..."]:
    """The sum for one panel, from the masses of the nodes, which have the factor of every second one."""
    width, from_a, from_b = like(z, b - a), z - like(z, a), z - like(z, b)
    left, right = like(z, _LEFT), like(z, _RIGHT)

    def term(k: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        sign = like(z, 1 - 2 * (k % 2))

        def one(n: Array) -> Array:
            away = jnp.where(n < _LAST, from_a - width * left[n], from_b + width * right[n])
            return jnp.where(away == 0, 0, masses[n] / jnp.where(away == 0, 1, away))

        even, odd = one(2 * k), one(2 * k + 1)
        return sums[0] + even, sums[1] + sign * even, sums[2] + odd, sums[3] + sign * odd

    # The last node, whose mass is rounding, is left out.
    even, even_signed, odd, odd_signed = jax.lax.fori_loop(0, _LAST, term, (jnp.zeros_like(z),) * 4)
    n, phase = _phase(from_a, from_b, width)
    half = like(z, 1 - 2 * ((n // 2) % 2))
    return jnp.where(n % 2 == 0, odd + 1j * half * phase * odd_signed, even - 1j * half * phase * even_signed)


def _phase(
    from_a: Complex[Array, "..."], from_b: Complex[Array, "..."], width: Complex[Array, ""]
) -> tuple[Array, Complex[Array, "..."]]:
    r"""The place n of the node nearest to z, and $e^{i \pi (s - s_n)/h}$; 0 beyond all nodes and where it is tiny."""
    tiny = float(jnp.finfo(jnp.real(from_a).dtype).tiny)
    s = jnp.log(jnp.abs(from_a) + tiny) - jnp.log(jnp.abs(from_b) + tiny)
    n = jax.lax.stop_gradient(jnp.clip(jnp.round(s / (_STEP / 2)), -_LAST, _LAST))
    node = n * (_STEP / 2)
    near = (jnp.abs(s - node) < _STEP) & (from_a != 0) & (from_b != 0) & (jnp.real(width) > 0)
    # The logarithm of a ratio near 1 has a small error, other than s itself.
    ratio = jnp.where(near, from_a, 1) / jnp.where(near, -from_b * like(from_b, jnp.exp(node)), 1)
    difference = upper_logs(ratio)[0]
    # Beside the panel, where Im s is π, a real integral stays real.
    seen = near & (jnp.imag(difference) < 3)
    return n.astype(jnp.int32) + _LAST, jnp.where(seen, jnp.exp(1j * jnp.pi / _STEP * difference), 0)
