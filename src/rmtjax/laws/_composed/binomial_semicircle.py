"""The pooled law of leading blocks of binomial order."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._composed.orders import order_distribution
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra import semicircle


class BinomialSemicircle(AbstractSpectralLaw):
    r"""The pooled spectral law of leading blocks, of binomial order, of one Wigner matrix of order N.

    A block of order n has a semicircle of radius $R\sqrt{n/N}$ and contributes n levels, so the pooled density is

    $$f(x) = \sum_n \frac{n\,P(n)}{E\,n}\; \frac{2}{\pi r_n^2}\sqrt{r_n^2 - x^2}, \qquad r_n = R\sqrt{n/N},$$

    with P the law of the order, Bin(N, μ) clipped to [2, N]. This is the law of `Mixed(base, mixture,
    normalize="reference")` without padding.

    Args:
        order: N ≥ 1, the largest order; an integer, static.
        mixture: μ in (0, 1], the probability in the binomial.
        radius: R > 0, the radius at order N.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = BinomialSemicircle(1000, 0.9)
        >>> print(f"{law.var():.4f}")  # E n²/(N E n)
        0.9001

    References:
        Süzen (2021), HAL hal-03464130, for the ensemble; derived in the manual, "Wigner's cat".
    """

    order: int = eqx.field(static=True)
    mixture: Annotated[Float[Array, ""], _checks.FRACTION]
    radius: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, order: int, mixture: RealScalarLike, radius: RealScalarLike = 2.0):
        self.order = _checks.integer("order", order, at_least=1)
        self.mixture = _checks.scalar("mixture", mixture)
        self.radius = _checks.scalar("radius", radius, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"radius": 1}

    def _components(self) -> tuple[Float[Array, " w"], Float[Array, " w"]]:
        """The weights and radii of the semicircles."""
        orders, probabilities = order_distribution(self.order, self.mixture)
        orders = like(probabilities, orders)
        weights = orders * probabilities
        return weights / weights.sum(), self.radius * jnp.sqrt(orders / self.order)

    def _support(self) -> tuple[Array, Array]:
        return -self.radius, self.radius

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        weights, radii = self._components()
        x, radii = aligned(x[..., None], radii)
        inside = jnp.abs(x) < radii
        return jnp.where(inside, semicircle.density(jnp.where(inside, x, 0), radii), 0) @ weights

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        weights, radii = self._components()
        x, radii = aligned(x[..., None], radii)
        inside = jnp.abs(x) < radii
        values = semicircle.distribution(jnp.where(inside, x, 0), radii)
        return jnp.where(inside, values, like(values, x > 0)) @ weights

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._cdf(-x)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        key_order, key_level = jax.random.split(key)
        weights, radii = self._components()
        chosen = jax.random.choice(key_order, radii, shape, p=weights)
        return chosen * like(chosen, semicircle.Semicircle(1.0).sample(key_level, shape))

    def _moment(self, k: int) -> Float[Array, ""]:
        weights, radii = self._components()
        if k % 2:
            return 0 * self.radius
        return times_power(semicircle.even_moment(k // 2, radii / self.radius) @ weights, self.radius, k)

    def _var(self) -> Float[Array, ""]:
        return self._moment(2)

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        _, radii = self._components()
        return jnp.concatenate([-self.radius[None], -radii[::-1], radii, self.radius[None]])
