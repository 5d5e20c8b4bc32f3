r"""Laws that are given by their transforms: the density, the tails and the bands follow from them.

The density is $-\operatorname{Im} G(x + i0)/\pi$, and the mass above x is $\operatorname{Im} U(x + i0)/\pi$ with the
potential $U(z) = E \log(z - X)$.
"""

from abc import abstractmethod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import aligned, like
from rmtjax._units import times_power
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._core.spectral import AbstractSpectralLaw


def mass_below(potentials: Complex[Array, "2 ..."]) -> Float[Array, "..."]:
    """The mass below real points, from the potentials there."""
    return -jnp.imag(potentials[1]) / jnp.pi


def density_of(transform: Complex[Array, "..."]) -> Float[Array, "..."]:
    """The density at real points, from the transform there, but for its rounding."""
    return -jnp.imag(transform) / jnp.pi


class AbstractLawOfTransforms(AbstractSpectralLaw):
    """A law with a transform and a potential, whose ends take a search."""

    @abstractmethod
    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        """The lower end, both ends of the gap at each level, and the upper end.

        The ends of a gap that does not exist are both the quantile of its level.
        """

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.maximum(density_of(self._stieltjes(in_plane(x))), 0)

    def _mass_and_density(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The mass below x and the density there, but for their rounding."""
        return mass_below(self._log_potential(in_plane(x))), density_of(self._stieltjes(in_plane(x)))

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        above, below = jnp.imag(self._log_potential(in_plane(x))) / jnp.pi
        places, masses = self._atoms()
        here = like(x, jnp.equal(*aligned(x[..., None], places))) @ like(x, masses)
        below, above = jnp.clip(here - below, 0, 1), jnp.clip(above, 0, 1)
        # Each has its own rounding. Between the support and the carrier both are exact.
        return jnp.where(above == 0, 1, below), jnp.where(below == 0, 1, above)

    def _support(self) -> tuple[Array, Array]:
        ends = self._ends(jnp.zeros(0))
        return ends[0], ends[1]

    def _breakpoints(self) -> Float[Array, " k"]:
        """The ends of all bands; where two bands have merged, twice the quantile of the level between them."""
        return jnp.sort(self._ends(self._gap_levels()))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        # A search between the ends of the support has no need of the other ends.
        return fallbacks.ppf_between(self, p, q, *self._support()) if self._is_bounded() else super()._ppf(p, q)

    def _bands(self) -> tuple[Float[Array, " 2k"], Float[Array, " k-1"]]:
        levels = self._gap_levels()
        ends = self._ends(levels)
        # Two equal levels are one gap, and the band between them has no width.
        lower = ends[::2]
        return jnp.stack([lower, jnp.maximum(ends[1::2], lower)], axis=-1).ravel(), levels

    def _mean_of_powers(self, *orders: int, origin: Array | float | None = None) -> tuple[Float[Array, ""], ...]:
        r"""The means of $(X - o)^k$, by default about the mean.

        They are integrals $\frac1{2\pi i} \oint (z - o)^k\,G(z)\,dz$ around the support. The sum over
        equidistant points of a circle converges like the powers of the support over the circle.
        """
        lower, upper = map(jax.lax.stop_gradient, self._support())
        largest = max(*orders, 4)
        number, margin = 32 + 20 * largest, 2 / largest
        size = jnp.maximum(upper - lower, float(jnp.finfo(lower.dtype).eps) * jnp.abs(upper))
        radius, centre = size / 2 * (1 + margin), lower / 2 + upper / 2
        angle = like(size, jnp.pi * (np.arange(number) + 0.5) / number)
        way = jax.lax.complex(radius * jnp.cos(angle), radius * jnp.sin(angle))
        masses = self._stieltjes(like(way, centre) + way) * way / number
        if origin is None:
            origin = centre + jnp.sum(jnp.real(masses * way))
        points = way + like(way, centre - origin)
        # No power of these overflows.
        reach = jnp.abs(jax.lax.stop_gradient(centre - origin)) + radius
        shares = points / like(points, reach)
        return tuple(times_power(jnp.sum(jnp.real(masses * shares**k)), reach, k) for k in orders)
