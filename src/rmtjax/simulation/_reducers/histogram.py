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

# Up to this many values, those of a draw are compared in pairs; more are counted in an array of draws and bins.
_MOST_PAIRED = 16
# The size of that array, which should not leave the cache of a core.
_MOST_COUNTS = 2**17


class _State(NamedTuple):
    """Sums over the draws, for each place: below the edges, in a bin, above the edges, and not a number.

    Args:
        draws: how many.
        counts: of the values of a draw in a place, c.
        squares: of c².
        products: of ct, where t is the number of all values of the draw; None if that is a constant.
        lengths: of t²; None if that is a constant.
    """

    draws: Any
    counts: Any
    squares: Any
    products: Any
    lengths: Any


class Histogram(AbstractReducer):
    r"""Counts all values of all draws into bins, exactly.

    Bins are half-open, [a, b), and the last one is closed, as in numpy. Every real array that the function returns is
    counted, a `Spectrum` or `PaddedMatrix` with what counts. Totals are 64-bit integers whatever the dtype of
    the values.

    Values of one draw depend on one another: levels repel, so that their counts fluctuate much less than those of
    independent values. Standard errors therefore come from the draws, which are independent. With $c_i$ values of draw
    i in a bin, $t_i$ values of it in all, and $p = \sum c_i / \sum t_i$ as the share of the bin,
    $$\operatorname{var} p \approx \frac{m}{m - 1} \frac{\sum_i (c_i - p t_i)^2}{(\sum_i t_i)^2}$$
    for m draws. The sums are exact integers. An error needs some tens of draws with a value in the bin.

    Args:
        edges: at least two finite numbers in strictly ascending order; compared in the dtype of the values.

    Raises:
        ValueError: the edges are fewer than two, not finite or not ascending; a value is complex, NaN, or an integer
            that JAX's default float rounds.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> uniform = lambda key: jax.random.uniform(key, (5,))
        >>> result = rmt.simulate(uniform, jax.random.key(0), 100, reduce=Histogram(jnp.linspace(0, 1, 3)))
        >>> print(result.total, (abs(result.density() - 1) < 4 * result.standard_error).all())
        500 True

    References:
        Half-open bins: the convention of `numpy.histogram`. The variance of a ratio of means: Cochran (1977), Sampling
        Techniques, chapter 6.
    """

    edges: Annotated[Float[Array, " k+1"], _checks.STRICTLY_ASCENDING]

    def __init__(self, edges: RealLike):
        self.edges = _checks.edges("edges", edges)

    def init(self, draw: PyTree) -> _State:
        """No draws."""
        places = self.edges.size + 2
        varies = any(map(is_padded, jax.tree.leaves(draw, is_leaf=is_padded)))
        products, lengths = (_exact.zeros((places,)), _exact.zeros((1,))) if varies else (None, None)
        return _State(np.int64(0), np.zeros(places, np.int64), _exact.zeros((places,)), products, lengths)

    def update(self, state: _State, draws: Draws) -> _State:
        """The sums with those of these draws added."""
        entries = pooled_entries(draws, "a histogram")
        place = jnp.concatenate([self._places(values) for values, _ in entries], axis=1)
        mask = jnp.concatenate([mask for _, mask in entries], axis=1)
        state = state._replace(draws=state.draws + jnp.sum(draws.valid, dtype=state.draws.dtype))
        return _added(state, jnp.where(mask, place, self.edges.size + 2), mask)

    def merge(self, left: _State, right: _State) -> _State:
        """The sums of both."""
        words = lambda a, b: None if a is None else _exact.merged(a, b)
        return _State(left.draws + right.draws, left.counts + right.counts, *map(words, left[2:], right[2:]))

    def finish(self, state: _State) -> HistogramResult:
        """Counts, edges, the numbers of values outside, and standard errors."""
        if not_a_number := int(state.counts[-1]):
            raise nan_refused(not_a_number, int(state.counts.sum()))
        below, *counts, above = map(int, state.counts[:-1])
        draws, total = int(state.draws), below + above + sum(counts)
        edges = np.asarray(self.edges)
        in_bins = lambda words: _exact.integers(words)[1:-2]
        squares, sums = in_bins(state.squares), np.array(counts, object)
        if state.products is None or state.lengths is None:
            of_share = squares * draws - sums**2, total**2
        else:
            length = _exact.integers(state.lengths)[0]
            residuals = squares * total**2 - 2 * sums * total * in_bins(state.products) + sums**2 * length
            of_share = residuals * draws, total**4
        root = lambda numerator, denominator: np.sqrt(_ratio(numerator, denominator * (draws - 1)))
        return HistogramResult(
            np.array(counts, np.int64),
            edges,
            below,
            above,
            draws,
            root(*of_share) / np.diff(edges),
            root(squares * draws - sums**2, 1),
        )

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
    """The state with these draws; values that do not count have a place beyond the last one."""
    draws, numbers = place.shape
    places = state.counts.size
    paired = numbers <= _MOST_PAIRED
    # No sum of 32 bits overflows within a block. Where single products do, a block is one draw.
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
    """Each value adds the number of values that share its place to the squares: c of them add c²."""
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
    """The values of each draw are counted, and their numbers squared."""
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
