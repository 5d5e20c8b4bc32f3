"""Unfolding by a staircase that is smoothed with a Gaussian kernel."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax._units import quotient
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import Levels, LevelsLike, checked
from rmtjax.statistics._unfolding.unfolded import DROP, middle, off_circle, recorded, together

# Pairs of levels whose terms are computed side by side.
_PAIRS = 1 << 17


def unfold_kernel(
    levels: LevelsLike, bandwidth: RealScalarLike, *, pooled: bool = True, drop: RealScalarLike = 0.0
) -> Spectrum:
    r"""Levels of mean spacing 1 by the staircase, smoothed with a Gaussian kernel of width h.

    $$\bar N(x) = \sum_j \Phi\Big(\frac{x - x_j}h\Big) + \sum_{x_j > a} \Big[\Phi\Big(\frac{x + x_j - 2a}h\Big) - 1\Big]
    + \sum_{x_j < b} \Phi\Big(\frac{x + x_j - 2b}h\Big)$$

    with the normal distribution function Φ. The levels are reflected at the lowest, a, and at the highest, b. So equal
    distances remain equal and N̄ goes from 1/2 to n - 1/2, as long as h is at most a sixth of b - a. If the density has
    a slope at an end, the reflection bends it within h of the end: drop that share.

    With w levels within h, a fit to each spectrum takes away the share $e^{-k^2 w^2/2}$ of its fluctuations of wave
    number k per level. Number variance and rigidity then level off at lengths above some 2w: for independent levels the
    number variance at $2(\sqrt2 - 1)w/\sqrt\pi = 0.47w$ instead of L. The pooled staircase takes away only one part in
    m of the fluctuations of each of m spectra.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        bandwidth: the standard deviation h > 0 of the kernel, in the unit of the levels: a few to many spacings, and
            less than the distance over which the mean density changes.
        pooled: if true, one staircase for all spectra of the batch, which must have the same normalised density; their
            numbers of levels may differ, as for `unfold_polynomial`. Otherwise one for each.
        drop: share of each spectrum to drop at either end; in [0, 1/2).

    Returns:
        A `Spectrum` on the line, with its report. It takes O(n²) time for each spectrum, and O(n) memory. The staircase
        of a pool of m spectra is computed at every m-th level, with two derivatives, and interpolated in between by
        polynomials of degree 5. For h of two spacings of `GOE(100)` this is off by 2e-6 levels inside, and by up to
        0.003 next to the ends.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold_kernel(jnp.arange(5.0), 0.5).values)
        [0.5 1.5 2.5 3.5 4.5]

    References:
        Silverman (1986), Density Estimation for Statistics and Data Analysis, section 2.10, for the reflection.
    """
    width = _checks.positive("bandwidth", bandwidth)
    spectra = off_circle(checked(levels))
    share = DROP("drop", _checks.scalar("drop", drop))
    values, inside = _smoothed(spectra, width.astype(spectra.values.dtype), share, pooled)
    return recorded(together(spectra) if pooled else spectra, values, inside)


class _Pool(NamedTuple):
    """Ascending levels, and whether they count in each of the three sums."""

    levels: Float[Array, " n"]
    counted: Bool[Array, " n"]
    # The level at an end is left out, because it is its own mirror image.
    above_low: Bool[Array, " n"]
    below_high: Bool[Array, " n"]
    low: Float[Array, ""]
    high: Float[Array, ""]
    bandwidth: Float[Array, ""]


@partial(compiled, static_argnums=3)
def _smoothed(
    spectra: Levels, bandwidth: Float[Array, ""], share: Float[Array, ""], pooled: bool
) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"]]:
    """The unfolded levels, and which of them are kept."""
    x, mask, inside = spectra.values, spectra.mask, middle(spectra, share)
    if x.size == 0:
        return x, inside
    batch = x.size // x.shape[-1]
    pools = (1, -1) if pooled else (batch, -1)
    of_pool = partial(_staircase, bandwidth, batch if pooled else 1)
    values = jax.vmap(of_pool)(x.reshape(pools), mask.reshape(pools)).reshape(x.shape)
    if pooled:
        # Spectra share one normalised density, but their numbers of levels may differ.
        number = jnp.sum(mask, axis=-1, keepdims=True).astype(x.dtype)
        values = values * number / jnp.maximum(jnp.sum(number), 1)
    return values, inside


def _staircase(
    bandwidth: Float[Array, ""], size: int, x: Float[Array, " n"], mask: Bool[Array, " n"]
) -> Float[Array, " n"]:
    """The smooth staircase of a pool at its levels: at each, or interpolated between the numbers 0, size, 2 size, …."""
    order = jnp.argsort(jnp.where(mask, x, jnp.inf))
    place, last = jnp.arange(x.size), jnp.maximum(jnp.sum(mask) - 1, 0)
    counted, levels = mask[order], x[order][jnp.minimum(place, last)]
    low, high = levels[0], levels[last]
    pool = _Pool(levels, counted, counted & (levels > low), counted & (levels < high), low, high, bandwidth)
    nodes = levels if size == 1 else levels[jnp.minimum(jnp.arange(x.size // size + 1) * size, last)]
    block = min(nodes.size, max(1, _PAIRS // x.size))
    # Without the checkpoint a derivative would keep the terms of all pairs, O(n²) memory.
    at = lambda fn: jax.lax.map(jax.checkpoint(partial(fn, pool)), nodes, batch_size=block)
    if size == 1:
        values = at(_value)
    else:
        jets, left = at(_jet), place // size
        values = _between(bandwidth, levels, nodes[left], nodes[left + 1], jets[left].T, jets[left + 1].T)
    return jnp.zeros_like(values).at[order].set(values)


# The sign of each of the three sums, which is also the sign of x in its argument.
_SIGNS = np.array([[1], [-1], [1]])


def _images(pool: _Pool, x: Float[Array, ""]) -> tuple[Float[Array, "3 n"], Bool[Array, "3 n"]]:
    """The arguments of Φ in the three sums at one point, and which of them count."""
    below, above = (pool.low - x) + (pool.low - pool.levels), (x - pool.high) + (pool.levels - pool.high)
    arguments = quotient(jnp.stack([x - pool.levels, below, above]), pool.bandwidth)
    return arguments, jnp.stack([pool.counted, pool.above_low, pool.below_high])


def _value(pool: _Pool, x: Float[Array, ""]) -> Float[Array, ""]:
    """The smooth staircase at one point."""
    u, which = _images(pool, x)
    return jnp.sum(jnp.where(which, like(u, _SIGNS) * (1 + erf(u / 2**0.5)), 0)) / 2


def _jet(pool: _Pool, x: Float[Array, ""]) -> Float[Array, " 3"]:
    """The smooth staircase and two derivatives at one point, in units of the bandwidth."""
    u, which = _images(pool, x)
    density = jnp.where(which, jnp.exp(-(u**2) / 2), 0) / (2 * jnp.pi) ** 0.5
    slope, curvature = jnp.sum(density), -jnp.sum(like(u, _SIGNS) * u * density)
    return jnp.stack([_value(pool, x), slope, curvature])


def _between(
    unit: Float[Array, ""],
    x: Float[Array, " n"],
    left: Float[Array, " n"],
    right: Float[Array, " n"],
    here: Array,
    there: Array,
) -> Float[Array, " n"]:
    """The polynomial of degree 5 with the given value and two derivatives, per unit, at both ends of an interval."""
    width = right - left
    t = quotient(x - left, jnp.where(width > 0, width, 1))
    width = quotient(width, unit)
    scale = jnp.stack([jnp.ones_like(width), width, width**2])
    (f, g, h), (value, slope, curvature) = scale * here, scale * there
    d, e, c = value - f - g - h / 2, slope - g - h, curvature - h
    upper = 10 * d - 4 * e + c / 2 + t * (-15 * d + 7 * e - c + t * (6 * d - 3 * e + c / 2))
    return f + t * (g + t * (h / 2 + t * upper))
