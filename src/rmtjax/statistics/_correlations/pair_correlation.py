"""The density of levels at a distance from a level."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealScalarLike
from rmtjax._varying import varying_like
from rmtjax.statistics._correlations.stretch import Stretch, stretch
from rmtjax.statistics._levels import Spectrum, checked

_EDGES = _checks.Rule(
    lambda x: (x[0] >= 0) & (x[1:] > x[:-1]).all() & (x[-1] < jnp.inf), "be finite, ascending and not negative"
)


def pair_correlation(
    levels: Spectrum,
    edges: Float[Array, " bins_and_one"],
    *,
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "*batch bins"]:
    r"""Pair correlation $R_2(r)$ of unfolded spectra: the density of levels at distance r from a level, by bins of r.

    $$\hat R_2 = \frac{\#\{i < j : e_0 \le x_j - x_i < e_1\}}{\int_{e_0}^{e_1} (W - r)\,dr}$$

    for levels in an interval of length W. The denominator is the number of such pairs among independent levels of unit
    density, so no distance is too rare near the ends. The mean over spectra is that of $R_2$ in the bin with the weight
    W - r, without bias if the ends are fixed by `interval`; from the first level to the last the bias is of order 1/n.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        edges: of the bins, ascending from 0 or above; a bin holds its lower edge.
        where: which of the levels count.
        interval: the part (a, b) of the axis that is used; by default from the first level to the last.
        period: the length of the circle if the levels lie on one; distances then are those in the direction of rising
            levels, up to the period, and `interval` must be None.

    Returns:
        A value for each bin, on a last axis behind those of the batch; NaN where a bin reaches beyond the interval. As
        these are counts, derivatives have no meaning. It takes O(n log n) for each edge.

    Raises:
        ValueError: the levels are not ascending numbers, the edges are not two or more ascending numbers from 0 on or
            reach beyond every spectrum, or `interval` is not ascending.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pair_correlation(jnp.arange(20.0), jnp.array([0.25, 0.75, 1.25]), period=20))  # a picket fence
        [0. 2.]

    References:
        Mehta (2004), Random Matrices, section 6.1; the theory is `laws.pair_correlation`.
    """
    spectra = checked(levels, where)
    ends = _checks.vector("edges", edges)
    if ends.size < 2:
        raise _checks.refusal("edges", "have at least two entries", ends.size)
    ends = _EDGES("edges", ends).astype(spectra.values.dtype)
    part = stretch(spectra, interval, period)
    part.refuse_longer("edges", ends)
    spectra = part.on_circle(spectra)
    return spectra.masked(_densities(part, ends), 1)


_FIRST_AXIS: Any = Stretch(0, 0, None, None, None)  # pyright: ignore[reportArgumentType]


@compiled
def _densities(part: Stretch, edges: Float[Array, " bins_and_one"]) -> Float[Array, "*batch bins"]:
    of_spectra = _density
    for _ in part.number.shape:
        of_spectra = jax.vmap(of_spectra, in_axes=(_FIRST_AXIS, None))
    return of_spectra(part, edges)


def _density(part: Stretch, edges: Float[Array, " bins_and_one"]) -> Float[Array, " bins"]:
    place = jnp.arange(part.levels.size)
    counted, levels = place < part.number, part.levels
    if part.period is not None:
        pairs_in_bin, length = _pairs(part.two_rounds, part.levels, counted, edges), part.period
        weight = length * jnp.diff(edges)
    else:
        counted &= (part.levels >= part.start) & (part.levels <= part.end)
        levels = jnp.where(levels <= part.end, levels, jnp.inf)
        pairs_in_bin, length = _pairs(levels, part.levels, counted, edges), part.end - part.start
        weight = jnp.diff(edges) * (length - (edges[1:] + edges[:-1]) / 2)
    fits = (part.number > 0) & (edges[1:] <= length)
    return jnp.where(fits, pairs_in_bin / jnp.where(fits, weight, 1), jnp.nan)


def _pairs(among: Array, of: Array, counted: Array, edges: Array) -> Float[Array, " bins"]:
    """How many levels there are at the distances of each bin above those that count."""
    place = jnp.arange(of.size)

    def up_to(before: Array, edge: Array) -> tuple[Array, Array]:
        # The level itself, and its equals before it, are no partners.
        after = jnp.maximum(jnp.searchsorted(among, of + edge), place + 1)
        return after, jnp.sum(jnp.where(counted, after - before, 0).astype(edges.dtype))

    _, pairs = jax.lax.scan(up_to, varying_like(place + 1, jax.typeof(of)), edges)
    return pairs[1:]
