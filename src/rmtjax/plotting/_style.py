"""The style of all plots."""

from types import ModuleType
from typing import Any

# Okabe and Ito's colours. Within each table neighbours differ in hue and in lightness, and laws also in line style, so
# that a plot can be read in grey.
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

_SETTINGS = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 12,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
}


def new_axes() -> Any:
    """Axes in a new figure."""
    return _new_figure((6.4, 4.0), 1)[0]


def new_pair() -> Any:
    """Two axes side by side in a new figure."""
    return _new_figure((9.6, 4.0), 2)


def _new_figure(size: tuple[float, float], columns: int) -> Any:
    plt = pyplot()
    # Outside of the context: the first figure of a notebook makes matplotlib interactive, which is a setting too, and
    # one that would be taken back, so that no further figure were shown.
    figure = plt.figure(figsize=size, layout="constrained")
    with plt.rc_context(_SETTINGS):
        return figure.subplots(1, columns, squeeze=False)[0]


def legend(axes: Any) -> None:
    """A legend where the least is drawn; what is behind it shines through."""
    columns = 1 if len(axes.get_legend_handles_labels()[0]) < 4 else 2
    axes.legend(fontsize=9, ncols=columns, columnspacing=1, framealpha=0.7, edgecolor="none")


def pyplot() -> ModuleType:
    """Matplotlib's pyplot, imported only when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('`rmtjax.plotting` needs matplotlib: pip install "rmtjax[plot]"') from error
    return plt
