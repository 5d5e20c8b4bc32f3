"""Plots of correlations between levels, in distance, time and frequency."""

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rmtjax._typing import DysonIndexOrZero, IntervalLike, RealLike
from rmtjax.plotting import _curves
from rmtjax.spectra.internal import LevelsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pair_correlation(
    levels: LevelsLike,
    edges: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the pair correlation of unfolded spectra, with its error, and the exact curves.

    The points are the means of `statistics.pair_correlation` over the spectra, in the middle of the bins. The curves
    are those of large spectra, `laws.pair_correlation`; for n levels on a circle they are right up to terms of order
    1/n². `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        edges: edges of the bins of distances, strictly ascending, the first of them at least 0.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.pair_correlation`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.pair_correlation(unfolded, jnp.linspace(0, 3, 31), betas=[2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']
    """
    return _curves.draw(_curves.PAIR_CORRELATION, levels, edges, betas, label, ax, style)


def form_factor(
    levels: LevelsLike,
    times: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    connected: bool = True,
    window: IntervalLike | None = None,
    log: bool = False,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the form factor of unfolded spectra, with its error, and the exact curves.

    The line is the form factor of all spectra, by `statistics.form_factor`. The curves are those of large spectra,
    `laws.form_factor`. On a circle of length n they are `laws.circular_form_factor`, which is exact for n levels. They
    are drawn at the times k/n with an integer k, because between these times the form factor depends on where the
    circle is cut. So give these times: `times=jnp.arange(1, 2 * n) / n`. `rmtjax.plotting` says what all plots have in
    common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        times: a vector of τ, in units of the Heisenberg time.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        connected: whether the square of the mean amplitude is taken away, which takes several spectra.
        window: centre and width of Gaussian weights, as for `statistics.form_factor`.
        log: whether both axes are logarithmic, as is usual to show slope, dip, ramp and plateau.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.form_factor`, or there are too few spectra.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.form_factor(unfolded, jnp.linspace(0, 2, 41), betas=[1, 2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 1', 'β = 2']
    """
    part = attrgetter("connected" if connected else "raw")
    shown = _curves.FORM_FACTOR._replace(combine=part, log="xy" if log else "")
    return _curves.draw(shown, levels, times, betas, label, ax, style, connected=connected, window=window)


def power_spectrum(
    levels: LevelsLike,
    frequencies: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the power spectrum of unfolded levels, with its error, and the curves of large spectra.

    The line is the mean of `statistics.power_spectrum` over the spectra. Both axes are logarithmic, so that chaos is
    seen by its slope -1, and independent levels by their slope -2. The curves are `laws.circular_power_spectrum` for
    n = 100, from ω = 2π/100 on; they differ from the limit of large spectra by a relative 4e-5. On a circle of length
    n < 100 they are exact for n levels. `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are independent.
        frequencies: a vector of ω between 0 and 2π.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.power_spectrum`, or there is no spectrum.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.power_spectrum(independent, jnp.geomspace(0.1, 3, 20), betas=[0, 1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 1']
    """
    return _curves.draw(_curves.POWER_SPECTRUM, levels, frequencies, betas, label, ax, style)
