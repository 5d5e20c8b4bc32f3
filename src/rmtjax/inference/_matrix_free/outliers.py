r"""Levels of an operator that lie outside of a bulk by more than the fluctuations of its edge.

Near its end b a bulk of n levels has the density $\frac a\pi \sqrt{b - x}$, and its outermost level lies at
$b + (a n)^{-2/3}\,\xi$ with ξ from the law of Tracy and Widom. The quantile $b - s$ above which there is one level on
average, $\frac{2an}{3\pi} s^{3/2} = 1$, gives the constant: $(an)^{-2/3} = \big(\frac{2}{3\pi}\big)^{2/3} s$.
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import in_one_precision
from rmtjax._typing import Side
from rmtjax.inference._matrix_free.spectral_density_estimate import SpectralDensityEstimate
from rmtjax.laws import AbstractLaw, TracyWidom

_EDGE = (2 / (3 * math.pi)) ** (2 / 3)

_BOUNDED = _checks.Rule(lambda end: abs(end) < math.inf, "have a bounded support")


class SpectralOutliers(AbstractModule):
    """The outermost levels of an operator, and whether they belong to a bulk.

    Args:
        levels: levels from the outermost inwards.
        residuals: distances within which there is a level of the operator.
        p_values: for each level, the probability that the outermost level of the bulk is as far out.
        count: how many levels are outside, counted up to the first that may belong to the bulk.
        edge: the end of the bulk.
        side: "upper" or "lower".

    Example:
        >>> import jax.numpy as jnp
        >>> found = SpectralOutliers(
        ...     jnp.array([5.0, 2.0]), jnp.zeros(2), jnp.array([0.0, 0.5]), jnp.array(1), jnp.array(2.0), "upper"
        ... )
        >>> print(found.levels[: int(found.count)])
        [5.]
    """

    levels: Float[Array, " k"]
    residuals: Float[Array, " k"]
    p_values: Float[Array, " k"]
    count: Int[Array, ""]
    edge: Float[Array, ""]
    side: Side = eqx.field(static=True)


def spectral_outliers(
    density: SpectralDensityEstimate, bulk: AbstractLaw, *, side: Side = "upper", alpha: float = 0.05
) -> SpectralOutliers:
    r"""Which of the outermost levels of an operator lie outside of a bulk, such as a fitted law.

    The law itself gives the scale of the fluctuations: the outermost of n levels lies at the end of the support plus
    $\big(\frac{2}{3\pi}\big)^{2/3} s$ times a variate of `laws.TracyWidom`, where 1/n of the law is within the distance
    s of the end.

    Convention: β of `laws.TracyWidom` is 1 for real and 2 for complex vectors. A level is taken at the near end of its
    residual, and as the outermost of the bulk, which is on the safe side for all but the first level.

    Args:
        density: the result of `spectral_density_of`.
        bulk: a law of bounded support that ends like a square root, e.g. of a fit.
        side: "upper" or "lower"; static.
        alpha: the p-value below which a level is outside, in (0, 1).

    Returns:
        `SpectralOutliers`, with one entry for each node of a probe.

    Raises:
        ValueError: `bulk` is no law or has no end on this side, or another argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> a = rmt.GOE(500).sample(jax.random.key(0)).at[0, 0].add(3.0)
        >>> found = rmt.inference.spectral_density_of(lambda v: a @ v, jax.random.key(1), 500)
        >>> outside = rmt.inference.spectral_outliers(found, rmt.laws.Semicircle(2.0))
        >>> print(outside.count, outside.p_values[1] > 0.05)
        1 True

    References:
        Erdős and Yau (2017), A Dynamical Approach to Random Matrix Theory, section 18, for universality of the edge.
    """
    if not isinstance(density, SpectralDensityEstimate):
        raise _checks.refusal("density", "be a `SpectralDensityEstimate`, from `spectral_density_of`", density)
    if not isinstance(bulk, AbstractLaw):
        raise _checks.refusal("bulk", "be a law", bulk)
    upper = _checks.choice("side", side, Side) == "upper"
    share = _checks.PROPER_FRACTION("alpha", _checks.scalar("alpha", alpha))
    edge = _BOUNDED("bulk", bulk.support()[1 if upper else 0])
    inside = bulk.isf(1 / density.n) if upper else bulk.ppf(1 / density.n)
    levels, residuals = density.extreme_levels(density.nodes.shape[-1], side=side)
    p_values = TracyWidom(density.beta).sf(_outward(levels, residuals, edge, inside))
    return SpectralOutliers(levels, residuals, p_values, _count(p_values, share), edge, side)


@compiled
def _outward(
    levels: Float[Array, " k"], residuals: Float[Array, " k"], edge: Float[Array, ""], inside: Float[Array, ""]
) -> Float[Array, " k"]:
    """The least distance of each level from the bulk, in units of the fluctuations."""
    levels, residuals, edge, inside = in_one_precision((levels, residuals, edge, inside))
    sign = jnp.sign(edge - inside)
    return (sign * (levels - edge) - residuals) / (_EDGE * jnp.abs(edge - inside))


@compiled
def _count(p_values: Float[Array, " k"], alpha: Float[Array, ""]) -> Int[Array, ""]:
    return jnp.sum(jnp.cumprod((p_values < alpha).astype(int)))
