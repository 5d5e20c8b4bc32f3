"""Plots of how the number of levels in an interval fluctuates."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rmtjax import _checks
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.plotting import _curves
from rmtjax.spectra.internal import LevelsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def number_variance(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the number variance of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.number_variance` over the spectra. The curves are `laws.number_variance`. On a
    circle of length n they are `laws.circular_number_variance`, which is exact for n levels. `rmtjax.plotting` says
    what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        lengths: a vector of L ≥ 0. Where one of the spectra is too short, the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.number_variance`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.number_variance(unfolded, jnp.linspace(0, 15, 31), betas=[2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']
    """
    return _curves.draw(_curves.NUMBER_VARIANCE, levels, lengths, betas, label, ax, style)


def rigidity(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the spectral rigidity of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.rigidity` over the spectra. The curves are `laws.rigidity`. On a circle of
    length n they are `laws.circular_rigidity`, which is exact for n levels. `rmtjax.plotting` says what all plots have
    in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        lengths: a vector of L > 0. Where one of the spectra is too short, the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.rigidity`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.rigidity(independent, jnp.linspace(1, 20, 20))
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 1', 'β = 2']
    """
    return _curves.draw(_curves.RIGIDITY, levels, lengths, betas, label, ax, style)


def number_skewness(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the skewness of the number of levels in an interval, with its error, and the exact curves.

    $$\gamma_1(L) = \frac{\langle (N - L)^3 \rangle}{\langle (N - L)^2 \rangle^{3/2}}$$

    Both means are over the positions of the interval and over the spectra. They come from `statistics.number_skewness`
    and `statistics.number_variance`. The jackknife takes away the bias of the quotient to first order. The curves are
    those of large spectra: $L^{-1/2}$ for independent levels, otherwise sums over `laws.bulk_gap_probabilities`.
    `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        lengths: a vector of L > 0. Where one of the spectra is too short, the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.number_skewness`, a length is 0, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.number_skewness(independent, jnp.linspace(0.2, 4, 20), betas=[0, 2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 2']

    References:
        Bohigas, Haq and Pandey (1985), Phys. Rev. Lett. 54, 1645.
    """
    return _curves.draw(_curves.NUMBER_SKEWNESS, levels, lengths, betas, label, ax, style)


def number_probabilities(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    max_count: int = 3,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the probabilities E(k; L) that an interval holds k levels, with their errors, and the exact curves.

    There is a line for each k up to `max_count`, with its number above its highest point. The line is the mean of
    `statistics.number_probabilities` over the spectra. The curves are those of large spectra:
    `laws.bulk_gap_probabilities` or, for independent levels, $L^k e^{-L}/k!$. `rmtjax.plotting` says what all plots
    have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        lengths: a vector of L ≥ 0. Where one of the spectra is too short, the lines have a gap.
        max_count: the largest k, at least 0.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.number_probabilities`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.number_probabilities(unfolded, jnp.linspace(0, 3, 31), betas=[2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']

    References:
        Mehta (2004), Random Matrices, section 6.1.
    """
    count = 1 + _checks.integer("max_count", max_count, at_least=0)
    law = partial(_curves.probabilities_of_many, max_count=max_count)
    shown = _curves.NUMBER_PROBABILITIES._replace(line=law, lines=count)
    axes = _curves.draw(shown, levels, lengths, betas, label, ax, style, max_count=max_count)
    _number_lines(axes, count)
    return axes


def _number_lines(axes: Any, count: int) -> None:
    """Write its number above the highest point of each of the last lines, unless the number is on the axes already."""
    there = {text.get_text() for text in axes.texts}
    estimates = [line for line in axes.lines if line.get_marker() == "."]
    for k, line in enumerate(estimates[-count:]):
        x, y = line.get_data()
        if str(k) not in there and np.isfinite(y).any():
            place = np.nanargmax(y)
            axes.annotate(str(k), (x[place], y[place]), (0, 6), textcoords="offset points", ha="center", zorder=4)
