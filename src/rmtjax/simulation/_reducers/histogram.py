"""Exact counts of pooled values in bins, with the variance of the counts over the draws."""

import math
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt

from rmtjax import _checks
from rmtjax._typing import PyTree, RealLike
from rmtjax.simulation._reducers import _exact
from rmtjax.simulation._reducers._pooled import nan_refused, pooled_entries
from rmtjax.simulation._reducers.base import AbstractReducer, Draws, is_padded
from rmtjax.simulation._reducers.histogram_result import HistogramResult

# Up to this many values of a draw are compared in pairs. More are counted in an array of draws and bins.
_MOST_PAIRED = 16
# The largest size of that array, which should not leave the cache of a core.
_MOST_COUNTS = 2**17


class _State(NamedTuple):
    """Sums over the draws, for each place: below the edges, each bin, above the edges, and NaN.

    With c for the number of values of a draw in a place, and t for the number of all its values:

    Args:
        draws: the number of draws.
        counts: sums of c.
        squares: sums of c².
        products: sums of ct; None if t is constant.
        lengths: the sum of t²; None if t is constant.
    """

    draws: Any
    counts: Any
    squares: Any
    products: Any
    lengths: Any


class Histogram(AbstractReducer):
    r"""Counts all values of all draws into bins, exactly.

    Bins are half-open, [a, b), and the last one is closed, as in numpy. All values of all real arrays count, except for
    padding and masked values. Totals are 64-bit integers for values of any dtype.

    Values of one draw depend on one another: levels repel, so their counts fluctuate much less than counts of
    independent values. Standard errors therefore come from the draws, which are independent. For m draws, of which draw
    i has $t_i$ values in all and $c_i$ values in a bin of the share $p = \sum c_i / \sum t_i$,
    $$\operatorname{var} p \approx \frac{m}{m - 1} \frac{\sum_i (c_i - p t_i)^2}{(\sum_i t_i)^2}.$$
    The sums are exact integers. An error needs some tens of draws with a value in the bin.

    Args:
        edges: at least two finite numbers in strictly ascending order; compared in the dtype of the values.

    Raises:
        ValueError: a value is complex, NaN, or an integer that JAX's default float rounds.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> uniform = lambda key: jax.random.uniform(key, (5,))
        >>> result = rmt.simulate(uniform, jax.random.key(0), 100, reduce=Histogram(jnp.linspace(0, 1, 3)))
        >>> print(result.total, (abs(result.density() - 1) < 4 * result.standard_error).all())
        500 True

    References:
        Cochran (1977), Sampling Techniques, chapter 6, for the variance of a ratio of means; the convention of
        half-open bins is that of `numpy.histogram`.
    """

    edges: Annotated[Float[Array, " k+1"], _checks.STRICTLY_ASCENDING]

    def __init__(self, edges: RealLike):
        self.edges = _checks.edges("edges", edges)

    def init(self, draw: PyTree) -> _State:
        places = self.edges.size + 2
        varies = any(map(is_padded, jax.tree.leaves(draw, is_leaf=is_padded)))
        products, lengths = (_exact.zeros((places,)), _exact.zeros((1,))) if varies else (None, None)
        return _State(np.int64(0), np.zeros(places, np.int64), _exact.zeros((places,)), products, lengths)

    def update(self, state: _State, draws: Draws) -> _State:
        entries = pooled_entries(draws, "a histogram")
        place = jnp.concatenate([self._places(values) for values, _ in entries], axis=1)
        mask = jnp.concatenate([mask for _, mask in entries], axis=1)
        state = state._replace(draws=state.draws + jnp.sum(draws.valid, dtype=state.draws.dtype))
        return _added(state, jnp.where(mask, place, self.edges.size + 2), mask)

    def merge(self, left: _State, right: _State) -> _State:
        words = lambda a, b: None if a is None else _exact.merged(a, b)
        return _State(left.draws + right.draws, left.counts + right.counts, *map(words, left[2:], right[2:]))

    def finish(self, state: _State) -> HistogramResult:
        if not_a_number := int(state.counts[-1]):
            raise nan_refused(not_a_number, int(state.counts.sum()))
        below, *counts, above = map(int, state.counts[:-1])
        draws, total, edges = int(state.draws), below + above + sum(counts), np.asarray(self.edges)
        in_bins = lambda words: _exact.integers(words)[1:-2]
        squares, sums = in_bins(state.squares), np.array(counts, object)
        if state.products is None or state.lengths is None:
            of_share = squares * draws - sums**2, total**2
        else:
            length = _exact.integers(state.lengths)[0]
            residuals = squares * total**2 - 2 * sums * total * in_bins(state.products) + sums**2 * length
            of_share = residuals * draws, total**4
        root = lambda numerator, denominator: np.sqrt(_ratio(numerator, denominator * (draws - 1)))
        errors = root(*of_share) / np.diff(edges), root(squares * draws - sums**2, 1)
        return HistogramResult(np.array(counts, np.int64), edges, below, above, draws, *errors)

    def _places(self, values: Float[Array, "m n"]) -> Int[Array, "m n"]:
        """The place of each value of each draw."""
        num_edges = self.edges.size
        edges = self.edges.astype(values.dtype)
        place = jnp.searchsorted(edges, values, side="right")
        place = jnp.where(values == edges[-1], num_edges - 1, place)
        return jnp.where(jnp.isnan(values), num_edges + 1, place)


