"""Unfolding by a density that is known, or by one that is fitted to the spectra."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealScalarLike
from rmtjax._varying import varying_like
from rmtjax.statistics._levels import Levels, Spectrum, checked, ranks
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
        return _unfolded(spectra, values, spectra.mask)
    number = jnp.sum(spectra.mask, axis=-1, keepdims=True)
    probabilities = cdf(spectra.values)
    inside = (probabilities > 0) & (probabilities < 1)
    return _unfolded(spectra, number * probabilities, spectra.mask & inside)


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
    return _unfolded(spectra, values, spectra.mask, offset)


def unfold_polynomial(
    levels: Spectrum, degree: int, *, pooled: bool = True, drop: RealScalarLike = 0.0, where: Mask = None
) -> Unfolded:
    r"""Levels of mean spacing 1 by a polynomial, fitted to the staircase by least squares.

    The staircase $N(x_i) = i - \tfrac12$ of all spectra together is far smoother than that of each, so a pooled fit
    takes less of the fluctuations away: with m spectra the degree may be some m times larger. A fit to each spectrum of
    its own lowers number variance and rigidity at all lengths above about n/degree. The polynomial is a Chebyshev
    series on the range of the levels.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        degree: of the polynomial, at least 1; static.
        pooled: one fit to all spectra of the batch, which must be of one ensemble; or one to each.
        drop: share of each spectrum to drop at either end, where polynomials fit worst; in [0, 1/2).
        where: which of the levels count.

    Returns:
        `Unfolded`: see whether it is `monotone`; a polynomial need not be.

    Raises:
        ValueError: the levels are not ascending numbers, `drop` is out of range, or `degree` is no whole number from 1
            to n - 1.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = jax.vmap(rmt.GOE(100).eigenvalues)(jax.random.split(jax.random.key(0), 50))
        >>> unfolded = unfold_polynomial(levels, 9, drop=0.1)
        >>> print(f"{rmt.statistics.spacings(unfolded.levels).mean().mean():.2f}")
        1.00

    References:
        Guhr, Müller-Groeling and Weidenmüller (1998), Phys. Rep. 299, section 3.2.1.
    """
    degree = _checks.integer("degree", degree, at_least=1)
    spectra = checked(levels, where)
    if degree >= spectra.values.shape[-1]:
        raise _checks.refusal("degree", f"be below the number of levels, {spectra.values.shape[-1]}", degree)
    share = _DROP("drop", _checks.scalar("drop", drop))
    values = _fitted(spectra.values, spectra.mask, degree, pooled)
    return _unfolded(spectra, values, spectra.mask & _middle(spectra.mask, share))


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
    return _unfolded(spectra, *_local(spectra.values, spectra.mask, window))


_DROP = _checks.Rule(lambda x: (x >= 0) & (x < 0.5), "lie in [0, 1/2)")


def _unfolded(spectra: Levels, values: Array, mask: Array, offset: Any = 0) -> Unfolded:
    return diagnosed(spectra.masked(values, 1), mask, spectra.mask, offset)


def _middle(mask: Bool[Array, "*batch n"], share: Float[Array, ""]) -> Bool[Array, "*batch n"]:
    number = jnp.sum(mask, axis=-1, keepdims=True)
    rank = ranks(mask)
    return (rank > share * number) & (rank < (1 - share) * number)


def _chebyshev(x: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], degree: int) -> Float[Array, "*batch n k"]:
    """The polynomials of Chebyshev on the range of the levels, as columns."""
    low = jnp.min(x, axis=-1, keepdims=True, where=mask, initial=jnp.inf)
    high = jnp.max(x, axis=-1, keepdims=True, where=mask, initial=-jnp.inf)
    width = jnp.where(high > low, high - low, 1)
    t = 2 * (x - jnp.where(high >= low, low, 0)) / width - 1
    # The recurrence, as the arc cosine has no derivative at the ends.
    state = varying_like(jnp.ones_like(t), jax.typeof(t)), t
    _, columns = jax.lax.scan(partial(_next_polynomial, t), state, length=degree + 1)
    return jnp.moveaxis(columns, 0, -1)


def _next_polynomial(t: Array, state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
    now, following = state
    return (following, 2 * t * following - now), now


@partial(compiled, static_argnums=(2, 3))
def _fitted(x: Array, mask: Array, degree: int, pooled: bool) -> Array:
    shape = x.shape
    rank = jnp.where(mask, ranks(mask), 0)
    if pooled:
        x, mask, rank = (leaf.reshape(1, -1) for leaf in (x, mask, rank))
        order = jnp.argsort(jnp.where(mask, x, jnp.inf), axis=-1)
        number = jnp.maximum(jnp.sum(jnp.any(mask.reshape(shape), axis=-1)), 1)
        together = (jnp.arange(x.size) + 0.5)[None] / number
        rank = jnp.zeros_like(rank).at[:, order[0]].set(together.astype(rank.dtype))
    columns = jnp.where(mask[..., None], _chebyshev(x, mask, degree), 0)
    # An orthogonal basis keeps the digits: the columns are far from orthogonal on the levels.
    basis, _ = jnp.linalg.qr(columns)
    coefficients = jnp.sum(basis * jnp.where(mask, rank, 0)[..., None], axis=-2, keepdims=True)
    return jnp.sum(basis * coefficients, axis=-1).reshape(shape)


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
