"""The arcsine law."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.free_cumulants import catalan_share
from rmtjax.laws._core.half_plane import edge_root, reciprocal, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw


class Arcsine(AbstractSpectralLaw):
    r"""The arcsine law, the law of the real part of a uniform point on the circle of radius R.

    $$f(x) = \frac1{\pi\sqrt{R^2 - x^2}}, \qquad F(x) = \frac12 + \frac1\pi\arcsin\frac xR, \qquad |x| < R.$$

    The mean is 0, the variance $R^2/2$, $E X^{2m} = \binom{2m}m (R/2)^{2m}$, the free cumulants are
    $\kappa_{2m} = 2 (-1)^{m-1} C_{m-1} (R/2)^{2m}$ with the Catalan numbers $C_m$, and $G(z) = 1/\sqrt{z^2 - R^2}$.
    All values are right to a few ulp, however small a tail is.

    Convention: the law of one eigenvalue of $U + U^*$ with a Haar unitary matrix U has radius 2.

    Args:
        radius: R > 0, half the width of the support.

    Raises:
        ValueError: `radius` is outside its range.

    Example:
        >>> law = Arcsine(radius=2.0)
        >>> print(f"{law.pdf(0.0):.5f} {law.cdf(1.0):.5f} {law.moment(4):.1f} {law.free_cumulant(4):.1f}")
        0.15915 0.66667 6.0 -2.0

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lectures 1 and 12.
    """

    radius: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, radius: RealScalarLike = 2.0):
        self.radius = _checks.scalar("radius", radius, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1}

    def _support(self) -> tuple[Array, Array]:
        return -self.radius, self.radius

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 1 / (jnp.pi * jnp.sqrt(self.radius - x) * jnp.sqrt(self.radius + x))

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 / jnp.pi * jnp.arctan2(jnp.sqrt(self.radius + x), jnp.sqrt(self.radius - x))

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._cdf(-x)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        # Near the median, where the sine is 0, it has all digits; near the ends the slope of the cosine has them.
        lower = p <= 0.5
        smaller = jnp.where(lower, p, q)
        cosine = jnp.cos(jnp.pi * smaller)
        sine = jnp.sin(jnp.pi * jnp.where(lower, p - 0.5, 0.5 - q))
        return self.radius * jnp.where(smaller < 0.25, jnp.where(lower, -cosine, cosine), sine)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return self.radius * jnp.sin(jnp.pi * (jax.random.uniform(key, shape, jnp.result_type(self.radius)) - 0.5))

    def _moment(self, k: int) -> Float[Array, ""]:
        return 0 * self.radius if k % 2 else times_power(math.comb(k, k // 2) / 2**k, self.radius, k)

    def _var(self) -> Float[Array, ""]:
        return self.radius**2 / 2

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return reciprocal(edge_root(z, -self.radius, self.radius))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        root = edge_root(w, -self.radius, self.radius)
        h = -(like(w, self.radius) ** 2) / (w + root)
        return h, -h / jnp.where(root == 0, float(jnp.finfo(w.dtype).eps), root)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return upper_logs((w + edge_root(w, -self.radius, self.radius)) / 2)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        m = k // 2
        return 0 * self.radius if k % 2 else times_power((-1) ** (m - 1) * catalan_share(m - 1) / 2, self.radius, k)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        radius = like(g, self.radius)
        return radius**2 * g / (1 + jnp.sqrt(1 + (radius * g) ** 2))
