"""Distances between neighbouring levels, and ratios of these distances."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._units import quotient
from rmtjax.spectra import Circle, MaskedValues
from rmtjax.spectra.internal import Levels, LevelsLike, checked

# The values of 0/0.
Ties = Literal["drop", "nan", "zero"]


def spacings(levels: LevelsLike, order: int = 1) -> MaskedValues:
    r"""Distances $x_{i + k} - x_i$ between levels, with k - 1 others in between.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`. To compare with `laws.Spacing`, whose mean is 1, unfold
            them first.
        order: k, from 1 (neighbours) to n - 1; static. Order 1 is allowed for any number of levels.

    Returns:
        `MaskedValues` with `(..., max(n - k, 0))` values, or n on a `Circle`, where the first level comes after the
        last. A spacing counts if all levels from one end to the other count. Reducers of `simulate` and the method
        `mean` leave the others out.

    Raises:
        ValueError: an argument is outside its range.

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

    At order 1 their mean in large spectra is `laws.mean_gap_ratio(beta)`. Take the levels of one symmetry sector: the
    levels of several sectors together look independent.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        order: k ≥ 1, the number of steps in a spacing, with 2k < n; static. The two spacings do not overlap. With 1
            there may be any number of levels.
        ties: the value of 0/0, where all levels of a ratio are equal: `"drop"` leaves it out, `"nan"` and `"zero"`
            give this value. Its derivative is always 0; static.

    Returns:
        `MaskedValues` with `(..., max(n - 2k, 0))` values, or n on a `Circle`. A ratio counts if all of its levels do.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> ratios = gap_ratios(jnp.array([0.0, 1.0, 3.0, 3.5, 3.5, 3.5]))
        >>> print(ratios.values, ratios.mask, ratios.mean())
        [0.5  0.25 0.     nan] [ True  True  True False] 0.25

    References:
        Oganesyan and Huse (2007), Phys. Rev. B 75, 155111; Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett.
        110, 084101; Tekur, Bhosale and Santhanam (2018), Phys. Rev. B 98, 104305, for order > 1.
    """
    _checks.choice("ties", ties, Ties)
    spectra = checked(levels)
    order = _order(order, 2, spectra)
    values, mask = _gap_ratios(spectra, order, ties)
    return MaskedValues(spectra.masked(values, 1), mask)


def _order(order: int, distances: int, spectra: Levels) -> int:
    """The order, which must leave room for so many spacings in a row. The order 1 is always allowed."""
    order = _checks.integer("order", order, at_least=1)
    n = spectra.values.shape[-1]
    if order > 1 and distances * order >= n:
        raise _checks.refusal("order", f"leave room for {distances * order + 1} levels, of {n}", order)
    return order


def _run(mask: Bool[Array, "*batch n"], length: int) -> Bool[Array, "*batch m"]:
    """Whether all of so many levels from each place on count."""
    covered = 1
    while covered < length:  # A running sum would take ten times as long.
        step = min(covered, length - covered)
        mask, covered = mask[..., step:] & mask[..., :-step], covered + step
    return mask


def _spaced(values: Float[Array, "*batch n"], order: int) -> Float[Array, "*batch m"]:
    return values[..., order:] - values[..., : max(values.shape[-1] - order, 0)]


def _around(spectra: Levels, steps: int) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """The levels and which of them count. On a circle this many of the next round follow the last that counts."""
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
    """The spacings, NaN where they do not count, and which of them count."""
    values, mask = _around(spectra, order)
    inside = _run(mask, order + 1)
    return jnp.where(inside, _spaced(values, order), jnp.nan), inside


_spacings = compiled(spaced_where_counted, static_argnums=1, nan_is_an_answer=True)


def _ratios(spectra: Levels, order: int, ties: Ties) -> tuple[Float[Array, "*batch m"], Bool[Array, "*batch m"]]:
    values, mask = _around(spectra, 2 * order)
    distances = _spaced(values, order)
    count = max(values.shape[-1] - 2 * order, 0)
    left, right = distances[..., :count], distances[..., order:]
    return divided(jnp.minimum(left, right), jnp.maximum(left, right), _run(mask, 2 * order + 1), ties)


def divided(
    smaller: Inexact[Array, "*batch m"], larger: Inexact[Array, "*batch m"], inside: Bool[Array, "*batch m"], ties: Ties
) -> tuple[Inexact[Array, "*batch m"], Bool[Array, "*batch m"]]:
    """Ratios by the rule for 0/0, NaN outside of the mask, and which of them count."""
    defined = inside & (larger != 0)
    ratio = quotient(jnp.where(defined, smaller, 0), jnp.where(defined, larger, 1))
    if ties == "drop":
        inside = defined
    return jnp.where(defined | (inside if ties == "zero" else False), ratio, jnp.nan), inside


_gap_ratios = compiled(_ratios, static_argnums=(1, 2), nan_is_an_answer=True)
