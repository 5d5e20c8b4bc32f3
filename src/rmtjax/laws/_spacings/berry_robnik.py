r"""The law of Berry and Robnik.

Derivation. A regular sequence of density ρ and a chaotic sequence of density $\bar\rho = 1 - \rho$ are superposed. An
interval of length s is empty with probability $E(s) = e^{-\rho s}\,\mathrm{erfc}(y)$, $y = \frac{\sqrt\pi}2 \bar\rho
s$. The first factor belongs to independent levels, the second to Wigner's surmise. As the mean is 1, P(S > s) = -E'(s):

$$P(S > s) = e^{-\rho s}\,[\rho\,\mathrm{erfc}(y) + \bar\rho\,e^{-y^2}], \qquad
P(S \le s) = (1 - e^{-\rho s}) + e^{-\rho s}\,[\rho\,\mathrm{erf}(y) + \bar\rho\,(1 - e^{-y^2})] .$$

All terms are positive. For a sample, the next level is the nearer of two. The next regular level is at an exponential
distance. The next chaotic level is at a half-normal distance if the present level is regular, which has the probability
ρ, and at a Rayleigh distance if the present level is chaotic.
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.special.internal import erf_ratio, erfcx, exp_slope, log_one_plus


class BerryRobnik(AbstractLaw):
    r"""The law of Berry and Robnik, for spacings in a mixed phase space.

    $$p(s) = \frac{d^2}{ds^2}\left[e^{-\rho s}\,\mathrm{erfc}\left(\tfrac{\sqrt\pi}2 (1 - \rho) s\right)\right].$$

    The levels of the regular part of phase space are independent, and the levels of the chaotic part follow Wigner's
    surmise for β = 1. The two sequences are independent of each other, so $p(0) = 1 - (1-\rho)^2$. ρ = 0 is
    `WignerSurmise(1)` and ρ = 1 is `PoissonSpacing()`. All formulas hold to some ten ulp, the tails in relative error.
    Moments beyond the mean are numerical.

    Convention: mean 1.

    Args:
        rho: ρ in [0, 1], the fraction of regular levels.

    Raises:
        ValueError: `rho` is outside its range.

    Example:
        >>> law = BerryRobnik(rho=0.5)
        >>> print(f"{law.pdf(0.0):.2f} {law.pdf(1.0):.5f} {law.sf(2.0):.5f}")
        0.75 0.42756 0.12251

    References:
        Berry and Robnik (1984), J. Phys. A 17, 2413, section 3.
    """

    rho: Annotated[Float[Array, ""], _checks.Rule(lambda rho: (rho >= 0) & (rho <= 1), "lie in [0, 1]")]

    def __init__(self, rho: RealScalarLike):
        self.rho = _checks.scalar("rho", rho)

    def _rates(self) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """The densities of both sequences, ρ and 1 - ρ, and the quotient y/s."""
        return self.rho, 1 - self.rho, math.sqrt(math.pi) / 2 * (1 - self.rho)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.rho, jnp.inf + 0 * self.rho

    def _breakpoints(self) -> Float[Array, " k"]:
        # The panels double in length, up to where the slowest decay, e^{-s}, underflows.
        return jnp.append(0 * self.rho, like(self.rho, 800 * 2.0 ** np.arange(-12, 1)) + 0 * self.rho)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return self.rho * (2 - self.rho), 0.0

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        regular, chaotic, a = self._rates()
        y = a * x
        gaussian = 2 * chaotic * (regular + a * y) * jnp.exp(-(y**2))
        return jnp.exp(-regular * x) * (regular**2 * erfc(y) + gaussian)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        regular, chaotic, a = self._rates()
        y = a * x
        factor = regular**2 * erfcx(y) + 2 * chaotic * (regular + a * y)
        return jnp.log(factor) - regular * x - y**2

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        regular, chaotic, a = self._rates()
        return jnp.exp(-regular * x) * (regular * erfc(a * x) + chaotic * jnp.exp(-((a * x) ** 2)))

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        regular, chaotic, a = self._rates()
        far = x > 1
        s = jnp.where(far, x, 1)
        tail = jnp.log(regular * erfcx(a * s) + chaotic) - regular * s - (a * s) ** 2
        return jnp.where(far, tail, log_one_plus(-self._cdf(jnp.where(far, 1, x))))

    def _mean_density(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The quotient P(S ≤ x)/x, which does not underflow with x."""
        regular, chaotic, a = self._rates()
        y = a * x
        wigner = a * (regular * erf_ratio(y**2) + chaotic * _rise_of_square(y))
        return regular * exp_slope(-regular * x) + jnp.exp(-regular * x) * wigner

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return x * self._mean_density(x)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        far = x > 1
        near = jnp.where(far, 1, x)
        return jnp.where(
            far, log_one_plus(-self._sf(jnp.where(far, x, 1))), jnp.log(near) + jnp.log(self._mean_density(near))
        )

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, 800 + 0 * self.rho)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        regular, _, a = self._rates()
        dtype = jnp.result_type(self.rho)
        draw = [jax.random.exponential, jax.random.normal, jax.random.exponential, jax.random.uniform]
        first, normal, second, choice = (
            f(k, shape, dtype) for f, k in zip(draw, jax.random.split(key, 4), strict=True)
        )
        chaotic = jnp.where(choice < regular, jnp.abs(normal) / math.sqrt(2), jnp.sqrt(second))
        # A draw may be 0, and at ρ = 0 or 1 the quotient of the rate and the draw would be 0/0.
        first, chaotic = (jnp.maximum(each, jnp.finfo(dtype).tiny) for each in (first, chaotic))
        # Compare inverse distances, since at ρ = 0 and 1 one of the distances is infinite.
        return 1 / jnp.maximum(regular / first, a / chaotic)

    def _moment(self, k: int) -> Float[Array, ""]:
        return self.rho**0 if k < 2 else super()._moment(k)


def _rise_of_square(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """The quotient (1 - e^{-y²})/y for y ≥ 0, also where y² overflows."""
    far = y > 1e3
    near_y, far_y = jnp.where(far, 1, y), jnp.where(far, y, 1)
    return jnp.where(far, 1 / far_y, near_y * exp_slope(-(near_y**2)))
