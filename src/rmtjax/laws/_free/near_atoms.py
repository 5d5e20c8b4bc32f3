r"""Transforms beside atoms, and at other points where the equation of a law has few digits.

At the distance δ from an atom of mass m the solution is of the size 1/δ, and where the atom has several causes it
loses as many digits as 1/δ has, or three times as many. So the equation is solved a little farther away, where its
solution is found, and the rest $G - m/(z - a)$ of the transform is taken for constant in between. The same is done
where no solution is found without an atom, as at an infinite density and where only the solution has a pole: m is 0
there.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._promotion import like
from rmtjax._varying import varying_like
from rmtjax.laws._free.matrix_dyson import Equation, beginning, found_solution, length_of, with_derivatives

# The distances that are tried beside atoms, and elsewhere, as powers of eps. The last one is on the other side.
_POWERS = np.array([[0.5, 0.35, 0.2, 0.2], [np.inf, 0.95, 0.5, 0.35]])
_SIDES = np.array([[1, 1, 1, 1], [1, 1, 1, -1]])


class NearAtoms(NamedTuple):
    """Points where the equation is solved, in the directions of points that may be close to an atom."""

    point: Complex[Array, "..."]
    moved: Complex[Array, "..."]  # how far they are from the given points
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

    def subordination(self, h: Complex[Array, "..."], z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The function 1/G - z at the given points z, from that at the moved ones."""
        atom = self.mass != 0
        rest = self.rest(1 / jnp.where(atom, self.point + h, 1))
        beside = self.distance / jnp.where(atom, self.mass + self.distance * rest, 1) - z
        return jnp.where(atom, beside, h + self.moved)

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
    z: Complex[Array, "..."], places: Float[Array, " k"], masses: Float[Array, " k"], least: Float[Array, "2 ..."]
) -> NearAtoms:
    """The points, moved away from the nearest atom to the first distance, if they are nearer, or by the second one."""
    x, least = jnp.real(z), jax.lax.stop_gradient(least)
    aside = like(z, least[1])
    if not places.size:
        return NearAtoms(z + aside, aside, jnp.zeros_like(z), jnp.ones_like(z))
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
    away = jnp.minimum(least[0], like(x, jnp.min(apart, axis=-1) / 4)[nearest])
    near, zero = length < away, length == 0
    stretched = away / jnp.where(zero, 1, length) - 1
    moved = jnp.where(zero, like(z, away), jax.lax.complex(stretched * distance.real, stretched * distance.imag))
    moved = jax.lax.stop_gradient(jnp.where(near, moved, aside))
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
    eps = float(jnp.finfo(x.dtype).eps)
    size, first = like(x, jax.lax.stop_gradient(size)), beginning(equation)
    distances = size * like(x, _SIDES * eps**_POWERS)
    at = lambda level: _moved(z, places, masses, distances[:, level])
    # Where the solution takes few steps.
    easy = jax.lax.complex(x, jnp.broadcast_to(like(x, equation.height), x.shape))

    def again(state: _Search) -> _Search:
        level = jnp.where(state.missing, state.number, state.level)
        near = at(level)
        found = found_solution(equation, jnp.where(state.missing, near.point, easy), first)
        found = jnp.where(state.missing[..., None], found, state.found)
        # The rest is constant in gaps only, and in bands only at the first distance.
        atom, on_axis = near.mass != 0, jnp.imag(z) == 0
        rounding = jnp.where(atom, 0, eps**0.25 * length_of(found))
        too_far = (length_of(jnp.imag(found)) > rounding) & (level > jnp.where(atom, 0, 1))
        at_pole = ~atom & (level < _POWERS.shape[-1] - 1) & _is_beside_pole(equation, near.point, found, size, first)
        missing = (on_axis & (too_far | at_pole)) | jnp.any(jnp.isnan(found), axis=-1)
        return _Search(level, found, missing, state.number + 1)

    zero = jnp.zeros_like(x, jnp.int32)
    none = jnp.full((*z.shape, equation.basis.shape[0]), jnp.nan, z.dtype)
    goes_on = lambda state: (state.number < _POWERS.shape[-1]) & jnp.any(state.missing)
    begin = varying_like(_Search(zero, none, zero == 0, jnp.zeros((), jnp.int32)), equation, z)
    end = jax.lax.while_loop(goes_on, again, begin)
    near = at(end.level)
    found = jnp.where(end.missing[..., None], jnp.nan, end.found)
    return near, with_derivatives(equation, near.point, found)


def _is_beside_pole(
    equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"], size: Array, first: Complex[Array, " m"]
) -> Bool[Array, "..."]:
    """Whether the solution is so long that half of the digits which its length leaves are too few, and the law is not.

    Semicircular variables alone have no such pole.
    """
    if not equation.others.laws:
        return jnp.zeros_like(jnp.real(z), bool)
    transform = jnp.einsum("...ij,ji->...", equation.resolvent(z, y), equation.corner)
    least = float(jnp.finfo(size.dtype).eps) ** -0.4
    return length_of(y) > least * length_of(first) * (1 + size * jnp.abs(transform))
