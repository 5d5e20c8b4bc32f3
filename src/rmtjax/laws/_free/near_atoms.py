r"""Transforms beside atoms, where the equation of a law has few digits.

At the distance δ from an atom of mass m the solution is of the size 1/δ, and where the atom has several reasons it
loses as many digits as 1/δ has or thrice as many. So the equation is solved a little farther away, where its solution
is found, and the rest $G - m/(z - a)$ of the transform is taken for constant in between.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._promotion import like
from rmtjax.laws._free.matrix_dyson import Equation, found_solution, with_derivatives

# The distances that are tried, as powers of eps.
_POWERS = np.array([0.5, 0.35, 0.2])


class NearAtoms(NamedTuple):
    """Points at a distance from all atoms, in the directions of points that may be close to one."""

    point: Complex[Array, "..."]
    moved: Complex[Array, "..."]  # how far they are from the given points, toward which an atom pulls
    mass: Complex[Array, "..."]  # that of the atom, or 0
    distance: Complex[Array, "..."]  # of the given points from the atom; 1 if there is none

    def rest(self, transform: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The Stieltjes transform without the atom, from the transform at the moved points."""
        return transform - self.mass / (self.distance + self.moved)

    def transform(self, transform: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """That at the given points, from that at the moved ones; at an atom the real part is infinite."""
        zero, rest = self.distance == 0, self.rest(transform)
        values = rest + self.mass / jnp.where(zero, 1, self.distance)
        return jnp.where(zero, jax.lax.complex(jnp.full_like(rest.real, jnp.inf), jnp.imag(rest)), values)

    def potentials(self, potentials: Complex[Array, "2 ..."], rest: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        """Those at the given points, from those at the moved ones and the transform without the atom."""
        size, far = (jnp.abs(each) for each in (self.distance, self.distance + self.moved))
        zero = size == 0
        closer = jnp.real(self.mass) * jnp.log(jnp.where(zero, far, size) / far)
        potentials = potentials + (like(rest, closer) - rest * self.moved)[None]
        # The mass below a point does not contain that of an atom there.
        jump = jnp.where(zero & (jnp.imag(self.point) == 0), jnp.pi * jnp.real(self.mass), 0)
        return jnp.stack([potentials[0], potentials[1] + jax.lax.complex(jnp.zeros_like(jump), jump)])


class _Search(NamedTuple):
    level: Int[Array, "..."]  # which distance
    found: Complex[Array, "... m"]
    missing: Bool[Array, "..."]  # whether this is not the solution
    number: Int[Array, ""]


def _moved(
    z: Complex[Array, "..."], places: Float[Array, " k"], masses: Float[Array, " k"], least: Float[Array, "..."]
) -> NearAtoms:
    """The points, moved away from the nearest atom to the least distance, if they are nearer."""
    x = jnp.real(z)
    places = jax.lax.stop_gradient(places)
    from_all = jnp.subtract.outer(z, like(z, places))
    lengths = jnp.where(like(x, masses) > 0, jnp.abs(from_all), jnp.inf)
    nearest = jnp.argmin(lengths, axis=-1)
    distance = jnp.take_along_axis(from_all, nearest[..., None], axis=-1)[..., 0]
    length = jnp.min(lengths, axis=-1)
    # Not beyond another atom.
    apart = jnp.where(
        (places[:, None] != places[None]) & (masses > 0)[None], abs(places[:, None] - places[None]), jnp.inf
    )
    least = jnp.minimum(least, like(x, jnp.min(apart, axis=-1) / 4)[nearest])
    near, zero = length < least, length == 0
    stretched = least / jnp.where(zero, 1, length) - 1
    moved = jnp.where(zero, like(z, least), jax.lax.complex(stretched * distance.real, stretched * distance.imag))
    moved = jax.lax.stop_gradient(jnp.where(near, moved, 0))
    mass = jnp.where(near, like(z, masses)[nearest], 0)
    return NearAtoms(z + moved, moved, mass, jnp.where(near, distance, 1))


def solved_near_atoms(
    z: Complex[Array, "..."],
    places: Float[Array, " k"],
    masses: Float[Array, " k"],
    size: Float[Array, ""],
    equation_at: Callable[[Complex[Array, "..."]], Equation],
) -> tuple[NearAtoms, Complex[Array, "... m"]]:
    """The points, moved away from atoms as far as it takes, and the solution there.

    Args:
        z: points in the closed upper half plane.
        places: those of the atoms.
        masses: their masses, which may be 0.
        size: a bound on the distances in the law.
        equation_at: the equation, which does not depend on the points.
    """
    equation, x = equation_at(z), jnp.real(z)
    distances = like(x, jax.lax.stop_gradient(size)) * like(x, float(jnp.finfo(x.dtype).eps) ** _POWERS)
    at = lambda level: _moved(z, places, masses, distances[level])

    def again(state: _Search) -> _Search:
        level = jnp.where(state.missing, state.number, state.level)
        near = at(level)
        found = found_solution(equation, near.point)
        found = jnp.where(state.missing[..., None], found, state.found)
        # The rest is constant in gaps only, and in bands only at the first distance.
        in_band = (jnp.imag(z) == 0) & jnp.any(jnp.imag(found) != 0, axis=-1) & (near.mass != 0) & (level > 0)
        return _Search(level, found, in_band | jnp.any(jnp.isnan(found), axis=-1), state.number + 1)

    def goes_on(state: _Search) -> Bool[Array, ""]:
        last = _POWERS.size - 1
        near = at(jnp.full_like(state.level, jnp.minimum(state.number, last))).mass != 0
        return (state.number == 0) | ((state.number <= last) & jnp.any(state.missing & near))

    zero = jnp.zeros_like(x, jnp.int32)
    none = jnp.full((*z.shape, equation.basis.shape[0]), jnp.nan, z.dtype)
    end = jax.lax.while_loop(goes_on, again, _Search(zero, none, zero == 0, jnp.zeros((), jnp.int32)))
    near = at(end.level)
    found = jnp.where(end.missing[..., None], jnp.nan, end.found)
    return near, with_derivatives(equation, near.point, found)
