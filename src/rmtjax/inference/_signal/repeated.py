"""Columns that are there twice, which tests of the largest level take for a component of their own.

Noise with one column repeated has a population level of 2. At 100 × 50 a test at 5 % takes it for signal in 45 % of the
matrices, at 100 × 100 in 21 %, at 100 × 200 in 10 %. The levels do not always tell: with more columns than rows a
repeated one makes none of them 0, and otherwise it makes one of them 0, as rounding or a sum that is the same in every
row do without any harm.
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

# Weighted sums over the rows are the same where columns are, up to the rounding of a sum that is computed in another
# order, and of entries that a constant was added to. Where single precision leaves three digits beside the mean, each
# agrees by chance for 3 % of neighbours.
_SUMS = 5


def repeated_columns(data: Inexact[Array, "*batch n p"], *, center: bool) -> Int[Array, "*batch p-1"]:
    """The number of each column that is another one or its negative, but for the first of its kind; -1 in between.

    With `center` they may differ by a constant too, which the mean takes along.
    """
    return _repeated(_departures(data, center), jnp.abs(data), signed=False)


def repeated_rows(data: Inexact[Array, "*batch n p"], *, center: bool) -> Int[Array, "*batch n-1"]:
    """The same of rows; with `center` a negative one is no repetition."""
    turned = lambda array: jnp.swapaxes(array, -1, -2)
    return _repeated(turned(_departures(data, center)), turned(jnp.abs(data)), signed=center)


def _departures(data: Inexact[Array, "*batch n p"], center: bool) -> Inexact[Array, "*batch n p"]:
    """From the first row, so that sums have no large common part."""
    return data - data[..., :1, :] if center else data


def _repeated(
    data: Inexact[Array, "*batch n p"], entries: Float[Array, "*batch n p"], *, signed: bool
) -> Int[Array, "*batch p-1"]:
    """The numbers of columns whose sums another one has; the entries tell how exactly they are known."""
    n, p = data.shape[-2:]
    index = jnp.arange(n, dtype=entries.dtype)
    weights = jnp.stack([jnp.cos(k * index**2 + k) for k in range(1, _SUMS + 1)]).astype(data.dtype)
    flat = jax.lax.stop_gradient(data).reshape(-1, n, p)
    # On a CPU one matrix after the other: XLA's product of batches takes ten times as long.
    sums_of = functools.partial(_sums, weights, signed)
    sums = jax.lax.platform_dependent(flat, cpu=functools.partial(jax.lax.map, sums_of), default=sums_of)
    largest = jax.lax.stop_gradient(jnp.max(entries, axis=-2)).reshape(-1, p)
    columns = jnp.broadcast_to(jnp.arange(p), (flat.shape[0], p))
    *sums, largest, columns = jax.lax.sort((*jnp.moveaxis(sums, -2, 0), largest, columns), num_keys=1)
    sums = jnp.stack(sums)
    room = jnp.finfo(sums.dtype).eps * (32 * jnp.max(jnp.abs(sums), axis=0) + 2 * n**0.5 * largest)
    same = jnp.all(jnp.abs(jnp.diff(sums, axis=-1)) <= jnp.maximum(room[:, 1:], room[:, :-1]), axis=0)
    return jnp.where(same, jnp.maximum(columns[:, 1:], columns[:, :-1]), -1).reshape(*data.shape[:-2], p - 1)


def _sums(weights: Inexact[Array, "s n"], signed: bool, matrix: Inexact[Array, "*batch n p"]) -> Float[Array, "..."]:
    sums = weights @ matrix
    if not signed:
        return jnp.abs(sums)
    return jnp.concatenate([jnp.real(sums), jnp.imag(sums)], axis=-2) if jnp.iscomplexobj(sums) else sums
