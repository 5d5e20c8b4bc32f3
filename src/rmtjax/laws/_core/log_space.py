"""Laws whose formulas give logarithms of probabilities."""

from abc import abstractmethod

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.laws._core.base import AbstractLaw


class AbstractLogarithmicLaw(AbstractLaw):
    """A law that defines `_logpdf`, `_logcdf` and `_logsf`; density and probabilities are their exponentials."""

    @abstractmethod
    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Logarithm of the density."""

    @abstractmethod
    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Logarithm of the distribution function."""

    @abstractmethod
    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Logarithm of the survival function."""

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logcdf(x))

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logsf(x))
