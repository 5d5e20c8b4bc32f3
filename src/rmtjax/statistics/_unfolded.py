"""What an unfolding returns: levels of mean spacing 1, and how well it did."""

from jaxtyping import Array, Bool, Float

from rmtjax._module import AbstractModule
from rmtjax.linalg import MaskedValues


class Unfolded(AbstractModule):
    r"""Unfolded levels, and what tells whether to trust them.

    The residuals are those of the staircase, $y_i - (i - \tfrac12)$ for unfolded levels y: what is left of it once its
    smooth part has been taken away.

    Args:
        levels: `linalg.MaskedValues`, which every statistic takes; what was dropped does not count.
        deviation: the residual of each level; NaN for those that do not count.
        mean_spacing: of the levels that count, 1 if all is right.
        residual: root of the mean squared residual. With the right smooth part it is 0.5 to 1 for random matrices,
            and for n independent levels $\sqrt{n/6}$ by a known law, $\sqrt{n/12}$ on the circle, $\sqrt{n/15}$ once a
            line is fitted; less means that fluctuations were unfolded away, more that the smooth part is wrong. Where
            it is 0 its derivative is, too.
        trend: slope of the residuals, the relative error of the mean density.
        below, above: the share of each spectrum that was dropped at its lower and its upper end; `levels.mask` tells
            which levels these are.
        monotone: whether unfolded levels ascend.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> unfolded = rmt.statistics.unfold(jnp.linspace(0.05, 0.95, 10), lambda x: 11 * x)  # a density 10 % too high
        >>> print(f"{unfolded.trend:.2f} {unfolded.mean_spacing:.2f}")
        0.10 1.10
    """

    levels: MaskedValues
    deviation: Float[Array, "*batch n"]
    mean_spacing: Float[Array, "*batch"]
    residual: Float[Array, "*batch"]
    trend: Float[Array, "*batch"]
    below: Float[Array, "*batch"]
    above: Float[Array, "*batch"]
    monotone: Bool[Array, "*batch"]
