"""Unfolding by a density that is known, by phases, or by the spacings nearby."""

from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax.statistics._levels import Spectrum, checked, ranks
from rmtjax.statistics._unfolding.unfolded import Unfolded, diagnosed

Mask = Bool[Array, "*batch n"] | None


def unfold(levels: Spectrum, law: Any, *, where: Mask = None) -> Unfolded:
    r"""Levels of mean spacing 1, $n F(x_i)$, by a distribution function F that is known.

    This is the unfolding to prefer: nothing is fitted to the levels, so nothing of their fluctuations is taken away.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; n is how many count.
        law: the law of one level, any object with a method `cdf`: `ensemble.law()`, or `laws.LevelDensity(ensemble)`,
            which is exact at finite n; or an increasing function, the mean number of levels below x, which is taken as
            it is. Levels where it does not increase, those outside of the support, are dropped and counted.
        where: which of the levels count.

    Returns:
        `Unfolded`: the levels, from 0 to n, and how well they are unfolded.

    Raises:
        ValueError: the levels are not ascending numbers, or `law` is neither.

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
    cdf = getattr(law, "cdf", None)
    if cdf is None and not callable(law):
        raise _checks.refusal("law", "have a method `cdf`, or be an increasing function", law)
    if cdf is None:
        values = jnp.broadcast_to(jnp.asarray(law(spectra.values)), spectra.values.shape)
        return diagnosed(spectra, values, spectra.mask)
    number = jnp.sum(spectra.mask, axis=-1, keepdims=True)
    probabilities = cdf(spectra.values)
    inside = (probabilities > 0) & (probabilities < 1)
    return diagnosed(spectra, number * probabilities, spectra.mask & inside)


def unfold_phases(phases: Spectrum, *, where: Mask = None) -> Unfolded:
    r"""Eigenphases of mean spacing 1, $n\theta_i/2\pi$, for statistics with `period=n`.

    Args:
        phases: ascending, within a circle of 2π, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        where: which of the phases count.

    Returns:
        `Unfolded`, whose residuals are taken from a constant that is fitted, as the phases begin anywhere.

    Raises:
        ValueError: the phases are not ascending numbers.

    Example:
        >>> import jax, rmtjax as rmt
        >>> phases = rmt.CUE(50).eigenphases(jax.random.key(0))
        >>> print(rmt.statistics.number_variance(unfold_phases(phases).levels, 2.0, period=50) < 1)
        True
    """
    spectra = checked(phases, where, name="phases")
    number = jnp.sum(spectra.mask, axis=-1, keepdims=True)
    values = number * spectra.values / (2 * jnp.pi)
    offset = jnp.sum(jnp.where(spectra.mask, values - ranks(spectra.mask), 0), axis=-1, keepdims=True) / jnp.maximum(
        number, 1
    )
    return diagnosed(spectra, values, spectra.mask, offset)


def unfold_local(levels: Spectrum, window: int, *, where: Mask = None) -> Unfolded:
    r"""Levels of mean spacing 1 by the mean spacing around each: $y_{i+1} - y_i = (x_{i+1} - x_i)/\bar s_i$.

    The mean $\bar s_i = (x_{i + w} - x_{i - w})/2w$ follows the fluctuations themselves. This makes spectra look rigid
    that are not: number variance and rigidity level off at lengths above the window, whatever the levels are. Only
    short distances, such as spacings, may be taken from it.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        window: w ≥ 1, the number of levels to either side; static. The w levels at either end are dropped.
        where: which of the levels count; it must leave no gap.

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
    return diagnosed(spectra, *_local(spectra.values, spectra.mask, window))


@partial(compiled, static_argnums=2)
def _local(x: Array, mask: Array, window: int) -> tuple[Array, Array]:
    n = x.shape[-1]
    number, rank = jnp.sum(mask, axis=-1, keepdims=True), jnp.cumsum(mask, axis=-1) - 1
    kept = mask & (rank >= window) & (rank < number - window)
    mean = (x[..., 2 * window :] - x[..., : n - 2 * window]) / (2 * window)
    mean = jnp.pad(mean, [(0, 0)] * (x.ndim - 1) + [(window, window)])
    steps = jnp.diff(x, axis=-1, append=x[..., -1:])
    inside = kept & jnp.roll(kept, -1, axis=-1) & (mean > 0)
    scaled = jnp.where(inside, steps / jnp.where(inside, mean, 1), 0)
    values = jnp.cumsum(scaled, axis=-1) - scaled
    return values + window - 0.5, kept
