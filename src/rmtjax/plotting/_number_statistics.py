"""Plots of how the number of levels in an interval fluctuates."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from jaxtyping import Array, Bool

from rmtjax import _checks, laws, statistics
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax.plotting import _estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def number_variance(
    levels: Any,
    lengths: RealLike,
    *,
    betas: Iterable[int] = (0, 1, 2),
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the number variance of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.number_variance` over the spectra, and the band around it holds the true mean
    with 95 % confidence. A single spectrum has no band: its windows overlap and say nothing about the error. The curves
    are `laws.number_variance`, or, for `period=n`, `laws.circular_number_variance`, which is exact for n levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; the
            spectra are independent.
        lengths: a vector of L ≥ 0. Where one of the spectra is too short the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        where: which of the levels count.
        interval: the part of the axis that is used, e.g. the bulk; by default from the first level to the last.
        period: the length of the circle if the levels lie on one.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes, e.g. for `ax.figure.savefig("variance.png", dpi=200)`.

    Raises:
        ValueError: as for `statistics.number_variance`; there is no spectrum; `lengths` are no vector; or a β is none
            of these.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases).levels
        >>> ax = rmt.plotting.number_variance(unfolded, jnp.linspace(0, 15, 31), betas=[2], period=30)
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']
    """
    points = _checks.vector("lengths", lengths)
    values = statistics.number_variance(levels, points, where=where, interval=interval, period=period)
    reference = laws.number_variance
    if period is not None:
        reference = partial(_on_circle, round(float(period)))
    names = "L", r"number variance $\Sigma^2(L)$"
    return _estimates.curve(points, values, reference, betas, names=names, label=label, ax=ax)


def rigidity(
    levels: Any,
    lengths: RealLike,
    *,
    betas: Iterable[int] = (0, 1, 2),
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the spectral rigidity of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.rigidity` over the spectra, with a band as in `plotting.number_variance`; the
    curves are `laws.rigidity`, for large spectra.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`; the
            spectra are independent.
        lengths: a vector of L > 0. Where one of the spectra is too short the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        where: which of the levels count.
        interval: the part of the axis that is used, e.g. the bulk; by default from the first level to the last.
        period: the length of the circle if the levels lie on one.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `plotting.number_variance`.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.rigidity(independent, jnp.linspace(1, 20, 20))
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 1', 'β = 2']
    """
    points = _checks.vector("lengths", lengths)
    values = statistics.rigidity(levels, points, where=where, interval=interval, period=period)
    names = "L", r"rigidity $\Delta_3(L)$"
    return _estimates.curve(points, values, laws.rigidity, betas, names=names, label=label, ax=ax)


def _on_circle(n: int, lengths: Any, beta: int) -> Array:
    return laws.circular_number_variance(lengths, n, beta)
