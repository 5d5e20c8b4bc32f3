"""The histogram of levels, or of what is made of them, with the law on top."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from rmtjax import _checks
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw, AbstractPlanarLaw
from rmtjax.plotting import _bins, _means, _style
from rmtjax.simulation import HistogramResult
from rmtjax.spectra import Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spectral_density(
    samples: RealLike | Spectrum | HistogramResult,
    *,
    law: AbstractLaw | Mapping[str, AbstractLaw] | None = None,
    bins: str | RealLike = "auto",
    quantity: str = "levels",
    errors: Literal["spectra", "independent"] = "spectra",
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the histogram of levels as a density, with error bars, and laws on top as lines.

    A bin of width w that holds c of t levels has the height $c/(t w)$. Its error bar is one standard error to either
    side, unlike those of the other plots in `rmtjax.plotting`. There are two kinds of errors:

    - `errors="spectra"`: from the spread over the spectra, which is right whatever the levels do. For spectra of one
      size it is the error of `statistics.level_density` by `statistics.over_samples`. A single spectrum has no error
      bars. A `HistogramResult` has those from the spread over its draws.
    - `errors="independent"`: $\sqrt{c(1-c/t)}/(t w)$, as if all t levels were independent. This is right for one level
      of each matrix, such as the largest. For k-fold levels it is too short by up to $\sqrt k$. For whole spectra it is
      too long: levels repel each other, so where a bin has k levels of a matrix on average, their number fluctuates by
      about one instead of $\sqrt k$.

    A law is drawn on its support, up to 5 % of the bins' range beyond the bins. Its jumps are vertical. A point mass m
    adds $m/w$ to its bin and is drawn as a stem of that height. Where a density diverges, the view ends at twice the
    highest bar.

    Args:
        samples: levels of any shape, a `Spectrum`, or the result of `rmt.simulate(…, reduce=rmt.Histogram(edges))`.
        law: a law, or several by their labels in the legend.
        bins: a number of bins, edges, or the name of a rule, as for `numpy.histogram`. With laws the rule chooses the
            width for the levels on their supports, if most levels are there. Its bins are then shifted and stretched a
            little, so that no bin contains an end of a support. A `HistogramResult` has its own bins. Levels outside
            the edges count in t.
        quantity: name of what the samples are, such as "spacings" or "ratios", for the axis and the legend.
        errors: `"spectra"` if the rows on the last axis are independent, `"independent"` if all levels are.
        label: name of the histogram in the legend; by default the number of levels, or of the `quantity`.
        ax: where to draw; by default a new figure. Further histograms and laws on the same axes look different.
        style: what matplotlib's `Axes.stairs` takes, such as `color`.

    Raises:
        ValueError: an argument is outside its range, `samples` are empty or not finite, `bins` are given with a
            `HistogramResult`, or the law is one of complex levels, which `complex_levels` draws.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.GOE(20).eigenvalues, jax.random.key(0), 50)
        >>> ax = rmt.plotting.spectral_density(levels, law=rmt.laws.Semicircle(), bins=20)
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['1,000 levels', 'law']
    """
    style = _style.checked(ax, style, "StepPatch")
    laws = _named_laws(law)
    errors = _checks.choice("errors", errors, Literal["spectra", "independent"])
    histogram = _histogram(samples, bins, laws)
    axes: Any = _style.new_axes() if ax is None else ax
    label = f"{histogram.total:,} {quantity}" if label is None else label
    _style.bars(axes, histogram.density(), histogram.edges, _errors(histogram, errors), style, label)
    for name, each in laws.items():
        _draw_law(axes, each, histogram, name)
    return _style.finished(axes, quantity, "density")


def _histogram(samples: Any, bins: Any, laws: Mapping[str, AbstractLaw]) -> HistogramResult:
    """The samples as counts in bins, with standard errors where there are several spectra."""
    if isinstance(samples, HistogramResult):
        if not (isinstance(bins, str) and bins == "auto"):
            raise _checks.refusal("bins", "be left out where `samples` is a `HistogramResult`", bins)
        if samples.total == 0:
            raise _checks.refusal("samples", "hold at least one level", samples)
        return samples
    values, mask = _levels(samples)
    levels = values[mask]
    if np.ndim(bins):
        _checks.vector("bins", bins)
        bins = np.asarray(bins, np.float64)
    try:
        by_rule = isinstance(bins, str)
        edges = _bins.by_rule(levels, bins, laws.values()) if by_rule else np.histogram_bin_edges(levels, bins)
        ascending = bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all() and edges.size > 1)
    except (TypeError, ValueError) as error:
        raise _checks.refusal("bins", "be what `numpy.histogram` takes", bins) from error
    if not ascending:
        raise _checks.refusal("bins", "be finite and strictly ascending edges", bins)
    counts, _ = np.histogram(levels, edges)
    below, above = np.sum(levels < edges[0]), np.sum(levels > edges[-1])
    number = _means.rows(mask).sum(axis=1)
    if np.sum(number > 0) < 2:
        return HistogramResult(counts, edges, int(below), int(above))
    _, _, error = _means.mean(_means.parts(_means.binned(values, mask, edges), number) / np.diff(edges))
    return HistogramResult(counts, edges, int(below), int(above), number.size, error)


