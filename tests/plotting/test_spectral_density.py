"""The plot of a spectral density: heights, error bars, laws, stems, the view."""

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import rgb_to_hsv, to_rgb
from matplotlib.patches import StepPatch

import rmtjax as rmt
from rmtjax.laws import AbstractLaw
from rmtjax.plotting import _style, spectral_density
from tests.plotting.drawn import error_bars, jackknife, names, ratio

SEMICIRCLE = rmt.laws.Semicircle()
# Unequal widths, values on inner and outer edges, and one value on either side.
LEVELS = np.array([-5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0, 9.0])
EDGES = np.array([-1.0, 0.0, 1.0, 3.0])
COUNTS = np.array([2, 2, 3])
HISTOGRAM = rmt.simulation.HistogramResult(COUNTS, EDGES, 1, 1)


def bars(ax):
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def stems(ax):
    in_containers = {id(lines) for container in ax.containers for lines in container.lines[2]}
    return [
        segment
        for lines in ax.collections
        if isinstance(lines, LineCollection) and id(lines) not in in_containers
        for segment in lines.get_segments()
    ]


@pytest.mark.parametrize(
    ("samples", "bins"),
    [(LEVELS, EDGES), (jnp.asarray(LEVELS, jnp.bfloat16).reshape(3, 3), jnp.asarray(EDGES)), (HISTOGRAM, "auto")],
    ids=["numpy", "bfloat16-batch", "histogram"],
)
def test_bars_are_the_density_with_binomial_errors(samples, bins):
    ax = spectral_density(samples, bins=bins, errors="independent")
    (bar,) = bars(ax)
    total, width = 9, np.array([1.0, 1.0, 2.0])
    height = COUNTS / (total * width)
    np.testing.assert_allclose(bar.get_data().values, height)
    np.testing.assert_array_equal(bar.get_data().edges, EDGES)
    x, low, high = error_bars(ax)
    error = np.sqrt(COUNTS * (1 - COUNTS / total)) / (total * width)
    np.testing.assert_allclose(low, height - error)
    np.testing.assert_allclose(high, height + error)
    np.testing.assert_array_equal(x, [-0.5, 0.5, 2.0])


def test_errors_over_spectra_of_different_size():
    sizes = np.append(np.random.default_rng(0).integers(3, 16, 298), [1, 0])
    values = np.random.default_rng(1).normal(size=(300, 15))
    spectra = rmt.Spectrum.of([np.sort(row[:size]) for row, size in zip(values, sizes, strict=True)])
    edges = np.array([-1.0, 0.0, 0.5, 2.0])
    ax = spectral_density(spectra, bins=edges)
    counts = np.array([np.histogram(row[:size], edges)[0] for row, size in zip(values, sizes, strict=True)])[:299]
    _, error = jackknife(ratio, counts, sizes[:299])
    _, low, high = error_bars(ax)
    np.testing.assert_allclose((low + high) / 2, ratio(counts, sizes) / np.diff(edges), rtol=1e-5)
    np.testing.assert_allclose((high - low) / 2, error / np.diff(edges), rtol=0.02)


def test_errors_over_draws_of_levels_that_come_together(getkey):
    """Three equal levels are as good as one."""
    draw, edges = lambda key: jnp.repeat(jax.random.uniform(key), 3), np.array([0.0, 0.2, 0.7, 1.0])
    key = getkey()
    levels = rmt.simulate(draw, key, 400)
    share = np.histogram(levels, edges)[0] / 1200
    expected = np.sqrt(share * (1 - share) / 399) / np.diff(edges)
    streamed = rmt.simulate(draw, key, 400, reduce=rmt.Histogram(edges))
    for ax in (spectral_density(streamed), spectral_density(levels, bins=edges)):
        _, low, high = error_bars(ax)
        np.testing.assert_allclose((high - low) / 2, expected, rtol=1e-4)


