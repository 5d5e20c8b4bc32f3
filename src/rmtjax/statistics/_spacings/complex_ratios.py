"""Ratios of the distances to the two nearest levels, in the plane."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import MaskLike
from rmtjax.spectra import MaskedValues
from rmtjax.spectra.internal import PlanarLevelsLike, checked_in_plane, mask_of
from rmtjax.statistics._spacings.spacings import Ties, divided


def complex_spacing_ratios(
    levels: PlanarLevelsLike,
    *,
    centres: Annotated[MaskLike, "*batch n"] | None = None,
    ties: Ties = "drop",
    block: int = 128,
) -> MaskedValues:
    r"""Ratios of the steps from each level in the plane to its nearest and next-nearest neighbour, without unfolding.

    $$z_i = \frac{\lambda_i^{(1)} - \lambda_i}{\lambda_i^{(2)} - \lambda_i}, \qquad |z_i| \le 1,$$

    with the nearest neighbour $\lambda_i^{(1)}$ and the next $\lambda_i^{(2)}$. In the bulk of large spectra the law is
    `laws.ComplexSpacingRatio` for Ginibre matrices, and the uniform `laws.CircularLaw` for independent levels; the
    means of |z| and cos arg z are `laws.mean_complex_spacing_ratio(beta)`. Levels at the edge of the spectrum have
    their neighbours on one side, and their share falls only as $n^{-1/2}$. So take ratios of the bulk, with
    `centres=jnp.abs(levels) < 0.8` for a spectrum in the unit disc.

    All pairs are compared in blocks of rows. This takes O(n²) time and O(n · block) memory.

    Args:
        levels: finite complex levels in any order, `(..., n)`, or `MaskedValues`. Real levels are points on a line,
            with real ratios in [-1, 1].
        centres: mask of the levels whose ratios are taken; all levels that count can be neighbours. By default all.
        ties: the value of 0/0, at a level that occurs at least three times: `"drop"` leaves it out, `"nan"` and
            `"zero"` give this value. Its derivative is always 0; static.
        block: number of rows, at least 1; static.

    Returns:
        `MaskedValues` with `(..., n)` values, one for each level. The ratio of a level without two neighbours does not
        count. Of two neighbours at the same distance the one of smaller index is nearer. Differentiable in the levels
        where no two distances are equal.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> ratios = complex_spacing_ratios(jnp.array([0.0, 1.0, 2.0j]), centres=jnp.array([True, False, False]))
        >>> print(ratios.values[0], ratios.count)
        -0.5j 1

    References:
        Sá, Ribeiro and Prosen (2020), Phys. Rev. X 10, 021019.
    """
    block = _checks.integer("block", block, at_least=1)
    _checks.choice("ties", ties, Ties)
    spectra = checked_in_plane(levels)
    inside = spectra.mask
    if centres is not None:
        inside = inside & mask_of("centres", centres, inside.shape)
    values, mask = _ratios(spectra.values, spectra.mask, inside, ties, block)
    return MaskedValues(spectra.masked(values, 1), mask)


@partial(compiled, static_argnums=(3, 4), nan_is_an_answer=True)
def _ratios(
    levels: Inexact[Array, "*batch n"],
    mask: Bool[Array, "*batch n"],
    inside: Bool[Array, "*batch n"],
    ties: Ties,
    block: int,
) -> tuple[Inexact[Array, "*batch n"], Bool[Array, "*batch n"]]:
    shape = levels.shape
    if levels.size == 0:
        return levels, mask
    spectra, counted = levels.reshape(-1, shape[-1]), mask.reshape(-1, shape[-1])
    rows = jnp.indices(spectra.shape).reshape(2, -1).T
    search = partial(_nearest, jax.lax.stop_gradient(spectra), counted)
    nearest, following = jax.lax.map(search, rows, batch_size=min(block, rows.shape[0])).T
    step = lambda place: jnp.take_along_axis(spectra, place.reshape(spectra.shape), axis=-1).reshape(shape) - levels
    inside = inside & (jnp.sum(mask, axis=-1, keepdims=True) > 2)
    return divided(step(nearest), step(following), inside, ties)


def _nearest(spectra: Inexact[Array, "m n"], counted: Bool[Array, "m n"], row: Int[Array, " 2"]) -> Int[Array, " 2"]:
    """The indices of the two levels nearest to the level at `row`."""
    levels, index = spectra[row[0]], jnp.arange(spectra.shape[-1])
    # The modulus and not its square, which is 0 for tiny differences.
    distance = jnp.where(counted[row[0]] & (index != row[1]), jnp.abs(levels - levels[row[1]]), jnp.inf)
    nearest = jnp.argmin(distance)
    return jnp.stack([nearest, jnp.argmin(jnp.where(index == nearest, jnp.inf, distance))])