def _levels(samples: Any) -> tuple[Float[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
    """The levels in float64, and a mask that leaves out padding."""
    try:
        values = np.asarray(samples.values if isinstance(samples, Spectrum) else samples)
    except (TypeError, ValueError, RuntimeError):  # random keys, lists of several lengths, and a deleted array
        values = np.array(None)
    if not (jnp.issubdtype(values.dtype, jnp.floating) or jnp.issubdtype(values.dtype, jnp.integer)):
        raise _checks.refusal("samples", "be real levels, a `Spectrum` or a `HistogramResult`", type(samples).__name__)
    mask = np.asarray(samples.mask) if isinstance(samples, Spectrum) else np.ones(values.shape, bool)
    levels = values[mask].astype(np.float64)
    if levels.size == 0:
        raise _checks.refusal("samples", "hold at least one level", values.shape)
    strange = levels[~np.isfinite(levels)]
    if strange.size:
        raise _checks.refusal("samples", "be finite", strange[0])
    if _is_matrix(values):
        raise _checks.refusal("samples", "be levels, such as `rmt.eigvalsh(matrix)`", "a symmetric matrix")
    return values.astype(np.float64), mask


def _is_matrix(values: np.ndarray) -> bool:
    """Whether an array is a symmetric matrix, whose rows are no ascending levels."""
    return values.ndim == 2 and np.array_equal(values, values.T) and bool((np.diff(values) < 0).any())


def _named_laws(law: Any) -> Mapping[str, AbstractLaw]:
    """The laws by their labels."""
    laws = {} if law is None else law if isinstance(law, Mapping) else {"law": law}
    for each in laws.values():
        if not isinstance(each, AbstractLaw):
            must = "be a law such as `rmt.laws.Semicircle()` or `ensemble.law()`, or laws by labels"
            if isinstance(each, AbstractPlanarLaw):
                must = "be a law of real levels (`plotting.complex_levels` draws laws in the plane)"
            raise _checks.refusal("law", must, each)
    return laws


def _errors(histogram: HistogramResult, errors: str) -> np.ndarray | None:
    if errors == "independent":
        share = histogram.counts / histogram.total
        return np.sqrt(share * (1 - share) / histogram.total) / np.diff(histogram.edges)
    return None if np.isnan(histogram.standard_error).all() else histogram.standard_error


def _draw_law(ax: Any, law: AbstractLaw, histogram: HistogramResult, label: str) -> None:
    line = _style.LAW_LINES[len(ax.lines) % len(_style.LAW_LINES)]
    x = _abscissas(law, histogram.edges)
    density = np.asarray(law.pdf(x))
    locations, heights = _stems(law, histogram.edges)
    wanted = 1.05 * min(max(density.max(), heights.max(initial=0)), 2 * histogram.density().max())
    ax.set_ylim(0, max(ax.get_ylim()[1], wanted))
    ax.plot(np.asarray(x), density, **line, zorder=3, label=label)
    ax.vlines(locations, 0, heights, color=line["color"], linewidth=3, zorder=3)


def _abscissas(law: AbstractLaw, edges: np.ndarray) -> Float[jnp.ndarray, " q"]:
    """The points where a law is evaluated: an even grid, and both sides of every point where the density may jump."""
    span = edges[-1] - edges[0]
    lower, upper = map(float, law.support())
    left, right = max(lower, edges[0] - 0.05 * span), min(upper, edges[-1] + 0.05 * span)
    jumps = np.asarray(law.breakpoints(), np.float64)
    jumps = jumps[(jumps >= left) & (jumps <= right)]
    # The two sides are farther apart than a float32 breakpoint is rounded, and much closer than a pixel is wide.
    sides = jumps - 1e-5 * span, jumps + 1e-5 * span
    return jnp.asarray(np.unique(np.concatenate([np.linspace(left, right, 1001), *sides])))


def _stems(law: AbstractLaw, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Locations of the point masses inside the bins, and their masses divided by the widths of these bins."""
    locations, masses = (np.asarray(array, np.float64) for array in law.atoms())
    inside = (locations >= edges[0]) & (locations <= edges[-1])
    bin_of = np.clip(np.searchsorted(edges, locations[inside], side="right") - 1, 0, edges.size - 2)
    return locations[inside], masses[inside] / np.diff(edges)[bin_of]
