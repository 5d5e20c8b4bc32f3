"""The density of levels at a distance from a level."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import RealLike
from rmtjax._varying import varying_like
from rmtjax.spectra import Circle, Interval
from rmtjax.spectra.internal import Levels, LevelsLike, unit_density
from rmtjax.statistics._correlations.stretch import refuse_longer, stretch

_NOT_NEGATIVE = _checks.Rule(lambda x: (x >= 0).all(), "not be negative")


def pair_correlation(levels: LevelsLike, edges: Annotated[RealLike, "bins_and_one"]) -> Float[Array, "*batch bins"]:
    r"""Pair correlation $R_2(r)$ of unfolded spectra: the density of levels at distance r from a level, by bins of r.

    $$\hat R_2 = \frac{\#\{i < j : e_0 \le x_j - x_i < e_1\}}{\int_{e_0}^{e_1} (W - r)\,dr}$$

    for levels in an interval of length W. The denominator is the mean number of such pairs among independent levels of
    unit density, so the ends of an `Interval` give no bias. The mean over spectra is the mean of $R_2$ in the bin with
    the weight W - r. On the line, where the interval goes from the first level to the last, there is a bias of order
    1/n, and 2/n at short distances for independent levels, because the ends are levels themselves.

    Args:
        levels: ascending unfolded levels, of mean spacing 1, `(..., n)`, or a `Spectrum`.
        edges: two or more ascending edges of bins, from 0 up to the length of the longest spectrum. A bin holds its
            lower edge.

    Returns:
        A value for each bin, on a last axis behind those of the batch; NaN where a bin reaches beyond the interval.
        Values are counts, so derivatives have no meaning. It takes O(n log n) time for each edge.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> fence = rmt.Spectrum(jnp.arange(20.0), domain=rmt.Circle(20), unfolded=True)
        >>> print(pair_correlation(fence, [0.25, 0.75, 1.25]))
        [0. 2.]

    References:
        Mehta (2004), Random Matrices, section 6.1; the theory is `laws.pair_correlation`.
    """
    spectra = unit_density(levels)
    ends = _checks.edges("edges", edges)
    valid = _checks.all_kept(*(rule.kept("edges", ends) for rule in (_checks.STRICTLY_ASCENDING, _NOT_NEGATIVE)))
    refuse_longer("edges", ends, spectra, whole=True)
    return _checks.masked(valid, spectra.masked(_densities(spectra, ends), 1))


@compiled
def _densities(spectra: Levels, edges: Float[Array, " bins_and_one"]) -> Float[Array, "*batch bins"]:
    part, edges = stretch(spectra), edges.astype(spectra.values.dtype)
    place, length = jnp.arange(part.levels.shape[1], dtype=part.number.dtype)[None], part.length[:, None]
    widths, lower, upper = (each[None] for each in (jnp.diff(edges), edges[:-1], edges[1:]))
    counted = place < part.number[:, None]
    if isinstance(spectra.domain, Circle):
        among, weight = part.two_rounds, length * widths
    else:
        among, weight = part.levels, widths * ((length - lower) + (length - upper)) / 2
    pairs = jax.vmap(_pairs, in_axes=(0, 0, 0, None))(among, part.levels, counted, edges)
    fits = (isinstance(spectra.domain, Interval) | (part.number[:, None] > 0)) & (upper <= length)
    densities = jnp.where(fits, pairs / jnp.where(fits, weight, 1), jnp.nan)
    return densities.reshape(*spectra.values.shape[:-1], lower.size)


def _pairs(among: Array, of: Array, counted: Array, edges: Array) -> Float[Array, " bins"]:
    """The number of pairs in each bin: levels `among` at a distance above the levels `of` that count."""
    place = jnp.arange(of.size)

    def up_to(before: Array, edge: Array) -> tuple[Array, Array]:
        # A level is no partner of itself, nor are equal levels before it.
        after = jnp.maximum(like(place, jnp.searchsorted(among, of + edge)), place + 1)
        return after, jnp.sum(jnp.where(counted, after - before, 0).astype(edges.dtype))

    _, pairs = jax.lax.scan(up_to, varying_like(place + 1, among, of, counted, edges), edges)
    return pairs[1:]
