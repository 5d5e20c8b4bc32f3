"""Unfolding by a polynomial."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealScalarLike
from rmtjax._varying import varying_like
from rmtjax.statistics._levels import Spectrum, checked, ranks
from rmtjax.statistics._unfolding.unfolded import DROP, Unfolded, diagnosed, middle


def unfold_polynomial(
    levels: Spectrum,
    degree: int,
    *,
    pooled: bool = True,
    drop: RealScalarLike = 0.0,
    where: Bool[Array, "*batch n"] | None = None,
) -> Unfolded:
    r"""Levels of mean spacing 1 by a polynomial, fitted to the staircase by least squares.

    The staircase $N(x_i) = i - \tfrac12$ of all spectra together is far smoother than that of each, so a pooled fit
    takes less of the fluctuations away: with m spectra the degree may be some m times larger, and `polynomial_degree`
    finds it. A fit to each spectrum of its own lowers number variance and rigidity at all lengths above about n/degree.
    The polynomial is a Chebyshev series on the range of the levels.

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
    share = DROP("drop", _checks.scalar("drop", drop))
    values = _fitted(spectra.values, spectra.mask, degree, pooled)
    return diagnosed(spectra, values, middle(spectra.mask, share))


@partial(compiled, static_argnums=(2, 3))
def _fitted(x: Array, mask: Array, degree: int, pooled: bool) -> Array:
    shape = x.shape
    rank = ranks(mask)
    if pooled:
        number = jnp.maximum(jnp.sum(jnp.any(mask, axis=-1)), 1)
        x, mask = x.reshape(1, -1), mask.reshape(1, -1)
        rank = pooled_ranks(mask[0], ascending(x[0], mask[0]))[None] / number
    # An orthogonal basis keeps the digits: the columns are far from orthogonal on the levels.
    basis, _ = jnp.linalg.qr(chebyshev(x, mask, degree))
    coefficients = jnp.sum(basis * jnp.where(mask, rank, 0)[..., None], axis=-2, keepdims=True)
    return jnp.sum(basis * coefficients, axis=-1).reshape(shape)


def ascending(x: Float[Array, " n"], mask: Bool[Array, " n"]) -> Array:
    """The places of the levels of a pool in ascending order, those that do not count at the end."""
    return jnp.argsort(jnp.where(mask, x, jnp.inf))


def pooled_ranks(mask: Bool[Array, " n"], order: Array) -> Float[Array, " n"]:
    """The staircase of a pool of spectra, at each of its levels."""
    rank = ranks(mask[order])
    return jnp.zeros_like(rank).at[order].set(rank)


def chebyshev(x: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], degree: int) -> Float[Array, "*batch n k"]:
    """The polynomials of Chebyshev on the range of the levels, as columns; 0 where a level does not count."""
    low = jnp.min(x, axis=-1, keepdims=True, where=mask, initial=jnp.inf)
    high = jnp.max(x, axis=-1, keepdims=True, where=mask, initial=-jnp.inf)
    width = jnp.where(high > low, high - low, 1)
    t = 2 * (x - jnp.where(high >= low, low, 0)) / width - 1
    # The recurrence, as the arc cosine has no derivative at the ends.
    state = varying_like(jnp.ones_like(t), jax.typeof(t)), t
    _, columns = jax.lax.scan(partial(_next_polynomial, t), state, length=degree + 1)
    return jnp.where(mask[..., None], jnp.moveaxis(columns, 0, -1), 0)


def _next_polynomial(t: Array, state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
    now, following = state
    return (following, 2 * t * following - now), now
