"""Histograms of distances between neighbouring levels and of ratios of these."""

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from rmtjax import _checks, laws, statistics
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.laws import AbstractLaw
from rmtjax.plotting import _bins, _estimates
from rmtjax.special.internal import gauss_legendre
from rmtjax.spectra.internal import LevelsLike

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
) -> "Axes":
    r"""Draw the histogram of spacings of unfolded spectra, with its error, and the exact laws.

    The spacings of all spectra are pooled. The bars of error hold the true height with 95 % confidence. They come from
    the spread over the spectra, as the spacings of one spectrum depend on one another; a single spectrum has none. The
    laws are `laws.Spacing`, and `laws.PoissonSpacing` for independent levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        order: k for the distance from a level to the k-th after it.
        betas: which laws: 0 for independent levels, 1, 2 or 4. A law that is on the axes is not drawn again.
        bins: a number of bins between 0 and `order` + 3, or their edges. Spacings outside count in the total.
        label: name of the spectra in the legend; by default their number and the mean of the spacings, with its
            standard error.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes, e.g. for `ax.figure.savefig("spacings.png", dpi=200)`.

    Raises:
        ValueError: the levels are not ascending numbers or have no spacings, `bins` are neither a whole number nor
            ascending edges, a β is none of these, or `laws.Spacing` has no such order.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> ax = rmt.plotting.spacings(rmt.statistics.unfold_phases(phases), betas=[1, 2], label="CUE")
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['CUE', 'β = 1', 'β = 2']

    References:
        Mehta (2004), Random Matrices, section 1.5.
    """
    values = statistics.spacings(levels, order)
    edges = _bins.chosen(bins, 0.0, order + 3.0)
    references = _estimates.of_each(lambda beta: _spacing_law(beta, order).pdf, betas)
    return _estimates.histogram(values, edges, references, name="spacings", label=label, ax=ax)


def gap_ratios(
    levels: LevelsLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    bins: RealLike = 25,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the histogram of ratios of consecutive spacings, with its error, and the exact laws.

    As `plotting.spacings`, but nothing needs to be unfolded, and the mean in the legend says at once which law it is:
    `laws.mean_gap_ratio`. The laws are `laws.GapRatio`, and `laws.PoissonGapRatio` for independent levels.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`; the spectra are independent.
        betas: which laws: 0 for independent levels, 1, 2 or 4. A law that is on the axes is not drawn again.
        bins: a number of bins between 0 and 1, or their edges.
        label: name of the spectra in the legend; by default their number and the mean of the ratios, with its standard
            error.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `plotting.spacings`.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.GOE(30).eigenvalues, jax.random.key(0), 50)
        >>> ax = rmt.plotting.gap_ratios(levels, betas=[0, 1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()][1:])
        ['independent levels', 'β = 1']

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101.
    """
    edges, references = _bins.chosen(bins, 0.0, 1.0), _estimates.of_each(lambda beta: _ratio_law(beta).pdf, betas)
    values = statistics.gap_ratios(levels)
    return _estimates.histogram(values, edges, references, name="ratios", label=label, ax=ax)


def level_repulsion(
    levels: LevelsLike,
    cutoffs: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the exponent of the law of small spacings against the cutoff below which they are small.

    The line is that of `statistics.level_repulsion` for all spectra together, free of the bias of a quotient to first
    order by the jackknife, with a band that holds the true value with 95 % confidence. Each exponent falls short of β
    by the bias of its cutoff; the curves have the same,

    $$\frac{F(s_c)}{\int_0^{s_c} F(s)\,ds/s} - 1$$

    with the distribution function F of `laws.Spacing`, or of `laws.PoissonSpacing` for independent levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        cutoffs: a vector of $s_c > 0$. Where a spectrum alone has all of the spacings below it, the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `statistics.level_repulsion`; `cutoffs` are no vector; there is no spectrum; or a β is none
            of these.
        ImportError: matplotlib is not installed.

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
    points = _checks.vector("cutoffs", cutoffs)
    values = statistics.level_repulsion(levels, points)
    names = "cutoff $s_c$", r"exponent of $P(s) \sim s^\beta$"
    exponent = attrgetter("exponent")
    return _estimates.curve(
        points, values, _exponent, betas, names=names, label=label, ax=ax, combine=exponent, signed=True
    )


def _exponent(cutoffs: np.ndarray, beta: DysonIndexOrZero) -> np.ndarray:
    """What infinitely many spacings give for each cutoff."""
    nodes, weights = gauss_legendre(40)
    share, law = (1 + nodes) / 2, _spacing_law(beta)
    logarithms = np.asarray(law.cdf(cutoffs[:, None] * share), np.float64) @ (weights / 2 / share)
    return np.asarray(law.cdf(cutoffs), np.float64) / logarithms - 1


def _spacing_law(beta: DysonIndexOrZero, order: int = 1) -> AbstractLaw:
    beta = _checks.dyson_index(beta, DysonIndexOrZero)
    return laws.Spacing(beta, order) if beta else laws.PoissonSpacing(order)


def _ratio_law(beta: DysonIndexOrZero) -> AbstractLaw:
    beta = _checks.dyson_index(beta, DysonIndexOrZero)
    return laws.GapRatio(beta) if beta else laws.PoissonGapRatio()
