"""Planar laws that are invariant under rotations: a law of the modulus, and a uniform angle."""

import math
from abc import abstractmethod
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core.planar import AbstractPlanarLaw, polar_sample
from rmtjax.special.internal import square_root


class AbstractRadialLaw(AbstractPlanarLaw):
    r"""A planar law invariant under rotations, given by the law of the square $T = |Z|^2$.

    The area element is $d^2 z = \pi\,dt$, so the density in the plane is the density of T divided by π. The hooks
    `_density` and `_mass` are only called with points inside the support.
    """

    @abstractmethod
    def _ends(self) -> tuple[Float[Array, ""] | float, Float[Array, ""] | float]:
        """Ends of the support of T; the upper one may be infinite."""

    @abstractmethod
    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Density of T."""

    @abstractmethod
    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The probability P(T ≤ t)."""

    @abstractmethod
    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        """The quantile of T at 0 < p < 1."""

    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        t, (lower, upper) = x**2 + y**2, self._ends()
        inside = (t >= lower) & (t < upper)
        return jnp.where(inside, self._density(self._inside(inside, t)) / jnp.pi, 0)

    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        t, (lower, upper) = jnp.where(r > 0, r, 0) ** 2, self._ends()
        inside = (t > lower) & (t < upper)
        return jnp.where(inside, self._mass(self._inside(inside, t)), jnp.where(t >= upper, 1, 0))

    def _inside(self, inside: Bool[Array, "..."], t: Float[Array, "..."]) -> Float[Array, "..."]:
        # The formula never sees a point where it is singular: a NaN there would spoil the gradient of the `where`.
        return jnp.where(inside, t, self._square(jnp.full_like(t, 0.5)))

    def _radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        # At the ends the formula may be singular; a NaN there would spoil the gradient of the `where`.
        inside, (lower, upper) = (p > 0) & (p < 1), self._ends()
        return square_root(jnp.where(inside, self._square(jnp.where(inside, p, 0.5)), jnp.where(p < 1, lower, upper)))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        cosine, sine, uniform = polar_sample(key, shape, dtype)
        radius = jnp.sqrt(self._square(uniform))
        return jax.lax.complex(radius * cosine, radius * sine)


_INSIDE = _checks.Rule(lambda inner, radius: (inner >= 0) & (inner < radius), "be at least 0 and smaller than radius")


class CircularLaw(AbstractRadialLaw):
    r"""The circular law: uniform on a disc, the limiting spectral density of Ginibre matrices, or uniform on a ring.

    $$f(z) = \frac1{\pi (r^2 - q^2)}, \qquad q \le |z| < r.$$

    Args:
        radius: radius r > 0 of the outer circle.
        inner: radius q of the inner circle, 0 ≤ q < r.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(CircularLaw(2.0).radial_cdf(1.0))
        0.25

    References:
        Girko (1985), Theory Probab. Appl. 29, 694; Tao and Vu (2010), Ann. Probab. 38, 2023, theorem 1.10; Fischmann,
        Bruzda, Khoruzhenko, Sommers and Życzkowski (2012), J. Phys. A 45, 075203, for the ring.
    """

    radius: Annotated[Float[Array, ""], _checks.POSITIVE]
    inner: Annotated[Float[Array, ""], _INSIDE, "radius"]

    def __init__(self, radius: RealScalarLike = 1.0, inner: RealScalarLike = 0.0):
        self.radius = _checks.scalar("radius", radius, nonzero=True)
        self.inner = _checks.scalar("inner", inner)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1, "inner": 1}

    def _ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.inner**2, self.radius**2

    def _area(self) -> Float[Array, ""]:
        """The area of the ring in units of π."""
        return (self.radius - self.inner) * (self.radius + self.inner)

    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(t) / self._area()

    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return (t - self.inner**2) / self._area()

    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.inner**2 + p * self._area()


