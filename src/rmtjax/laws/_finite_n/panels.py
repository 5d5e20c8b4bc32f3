"""Where the tails of a level density begin, and the panels of a quadrature between them and through them."""

import functools

import numpy as np

from rmtjax.laws._finite_n.orthogonal_polynomials import REACH, ClassicalEnsemble, decay, log_density
from rmtjax.special.internal import HermiteWeight

# The tails begin where the density has fallen by e^-27, or before the first oscillation at a hard edge.
_OUTSIDE = 27.0
_HARD = 1 / 16
# In a panel φ has no more phase than 2π or the density no more decay than e^-3, and it is at most a third of the
# bulk: the series ends below 1e-14.
_PHASE, _DECAY, _PARTS = 2 * np.pi, 3.0, 3
# Beyond this the density is no number of float64.
_NOTHING = -740.0


def bounds(ensemble: ClassicalEnsemble) -> tuple[float, float]:
    """Where the tails begin, in the variable of the weight."""
    reflected = ensemble.reflected()
    if reflected is None:
        return lower_bound(ensemble), _soft_bound(ensemble)
    if isinstance(ensemble.weight, HermiteWeight):
        upper = _soft_bound(ensemble)
        return -upper, upper
    return lower_bound(ensemble), 1 - lower_bound(reflected)


def _turning_points(ensemble: ClassicalEnsemble) -> np.ndarray:
    return np.sort(np.roots(ensemble.weight.well(ensemble.degree)[::-1]).real)


def _soft_bound(ensemble: ClassicalEnsemble) -> float:
    """Where the density has fallen by e^-27 above the upper turning point, by the semiclassical exponent."""
    lower, upper = _turning_points(ensemble)
    x = upper + (upper - lower) * np.geomspace(1e-9, 1e5, 6000)
    return float(np.interp(_OUTSIDE, _cumulative(x, decay(ensemble, np, x)), x))


def lower_bound(ensemble: ClassicalEnsemble) -> float:
    """The same below the lower turning point, or the place of a hard edge."""
    turning = max(_turning_points(ensemble)[0], 0.0)
    # Near 0 the phase is 2√(x · slope of the well).
    hard = _HARD / ensemble.weight.well(ensemble.degree)[1]
    if turning <= hard:
        return hard
    x = turning - (turning - 1e-3 * hard) * np.geomspace(1e-9, 1, 6000)
    return max(hard, float(np.interp(_OUTSIDE, _cumulative(-x, decay(ensemble, np, x)), x)))


def is_hard(ensemble: ClassicalEnsemble) -> bool:
    """Whether the lower bound is that of a hard edge, so that the density there is a power times a smooth function."""
    return lower_bound(ensemble) == _HARD / ensemble.weight.well(ensemble.degree)[1]


def _cumulative(x: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(np.diff(x) * (rate[1:] + rate[:-1]) / 2))


def panels(ensemble: ClassicalEnsemble) -> np.ndarray:
    """Ends of the panels from tail to tail."""
    first, last = bounds(ensemble)
    lower, upper = ensemble.weight.ends
    constant, linear, quadratic = ensemble.weight.well(ensemble.degree)
    spread = (1 - np.cos(np.linspace(0, np.pi, 40 * ensemble.degree + 4000))) / 2
    middle = [first + (last - first) * spread]
    # Near a hard edge the panels shrink towards it.
    middle += [first * (last / first) ** spread] if lower == 0 else []
    middle += [1 - (1 - last) * ((1 - first) / (1 - last)) ** spread] if upper == 1 else []
    x = np.unique(np.clip(np.concatenate(middle), first, last))
    well = constant + x * (linear + x * quadratic)
    unit = np.where(well > 0, 1 / _PHASE, ensemble.multiplicity / _DECAY)
    rate = np.sqrt(np.abs(well)) / ensemble.weight.factor(x)[0] * unit + 1 / (x - lower) + 1 / (upper - x)
    rate += _PARTS / np.ptp(_turning_points(ensemble))
    cumulative = _cumulative(x, rate)
    return np.interp(np.linspace(0, cumulative[-1], int(cumulative[-1]) + 2), cumulative, x)


@functools.cache
def ladder(ensemble: ClassicalEnsemble, upper: bool) -> np.ndarray:
    """Ends of panels through a tail in steps of e^-40, to a hard edge or to where the density is 0 in float64."""
    reflected = ensemble.reflected()
    if reflected is not None and upper != isinstance(ensemble.weight, HermiteWeight):
        return ensemble.reflect(ladder(reflected, not upper))
    points = [bounds(ensemble)[upper]]
    while log_density(ensemble, np, np.array(points[-1])) > _NOTHING:
        rate = float(decay(ensemble, np, np.array(points[-1])))
        if not upper and rate * points[-1] <= REACH:
            break
        points.append(points[-1] + (REACH / rate if upper else -REACH / rate))
    return np.array(points if upper else [*points, 0.0])
