"""Mixtures of laws."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.spectral import AbstractSpectralLaw, are_bounded


class Mixture(AbstractSpectralLaw):
    r"""A finite mixture of laws, $f(x) = \sum_i w_i f_i(x)$.

    Args:
        weights: probabilities $w_i \ge 0$ that sum to 1, at least one.
        components: as many laws, of any kind.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import rmtjax as rmt
        >>> law = Mixture([0.5, 0.5], [rmt.laws.Semicircle(1.0), rmt.laws.Semicircle(2.0)])
        >>> print(law.var())
        0.625

    References:
        Anderson, Guionnet and Zeitouni (2010), An Introduction to Random Matrices, section 2.1, for the limit laws that
        are mixed.
    """

    weights: Annotated[Float[Array, " k"], _checks.PROBABILITIES]
    components: tuple[AbstractLaw, ...]

    def __init__(self, weights: RealLike, components: Sequence[AbstractLaw]):
        self.weights = _checks.of_shape("weights", _checks.weakly_typed("weights", weights), (len(components),))
        self.components = tuple(components)
        for component in self.components:
            if not isinstance(component, AbstractLaw):
                raise _checks.refusal("components", "be laws", component)

    def _degrees(self) -> dict[str, int]:
        return {"components": 1}

    def _total(self, values: Sequence[Array]) -> Array:
        terms = (w * v for w, v in zip(self.weights, values, strict=True))
        return sum(terms, start=jnp.zeros((), self.weights.dtype))

    def _support(self) -> tuple[Array, Array]:
        lowers, uppers = zip(*(law._promised_support() for law in self.components), strict=True)
        return jnp.stack(lowers).min(), jnp.stack(uppers).max()

    def _is_bounded(self) -> bool:
        return are_bounded(*self.components)

    def _parts(self, x: Float[Array, "..."], quantity: str) -> list[Any]:
        return [law._promised(x, quantity=quantity) for law in self.components]

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._total(self._parts(x, "pdf"))

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._total(self._parts(x, "cdf"))

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._total(self._parts(x, "sf"))

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        below, above = zip(*self._parts(x, "tails"), strict=True)
        return self._total(below), self._total(above)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        key_choice, *keys = jax.random.split(key, len(self.components) + 1)
        chosen = jax.random.choice(key_choice, len(self.components), shape, p=self.weights)
        draws = jnp.stack([law.sample(k, shape) for k, law in zip(keys, self.components, strict=True)])
        return jnp.take_along_axis(draws, chosen[None], axis=0)[0]

    def _moment(self, k: int) -> Float[Array, ""]:
        return self._total([law.moment(k) for law in self.components])

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        """The central moments, from moments of the components: points of a quadrature would lose digits far from 0."""
        means = [law._promised_moment(k=1) for law in self.components]
        # Differences between the means keep the digits of the means beside a large common part.
        away = [mean - means[0] for mean in means]
        middle = self._total(away)
        higher = [k for k in (3, 4) if k <= max(orders)]
        totals = dict.fromkeys(orders, jnp.zeros((), self.weights.dtype))
        for weight, law, place in zip(self.weights, self.components, away, strict=True):
            moments = {0: 1.0, 1: 0.0, 2: law._promised_var()}
            moments |= dict(zip(higher, law._promised_central_moments(*higher), strict=True))
            for k in totals:
                shifted = sum(math.comb(k, j) * moments[j] * (place - middle) ** (k - j) for j in range(k + 1))
                totals[k] = totals[k] + weight * shifted
        return tuple(totals[k] for k in orders)

    def _breakpoints(self) -> Float[Array, " k"]:
        return jnp.sort(jnp.concatenate([law._promised_breakpoints() for law in self.components]))

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        locations, masses = zip(*(law._promised_atoms() for law in self.components), strict=True)
        scaled = [w * m for w, m in zip(self.weights, masses, strict=True)]
        return jnp.concatenate(locations), jnp.concatenate(scaled)
