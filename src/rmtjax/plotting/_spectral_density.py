"""The histogram of levels, or of what is made of them, with the law on top."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from rmtjax import _checks
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw
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
    errors: Literal["levels", "spectra"] = "levels",
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the histogram of levels as a density, with error bars, and laws on top as lines.

    A bin of width w that holds c of t levels has the height $c/(t w)$, with an error bar of one standard error to
    either side. With `errors="levels"` it is $\sqrt{c(1-c/t)}/(t w)$, as if all t levels were independent. This is
    right for one level of each matrix, as the largest, and where a bin is narrower than the spacing of levels; for
    k-fold levels it is too short by up to $\sqrt k$. The levels of one matrix repel each other: of k that a matrix has
    in a bin on average, the number fluctuates by about one instead of $\sqrt k$. Where whole spectra are pooled,
    `errors="spectra"` takes the error from the spread over them, which is true whatever the levels do; for spectra of
    one size it is that of `statistics.level_density` by `statistics.over_samples`. A `HistogramResult` of several draws
    brings its own, from the spread over the draws.

    A law is drawn on its support, but at most 5 % of the bins' range beyond the bins; its jumps are vertical. A point
    mass m adds $m/w$ to its bin and is drawn as a stem of that height. Where a density diverges, the view ends at twice
    the highest bar.

    Args:
        samples: levels of any shape; a `Spectrum`; or the
            result of `rmt.simulate(…, reduce=rmt.Histogram(edges))`.
        law: a law, or several by their labels in the legend.
        bins: a number of bins, edges, or the name of a rule, as for `numpy.histogram`. The bins of a rule are shifted
            and stretched a little, so that none straddles an end of the support of a law. A `HistogramResult` has its
            own bins. Levels outside the edges count in t.
        quantity: what the samples are, such as "spacings" or "ratios": the name of the axis.
        errors: whether each of the levels is independent, `"levels"`, or the rows on the last axis are, `"spectra"`. It
            has no part in a `HistogramResult`.
        label: name of the histogram in the legend; by default the number of levels, or of that quantity.
        ax: where to draw, by default a new figure. Further histograms and laws on the same axes look different.

    Returns:
        The axes, e.g. for `ax.figure.savefig("density.png", dpi=200)`.

    Raises:
        ValueError: `samples` are not real numbers, empty or not finite; `bins` are not ascending, or are given with a
            `HistogramResult`; `law` is not a law; `errors` is no such choice, or those over spectra are asked for and
            there are no two with levels.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.GOE(20).eigenvalues, jax.random.key(0), 50)
        >>> ax = rmt.plotting.spectral_density(levels, law=rmt.laws.Semicircle(), bins=20, errors="spectra")
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['1,000 levels', 'law']
    """
    laws = _named_laws(law)
    histogram = _histogram(samples, bins, laws, _checks.choice("errors", errors, Literal["levels", "spectra"]))
    axes: Any = _style.new_axes() if ax is None else ax
    _draw_histogram(axes, histogram, f"{histogram.total:,} {quantity}" if label is None else label)
    for name, each in laws.items():
        _draw_law(axes, each, histogram, name)
    axes.set_xlabel(quantity)
    axes.set_ylabel("density")
    _style.legend(axes)
    return axes


def _histogram(samples: Any, bins: Any, laws: Mapping[str, AbstractLaw], errors: str) -> HistogramResult:
    """The samples as counts in bins, with standard errors where they are known."""
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
        edges = np.histogram_bin_edges(levels, bins)
        ascending = bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all() and edges.size > 1)
    except (TypeError, ValueError) as error:
        raise _checks.refusal("bins", "be what `numpy.histogram` takes", bins) from error
    if not ascending:
        raise _checks.refusal("bins", "be finite and strictly ascending edges", bins)
    if isinstance(bins, str):
        edges = _bins.aligned(edges, laws.values())
    counts, _ = np.histogram(levels, edges)
    below, above = np.sum(levels < edges[0]), np.sum(levels > edges[-1])
    if errors == "levels":
        return HistogramResult(counts, edges, int(below), int(above))
    number = _means.rows(mask).sum(axis=1)
    if np.sum(number > 0) < 2:
        raise _checks.refusal("samples", "be those of two spectra or more, for errors over them", values.shape)
    _, _, error = _means.mean(_means.parts(_means.binned(values, mask, edges), number) / np.diff(edges))
    return HistogramResult(counts, edges, int(below), int(above), number.size, error)


def _levels(samples: Any) -> tuple[Float[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
    """The levels in float64, and which of them are no padding."""
    try:
        values = np.asarray(samples.values if isinstance(samples, Spectrum) else samples)
    except (TypeError, RuntimeError):  # JAX's errors for random keys and for a deleted array
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
    return values.astype(np.float64), mask


def _named_laws(law: Any) -> Mapping[str, AbstractLaw]:
    """The laws by their labels."""
    laws = {} if law is None else law if isinstance(law, Mapping) else {"law": law}
    for each in laws.values():
        if not isinstance(each, AbstractLaw):
            raise _checks.refusal("law", "be a law such as `rmt.laws.Semicircle()`, or laws by labels", each)
    return laws


def _draw_histogram(ax: Any, histogram: HistogramResult, label: str) -> None:
    from matplotlib.patches import StepPatch

    earlier = sum(isinstance(patch, StepPatch) for patch in ax.patches)
    color = _style.FILLS[earlier % len(_style.FILLS)]
    look = {"facecolor": (color, 0.35), "edgecolor": color, "linewidth": 0.6}
    edges, density, share = histogram.edges, histogram.density(), histogram.counts / histogram.total
    of_independent = np.sqrt(share * (1 - share) / histogram.total) / np.diff(edges)
    error = np.where(np.isnan(histogram.standard_error), of_independent, histogram.standard_error)
    ax.stairs(density, edges, fill=True, **look, zorder=1, label=label)
    centers = (edges[:-1] + edges[1:]) / 2
    ax.errorbar(centers, density, error, fmt="none", ecolor="0.25", elinewidth=0.8, zorder=2)


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
    """The points where a law is evaluated: an even grid, and both sides of every point where the density may jump.

    The two sides are 2e-5 of the range apart, far more than the rounding of a float32 breakpoint and far less than a
    pixel.
    """
    span = edges[-1] - edges[0]
    lower, upper = map(float, law.support())
    left, right = max(lower, edges[0] - 0.05 * span), min(upper, edges[-1] + 0.05 * span)
    jumps = np.asarray(law.breakpoints(), np.float64)
    jumps = jumps[(jumps >= left) & (jumps <= right)]
    grid = np.linspace(left, right, 1001)
    return jnp.asarray(np.unique(np.concatenate([grid, jumps - 1e-5 * span, jumps + 1e-5 * span])))


def _stems(law: AbstractLaw, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Locations of the point masses inside the bins, and their masses divided by the widths of these bins."""
    locations, masses = (np.asarray(array, np.float64) for array in law.atoms())
    inside = (locations >= edges[0]) & (locations <= edges[-1])
    bin_of = np.clip(np.searchsorted(edges, locations[inside], side="right") - 1, 0, edges.size - 2)
    return locations[inside], masses[inside] / np.diff(edges)[bin_of]
