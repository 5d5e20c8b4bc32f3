r"""The Faddeeva function, which is the Stieltjes transform of the normal law.

For Im z ≥ 0 it is $w(z) = \frac{i}{\pi} \int \frac{e^{-t^2}}{z - t}\,dt$. A trapezoidal sum with steps of h is wrong by
the pole at t = z alone, beyond rounding, and so is a midpoint sum:

$$w(z) \approx \frac{2 i h z}{\pi} \sum_k \frac{e^{-t_k^2}}{z^2 - t_k^2} + \frac{2 e^{-z^2}}{1 \mp e^{-2 \pi i z/h}} .$$

The sum is taken whose nodes are farther from z. Far above the axis the midpoint sum is right by itself. With N nodes
and $h^2 = \pi/(N + 1)$ the relative error is below $2 \cdot 10^{-15}$ for N = 11 (Al Azah and Chandler-Wilde 2021, SIAM
J. Numer. Anal. 59, 2346, theorem 3.1 and section 4).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex

from rmtjax._promotion import like

_NODES = 11
_STEP = (np.pi / (_NODES + 1)) ** 0.5
# From here on two terms of the asymptotic series are right to all digits, and squares may leave the range.
_FAR = 1e5


@jax.custom_jvp
def faddeeva(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The function w(z) for z in the closed upper half plane.

    Its real part has all digits where it is small, near the real axis.
    """
    far = jnp.abs(jnp.real(z)) + jnp.imag(z) > _FAR
    mirrored = jnp.real(z) < 0
    near = jnp.where(far, 1j, jnp.where(mirrored, -jnp.conj(z), z))
    value = _in_first_quadrant(near)
    value = jnp.where(mirrored, jnp.conj(value), value)
    distant = 1 / jnp.where(far, z, 1j)
    return jnp.where(far, like(z, 1j / np.pi**0.5) * distant * (1 + distant * distant / 2), value)


def _in_first_quadrant(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    x, y = jnp.real(z), jnp.imag(z)
    high = y >= jnp.maximum(x, np.pi / _STEP)
    place = x / _STEP - jnp.floor(x / _STEP)
    # Whether the nodes are the multiples of the step, or the middles between them.
    whole = ~high & (place >= 0.25) & (place <= 0.75)
    nodes = jnp.add.outer(jnp.where(whole, 0, like(x, 0.5)), like(x, np.arange(_NODES + 1))) * _STEP
    weights = jnp.where(nodes == 0, 0.5, 1) * jnp.exp(-(nodes**2))
    total = jnp.sum(like(z, weights) / (z[..., None] ** 2 - like(z, nodes**2)), axis=-1)
    # Where the midpoint sum stands alone, the exponential might overflow.
    below = jnp.where(high, 0, z)
    turn = jnp.exp(2j * np.pi / _STEP * below)
    pole = 2 * jnp.exp(-(below**2)) * turn / (turn + like(z, jnp.where(whole, -1, 1)))
    return like(z, 2j * _STEP / np.pi) * z * total + jnp.where(high, 0, pole)


@faddeeva.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (z,), (change,) = primals, tangents
    value = faddeeva(z)
    return value, (like(z, 2j / np.pi**0.5) - 2 * z * value) * change
