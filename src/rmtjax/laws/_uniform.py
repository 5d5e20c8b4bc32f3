"""The uniform law."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._base import AbstractLaw


class Uniform(AbstractLaw):
    r"""The uniform law on an interval, the law of an eigenphase of every circular ensemble.

    $$f(x) = \frac1{b - a}, \qquad F(x) = \frac{x - a}{b - a}, \qquad a < x < b.$$

    Args:
        lower: a, finite.
        upper: b > a, finite.

    Raises:
        ValueError: an end is not a finite real scalar, or `upper` is not larger than `lower`.

    Example:
        >>> print(Uniform(-1.0, 3.0).cdf(0.0))
        0.25
    """

    lower: Float[Array, ""]
    upper: Float[Array, ""]

    def __init__(self, lower: RealScalarLike = 0.0, upper: RealScalarLike = 1.0):
        self.lower = _checks.finite("lower", lower)
        larger = lambda b, a: b > a
        self.upper = _checks.require(
            _checks.finite("upper", upper), larger, "upper", "be larger than lower", self.lower
        )

    def _support(self) -> tuple[Array, Array]:
        return self.lower, self.upper

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(x) / (self.upper - self.lower)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return (x - self.lower) / (self.upper - self.lower)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return (self.upper - x) / (self.upper - self.lower)

    def _quantile(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.lower + p * (self.upper - self.lower)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return self._quantile(jax.random.uniform(key, shape, jnp.result_type(self.lower, self.upper)))

    def _moment(self, k: int) -> Float[Array, ""]:
        # (b^{k+1} - a^{k+1}) / ((k + 1)(b - a)), divided out.
        j = jnp.arange(k + 1)
        return jnp.sum(self.upper**j * self.lower ** (k - j)) / (k + 1)

    def _variance(self) -> Float[Array, ""]:
        return (self.upper - self.lower) ** 2 / 12
