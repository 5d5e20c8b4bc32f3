"""What the plots of statistics share: an estimate with its confidence intervals over spectra, and references."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from rmtjax import _checks
from rmtjax._typing import DysonIndexOrZero
from rmtjax.plotting import _means, _style
from rmtjax.special.internal import decimals
from rmtjax.spectra import MaskedValues

T = TypeVar("T")
# The number of points of a reference.
_FINE = 401


def curve(
    points: Float[Array | np.ndarray, " k"],
    each: PyTree[Float[Array, "*batch k"]],
    reference: Callable[[np.ndarray, Any], Any],
    betas: Any,
    names: tuple[str, str],
    label: str | None,
    ax: Any,
    style: dict[str, Any],
    *,
    combine: Callable[[Any], Any] | None = None,
    grid: Float[np.ndarray, " m"] | None = None,
    lines: int = 1,
    log: str = "",
    signed: bool = False,
    allowed: Any = DysonIndexOrZero,
) -> Any:
    """Draw the mean over spectra of a statistic at some points, with a band, and `reference(grid, beta)` for each β.

    What is drawn is the mean or, where `combine` is given, this function of the means. The band holds it with 95 %
    confidence. With several lines, the statistic and the reference have a last axis of this size.

    The view is from 0 to the end of the band, and further to the end of the references, up to 1.6 times the end of the
    band. With `signed` the same holds below 0. On a logarithmic axis, asked for here or set before, the view holds all
    that is above 0 with confidence.
    """
    style = _style.checked(ax, style, "Line2D")
    each = jax.tree.map(lambda values: np.asarray(values).reshape(-1, points.size, lines), each)
    number = len(jax.tree.leaves(each)[0])
    if number == 0:
        raise _checks.refusal("levels", "be those of at least one spectrum", (number,))
    order = np.argsort(points)
    x = np.asarray(points)[order]
    mean, interval, _ = _means.mean(jax.tree.map(lambda values: values[:, order], each), combine)
    if grid is None:
        grid = _grid(x, "x" in log or (ax is not None and ax.get_xscale() == "log"))
    references = of_each(lambda beta: np.asarray(reference(grid, beta)).reshape(-1, lines), betas, allowed)

    axes = _style.new_axes() if ax is None else ax
    axes.set(**{f"{axis}scale": "log" for axis in log})
    defaults = {"color": _style.next_color(axes), "marker": ".", "markersize": 4, "linewidth": 0.8, "zorder": 2}
    look = defaults | style
    for low, high in zip(*(ends.T for ends in interval or ()), strict=True):
        axes.fill_between(x, low, high, color=look["color"], alpha=0.35, linewidth=0, zorder=1)
    label = counted(number) if label is None else label
    drawn = axes.plot(x, mean, **look)
    drawn[0].set(label=label, gid=_style.MARK)
    _set_view(axes, [*references.values()], mean, interval or (mean, mean), signed=signed)
    return _compared(axes, grid, references, names)


def histogram(
    values: MaskedValues,
    edges: Float[np.ndarray, " k+1"],
    densities: Mapping[int, Callable[[np.ndarray], Any]],
    *,
    name: str,
    label: str | None,
    ax: Any,
    style: dict[str, Any],
) -> Any:
    """Draw the density of the values that count, with 95 % confidence intervals, and the density of each β.

    Values outside the edges count in the total. The view ends above the bars and the densities, or at 1.6 times the
    highest bar where a density is higher.
    """
    style = _style.checked(ax, style, "StepPatch")
    each, mask = np.asarray(values.values), np.asarray(values.mask)
    totals = _means.rows(mask).sum(axis=1)
    if not totals.any():
        raise _checks.refusal("levels", f"have {name}", values.values.shape)
    heights, interval, _ = _means.mean(_means.parts(_means.binned(each, mask, edges), totals) / np.diff(edges))
    if label is None:
        sums = _means.rows(np.where(mask, each, 0)).sum(axis=1)
        mean, _, error = _means.mean(_means.parts(sums, totals))
        label = f"{counted((totals > 0).sum())}, mean {with_error(float(mean), error)}"
    grid = np.linspace(edges[0], edges[-1], _FINE)
    references = {beta: np.asarray(density(grid)) for beta, density in densities.items()}

    axes = _style.new_axes() if ax is None else ax
    errors = (heights - interval[0], interval[1] - heights) if interval else None
    _style.bars(axes, heights, edges, errors, style, label)
    _set_view(axes, [*references.values()], heights, (heights, heights))
    return _compared(axes, grid, references, (name, "density"))


def of_each(reference: Callable[[Any], T], betas: Any, allowed: Any = DysonIndexOrZero) -> dict[int, T]:
    """The reference of each β, where every β is one of those allowed. A single β need not be in a list."""
    each = betas if isinstance(betas, Iterable) else [betas]
    return {beta: reference(beta) for beta in (_checks.dyson_index(beta, allowed) for beta in each)}


def counted(number: int, one: str = "spectrum", several: str = "spectra") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {several}"


def with_error(value: float, error: Any) -> str:
    """A number with its standard error, to two digits of the error, unless this is rounding of single precision."""
    if error is None or not error > np.finfo(np.float32).eps * abs(value):
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
    """Set the view as `curve` says."""
    low, high = interval
    if axes.get_yscale() == "log":
        # A mean whose interval holds 0 is left out, because chance decides how near to 0 it is.
        seen = np.concatenate([each.ravel() for each in (mean[low > 0], high, *references)])
        # Matplotlib switches autoscaling off when limits are set.
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


def _compared(axes: Any, grid: np.ndarray, references: Mapping[int, np.ndarray], names: tuple[str, str]) -> Any:
    """Draw the references that are not on the axes yet, and finish the axes."""
    drawn = {line.get_label() for line in axes.lines}
    for beta, values in references.items():
        if _style.REFERENCE_NAMES[beta] not in drawn:
            first, *_ = axes.plot(grid, values, **_style.REFERENCES[beta], zorder=3)
            first.set_label(_style.REFERENCE_NAMES[beta])
    return _style.finished(axes, *names)
