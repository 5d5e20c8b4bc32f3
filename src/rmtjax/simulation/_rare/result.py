"""The result of a simulation of a rare event."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._module import AbstractModule
from rmtjax.special.internal import log_one_minus_exp


class RareEvent(AbstractModule):
    """An estimate of the probability of a rare event, from `simulate_rare`.

    It stores the logarithm, because the probability itself may be too small for a floating-point number.

    Example:
        >>> import jax
        >>> import rmtjax as rmt
        >>> event = rmt.simulate_rare(rmt.GUE(10), jax.random.key(0), "largest", 4.0, 1000)
        >>> print(f"1e{event.log10_probability:.1f}, to {event.relative_standard_error:.1%}")
        1e-22.1, to 0.1%
    """

    _derived = ("log10_probability",)

    log_probability: Float[Array, ""]
    relative_standard_error: Float[Array, ""]  # also the standard error of `log_probability`, to first order
    num_samples: int = eqx.field(static=True)
    method: Literal["importance", "splitting"] = eqx.field(static=True)

    @property
    def probability(self) -> Float[Array, ""]:
        """The probability; 0 where it is below the smallest number of its dtype."""
        return jnp.exp(self.log_probability)

    @property
    def log10_probability(self) -> Float[Array, ""]:
        """The decimal logarithm of the probability."""
        return self.log_probability / jnp.log(jnp.asarray(10, self.log_probability.dtype))


def mean_and_error(log_weights: Float[Array, " m"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The logarithm of the mean of independent weights, and its relative standard error; inf if all weights are 0."""
    number = log_weights.size
    log_mean = jax.nn.logsumexp(log_weights) - jnp.log(jnp.asarray(number, log_weights.dtype))
    found = log_mean > -jnp.inf
    relative = jnp.exp(log_weights - jnp.where(found, log_mean, 0))
    error = jnp.sqrt(jnp.sum((relative - 1) ** 2) / (number * (number - 1)))
    return log_mean, jnp.where(found, error, jnp.inf)


def complement(log_probability: Float[Array, ""], error: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The logarithm of the probability of the opposite event, and its relative standard error."""
    # An estimate may exceed 1 by its error.
    log_probability = jnp.minimum(log_probability, -jnp.finfo(log_probability.dtype).eps)
    opposite = log_one_minus_exp(log_probability)
    return opposite, error * jnp.exp(log_probability - opposite)
