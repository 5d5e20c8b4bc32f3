r"""The Cauchy integral of a function that is known by its values, everywhere in the closed upper half plane.

Derivation. On a panel from a to b let $x = a + (b - a)/(1 + e^{-\pi \sinh s})$ (Takahasi and Mori). Then
$F(s) = f(x)\,dx/ds$ is analytic in a strip and tiny beyond |s| = 4.4. The trapezoidal sum T of $F(s)/(z - x)$, with
steps of h, is wrong only by the poles at the points $s_k = \operatorname{arsinh}(w + 2 i k)$ of z,
$w = \frac1\pi \log\frac{z - a}{b - z}$, all of which have the residue -f(z). With $q = e^{\pm 2 \pi i (s_k - s_0)/h}$
for the poles above and below the axis and a node at $s_0$,

$$T - \int \frac{f(x)\,dx}{z - x} = 2 \pi i f(z)\,W, \quad T' = 2 \pi i f(z)\,W', \qquad
W = \sum_k \frac{\pm q}{1 - q}, \quad W' = \sum_k \frac{\pm \sqrt q}{1 - q},$$

where T' is the sum with alternating signs, which is nothing but these poles. So the integral is $T - T'\,W/W'$, which
needs f at the nodes only. With the nearest pole alone this is Stenger's formula (1993, Numerical Methods Based on Sinc
and Analytic Functions, section 3.3); beside a panel, the next pole is as near. On the real axis the integral is the
limit from above. Where z is a node, a term is 0/0. So the nodes are the multiples of h/2, and the sum is taken over
every second one: those among which the nearest one, n, is not.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import like
from rmtjax.laws._core.half_plane import upper_logs

_STEP, _LAST = 0.05, 176
_NODES = np.arange(-_LAST, _LAST + 1)


def cauchy_integral(
    function: Callable[[Array], Array], panels: Float[Array, " k"], z: Complex[Array, "..."]
) -> Complex[Array, "..."]:
    r"""The integral $\int \frac{f(x)\,dx}{z - x}$ over all panels, for z in the closed upper half plane.

    The error is some 1e-14 of the largest part. Where f diverges at an end, it is the square root of rounding, except
    at an end that is 0.

    Args:
        function: f, elementwise, analytic inside of each panel; it is not called at the ends of panels.
        panels: ascending finite points; neighbours may be equal.
        z: points of any shape.
    """
    share, rest = _shares(_NODES * (_STEP / 2))
    by_s = np.pi * np.cosh(_NODES * (_STEP / 2)) * share * rest * _STEP

    def masses(a: Array, b: Array) -> Array:
        share_, rest_, by_s_ = (like(a, each) for each in (share, rest, by_s))
        x = jnp.where(share_ < 0.5, a + (b - a) * share_, b - (b - a) * rest_)
        # A node that is rounded to an end stands for the points beside it.
        least = float(jnp.finfo(a.dtype).tiny)
        beside = [jnp.maximum(jnp.abs(end) * float(jnp.finfo(a.dtype).eps), least) for end in (a, b)]
        lowest, highest = a + beside[0], b - beside[1]
        has_points = lowest < highest
        values = function(jnp.where(has_points, jnp.clip(x, lowest, highest), a))
        return jnp.where(has_points, jnp.broadcast_to(values, x.shape) * ((b - a) * by_s_), 0)

    def panel(total: Array, ends: tuple[Array, Array]) -> tuple[Array, None]:
        return total + _of_panel(z, *ends, like(z, masses(*ends))), None

    return jax.lax.scan(panel, jnp.zeros_like(z), (panels[:-1], panels[1:]))[0]


def _shares(s: Any) -> tuple[Any, Any]:
    """The parts of the panel on the left and on the right of the point of s, an array of JAX or NumPy."""
    xp = np if isinstance(s, np.ndarray) else jnp
    stretched = np.pi * xp.sinh(s)
    return 1 / (1 + xp.exp(-stretched)), 1 / (1 + xp.exp(stretched))


def _of_panel(z: Complex[Array, "..."], a: Array, b: Array, masses: Complex[Array, " m"]) -> Complex[Array, "..."]:
    """The sum for one panel, from the masses of the nodes, which have the factor of every second one."""
    width, from_a, from_b = like(z, b - a), z - like(z, a), z - like(z, b)
    distance = lambda share, rest: jnp.where(jnp.real(share) < 0.5, from_a - width * share, from_b + width * rest)
    shares, rests = (like(z, each) for each in _shares(_NODES * (_STEP / 2)))

    def term(k: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        sign = like(z, 1 - 2 * (k % 2))

        def one(n: Array) -> Array:
            away = distance(shares[n], rests[n])
            return jnp.where(away == 0, 0, masses[n] / jnp.where(away == 0, 1, away))

        even, odd = one(2 * k), one(2 * k + 1)
        return sums[0] + even, sums[1] + sign * even, sums[2] + odd, sums[3] + sign * odd

    # The last node, whose mass is rounding, is left out.
    even, even_signed, odd, odd_signed = jax.lax.fori_loop(0, _LAST, term, (jnp.zeros_like(z),) * 4)
    n, ratio = _share_of_poles(from_a, from_b, width)
    place = n + _LAST
    ratio = ratio * like(z, 1 - 2 * (((place + 1) // 2) % 2))
    return jnp.where(place % 2 == 0, odd - ratio * odd_signed, even - ratio * even_signed)


def _share_of_poles(
    from_a: Complex[Array, "..."], from_b: Complex[Array, "..."], width: Complex[Array, ""]
) -> tuple[Array, Complex[Array, "..."]]:
    """The index n of the node nearest to z, and W/W' for the node after it; 0 for z beyond all nodes or far away."""
    s = jax.lax.stop_gradient(_real_part(from_a, from_b))
    n = jnp.clip(jnp.round(s / (_STEP / 2)), -_LAST, _LAST)
    node = n * (_STEP / 2)
    near = (jnp.abs(s - node) < _STEP) & (from_a != 0) & (from_b != 0) & (jnp.real(width) > 0)
    share, rest = (like(from_a, part) for part in _shares(node))
    # The logarithm of a ratio near 1 has a small error, other than w itself.
    numerator, denominator = jnp.where(near, from_a * rest, 1), jnp.where(near, -from_b * share, 1)
    t = upper_logs(numerator / denominator)[0] / jnp.pi
    sinh, cosh = (like(t, each) for each in (jnp.sinh(node), jnp.cosh(node)))
    w = sinh + t
    sinh_of_difference = t * (cosh - sinh * (2 * sinh + t) / (jnp.sqrt(1 + w * w) + cosh))
    # All poles in one array, as each logarithm is a large program. The nearest one comes by its difference.
    k = np.array([0, 1, -1, 2, -2])
    row = lambda values: like(t, values).reshape(*[1] * t.ndim, -1)
    sign, others = row(np.where(k < 0, -1, 1)), row(k != 0)
    sines = jnp.where(others != 0, w[..., None] + 2j * row(k), sinh_of_difference[..., None])
    poles = _arsinh(sines) - others * like(t, node)[..., None]
    p = jnp.exp(1j * jnp.pi / _STEP * sign * poles)
    seen = near & (jnp.abs(p[..., 0]) > 1e-18)
    p = jnp.where(seen[..., None], p, 1)
    rest_of_one = 1 + p * p
    whole, signed = -jnp.sum(sign * p * p / rest_of_one, axis=-1), -1j * jnp.sum(p / rest_of_one, axis=-1)
    return n.astype(jnp.int32), jnp.where(seen, whole / jnp.where(seen, signed, 1), 0)


def _real_part(from_a: Complex[Array, "..."], from_b: Complex[Array, "..."]) -> Float[Array, "..."]:
    """The real part of the point s of z, roughly."""
    tiny = float(jnp.finfo(jnp.real(from_a).dtype).tiny)
    x = (jnp.log(jnp.abs(from_a) + tiny) - jnp.log(jnp.abs(from_b) + tiny)) / jnp.pi
    angles = [jnp.arctan2(jnp.imag(each), jnp.real(each)) for each in (from_a, from_b)]
    y = 1 + (angles[0] - angles[1]) / jnp.pi
    cosh = (jnp.hypot(x, 1 + y) + jnp.hypot(x, 1 - y)) / 2
    return jnp.sign(x) * jnp.arccosh(jnp.maximum(cosh, 1))


def _arsinh(w: Complex[Array, "..."]) -> Complex[Array, "..."]:
    left = jnp.real(w) < 0
    w = jnp.where(left, -w, w)
    value = jnp.log(w + jnp.sqrt(1 + w * w))
    return jnp.where(left, -value, value)
