r"""Ends of bands that end like square roots, with all digits.

In a band near its end e the part of the solution that is odd in $\sqrt{|x - e|}$, the imaginary part, is proportional
to the density, and the rest is even. So the squared density y and the even part are analytic functions of x. A
bisection finds the end to half of the digits. Then the values of x and of the solution at y = 0 follow from a few
points inside of the band by interpolation in y. A projection of the equation on the odd part is right to the square of
their errors.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax._promotion import like
from rmtjax.laws._free.gaps import Lanes, lie_above

# The distances from the end at which the density is interpolated, in units of the width of the bisection.
_DISTANCES = np.array([0.0, 1.0, 3.0, 6.0, 10.0])


def soft_ends(
    lanes: Lanes,
    solution: Callable[[Float[Array, "5 m"]], tuple[Array, Array, Array]],
    excess: Callable[[Float[Array, " m"], Inexact[Array, "m ..."], Inexact[Array, "m ..."]], Float[Array, " m"]],
) -> Float[Array, " m"]:
    """The ends, or the middles of the bisections where the density does not end like a square root.

    Args:
        lanes: the bisections.
        solution: the density at real points, with the even and the odd part of the solution.
        excess: how far a point lies above the end, from the even part there, and the odd part divided by the density.
    """
    width, inward = lanes.upper - lanes.lower, np.where(lie_above(lanes.found.size), 1.0, -1.0)
    band = jnp.where(inward > 0, lanes.upper, lanes.lower)
    x = band[None] + jnp.multiply.outer(like(width, _DISTANCES), like(width, inward) * width)
    density, even, odd = solution(x)
    y = density**2
    # The factors of Lagrange's interpolation at 0.
    others = ~np.eye(_DISTANCES.size, dtype=bool)[:, :, None]
    distance = y[None] - y[:, None]
    usable = lanes.found & jnp.all((distance != 0) | ~others, axis=(0, 1)) & jnp.all(y > 0, axis=0)
    ratios = jnp.where(others, y[None] / jnp.where(distance == 0, 1, distance), 1)
    factors = jnp.prod(ratios, axis=1)
    shares = factors / jnp.where(y > 0, density, 1)
    at_zero = lambda factors, values: jnp.einsum("km,km...->m...", like(values, factors), values)
    at_ends = at_zero(factors, x), at_zero(factors, even), at_zero(shares, odd)
    # At a hard edge the excess, which is not used, has infinite derivatives.
    x, even, odd = (_only(usable, values) for values in at_ends)
    x = x - excess(x, even, odd)
    middle = lanes.middle()
    return jnp.where(usable & (jnp.abs(x - middle) <= 2 * width), x, middle)


def _only(usable: Bool[Array, " m"], values: Inexact[Array, "m ..."]) -> Inexact[Array, "m ..."]:
    """The usable values; in the place of the other ones, one of these."""
    one = jax.lax.dynamic_index_in_dim(values, jnp.argmax(usable))
    return jnp.where(usable.reshape(-1, *[1] * (values.ndim - 1)), values, one)
