"""How well a spectrum was unfolded."""

import numpy as np
from jaxtyping import Array, Bool, Float

from rmtjax._module import AbstractModule
from rmtjax._staging import is_traced


class Unfolding(AbstractModule):
    r"""How well levels were unfolded.

    The residuals are what is left of the staircase once its smooth part has been taken away, $y_i - (i - \tfrac12)$ for
    unfolded levels y. As text the report is one line, with the means over the spectra.

    Args:
        deviation: the residual of each level; NaN for those that do not count.
        mean_spacing: of the levels that count; 1 if the smooth part is right.
        residual: root of the mean squared residual. With the right smooth part it is 0.5 to 1 for random matrices,
            and for n independent levels $\sqrt{n/6}$ by a known law, $\sqrt{n/12}$ on the circle, $\sqrt{n/15}$ once a
            line is fitted. Less means that fluctuations were unfolded away, more that the smooth part is wrong. Its
            derivative is 0 where it is 0.
        trend: slope of the residuals, the relative error of the mean density.
        below, above: the share of each spectrum that was dropped at its lower and its upper end. The mask of the
            spectrum shows which levels these are.
        monotone: whether unfolded levels ascend.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> report = rmt.statistics.unfold(jnp.linspace(0.05, 0.95, 10), lambda x: 11 * x).report  # 10 % too high
        >>> print(report)
        mean spacing 1.1000, residual 0.58 levels, trend 0.1000; dropped 0.0 % below and 0.0 % above
    """

    deviation: Float[Array, "*batch n"]
    mean_spacing: Float[Array, "*batch"]
    residual: Float[Array, "*batch"]
    trend: Float[Array, "*batch"]
    below: Float[Array, "*batch"]
    above: Float[Array, "*batch"]
    monotone: Bool[Array, "*batch"]

    def __str__(self) -> str:
        if is_traced(self) or not self.monotone.size:
            return repr(self)
        means = [_mean(each) for each in (self.mean_spacing, self.residual, self.trend)]
        words = "mean spacing {:.4f}, residual {:.2f} levels, trend {:.4f}".format(*means)
        dropped = f"dropped {100 * _mean(self.below):.1f} % below and {100 * _mean(self.above):.1f} % above"
        wrong = int(np.sum(~np.asarray(self.monotone)))
        disorder = f"; {wrong} of {self.monotone.size} spectra do not ascend" if wrong else ""
        return f"{words}; {dropped}{disorder}"


def _mean(values: Float[Array, "*batch"]) -> float:
    """The mean over the spectra that have a number."""
    known = np.asarray(values)[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
