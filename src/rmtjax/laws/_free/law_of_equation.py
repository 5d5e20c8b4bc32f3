"""Laws by Dyson's equation, of vectors or of matrices: the ends of their bands from its solution on the axis."""

from abc import abstractmethod
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._free.from_transforms import AbstractLawOfTransforms
from rmtjax.laws._free.gaps import Lanes, bisected, in_gap, with_quantiles
from rmtjax.laws._free.soft_ends import soft_ends


class AbstractLawOfEquation(AbstractLawOfTransforms):
    """A law with the transform of an equation, whose solution y on the real axis is real outside of the support."""

    @abstractmethod
    def _solution(self, z: Complex[Array, "..."]) -> Complex[Array, "... m"]:
        """The solution."""

    @abstractmethod
    def _stieltjes_of(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "..."]:
        """The transform at z, from the solution there."""

    @abstractmethod
    def _log_potential_of(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "2 ..."]:
        """The potentials at z, from the solution there."""

    @abstractmethod
    def _excess(self, x: Float[Array, " k"], y: Float[Array, "k m"], odd: Float[Array, "k m"]) -> Float[Array, " k"]:
        """How far a point lies above the end of a band, from the solution there and the direction of its odd part."""

    @abstractmethod
    def _is_narrow(self, size: Float[Array, ""], lanes: Lanes) -> Bool[Array, " k"]:
        """Which bisections for ends have ended."""

    def _solved(self, z: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "... m"]]:
        """The points and the solution there; a law may move points to where it is known."""
        return z, self._solution(z)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return self._stieltjes_of(*self._solved(z))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return self._log_potential_of(w, jax.lax.stop_gradient(self._solution(w)))

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        constant = jax.tree.map(jax.lax.stop_gradient, self)
        lower, upper = constant._carrier()
        size = upper - lower

        def probe(x: Float[Array, " m"], levels: Float[Array, " m"]) -> tuple[Array, Array, Array]:
            z, y = constant._solved(in_plane(x))
            return *in_gap(jnp.all(jnp.imag(y) == 0, axis=-1), constant._log_potential_of(z, y), levels), x

        lanes = bisected(probe, levels, lower - size / 64, upper + size / 64, partial(constant._is_narrow, size))
        return with_quantiles(self, self._polished(constant, lanes, levels, size), lanes, levels)

    def _polished(
        self, constant: "AbstractLawOfEquation", lanes: Lanes, levels: Float[Array, " k"], size: Float[Array, ""]
    ) -> Float[Array, " 2k+2"]:
        """The ends by interpolation in the squared density, with their derivatives by the parameters."""
        del levels, size

        def solution(x: Float[Array, "... k"]) -> tuple[Array, Array, Array]:
            z = in_plane(x)
            y = constant._solution(z)
            return -jnp.imag(constant._stieltjes_of(z, y)), jnp.real(y), -jnp.imag(y)

        return soft_ends(lanes, solution, self._excess)
