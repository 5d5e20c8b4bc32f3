r"""The law of Bures random density matrices.

Derivation of the distribution function. For the mean 1 let $a = 3\sqrt3$ and $x = a/\cosh 3t$. Then
$(a/x \pm \sqrt{(a/x)^2 - 1})^{2/3} = e^{\pm 2t}$, so the density is $\sinh 2t/(2\pi\sqrt3)$, and the mass above x is

$$1 - F = \frac{9}{2\pi} \int_0^t \frac{\sinh 2\tau \sinh 3\tau}{\cosh^2 3\tau}\,d\tau
= \frac{9}{2\pi} \left[-\frac{\sinh 2t}{3\cosh 3t} + \frac23 \int_0^t \frac{\cosh 2\tau}{\cosh 3\tau}\,d\tau\right].$$

In terms of r = 1/sinh t, where $\cosh 3\tau = \cosh\tau\,(1 + 4 \sinh^2\tau)$ makes the integrand rational,

    π (1 - F) = arctan 1/r + arctan 2/r - 3r/(r² + 4),

in which all terms below the order r⁻³ cancel near x = a. In the mass below x nothing cancels:

    π F = arctan r + arctan r/2 + 3r/(r² + 4).

For the mass above x, let θ = arctan 2/r and q = √(r² + 4), so that tan θ/2 = 2/(r + q) and 3r/(r² + 4) = ¾ sin 2θ.
With S(t) = t - sin t this mass is

    π (1 - F) = ¾ S(2θ) + (arctan 1/r - θ/2) = ¾ S(2θ) + arctan 4/[(r + q)(r² + r q + 2)].

At a given x, r is the root of r³ = (3r² + 4)/sinh 3t = (3r² + 4) x/√(a² - x²).
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import t_minus_sin_t


class BuresLaw(AbstractSpectralLaw):
    r"""The limiting spectral density of random density matrices with the Bures measure.

    With $a = 3\sqrt3\,\mu$ for the mean μ,

    $$f(x) = \frac{1}{4\pi\sqrt3\,\mu} \left[\left(\frac ax + \sqrt{\frac{a^2}{x^2} - 1}\right)^{2/3}
    - \left(\frac ax - \sqrt{\frac{a^2}{x^2} - 1}\right)^{2/3}\right], \qquad 0 < x < a,$$

    which diverges as $x^{-2/3}$ at 0. The variance is $\frac32 \mu^2$ and the moments are
    $E X^k = \frac{\mu^k}{(k+1)!} \prod_{i=0}^{k-1} (k + 1 + 2i)$. All values are right to a few ulp, however
    small a tail is, at a point within a few ulp of x: the end a of the support is rounded.

    Convention: the law of one eigenvalue of the ensemble `Bures(n)` as n → ∞ has the scale 1/n.

    Args:
        scale: μ > 0, the mean.

    Raises:
        ValueError: `scale` is outside its range.

    Example:
        >>> law = BuresLaw()
        >>> print(f"{law.cdf(1.0):.5f} {law.moment(2):.1f} {law.moment(3):.1f}")
        0.65000 2.5 8.0

    References:
        Sommers and Życzkowski (2004), J. Phys. A 37, 8457, section 4.
    """

    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, scale: RealScalarLike = 1.0):
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 1}

    def _support(self) -> tuple[Array, Array]:
        upper = 3 * math.sqrt(3) * self.scale
        return jnp.zeros_like(upper), upper

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        # On panels that shrink towards 0 the power x^{-2/3} is smooth; the innermost panel has a mass of order 2^-34.
        lower, upper = self._support()
        return jnp.append(lower, upper * like(upper, 64.0 ** np.arange(-17, 1)))

    def _root(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        _, a = self._support()
        y = x / jnp.sqrt((a - x) * (a + x))
        # The quotient may underflow where x does not.
        smallest = jnp.finfo(y.dtype).tiny
        return _root(jnp.where(y < smallest, smallest, y))

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        r = self._root(x)
        return jnp.sqrt(1 + r**2) / r**2 / (math.sqrt(3) * jnp.pi * self.scale)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Only the mass from the nearer end is computed; the other mass is its complement, which never exceeds 1."""
        r = self._root(x)
        q = jnp.sqrt(r**2 + 4)
        right = 0.75 * t_minus_sin_t(2 * jnp.arctan2(2, r)) + jnp.arctan(4 / ((r + q) * (r**2 + r * q + 2)))
        left = jnp.arctan(r) + jnp.arctan(r / 2) + 3 * r / q**2
        near_right = r > 2
        tail = jnp.where(near_right, right, left) / jnp.pi
        return jnp.where(near_right, 1 - tail, tail), jnp.where(near_right, tail, 1 - tail)

    def _moment(self, k: int) -> Float[Array, ""]:
        # In units of the upper end, the square of which is rational.
        odd = k % 2
        share = math.prod(range(k + 1, 3 * k, 2)) / (math.factorial(k + 1) * 27 ** (k // 2))
        return times_power(share * self.scale**odd, self._support()[1], k - odd)

    def _var(self) -> Float[Array, ""]:
        return 1.5 * self.scale**2


@jax.custom_jvp
def _root(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """The root r of r³ = (3r² + 4) y, for y > 0."""
    r = 1 / jnp.sinh(jnp.arcsinh(1 / y) / 3)
    # One Newton step for 1/r, in which no term is negative, removes the rounding of a large arcsinh.
    return 3 * r * (r**2 + 4) / (8 + r**3 / y)


@_root.defjvp
def _root_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    r = _root(*primals)
    return r, (3 * r**2 + 4) ** 2 / (3 * r**2 * (r**2 + 4)) * tangents[0]
