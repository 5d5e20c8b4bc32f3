"""Histograms of distances between neighbouring levels and of ratios of these."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jaxtyping import Array, Bool

from rmtjax import _checks, laws, statistics
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw
from rmtjax.plotting import _bins, _estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BETAS = (0, 1, 2, 4)


def spacings(
    levels: Any,
    *,
    betas: Iterable[int] = (0, 1, 2),
    bins: int | RealLike = 40,
    where: Bool[Array, "*batch n"] | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the histogram of spacings of unfolded spectra, with its error, and the exact laws.

    The spacings of all spectra are pooled. The bars of error hold the true height with 95 % confidence. They come from
    the spread over the spectra, as the spacings of one spectrum depend on one another; a single spectrum has none. The
    laws are `laws.Spacing`, and `laws.PoissonSpacing` for independent levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; the
            spectra are independent.
        betas: which laws: 0 for independent levels, 1, 2 or 4. A law that is on the axes is not drawn again.
        bins: a number of bins between 0 and 4, or their edges. Spacings outside count in the total.
        where: which of the levels count.
        label: name of the spectra in the legend; by default their number and the mean of the spacings, with its
            standard error.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes, e.g. for `ax.figure.savefig("spacings.png", dpi=200)`.

    Raises:
        ValueError: the levels are not ascending numbers or have no spacings, `bins` are neither a whole number nor
            ascending edges, or a β is none of these.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> ax = rmt.plotting.spacings(rmt.statistics.unfold_phases(phases).levels, betas=[1, 2], label="CUE")
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['CUE', 'β = 1', 'β = 2']

    References:
        Mehta (2004), Random Matrices, section 1.5.
    """
    edges, references = _bins.chosen(bins, 0.0, 4.0), {beta: _spacing_law(beta).pdf for beta in betas}
    values = statistics.spacings(levels, where=where)
    return _estimates.histogram(values, edges, references, name="spacings", label=label, ax=ax)


def gap_ratios(
    levels: Any,
    *,
    betas: Iterable[int] = (0, 1, 2),
    bins: int | RealLike = 25,
    where: Bool[Array, "*batch n"] | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the histogram of ratios of consecutive spacings, with its error, and the exact laws.

    As `plotting.spacings`, but nothing needs to be unfolded, and the mean in the legend says at once which law it is:
    `laws.mean_gap_ratio`. The laws are `laws.GapRatio`, and `laws.PoissonGapRatio` for independent levels.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; the spectra are independent.
        betas: which laws: 0 for independent levels, 1, 2 or 4. A law that is on the axes is not drawn again.
        bins: a number of bins between 0 and 1, or their edges.
        where: which of the levels count.
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
    edges, references = _bins.chosen(bins, 0.0, 1.0), {beta: _ratio_law(beta).pdf for beta in betas}
    values = statistics.gap_ratios(levels, where=where)
    return _estimates.histogram(values, edges, references, name="ratios", label=label, ax=ax)


def _spacing_law(beta: int) -> AbstractLaw:
    return laws.Spacing(beta) if _checks.dyson_index(beta, _BETAS) else laws.PoissonSpacing()


def _ratio_law(beta: int) -> AbstractLaw:
    return laws.GapRatio(beta) if _checks.dyson_index(beta, _BETAS) else laws.PoissonGapRatio()
