"""Draws for the tests of reducers, and the laws that every reducer keeps."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import rmtjax as rmt
from rmtjax.simulation import _reduction
from rmtjax.spectra import internal

# All of these tests have the same number of draws, because a new shape is a new compilation.
DRAWS = 12

# Ends of three batches.
cuts = st.tuples(*(st.integers(0, DRAWS),) * 2).map(sorted)


def numbers(shape: tuple[int, ...], elements: st.SearchStrategy) -> st.SearchStrategy:
    """Arrays with a leading axis of draws."""
    size = DRAWS * int(np.prod(shape))
    array = lambda values: np.array(values, np.float64).reshape(DRAWS, *shape)
    return st.lists(elements, min_size=size, max_size=size).map(array)


def padded(values: Any, orders: Sequence[int]) -> rmt.Spectrum:
    """Spectra of these orders, from the first columns of an array, which may be infinite."""
    return internal.padded(jnp.asarray(np.sort(values, axis=1)), jnp.asarray(orders))


def padded_spectrum(key):
    """A spectrum of 1 to 6 levels, padded as in `rmt.Mixed`."""
    order = jax.random.randint(key, (), 1, 7)
    levels = jnp.where(jnp.arange(6) < order, jax.random.normal(key, (6,)), jnp.inf)
    return rmt.Spectrum(jnp.sort(levels), jnp.arange(6) < order)


def padded_matrix(key):
    """A block of order 1 to 6, all entries different from 0, with the padding of `rmt.Mixed`."""
    order = jax.random.randint(key, (), 1, 7)
    inside = jnp.arange(6) < order
    return rmt.PaddedMatrix(jnp.where(inside[:, None] & inside[None], jax.random.normal(key, (6, 6)), 0), order)


class Counted(rmt.simulation.AbstractReducer):
    """The number of draws."""

    def init(self, draw):
        return 0

    def update(self, state, draws):
        return state + draws.valid.sum()

    def merge(self, left, right):
        return left + right

    def finish(self, state):
        return int(state)


@eqx.filter_jit
def _updated(reduce: Any, states: Any, draws: rmt.simulation.Draws) -> Any:
    return _reduction.update(reduce, states, draws)


def state(reduce: Any, values: Any, start: int = 0, stop: int = DRAWS) -> Any:
    """The state on the host of the draws from start to stop, from one batch that is filled up with draws of NaN."""
    stacked = jax.tree.map(jnp.asarray, values)
    empty = _reduction.init(
        reduce, jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), stacked)
    )
    index = start + np.arange(DRAWS)
    valid = index < stop

    def batch(leaf: Any) -> Any:
        other = jnp.nan if jnp.issubdtype(leaf.dtype, jnp.inexact) else 1
        chosen = leaf[np.minimum(index, DRAWS - 1)]
        return jnp.where(valid.reshape(-1, *(1,) * (leaf.ndim - 1)), chosen, jnp.asarray(other, leaf.dtype))

    draws = rmt.simulation.Draws(jax.tree.map(batch, stacked), jnp.asarray(index, jnp.uint32), jnp.asarray(valid))
    return _reduction.merge(reduce, empty, _updated(reduce, jax.tree.map(jnp.asarray, empty), draws))


def check_monoid(reduce: Any, values: Any, ends: Sequence[int], same: Callable[[Any, Any], Any]) -> Any:
    """The result of all draws, which must not depend on how they are divided and which parts are merged first."""
    first, second = ends
    a, b, c = (state(reduce, values, *part) for part in ((0, first), (first, second), (second, DRAWS)))
    none = state(reduce, values, 0, 0)
    merge = lambda left, right: _reduction.merge(reduce, left, right)
    assert eqx.tree_equal(merge(none, b), b), "the state of no draws is not neutral"
    assert eqx.tree_equal(merge(b, none), b), "the state of no draws is not neutral"
    finished = lambda states: _reduction.finish(reduce, states)
    result = finished(state(reduce, values))
    for way in (merge(merge(a, b), c), merge(a, merge(b, c)), merge(merge(c, a), b), merge(c, merge(b, a))):
        same(finished(way), result)
    return result


def equal(left: Any, right: Any) -> None:
    """Results are the same bit for bit."""
    close(left, right, rtol=0)


def close(left: Any, right: Any, rtol: float = 1e-9, atol: float = 0.0) -> None:
    """Results agree to rounding, and are NaN in the same places."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def repetitions(reduce: Any, fn: Callable, key: jax.Array, number: int, draws: int) -> list:
    """The results of a reducer for many simulations, each of a single batch."""
    drawn = rmt.simulate(fn, key, number * draws)
    values = jax.tree.map(lambda leaf: leaf.reshape(number, draws, *leaf.shape[1:]), drawn)
    empty = _reduction.init(reduce, jax.eval_shape(fn, key))
    states = _all_updated(reduce, jax.tree.map(jnp.asarray, empty), values)
    host = jax.tree.map(np.asarray, states)
    one = lambda i: _reduction.merge(reduce, empty, jax.tree.map(lambda leaf: leaf[i], host))
    return [_reduction.finish(reduce, one(i)) for i in range(number)]


@eqx.filter_jit
def _all_updated(reduce: Any, states: Any, values: Any) -> Any:
    size = jax.tree.leaves(values)[0].shape[1]
    draws = lambda each: rmt.simulation.Draws(each, jnp.arange(size, dtype=jnp.uint32), jnp.ones(size, bool))
    return jax.lax.map(lambda each: _reduction.update(reduce, states, draws(each)), values)


def check_coverage(inside: Any) -> None:
    """Nominal intervals of 95 % hold the truth in 93 to 97 % of many repetitions, averaged over their places."""
    share = np.mean(inside)
    assert 0.93 <= share <= 0.97, f"{100 * share:.1f} % of the intervals hold the truth"
