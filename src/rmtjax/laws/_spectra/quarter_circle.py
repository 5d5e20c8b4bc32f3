r"""The quarter-circle law.

Derivation of the Stieltjes transform. In units of the radius let $s = \sqrt{u^2 - 1}$. The part of $1/(u - y)$ that is
even in y gives half the transform of the semicircle, and the odd part gives, with $t = \sqrt{1 - y^2}$,

$$\int_0^1 \frac{y \sqrt{1 - y^2}}{u^2 - y^2}\,dy = \int_0^1 \frac{t^2}{s^2 + t^2}\,dt = 1 - s \arctan\frac1s, \qquad
\arctan\frac1s = -i \log\frac{s + i}{u} .$$

The form with the logarithm keeps its digits near u = 0, where s = i.
"""

import math
from fractions import Fraction
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.free_cumulants import catalan, free_cumulant_of_moments
from rmtjax.laws._core.half_plane import edge_root
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.semicircle import Semicircle, density, distribution

# The number 1/π to 117 digits, so that moments and free cumulants can be computed in rational arithmetic.
_INVERSE_PI = Fraction(
    "0.318309886183790671537767526745028724068919291480912897495334688117793595268453070180227605532506171912145685453515916"
)


def _unit_moment(k: int) -> Fraction:
    """The k-th moment for the radius 1, to more than 100 digits."""
    m = k // 2
    if k % 2 == 0:
        return Fraction(catalan(m), 4**m)
    return Fraction(math.factorial(m) * 2 ** (m + 2), math.prod(range(1, 2 * m + 4, 2))) * _INVERSE_PI


def _one_minus_s_arctan(u: Complex[Array, "..."], s: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The function 1 - s arctan(1/s), by 20 terms of its Taylor series in 1/s where it would cancel (|s| > 2.5)."""
    far = jnp.abs(s) > 2.5
    square = (1 / jnp.where(far, s, 5)) ** 2
    series = jnp.zeros_like(square)
    for k in range(20, 0, -1):
        series = square * (1 / (2 * k + 1) - series)
    near = jnp.where(far | (u == 0), 1, u)
    return jnp.where(far, series, 1 + 1j * s * jnp.log((s + 1j) / near))


class QuarterCircle(AbstractSpectralLaw):
    r"""The quarter-circle law, the limiting law of the singular values of square Ginibre matrices.

    $$f(x) = \frac4{\pi R^2}\sqrt{R^2 - x^2}, \qquad
    F(x) = \frac2\pi\Big[\arcsin\frac xR + \frac{x\sqrt{R^2 - x^2}}{R^2}\Big], \qquad 0 \le x \le R.$$

    It is the law of the absolute value of a semicircle variate; its square has the Marčenko-Pastur law of ratio 1. The
    moments are $E X^k = R^k\,\Gamma(\frac{k+1}2)/[\sqrt\pi\,\Gamma(\frac k2 + 2)]$, the mean is $4R/3\pi$ and the
    variance $(\frac14 - \frac{16}{9\pi^2}) R^2$. All values are right to a few ulp, however small a tail is. At 0 the
    Stieltjes transform is infinite.

    Convention: singular values of a Ginibre matrix with `scale=1`, $E|G_{ij}|^2 = 1/n$, have radius 2.

    Args:
        radius: R > 0, the width of the support.

    Raises:
        ValueError: `radius` is outside its range.

    Example:
        >>> law = QuarterCircle(radius=2.0)
        >>> print(f"{law.pdf(0.0):.5f} {law.mean():.5f} {law.moment(2):.5f}")
        0.63662 0.84883 1.00000

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 15.
    """

    radius: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, radius: RealScalarLike = 2.0):
        self.radius = _checks.scalar("radius", radius, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1}

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.radius, self.radius

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 * density(x, self.radius)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        u = x / self.radius
        root = jnp.sqrt((self.radius - x) / self.radius * (1 + u))
        return 2 / jnp.pi * (jnp.arctan2(u, root) + u * root)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 * distribution(-x, self.radius)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return 4 / (jnp.pi * self.radius), 0.0

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return jnp.abs(Semicircle(self.radius)._sample(key, shape))

    def _moment(self, k: int) -> Float[Array, ""]:
        return times_power(float(_unit_moment(k)), self.radius, k)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        radius = like(z, self.radius)
        u = z / radius
        s = edge_root(u, -jnp.ones_like(self.radius), jnp.ones_like(self.radius))
        even, odd = jnp.pi / (2 * (u + s)), _one_minus_s_arctan(u, s)
        return jnp.where(u == 0, -jnp.inf, 4 / (jnp.pi * radius) * (even + odd))

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        no_more_than(50, k)
        # The arithmetic is exact, because in double precision the tenth free cumulant would have only 6 digits.
        return times_power(float(free_cumulant_of_moments([_unit_moment(j) for j in range(k + 1)])), self.radius, k)
