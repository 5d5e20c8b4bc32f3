"""Laws of complex eigenvalues: the abstract planar law, and the uniform law on an ellipse."""

from abc import abstractmethod
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import KeyScalar, RealLike, RealScalarLike
from rmtjax.special import bracketed_root


class AbstractPlanarLaw(AbstractModule):
    """A probability distribution in the complex plane with a density.

    A subclass writes `_pdf`, `_radial_cdf`, `_radial_quantile` and `_sample`. The public methods are final. NaN in
    gives NaN out. Results have the dtype of the argument, promoted with that of the parameters; Python numbers as
    parameters leave the argument's dtype alone.
    """

    @abstractmethod
    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Density at x + iy, 0 outside the support."""

    def _logpdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Logarithm of the density."""
        density = self._pdf(x, y)
        inside = density > 0
        return jnp.where(inside, jnp.log(jnp.where(inside, density, 1)), -jnp.inf)

    @abstractmethod
    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Mass of the disc of radius r, any real number."""

    @abstractmethod
    def _radial_quantile(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        """Radius of the disc of mass p in [0, 1]."""

    @abstractmethod
    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        """Independent draws, of the complex dtype to the given real one."""

    def pdf(self, z: RealLike) -> Float[Array, "..."]:
        """Probability density by area at each z, 0 outside the support.

        Args:
            z: complex or real points of any shape.
        """
        return self._run("_in_plane", *_parts(z), density="_pdf")

    def logpdf(self, z: RealLike) -> Float[Array, "..."]:
        """Logarithm of the density; -inf where that is 0."""
        return self._run("_in_plane", *_parts(z), density="_logpdf")

    def radial_cdf(self, r: RealLike) -> Float[Array, "..."]:
        """Distribution function of the modulus, P(|Z| ≤ r)."""
        return self._run("_everywhere_radial_cdf", _checks.real("r", r))

    def radial_quantile(self, p: RealLike) -> Float[Array, "..."]:
        """Quantile of the modulus, the radius r with P(|Z| ≤ r) = p; NaN for p outside [0, 1]."""
        return self._run("_everywhere_radial_quantile", _checks.real("p", p))

    def sample(self, key: KeyScalar, shape: int | tuple[int, ...] = ()) -> Complex[Array, "..."]:
        """Independent draws.

        Args:
            key: a typed key.
            shape: shape of the array of draws; a whole number for a vector.
        """
        return self._run("_promised_sample", _checks.typed_key(key), shape=_checks.shape(shape))

    def _in_plane(self, x: Float[Array, "..."], y: Float[Array, "..."], *, density: str) -> Float[Array, "..."]:
        return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, getattr(self, density)(x, y))

    def _everywhere_radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.where(jnp.isnan(r), r, self._radial_cdf(r))

    def _everywhere_radial_quantile(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.where((p >= 0) & (p <= 1), self._radial_quantile(jnp.clip(p, 0, 1)), jnp.nan)

    def _promised_sample(self, key: KeyScalar, *, shape: tuple[int, ...]) -> Complex[Array, "..."]:
        return self._sample(key, shape, jnp.result_type(float, *jax.tree.leaves(self)))


def _parts(z: RealLike) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    z = jnp.asarray(z)
    return _checks.real("z", z.real), _checks.real("z", z.imag)


def polar_sample(
    key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """Cosine and sine of a uniform angle, and an independent uniform variate of (0, 1)."""
    key_angle, key_level = jax.random.split(key)
    angle = jax.random.uniform(key_angle, shape, dtype, minval=-jnp.pi, maxval=jnp.pi)
    level = jax.random.uniform(key_level, shape, dtype, minval=jnp.finfo(dtype).tiny)
    return jnp.cos(angle), jnp.sin(angle), level


class EllipticLaw(AbstractPlanarLaw):
    r"""The elliptic law, the limiting spectral density of matrices with correlated pairs of entries.

    Uniform on the ellipse with the half axes $a = s(1 + \tau)$ along the real and $b = s(1 - \tau)$ along the imaginary
    axis,

    $$f(z) = \frac1{\pi a b}, \qquad \frac{x^2}{a^2} + \frac{y^2}{b^2} < 1.$$

    Args:
        correlation: τ in (-1, 1); at ±1 the ellipse is an interval and there is no density in the plane.
        scale: s > 0.

    Raises:
        ValueError: `correlation` does not lie strictly between -1 and 1, `scale` is not positive and finite.

    Example:
        >>> law = EllipticLaw(0.5)
        >>> print(law.pdf(1.4) > 0, law.pdf(1.4j) > 0, law.radial_cdf(1.5))
        True False 1.0

    References:
        Girko (1986), Theory Probab. Appl. 30, 677; Sommers, Crisanti, Sompolinsky and Stein (1988), Phys. Rev. Lett.
        60, 1895.
    """

    correlation: Annotated[Float[Array, ""], _checks.Rule(lambda tau: abs(tau) < 1, "lie strictly between -1 and 1")]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, correlation: RealScalarLike, scale: RealScalarLike = 1.0):
        self.correlation = _checks.scalar("correlation", correlation)
        self.scale = _checks.scalar("scale", scale)

    def _axes(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.scale * (1 + self.correlation), self.scale * (1 - self.correlation)

    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        a, b = self._axes()
        return jnp.where((x / a) ** 2 + (y / b) ** 2 < 1, 1 / (jnp.pi * a * b), 0)

    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        # The circle leaves the ellipse at the polar angle θ, the eccentric angle φ: r exp(iθ) = a cos φ + i b sin φ.
        # Inside are 4 sectors of the circle, of area r²θ/2, and 4 of the ellipse, of area ab(π/2 - φ)/2.
        axes = self._axes()
        a, b = jnp.maximum(*axes), jnp.minimum(*axes)
        crossing = (r > b) & (r < a)
        square = jnp.where(crossing, r, (a + b) / 2) ** 2
        # Both are 0 at τ = 0, where no circle crosses.
        outer, inner = jnp.where(crossing, a**2 - square, 1), jnp.where(crossing, square - b**2, 1)
        sine, cosine = jnp.sqrt(outer), jnp.sqrt(inner)
        theta, phi = jnp.arctan2(b * sine, a * cosine), jnp.arctan2(sine, cosine)
        between = 2 / jnp.pi * (square / (a * b) * theta - phi) + 1
        disc = jnp.clip(r, 0, b) ** 2 / (a * b)
        return jnp.where(r >= a, 1, jnp.where(crossing, between, disc))

    def _radial_quantile(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        dtype = jnp.result_type(p, self.correlation, self.scale)
        longer = jnp.broadcast_to(jnp.maximum(*self._axes()).astype(dtype), p.shape)
        # Next to the whole mass the search would end where the rest is lost in rounding.
        root = bracketed_root(lambda r: self._radial_cdf(r) - p, jnp.zeros_like(longer), longer)
        return jnp.where(p < 1, root, longer)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        cosine, sine, level = polar_sample(key, shape, dtype)
        a, b = self._axes()
        return jax.lax.complex(a * jnp.sqrt(level) * cosine, b * jnp.sqrt(level) * sine)
