"""How well a spectrum was unfolded."""

from jaxtyping import Array, Bool, Float

from rmtjax._module import AbstractModule


class Unfolding(AbstractModule):
    r"""What tells whether to trust unfolded levels.

    The residuals are those of the staircase, $y_i - (i - \tfrac12)$ for unfolded levels y: what is left of it once its
    smooth part has been taken away.

    Args:
        deviation: the residual of each level; NaN for those that do not count.
        mean_spacing: of the levels that count, 1 if all is right.
        residual: root of the mean squared residual. With the right smooth part it is 0.5 to 1 for random matrices,
            and for n independent levels $\sqrt{n/6}$ by a known law, $\sqrt{n/12}$ on the circle, $\sqrt{n/15}$ once a
            line is fitted; less means that fluctuations were unfolded away, more that the smooth part is wrong. Where
            it is 0 its derivative is, too.
        trend: slope of the residuals, the relative error of the mean density.
        below, above: the share of each spectrum that was dropped at its lower and its upper end; the mask of the
            spectrum tells which levels these are.
        monotone: whether unfolded levels ascend.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> report = rmt.statistics.unfold(jnp.linspace(0.05, 0.95, 10), lambda x: 11 * x).report  # 10 % too high
        >>> print(f"{report.trend:.2f} {report.mean_spacing:.2f}")
        0.10 1.10
    """

    deviation: Float[Array, "*batch n"]
    mean_spacing: Float[Array, "*batch"]
    residual: Float[Array, "*batch"]
    trend: Float[Array, "*batch"]
    below: Float[Array, "*batch"]
    above: Float[Array, "*batch"]
    monotone: Bool[Array, "*batch"]
