"""The exponent of the law of small spacings."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike
from rmtjax._units import quotient
from rmtjax.spectra.internal import Levels, LevelsLike, unit_density
from rmtjax.statistics._spacings.spacings import spaced_where_counted

_CUTOFFS = _checks.Rule(lambda s: ((s > 0) & (s < math.inf)).all(), "be positive and finite")


class LevelRepulsion(AbstractModule):
    r"""The small spacings of a spectrum, as sums that give the exponent of their law.

    The exponent of several spectra together is that of the sums, or means, of their records.

    Args:
        count: k, the number of spacings below the cutoff.
        logarithms: the sum of $\log(s_c/s_i)$ over these spacings.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{LevelRepulsion(jnp.asarray(30.0), jnp.asarray(10.0)).exponent:.1f}")
        2.0
    """

    count: Float[Array, "..."]
    logarithms: Float[Array, "..."]

    @property
    def exponent(self) -> Float[Array, "..."]:
        r"""The estimate $k/\sum_i \log(s_c/s_i) - 1$ of β; NaN where no spacing is below the cutoff."""
        return _exponent(self.count, self.logarithms)


def level_repulsion(levels: LevelsLike, cutoffs: RealLike) -> LevelRepulsion:
    r"""The exponent β of the law of small spacings, $P(s) \sim s^\beta$, by maximum likelihood below a cutoff.

    $$\hat\beta = \frac{k}{\sum_{s_i < s_c} \log(s_c/s_i)} - 1$$

    A single spectrum has few small spacings. So the function returns the sums of each spectrum, and their means over
    spectra give the exponent, with the jackknife's error:
    `over_samples(lambda x: level_repulsion(x, 0.3), levels, combine=lambda mean: mean.exponent)`. For independent
    spacings this error is $(\beta + 1)/\sqrt k$.

    A cutoff has a bias, which several cutoffs show. If $P(s) \propto s^\beta (1 + c\,s^\gamma + \dots)$ the bias is
    $c\,\gamma\,s_c^\gamma (\beta + 1)^2/(\beta + 1 + \gamma)^2$ to first order, with $\gamma = 2$ and
    $c = -\pi^2/10$, $-2\pi^2/15$, $-8\pi^2/35$ for β = 1, 2, 4, and $\gamma = 1$, $c = -1$ for independent levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`. Only the spacings matter, so
            `unfold_local` will do.
        cutoffs: $s_c > 0$, of any shape, in units of the mean spacing. Each takes O(n) time.

    Returns:
        `LevelRepulsion`, with sums of the shape of the batch followed by that of `cutoffs`. Equal levels are left out.
        But the logarithm of a degenerate pair that rounding has split spoils the sum, so merge such pairs first.
        Differentiable in the levels almost everywhere.

    Raises:
        ValueError: the levels are not ascending numbers of mean spacing 1, or a cutoff is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> phases = jax.vmap(rmt.CUE(100).eigenphases)(jax.random.split(jax.random.key(0), 100))
        >>> found = level_repulsion(phases * 100 / (2 * jax.numpy.pi), 0.5)
        >>> print(f"{rmt.statistics.LevelRepulsion(found.count.sum(), found.logarithms.sum()).exponent:.1f}")
        1.8

    References:
        Hill (1975), Ann. Statist. 3, 1163, for the estimator; Mehta (2004), Random Matrices, chapters 6, 7 and 11.
    """
    sizes = _checks.real("cutoffs", cutoffs)
    valid = _CUTOFFS.kept("cutoffs", sizes)
    spectra = unit_density(levels)
    sums = _sums(spectra, sizes)
    return LevelRepulsion(*(_checks.masked(valid, spectra.masked(each, sizes.ndim)) for each in sums))


@partial(compiled, nan_is_an_answer=True)
def _exponent(count: Float[Array, "..."], logarithms: Float[Array, "..."]) -> Float[Array, "..."]:
    some = count > 0
    return jnp.where(some, count / jnp.where(some, logarithms, 1) - 1, jnp.nan)


@partial(compiled, nan_is_an_answer=True)
def _sums(spectra: Levels, cutoffs: Float[Array, "..."]) -> list[Float[Array, "..."]]:
    values = spectra.values
    distances, inside = spaced_where_counted(spectra, 1)
    inside &= distances > 0
    each = cutoffs.ravel().astype(values.dtype)
    sums = jax.lax.map(partial(_below, jnp.where(inside, distances, 1), inside), each)
    return [jnp.moveaxis(part, 0, -1).reshape(*values.shape[:-1], *cutoffs.shape) for part in sums]


def _below(
    distances: Float[Array, "*batch m"], inside: Bool[Array, "*batch m"], cutoff: Float[Array, ""]
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    small = inside & (distances < cutoff)
    logarithms = jnp.where(small, jnp.log(quotient(cutoff, distances)), 0)
    return jnp.sum(small, axis=-1, dtype=distances.dtype), jnp.sum(logarithms, axis=-1)
