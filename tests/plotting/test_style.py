"""What all plots have in common: colours and styles of the caller, and a legend that covers no labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import rmtjax as rmt
from rmtjax import plotting
from tests.plotting.drawn import band, names
from tests.plotting.given import GIVEN, PLOTS, POINTS, SPECTRA


def test_every_plot_is_here():
    assert PLOTS.keys() == GIVEN.keys()


@pytest.mark.parametrize("name", GIVEN)
def test_every_plot_takes_colours_and_styles(name):
    """A short name of matplotlib's is as good as the long one."""
    options = {} if name in ("complex_levels", "spectral_density", "unfolding") else {"betas": []}
    axes = PLOTS[name](*GIVEN[name], **options, color="#123456", lw=3.5, alpha=0.5)
    axes = axes[1] if isinstance(axes, tuple) else axes
    artist = axes.patches[0] if axes.patches else axes.lines[0]
    colour = artist.get_edgecolor() if axes.patches else artist.get_color()
    assert to_rgba(colour)[:3] == to_rgba("#123456")[:3]
    assert artist.get_linewidth() == 3.5
    assert artist.get_alpha() == 0.5


def test_the_band_has_the_colour_of_its_line():
    ax = plotting.number_variance(SPECTRA, POINTS, betas=[], color="#123456")
    band(ax)
    assert to_rgba(ax.collections[0].get_facecolor()[0])[:3] == to_rgba("#123456")[:3]


@pytest.mark.parametrize("name", GIVEN)
def test_what_matplotlib_does_not_take_is_refused_before_anything_is_drawn(name):
    for options, message in (
        (
            {"colour": "red", "figsize": (3, 2)},
            "`style` must be what a `.*` of matplotlib takes, got 'colour, figsize'",
        ),
        ({"axes" if name == "complex_spacing_ratios" else "ax": [plt]}, "`ax` must be one `Axes` of matplotlib, got"),
    ):
        with pytest.raises(ValueError, match=message):
            PLOTS[name](*GIVEN[name], **options)
        assert plt.get_fignums() == []


def test_the_shortest_name_of_a_colour():
    ax = plotting.spacings(SPECTRA, c="#123456")
    assert to_rgba(ax.patches[0].get_edgecolor())[:3] == to_rgba("#123456")[:3]


@pytest.mark.parametrize("columns", [1, 3])
def test_a_legend_covers_no_labels(columns):
    figure, axes = plt.subplots(1, columns, figsize=(6.4, 3), layout="constrained", squeeze=False)
    for ax in axes[0]:
        plotting.spacings(SPECTRA, ax=ax)
        assert len(names(ax)) == 4
    figure.draw_without_rendering()
    for ax in axes[0]:
        legend = ax.get_legend().get_window_extent()
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label]
        covered = [text.get_text() for text in labels if text.get_text() and legend.overlaps(text.get_window_extent())]
        assert covered == []


def test_one_spectrum_has_no_error_bars():
    """Its levels depend on one another; only the caller can say that they do not."""
    streamed = rmt.simulation.HistogramResult(np.array([2, 2]), np.array([0.0, 1.0, 2.0]), 0, 0)
    for samples in (SPECTRA[0], streamed):
        assert list(plotting.spectral_density(samples).containers) == []
        assert len(plotting.spectral_density(samples, errors="independent").containers) == 1
