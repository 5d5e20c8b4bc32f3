r"""The law of Kesten and McKay.

Derivation of the distribution function. With q = d - 1 and $x = 2\sqrt q\cos φ$ the density in φ is

$$\frac{d}{2\pi}\,\frac{4 q \sin^2 φ}{(q - 1)^2 + 4 q \sin^2 φ}
= \frac{d}{2\pi}\Big[1 - \frac{(q - 1)^2}{(q - 1)^2 + 4 q \sin^2 φ}\Big],$$

and the mass beyond x, from 0 to φ, is $\frac1{2\pi}\,[(q + 1) φ - (q - 1) ψ]$ with $\tan ψ = \frac{q+1}{q-1}\tan φ$.
The angle δ = ψ - φ has the tangent $y = \sin 2φ/(q - 1 + 2\sin^2 φ)$, so the bracket is 2φ - (q - 1) δ, in which all
terms below the third order cancel. With S(t) = t - sin t the bracket is

    S(2φ) + 2 sin²φ y + (q - 1) [y (1 - cos δ) - S(δ)].

For φ ≤ π/2 none of these three terms is negative, and S(δ) is at most a third of the term from which it is subtracted.
"""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.free_cumulants import catalan_share
from rmtjax.laws._core.half_plane import edge_root, quotient_of_one, reciprocal, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import t_minus_sin_t


class KestenMcKay(AbstractSpectralLaw):
    r"""The law of Kesten and McKay, the limiting spectral density of random d-regular graphs.

    $$f(x) = \frac{d \sqrt{4(d-1) - x^2}}{2\pi\,(d^2 - x^2)}, \qquad |x| \le 2\sqrt{d - 1}.$$

    It is the spectral measure of the infinite d-regular tree at a vertex: $E X^{2m}$ is the number of closed walks of
    2m steps, $\sum_{j=1}^m \frac{j}{2m - j} \binom{2m - j}{m}\,d^j (d-1)^{m-j}$, and the variance is d. As the law of a
    sum of d free signs it has the free cumulants $\kappa_{2m} = (-1)^{m-1} C_{m-1}\,d$ with the Catalan numbers $C_m$.
    At d = 2 it is the arcsine law on [-2, 2], whose density diverges at the ends; as d → ∞, the law of $X/\sqrt d$
    tends to the semicircle law of radius 2. All values are right to a few ulp, however small a tail is.

    Convention: the law of one eigenvalue of an adjacency matrix without scaling.

    Args:
        degree: d ≥ 2, any finite real number.

    Raises:
        ValueError: `degree` is outside its range.

    Example:
        >>> law = KestenMcKay(degree=3)
        >>> print(f"{law.pdf(0.0):.5f} {law.cdf(0.0):.1f} {law.moment(4):.0f}")
        0.15005 0.5 15

    References:
        Kesten (1959), Trans. Amer. Math. Soc. 92, 336; McKay (1981), Linear Algebra Appl. 40, 203, theorem 1.1.
    """

    degree: Annotated[Float[Array, ""], _checks.Rule(lambda d: (d >= 2) & (d < math.inf), "be finite and at least 2")]

    def __init__(self, degree: RealScalarLike):
        self.degree = _checks.scalar("degree", degree)

    def _support(self) -> tuple[Array, Array]:
        radius = 2 * jnp.sqrt(self.degree - 1)
        return -radius, radius

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        lower, upper = self._support()
        root = jnp.sqrt(upper - x) * jnp.sqrt(x - lower)
        # The denominator d² - x² is (d - 2)² + root²; at d = 2 only the root is left.
        return self.degree / (2 * jnp.pi) / (root + (self.degree - 2) ** 2 / root)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        # This is the absolute value of x, but with the derivative 1 at 0.
        tail = self._tail(jnp.where(x < 0, -x, x))
        return jnp.where(x < 0, tail, 1 - tail), jnp.where(x < 0, 1 - tail, tail)

    def _tail(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The mass beyond x ≥ 0, from the formula at the top of the file."""
        _, radius = self._support()
        cosine, sine = x / radius, jnp.sqrt((radius - x) / radius * ((radius + x) / radius))
        gap = self.degree - 2
        y = 2 * sine * cosine / (gap + 2 * sine**2)
        secant = jnp.sqrt(1 + y**2)
        slack = y * (y / secant) * (y / (secant + 1)) - t_minus_sin_t(jnp.arctan(y))
        return (t_minus_sin_t(2 * jnp.arctan2(sine, cosine)) + 2 * sine**2 * y + gap * slack) / (2 * jnp.pi)

    def _moment(self, k: int) -> Float[Array, ""]:
        if k % 2:
            return 0 * self.degree
        m, d = k // 2, self.degree
        if m == 0:
            return d**0
        # The terms are in units of (4 (d - 1))^m. As d/(2 (d - 1)) ≤ 1, none overflows.
        i = np.arange(1, m)
        walks = np.cumprod(
            [2 * math.comb(2 * m - 1, m) / ((2 * m - 1) * 4**m), *((i + 1) / i * (2 * m - 2 * i) / (2 * m - i - 1))]
        )
        share = jnp.asarray(walks, d.dtype) @ (d / (2 * (d - 1))) ** like(d, np.arange(1, m + 1))
        return times_power(share, 4 * (d - 1), m)

    def _var(self) -> Float[Array, ""]:
        return self.degree

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        root, degree = edge_root(z, *self._support()), like(z, self.degree)
        return reciprocal(((degree - 2) * z + degree * root) / (2 * (degree - 1)))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        # A sum of d free signs: the potential of the sign at its subordinate point.
        f, degree = quotient_of_one(self._stieltjes(w)), like(w, self.degree)
        inner = w + (degree - 1) / degree * (f - w)
        return degree / 2 * (upper_logs(inner - 1) + upper_logs(inner + 1)) - (degree - 1) * upper_logs(f)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        m = k // 2
        if k % 2:
            return 0 * self.degree
        return times_power((-1) ** (m - 1) * catalan_share(m - 1) * self.degree, 4.0, m - 1)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return 2 * like(g, self.degree) * g / (1 + jnp.sqrt(1 + 4 * g**2))
