"""Unfolding by a density that is known, by phases, or by the spacings nearby."""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Protocol

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike, MaskLike
from rmtjax._units import quotient
from rmtjax.statistics._levels import Levels, LevelsLike, checked, extent
from rmtjax.statistics._unfolded import Unfolded
from rmtjax.statistics._unfolding.unfolded import recorded


class HasCdf(Protocol):
    """A law of one level."""

    def cdf(self, x: Any, /) -> Any: ...


def unfold(
    levels: LevelsLike,
    law: HasCdf | Callable[[Array], ArrayLike],
    *,
    where: Annotated[MaskLike, "*batch n"] | None = None,
) -> Unfolded:
    r"""Levels of mean spacing 1, $n F(x_i)$, by a distribution function F that is known.

    This is the unfolding to prefer: nothing is fitted to the levels, so nothing of their fluctuations is taken away.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; n is how many count.
        law: the law of one level, any object with a method `cdf`: `ensemble.law()`, or `laws.LevelDensity(ensemble)`,
            which is exact at finite n. Levels outside of its support are dropped: the record has their shares, and its
            mask tells which they are. Or an increasing function, the mean number of levels below x, which is taken as
            it is, keeps all levels, and is asked at levels that count only.
        where: which of the levels count.

    Returns:
        `Unfolded`: the levels, from 0 to n, and how well they are unfolded.

    Raises:
        ValueError: the levels are not ascending numbers, all of them lie outside of the support, or `law` is neither,
            as an ensemble is.

    Example:
        >>> import jax, rmtjax as rmt
        >>> goe = rmt.GOE(200)
        >>> unfolded = unfold(goe.eigenvalues(jax.random.key(0)), goe.law())
        >>> print(f"{rmt.statistics.spacings(unfolded.levels).mean():.2f}, off by {unfolded.residual:.1f} levels")
        1.00, off by 0.8 levels

    References:
        Mehta (2004), Random Matrices, section 1.4; Guhr, Müller-Groeling and Weidenmüller (1998), Phys. Rep. 299,
        section 3.2.1.
    """
    spectra = checked(levels, where)
    cdf = None if isinstance(law, type) else getattr(law, "cdf", None)
    if cdf is not None:
        values, inside, numbers = _by_law(spectra.mask, cdf(spectra.filled))
        _SOME_INSIDE.kept("law", law, numbers)
        return recorded(spectra, values, inside)
    if callable(getattr(law, "law", None)):
        raise _checks.refusal("law", "be a law: `ensemble.law()`, or `laws.LevelDensity(ensemble)`", law)
    if not callable(law) or isinstance(law, type):
        raise _checks.refusal("law", "have a method `cdf`, or be an increasing function", law)
    numbers, shape = _checks.numbers("law", law(spectra.filled)), spectra.values.shape
    if numbers.shape != shape or jnp.iscomplexobj(numbers):
        raise _checks.refusal("law", f"return a real number for each level, of shape {shape}", numbers)
    return recorded(spectra, numbers, spectra.mask)


def _left_out(numbers: Any) -> str:
    return f"have levels within its support; {numbers[0]} lie below it and {numbers[1]} above"


_SOME_INSIDE = _checks.Rule(lambda _, numbers: (numbers[2] > 0) | (numbers.sum() == 0), _left_out)


@compiled
def _by_law(
    mask: Bool[Array, "*batch n"], probabilities: Float[Array, "*batch n"]
) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"], Int[Array, " 3"]]:
    """The unfolded levels, which of them are inside of the support, and how many are below it, above it and inside."""
    inside = mask & (probabilities > 0) & (probabilities < 1)
    numbers = [jnp.sum(part) for part in (mask & (probabilities <= 0), mask & (probabilities >= 1), inside)]
    return like(probabilities, jnp.sum(mask, axis=-1, keepdims=True)) * probabilities, inside, jnp.stack(numbers)