def _ratio(numerator: np.ndarray, denominator: int) -> Float[np.ndarray, " k"]:
    """Quotients of integers of any size, NaN for a denominator of 0."""
    return np.array([each / denominator if denominator > 0 else math.nan for each in numerator])


def _added(state: _State, place: Int[Array, "m n"], mask: Bool[Array, "m n"]) -> _State:
    """The state with these draws added; values that do not count have a place beyond the last one."""
    draws, numbers = place.shape
    places = state.counts.size
    paired = numbers <= _MOST_PAIRED
    # No 32-bit sum overflows within a block. If single products overflow, a block is one draw.
    block = max(1, min(draws, (2**32 - 1) // max(numbers, 1) ** 2, draws if paired else _MOST_COUNTS // places))
    add = _paired if paired else _counted if numbers < 2**16 else _of_large_draw
    if block == draws:
        return add(state, place, mask)
    blocks = -(-draws // block)
    filled = lambda array, value: jnp.pad(array, ((0, blocks * block - draws), (0, 0)), constant_values=value)
    shaped = lambda array: array.reshape(blocks, block, numbers)
    shaped_places, shaped_masks = shaped(filled(place, places)), shaped(filled(mask, False))
    step = lambda i, state: add(state, shaped_places[i], shaped_masks[i])
    return jax.lax.fori_loop(0, blocks, step, state)


def _paired(state: _State, place: Int[Array, "m n"], mask: Bool[Array, "m n"]) -> _State:
    """Add to the squares, for each value, the number of values in its place: c values together add c²."""
    columns = [mask.astype(jnp.uint32)]
    if place.shape[1] > 1:
        columns.append(jnp.sum(place[:, :, None] == place[:, None, :], axis=2, dtype=jnp.uint32))
    length = jnp.sum(mask, axis=1, dtype=jnp.uint32)
    if state.products is not None:
        columns.append(jnp.broadcast_to(length[:, None], place.shape))
    sums = [jnp.zeros(state.counts.size, jnp.uint32).at[place].add(column) for column in columns]
    squares = sums[min(1, place.shape[1] - 1)]
    products, lengths = (None, None) if state.products is None else (sums[-1], jnp.sum(length**2)[None])
    return _with_sums(state, sums[0], squares, products, lengths)


def _counted(state: _State, place: Int[Array, "m n"], mask: Bool[Array, "m n"]) -> _State:
    """Count the values of each draw, and square the counts."""
    counts = _counts(state, place)
    length = jnp.sum(mask, axis=1, dtype=jnp.uint32)[:, None]
    total = lambda array: jnp.sum(array, axis=0, dtype=jnp.uint32)
    products, lengths = (None, None) if state.products is None else (total(counts * length), total(length**2))
    return _with_sums(state, total(counts), total(counts**2), products, lengths)


def _of_large_draw(state: _State, place: Int[Array, "1 n"], mask: Bool[Array, "1 n"]) -> _State:
    """Same as `_counted` for one draw, whose squares may not fit into 32 bits."""
    counts, length = _counts(state, place)[0], jnp.sum(mask, dtype=jnp.uint32)[None]
    products = None if state.products is None else _exact.added_product(state.products, counts, length)
    lengths = None if state.lengths is None else _exact.added_product(state.lengths, length, length)
    squares = _exact.added_product(state.squares, counts, counts)
    return _State(state.draws, state.counts + counts.astype(state.counts.dtype), squares, products, lengths)


def _counts(state: _State, place: Int[Array, "m n"]) -> UInt[Array, "m p"]:
    rows = jnp.arange(place.shape[0])[:, None]
    return jnp.zeros((place.shape[0], state.counts.size), jnp.uint32).at[rows, place].add(1)


def _with_sums(state: _State, counts: Array, squares: Array, products: Array | None, lengths: Array | None) -> _State:
    word = lambda words, sums: words if sums is None else _exact.added(words, sums)
    return _State(
        state.draws,
        state.counts + counts.astype(state.counts.dtype),
        word(state.squares, squares),
        word(state.products, products),
        word(state.lengths, lengths),
    )
