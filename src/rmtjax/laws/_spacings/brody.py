"""Brody's law."""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.laws._core.positive_axis import power
from rmtjax.special.internal import log_one_minus_exp, log_one_plus


class Brody(AbstractLogarithmicLaw):
    r"""Brody's law, which interpolates between the spacings of independent levels and Wigner's surmise for β = 1.

    $$p(s) = (q + 1)\,b\,s^q e^{-b s^{q+1}}, \qquad P(S > s) = e^{-b s^{q+1}}, \qquad
    b = \Gamma\!\left(\frac{q+2}{q+1}\right)^{q+1} .$$

    q = 0 is `PoissonSpacing()` and q = 1 is `WignerSurmise(1)`. This Weibull law belongs to no known Hamiltonian, but
    fits of spectra between the two limits quote its q. All formulas hold to a few ulp, the tails in relative error.

    Convention: mean 1.

    Args:
        q: a finite q > -1, the exponent of the level repulsion; Brody's range is [0, 1], and levels attract for q < 0.

    Raises:
        ValueError: `q` is outside its range.

    Example:
        >>> law = Brody(q=0.5)
        >>> print(f"{law.pdf(0.5):.5f} {law.sf(2.0):.5f} {law.ppf(0.5):.5f}")
        0.67177 0.08839 0.86760

    References:
        Brody (1973), Lett. Nuovo Cimento 7, 482; Brody et al. (1981), Rev. Mod. Phys. 53, 385, equation 5.6.
    """

    q: Annotated[Float[Array, ""], _checks.Rule(lambda q: (q > -1) & (q < math.inf), "be finite and larger than -1")]

    def __init__(self, q: RealScalarLike):
        self.q = _checks.scalar("q", q)

    def _log_scale(self) -> Float[Array, ""]:
        r"""The logarithm of $b^{-1/(q+1)} = 1/\Gamma(1 + \frac1{q+1})$."""
        return -gammaln(1 + 1 / (self.q + 1))

    def _hazard(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """The exponent b s^(q+1), capped below overflow."""
        return power(s * jnp.exp(-self._log_scale()), self.q + 1)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.q, jnp.inf + 0 * self.q

    def _breakpoints(self) -> Float[Array, " k"]:
        # The exponent doubles from panel to panel, up to where its exponential underflows.
        panels = jnp.exp(self._log_scale()) * like(self.q, 1500 * 2.0 ** np.arange(-14, 1)) ** (1 / (self.q + 1))
        return jnp.append(0 * panels[:1], panels)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self.q == 0, 1, 0 * self.q), 0.0

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        log_s = jnp.log(x) - self._log_scale()
        return log_one_plus(self.q) - self._log_scale() + self.q * log_s - self._hazard(x)

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return -self._hazard(x)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return -jnp.expm1(-self._hazard(x))

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        # Near 0 the exponent itself may underflow.
        log_hazard = (self.q + 1) * (jnp.log(x) - self._log_scale())
        small = log_hazard < -40
        return jnp.where(small, log_hazard, log_one_minus_exp(-jnp.where(small, 1, self._hazard(x))))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        lower = p <= 0.5
        hazard = -jnp.where(lower, log_one_plus(-jnp.where(lower, p, 0.5)), jnp.log(q))
        return jnp.exp(self._log_scale()) * hazard ** (1 / (self.q + 1))

    def _moment(self, k: int) -> Float[Array, ""]:
        return jnp.exp(self._log_moment(k))

    def _log_moment(self, k: int) -> Float[Array, ""]:
        return k * self._log_scale() + gammaln(1 + k / (self.q + 1))

    def _var(self) -> Float[Array, ""]:
        return jnp.expm1(self._log_moment(2))
