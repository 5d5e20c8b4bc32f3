"""Histograms of distances between neighbouring levels and of ratios of these."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rmtjax import laws, statistics
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.plotting import _bins, _curves, _estimates
from rmtjax.spectra.internal import LevelsLike, unit_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spacings(
    levels: LevelsLike,
    *,
    order: int = 1,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    bins: RealLike = 40,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the histogram of spacings of unfolded spectra, with its error, and the exact laws.

    The spacings of all spectra are pooled. The laws are `laws.Spacing`, and `laws.PoissonSpacing` for independent
    levels. `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        order: the order k, at least 1: a spacing is the distance from a level to the k-th level above it.
        betas: which laws: 0 for independent levels, 1, 2 or 4.
        bins: a number of bins between 0 and `order` + 3, or their edges. Spacings outside count in the total.
        label: name of the spectra in the legend; by default their number and the mean spacing with its standard error.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.stairs` takes, such as `color`.

    Raises:
        ValueError: the levels are not unfolded, an argument is outside its range, there are no spacings, or
            `laws.Spacing` has no such order.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> ax = rmt.plotting.spacings(rmt.statistics.unfold_phases(phases), betas=[1, 2], label="CUE")
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['CUE', 'β = 1', 'β = 2']

    References:
        Mehta (2004), Random Matrices, section 1.5.
    """
    unit_density(levels)  # spacings of other levels are no mistake, but these laws are not theirs
    values = statistics.spacings(levels, order)
    edges = _bins.chosen(bins, 0.0, order + 3.0)
    references = _estimates.of_each(lambda beta: _curves.spacing_law(beta, order).pdf, betas)
    return _estimates.histogram(values, edges, references, name="spacings", label=label, ax=ax, style=style)


def gap_ratios(
    levels: LevelsLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    bins: RealLike = 25,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the histogram of ratios of consecutive spacings, with its error, and the exact laws.

    The ratios of all spectra are pooled. The levels need not be unfolded. The mean in the legend tells the laws apart:
    compare it with `laws.mean_gap_ratio`. The laws are `laws.GapRatio`, and `laws.PoissonGapRatio` for independent
    levels. `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`; the spectra are independent.
        betas: which laws: 0 for independent levels, 1, 2 or 4.
        bins: a number of bins between 0 and 1, or their edges.
        label: name of the spectra in the legend; by default their number and the mean ratio with its standard error.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.stairs` takes, such as `color`.

    Raises:
        ValueError: an argument is outside its range, or there are no ratios.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.GOE(30).eigenvalues, jax.random.key(0), 50)
        >>> ax = rmt.plotting.gap_ratios(levels, betas=[0, 1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()][1:])
        ['independent levels', 'β = 1']

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101.
    """
    edges = _bins.chosen(bins, 0.0, 1.0)
    references = _estimates.of_each(lambda beta: (laws.GapRatio(beta) if beta else laws.PoissonGapRatio()).pdf, betas)
    return _estimates.histogram(
        statistics.gap_ratios(levels), edges, references, name="ratios", label=label, ax=ax, style=style
    )


def level_repulsion(
    levels: LevelsLike,
    cutoffs: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the exponent of the law of small spacings against the cutoff below which they are small.

    The line is the exponent of `statistics.level_repulsion` for all spectra together. The jackknife takes away the bias
    of the quotient to first order. Each exponent falls short of β by the bias of its cutoff. The curves have the same
    bias. They are

    $$\frac{F(s_c)}{\int_0^{s_c} F(s)\,ds/s} - 1$$

    with the distribution function F of `laws.Spacing`, or of `laws.PoissonSpacing` for independent levels.
    `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        cutoffs: a vector of $s_c > 0$. Where only one spectrum has spacings below a cutoff, the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.level_repulsion`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.level_repulsion(unfolded, jnp.linspace(0.3, 1, 15))
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 1', 'β = 2']

    References:
        Hill (1975), Ann. Statist. 3, 1163.
    """
    return _curves.draw(_curves.LEVEL_REPULSION, levels, cutoffs, betas, label, ax, style)