def unfold_phases(phases: LevelsLike, *, where: Annotated[MaskLike, "*batch n"] | None = None) -> Unfolded:
    r"""Eigenphases of mean spacing 1, $n\theta_i/2\pi$, for statistics with `period=n`.

    Args:
        phases: ascending, within a circle of 2π, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        where: which of the phases count.

    Returns:
        `Unfolded`, whose residuals are taken from a constant that is fitted, as the phases begin anywhere.

    Raises:
        ValueError: the phases are not ascending numbers, or span more than a circle.

    Example:
        >>> import jax, rmtjax as rmt
        >>> phases = rmt.CUE(50).eigenphases(jax.random.key(0))
        >>> print(rmt.statistics.number_variance(unfold_phases(phases).levels, 2.0, period=50) < 1)
        True
    """
    spectra = checked(phases, where, name="phases")
    kept = _WITHIN_A_CIRCLE.kept("phases", spectra.values, spectra.mask)
    return recorded(spectra.where(kept), *_on_circle(spectra))


# Phases of -π and π differ by a circle and the rounding of both.
_WITHIN_A_CIRCLE = _checks.Rule(
    lambda values, mask: extent(values, mask) <= 2 * math.pi * (1 + 4 * jnp.finfo(values.dtype).eps),
    "lie within a circle of 2π",
)


@compiled
def _on_circle(
    spectra: Levels,
) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"], Float[Array, "*batch 1"]]:
    """The unfolded phases, which of them count, and by how much they lead the staircase on average."""
    number = spectra.number
    values = number * spectra.values / (2 * jnp.pi)
    leads = jnp.where(spectra.mask, values - spectra.ranks, 0)
    return values, spectra.mask, jnp.sum(leads, axis=-1, keepdims=True) / jnp.maximum(number, 1)


def unfold_local(levels: LevelsLike, window: int, *, where: Annotated[MaskLike, "*batch n"] | None = None) -> Unfolded:
    r"""Levels of mean spacing 1 by the mean spacing around each: $y_{i+1} - y_i = (x_{i+1} - x_i)/\bar s_i$.

    The mean $\bar s_i = (x_{i + w} - x_{i - w})/2w$ follows the fluctuations themselves. This makes spectra look rigid
    that are not: number variance and rigidity level off at lengths above the window, whatever the levels are. Only
    short distances, such as spacings, may be taken from it.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        window: w ≥ 1, the number of levels to either side; static. The w levels at either end are dropped.
        where: which of the levels count; the two sides of one that does not are neighbours.

    Returns:
        `Unfolded`.

    Raises:
        ValueError: the levels are not ascending numbers, or `window` is no whole number of at least 1, or there are no
            2w + 1 levels.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold_local(jnp.arange(8.0) ** 2, 2).levels.values[:4])
        [ nan  nan 1.5  2.75]

    References:
        Gómez, Molina, Relaño and Retamosa (2002), Phys. Rev. E 66, 036209, on what it does to long-range statistics.
    """
    window = _checks.integer("window", window, at_least=1)
    spectra = checked(levels, where)
    if 2 * window >= spectra.values.shape[-1]:
        raise _checks.refusal("window", f"be below half of the number of levels, {spectra.values.shape[-1]}", window)
    return recorded(spectra, *_by_neighbours(spectra, window))


@partial(compiled, static_argnums=1)
def _by_neighbours(spectra: Levels, window: int) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"]]:
    """The unfolded levels, from those that count alone, and which of them are kept."""
    x, mask = spectra.compact, spectra.mask
    number = spectra.number
    place = jnp.arange(x.shape[-1], dtype=x.dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    mean = (x[..., 2 * window :] - x[..., : -2 * window]) / (2 * window)
    mean = jnp.pad(mean, [(0, 0)] * (x.ndim - 1) + [(window, window)])
    steps = jnp.diff(x, axis=-1, append=x[..., -1:])
    inside = (place >= window) & (place < number - window - 1) & (mean > 0)  # Equal levels remain equal.
    scaled = jnp.where(inside, quotient(steps, jnp.where(inside, mean, 1)), 0)
    values = jnp.cumsum(scaled, axis=-1) - scaled + window - 0.5
    rank = spectra.ranks
    kept = mask & (rank > window) & (rank < number - window)
    if not spectra.at_end:
        values = jnp.take_along_axis(values, jnp.maximum(rank, 0).astype(int), axis=-1)
    return values, kept
