"""Levels above which parallel analysis and hard thresholding take a component for signal."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax.inference._core.sample_spectrum import SampleSpectrum
from rmtjax.inference._signal.hard_threshold import known_noise, median_level, ratio
from rmtjax.laws import GeneralMarchenkoPastur


def mean_squares(rows: Inexact[Array, "*batch n p"]) -> Float[Array, "*batch p"]:
    """The diagonal of S."""
    return jnp.mean(jnp.abs(rows) ** 2, axis=-2)


def column_edges(
    spectrum: SampleSpectrum, squares: Float[Array, "*batch p"], n: Float[Array, ""], tests: int, *, deflate: bool
) -> Float[Array, "*batch t"]:
    """The upper edge of noise with these mean squares of the columns, for each of the largest levels, descending.

    With `deflate` the columns are without what the levels before have explained; otherwise there is one edge for all.
    """
    left = squares[..., None, :]
    if deflate:
        shares = spectrum.levels[..., None] * jnp.abs(jnp.swapaxes(spectrum.vectors, -1, -2)) ** 2
        before = jnp.cumsum(shares[..., ::-1, :][..., : tests - 1, :], axis=-2)
        none = jnp.zeros_like(left)
        left = left - jnp.concatenate([none, before], axis=-2)
        # A column that is explained to rounding has no noise that could be seen.
        left = jnp.maximum(left, 4 * jnp.finfo(left.dtype).eps * squares[..., None, :])
    flat = left.reshape(-1, left.shape[-1])
    edges = jax.lax.map(lambda population: _edge(population, population.shape[-1] / n), flat)
    return edges.reshape(left.shape[:-1])


def _edge(population: Float[Array, " p"], ratio: Float[Array, ""]) -> Float[Array, ""]:
    return GeneralMarchenkoPastur(ratio, population).support()[1]


def hard_threshold_level(
    levels: Float[Array, "*batch k"], n: Float[Array, ""], p: int, noise: Float[Array, "..."] | None
) -> Float[Array, "*batch"]:
    """The square of the threshold of `optimal_hard_threshold` over n, from all of the ascending levels."""
    shape = ratio(n, jnp.asarray(p, n.dtype))
    known = known_noise(shape)
    if noise is not None:
        return jnp.broadcast_to((known * noise) ** 2 * jnp.maximum(n, p) / n, levels.shape[:-1])
    return known**2 / median_level(shape) * jnp.median(jnp.sqrt(levels), axis=-1) ** 2
