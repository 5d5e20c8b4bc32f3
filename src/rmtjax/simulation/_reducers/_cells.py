"""Counts of floating-point numbers in cells, which are as fine as their largest number allows.

The code of a number is its bits as an integer, changed so that codes ascend with the numbers. Numbers whose codes
differ only in the last r bits share a cell. For a set of numbers r is the least number for which at most `size` cells
are occupied. These cells are kept, with exact counts. More numbers occupy more cells, so a set has an r no smaller than
any of its parts, and the cells of the parts can be joined to the cells of the set. So the cells of a set do not depend
on how it was put together.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt

from rmtjax._ordering import rank_of
from rmtjax._promotion import like


class Cells(NamedTuple):
    """The occupied cells.

    Args:
        shift: the number r of bits that are left out.
        codes: the common bits of the numbers in each cell, ascending; the largest integer where there is no cell.
        counts: how many numbers are in each cell.
        first: the code of the smallest number.
        last: the code of the largest number.
    """

    shift: Any
    codes: Any
    counts: Any
    first: Any
    last: Any


def _none(codes: Any) -> Any:
    """The code of a place without a cell, which is the code of a NaN."""
    return np.array(np.iinfo(codes.dtype).max, codes.dtype)[()]


def unsigned(dtype: np.dtype) -> np.dtype:
    """The dtype of the codes of float32 or float64."""
    return np.dtype(f"uint{8 * dtype.itemsize}")


def empty(size: int, dtype: np.dtype) -> Cells:
    """The cells of no numbers of a dtype."""
    word = unsigned(dtype).type
    none = _none(word(0))
    return Cells(np.int64(0), np.full(size, none), np.zeros(size, np.int64), none, word(0))


def encoded(values: Float[Array, "..."]) -> UInt[Array, "..."]:
    """The codes of numbers that are not NaN."""
    word = unsigned(values.dtype).type
    sign = word(1) << word(8 * values.dtype.itemsize - 1)
    rank = rank_of(values)
    return jax.lax.bitcast_convert_type(jnp.where(rank == -1, 0, rank), word) ^ sign  # the zeros are equal


def decoded(codes: UInt[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The numbers of codes, on the host."""
    sign = codes.dtype.type(1) << codes.dtype.type(8 * codes.dtype.itemsize - 1)
    return np.where(codes >= sign, codes ^ sign, ~codes).view(f"float{8 * codes.dtype.itemsize}")


def added(cells: Cells, values: Float[Array, " m"], mask: Array) -> Cells:
    """The cells after adding the numbers in the mask, none of which may be NaN, on a device."""
    none = _none(cells.codes)
    codes = encoded(values)
    shifted = jnp.where(mask, codes >> cells.shift.astype(codes.dtype), none)
    batch = _joined(jnp.sort(shifted), jnp.ones(codes.size, cells.counts.dtype), cells.codes.size)
    # Both arrays ascend, so the place of a code among all follows from its place in the other array.
    ours, theirs = cells.codes >> batch.shift.astype(codes.dtype), batch.codes
    ours = jnp.where(cells.codes == none, none, ours)
    search = lambda among, of, side: like(own, jnp.searchsorted(among, of, side=side))
    own = jnp.arange(len(ours))
    place = own + search(theirs, ours, "left"), own + search(ours, theirs, "right")
    together = lambda a, b: jnp.zeros(2 * len(ours), a.dtype).at[place[0]].set(a).at[place[1]].set(b)
    joined = _joined(together(ours, theirs), together(cells.counts, batch.counts), len(ours))
    return Cells(
        cells.shift + (batch.shift + joined.shift).astype(cells.shift.dtype),
        joined.codes,
        joined.counts,
        jnp.minimum(cells.first, jnp.min(jnp.where(mask, codes, none))),
        jnp.maximum(cells.last, jnp.max(jnp.where(mask, codes, 0))),
    )


class _Joined(NamedTuple):
    shift: Any
    codes: Any
    counts: Any


def _joined(codes: UInt[Array, " m"], counts: Int[Array, " m"], size: int) -> _Joined:
    """The least number of bits to leave out of ascending codes so that `size` cells suffice, and these cells."""
    bits, none = 8 * codes.dtype.itemsize, _none(codes)
    exists = codes != none
    # Neighbours whose highest different bit is bit h, counted from 1, share a cell if h bits are left out.
    height = jnp.where(exists[1:], bits - jax.lax.clz(codes[1:] ^ codes[:-1]), 0).astype(jnp.int32)
    heights = jnp.zeros(bits + 1, jnp.int32).at[height].add(1)
    boundaries = codes.size - 1 - jnp.cumsum(heights)  # between cells, if 0, 1, … bits are left out
    shift = jnp.argmax(boundaries < size).astype(jnp.int32)
    begins = jnp.concatenate([exists[:1], height > shift])
    place = jnp.where(exists, jnp.cumsum(begins) - 1, size)
    of_cells = jnp.full(size, none, codes.dtype).at[place].set(codes >> shift.astype(codes.dtype))
    return _Joined(shift, of_cells, jnp.zeros(size, counts.dtype).at[place].add(counts))


def merged(left: Cells, right: Cells) -> Cells:
    """The cells of the numbers of both, on the host."""
    size, word = left.codes.size, left.codes.dtype.type
    shift = max(int(left.shift), int(right.shift))
    parts = [(each, each.counts > 0) for each in (left, right)]
    codes = np.concatenate([each.codes[there] >> word(shift - int(each.shift)) for each, there in parts])
    counts = np.concatenate([each.counts[there] for each, there in parts])
    cells, place = np.unique(codes, return_inverse=True)
    while cells.size > size:
        shift, codes = shift + 1, codes >> word(1)
        cells, place = np.unique(codes, return_inverse=True)
    result = empty(size, decoded(cells).dtype)
    result.codes[: cells.size] = cells
    np.add.at(result.counts, place, counts)
    first, last = min(left.first, right.first), max(left.last, right.last)
    return Cells(np.int64(shift), result.codes, result.counts, word(first), word(last))


def bounds(cells: Cells) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"], Int[np.ndarray, " k"]]:
    """The least and the largest number that may be in each cell, and the counts of the cells."""
    exists, word = cells.counts > 0, cells.codes.dtype.type
    lower = cells.codes[exists] << word(cells.shift)
    upper = lower | (word(1) << word(cells.shift)) - word(1)
    minus_zero = word(_none(upper) // 2)  # No number has this code: -0 counts as 0, in the next cell.
    upper = np.where(upper == minus_zero, minus_zero - word(1), upper)
    inside = lambda codes: decoded(np.clip(codes, cells.first, cells.last))
    return inside(lower), inside(upper), cells.counts[exists]
