"""What the plots of statistics share: an estimate with confidence intervals over spectra, and reference curves."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from rmtjax import _checks
from rmtjax.plotting import _means, _style
from rmtjax.special.internal import decimals
from rmtjax.spectra import Circle, MaskedValues, Spectrum

T = TypeVar("T")
# The number of points of a reference curve.
_FINE = 401
# The mark of what `curve` and `histogram` have drawn on given axes, so that the next one looks different.
_MARK = "estimate"


def levels_on_circle(levels: Any) -> int | None:
    """The length of the circle on which all spectra lie, as a number of levels; None where there is no such circle."""
    if not isinstance(levels, Spectrum) or not isinstance(levels.domain, Circle):
        return None
    periods = np.unique(np.asarray(levels.domain.period))
    return max(1, round(float(periods[0]))) if periods.size == 1 else None


def on_circle(levels: Any, law: Callable[..., Any], circular: Callable[..., Any]) -> Callable[[np.ndarray, Any], Any]:
    """The curve of large spectra, or the exact one of the circle on which the levels lie."""
    n = levels_on_circle(levels)
    return law if n is None else lambda points, beta: circular(points, n, beta)


def curve(
    points: Float[Array | np.ndarray, " k"],
    each: PyTree[Float[Array, "*batch k"]],
    reference: Callable[[np.ndarray, Any], Any],
    betas: int | Iterable[int],
    *,
    names: tuple[str, str],
    label: str | None,
    ax: Any,
    combine: Callable[[Any], Any] | None = None,
    grid: Float[np.ndarray, " m"] | None = None,
    lines: int = 1,
    log: str = "",
    signed: bool = False,
) -> Any:
    """Draw the mean over spectra of a statistic at some points, with a band, and `reference(grid, beta)` for each β.

    The band holds the mean, or the function `combine` of means, with 95 % confidence. With several lines each value has
    an axis of so many behind that of the points, and so has the reference. The view begins at 0 and ends at 1.6 times
    the highest point of the band, or where the highest reference does, and likewise below 0 for what has a sign; on a
    logarithmic axis, asked for here or set before, it holds all that is above 0 with confidence.
    """
    each = jax.tree.map(lambda values: np.asarray(values).reshape(-1, points.size, lines), each)
    number = len(jax.tree.leaves(each)[0])
    if number == 0:
        raise _checks.refusal("levels", "be those of at least one spectrum", (number,))
    order = np.argsort(points)
    x = np.asarray(points)[order]
    mean, interval, _ = _means.mean(jax.tree.map(lambda values: values[:, order], each), combine)
    if grid is None:
        grid = _grid(x, "x" in log or (ax is not None and ax.get_xscale() == "log"))
    references = of_each(lambda beta: np.asarray(reference(grid, beta)).reshape(-1, lines), betas)

    axes = _style.new_axes() if ax is None else ax
    axes.set(**{f"{axis}scale": "log" for axis in log})
    color = _next_color(axes)
    for low, high in zip(*(ends.T for ends in interval or ()), strict=True):
        axes.fill_between(x, low, high, color=color, alpha=0.35, linewidth=0, zorder=1)
    label = spectra(number) if label is None else label
    drawn = axes.plot(x, mean, ".-", color=color, markersize=4, linewidth=0.8, zorder=2)
    drawn[0].set(label=label, gid=_MARK)
    _set_view(axes, list(references.values()), mean, interval or (mean, mean), signed=signed)
    _draw_references(axes, grid, references)
    return _finished(axes, names)


def histogram(
    values: MaskedValues,
    edges: Float[np.ndarray, " k+1"],
    densities: Mapping[int, Callable[[np.ndarray], Any]],
    *,
    name: str,
    label: str | None,
    ax: Any,
) -> Any:
    """Draw the density of the values that count, with 95 % confidence intervals, and that of the law of each β.

    Values outside of the edges count in the total. The view ends at 1.6 times the highest bar, or at that of a law.
    """
    each, mask = np.asarray(values.values), np.asarray(values.mask)
    totals = _means.rows(mask).sum(axis=1)
    if not totals.any():
        raise _checks.refusal("levels", f"have {name}", values.values.shape)
    heights, interval, _ = _means.mean(_means.parts(_means.binned(each, mask, edges), totals) / np.diff(edges))
    if label is None:
        sums = _means.rows(np.where(mask, each, 0)).sum(axis=1)
        mean, _, error = _means.mean(_means.parts(sums, totals))
        label = f"{spectra(int((totals > 0).sum()))}, mean {with_error(float(mean), error)}"
    grid = np.linspace(edges[0], edges[-1], _FINE)
    references = {beta: np.asarray(density(grid)) for beta, density in densities.items()}

    axes = _style.new_axes() if ax is None else ax
    color = _next_color(axes)
    look = {"facecolor": (color, 0.35), "edgecolor": color, "linewidth": 0.6}
    axes.stairs(heights, edges, fill=True, **look, zorder=1, label=label, gid=_MARK)
    if interval:
        middle, bars = (edges[:-1] + edges[1:]) / 2, (heights - interval[0], interval[1] - heights)
        axes.errorbar(middle, heights, bars, fmt="none", ecolor="0.25", elinewidth=0.8, zorder=2)
    _set_view(axes, list(references.values()), heights, (heights, heights))
    _draw_references(axes, grid, references)
    return _finished(axes, (name, "density"))


def of_each(reference: Callable[[Any], T], betas: int | Iterable[int]) -> dict[int, T]:
    """The reference of each β; one alone need not be in a list."""
    return {beta: reference(beta) for beta in (betas if isinstance(betas, Iterable) else [betas])}


def _next_color(axes: Any) -> str:
    earlier = sum(artist.get_gid() == _MARK for artist in [*axes.lines, *axes.patches])
    return _style.FILLS[earlier % len(_style.FILLS)]


def spectra(number: int) -> str:
    return "1 spectrum" if number == 1 else f"{number:,} spectra"


def with_error(value: float, error: Any) -> str:
    """A number, with two digits of its standard error."""
    if error is None or not error > 0:
        return f"{value:.3g}"
    digits = decimals(error)
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _grid(x: Float[np.ndarray, " k"], logarithmic: bool) -> Float[np.ndarray, " m"]:
    """Points between the ends, evenly spaced on an axis of this kind."""
    if logarithmic and x[-1] > 0:
        return np.geomspace(x[x > 0][0], x[-1], _FINE)
    return np.linspace(x[0], x[-1], _FINE)


def _set_view(
    axes: Any,
    references: list[np.ndarray],
    mean: np.ndarray,
    interval: tuple[np.ndarray, np.ndarray],
    *,
    signed: bool = False,
) -> None:
    """The view of what is drawn, and of references as far as 1.6 times that; from 0 on unless it has a sign."""
    low, high = interval
    if axes.get_yscale() == "log":
        # A mean that may be 0 is as near to it as chance will have it.
        seen = np.concatenate([each.ravel() for each in (mean[low > 0], high, *references)])
        # Limits that are set switch this off.
        earlier = () if axes.get_autoscaley_on() else axes.get_ylim()
        if (seen > 0).any():
            axes.set_ylim(min([*earlier, seen[seen > 0].min() / 1.5]), max([*earlier, 1.5 * np.nanmax(seen)]))
        return
    lowest, highest = np.nanmin(low, initial=0) if signed else 0, np.nanmax(high, initial=0)
    least = min((np.nanmin(curve, initial=0) for curve in references), default=0)
    most = max((np.nanmax(curve, initial=0) for curve in references), default=0)
    before, extent = axes.get_ylim(), max(highest, -lowest)
    bottom = min(before[0], 1.05 * lowest, 1.05 * max(least, -1.6 * extent)) if signed else 0
    axes.set_ylim(bottom, max(before[1], 1.05 * highest, 1.05 * min(most, 1.6 * extent)))


def _draw_references(axes: Any, grid: np.ndarray, references: Mapping[int, np.ndarray]) -> None:
    """Draw the curves that are not there yet."""
    drawn = {line.get_label() for line in axes.lines}
    for beta, values in references.items():
        if _style.REFERENCE_NAMES[beta] not in drawn:
            first, *_ = axes.plot(grid, values, **_style.REFERENCES[beta], zorder=3)
            first.set_label(_style.REFERENCE_NAMES[beta])


def _finished(axes: Any, names: tuple[str, str]) -> Any:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    _style.legend(axes)
    return axes
