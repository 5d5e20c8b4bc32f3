"""Distances between neighbouring levels and ratios of these."""

from typing import Annotated, Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import MaskLike
from rmtjax._units import quotient
from rmtjax.linalg import MaskedValues
from rmtjax.statistics._levels import Levels, LevelsLike, checked

# What 0/0 may be.
Ties = Literal["drop", "nan", "zero"]


def spacings(
    levels: LevelsLike, order: int = 1, *, where: Annotated[MaskLike, "*batch n"] | None = None
) -> MaskedValues:
    r"""Distances $x_{i + k} - x_i$ between levels, with k - 1 others in between.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`. Unfold them first for
            spacings in the unit of their mean, as those of `laws.Spacing`.
        order: k ≥ 1; 1 for neighbours; static.
        where: which of the levels count. The two sides of a level that does not are no neighbours.

    Returns:
        `linalg.MaskedValues` with `(..., max(n - k, 0))` values. A spacing counts if all of the levels do from one end
        to the other. The reducers of `simulate` and its own `mean` leave the others out.

    Raises:
        ValueError: the levels are not ascending numbers, or `order` is no whole number of at least 1, or above 1 and
            not below the number of levels.

    Example:
        >>> import jax.numpy as jnp
        >>> print(spacings(jnp.array([0.0, 1.0, 3.0, 3.5])).values)
        [1.  2.  0.5]

    References:
        Mehta (2004), Random Matrices, section 1.5; the theory is `laws.Spacing(beta, k - 1)`.
    """
    spectra = checked(levels, where)
    order = _order(order, 1, spectra)
    values, mask = _spacings(spectra.values, spectra.mask, order)
    return MaskedValues(spectra.masked(values, 1), mask)


def gap_ratios(
    levels: LevelsLike, order: int = 1, *, where: Annotated[MaskLike, "*batch n"] | None = None, ties: Ties = "drop"
) -> MaskedValues:
    r"""Ratios of two consecutive spacings, the smaller one over the larger; they need no unfolding.

    $$\tilde r_i = \frac{\min(s_i, s_{i + k})}{\max(s_i, s_{i + k})} \in [0, 1], \qquad s_i = x_{i + k} - x_i .$$

    At order 1 their mean in large spectra is `laws.mean_gap_ratio(beta)`. Take the levels of one symmetry sector: those
    of several together look like independent ones.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        order: k ≥ 1, the number of steps in a spacing; the two spacings do not overlap; static.
        where: which of the levels count. The two sides of a level that does not are no neighbours.
        ties: what 0/0 is, where all of the levels of a ratio are equal: `"drop"` leaves it out, `"nan"` and `"zero"`
            give this value. In all cases its derivative is 0; static.

    Returns:
        `linalg.MaskedValues` with `(..., max(n - 2k, 0))` values, of which those count that are made of levels that do.

    Raises:
        ValueError: the levels are not ascending numbers, there is no such rule for ties, or `order` is no whole number
            of at least 1, or above 1 and too large for two spacings.

    Example:
        >>> import jax.numpy as jnp
        >>> ratios = gap_ratios(jnp.array([0.0, 1.0, 3.0, 3.5, 3.5, 3.5]))
        >>> print(ratios.values, ratios.mask, ratios.mean())
        [0.5  0.25 0.     nan] [ True  True  True False] 0.25

    References:
        Oganesyan and Huse (2007), Phys. Rev. B 75, 155111; Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett.
        110, 084101; for order > 1 Tekur, Bhosale and Santhanam (2018), Phys. Rev. B 98, 104305.
    """
    _checks.choice("ties", ties, Ties)
    spectra = checked(levels, where)
    order = _order(order, 2, spectra)
    values, mask = _gap_ratios(spectra.values, spectra.mask, order, ties)
    return MaskedValues(spectra.masked(values, 1), mask)


def _order(order: int, distances: int, spectra: Levels) -> int:
    """The order, at which there is room for so many spacings in a row; neighbours may always be asked for."""
    order = _checks.integer("order", order, at_least=1)
    n = spectra.values.shape[-1]
    if order > 1 and distances * order >= n:
        raise _checks.refusal("order", f"leave room for {distances * order + 1} levels, of {n}", order)
    return order


def _run(mask: Bool[Array, "*batch n"], length: int) -> Bool[Array, "*batch m"]:
    """Whether so many neighbours from each place on count."""
    counts = jnp.cumsum(mask, axis=-1)
    before = jnp.pad(counts, [(0, 0)] * (mask.ndim - 1) + [(1, 0)])[..., : max(mask.shape[-1] - length + 1, 0)]
    return counts[..., length - 1 :] - before == length


def _spaced(values: Float[Array, "*batch n"], order: int) -> Float[Array, "*batch m"]:
    return values[..., order:] - values[..., : max(values.shape[-1] - order, 0)]


def spaced_where_counted(
    values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], order: int
) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """The spacings, NaN where they do not count, and which of them do."""
    inside = _run(mask, order + 1)
    return jnp.where(inside, _spaced(values, order), jnp.nan), inside


_spacings = compiled(spaced_where_counted, static_argnums=2, nan_is_an_answer=True)


def _ratios(
    values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], order: int, ties: Ties
) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    distances = _spaced(values, order)
    count = max(values.shape[-1] - 2 * order, 0)
    left, right = distances[..., :count], distances[..., order:]
    larger = jnp.maximum(left, right)
    inside = _run(mask, 2 * order + 1)
    return divided(jnp.minimum(left, right), larger, inside, ties)


def divided(
    smaller: Inexact[Array, "*batch m"], larger: Inexact[Array, "*batch m"], inside: Bool[Array, "*batch m"], ties: Ties
) -> tuple[Inexact[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """Ratios inside of the mask by the rule for 0/0, and which of them count."""
    defined = inside & (larger != 0)
    ratio = quotient(jnp.where(defined, smaller, 0), jnp.where(defined, larger, 1))
    if ties == "drop":
        inside = defined
    return jnp.where(defined | (inside if ties == "zero" else False), ratio, jnp.nan), inside


_gap_ratios = compiled(_ratios, static_argnums=(2, 3), nan_is_an_answer=True)
