"""The plot of how well spectra are unfolded."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rmtjax import _checks
from rmtjax.plotting import _bins, _estimates, _means
from rmtjax.spectra import Spectrum, Unfolding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The number of single spectra that are drawn.
_FEW = 20


def unfolding(
    unfolded: Spectrum, *, bins: int = 40, label: str | None = None, ax: "Axes | None" = None, **style: Any
) -> "Axes":
    r"""Draw how far unfolded levels are from a perfect ladder, $y_i - (i - \tfrac12)$, over the levels.

    A wrong density shows as a trend or a wave that all spectra have in common. So the plot shows the mean over the
    spectra in bins of the unfolded axis. Its band should hold 0. Behind the mean the first spectra are thin lines.
    They fluctuate strongly for independent levels, and little for levels that repel. An unfolding can also remove the
    fluctuations themselves, as a polynomial of high degree for each spectrum does. Then the mean is right, but the thin
    lines are too flat. `rmtjax.plotting` says what all plots have in common.

    Args:
        unfolded: the result of `statistics.unfold` or any other unfolding; the spectra are independent.
        bins: number of bins between the lowest and the highest level. Where a bin has levels of only one of several
            spectra, the line has a gap.
        label: name of the spectra in the legend; by default their number and the mean `trend` with its standard error.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: an argument is outside its range, or no level counts.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> goe = rmt.GOE(100)
        >>> levels = rmt.simulate(goe.eigenvalues, jax.random.key(0), 50)
        >>> ax = rmt.plotting.unfolding(rmt.statistics.unfold(levels, goe.law()), label="GOE")
        >>> print(ax.get_legend().get_texts()[0].get_text())
        GOE

    References:
        Guhr, Müller-Groeling and Weidenmüller (1998), Phys. Rep. 299, 189, section 3.2.1.
    """
    report = unfolded._report if isinstance(unfolded, Spectrum) else None
    if report is None:
        raise _checks.refusal("unfolded", "be the result of an unfolding", type(unfolded).__name__)
    mask = np.asarray(unfolded.mask)
    levels = np.where(mask, np.asarray(unfolded.values, np.float64), np.nan)
    deviation = np.asarray(report.deviation, np.float64)
    if not mask.any():
        raise _checks.refusal("unfolded", "have levels", mask.shape)
    edges = _bins.over(levels[mask], _checks.integer("bins", bins, at_least=1))
    each = _means.binned(levels, mask, edges, deviation), _means.binned(levels, mask, edges)
    names, middle = ("unfolded level $y$", r"$y_i - (i - \frac{1}{2})$"), (edges[1:] + edges[:-1]) / 2
    label = _named(report) if label is None else label
    reference = lambda grid, beta: grid  # No β has one.
    axes = _estimates.curve(middle, each, reference, (), names, label, ax, style, combine=_means.quotient, signed=True)
    _draw_few(axes, *(_means.rows(array)[:_FEW] for array in (levels, deviation)))
    return axes


def _named(report: Unfolding) -> str:
    trend = np.asarray(report.trend, np.float64).ravel()
    number, trend = trend.size, trend[np.isfinite(trend)]
    if trend.size == 0:
        return _estimates.counted(number)
    value, _, error = _means.mean(trend)
    return f"{_estimates.counted(number)}, trend {_estimates.with_error(float(value), error)}"


def _draw_few(axes: Any, levels: np.ndarray, deviations: np.ndarray) -> None:
    """Draw single spectra in the colour of their mean, and the line 0."""
    color = axes.lines[-1].get_color()
    axes.plot(levels.T, deviations.T, color=color, linewidth=0.5, alpha=0.3, zorder=0.5)
    axes.axhline(0, color="0.25", linewidth=0.8, zorder=1.5)
    extent = 1.05 * np.nanmax(abs(deviations), initial=0)
    bottom, top = axes.get_ylim()
    axes.set_ylim(min(bottom, -extent), max(top, extent))