class CircularPowerLaw(AbstractRadialLaw):
    r"""The law of the M-th power of a variate of the circular law, the limit for products of M Ginibre matrices.

    $$f(z) = \frac{1}{\pi M r^2} \Big|\frac zr\Big|^{2/M - 2}, \qquad P(|Z| \le x) = (x/r)^{2/M}, \qquad |z| < r.$$

    The density is infinite at 0 for M ≥ 2.

    Args:
        power: an integer M ≥ 1; static.
        radius: radius r > 0 of the disc.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(CircularPowerLaw(2).radial_cdf(0.25))
        0.25

    References:
        Burda, Janik and Waclaw (2010), Phys. Rev. E 81, 041132; Götze and Tikhomirov (2010), arXiv:1012.2710.
    """

    power: int = eqx.field(static=True)
    radius: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, power: int, radius: RealScalarLike = 1.0):
        self.power = _checks.integer("power", power, at_least=1)
        self.radius = _checks.scalar("radius", radius, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1}

    def _ends(self) -> tuple[float, Float[Array, ""]]:
        return 0.0, self.radius**2

    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        unit, origin = self.radius**2, t == 0
        density = jnp.where(origin, 1, t / unit) ** (1 / self.power - 1) / (self.power * unit)
        return jnp.where(origin & (self.power > 1), jnp.inf, density)

    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return (t / self.radius**2) ** (1 / self.power)

    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.radius**2 * p**self.power

    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        # This is not `_mass` of the square, because the square of a small radius may underflow.
        inside = (r > 0) & (r < self.radius)
        share = jnp.where(inside, r / self.radius, 0.5) ** (2 / self.power)
        return jnp.where(inside, share, jnp.where(r > 0, 1, 0))

    def _radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        # The square of the radius may underflow, so the radius is computed directly.
        zero = p == 0
        return jnp.where(zero, 0, self.radius * jnp.where(zero, 1, p) ** (self.power / 2))


class TruncatedUnitaryLaw(AbstractRadialLaw):
    r"""The limiting spectral density of square corners of large Haar matrices.

    $$f(z) = \frac{1 - c}{\pi c\,(1 - |z|^2)^2}, \qquad P(|Z| \le r) = \frac{1 - c}{c}\,\frac{r^2}{1 - r^2}, \qquad
    |z|^2 < c,$$

    for a corner with the fraction c of the rows and columns.

    Args:
        fraction: c in (0, 1).

    Raises:
        ValueError: `fraction` is outside its range.

    Example:
        >>> law = TruncatedUnitaryLaw(0.5)
        >>> print(f"{law.radial_cdf(0.6):.4f} {law.radial_cdf(0.8):.4f}")
        0.5625 1.0000

    References:
        Życzkowski and Sommers (2000), J. Phys. A 33, 2045, section 3.
    """

    fraction: Annotated[Float[Array, ""], _checks.Rule(lambda c: (c > 0) & (c < 1), "lie strictly between 0 and 1")]

    def __init__(self, fraction: RealScalarLike):
        self.fraction = _checks.scalar("fraction", fraction)

    def _ends(self) -> tuple[float, Float[Array, ""]]:
        return 0.0, self.fraction

    def _odds(self) -> Float[Array, ""]:
        return (1 - self.fraction) / self.fraction

    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._odds() / (1 - t) ** 2

    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._odds() * t / (1 - t)

    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return p / (self._odds() + p)


class SphericalLaw(AbstractRadialLaw):
    r"""The uniform law on the sphere, projected stereographically onto the plane.

    $$f(z) = \frac{1}{\pi (1 + |z|^2)^2}, \qquad P(|Z| \le r) = \frac{r^2}{1 + r^2},$$

    is the law of one eigenvalue of the complex spherical ensemble at every size, and of the real and the quaternion
    ensemble in the limit n → ∞.

    Example:
        >>> print(SphericalLaw().radial_cdf(1.0))
        0.5

    References:
        Krishnapur (2009), Ann. Probab. 37, 314; Bordenave (2011), Electron. Commun. Probab. 16, 104.
    """

    def _ends(self) -> tuple[float, float]:
        return 0.0, math.inf

    def _logpdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        # The coordinates are scaled first, because 1 + |z|² itself would overflow.
        size = jnp.maximum(jnp.maximum(jnp.abs(x), jnp.abs(y)), 1)
        far = jnp.isinf(size)
        size = jnp.where(far, 1, size)
        a, b, one = x / size, y / size, 1 / size
        inner = jnp.where(far, 1, one**2 + a**2 + b**2)
        return jnp.where(far, -jnp.inf, -2 * jnp.log(inner) - 4 * jnp.log(size) - math.log(math.pi))

    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return 1 / (1 + t) ** 2

    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return t / (1 + t)

    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return p / (1 - p)
