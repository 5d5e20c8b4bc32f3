"""All draws, on the host."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import PyTree
from rmtjax.simulation._reducers.base import AbstractReducer, Draws
from rmtjax.simulation._reducers.kept_draws import NO_DRAW, KeptDraws, in_order


class _State(NamedTuple):
    index: Any
    values: PyTree


class Collect(AbstractReducer):
    """Keeps all draws, in the order of their numbers.

    A simulation without a reducer stacks its draws on the devices. `Collect` stacks them in the memory of the host,
    also together with other reducers, with a checkpoint, and over several processes. Memory grows with the number of
    draws, and for each batch the host copies all draws so far.

    Example:
        >>> import jax, rmtjax as rmt
        >>> reduce = (rmt.Moments(), Collect())
        >>> moments, all_draws = rmt.simulate(jax.random.normal, jax.random.key(0), 100, reduce=reduce)
        >>> print(all_draws.values.shape, bool(abs(all_draws.values.mean() - moments.mean) < 1e-6))
        (100,) True
    """

    keeps_draws = True

    def init(self, draw: PyTree) -> _State:
        return _State(np.zeros(0, np.uint32), jax.tree.map(lambda leaf: np.zeros((0, *leaf.shape), leaf.dtype), draw))

    def update(self, state: _State, draws: Draws) -> _State:
        index = jnp.where(draws.valid, draws.index, NO_DRAW)
        behind = lambda left, right: jnp.concatenate([left, right])
        return _State(behind(state.index, index), jax.tree.map(behind, state.values, draws.values))

    def merge(self, left: _State, right: _State) -> _State:
        behind = lambda a, b: np.concatenate([a[left.index != NO_DRAW], b[right.index != NO_DRAW]])
        return _State(behind(left.index, right.index), jax.tree.map(behind, left.values, right.values))

    def finish(self, state: _State) -> KeptDraws:
        return in_order(state.values, state.index, len(state.index))
