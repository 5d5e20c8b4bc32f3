r"""What sums, powers and products of free variables have in common: transforms at the subordinate point, tails, ends.

With $F = 1/G$ and $h = F - z$, a composed law is given by the fixed point w of a self-map of the upper half plane at
each z. The transform, h, and $U(z) = E \log(z - X)$ are closed expressions in w, as U is stationary there. The density
is $-\operatorname{Im} G(x + i0)/\pi$, and the mass above x is $\operatorname{Im} U(x + i0)/\pi$.
"""

import math
from abc import abstractmethod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike
from rmtjax._units import times
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import power
from rmtjax.laws._core.spectral import AbstractSpectralLaw, are_bounded, spectral_law, with_moments
from rmtjax.laws._free.atoms import Atoms, with_masses_beside
from rmtjax.laws._free.fixed_point import Parts, fixed_point
from rmtjax.laws._free.from_transforms import AbstractLawOfTransforms, density_of, mass_below
from rmtjax.laws._free.gaps import ends_of

# Tails are so many times wider than a bulk, up to where they vanish.
_TAILS = 8
_PARTS = np.array([1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 7 / 16, 1 / 2])


def free_part(name: str, law: AbstractSpectralLaw) -> AbstractSpectralLaw:
    """The law, if it can be a part of a sum, power or product."""
    return with_moments(name, spectral_law(name, law))


class AbstractFreeConvolution(AbstractLawOfTransforms):
    """A law whose transforms are those of its parts at subordinate points."""

    @abstractmethod
    def _at_parts(self, z: Complex[Array, "..."], w: Complex[Array, "..."]) -> Parts:
        """The function h of each part and its derivative, the first at w, the other one where z and w lead."""

    @abstractmethod
    def _self_map(self, z: Complex[Array, "..."], parts: Parts) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The map whose fixed point is the subordinate point of z, and its derivative by w."""

    @abstractmethod
    def _h_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The function h(z) and its derivative, from the subordinate point w of z and the parts there."""

    @abstractmethod
    def _log_potential_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> Complex[Array, "2 ..."]:
        """The potentials at z, from its subordinate point w and the parts there."""

    @abstractmethod
    def _parts(self) -> tuple[AbstractSpectralLaw, ...]:
        """The laws that it is made of, the first of which has the subordinate point."""

    @abstractmethod
    def _jumps(self) -> Atoms:
        """The locations and masses of the atoms, and the mass above each one that has a mass."""

    @abstractmethod
    def _around(self, *intervals: tuple[Array, Array]) -> tuple[Array, Array]:
        """An interval around the law, from one around each part."""

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        atoms = self._jumps()
        return atoms.places, atoms.masses

    def _carrier(self) -> tuple[Array, Array]:
        return self._around(*(part._carrier() for part in self._parts()))

    def _is_bounded(self) -> bool:
        return are_bounded(*self._parts())

    def _extent(self) -> tuple[Array, Array]:
        return self._around(*(part._extent() for part in self._parts()))

    def _spread(self) -> Float[Array, ""]:
        """The size of the support, or of the bulk if the support is infinite, roughly, and never 0."""
        lower, upper = jax.lax.stop_gradient(self._extent())
        if not self._is_bounded():
            lower, upper = lower / _TAILS, upper / _TAILS
        size = jnp.maximum(jnp.abs(lower), jnp.abs(upper))
        return jnp.maximum(upper - lower, size * float(jnp.finfo(size.dtype).eps) + float(jnp.finfo(size.dtype).tiny))

    def _scale_at(self, z: Complex[Array, "..."]) -> Float[Array, "..."]:
        """The size of what is next to z, and so of the subordinate point at the least."""
        return jnp.broadcast_to(self._spread(), z.shape)

    def subordinate(self, z: ArrayLike) -> Complex[Array, "..."]:
        r"""The subordinate point ω(z) of the first part, with $\omega(\bar z) = \overline{\omega(z)}$.

        $G(z) = G_a(\omega)$ for sums and powers, $p\,G(z) = G_a(\omega)$ for corners, and
        $z\,G(z) = \omega\,G_a(\omega)$ for products. On the real axis it is the limit from above, real in gaps.
        `resolvent_equivalent` is made of it, as are overlaps of the eigenvectors of M and A.

        Args:
            z: complex or real points of any shape.
        """
        return self._run(self._promised_subordinate, in_plane(_checks.numbers("z", z)))

    def _promised_subordinate(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        law, unit = self._in_unit()
        values = law._everywhere(times(z, 1 / unit), lambda z: fixed_point(law, z)[0], math.inf)
        return times(values, self._unit_of_first())

    def _unit_of_first(self) -> Float[Array, ""]:
        """The unit of the first part."""
        return jnp.asarray(self._in_unit()[1])

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        return self._h_at(w, *fixed_point(self, w))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return self._beside_atoms(w, self._log_potential_at(w, *fixed_point(self, w)))

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return quotient_of_one(z + self._subordination(z)[0])

    def _mass_and_density(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        z = in_plane(x)
        solved = fixed_point(self, z)
        potentials = self._beside_atoms(z, self._log_potential_at(z, *solved))
        return mass_below(potentials), density_of(quotient_of_one(z + self._h_at(z, *solved)[0]))

    def _beside_atoms(self, z: Complex[Array, "..."], potentials: Complex[Array, "2 ..."]) -> Complex[Array, "2 ..."]:
        return with_masses_beside(self._jumps(), self._spread(), z, potentials)

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        return ends_of(self, levels)

    def _support(self) -> tuple[Array, Array]:
        ends = super()._support()
        if self._is_bounded():
            return ends
        carrier = self._carrier()
        lower, upper = (jnp.where(jnp.isinf(far), far, end) for far, end in zip(carrier, ends, strict=True))
        return lower, upper

    def _breakpoints(self) -> Float[Array, " k"]:
        ends = super()._breakpoints()
        if self._is_bounded():
            return ends
        # Beside the bulk the density falls by many orders of magnitude.
        inner = ends[0] + (ends[-1] - ends[0]) * like(ends, np.append(_PARTS, 1 - _PARTS[:-1]))
        return jnp.sort(jnp.concatenate([ends, inner]))

    def _moment(self, k: int) -> Float[Array, ""]:
        if not self._is_bounded():
            return self._moment_of_parts(k)
        no_more_than(100, k)
        return self._mean_of_powers(k, origin=0.0)[0]

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        if not self._is_bounded():
            return super()._central_moments(*orders)
        return self._mean_of_powers(*orders)

    def _moment_of_parts(self, k: int) -> Float[Array, ""]:
        """The moment without an integral around the support, from the free cumulants, which have a formula."""
        one = jnp.ones_like(self._spread())
        series = jnp.stack([one, *(like(one, self._free_cumulant(j)) for j in range(1, k + 1))])
        return power(series, k + 1)[k] / (k + 1)
