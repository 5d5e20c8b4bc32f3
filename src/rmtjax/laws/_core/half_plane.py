r"""Functions of points in the closed upper half plane, with their limits on the real axis.

There $\sqrt{z - a}$ lies in the first quadrant. Therefore $\sqrt{z - a}\sqrt{z - b}$ is the root that behaves as z at
infinity, and the sums in the denominators of the laws' formulas do not cancel.
"""

import jax.numpy as jnp
from jaxtyping import Array, Complex, Inexact

from rmtjax._promotion import complex_dtype, like


def in_plane(x: Inexact[Array, "..."]) -> Complex[Array, "..."]:
    """Real points, on the axis of the complex plane."""
    # A sum leaves the precision of Python's numbers open.
    return x + 0j if x.weak_type else x.astype(complex_dtype(x.dtype))


def upper_sqrt(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The square root in the first quadrant, for z in the closed upper half plane; the derivative at 0 is 0."""
    zero = z == 0
    root = jnp.sqrt(jnp.where(zero, 1, z))
    # On the negative axis the sign of a zero imaginary part would otherwise choose the root.
    return jnp.where(zero, 0, jnp.where(jnp.imag(root) < 0, -root, root))


def upper_logs(z: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
    """The logarithms of z and -z, with arguments from 0 to π and from -π to 0, for z in the closed upper half plane.

    Both arguments have all digits. At 0 the arguments and the derivatives are 0, and the logarithms are those of the
    smallest number, as infinity times 0 is NaN.
    """
    zero = z == 0
    some = jnp.where(zero, float(jnp.finfo(z.dtype).tiny), z)
    # On the axis the sign of a zero imaginary part would otherwise choose the argument.
    some = jnp.where(jnp.imag(some) <= 0, like(z, jnp.real(some)), some)
    below = jnp.conj(jnp.log(-jnp.conj(some)))
    return jnp.stack([jnp.log(some), jnp.where(zero, like(z, jnp.real(below)), below)])


def edge_root(z: Complex[Array, "..."], lower: Array, upper: Array) -> Complex[Array, "..."]:
    """The root of (z - lower)(z - upper) that behaves as z at infinity, for z in the closed upper half plane."""
    return upper_sqrt(z - like(z, lower)) * upper_sqrt(z - like(z, upper))


def reciprocal(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The reciprocal 1/z; at 0 it is +inf, with the derivative 0."""
    zero = z == 0
    return jnp.where(zero, jnp.inf, 1 / jnp.where(zero, 1, z))


def quotient_of_one(g: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The reciprocal of a transform or of F: 0 where it is infinite, and infinite where it is 0, with derivative 0."""
    infinite = jnp.isinf(jnp.real(g))
    return jnp.where(infinite, 0, reciprocal(jnp.where(infinite, 1, g)))


def slope_of_r(quotient: Complex[Array, "..."]) -> Complex[Array, "..."]:
    r"""The derivative of h = -R(G), which is q/(1 - q) for $q = G^2 R'(G)$; finite at an end, where q is 1."""
    rest = 1 - quotient
    return quotient / jnp.where(rest == 0, float(jnp.finfo(quotient.dtype).eps), rest)


def pole(z: Complex[Array, "..."], location: Array | float, mass: Array) -> Complex[Array, "..."]:
    """The contribution of an atom to the Stieltjes transform; its mass may be 0."""
    present = mass > 0
    return jnp.where(present, reciprocal((z - like(z, location)) / like(z, jnp.where(present, mass, 1))), 0)
