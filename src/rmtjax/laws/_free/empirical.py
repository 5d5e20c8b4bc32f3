"""Point masses, such as the levels of a given matrix."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.laws._core.half_plane import upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import moments_of_points
from rmtjax.laws._core.spectral import AbstractSpectralLaw


class Empirical(AbstractSpectralLaw):
    r"""The law of given levels, $\sum_k w_k\,\delta_{x_k}$.

    It has no density: `pdf` is 0, and `cdf` is a step function. It is a part of free sums, powers and products, such as
    the spectrum of a given matrix with noise.

    Args:
        levels: a vector of finite numbers in any order; equal levels count together. Arrays decide the dtype.
        weights: as many masses w > 0 that sum to 1; equal weights if None.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = Empirical([1.0, -1.0], [0.25, 0.75])
        >>> print(f"{law.cdf(0.0)} {law.mean()} {law.stieltjes(2j):.1f}")
        0.75 -0.5 0.1-0.4j

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 1.
    """

    levels: Annotated[Float[Array, " k"], _checks.ALL_FINITE]
    weights: Annotated[Float[Array, " k"], _checks.POSITIVE_PROBABILITIES]

    def __init__(self, levels: RealLike, weights: RealLike | None = None):
        points = self.levels = _checks.vector("levels", levels)
        weights = jnp.full_like(points, 1 / points.size) if weights is None else weights
        self.weights = _checks.of_shape("weights", weights, points.shape)

    def _degrees(self) -> dict[str, int]:
        return {"levels": 1}

    def _ordered(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """The ascending levels and their weights."""
        order = jnp.argsort(jax.lax.stop_gradient(self.levels))
        return self.levels[order], self.weights[order]

    def _support(self) -> tuple[Array, Array]:
        return jnp.min(self.levels), jnp.max(self.levels)

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        return self._ordered()

    def _jumps(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        levels, weights = self._ordered()
        return levels, weights, self._tails(levels)[1]

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        return self._ordered()[0]

    def _gap_levels(self) -> Float[Array, " k"]:
        return jnp.cumsum(self._ordered()[1])[:-1]

    def _bands(self) -> tuple[Float[Array, " 2k"], Float[Array, " k-1"]]:
        return jnp.repeat(self._ordered()[0], 2), self._gap_levels()

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.zeros_like(x)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        levels, weights = self._ordered()
        none = jnp.zeros_like(weights, shape=1)
        place = jnp.searchsorted(jax.lax.stop_gradient(levels), jax.lax.stop_gradient(x), side="right")
        below = jnp.concatenate([none, jnp.cumsum(weights)])[place]
        return below, jnp.concatenate([jnp.cumsum(weights[::-1])[::-1], none])[place]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        levels, weights = self._ordered()
        below, above = jnp.cumsum(weights), jnp.cumsum(weights[::-1])
        first = jnp.searchsorted(below, p, side="left")
        last = levels.size - 1 - jnp.searchsorted(above, q, side="right")
        return levels[jnp.clip(jnp.where(p <= 0.5, first, last), 0, levels.size - 1)]

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return jax.random.choice(key, self.levels, shape, p=self.weights)

    def _quadrature(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        return self.levels, self.weights

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        return moments_of_points(self.levels, self.weights, k)[k]

    def _distances(self, w: Complex[Array, "..."]) -> Complex[Array, "... k"]:
        return jnp.subtract.outer(w, like(w, self.levels))

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        distance = self._distances(z)
        at = distance == 0
        terms = jnp.where(at, 0, 1 / jnp.where(at, 1, distance))
        return jnp.where(jnp.any(at, axis=-1), jnp.inf, terms @ like(z, self.weights))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The mean of -x with the weights 1/(w - x), in units of the distance to the nearest level."""
        distance, weights = self._distances(w), like(w, self.weights)
        nearest = jnp.argmin(jnp.abs(jax.lax.stop_gradient(distance)), axis=-1)[..., None]
        shortest = jnp.take_along_axis(distance, nearest, axis=-1)
        zero = distance == 0
        share = jnp.where(zero, 1, shortest / jnp.where(zero, 1, distance))
        total = share @ weights
        total = jnp.where(total == 0, float(jnp.finfo(w.dtype).eps), total)
        h = ((shortest - distance) * share) @ weights / total
        return -like(w, self.levels)[nearest[..., 0]] - h, share**2 @ weights / total**2 - 1

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return upper_logs(self._distances(w)) @ like(w, self.weights)
