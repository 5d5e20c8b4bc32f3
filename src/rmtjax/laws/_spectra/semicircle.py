"""Wigner's semicircle law."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.free_cumulants import catalan_share
from rmtjax.laws._core.half_plane import edge_root, quotient_of_one, reciprocal, slope_of_r, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import t_minus_sin_t


def density(x: Float[Array, "..."], radius: Float[Array, "..."]) -> Float[Array, "..."]:
    """Density of the semicircle law, for |x| < radius."""
    return 2 / (jnp.pi * radius) * jnp.sqrt((radius - x) / radius * ((radius + x) / radius))


def distribution(x: Float[Array, "..."], radius: Float[Array, "..."]) -> Float[Array, "..."]:
    """Distribution function (t - sin t)/2π with cos(t/2) = -x/radius, for |x| < radius, to full relative accuracy."""
    return t_minus_sin_t(4 * jnp.arctan2(jnp.sqrt(radius + x), jnp.sqrt(radius - x))) / (2 * jnp.pi)


def even_moment(half: int, radius: Float[Array, "..."]) -> Float[Array, "..."]:
    """The moment of order 2·half: a Catalan number times (radius/2)^(2·half)."""
    return times_power(catalan_share(half), radius, 2 * half)


class Semicircle(AbstractSpectralLaw):
    r"""Wigner's semicircle law, the limiting spectral density of Wigner matrices.

    $$f(x) = \frac{2}{\pi R^2}\sqrt{R^2 - x^2}, \qquad F(x) = \frac12 + \frac{x\sqrt{R^2-x^2}}{\pi R^2}
    + \frac1\pi \arcsin\frac xR, \qquad |x| \le R .$$

    The mean is 0, the variance $R^2/4$, $E X^{2m} = C_m (R/2)^{2m}$ with the Catalan numbers $C_m$, and
    $G(z) = 2/(z + \sqrt{z^2 - R^2})$. The variance is the only free cumulant that is not 0, so $R(g) = g R^2/4$. All
    values are right to a few ulp, however small a tail is.

    Convention: a Gaussian or Wigner ensemble with `scale=1` has radius 2.

    Args:
        radius: R > 0, half the width of the support.

    Raises:
        ValueError: `radius` is outside its range.

    Example:
        >>> law = Semicircle(radius=2.0)
        >>> print(f"{law.pdf(0.0):.5f} {law.cdf(2.0):.1f} {law.moment(4):.1f}")
        0.31831 1.0 2.0

    References:
        Wigner (1955), Ann. Math. 62, 548; Anderson, Guionnet and Zeitouni (2010), An Introduction to Random Matrices,
        equation 2.1.3 and lemma 2.1.3.
    """

    radius: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, radius: RealScalarLike = 2.0):
        self.radius = _checks.scalar("radius", radius, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1}

    def _support(self) -> tuple[Array, Array]:
        return -self.radius, self.radius

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return density(x, self.radius)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return distribution(x, self.radius)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return distribution(-x, self.radius)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        # The abscissa of a uniform point on the disc has this law.
        key_radius, key_angle = jax.random.split(key)
        dtype = jnp.result_type(self.radius)
        r = jnp.sqrt(jax.random.uniform(key_radius, shape, dtype))
        return self.radius * r * jnp.cos(jnp.pi * jax.random.uniform(key_angle, shape, dtype))

    def _moment(self, k: int) -> Float[Array, ""]:
        return even_moment(k // 2, self.radius) if k % 2 == 0 else 0 * self.radius

    def _var(self) -> Float[Array, ""]:
        return even_moment(1, self.radius)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return reciprocal((z + edge_root(z, -self.radius, self.radius)) / 2)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        var, h = like(w, self._var()), -(like(w, self._var()) * self._stieltjes(w))
        return h, slope_of_r(h**2 / var)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        # The potential is G R(G) - ∫ R - log G, with R integrated from 0 to G.
        g = self._stieltjes(w)
        return (like(w, self._var()) * g**2 / 2)[None] + upper_logs(quotient_of_one(g))

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        return self._var() if k == 2 else 0 * self.radius

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return like(g, self._var()) * g
