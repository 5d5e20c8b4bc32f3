"""What the plots of statistics share: an estimate with confidence intervals over spectra, and reference curves."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from rmtjax import _checks
from rmtjax.laws import AbstractLaw
from rmtjax.linalg import MaskedValues
from rmtjax.plotting import _style
from rmtjax.statistics import over_samples

# The number of points of a reference curve.
_FINE = 401
# The mark of what `curve` and `histogram` have drawn on given axes, so that the next one looks different.
_MARK = "estimate"


def curve(
    points: Float[Array, " k"],
    each: PyTree[Float[Array, "*batch k"]],
    reference: Callable[[np.ndarray, int], Any],
    betas: Iterable[int],
    *,
    names: tuple[str, str],
    label: str | None,
    ax: Any,
    combine: Callable[[Any], Any] | None = None,
    grid: Float[np.ndarray, " m"] | None = None,
    logarithmic: bool = False,
) -> Any:
    """Draw the mean over spectra of a statistic at some points, with a band, and `reference(grid, beta)` for each β.

    The band holds the mean, or the function `combine` of means, with 95 % confidence. The view begins at 0 and ends at
    1.6 times the highest point of the band, or where the highest reference does; with logarithmic axes it holds all.
    """
    each = jax.tree.map(lambda values: np.asarray(values).reshape(-1, points.size), each)
    number = len(jax.tree.leaves(each)[0])
    if number == 0:
        raise _checks.refusal("levels", "be those of at least one spectrum", (number,))
    order = np.argsort(points)
    x = np.asarray(points)[order]
    mean, interval, _ = _mean(jax.tree.map(lambda values: values[:, order], each), combine)
    grid = np.linspace(x[0], x[-1], _FINE) if grid is None else grid
    references = {beta: np.asarray(reference(grid, beta)) for beta in betas}

    axes = _style.new_axes() if ax is None else ax
    color = _next_color(axes)
    if interval:
        axes.fill_between(x, *interval, color=color, alpha=0.35, linewidth=0, zorder=1)
    label = _spectra(number) if label is None else label
    axes.plot(x, mean, ".-", color=color, markersize=4, linewidth=0.8, zorder=2, label=label, gid=_MARK)
    if logarithmic:
        axes.set(xscale="log", yscale="log")
    else:
        _set_view(axes, references.values(), np.nanmax(interval[1] if interval else mean, initial=0))
    _draw_references(axes, grid, references)
    return _finished(axes, names)


def histogram(
    values: MaskedValues,
    edges: Float[np.ndarray, " k+1"],
    laws: Mapping[int, AbstractLaw],
    *,
    name: str,
    label: str | None,
    ax: Any,
) -> Any:
    """Draw the density of the values that count, with 95 % confidence intervals, and the law of each β.

    Values outside of the edges count in the total. The view ends at 1.6 times the highest bar, or at that of a law.
    """
    counts, totals, sums = _counts(values, edges)
    if not totals.any():
        raise _checks.refusal("levels", f"have {name}", values.values.shape)
    density, interval, _ = _mean(_parts(counts, totals) / np.diff(edges))
    mean, _, error = _mean(_parts(sums, totals))
    grid = np.linspace(edges[0], edges[-1], _FINE)
    references = {beta: np.asarray(law.pdf(grid)) for beta, law in laws.items()}

    axes = _style.new_axes() if ax is None else ax
    color = _next_color(axes)
    look = {"facecolor": (color, 0.35), "edgecolor": color, "linewidth": 0.6}
    label = f"{_spectra(int((totals > 0).sum()))}, mean {_with_error(float(mean), error)}" if label is None else label
    axes.stairs(density, edges, fill=True, **look, zorder=1, label=label, gid=_MARK)
    if interval:
        middle, bars = (edges[:-1] + edges[1:]) / 2, (density - interval[0], interval[1] - density)
        axes.errorbar(middle, density, bars, fmt="none", ecolor="0.25", elinewidth=0.8, zorder=2)
    _set_view(axes, references.values(), density.max())
    _draw_references(axes, grid, references)
    return _finished(axes, (name, "density"))


def _mean(
    each: PyTree[Float[np.ndarray, "m ..."]], combine: Callable[[Any], Any] | None = None
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None, Any]:
    """The mean over spectra, and, if there are several, its 95 % confidence interval and standard error."""
    if len(jax.tree.leaves(each)[0]) == 1:
        one = jax.tree.map(lambda values: values[0], each)
        return np.asarray(one if combine is None else combine(one)), None, None
    estimate = over_samples(lambda each: each, each, combine=combine)
    low, high = estimate.interval()
    return np.asarray(estimate.value), (np.asarray(low), np.asarray(high)), np.asarray(estimate.standard_error)


def _parts(numbers: Float[np.ndarray, "m ..."], totals: Float[np.ndarray, " m"]) -> Float[np.ndarray, "k ..."]:
    """For each spectrum that has values its part in the ratio of the two sums.

    Their mean is the ratio, and their spread gives its error to first order, as that of a ratio estimator.
    """
    numbers, totals = numbers[totals > 0], totals[totals > 0].reshape(-1, *(1,) * (numbers.ndim - 1))
    ratio = numbers.sum(axis=0) / totals.sum(axis=0)
    return ratio + (numbers - ratio * totals) / totals.mean(axis=0)


def _counts(values: MaskedValues, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each spectrum the numbers of values in the bins, the number of all, and their sum."""
    *batch, size = values.values.shape
    number = math.prod(batch)
    each, mask = (np.asarray(array).reshape(number, size) for array in (values.values, values.mask))
    inside = mask & (each >= edges[0]) & (each <= edges[-1])
    spectrum, _ = np.nonzero(inside)
    bins = edges.size - 1
    place = np.minimum(np.searchsorted(edges, each[inside], side="right") - 1, bins - 1)
    counts = np.bincount(spectrum * bins + place, minlength=number * bins).reshape(number, bins)
    return counts, mask.sum(axis=1), np.where(mask, each, 0).sum(axis=1)


def _next_color(axes: Any) -> str:
    earlier = sum(artist.get_gid() == _MARK for artist in [*axes.lines, *axes.patches])
    return _style.FILLS[earlier % len(_style.FILLS)]


def _spectra(number: int) -> str:
    return "1 spectrum" if number == 1 else f"{number:,} spectra"


def _with_error(value: float, error: Any) -> str:
    """A number, with two digits of its standard error."""
    if error is None or not error > 0:
        return f"{value:.3g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _set_view(axes: Any, references: Iterable[np.ndarray], highest: float) -> None:
    top = max((curve.max(initial=0) for curve in references), default=0)
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.05 * highest, min(1.05 * top, 1.6 * highest)))


def _draw_references(axes: Any, grid: np.ndarray, references: Mapping[int, np.ndarray]) -> None:
    """Draw the curves that are not there yet."""
    drawn = {line.get_label() for line in axes.lines}
    for beta, values in references.items():
        if _style.REFERENCE_NAMES[beta] not in drawn:
            axes.plot(grid, values, **_style.REFERENCES[beta], zorder=3, label=_style.REFERENCE_NAMES[beta])


def _finished(axes: Any, names: tuple[str, str]) -> Any:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.legend(frameon=False)
    return axes
