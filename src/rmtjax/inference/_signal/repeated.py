"""Columns that repeat another one, which tests of the largest level take for a component of its own.

Noise with one column repeated has a population level of 2. At 100 × 50 a test at 5 % takes it for signal in 45 % of the
matrices, at 100 × 100 in 21 %, at 100 × 200 in 10 %. The levels do not always show it. With more columns than rows a
repeated column makes no level 0. Otherwise it makes one level 0, but so do, without any harm, rounding and columns that
add up to the same number in every row.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax.inference._core.sample_spectrum import each_alone

# Equal columns have equal weighted sums over the rows, up to the rounding of sums in another order and of entries that
# a constant was added to. Where single precision leaves three digits beside the mean, one such sum agrees by chance for
# 3 % of neighbours.
_SUMS = 5


def repeated_columns(data: Inexact[Array, "*batch n p"], *, center: bool) -> Int[Array, "*batch p-1"]:
    """The index of each column that repeats an earlier one or its negative, with -1 in the other places.

    With `center` the columns may also differ by a constant, which goes with the mean.
    """
    weights = _weights(data.shape[-2], data.dtype)
    return each_alone(partial(_repeated, weights, center=center, turned=False), jax.lax.stop_gradient(data))


def repeated_rows(data: Inexact[Array, "*batch n p"], *, center: bool) -> Int[Array, "*batch n-1"]:
    """The index of each row that repeats an earlier one, or its negative without `center`, and -1 in other places."""
    weights = _weights(data.shape[-1], data.dtype)
    return each_alone(partial(_repeated, weights, center=center, turned=True), jax.lax.stop_gradient(data))


def _weights(n: int, dtype: Any) -> Inexact[Array, "s n"]:
    index = jnp.arange(n, dtype=jnp.finfo(dtype).dtype)
    return jnp.stack([jnp.cos(m * index**2 + m) for m in range(1, _SUMS + 1)]).astype(dtype)


def _repeated(
    weights: Inexact[Array, "s n"], data: Inexact[Array, "..."], *, center: bool, turned: bool
) -> Int[Array, " k-1"]:
    """The indices of repeated columns, or rows if `turned`; the sizes of entries decide how exactly sums are known."""
    # Departures from the first row have sums without a large common part.
    matrix, entries = data - data[:1] if center else data, jnp.abs(data)
    if turned:
        matrix, entries = matrix.T, entries.T
    n, k = matrix.shape
    sums = weights @ matrix
    signed = turned and center
    if not signed:
        sums = jnp.abs(sums)
    elif jnp.iscomplexobj(sums):
        sums = jnp.concatenate([jnp.real(sums), jnp.imag(sums)])
    # A sort by all sums would take several times as long.
    _, order = jax.lax.sort((sums[0], jnp.arange(k)), num_keys=1)
    sums, largest = sums[:, order], jnp.max(entries, axis=0)[order]
    room = jnp.finfo(sums.dtype).eps * (32 * jnp.max(jnp.abs(sums), axis=0) + 2 * n**0.5 * largest)
    same = jnp.all(jnp.abs(jnp.diff(sums)) <= jnp.maximum(room[1:], room[:-1])[None], axis=0)
    # Beside a large mean sums may agree by chance, but entries do not. The comparison copies the data and is rare.
    compared = partial(_equal, signed=signed)
    same = jax.lax.cond(jnp.any(same), compared, lambda *_: same, matrix, order, largest) & same
    return jnp.where(same, jnp.maximum(order[1:], order[:-1]), -1)


def _equal(
    matrix: Inexact[Array, "n k"], order: Int[Array, " k"], largest: Float[Array, " k"], *, signed: bool
) -> Bool[Array, " k-1"]:
    """Whether each column equals the one before it in this order, or its negative, up to the rounding of entries."""
    columns = matrix[:, order]
    before, after = columns[:, :-1], columns[:, 1:]
    room = float(jnp.finfo(columns.dtype).eps) * (largest[1:] + largest[:-1])
    within = lambda apart: jnp.all(jnp.abs(apart) <= room[None, :], axis=0)
    return within(after - before) if signed else within(after - before) | within(after + before)
