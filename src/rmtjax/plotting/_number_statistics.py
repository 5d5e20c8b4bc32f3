"""Plots of how the number of levels in an interval fluctuates."""

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array

from rmtjax import _checks, laws, statistics
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.plotting import _estimates
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
) -> "Axes":
    r"""Draw the number variance of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.number_variance` over the spectra, and the band around it holds the true mean
    with 95 % confidence. A single spectrum has no band: its windows overlap and say nothing about the error. The curves
    are `laws.number_variance`, or, on a circle of length n, `laws.circular_number_variance`, which is exact for n
    levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        lengths: a vector of L ≥ 0. Where one of the spectra is too short the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
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
        >>> unfolded = rmt.statistics.unfold_phases(phases)
        >>> ax = rmt.plotting.number_variance(unfolded, jnp.linspace(0, 15, 31), betas=[2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'β = 2']
    """
    points = _checks.vector("lengths", lengths)
    values = statistics.number_variance(levels, points)
    reference = _estimates.on_circle(levels, laws.number_variance, laws.circular_number_variance)
    names = "L", r"number variance $\Sigma^2(L)$"
    return _estimates.curve(points, values, reference, betas, names=names, label=label, ax=ax)


def rigidity(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the spectral rigidity of unfolded spectra, with its error, and the exact curves.

    The line is the mean of `statistics.rigidity` over the spectra, with a band as in `plotting.number_variance`. The
    curves are `laws.rigidity`, or, on a circle of length n, `laws.circular_rigidity`, which is exact for n levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        lengths: a vector of L > 0. Where one of the spectra is too short the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
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
    values = statistics.rigidity(levels, points)
    reference = _estimates.on_circle(levels, laws.rigidity, laws.circular_rigidity)
    names = "L", r"rigidity $\Delta_3(L)$"
    return _estimates.curve(points, values, reference, betas, names=names, label=label, ax=ax)


def number_skewness(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the skewness of the number of levels in an interval, with its error, and the exact curves.

    $$\gamma_1(L) = \frac{\langle (N - L)^3 \rangle}{\langle (N - L)^2 \rangle^{3/2}}$$

    with both means over the positions of the interval and over the spectra, by `statistics.number_skewness` and
    `statistics.number_variance`. The line is free of the bias of the quotient to first order, by the jackknife, and the
    band holds the true value with 95 % confidence. The curves are those of large spectra, $L^{-1/2}$ for independent
    levels, else the sums over `laws.bulk_gap_probabilities`.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        lengths: a vector of L > 0. Where one of the spectra is too short the line has a gap.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `plotting.number_variance`, or a length is 0.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> independent = jnp.cumsum(jax.random.exponential(jax.random.key(0), (50, 100)), axis=1)
        >>> ax = rmt.plotting.number_skewness(independent, jnp.linspace(0.2, 4, 20), betas=[0, 2])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 spectra', 'independent levels', 'β = 2']

    References:
        Bohigas, Haq and Pandey (1985), Phys. Rev. Lett. 54, 1645.
    """
    points = _checks.vector("lengths", lengths)
    if (points == 0).any():
        raise _checks.refusal("lengths", "be above 0 for a skewness", lengths)
    values = statistics.number_variance(levels, points), statistics.number_skewness(levels, points)
    names = "L", r"skewness $\gamma_1(L)$"
    options = {"names": names, "label": label, "ax": ax, "combine": _skewness, "grid": _grid(points), "signed": True}
    return _estimates.curve(points, values, _skewness_of_many, betas, **options)


def number_probabilities(
    levels: LevelsLike,
    lengths: RealLike,
    *,
    max_count: int = 3,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the probabilities E(k; L) that an interval holds k levels, with their errors, and the exact curves.

    There is a line for each k up to `max_count`, with its number above its highest point: the mean of
    `statistics.number_probabilities` over the spectra, with a band that holds the true mean with 95 % confidence. The
    curves are those of large spectra, `laws.bulk_gap_probabilities` or, for independent levels, $L^k e^{-L}/k!$.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`; the spectra are
            independent.
        lengths: a vector of L ≥ 0. Where one of the spectra is too short the lines have a gap.
        max_count: the largest k, at least 0.
        betas: which curves: 0 for independent levels, 1, 2 or 4. A curve that is on the axes is not drawn again.
        label: name of the spectra in the legend; by default their number.
        ax: where to draw, by default a new figure. Further spectra on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: as for `plotting.number_variance`, or `max_count` is no whole number.
        ImportError: matplotlib is not installed.

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
    points = _checks.vector("lengths", lengths)
    values = statistics.number_probabilities(levels, points, max_count=max_count)
    reference, names = partial(_probabilities, max_count), ("L", "probability $E(k; L)$")
    options = {"names": names, "label": label, "ax": ax, "grid": _grid(points), "lines": max_count + 1}
    axes = _estimates.curve(points, values, reference, betas, **options)
    _number_lines(axes, max_count + 1)
    return axes


def _grid(lengths: Array) -> np.ndarray:
    """Fewer points than for other curves, as each is a determinant."""
    return np.linspace(float(lengths.min()), float(lengths.max()), 101)


def _skewness(means: tuple[Array, Array]) -> Array:
    variance, third = means
    return third / variance**1.5


def _skewness_of_many(lengths: np.ndarray, beta: DysonIndexOrZero) -> np.ndarray:
    if _checks.dyson_index(beta, DysonIndexOrZero) == 0:
        return lengths**-0.5
    # Levels that repel deviate from L by about one, and by 9 with a probability below rounding.
    counts = np.arange(math.ceil(lengths[-1]) + 10)
    deviations = counts - lengths[:, None]
    probabilities = np.where(abs(deviations) < 9, _probabilities(counts[-1], lengths, beta), 0)
    second, third = (np.sum(probabilities * deviations**k, axis=1) for k in (2, 3))
    return third / second**1.5


def _probabilities(max_count: int, lengths: np.ndarray, beta: DysonIndexOrZero) -> np.ndarray:
    """E(k; L) for large spectra, on a last axis for k."""
    beta = _checks.dyson_index(beta, DysonIndexOrZero)
    if beta:
        return np.asarray(laws.bulk_gap_probabilities(lengths, beta, max_count), np.float64)
    counts = range(max_count + 1)
    return np.stack([lengths**k * np.exp(-lengths) / math.factorial(k) for k in counts], axis=-1)


def _number_lines(axes: Any, count: int) -> None:
    """Write its number above the highest point of each of the last lines, unless it is there."""
    there = {text.get_text() for text in axes.texts}
    estimates = [line for line in axes.lines if line.get_marker() == "."]
    for k, line in enumerate(estimates[-count:]):
        x, y = line.get_data()
        if str(k) not in there and np.isfinite(y).any():
            place = np.nanargmax(y)
            axes.annotate(str(k), (x[place], y[place]), (0, 6), textcoords="offset points", ha="center", zorder=4)
