r"""The atoms of sums, powers and products of free variables, and the masses beside them.

The sum has an atom at x if and only if the parts have atoms at a and b with a + b = x and masses α + β > 1, and its
mass is m = α + β - 1 (Bercovici and Voiculescu). As z = x + iε goes to x, the subordinate points go to a and b from
above, and F to 0: $w - a$, $v - b$ and F have the argument π/2. In the potential $U_a(w) + U_b(v) - \log F$ the
logarithms of these give the angle $(α + β - 1)\,π/2 = mπ/2$. The limit of the angle of U is π times the mass above x,
and half of the atom. So $P(A + B > x) = P(A > a) + P(B > b)$. For products the same holds at x ≠ 0. For the sum of t
copies the mass above is t times that of the part.

On the axis the distances w - a and v - b are differences of rounded numbers, and without this their signs, each of
which decides about a mass, would be left to chance.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import aligned, like
from rmtjax.laws._core.spectral import AbstractSpectralLaw

# Rounding of subordinate points, in ulp of the spread, and of masses.
_ROUNDING = 64


class Atoms(NamedTuple):
    """The atoms of a law, at different places if their masses are not 0."""

    places: Float[Array, " k"]
    masses: Float[Array, " k"]
    above: Float[Array, " k"]  # the masses above those whose mass is not 0


def atoms_of(law: AbstractSpectralLaw) -> Atoms:
    """The atoms of a law; of several at one place the first has all of the mass."""
    places, masses, above = law._jumps()
    if places.size > 1:
        # The first of those at a place has a mass, if one has, and so knows what is above.
        order = jnp.lexsort(jax.lax.stop_gradient((like(places, masses == 0), places)))
        places, masses, above = places[order], masses[order], above[order]
        first = jnp.concatenate([jnp.ones(1, bool), places[1:] != places[:-1]])
        place = jnp.cumsum(first) - 1
        masses = jnp.where(first, jnp.zeros_like(masses).at[place].add(masses)[place], 0)
    return Atoms(places, masses, like(masses, above))


def atoms_of_pairs(a: AbstractSpectralLaw, b: AbstractSpectralLaw, combined: Callable[[Array, Array], Array]) -> Atoms:
    """The atoms of a composed law: two atoms whose masses are more than 1 together give one with what is more than 1.

    One of the two has a mass of more than ½, and no law has two such atoms. So the candidates are the largest atom of
    each law with all atoms of the other one.
    """
    first, second = atoms_of(a), atoms_of(b)
    if not (first.places.size and second.places.size):
        return Atoms(*(values[:0] for values in first))
    largest, heaviest = jnp.argmax(first.masses), jnp.argmax(second.masses)
    of_pairs = lambda function, x, y: jnp.concatenate([function(x, y[heaviest]), function(x[largest], y)])
    left = of_pairs(jnp.add, first.masses, second.masses) - 1
    # The pair of the two largest is in both lists.
    again = jnp.arange(left.size) == first.masses.size + heaviest
    return Atoms(
        of_pairs(combined, first.places, second.places),
        jnp.where(again, 0, jnp.maximum(left, 0)),
        of_pairs(jnp.add, first.above, second.above),
    )


def with_masses_beside(
    atoms: Atoms, spread: Float[Array, ""], z: Complex[Array, "..."], potentials: Complex[Array, "2 ..."]
) -> Complex[Array, "2 ..."]:
    """The potentials at z, on the axis beside an atom with the angles that they have there.

    Args:
        atoms: those of the law.
        spread: the size of the support.
        z: points in the closed upper half plane.
        potentials: those at the points.
    """
    if not atoms.places.size:
        return potentials
    x, places, masses, above, spread = aligned(jnp.real(z)[..., None], *atoms, spread)
    near = jnp.abs(x - places) <= _ROUNDING * float(jnp.finfo(x.dtype).eps) * spread
    near = near & (masses > 0) & (jnp.imag(z) == 0)[..., None]
    # A difference may be fused with the product that a place is, without the rounding of it. A comparison is not.
    mass_above = jnp.where(x < places, above + masses, above)
    mass_below = 1 - jnp.where(x <= places, above + masses, above)
    total = lambda values: jnp.sum(jnp.where(near, values, 0), axis=-1)
    angles = like(jnp.real(potentials), jnp.pi * jnp.stack([total(mass_above), -total(mass_below)]))
    angles = jnp.where(jnp.any(near, axis=-1)[None], angles, jnp.imag(potentials))
    return jax.lax.complex(jnp.real(potentials), angles)


def with_atoms(
    atoms: Atoms, ends: Float[Array, " m"], levels: Float[Array, " m"], above: np.ndarray
) -> Float[Array, " m"]:
    """The ends of gaps; where the distribution function jumps over the level, or from it or to it, the end is an atom.

    Args:
        atoms: those of the law.
        ends: one for each level.
        levels: the values of the distribution function in the gaps.
        above: whether an end lies above its gap.
    """
    if not atoms.places.size:
        return ends
    places, masses, beyond, levels = (like(ends, part) for part in (*atoms, levels))
    rounding = _ROUNDING * float(jnp.finfo(ends.dtype).eps)
    # How far the distribution function lies above the level at the atom, and below it.
    upper = (1 - beyond)[None] - levels[:, None]
    lower = upper - masses[None]
    # In the gap it has the level, so that the jump goes up from the level above the gap, and up to it below the gap.
    jumps = jnp.where(
        above[:, None], (lower <= rounding) & (upper > rounding), (lower < -rounding) & (upper >= -rounding)
    )
    jumps = jumps & (masses > 0)[None]
    return jnp.where(jnp.any(jumps, axis=-1), jumps.astype(ends.dtype) @ places, ends)
