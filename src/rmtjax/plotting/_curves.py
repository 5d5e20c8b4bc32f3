"""Statistics of levels that are drawn as curves over lengths, times or frequencies, and what each is compared with."""

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array

from rmtjax import _checks, laws, statistics
from rmtjax.laws import AbstractLaw
from rmtjax.plotting import _estimates
from rmtjax.special.internal import gauss_legendre
from rmtjax.spectra import Circle, Spectrum

# The power spectrum of so many levels on a circle is within a relative 4e-5 of the limit of large spectra.
_MANY = 100


class Curve(NamedTuple):
    """What differs between the statistics that are drawn as curves."""

    points: str  # the name of the argument
    names: tuple[str, str]  # of the axes
    statistic: Callable[..., Any]  # of levels and points
    line: Callable[[np.ndarray, Any], Any]  # the reference of large spectra, of points and β
    circle: Callable[[np.ndarray, int, Any], Any] | None = None  # the exact reference of n levels on a circle
    grid: Callable[[Array, int | None], np.ndarray | None] = lambda points, n: None  # where the reference is computed
    combine: Callable[[Any], Any] | None = None  # from the means over spectra to what is drawn
    log: str = ""  # the axes that are logarithmic
    signed: bool = False  # whether the view has values below 0
    lines: int = 1  # the number of lines
    binned: bool = False  # whether the points are the edges of bins


def draw(
    shown: Curve, levels: Any, points: Any, betas: Any, label: str | None, ax: Any, style: Any, **given: Any
) -> Any:
    """Draw a statistic over the points, or in the middle of the bins. It takes the further arguments that are given."""
    x = _checks.vector(shown.points, points)
    each = shown.statistic(levels, x, **given)
    x, n, circle = (x[1:] + x[:-1]) / 2 if shown.binned else x, _length_of_circle(levels), shown.circle
    reference = shown.line if n is None or circle is None else lambda points, beta: circle(points, n, beta)
    options = {name: getattr(shown, name) for name in ("combine", "log", "signed", "lines")}
    return _estimates.curve(x, each, reference, betas, shown.names, label, ax, style, grid=shown.grid(x, n), **options)


def _length_of_circle(levels: Any) -> int | None:
    """The length of the circle on which all spectra lie, as a number of levels; None where there is no such circle."""
    if not isinstance(levels, Spectrum) or not isinstance(levels.domain, Circle):
        return None
    periods = np.unique(np.asarray(levels.domain.period))
    return max(1, round(float(periods[0]))) if periods.size == 1 else None


def _few(points: Array, n: int | None) -> np.ndarray:
    """Fewer points than for other curves, because each one costs a determinant."""
    return np.linspace(float(points.min()), float(points.max()), 101)


def _waves(turns: Array, n: int) -> np.ndarray:
    """The numbers k = 1, 2, … for which k/n lies between the smallest and the largest of the turns, up to rounding."""
    ends = n * np.asarray(turns, np.float64)
    return np.arange(max(1, math.ceil(ends.min() - 1e-3)), math.floor(ends.max() + 1e-3) + 1)


def _variance_and_third(levels: Any, lengths: Array) -> tuple[Array, Array]:
    if (lengths == 0).any():
        raise _checks.refusal("lengths", "be above 0 for a skewness", lengths)
    return statistics.number_variance(levels, lengths), statistics.number_skewness(levels, lengths)


def _skewness(means: tuple[Array, Array]) -> Array:
    variance, third = means
    return third / variance**1.5


def _skewness_of_many(lengths: np.ndarray, beta: int) -> np.ndarray:
    if beta == 0:
        return lengths**-0.5
    # The number of levels that repel deviates from L by about one, and by 9 with a probability below rounding.
    counts = np.arange(math.ceil(lengths[-1]) + 10)
    deviations = counts - lengths[:, None]
    probabilities = np.where(abs(deviations) < 9, probabilities_of_many(lengths, beta, counts[-1]), 0)
    second, third = (np.sum(probabilities * deviations**k, axis=1) for k in (2, 3))
    return third / second**1.5


