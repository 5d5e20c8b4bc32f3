"""Plots of correlations between levels, in distance, time and frequency."""

import math
from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array

from rmtjax import _checks, laws, statistics
from rmtjax._typing import DysonIndexOrZero, IntervalLike, RealLike
from rmtjax.plotting import _estimates
from rmtjax.spectra.internal import LevelsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The size of the spectra on a circle whose power spectrum is drawn: it is 4e-5, relative, from that of large spectra.
_MANY = 100


def pair_correlation(
    levels: LevelsLike,
    edges: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the pair correlation of unfolded spectra, with its error, and the exact curves.

    The points are the means of `statistics.pair_correlation` over the spectra, in the middle of the bins, with a band
    that holds the true mean with 95 % confidence; a single spectrum has none. The curves are `laws.pair_correlation`,
    those of large spectra; on a circle of n levels they are right up to terms of order 1/n².

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        edges: of the bins of distances, ascending from 0 or above.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `statistics.pair_correlation`; there is no spectrum; or a β is none of these.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.pair_correlation(unfolded, jnp.linspace(0, 3, 31), betas=[2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']
    """
    ends = _checks.vector("edges", edges)
    values = statistics.pair_correlation(levels, ends)
    names, middle = ("r", r"pair correlation $R_2(r)$"), (ends[1:] + ends[:-1]) / 2
    return _estimates.curve(middle, values, laws.pair_correlation, betas, names=names, label=label, ax=ax)


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
) -> "Axes":
    r"""Draw the form factor of unfolded spectra, with its error, and the exact curves.

    The line is that of `statistics.form_factor` over the spectra, with a band that holds it with 95 % confidence. The
    curves are `laws.form_factor`, those of large spectra, or, on a circle of length n, `laws.circular_form_factor`,
    which is exact for n levels; it is drawn at the times k/n with an integer k, as between them the form factor of a
    circle depends on where it is cut. So give these times: `times=jnp.arange(1, 2 * n) / n`.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        times: a vector of τ, in units of the Heisenberg time.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        connected: without the square of the mean amplitude, which takes several spectra to be known; or raw.
        window: centre and width of Gaussian weights, as for `statistics.form_factor`.
        log: whether both axes are logarithmic, as is usual where slope, dip, ramp and plateau shall be seen.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `statistics.form_factor`; `times` are no vector; a β is none of these; or there are no two
            spectra for the connected part.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> phases = rmt.simulate(rmt.CUE(30).eigenphases, jax.random.key(0), 50)
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.form_factor(unfolded, jnp.linspace(0, 2, 41), betas=[1, 2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 1', 'β = 2']
    """
    points = _checks.vector("times", times)
    values = statistics.form_factor(levels, points, window=window)
    if connected and values.raw.size == points.size:
        raise _checks.refusal("levels", "be those of several spectra for the connected part", values.raw.shape[:-1])
    part = attrgetter("connected" if connected else "raw")
    options: dict[str, Any] = {
        "names": (r"$\tau$", r"form factor $K(\tau)$"),
        "combine": part,
        "log": "xy" if log else "",
    }
    n = _estimates.levels_on_circle(levels)
    if n is None:
        return _estimates.curve(points, values, laws.form_factor, betas, label=label, ax=ax, **options)
    return _estimates.curve(
        points, values, partial(_circular, n), betas, label=label, ax=ax, grid=_waves(points, n) / n, **options
    )


def power_spectrum(
    levels: LevelsLike,
    frequencies: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the power spectrum of unfolded levels, with its error, and the curves of large spectra.

    The line is the mean of `statistics.power_spectrum` over the spectra, with a band that holds the true mean with 95 %
    confidence; a single spectrum has none. Both axes are logarithmic, so that the slopes -1 and -2 of chaos and of
    independent levels are seen. The curves are those of `laws.circular_power_spectrum` at n = 100, which differ from
    the limit of large spectra by 4e-5, from ω = 2π/100 on; on a circle of length n with a smaller n they are exact.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        frequencies: a vector of ω between 0 and 2π.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `statistics.power_spectrum`; `frequencies` are no vector; there is no spectrum; or a β is
            none of these.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.power_spectrum(independent, jnp.geomspace(0.1, 3, 20), betas=[0, 1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 1']
    """
    points = _checks.vector("frequencies", frequencies)
    values = statistics.power_spectrum(levels, points)
    size = _estimates.levels_on_circle(levels)
    n = _MANY if size is None else max(2, min(_MANY, size))
    waves = _waves(points / (2 * np.pi), n)
    reference = partial(_power, n, 1.0 if size is None else size / (size + 1))
    names = r"$\omega$", r"power spectrum $S(\omega)$"
    options = {"names": names, "label": label, "ax": ax, "grid": 2 * np.pi / n * waves[waves < n], "log": "xy"}
    return _estimates.curve(points, values, reference, betas, **options)


def _waves(turns: Array, n: int) -> np.ndarray:
    """The numbers k = 1, 2, … for which k/n is between the smallest and the largest of these numbers."""
    ends = n * np.asarray(turns, np.float64)
    # But for rounding.
    return np.arange(max(1, math.ceil(ends.min() - 1e-3)), math.floor(ends.max() + 1e-3) + 1)


def _circular(n: int, times: np.ndarray, beta: DysonIndexOrZero) -> Array:
    return laws.circular_form_factor(np.round(n * times), n, beta)


def _power(n: int, of_independent: float, frequencies: np.ndarray, beta: DysonIndexOrZero) -> Any:
    if _checks.dyson_index(beta, DysonIndexOrZero) == 0:
        return of_independent / (4 * np.sin(frequencies / 2) ** 2)
    return laws.circular_power_spectrum(np.round(frequencies * n / (2 * np.pi)), n, beta)
