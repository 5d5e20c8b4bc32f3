"""The smallest and the largest of all values."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree
from rmtjax.simulation._reducers._pooled import nan_refused, pooled, pooled_dtype
from rmtjax.simulation._reducers.base import AbstractReducer, Draws
from rmtjax.simulation._reducers.kept_draws import NO_DRAW


class ExtremesResult(AbstractModule):
    """The smallest and the largest values of all draws.

    Args:
        smallest: the smallest values, ascending.
        smallest_index: the number of the draw that each comes from; `fn(jax.random.fold_in(key, i))` makes draw i
            again.
        largest: the largest values, descending.
        largest_index: the numbers of their draws.
        draws: number of draws.
        total: number of values.

    Example:
        >>> import numpy as np
        >>> result = ExtremesResult(np.array([-2.1]), np.array([7]), np.array([2.3]), np.array([0]), 100, 400)
        >>> print(f"draw {result.largest_index[0]} holds the largest value, {result.largest[0]}")
        draw 0 holds the largest value, 2.3
    """

    smallest: Float[np.ndarray, " k"]
    smallest_index: Int[np.ndarray, " k"]
    largest: Float[np.ndarray, " k"]
    largest_index: Int[np.ndarray, " k"]
    draws: int
    total: int


class _State(NamedTuple):
    """The extremes so far. Values at the upper end have their signs changed, so that both ends are treated alike.

    Args:
        draws: number of draws.
        total: number of values.
        not_a_number: how many of them are NaN.
        values: the smallest values, and the smallest of minus the values, ascending.
        index: the numbers of their draws.
    """

    draws: Any
    total: Any
    not_a_number: Any
    values: Any
    index: Any


class Extremes(AbstractReducer):
    """Keeps the k smallest and the k largest of all values, and the numbers of their draws.

    All values of all real arrays count, except for padding and masked values. Of equal values those of earlier draws
    are kept.

    Args:
        k: number of values at each end, at least 1; with fewer than k values, all are kept.

    Raises:
        ValueError: a value is complex, NaN, or an integer that JAX's default float rounds.

    Example:
        >>> import jax, rmtjax as rmt
        >>> goe, key = rmt.GOE(10), jax.random.key(0)
        >>> result = rmt.simulate(goe.eigenvalues, key, 1000, reduce=Extremes(2))
        >>> again = goe.eigenvalues(jax.random.fold_in(key, result.largest_index[0]))
        >>> print(result.largest.shape, bool(abs(again[-1] - result.largest[0]) < 1e-5))
        (2,) True
    """

    k: int = eqx.field(static=True)

    def __init__(self, k: int = 1):
        self.k = _checks.integer("k", k, at_least=1)

    def init(self, draw: PyTree) -> _State:
        shape, none = (2, self.k), np.int64(0)
        return _State(none, none, none, np.full(shape, np.inf, pooled_dtype(draw)), np.full(shape, NO_DRAW, np.uint32))

    def update(self, state: _State, draws: Draws) -> _State:
        values, mask = pooled(draws, "extremes", state.values.dtype)
        number = lambda which: jnp.sum(which, dtype=state.total.dtype)
        is_nan = mask & jnp.isnan(values)
        candidates = [self._candidates(each, mask & ~is_nan, draws.index) for each in (values, -values)]
        kept = [_smallest(*each) for each in zip(state.values, state.index, candidates, strict=True)]
        return _State(
            state.draws + number(draws.valid),
            state.total + number(mask),
            state.not_a_number + number(is_nan),
            jnp.stack([values for values, _ in kept]),
            jnp.stack([index for _, index in kept]),
        )

    def merge(self, left: _State, right: _State) -> _State:
        values = np.concatenate([left.values, right.values], axis=1)
        index = np.concatenate([left.index, right.index], axis=1)
        order = [np.lexsort((i, x))[: self.k] for x, i in zip(values, index, strict=True)]
        taken = [np.take_along_axis(each, np.array(order), axis=1) for each in (values, index)]
        return _State(*(a + b for a, b in zip(left[:3], right[:3], strict=True)), *taken)

    def finish(self, state: _State) -> ExtremesResult:
        if state.not_a_number:
            raise nan_refused(int(state.not_a_number), int(state.total))
        size = min(self.k, int(state.total))
        (smallest, largest), (first, last) = state.values[:, :size], state.index[:, :size].astype(np.int64)
        return ExtremesResult(smallest, first, 0.0 - largest, last, int(state.draws), int(state.total))

    def _candidates(
        self, values: Float[Array, "m n"], mask: Bool[Array, "m n"], index: UInt32[Array, " m"]
    ) -> tuple[Float[Array, " k"], UInt32[Array, " k"]]:
        """The smallest values of a batch; of equal values the first ones, whose draws have lower numbers."""
        largest = jnp.finfo(values.dtype).max
        # An infinite value goes before a masked one.
        rank = jnp.where(mask, jnp.maximum(-values, -largest), -jnp.inf)
        rank = jnp.where(rank == 0, 0, rank)  # `top_k` puts 0 before -0.
        # On a CPU XLA selects from one axis of float32 three hundred times as fast as it sorts.
        _, place = jax.lax.top_k(rank.ravel(), min(self.k, rank.size))
        chosen, draw = mask.ravel()[place], index[place // max(1, values.shape[1])]
        return jnp.where(chosen, values.ravel()[place], jnp.inf), jnp.where(chosen, draw, NO_DRAW)


def _smallest(values: Array, index: Array, candidates: tuple[Array, Array]) -> tuple[Array, Array]:
    """The smallest of both sets of values, as many as the first set has."""
    together = jnp.concatenate([values, candidates[0]]), jnp.concatenate([index, candidates[1]])
    ordered = jax.lax.sort(together, num_keys=2)
    return ordered[0][: len(values)], ordered[1][: len(values)]
