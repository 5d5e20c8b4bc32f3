r"""Laws of the ratio of two consecutive spacings in closed form; the exact law of the bulk is in `bulk_gap_ratio`.

Derivation of the distribution function. Up to shift and scale, three levels are the abscissae $\cos(t + 2\pi j/3)$ of
three points on a circle, with spacings $\sqrt3 \sin t$ and $\sqrt3 \sin(\pi/3 - t)$, 0 < t < π/3. In t the surmise is

$$\propto [\sin t\,\sin(\tfrac\pi3 - t)\,\sin(\tfrac\pi3 + t)]^\beta \propto \sin^\beta(3t),$$

so with ω = 3t, folded to ω < π/2, $\sin^2\omega$ is a beta variate with parameters (β+1)/2 and 1/2. In terms of r

$$\sin^2\omega = \frac{27}{4} \frac{r^2 (1 + r)^2}{(1 + r + r^2)^3}, \qquad
\cos^2\omega = \frac{(1 - r)^2 (2 + r)^2 (1 + 2r)^2}{4\,(1 + r + r^2)^3}.$$
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import DysonIndexOrZero, KeyScalar, RealScalarLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.random import gamma
from rmtjax.special.internal import log_beta_tails, log_gamma_step, log_one_plus


class GapRatioSurmise(AbstractLogarithmicLaw):
    r"""The surmise of Atas, Bogomolny, Giraud and Roux for the ratio of two consecutive spacings, for any β.

    For $\tilde r = \min(s_1/s_2, s_2/s_1)$ in [0, 1]

    $$p(r) = \frac{2}{Z_\beta} \frac{(r + r^2)^\beta}{(1 + r + r^2)^{1 + 3\beta/2}}, \qquad
    Z_\beta = \frac{\sqrt\pi}{2 \cdot 4^\beta \sqrt3} \left(\frac43\right)^{1 + 3\beta/2}
    \frac{\Gamma(\frac{\beta+1}2)}{\Gamma(\frac\beta2 + 1)} .$$

    It is exact for Gaussian β-ensembles of three levels, but only an approximation for large spectra, whose law for
    β = 1, 2, 4 is `GapRatio`. At these β the surmise has the mean $4 - 2\sqrt3 = 0.5359$, $\frac{2\sqrt3}\pi - \frac12
    = 0.6027$ and $\frac{32\sqrt3}{15\pi} - \frac12 = 0.6762$, and large spectra have the mean `mean_gap_ratio(beta)`,
    0.5307, 0.5998 and 0.6744. Its distribution function is too small by up to 0.0090, 0.0054 and 0.0036, and its
    density is off by up to 5 %, 4 % and 4 %. So a hundred thousand ratios reject it for β = 1.

    All formulas hold to some ten ulp, the tails in relative error. Moments are numerical.

    Convention: the ratio needs no unfolding. β → 0 gives three independent normal levels, not a stretch of a Poisson
    process, whose law is `PoissonGapRatio`.

    Args:
        beta: a finite β > 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> law = GapRatioSurmise(beta=1)
        >>> print(f"{law.pdf(0.5):.5f} {law.cdf(0.5):.5f} {law.mean():.5f}")
        1.24960 0.46005 0.53590

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101, equation 7; Oganesyan and Huse (2007),
        Phys. Rev. B 75, 155111.
    """

    beta: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta, nonzero=True)

    def _beta_variate(self, r: Float[Array, "..."]) -> tuple[Array, Array, Array, Array, Array]:
        """Both parameters of the beta variate sin² ω; at r its value, its complement cos² ω, and its logarithm."""
        q = 1 + r + r**2
        sine, cosine = math.sqrt(6.75) * r * (1 + r), (1 - r) * (2 + r) * (1 + 2 * r) / 2
        a, rest = (self.beta + 1) / 2, cosine**2 / q**3
        # Near r = 1 the two logarithms would cancel, which matters for large β.
        near = rest < 0.5
        logarithm = jnp.where(near, log_one_plus(-jnp.where(near, rest, 0)), 2 * jnp.log(sine) - 3 * jnp.log(q))
        return a, 0 * a + 0.5, sine**2 / q**3, rest, logarithm

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.beta, 1 + 0 * self.beta

    def _breakpoints(self) -> Float[Array, " k"]:
        # Panels shrink towards 0, where the density is a power of r. For large β the mass lies near 1.
        peak = jnp.maximum(1 - 12 / jnp.sqrt(self.beta), 0)
        return jnp.sort(jnp.stack([0 * self.beta, peak, *(like(self.beta, 16.0 ** np.arange(-9, 1)) + 0 * self.beta)]))

    def _log_at_one(self) -> Float[Array, ""]:
        r"""The logarithm of the density at 1, which is $\sqrt3 / B(\frac{\beta+1}2, \frac12)$."""
        return math.log(3 / math.pi) / 2 + log_gamma_step((self.beta + 1) / 2)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return 0.0, jnp.exp(self._log_at_one())

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        *_, log_squared_sine = self._beta_variate(x)
        return self._log_at_one() + self.beta / 2 * log_squared_sine - jnp.log((1 + x + x**2) / 3)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_beta_tails(*self._beta_variate(x))[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_beta_tails(*self._beta_variate(x))[1]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, jnp.ones_like(self.beta))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        key_sine, key_cosine = jax.random.split(key)
        a = (self.beta + 1) / 2
        angle = jnp.arctan2(jnp.sqrt(gamma(key_sine, a, shape)), jnp.sqrt(gamma(key_cosine, 0 * a + 0.5, shape))) / 3
        return jnp.sin(angle) / jnp.sin(jnp.pi / 3 - angle)


class PoissonGapRatio(AbstractLaw):
    r"""The ratio of two consecutive spacings of independent levels.

    $$p(r) = \frac{2}{(1 + r)^2}, \qquad P(\tilde r \le r) = \frac{2r}{1 + r}, \qquad 0 < r < 1,$$

    for $\tilde r = \min(s_1/s_2, s_2/s_1)$. Mean $2 \log 2 - 1$, variance $2 - 4 \log^2 2$.

    Example:
        >>> law = PoissonGapRatio()
        >>> print(f"{law.cdf(0.5):.5f} {law.mean():.5f}")
        0.66667 0.38629

    References:
        Oganesyan and Huse (2007), Phys. Rev. B 75, 155111, section III; Atas et al. (2013), Phys. Rev. Lett. 110,
        084101, equation 3.
    """

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(1.0)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return 2.0, 0.5

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 / (1 + x) ** 2

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 * x / (1 + x)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return (1 - x) / (1 + x)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return p / (1 + q)


def mean_gap_ratio(beta: DysonIndexOrZero) -> float:
    r"""Mean of the ratio of two consecutive spacings in the bulk of large spectra.

    $E\min(s_1/s_2, s_2/s_1)$ is $2 \log 2 - 1$ for independent levels, β = 0, and otherwise the mean of `GapRatio`. For
    `GapRatioSurmise` it is up to 1 % larger, for spectra with unused symmetries smaller: `mean_superposed_gap_ratio`.

    Args:
        beta: 0, 1, 2 or 4.

    Returns:
        0.3863 (β = 0), 0.5307 (β = 1), 0.5998 (β = 2) or 0.6744 (β = 4), with all digits of float64.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> print(mean_gap_ratio(1))
        0.5307295756746826

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101, table I, for four digits; Nishigaki
        (2024), arXiv:2407.15704, for twelve digits of β = 2.
    """
    # For β > 0 these are the values that `scripts/gap_ratio_table.py` prints.
    known = {0: 2 * math.log(2) - 1, 1: 0.53072957567468264, 2: 0.59975042095097101, 4: 0.67443856131429072}
    return known[_checks.dyson_index(beta, DysonIndexOrZero)]