def probabilities_of_many(lengths: np.ndarray, beta: Any, max_count: int = 3) -> np.ndarray:
    """The probabilities E(k; L) of large spectra, with k on the last axis."""
    if beta:
        return np.asarray(laws.bulk_gap_probabilities(lengths, beta, max_count), np.float64)
    counts = range(max_count + 1)
    return np.stack([lengths**k * np.exp(-lengths) / math.factorial(k) for k in counts], axis=-1)


def _form_factor(levels: Any, times: Array, *, connected: bool, window: Any) -> statistics.FormFactor:
    values = statistics.form_factor(levels, times, window=window)
    if connected and values.raw.size == times.size:
        raise _checks.refusal("levels", "be those of several spectra for the connected part", values.raw.shape[:-1])
    return values


def _power(frequencies: np.ndarray, length: int | None, beta: Any) -> Any:
    if beta == 0:
        return (1.0 if length is None else length / (length + 1)) / (4 * np.sin(frequencies / 2) ** 2)
    n = _levels_of_power(length)
    return laws.circular_power_spectrum(np.round(frequencies * n / (2 * np.pi)), n, beta)


def _levels_of_power(length: int | None) -> int:
    return _MANY if length is None else max(2, min(_MANY, length))


def _frequencies(frequencies: Array, length: int | None) -> np.ndarray:
    n = _levels_of_power(length)
    waves = _waves(frequencies / (2 * np.pi), n)
    return 2 * np.pi / n * waves[waves < n]


def spacing_law(beta: Any, order: int = 1) -> AbstractLaw:
    """The law of the distance from a level to the one `order` places above it."""
    return laws.Spacing(beta, order) if beta else laws.PoissonSpacing(order)


def _exponent(cutoffs: np.ndarray, beta: Any) -> np.ndarray:
    """The exponent that infinitely many spacings give for each cutoff."""
    nodes, weights = gauss_legendre(40)
    share, law = (1 + nodes) / 2, spacing_law(beta)
    logarithms = np.asarray(law.cdf(cutoffs[:, None] * share), np.float64) @ (weights / 2 / share)
    return np.asarray(law.cdf(cutoffs), np.float64) / logarithms - 1


NUMBER_VARIANCE = Curve(
    "lengths",
    ("L", r"number variance $\Sigma^2(L)$"),
    statistics.number_variance,
    laws.number_variance,
    laws.circular_number_variance,
)
RIGIDITY = Curve(
    "lengths", ("L", r"rigidity $\Delta_3(L)$"), statistics.rigidity, laws.rigidity, laws.circular_rigidity
)
NUMBER_SKEWNESS = Curve(
    "lengths",
    ("L", r"skewness $\gamma_1(L)$"),
    _variance_and_third,
    _skewness_of_many,
    grid=_few,
    combine=_skewness,
    signed=True,
)
# The plot sets the largest number, and with it the number of lines.
NUMBER_PROBABILITIES = Curve(
    "lengths", ("L", "probability $E(k; L)$"), statistics.number_probabilities, probabilities_of_many, grid=_few
)
PAIR_CORRELATION = Curve(
    "edges", ("r", r"pair correlation $R_2(r)$"), statistics.pair_correlation, laws.pair_correlation, binned=True
)
# The plot chooses the part, connected or not, and the axes.
FORM_FACTOR = Curve(
    "times",
    (r"$\tau$", r"form factor $K(\tau)$"),
    _form_factor,
    laws.form_factor,
    lambda times, n, beta: laws.circular_form_factor(np.round(n * times), n, beta),
    grid=lambda times, n: None if n is None else _waves(times, n) / n,
)
POWER_SPECTRUM = Curve(
    "frequencies",
    (r"$\omega$", r"power spectrum $S(\omega)$"),
    statistics.power_spectrum,
    lambda frequencies, beta: _power(frequencies, None, beta),
    _power,
    grid=_frequencies,
    log="xy",
)
LEVEL_REPULSION = Curve(
    "cutoffs",
    ("cutoff $s_c$", r"exponent of $P(s) \sim s^\beta$"),
    statistics.level_repulsion,
    _exponent,
    combine=attrgetter("exponent"),
    signed=True,
)
