"""Unfolding by a known density, by phases, or by the spacings nearby."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike
from rmtjax._units import quotient
from rmtjax.spectra import Circle, Interval, Line, Spectrum
from rmtjax.spectra.internal import LINE, Levels, LevelsLike, checked, extent
from rmtjax.statistics._unfolding.unfolded import off_circle, recorded


class HasCdf(Protocol):
    """A law of one level."""

    def cdf(self, x: Any, /) -> Any: ...


def unfold(levels: LevelsLike, law: HasCdf | Callable[[Array], ArrayLike]) -> Spectrum:
    r"""Levels of mean spacing 1, $n F(x_i)$, by a known distribution function F.

    Prefer this unfolding: nothing is fitted to the levels, so their fluctuations remain. Levels on an interval (a, b)
    become $n\,[F(x_i) - F(a)]/[F(b) - F(a)]$, on the interval (0, n). This takes away the fluctuation of n itself, so
    if the whole spectrum is known, unfold it first and then take its `bulk`.

    Args:
        levels: ascending levels, not on a circle, `(..., n)`, or a `Spectrum`; n is the number that count.
        law: the law of one level, any object with a method `cdf`: `ensemble.law()`, or `laws.LevelDensity(ensemble)`,
            which is exact at finite n. The mask leaves out levels outside of its support, and the report has their
            shares. Or an increasing function, the mean number of levels below x: it keeps all levels, and is called
            only at levels that count and at the ends of an interval.

    Returns:
        A `Spectrum`: the levels, from 0 to n, and in its `report` the quality of the unfolding.

    Raises:
        ValueError: `law` has no `cdf` and is no function, the levels are outside their range, or all lie outside of the
            support.

    Example:
        >>> import jax, rmtjax as rmt
        >>> goe = rmt.GOE(200)
        >>> unfolded = unfold(goe.eigenvalues(jax.random.key(0)), goe.law())
        >>> print(f"{rmt.statistics.spacings(unfolded).mean():.2f}, off by {unfolded.report.residual:.1f} levels")
        1.00, off by 0.8 levels

    References:
        Mehta (2004), Random Matrices, section 1.4; Guhr, Müller-Groeling and Weidenmüller (1998), Phys. Rep. 299, 189,
        section 3.2.1.
    """
    spectra = off_circle(checked(levels))
    cdf = None if isinstance(law, type) else getattr(law, "cdf", None)
    if cdf is None and callable(getattr(law, "law", None)):
        raise _checks.refusal("law", "be a law: `ensemble.law()`, or `laws.LevelDensity(ensemble)`", law)
    if cdf is None and (not callable(law) or isinstance(law, type)):
        raise _checks.refusal("law", "have a method `cdf`, or be an increasing function", law)
    function: Any = law if cdf is None else cdf
    at = partial(_numbers, function)
    numbers, domain = at(spectra.filled), spectra.domain
    ends = (at(domain.start), at(domain.end)) if isinstance(domain, Interval) else None
    if cdf is None:
        return recorded(spectra, numbers, domain=LINE if ends is None else Interval(*ends))
    values, inside, shares = _by_law(spectra.mask, numbers, ends)
    _SOME_INSIDE.kept("law", law, shares)
    whole = LINE if ends is None else Interval(jnp.zeros_like(ends[0]), jnp.maximum(spectra.number[..., 0], 1))
    return recorded(spectra, values, inside, whole)


def _numbers(law: Callable[[Any], Any], points: Any) -> Array:
    """The mean number of levels below each point, or the share of them."""
    numbers = _checks.numbers("law", law(points))
    if numbers.shape != np.shape(points) or jnp.iscomplexobj(numbers):
        raise _checks.refusal("law", f"return a real number for each level, of shape {np.shape(points)}", numbers)
    return numbers


def _left_out(numbers: Any) -> str:
    return f"have levels within its support; {numbers[0]} lie below it and {numbers[1]} above"


_SOME_INSIDE = _checks.Rule(lambda _, numbers: (numbers[2] > 0) | (numbers.sum() == 0), _left_out)


@compiled
def _by_law(
    mask: Bool[Array, "*batch n"], shares: Float[Array, "*batch n"], ends: tuple[Array, Array] | None
) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"], Int[Array, " 3"]]:
    """The unfolded levels, which of them are in the support, and how many are below it, above it and inside."""
    inside = mask & (shares > 0) & (shares < 1)
    numbers = [jnp.sum(part) for part in (mask & (shares <= 0), mask & (shares >= 1), inside)]
    if ends is not None:
        start, end = (like(shares, part)[..., None] for part in ends)
        shares = quotient(shares - start, end - start)
    return like(shares, jnp.sum(mask, axis=-1, keepdims=True)) * shares, inside, jnp.stack(numbers)


def unfold_phases(phases: LevelsLike) -> Spectrum:
    r"""Eigenphases of mean spacing 1, $n\theta_i/2\pi$, on a circle of length n.

    Args:
        phases: ascending phases, within a circle of 2π, `(..., n)`; or a `Spectrum` on a `Circle` of any length.

    Returns:
        A `Spectrum` on a `Circle(n)`, where n is the number of phases that count. The residuals of its report are
        relative to a fitted constant, because the phases may begin anywhere.

    Raises:
        ValueError: the phases are outside their range, or lie on an interval.

    Example:
        >>> import jax, rmtjax as rmt
        >>> phases = rmt.CUE(50).eigenphases(jax.random.key(0))
        >>> print(rmt.statistics.number_variance(unfold_phases(phases), 2.0) < 1)
        True
    """
    spectra = checked(phases, name="phases")
    if isinstance(spectra.domain, Interval):
        raise _checks.refusal("phases", "lie on a circle", spectra.domain)
    if isinstance(spectra.domain, Line):
        spectra = spectra.where(_WITHIN_A_CIRCLE.kept("phases", spectra.values, spectra.mask))
    values, number, leads = _on_circle(spectra)
    return recorded(spectra, values, domain=Circle(number), offset=leads)


# Phases of -π and π differ by a circle, and by the rounding error of both.
_WITHIN_A_CIRCLE = _checks.Rule(
    lambda values, mask: extent(values, mask) <= 2 * math.pi * (1 + 4 * jnp.finfo(values.dtype).eps),
    "lie within a circle of 2π",
)


@compiled
def _on_circle(spectra: Levels) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch"], Float[Array, "*batch 1"]]:
    """The unfolded phases, the length of their circle, and by how much they lead the staircase on average."""
    number, domain = spectra.number, spectra.domain
    period = domain.period[..., None] if isinstance(domain, Circle) else 2 * jnp.pi
    values = number * spectra.values / period
    leads = jnp.where(spectra.mask, values - spectra.ranks, 0)
    length = jnp.maximum(number, 1)  # a circle without levels has length 1
    return values, length[..., 0], jnp.sum(leads, axis=-1, keepdims=True) / length


def unfold_local(levels: LevelsLike, window: int) -> Spectrum:
    r"""Levels of mean spacing 1 by the mean spacing around each: $y_{i+1} - y_i = (x_{i+1} - x_i)/\bar s_i$.

    The mean $\bar s_i = (x_{i + w} - x_{i - w})/2w$ follows the fluctuations themselves. This makes every spectrum look
    rigid: number variance and rigidity level off at lengths above the window. Use it for short distances only, such as
    spacings.

    Args:
        levels: ascending levels, not on a circle, `(..., n)`, or a `Spectrum`.
        window: w ≥ 1, the number of levels to either side, with 2w < n; static. The w levels at either end are dropped.

    Returns:
        A `Spectrum` on the line, with its report.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold_local(jnp.arange(8.0) ** 2, 2).values[:4])
        [ inf  inf 1.5  2.75]

    References:
        Gómez, Molina, Relaño and Retamosa (2002), Phys. Rev. E 66, 036209, on its effect on long-range statistics.
    """
    window = _checks.integer("window", window, at_least=1)
    spectra = off_circle(checked(levels))
    if 2 * window >= spectra.values.shape[-1]:
        raise _checks.refusal("window", f"be below half of the number of levels, {spectra.values.shape[-1]}", window)
    return recorded(spectra, *_by_neighbours(spectra, window))


@partial(compiled, static_argnums=1)
def _by_neighbours(spectra: Levels, window: int) -> tuple[Float[Array, "*batch n"], Bool[Array, "*batch n"]]:
    """The unfolded levels, and which of them are kept; levels that do not count play no part."""
    x, mask, number, rank = spectra.compact, spectra.mask, spectra.number, spectra.ranks
    place = jnp.arange(x.shape[-1], dtype=x.dtype).reshape((1,) * (x.ndim - 1) + (-1,))
    mean = (x[..., 2 * window :] - x[..., : -2 * window]) / (2 * window)
    mean = jnp.pad(mean, [(0, 0)] * (x.ndim - 1) + [(window, window)])
    steps = jnp.diff(x, axis=-1, append=x[..., -1:])
    inside = (place >= window) & (place < number - window - 1) & (mean > 0)  # Equal levels remain equal.
    scaled = jnp.where(inside, quotient(steps, jnp.where(inside, mean, 1)), 0)
    values = jnp.cumsum(scaled, axis=-1) - scaled + window - 0.5
    kept = mask & (rank > window) & (rank < number - window)
    if not spectra.at_end:
        values = jnp.take_along_axis(values, jnp.maximum(rank, 0).astype(int), axis=-1)
    return values, kept
