"""How the number of levels in an interval fluctuates, averaged exactly over the position of the interval."""

import math
from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax.statistics._correlations import windows
from rmtjax.statistics._correlations.stretch import Stretch, stretch
from rmtjax.statistics._correlations.windows import Measure, Track, Window
from rmtjax.statistics._levels import Spectrum, checked

_LENGTHS = _checks.Rule(lambda x: ((x >= 0) & (x < math.inf)).all(), "be finite and not negative")


def number_variance(
    levels: Spectrum,
    lengths: RealLike,
    *,
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "..."]:
    r"""Number variance $\Sigma^2(L)$ of unfolded spectra: mean squared deviation of the count from L.

    $$\Sigma^2(L) = \frac1{b - L - a} \int_a^{b - L} [N(x, x + L) - L]^2\,dx$$

    with the number N of levels in (x, x + L]. The integral over the position is exact, not sampled, and takes O(n) for
    each length: the count is piecewise constant. No window reaches beyond the interval (a, b), where counts would be
    too small. The mean over independent spectra is unbiased for levels of unit density; where the density is off, the
    square of the mean deviation comes on top. Windows of one spectrum overlap, so that errors come from several
    spectra: see `over_samples`.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        lengths: L ≥ 0, of any shape.
        where: which of the levels count.
        interval: the part (a, b) of the axis that is used, e.g. the bulk; by default from the first level to the last.
        period: the length of the circle if the levels lie on one, e.g. n; windows then go round, and `interval` must
            be None.

    Returns:
        Values of the shape of the batch followed by that of `lengths`; NaN where a window is as long as the interval or
        longer. Differentiable in levels and lengths almost everywhere.

    Raises:
        ValueError: the levels are not ascending numbers or do not fit on the circle, a length is negative, infinite or
            longer than every spectrum, or `interval` is not ascending.

    Example:
        >>> import jax.numpy as jnp
        >>> print(number_variance(jnp.arange(20.0), jnp.array([0.5, 1.0])))  # a picket fence
        [0.25 0.  ]

    References:
        Mehta (2004), Random Matrices, section 16.1; Guhr, Müller-Groeling and Weidenmüller (1998), Phys. Rep. 299,
        equation 3.47.
    """
    return _averages("number_variance", levels, lengths, where, interval, period)


def rigidity(
    levels: Spectrum,
    lengths: RealLike,
    *,
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "..."]:
    r"""Spectral rigidity $\Delta_3(L)$ of unfolded spectra, averaged over all positions of the interval.

    It is the mean squared deviation of the counting function F from its best straight line,

    $$\Delta_3(L) = \Big\langle \min_{A, B} \frac1L \int_x^{x + L} [F(y) - A y - B]^2\,dy \Big\rangle_x ,$$

    with the exact integral over the position x, which is piecewise a polynomial of degree 4. It takes O(n) for each
    length. Unlike the number variance it does not depend on the unit of the levels to first order. The mean over
    independent spectra is unbiased.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        lengths: L > 0, of any shape.
        where: which of the levels count.
        interval: the part of the axis that is used; by default from the first level to the last.
        period: the length of the circle if the levels lie on one.

    Returns:
        Values of the shape of the batch followed by that of `lengths`; NaN where a window is as long as the interval or
        longer, and at L = 0. Differentiable in the levels almost everywhere.

    Raises:
        ValueError: as for `number_variance`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{rigidity(jnp.arange(50.0), 10.0, period=50):.4f}")  # a picket fence, 1/12 for long windows
        0.0832

    References:
        Dyson and Mehta (1963), J. Math. Phys. 4, 701; Bohigas and Giannoni (1975), Ann. Phys. 89, 393.
    """
    return _averages("rigidity", levels, lengths, where, interval, period)


def number_skewness(
    levels: Spectrum,
    lengths: RealLike,
    *,
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "..."]:
    r"""Third moment of the number of levels in an interval, $\langle [N(x, x + L) - L]^3 \rangle_x$.

    It is not divided by the third power of the standard deviation: the mean over spectra of a quotient is biased. The
    skewness of an ensemble is the mean of this over the mean of `number_variance` to the power 3/2, as
    `over_samples(…, combine=…)` computes it with its error. It is L for independent levels.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        lengths: L ≥ 0, of any shape.
        where: which of the levels count.
        interval: the part of the axis that is used, as in `number_variance`.
        period: the length of the circle if the levels lie on one.

    Returns:
        Values of the shape of the batch followed by that of `lengths`.

    Raises:
        ValueError: as for `number_variance`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(number_skewness(jnp.arange(20.0), 0.25, period=20))  # a quarter of the windows holds one level
        0.09375

    References:
        Bohigas, Haq and Pandey (1985), Phys. Rev. Lett. 54, 1645.
    """
    return _averages("number_skewness", levels, lengths, where, interval, period)


