"""The style of all plots."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rmtjax import _checks

# Okabe and Ito's colours. Neighbours in a table differ in hue and in lightness, and laws also in line style, so that a
# plot can be read in grey.
FILLS = ("#56B4E9", "#D55E00", "#F0E442", "#009E73")
LAW_LINES: tuple[dict[str, Any], ...] = (
    {"color": "#000000", "linestyle": "-", "linewidth": 1.4},
    {"color": "#D55E00", "linestyle": (0, (5, 2.5)), "linewidth": 1.4},
    {"color": "#0072B2", "linestyle": (0, (6, 2, 1.2, 2)), "linewidth": 1.4},
    {"color": "#CC79A7", "linestyle": (0, (1.2, 1.5)), "linewidth": 1.8},
)

# The reference of each β looks the same in all plots.
REFERENCES = {0: LAW_LINES[3], 1: LAW_LINES[0], 2: LAW_LINES[1], 4: LAW_LINES[2]}
REFERENCE_NAMES = {0: "independent levels", 1: "β = 1", 2: "β = 2", 4: "β = 4"}


def checked(ax: Any, style: dict[str, Any], kind: Literal["Line2D", "StepPatch"]) -> dict[str, Any]:
    """The style of an artist of matplotlib with short names such as `lw` spelled out, before anything is drawn.

    Axes and names that matplotlib does not know are refused. Matplotlib is imported only here and in what follows.
    """
    try:
        from matplotlib import artist, axes, cbook, lines, patches

        if ax is None:
            import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError('`rmtjax.plotting` needs matplotlib: pip install "rmtjax[plot]"') from error
    if ax is not None and not isinstance(ax, axes.Axes):
        raise _checks.refusal("ax", "be one `Axes` of matplotlib", type(ax).__name__)
    of = {"Line2D": lines.Line2D, "StepPatch": patches.StepPatch}[kind]
    names = cbook.normalize_kwargs({"color" if name == "c" else name: value for name, value in style.items()}, of)
    if unknown := names.keys() - {*artist.ArtistInspector(of).get_setters()}:
        raise _checks.refusal("style", f"be what a `{kind}` of matplotlib takes", ", ".join(sorted(unknown)))
    return names


def new_axes(columns: int = 1) -> Any:
    """Axes in a new figure; several are side by side."""
    import matplotlib.pyplot as plt

    # The figure is made outside the context. In a notebook the first figure makes matplotlib interactive, and the
    # context would take this setting back, so that no further figure were shown.
    figure = plt.figure(figsize=(6.4 if columns == 1 else 9.6, 4.0), layout="constrained")
    with plt.style.context("rmtjax.plotting.style"):
        return figure.subplots(1, columns)


# Artists of spectra carry this mark, so that the next spectra on the same axes have another colour.
MARK = "spectra"


def next_color(axes: Any, colors: Sequence[str] = FILLS) -> str:
    """The colour of the spectra that are drawn next."""
    return colors[sum(artist.get_gid() == MARK for artist in [*axes.lines, *axes.patches]) % len(colors)]


def bars(axes: Any, heights: np.ndarray, edges: np.ndarray, errors: Any, style: dict[str, Any], label: str) -> None:
    """Draw a histogram, with error bars in the middle of the bins where errors are given."""
    style = {"color": next_color(axes)} | style
    color = style.pop("color")
    look = {"fill": True, "facecolor": (color, 0.35), "edgecolor": color, "linewidth": 0.6, "zorder": 1} | style
    axes.stairs(heights, edges, **look, label=label, gid=MARK)
    if errors is not None:
        middle = (edges[:-1] + edges[1:]) / 2
        axes.errorbar(middle, heights, errors, fmt="none", ecolor="0.25", elinewidth=0.8, zorder=2)


def finished(axes: Any, xlabel: str, ylabel: str, *, room: bool = True) -> Any:
    """The axes with their names, and with a half-transparent legend where the least is drawn.

    Where there is no room, or the legend is wider than the axes and would cover their labels, it stands below them.
    """
    from matplotlib.transforms import ScaledTranslation

    axes.set(xlabel=xlabel, ylabel=ylabel)
    entries = len(axes.get_legend_handles_labels()[0])
    look = {"fontsize": 9, "columnspacing": 1, "framealpha": 0.7, "edgecolor": "none"}
    for columns in ((1,) if entries < 4 else (2, 1)) if room else ():
        legend = axes.legend(ncols=columns, **look)
        if legend.get_window_extent().width < 0.9 * axes.get_window_extent().width:
            return axes
    # The height of the labels, in inches.
    below = axes.transAxes + ScaledTranslation(0, -38 / 72, axes.figure.dpi_scale_trans)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, **look)
    return axes
