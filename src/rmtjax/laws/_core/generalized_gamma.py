"""Laws of powers of gamma variates, such as the elementary spacing laws."""

from abc import abstractmethod

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax._promotion import like
from rmtjax._typing import KeyScalar
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.random import gamma
from rmtjax.special.internal import log_gamma_density, log_gamma_tails


class AbstractGeneralizedGamma(AbstractLogarithmicLaw):
    r"""The law of $\sigma G^{1/p}$ for a gamma variate G of shape a and unit scale.

    Its density is $\frac{p}{\Gamma(a)\,x}\,y^a e^{-y}$ with $y = (x/\sigma)^p$. A subclass provides a, p and σ.
    """

    @abstractmethod
    def _shape_power_scale(self) -> tuple[Array, Array | float, Array | float]:
        """The parameters a, p and σ."""

    def _power_of(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The variable y = (x/σ)^p, capped so that it does not overflow, and its logarithm."""
        _, p, scale = self._shape_power_scale()
        return positive_axis.power(x / scale, p), p * jnp.log(x / scale)

    def _support(self) -> tuple[Array, Array]:
        a, *_ = self._shape_power_scale()
        return 0 * a, jnp.inf + 0 * a

    def _farthest(self) -> Float[Array, ""]:
        """A point beyond which the mass underflows, by Chernoff's bound."""
        a, p, scale = self._shape_power_scale()
        return scale * (2 * a + 1500) ** (1 / p)

    def _breakpoints(self) -> Float[Array, " k"]:
        # The panels double in y, so that the mass lies within a few of them.
        _, p, _ = self._shape_power_scale()
        farthest = self._farthest()
        panels = farthest * like(farthest, 2.0 ** np.arange(-14, 1)) ** (1 / p)
        return jnp.append(0 * panels[:1], panels)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        a, p, _ = self._shape_power_scale()
        return log_gamma_density(a, *self._power_of(x)) + jnp.log(p) - jnp.log(x)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        a, *_ = self._shape_power_scale()
        return log_gamma_tails(a, *self._power_of(x))[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        a, *_ = self._shape_power_scale()
        return log_gamma_tails(a, *self._power_of(x))[1]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, self._farthest())

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        a, p, scale = self._shape_power_scale()
        return scale * gamma(key, a, shape) ** (1 / p)

    def _log_moment(self, k: int) -> Float[Array, ""]:
        a, p, scale = self._shape_power_scale()
        return k * jnp.log(scale) + gammaln(a + k / p) - gammaln(a)

    def _moment(self, k: int) -> Float[Array, ""]:
        return jnp.exp(self._log_moment(k))

    def _var(self) -> Float[Array, ""]:
        mean = self._log_moment(1)
        return jnp.expm1(self._log_moment(2) - 2 * mean) * jnp.exp(2 * mean)
