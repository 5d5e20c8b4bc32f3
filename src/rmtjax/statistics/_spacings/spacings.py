"""Distances between neighbouring levels and ratios of these."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._units import quotient
from rmtjax.spectra import Circle, MaskedValues
from rmtjax.spectra.internal import Levels, LevelsLike, checked

# What 0/0 may be.
Ties = Literal["drop", "nan", "zero"]


def spacings(levels: LevelsLike, order: int = 1) -> MaskedValues:
    r"""Distances $x_{i + k} - x_i$ between levels, with k - 1 others in between.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`. Unfold them first for
            spacings in the unit of their mean, as those of `laws.Spacing`.
        order: k ≥ 1; 1 for neighbours; static.

    Returns:
        `MaskedValues` with `(..., max(n - k, 0))` values, or n on a `Circle`, where the first level comes after the
        last. A spacing counts if all of the levels do from one end
        to the other. The reducers of `simulate` and its own `mean` leave the others out.

    Raises:
        ValueError: the levels are not ascending numbers, or `order` is no whole number of at least 1, or above 1 and
            not below the number of levels.

    Example:
        >>> import jax.numpy as jnp
        >>> print(spacings(jnp.array([0.0, 1.0, 3.0, 3.5])).values)
        [1.  2.  0.5]

    References:
        Mehta (2004), Random Matrices, section 1.5; the theory is `laws.Spacing(beta, k)`.
    """
    spectra = checked(levels)
    order = _order(order, 1, spectra)
    values, mask = _spacings(spectra, order)
    return MaskedValues(spectra.masked(values, 1), mask)


def gap_ratios(levels: LevelsLike, order: int = 1, *, ties: Ties = "drop") -> MaskedValues:
    r"""Ratios of two consecutive spacings, the smaller one over the larger; they need no unfolding.

    $$\tilde r_i = \frac{\min(s_i, s_{i + k})}{\max(s_i, s_{i + k})} \in [0, 1], \qquad s_i = x_{i + k} - x_i .$$

    At order 1 their mean in large spectra is `laws.mean_gap_ratio(beta)`. Take the levels of one symmetry sector: those
    of several together look like independent ones.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        order: k ≥ 1, the number of steps in a spacing; the two spacings do not overlap; static.
        ties: what 0/0 is, where all of the levels of a ratio are equal: `"drop"` leaves it out, `"nan"` and `"zero"`
            give this value. In all cases its derivative is 0; static.

    Returns:
        `MaskedValues` with `(..., max(n - 2k, 0))` values, or n on a `Circle`, of which those count that are made of
        levels that do.

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
    spectra = checked(levels)
    order = _order(order, 2, spectra)
    values, mask = _gap_ratios(spectra, order, ties)
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


def _around(spectra: Levels, steps: int) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """The levels and which of them count; on a circle so many of the next round stand behind the last that counts."""
    values, mask, domain, n = spectra.values, spectra.mask, spectra.domain, spectra.values.shape[-1]
    if not isinstance(domain, Circle) or n == 0:
        return values, mask
    last = jnp.sum(mask, axis=-1, keepdims=True) if spectra.at_end else jnp.full((*mask.shape[:-1], 1), n)
    place, last = aligned(jnp.arange(n + steps), last)
    again = place >= last
    source = jnp.where(again, place - last, place).clip(0, n - 1)
    taken, inside = (jnp.take_along_axis(each, source, axis=-1) for each in (values, mask))
    taken = taken + jnp.where(again, jnp.asarray(domain.period)[..., None], 0)
    return taken, inside & (place < last + steps) & (last > steps)


def spaced_where_counted(spectra: Levels, order: int) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """The spacings, NaN where they do not count, and which of them do."""
    values, mask = _around(spectra, order)
    inside = _run(mask, order + 1)
    return jnp.where(inside, _spaced(values, order), jnp.nan), inside


_spacings = compiled(spaced_where_counted, static_argnums=1, nan_is_an_answer=True)


def _ratios(spectra: Levels, order: int, ties: Ties) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    values, mask = _around(spectra, 2 * order)
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


_gap_ratios = compiled(_ratios, static_argnums=(1, 2), nan_is_an_answer=True)
