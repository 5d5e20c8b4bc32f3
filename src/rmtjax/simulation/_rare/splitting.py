r"""Probabilities P(statistic > threshold) for any statistic of the tridiagonal matrix, by multilevel splitting.

$$P(S > t) = P(S > t_1)\, P(S > t_2 \mid S > t_1) \cdots P(S > t \mid S > t_k), \qquad t_1 < \dots < t_k < t.$$

Particles are matrices, given by their independent entries. At a level those above it are copied in place of the others,
and all of them move within the set above the level (Cérou and Guyader 2007, Stoch. Anal. Appl. 25, 417; Cérou, Del
Moral, Furon and Guyader 2012, Stat. Comput. 22, 795). A move leaves the law of the entries invariant exactly, and is
undone if it leads below the level. A normal entry x becomes $\sqrt{1 - η}\,x + \sqrt{η}\,ξ$. A gamma entry G of any
real shape a becomes $B G + W$ with B ~ Beta(a(1 - η), aη) and W ~ Γ(aη). So G and the new entry are sums of the same
Γ(a(1 - η)) variate and one of two independent Γ(aη) variates, and the move is reversible (Lewis, McKenzie and Hugus
1989, Stoch. Models 5, 1).

Adaptive levels would make the estimate biased, and its error hard to know. So a first run chooses levels and step
sizes, and a second run, with other random numbers, keeps them. Given these, copies in equal expected numbers and moves
that leave the law invariant make the estimate of each group of particles unbiased (Del Moral 2004, Feynman-Kac
Formulae, chapter 7), and the groups are independent.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._ordering import in_order
from rmtjax._promotion import aligned, like
from rmtjax._threefry import unrolled
from rmtjax._typing import KeyScalar
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import AbstractEntries
from rmtjax.random.internal import log_ratio
from rmtjax.simulation._structure import Structure, kept_for_structure, split

# Particles in a group. Estimates of groups spread by a factor of 2 at 1e-8 and of 5 at 1e-30.
GROUP = 128
# Levels are chosen to be passed with this probability, where the relative variance at given cost, (1 - p)/(p log² p),
# is least. It is at most a tenth larger from 0.12 to 0.35.
_PASSED = 0.2
# Moves of each particle at a level, and the fraction of them that should succeed.
_MOVES = 10
_ACCEPTED = 0.3
# This number of levels suffices for a probability of 1e-175.
_MOST_LEVELS = 250


class _Particles(NamedTuple):
    """Groups of matrices: the variates of their rows, and their statistic."""

    first: Float[Array, "groups size n"]
    second: Float[Array, "groups size n"]
    statistic: Float[Array, "groups size"]


class _Ladder(NamedTuple):
    """The levels, and the step sizes of the moves at each of them."""

    levels: Float[Array, " k"]
    steps: Float[Array, " k"]


def log_weights(
    entries: AbstractEntries,
    statistic: Callable[[SymTridiagonal], Any],
    threshold: Float[Array, ""],
    key: KeyScalar,
    num_groups: int,
    *,
    above: bool,
) -> Float[Array, " m"]:
    """Logarithms of unbiased estimates of P(statistic > threshold), or of < if not `above`, one for each group."""
    operands, structure = split(statistic)
    return _program(structure, num_groups, above)(entries, operands, threshold, key)


@kept_for_structure
def _program(statistic: Structure, num_groups: int, above: bool) -> Callable:
    """A jitted function for this statistic only, so that its program is freed with the function."""
    return jax.jit(partial(_split_twice, statistic, num_groups, above))


def _split_twice(
    statistic: Structure,
    num_groups: int,
    above: bool,
    entries: AbstractEntries,
    operands: list[Array],
    threshold: Float[Array, ""],
    key: KeyScalar,
) -> Float[Array, " m"]:
    sign = 1 if above else -1
    of_matrix = statistic.combine(operands)

    def evaluate(first: Float[Array, " n"], second: Float[Array, " n"]) -> Float[Array, ""]:
        value = jnp.asarray(of_matrix(entries.matrix(first, second)))
        if value.shape != () or not jnp.issubdtype(value.dtype, jnp.number) or jnp.iscomplexobj(value):
            raise _checks.refusal("statistic", "return a real number", value)
        value = sign * value.astype(threshold.dtype)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    run = partial(_run, entries, jax.vmap(jax.vmap(evaluate)), sign * threshold, num_groups)
    empty = _Ladder(*(jnp.zeros(_MOST_LEVELS, threshold.dtype) for _ in range(2)))

    # Both runs are one loop of two turns, so that the program has the moves once.
    def again(turn: Array, state: tuple[_Ladder, Array]) -> tuple[_Ladder, Array]:
        return run(jax.random.fold_in(unrolled(key), turn), state[0], turn == 0)

    return jax.lax.fori_loop(0, 2, again, (empty, jnp.zeros(num_groups, threshold.dtype)))[1]


def _run(
    entries: AbstractEntries,
    evaluate: Callable,
    threshold: Float[Array, ""],
    num_groups: int,
    key: KeyScalar,
    ladder: _Ladder,
    adaptive: Array,
) -> tuple[_Ladder, Float[Array, " groups"]]:
    """One pass over all levels: the levels used, and the estimate of each group."""
    key_start, key_levels = jax.random.split(key)
    shapes = [jnp.where(shape > 0, shape, 1) for shape in entries.shapes()]
    size = (num_groups, GROUP, entries.n)
    ratios = _log_ratios(key_start, shapes, size)
    first, second = (jnp.multiply(*aligned(shape, jnp.exp(ratio))) for shape, ratio in zip(shapes, ratios, strict=True))
    if entries.normal_diagonal:
        first = jax.random.normal(jax.random.fold_in(key_start, 1), size, threshold.dtype)
    particles = _Particles(first, second, evaluate(first, second))

    def unfinished(state: tuple) -> Array:
        number, level = state[:2]
        return (number < _MOST_LEVELS) & (level < threshold)

    def next_level(state: tuple) -> tuple:
        number, _, step, ladder, log_weights, particles = state
        chosen = jnp.minimum(_next_level(particles.statistic), threshold)
        level = jnp.where(adaptive, jnp.where(number == _MOST_LEVELS - 1, threshold, chosen), ladder.levels[number])
        step = jnp.where(adaptive, step, ladder.steps[number])
        above = particles.statistic > level
        log_weights += jnp.log(jnp.mean(above, axis=1, dtype=level.dtype))
        key_copies, key_moves = jax.random.split(jax.random.fold_in(key_levels, number))
        particles = _copied(key_copies, particles, above)

        def move(turn: Array, state: tuple) -> tuple:
            step, particles = state
            proposed = _moved(entries, jax.random.fold_in(key_moves, turn), shapes, particles, step, evaluate)
            accepted = proposed.statistic > level
            choose = lambda new, old: jnp.where(accepted.reshape(accepted.shape + (1,) * (new.ndim - 2)), new, old)
            change = jnp.exp(jnp.mean(accepted, dtype=step.dtype) - _ACCEPTED)
            step = jnp.where(adaptive, jnp.clip(step * change, 1e-5, 0.9), step)
            return step, jax.tree.map(choose, proposed, particles)

        moves = jnp.where(level < threshold, _MOVES, 0)
        step, particles = jax.lax.fori_loop(0, moves, move, (step, particles))
        ladder = _Ladder(ladder.levels.at[number].set(level), ladder.steps.at[number].set(step))
        return number + 1, level, step, ladder, log_weights, particles

    start = (0, jnp.asarray(-jnp.inf, threshold.dtype), jnp.asarray(0.5, threshold.dtype), ladder)
    end = jax.lax.while_loop(unfinished, next_level, (*start, jnp.zeros(num_groups, threshold.dtype), particles))
    return end[3], end[4]


def _next_level(statistic: Float[Array, "groups size"]) -> Float[Array, ""]:
    """A level that the wanted fraction of particles exceeds, or if many are equal the largest that any exceeds."""
    ascending = in_order(statistic.ravel())
    quantile = ascending[int((1 - _PASSED) * ascending.size)]
    below = jnp.max(ascending, where=ascending < quantile, initial=-jnp.inf)
    return jnp.where(quantile < ascending[-1], quantile, below)


def _copied(key: KeyScalar, particles: _Particles, above: Array) -> _Particles:
    """Copies of the particles of each group that are above the level; their numbers differ by at most one."""
    first = jax.random.uniform(key, (len(above), 1))
    places = (first + like(first, jnp.arange(GROUP))[None]) / GROUP
    ranks = jnp.cumsum(above, axis=1)
    wanted = 1 + jnp.floor(places * like(places, ranks[:, -1:])).astype(ranks.dtype)
    chosen = jax.vmap(jnp.searchsorted)(ranks, jnp.minimum(wanted, ranks[:, -1:]))
    copies = lambda array: jax.vmap(lambda group, places: group[places])(array, chosen)
    return _Particles(*map(copies, particles))


def _moved(
    entries: AbstractEntries,
    key: KeyScalar,
    shapes: list[Float[Array, " n"]],
    particles: _Particles,
    step: Float[Array, ""],
    evaluate: Callable,
) -> _Particles:
    """The particles after one move of all of their entries."""
    key_gamma, key_normal = jax.random.split(key)
    gamma_shapes = shapes[1:] if entries.normal_diagonal else shapes
    parts = [part for shape in gamma_shapes for part in (shape * (1 - step), shape * step, shape * step)]
    logs = _log_ratios(key_gamma, parts, particles.first.shape) + jnp.log(jnp.stack(parts))[:, None, None, :]
    thinned = lambda entry, kept, lost, new: jax.nn.sigmoid(kept - lost) * entry + jnp.exp(new)
    second = thinned(particles.second, *logs[-3:])
    if entries.normal_diagonal:
        noise = jax.random.normal(key_normal, particles.first.shape, particles.first.dtype)
        first = jnp.sqrt(1 - step) * particles.first + jnp.sqrt(step) * noise
    else:
        first = thinned(particles.first, *logs[:3])
    return _Particles(first, second, evaluate(first, second))


def _log_ratios(key: KeyScalar, shapes: list[Float[Array, " n"]], size: tuple) -> Float[Array, "k groups size n"]:
    """Logarithms of gamma variates over their shapes, all from one call."""
    stacked = jnp.stack(shapes)
    return log_ratio(key, jnp.broadcast_to(stacked[:, None, None, :], (len(shapes), *size)))
