r"""All overlapping patches of an image at once.

The patch P of m voxels has the Gram matrix $A_P = \sum_{x \in P} y_x y_x^* - m\,\bar y_P \bar y_P^*$. The sums over all
overlapping windows are sums along one axis after the other. If the matrix $F_P$ keeps the signal of the patch, the mean
of the denoised patches with weights w at a voxel is again a sum over windows,

$$\hat y_x = \frac{1}{\sum_{P \ni x} w_P}
\Big( \sum_{P \ni x} w_P F_P\,y_x + \sum_{P \ni x} w_P (1 - F_P)\,\bar y_P \Big),$$

so that each voxel is multiplied by one matrix, not by a matrix for each patch.

Axes of a tile are measurements first and space last.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax._promotion import aligned, like
from rmtjax._units import times
from rmtjax._varying import varying_like
from rmtjax.inference._core.data import in_unit
from rmtjax.inference._signal.noise_bulk import keeping_filter

# How many numbers the Gram matrices of a tile hold. A tile of 4096 patches of 30 measurements takes 15 MiB in single
# precision, and everything around it about six times as much.
_TILE = 1 << 22
# The weight of patches around voxels outside of a mask, which only count where there are no other patches.
_OUTSIDE = 1e-15


def _tile_of(counts: tuple[int, ...], k: int) -> tuple[int, ...]:
    """The numbers of patches of a tile along each axis: tiles are about cubes, and equal parts of the image."""
    left, chosen = max(_TILE // k**2, 64), {}
    # The shortest axis comes first and leaves what it does not use to the others.
    for rank, axis in enumerate(sorted(range(len(counts)), key=lambda axis: counts[axis])):
        side = max(int(left ** (1 / (len(counts) - rank))), 1)
        parts = math.ceil(counts[axis] / side)
        chosen[axis] = math.ceil(counts[axis] / parts)
        left = max(left // chosen[axis], 1)
    return tuple(chosen[axis] for axis in range(len(counts)))


def _along(values: Inexact[Array, "..."], axis: int, size: int) -> Inexact[Array, "..."]:
    """Sums over windows along one axis."""
    length = values.shape[axis] - size + 1
    shifted = [jax.lax.slice_in_dim(values, start, start + length, axis=axis) for start in range(size)]
    # Without the barrier XLA makes one kernel of all axes, which adds every term again for each window.
    return jax.lax.optimization_barrier(functools.reduce(jnp.add, shifted))


def _windows(values: Inexact[Array, "..."], patch: tuple[int, ...]) -> Inexact[Array, "..."]:
    """Sums over all windows of the last axes."""
    for axis, size in enumerate(patch, values.ndim - len(patch)):
        values = _along(values, axis, size)
    return values


def _over_patches(values: Inexact[Array, "a ..."], patch: tuple[int, ...]) -> Inexact[Array, "a ..."]:
    """The sum over all patches that contain a voxel, the transpose of `_windows`."""
    # Row by row the values stay in the cache, which takes a quarter of the time.
    return jax.lax.map(functools.partial(_spread, patch=patch), values)


def _spread(values: Inexact[Array, "..."], patch: tuple[int, ...]) -> Inexact[Array, "..."]:
    for axis, size in enumerate(patch, values.ndim - len(patch)):
        margins = [(0, 0)] * values.ndim
        margins[axis] = (size - 1, size - 1)
        # A kernel that includes the margins would test for every term whether it lies in them.
        values = _along(jax.lax.optimization_barrier(jnp.pad(values, margins)), axis, size)
    return values


def _of_tile(
    tile: Inexact[Array, " k *space"],
    inside: Float[Array, "*patches"],
    noise: Float[Array, "*space"],
    patch: tuple[int, ...],
    rule: str,
    known: bool,
) -> tuple[Inexact[Array, " k *space"], Float[Array, " 3 *space"]]:
    """Sums over the patches of a tile: the denoised voxels, and the weights, noise and rank."""
    k, voxels = tile.shape[0], math.prod(patch)
    mean = _windows(tile, patch) / voxels
    outer = lambda rows: rows[:, None] * jnp.conj(rows)[None]
    gram = _windows(outer(tile), patch) - voxels * outer(mean)
    matrices = jnp.moveaxis(gram.reshape(k, k, -1), -1, 0)
    # The map of noise becomes a level for each patch.
    noise = jnp.sqrt(_windows(noise**2, patch) / voxels).reshape(-1) if noise.ndim else noise
    each = jax.vmap(
        lambda matrix, noise, common: keeping_filter(matrix, noise, common, voxels - 1, rule, known),
        (0, 0 if noise.ndim else None, 0),
    )
    keep, kept, sigma = each(matrices, noise, voxels * jnp.sum(jnp.abs(mean) ** 2, axis=0).reshape(-1))
    keep = jnp.moveaxis(keep, 0, -1).reshape(gram.shape)
    shape = inside.shape
    rank = jnp.sum(kept > 0, axis=-1).astype(sigma.dtype).reshape(shape)
    weight = inside / (1 + rank)
    weighted = lambda values: jnp.multiply(*aligned(weight, values))
    matrix = _over_patches(weighted(keep), patch)
    rest = _over_patches(weighted(mean - jnp.sum(keep * mean[None], axis=1)), patch)
    maps = _over_patches(jnp.stack([weight, weight * sigma.reshape(shape) ** 2, weight * rank]), patch)
    return jnp.sum(matrix * tile[None], axis=1) + rest, maps


def denoised_image(
    image: Inexact[Array, "*space k"],
    noise: Float[Array, "..."],
    mask: Bool[Array, "*space"] | None,
    patch: tuple[int, ...],
    rule: str,
    known: bool,
) -> tuple[Inexact[Array, "*space k"], Float[Array, "*space"], Float[Array, "*space"]]:
    """The denoised image, noise and rank, from tiles one after the other.

    The noise, used if it is known, is a number or one for each voxel. The mask holds the voxels around which patches
    count, and which are not set to 0.
    """
    space, k, axes = image.shape[:-1], image.shape[-1], len(patch)
    counts = tuple(length - size + 1 for length, size in zip(space, patch, strict=True))
    tile = _tile_of(counts, k)
    parts = [range(0, count, size) for count, size in zip(counts, tile, strict=True)]
    starts = jnp.asarray(np.array(list(itertools.product(*parts)), np.int32))
    # Squares of the entries may leave the range of their precision.
    flat, unit = in_unit(image.reshape(-1, k))
    image, unit = flat.reshape(image.shape), unit[0, 0]
    noise = noise / unit
    # The part that all voxels have in common is in no patch's spectrum, but its squares would cost digits.
    common = jnp.mean(image, axis=tuple(range(axes)), keepdims=True)
    whole = [
        (0, len(part) * size + width - 1 - length)
        for part, size, width, length in zip(parts, tile, patch, space, strict=True)
    ]
    padded = jnp.pad(jnp.moveaxis(image - common, -1, 0), [(0, 0), *whole])
    # The level is positive beyond the image too, so that there is no 0/0.
    levels = jnp.pad(noise, whole, mode="edge") if noise.ndim else noise
    dtype = jnp.finfo(image.dtype).dtype
    middle = tuple(slice(size // 2, size // 2 + count) for size, count in zip(patch, counts, strict=True))
    inside = jnp.pad(
        jnp.ones(counts, dtype) if mask is None else jnp.where(mask[middle], 1, jnp.asarray(_OUTSIDE, dtype)),
        [(0, len(part) * size - count) for part, size, count in zip(parts, tile, counts, strict=True)],
    )
    halo = tuple(size + width - 1 for size, width in zip(tile, patch, strict=True))

    def add(sums: tuple, start: Array) -> tuple[tuple, None]:
        place = (jnp.int32(0), *start)
        at = lambda array, shape: jax.lax.dynamic_slice(
            array, place[-array.ndim :] if array.ndim <= axes else place, shape
        )
        sigma = at(levels, halo) if levels.ndim else levels
        new = _of_tile(at(padded, (k, *halo)), at(inside, tile), sigma, patch, rule, known)
        put = lambda total, part: jax.lax.dynamic_update_slice(total, at(total, part.shape) + part, place)
        return jax.tree.map(put, sums, new), None

    zeros = (jnp.zeros(padded.shape, padded.dtype), jnp.zeros((3, *padded.shape[1:]), dtype))
    zeros = varying_like(zeros, padded, levels)
    (voxels, (weight, variance, rank)), _ = jax.lax.scan(add, zeros, starts)
    crop = tuple(slice(0, length) for length in space)
    weight = weight[crop]
    signal = jnp.moveaxis(voxels[(slice(None), *crop)], 0, -1)
    signal = signal / like(signal, weight)[..., None] + common
    found = times(signal, unit), jnp.sqrt(variance[crop] / weight) * unit, rank[crop] / weight
    if mask is None:
        return found
    return jnp.where(mask[..., None], found[0], 0), jnp.where(mask, found[1], 0), jnp.where(mask, found[2], 0)