def test_padding_is_left_out():
    spectra = rmt.Spectrum.of([[-1.0, 0.5], [-2.0, 1.0, 2.0]])
    ax = spectral_density(spectra, bins=np.array([-3.0, 0.0, 3.0]))
    np.testing.assert_allclose(bars(ax)[0].get_data().values, np.array([2, 3]) / (5 * 3.0))


def test_default_bins_hold_all_levels(getkey):
    ax = spectral_density(jax.random.normal(getkey(), (40, 5)))
    data = bars(ax)[0].get_data()
    assert data.values.size > 5
    assert np.sum(data.values * np.diff(data.edges)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("laws", "ends"),
    [
        ([SEMICIRCLE], [-2, 2]),
        ([SEMICIRCLE, rmt.laws.Semicircle(1.0)], [-2, -1, 1, 2]),
        ([rmt.laws.Semicircle(2.0 + 1e-9), SEMICIRCLE], [-2, 2]),
        ([rmt.laws.PoissonSpacing()], [0]),
        ([rmt.laws.Semicircle(9.0)], []),
    ],
    ids=["one", "nested", "equal but for rounding", "half a line", "beyond the levels"],
)
def test_no_automatic_bin_straddles_an_end_of_a_support(laws, ends):
    levels = np.linspace(-2.13, 2.05, 1000)
    ax = spectral_density(levels, law={str(i): law for i, law in enumerate(laws)})
    edges, plain = bars(ax)[0].get_data().edges, np.histogram_bin_edges(levels, "auto")
    for end in ends:
        assert np.abs(edges - end).min() < 1e-8
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= levels[0]
    assert edges[-1] >= levels[-1]
    assert abs(edges.size - plain.size) <= len(ends) + 1
    widths = np.diff(edges) / np.diff(plain).mean()
    assert widths.min() > 0.6
    assert widths.max() < 1.5
    assert "1,000 levels" in names(ax)


def test_bins_that_are_asked_for_are_kept():
    levels = np.linspace(-2.13, 2.05, 1000)
    for bins in (7, np.linspace(-3, 3, 8)):
        edges = bars(spectral_density(levels, law=SEMICIRCLE, bins=bins))[0].get_data().edges
        np.testing.assert_allclose(edges, np.histogram_bin_edges(levels, bins))


def test_law_is_drawn_by_its_density():
    ax = spectral_density(LEVELS, law=SEMICIRCLE, bins=np.linspace(-1.0, 2.5, 11))
    (line,) = ax.lines
    x, y = line.get_data()
    np.testing.assert_allclose(y, SEMICIRCLE.pdf(x), rtol=1e-5)
    assert (np.diff(x) > 0).all()
    np.testing.assert_allclose(x[[0, -1]], [-1.0 - 0.05 * 3.5, 2.0], rtol=0, atol=1e-4)
    assert np.diff(x).max() < 0.01


@pytest.mark.parametrize("x64", [False, True])
def test_jumps_are_upright(x64):
    with jax.enable_x64(x64):
        semicircle = rmt.laws.Semicircle()
        law = rmt.laws.PeriodicPadding(semicircle, 0.8, "ascending")
        ax = spectral_density(LEVELS, law=law, bins=np.linspace(-2.2, 2.2, 12))
        threshold = float(semicircle.ppf(0.25))
    x, y = ax.lines[0].get_data()
    jump = np.argmin(np.diff(y))
    assert x[jump] < threshold < x[jump + 1]
    assert x[jump + 1] - x[jump] < 1e-3 * (x[-1] - x[0]) / 10
    assert y[jump] / y[jump + 1] == pytest.approx(2, rel=1e-3)


def test_several_laws_and_histograms_differ_in_look_and_are_named():
    ax = spectral_density(LEVELS, law={"a": SEMICIRCLE, "b": rmt.laws.Semicircle(1.0)}, label="first")
    assert spectral_density(HISTOGRAM, law={"c": SEMICIRCLE}, ax=ax) is ax
    assert sorted(names(ax)) == ["9 levels", "a", "b", "c", "first"]
    assert len({line.get_linestyle() + str(line._dash_pattern) for line in ax.lines}) == 3
    first, second = (rgb_to_hsv(patch.get_facecolor()[:3]) for patch in bars(ax))
    apart = abs(first[0] - second[0])
    assert min(apart, 1 - apart) > 0.2, "two histograms have nearly the same hue"
    assert len(plt.get_fignums()) == 1


