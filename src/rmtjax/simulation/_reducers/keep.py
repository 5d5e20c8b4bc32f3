"""A random sample of the draws."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from rmtjax import _checks
from rmtjax._threefry import unrolled
from rmtjax._typing import PyTree
from rmtjax.simulation._reducers.base import AbstractReducer, Draws
from rmtjax.simulation._reducers.kept_draws import NO_DRAW, KeptDraws, in_order

# A simulation may have a key with the same seed. With this number folded in, ranks do not share keys with draws.
_RANKS = 0x6B656570


class _State(NamedTuple):
    """The draws of lowest rank so far, in the order of their ranks.

    Args:
        draws: number of draws seen.
        rank: two words of 32 bits for each.
        index: the number of each draw.
        values: the draws, stacked.
    """

    draws: Any
    rank: Any
    index: Any
    values: PyTree


class Keep(AbstractReducer):
    r"""Keeps k of the draws, chosen at random, each set of k with the same probability.

    Draw i has a random rank, 64 bits of the block cipher Threefry that depend on i and `seed` alone. The k draws of
    lowest rank are kept, because random ranks come in every order with the same probability. A cipher gives different
    numbers different ranks, so the choice depends on the number of draws and the seed alone: neither on batches and
    devices nor on the values.

    Args:
        k: number of draws to keep, at least 1; with fewer than k draws, all are kept.
        seed: an integer from 0 on, which chooses among the samples.

    Example:
        >>> import jax, rmtjax as rmt
        >>> kept = rmt.simulate(rmt.GOE(4).eigenvalues, jax.random.key(0), 1000, reduce=Keep(3))
        >>> print(kept.values.shape, kept.draws)
        (3, 4) 1000

    References:
        Salmon, Moraes, Dror and Shaw (2011), Proc. SC11, article 16, for Threefry.
    """

    k: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)

    def __init__(self, k: int, seed: int = 0):
        self.k = _checks.integer("k", k, at_least=1)
        self.seed = _checks.integer("seed", seed, at_least=0)

    def init(self, draw: PyTree) -> _State:
        nothing = lambda leaf: np.zeros((self.k, *leaf.shape), leaf.dtype)
        index = np.full(self.k, NO_DRAW, np.uint32)
        return _State(np.int64(0), np.stack([index, index], axis=1), index, jax.tree.map(nothing, draw))

    def update(self, state: _State, draws: Draws) -> _State:
        index = jnp.where(draws.valid, draws.index, NO_DRAW)
        rank = jnp.where(draws.valid[:, None], self._ranks(draws.index), NO_DRAW)
        number = state.draws + jnp.sum(draws.valid, dtype=state.draws.dtype)
        # Most batches of a long run have no draw to keep, and then nothing is sorted.
        is_news = jnp.any(draws.valid & (rank[:, 0] <= state.rank[-1, 0]))
        kept = jax.lax.cond(is_news, _lowest, lambda kept, batch: kept, state[1:], (rank, index, draws.values))
        return _State(number, *kept)

    def merge(self, left: _State, right: _State) -> _State:
        together = jax.tree.map(lambda a, b: np.concatenate([a, b]), left[1:], right[1:])
        rank, index, _ = together
        lowest = np.lexsort((index, rank[:, 1], rank[:, 0]))[: self.k]
        return _State(left.draws + right.draws, *jax.tree.map(lambda leaf: leaf[lowest], together))

    def finish(self, state: _State) -> KeptDraws:
        return in_order(state.values, state.index, int(state.draws))

    def _ranks(self, index: UInt32[Array, " m"]) -> UInt32[Array, "m 2"]:
        key = jax.random.fold_in(unrolled(jax.random.key(self.seed, impl="threefry2x32")), _RANKS)
        return jax.random.key_data(jax.vmap(jax.random.fold_in, (None, 0))(key, index))


def _lowest(kept: tuple, batch: tuple) -> tuple:
    """The lowest ranks of both sets of draws, as many as the first set has."""
    size = len(kept[1])
    together = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), kept, batch)
    rank, index, _ = together
    order = jax.lax.sort((rank[:, 0], rank[:, 1], index, jnp.arange(len(index))), num_keys=3)[-1][:size]
    return jax.tree.map(lambda leaf: leaf[order], together)
