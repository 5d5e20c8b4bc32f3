r"""The integral that the laws of Marčenko and Pastur and of Wachter share, without cancellation in either tail.

In a triangle let the sides 1 and q enclose the angle φ, let ψ be the angle opposite q, and let √y be the third side:
$y = 1 + q^2 - 2q\cos φ$. The density $\frac{2}{\pi} \sin^2(φ)/y$ in φ has mass 1 on (0, π); its mass H up to φ is

    π H(φ) = φ + [q sin φ - (1 - q²) ψ]/q².

Near φ = 0 all terms below the third order cancel, and for small q all terms below the order q². With S(t) = t - sin t,
θ = ψ + φ/2, and the law of sines, sin(φ + ψ) = sin φ/√y, the mass can be written as

    π H(φ) = 2 S(φ/2) + 4 sin(φ/2) sin²(θ/2) + 4 sin φ sin²(φ/2)/[√y (√y + 1 - q)] - (1 - q²)/q² S(ψ),

where the last term is at most a third of the sum of the others. Replacing φ by π - φ, q by -q and ψ by -ψ gives the
mass 1 - H above φ; then no term is negative.
"""

import jax.numpy as jnp
from jaxtyping import Array

from rmtjax.special.internal import t_minus_sin_t


def mass_from_end(from_zero: Array, sine: Array, cosine: Array, side: Array, q: Array, gap: Array) -> Array:
    """The mass between the angle φ and the end 0 or π of its range, to a few ulp of relative error.

    Args:
        from_zero: whether the end is 0.
        sine: sine of half the angle between φ and that end.
        cosine: cosine of this half angle.
        side: the third side √y.
        q: the shorter side, in (0, 1].
        gap: 1 - q with all its digits.
    """
    near, far = jnp.where(from_zero, gap, 1 + q), jnp.where(from_zero, 1 + q, gap)
    psi = jnp.arctan2(2 * q * sine * cosine, near * cosine**2 + far * sine**2)
    theta = jnp.arctan2(far * sine, near * cosine)
    last = gap * (1 + q) / q**2 * t_minus_sin_t(psi)
    total = 2 * t_minus_sin_t(jnp.arctan2(sine, cosine)) + 4 * sine * jnp.sin(theta / 2) ** 2
    total = total + 8 * sine * (sine / (side + near)) * (sine / side) * cosine
    return jnp.where(from_zero, total - last, total + last) / jnp.pi
