r"""The solution of Dyson's equation of vectors, $1/g_i = z - a_i - \sigma_i(g)$, in the lower half plane.

For z in the upper half plane the map $g \mapsto 1/(z - a - \sigma(g))$ has one fixed point with negative imaginary
parts (Ajanki, Erdős and Krüger 2017, theorem 2.1), and the solution on the real axis is its limit. Repeated, the map
converges slowly near the ends of bands. Here Anderson's method takes its steps: from the last five steps it finds the
combination that the map moves least, relative to |g|.

A search on the axis may end at a wrong real solution, or nowhere. A wrong one is seen, as the map leads away from it:
there imaginary parts grow. Then the solution is followed from high above the axis down to it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._promotion import like
from rmtjax._units import times
from rmtjax._varying import varying_like
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.linalg.internal import solve_each

_DEPTH = 5
_MOST_STEPS = 300
# Without progress for so many steps the method forgets what it has seen.
_PATIENCE = 12
_POWER_STEPS = 12


class _Search(NamedTuple):
    """Where the search stands at each point. Movements are relative to |g| at their step."""

    at: Complex[Array, "... n"]
    last: Complex[Array, "... n"]
    move: Complex[Array, "... n"]  # the movement of the last point by the map
    steps: Complex[Array, "d ... n"]  # differences of the last points,
    turns: Complex[Array, "d ... n"]  # and of their movements,
    products: Complex[Array, "d d ..."]  # and the scalar products of these
    best: Complex[Array, "... n"]
    moved: Float[Array, "..."]  # the largest movement of the best point
    idle: Int[Array, "..."]  # the number of steps without progress
    done: Bool[Array, "..."]
    number: Int[Array, ""]
    is_first: Bool[Array, ""]  # whether no search has failed


class _Starts(NamedTuple):
    found: Complex[Array, "... n"]
    done: Bool[Array, "..."]
    number: Int[Array, ""]


@jax.custom_jvp
def dyson_solution(law: Any, z: Complex[Array, "..."]) -> Complex[Array, "... n"]:
    """The solution g of the equation of a law, for z in the closed upper half plane.

    Derivatives are those of the implicit function theorem.

    Args:
        law: it has `_start(z)`, `_dyson_map(z, g)`, which is $1/(z - a - σ(g))$, `_energy_matrix(g)`, the derivative
            of σ, and `weights`, a number for each component.
        z: points of any shape.
    """
    start = jnp.broadcast_to(law._start(z)[..., None], (*z.shape, law.weights.size))
    eps = float(jnp.finfo(z.dtype).eps)
    lower, upper = law._carrier()
    # On the axis itself, and if that fails, from above down to the axis.
    heights = [0.0, *2.0 ** np.arange(0, int(np.log2(eps)) - 3, -1), 0.0]
    heights = like(jnp.real(z), upper - lower) * like(jnp.real(z), np.array(heights))

    def again(starts: _Starts) -> _Starts:
        there = jax.lax.complex(jnp.real(z), jnp.imag(z) + heights[starts.number])
        found = jnp.where(starts.done[..., None], starts.found, _searched(law, there, starts))
        on_axis = in_plane(jnp.real(found))
        is_real = (_movement(law, z, on_axis) <= 64 * eps) & (jnp.imag(z) == 0)
        found = jnp.where(is_real[..., None], on_axis, found)
        # In a band the radius is 1.
        wrong = _radius(law, found) > 1 + eps**0.4
        wrong = wrong | (~is_real & (_movement(law, z, found) > 512 * eps))
        highest = 1 / jax.lax.complex(jnp.real(z), jnp.imag(z) + heights[1])[..., None]
        start = jnp.where(starts.number == 0, highest, found)
        return _Starts(jnp.where(wrong[..., None], start, found), starts.done | ~wrong, starts.number + 1)

    first = _Starts(start, jnp.zeros_like(jnp.real(z), bool), jnp.zeros((), jnp.int32))
    goes_on = lambda starts: ~jnp.all(starts.done) & (starts.number < heights.size)
    return jax.lax.while_loop(goes_on, again, varying_like(first, law, z)).found


@dyson_solution.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    law, z = primals
    g = dyson_solution(law, z)
    _, change = jax.jvp(lambda law, z: law._dyson_map(z, g), primals, tangents)
    one = jnp.eye(g.shape[-1], dtype=g.dtype)
    rest = jnp.broadcast_to(one, (*g.shape, g.shape[-1])) - (g**2)[..., None] * law._energy_matrix(g)
    # At the very end of a band it is singular.
    rest = rest + jnp.broadcast_to(one * float(jnp.finfo(g.dtype).eps) ** 2, rest.shape)
    return g, solve_each(rest, change[..., None])[..., 0]


def _movement(law: Any, z: Complex[Array, "..."], g: Complex[Array, "... n"]) -> Float[Array, "..."]:
    """The largest relative movement of a component by the map; infinite where one is 0, which no solution is."""
    zero = g == 0
    g = jnp.where(zero, 1, g)
    return jnp.max(jnp.where(zero, jnp.inf, jnp.abs(law._dyson_map(z, g) - g) / jnp.abs(g)), axis=-1)


def _radius(law: Any, g: Complex[Array, "... n"]) -> Float[Array, "..."]:
    r"""A lower bound of the factor by which the map enlarges some imaginary parts, a Rayleigh quotient.

    With $-\operatorname{Im} σ(g) = A(-\operatorname{Im} g)$ and positive A a solution has
    $-\operatorname{Im} g = |g|^2 (\operatorname{Im} z - A \operatorname{Im} g)$, so that the spectral radius of
    $|g|^2 A$ is at most 1. The matrix $w A$ is symmetric, as the second derivative of a potential.
    """

    def image(vector: Float[Array, "... n"]) -> Float[Array, "... n"]:
        """At most A times the vector."""
        _, change = jax.jvp(law._self_energy, (g,), (in_plane(vector),))
        return jnp.abs(change)

    def step(_: Array, vector: Float[Array, "... n"]) -> Float[Array, "... n"]:
        # Without the shift two directions with opposite factors would take turns.
        vector = vector + jnp.abs(g) ** 2 * image(vector)
        return vector / jnp.max(vector, axis=-1, keepdims=True)

    vector = jax.lax.fori_loop(0, _POWER_STEPS, step, varying_like(jnp.ones_like(jnp.real(g)), law, g))
    weighted = vector * like(vector, law.weights).reshape([1] * (g.ndim - 1) + [-1])
    return jnp.sum(weighted * image(vector), axis=-1) / jnp.sum(weighted * vector / jnp.abs(g) ** 2, axis=-1)


def _searched(law: Any, z: Complex[Array, "..."], starts: _Starts) -> Complex[Array, "... n"]:
    start, done = starts.found, starts.done
    unknown = jnp.full_like(jnp.real(z), jnp.inf)
    # More differences than there are real unknowns depend on each other.
    depth = min(_DEPTH, 2 * start.shape[-1])
    none = jnp.zeros((depth, *start.shape), start.dtype)
    first = _Search(
        at=start,
        last=start,
        move=0 * start,
        steps=none,
        turns=none,
        products=jnp.zeros((depth, depth, *z.shape), z.dtype),
        best=start,
        moved=unknown,
        idle=jnp.zeros_like(done, jnp.int32),
        done=done,
        number=jnp.zeros((), jnp.int32),
        is_first=starts.number == 0,
    )
    goes_on = lambda search: ~jnp.all(search.done) & (search.number < _MOST_STEPS)
    return jax.lax.while_loop(goes_on, lambda search: _step(law, z, search), varying_like(first, law, z)).best


def _step(law: Any, z: Complex[Array, "..."], search: _Search) -> _Search:
    g, eps = search.at, float(jnp.finfo(search.at.dtype).eps)
    size = jnp.abs(g)
    move = law._dyson_map(z, g) - g
    inverse = 1 / size
    relative = times(move, inverse)
    moved = jnp.max(jnp.abs(relative), axis=-1)
    better = (moved < search.moved) & ~search.done
    idle = jnp.where(moved < search.moved / 2, 0, search.idle + 1)
    lowest = jnp.where(better, moved, search.moved)
    done = search.done | (lowest <= 2 * eps) | ((idle > 3 * _PATIENCE) & (lowest < 512 * eps))
    slot = search.number % search.turns.shape[0]
    step, turn = times(g - search.last, inverse), times(move - search.move, inverse)
    steps = jax.lax.dynamic_update_index_in_dim(search.steps, step, slot, 0)
    turns = jax.lax.dynamic_update_index_in_dim(search.turns, turn, slot, 0)
    # The first step has no difference to a last point.
    products = jnp.where(search.number > 0, jnp.sum(jnp.conj(turns) * turn[None], axis=-1), 0)
    products = jax.lax.dynamic_update_index_in_dim(search.products, products, slot, 1)
    products = jax.lax.dynamic_update_index_in_dim(products, jnp.conj(products[:, slot]), slot, 0)
    products = jnp.where((idle % _PATIENCE == 0) & (idle > 0), 0, products)
    factors = _combination(products, jnp.sum(jnp.conj(turns) * relative[None], axis=-1))
    plain = g + move / 2
    change = jnp.sum(factors[..., None] * (steps + turns / 2), axis=0)
    there = plain - times(change, size)
    # Where it would leave the half plane: the mirror image is as near to a real solution, and the imaginary part of the
    # plain step is farther from a wrong one.
    inside = jnp.where(search.is_first, -jnp.imag(there), jnp.imag(plain))
    there = jax.lax.complex(jnp.real(there), jnp.where(jnp.imag(there) > 0, inside, jnp.imag(there)))
    usable = jnp.all(jnp.isfinite(jnp.real(there)) & jnp.isfinite(jnp.imag(there)) & (there != 0), axis=-1)
    there = jnp.where(usable[..., None], there, plain)
    best = jnp.where(better[..., None], g, search.best)
    at = jnp.where(done[..., None], g, there)
    return _Search(at, g, move, steps, turns, products, best, lowest, idle, done, search.number + 1, search.is_first)


def _combination(products: Complex[Array, "d d ..."], right: Complex[Array, "d ..."]) -> Complex[Array, "d ..."]:
    """The factors c for which the movement less the sum of c times the turns is least.

    Args:
        products: the scalar products of the turns with each other; 0 for forgotten ones.
        right: those of the turns with the movement.
    """
    depth = right.shape[0]
    squares = jnp.real(products[np.arange(depth), np.arange(depth)])
    known = squares > 0
    inverse = jnp.where(known, jax.lax.rsqrt(jnp.where(known, squares, 1)), 0)
    matrix, right = products * like(products, inverse[:, None] * inverse[None]), right * like(right, inverse)
    identity = jnp.eye(depth, dtype=squares.dtype).reshape(depth, depth, *[1] * (squares.ndim - 1))
    ridge = like(squares, ~known)[:, None] + float(jnp.finfo(squares.dtype).eps) ** 0.8
    matrix = matrix + like(products, identity * ridge)
    for i in range(depth):
        row, value = matrix[i] / matrix[i, i][None], right[i] / matrix[i, i]
        others = matrix[:, i] * like(matrix, np.arange(depth) != i).reshape(-1, *[1] * (squares.ndim - 1))
        matrix = (matrix - others[:, None] * row[None]).at[i].set(row)
        right = (right - others * value[None]).at[i].set(value)
    return right * like(right, inverse)