def number_probabilities(
    levels: Spectrum,
    lengths: RealLike,
    *,
    max_count: int,
    where: Bool[Array, "*batch n"] | None = None,
    interval: tuple[RealScalarLike, RealScalarLike] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "..."]:
    r"""The share E(k; L) of positions in which an interval of length L holds exactly k levels, for k up to `max_count`.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        lengths: L ≥ 0, of any shape.
        max_count: the largest k, at least 0; static.
        where: which of the levels count.
        interval: the part of the axis that is used, as in `number_variance`.
        period: the length of the circle if the levels lie on one.

    Returns:
        Shares for k = 0, …, `max_count`, on a last axis behind those of the batch and of `lengths`. Their sum is 1 if
        no interval holds more levels.

    Raises:
        ValueError: as for `number_variance`, or `max_count` is no whole number.

    Example:
        >>> import jax.numpy as jnp
        >>> print(number_probabilities(jnp.arange(20.0), 1.25, max_count=2, period=20))
        [0.   0.75 0.25]

    References:
        Mehta (2004), Random Matrices, section 6.1; the theory is `laws.bulk_gap_probabilities`.
    """
    max_count = _checks.integer("max_count", max_count, at_least=0)
    return _averages("number_probabilities", levels, lengths, where, interval, period, max_count)


def _squared_deviation(window: Window, by: Float[Array, "b k"], lengths: Float[Array, " k"]) -> Float[Array, "b k"]:
    return by * (window.inside - lengths) ** 2


def _cubed_deviation(window: Window, by: Float[Array, "b k"], lengths: Float[Array, " k"]) -> Float[Array, "b k"]:
    return by * (window.inside - lengths) ** 3


def _each_count(
    max_count: int, window: Window, by: Float[Array, "b k"], _: Float[Array, " k"]
) -> Float[Array, "b k counts"]:
    return jnp.where(window.inside[..., None] == jnp.arange(max_count + 1), by[..., None], 0)


_MEASURES: dict[str, Measure] = {
    "number_variance": _squared_deviation,
    "number_skewness": _cubed_deviation,
    "rigidity": windows.least_squares,
}


def _averages(
    name: str, levels: Any, lengths: Any, where: Any, interval: Any, period: Any, max_count: int | None = None
) -> Array:
    """The averages of the measure of that name, for spectra and lengths of any shape."""
    spectra = checked(levels, where)
    sizes = _checks.real("lengths", lengths)
    valid = _LENGTHS.kept("lengths", sizes)
    part = stretch(spectra, interval, period)
    part.refuse_longer("lengths", sizes)
    spectra = part.on_circle(spectra)
    result = _batch(name, max_count, part, sizes.ravel().astype(spectra.values.dtype))
    shape = *part.number.shape, *sizes.shape, *(() if max_count is None else (max_count + 1,))
    return _checks.masked(valid, spectra.masked(result.reshape(shape), len(shape) - part.number.ndim))


@partial(compiled, static_argnums=(0, 1))
def _batch(name: str, max_count: int | None, part: Stretch, sizes: Float[Array, " k"]) -> Array:
    measure = _MEASURES[name] if max_count is None else partial(_each_count, max_count)

    part = part.flat
    count = part.levels.shape[1]
    start = part.start[..., None]
    if part.period is None:
        levels, last, events = part.levels, part.end[..., None] - sizes, 2 * count + 1
    else:
        # A level comes twice: before the first position, and when the window has gone round.
        levels, last, events = part.two_rounds, start + part.period + 0 * sizes, 3 * count + 1
    track = Track(jnp.pad(levels, ((0, 0), (0, 1)), constant_values=jnp.inf), start, last)
    result = windows.average(track, sizes, measure, events, with_sums=name == "rigidity")
    fits = (part.number[:, None] > 0) & (last > start)
    return jnp.where(fits.reshape(*fits.shape, *(1,) * (result.ndim - 2)), result, jnp.nan)