def test_laws_can_be_told_apart_in_grey():
    greys = [np.dot(to_rgb(line["color"]), [0.299, 0.587, 0.114]) for line in _style.LAW_LINES]
    assert np.abs(np.diff(greys)).min() > 0.05
    assert len({str(line["linestyle"]) for line in _style.LAW_LINES}) == len(greys)
    fills = [np.dot(to_rgb(color), [0.299, 0.587, 0.114]) for color in _style.FILLS]
    assert np.abs(np.diff(fills)).min() > 0.1


def test_axes_are_named_by_what_is_plotted():
    ax = spectral_density(LEVELS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("levels", "density")
    ratios = spectral_density(np.array([0.2, 0.7]), quantity="ratios")
    assert ratios.get_xlabel() == "ratios"
    assert names(ratios) == ["2 ratios"]
    assert ax.get_ylim()[0] == 0
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()


def test_settings_that_come_with_the_first_figure_stay(monkeypatch):
    """As in a notebook, whose backend makes matplotlib interactive when the first figure is made."""
    figure = plt.figure

    def first_figure(**options):
        matplotlib.interactive(True)
        return figure(**options)

    monkeypatch.setattr(plt, "figure", first_figure)
    before = matplotlib.is_interactive()
    try:
        spectral_density(LEVELS)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(before)


class Spike(AbstractLaw):
    """A point mass of 1/2 at 0.3, and the density 1/(4 sqrt(1 - x)) on (0, 1), which diverges at 1."""

    def _support(self):
        return jnp.asarray(0.0), jnp.asarray(1.0)

    def _pdf(self, x):
        return 0.25 / jnp.sqrt(1 - x)

    def _atoms(self):
        return jnp.array([0.3]), jnp.array([0.5])


def test_a_point_mass_is_a_stem_of_what_it_adds_to_its_bin():
    ax = spectral_density(np.full(8, 0.3), law=Spike(), bins=np.array([-1.0, 0.0, 0.5, 2.0]))
    (stem,) = stems(ax)
    np.testing.assert_allclose(stem, [[0.3, 0.0], [0.3, 0.5 / 0.5]], rtol=1e-6)
    outside = spectral_density(np.full(8, 0.3), law=Spike(), bins=np.array([0.5, 2.0]))
    assert stems(outside) == []


def test_a_diverging_density_leaves_the_bars_in_view():
    ax = spectral_density(np.linspace(0.01, 0.99, 50), law=Spike(), bins=np.linspace(0, 1, 6))
    highest = bars(ax)[0].get_data().values.max()
    assert ax.lines[0].get_ydata().max() > 10 * highest
    assert ax.get_ylim()[1] < 2.2 * highest


def test_a_higher_law_is_in_view():
    ax = spectral_density(LEVELS, law=rmt.laws.Semicircle(1.5), bins=np.linspace(-6, 10, 5))
    assert ax.get_ylim()[1] > 1.2 * bars(ax)[0].get_data().values.max()


def test_levels_far_outside_leave_the_bins_of_the_others_as_they_are():
    law = rmt.laws.Semicircle()
    inside = np.linspace(-1.9, 1.9, 99)
    for far in (5.0, 40.0):
        edges = spectral_density([*inside, far], law=law).patches[0].get_data().edges
        widths = np.diff(edges)
        assert edges[0] >= -2 - widths[0]
        assert edges[-1] >= far
        assert np.sum(widths[edges[1:] <= 2]) / np.sum(edges[1:] <= 2) < 0.6
    # So far that no figure shows such bins.
    assert spectral_density([*inside, 1e9], law=law).patches[0].get_data().edges.size < 310
    # Most levels are outside: the law is not what the bins are for.
    assert spectral_density([*(50 * inside), 0.0], law=law).patches[0].get_data().edges.size < 30
