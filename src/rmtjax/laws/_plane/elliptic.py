"""The uniform law on an ellipse."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core.planar import AbstractPlanarLaw, polar_sample
from rmtjax.special.internal import bracketed_root


class EllipticLaw(AbstractPlanarLaw):
    r"""The elliptic law, the limiting spectral density of matrices with correlated pairs of entries.

    It is uniform on the ellipse with half axes $a = s(1 + \tau)$ along the real and $b = s(1 - \tau)$ along the
    imaginary axis,

    $$f(z) = \frac1{\pi a b}, \qquad \frac{x^2}{a^2} + \frac{y^2}{b^2} < 1.$$

    Args:
        correlation: τ in (-1, 1); at ±1 the ellipse would be an interval, without a density in the plane.
        scale: s > 0.

    Raises:
        ValueError: an argument is outside its range.

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
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 1}

    def _axes(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.scale * (1 + self.correlation), self.scale * (1 - self.correlation)

    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        a, b = self._axes()
        return jnp.where((x / a) ** 2 + (y / b) ** 2 < 1, 1 / (jnp.pi * a * b), 0)

    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        # The circle crosses the ellipse at the polar angle θ and eccentric angle φ: r exp(iθ) = a cos φ + i b sin φ.
        # The common area is 4 sectors of the circle, of area r²θ/2 each, and 4 of the ellipse, of area ab(π/2 - φ)/2.
        axes = self._axes()
        a, b = jnp.maximum(*axes), jnp.minimum(*axes)
        crossing = (r > b) & (r < a)
        square = jnp.where(crossing, r, (a + b) / 2) ** 2
        # At τ = 0 no circle crosses the ellipse, and both differences are 0.
        outer, inner = jnp.where(crossing, a**2 - square, 1), jnp.where(crossing, square - b**2, 1)
        sine, cosine = jnp.sqrt(outer), jnp.sqrt(inner)
        theta, phi = jnp.arctan2(b * sine, a * cosine), jnp.arctan2(sine, cosine)
        between = 2 / jnp.pi * (square / (a * b) * theta - phi) + 1
        disc = jnp.clip(r, 0, b) ** 2 / (a * b)
        return jnp.where(r >= a, 1, jnp.where(crossing, between, disc))

    def _radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        dtype = common_dtype(p, self.correlation, self.scale)
        longer = jnp.broadcast_to(jnp.maximum(*self._axes()).astype(dtype), p.shape)
        # At p = 1 the search would stop before the end, where the remaining mass is lost in rounding.
        root = bracketed_root(lambda r: self._radial_cdf(r) - p, jnp.zeros_like(longer), longer)
        return jnp.where(p < 1, root, longer)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        cosine, sine, uniform = polar_sample(key, shape, dtype)
        a, b = self._axes()
        return jax.lax.complex(a * jnp.sqrt(uniform) * cosine, b * jnp.sqrt(uniform) * sine)
