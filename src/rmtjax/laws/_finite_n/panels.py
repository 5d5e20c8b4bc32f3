"""Where the tails of a level density begin, and the panels of a quadrature between the tails and through them."""

import functools

import numpy as np

from rmtjax.laws._finite_n.orthogonal_polynomials import REACH, ClassicalEnsemble, Side, decay, log_density

# A soft tail begins where the density has fallen by e^-27; the panel at a hard edge ends before the first oscillation.
_OUTSIDE = 27.0
_HARD = 1 / 16
# Within a panel the phase of φ changes by at most 2π, or the density falls by at most e^-3, and the panel is at most a
# third of the bulk. Then the terms of the series fall below 1e-14.
_PHASE, _DECAY, _PARTS = 2 * np.pi, 3.0, 3
# A tail ends where the logarithm of the density is below this number, near the smallest float64.
_NOTHING = -740.0


def bound(ensemble: ClassicalEnsemble, side: Side) -> float:
    """The point where the tail on this side begins, in the variable of the weight."""
    mirror = ensemble.mirror(side)
    if mirror is not None:
        return ensemble.reflect(bound(mirror, side.opposite))
    return lower_bound(ensemble) if side is Side.LOWER else _soft_bound(ensemble)


def _turning_points(ensemble: ClassicalEnsemble) -> np.ndarray:
    return np.sort(np.roots(ensemble.weight.well(ensemble.degree)[::-1]).real)


def _soft_bound(ensemble: ClassicalEnsemble) -> float:
    """The point above the upper turning point where, by the semiclassical exponent, the density has fallen by e^-27."""
    lower, upper = _turning_points(ensemble)
    x = upper + (upper - lower) * np.geomspace(1e-9, 1e5, 6000)
    return float(np.interp(_OUTSIDE, _cumulative(x, decay(ensemble, np, x)), x))


def lower_bound(ensemble: ClassicalEnsemble) -> float:
    """The point where the density below the bulk has fallen by e^-27, or where the panel at a hard edge ends."""
    turning = max(_turning_points(ensemble)[0], 0.0)
    # Near 0 the phase is 2√(x · slope of the well).
    hard = _HARD / ensemble.weight.well(ensemble.degree)[1]
    if turning <= hard:
        return hard
    x = turning - (turning - 1e-3 * hard) * np.geomspace(1e-9, 1, 6000)
    return max(hard, float(np.interp(_OUTSIDE, _cumulative(-x, decay(ensemble, np, x)), x)))


def is_hard(ensemble: ClassicalEnsemble) -> bool:
    """Whether the lower end is a hard edge, near which the density is a power times a smooth function."""
    return ensemble.weight.ends[0] == 0 and lower_bound(ensemble) == _HARD / ensemble.weight.well(ensemble.degree)[1]


def _cumulative(x: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(np.diff(x) * (rate[1:] + rate[:-1]) / 2))


def panels(ensemble: ClassicalEnsemble) -> np.ndarray:
    """The ends of the panels between the tails."""
    first, last = (bound(ensemble, side) for side in Side)
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
def ladder(ensemble: ClassicalEnsemble, side: Side) -> np.ndarray:
    """The ends of panels through a tail in steps of e^-40, to a hard edge or to where the density is 0 in float64."""
    mirror = ensemble.mirror(side)
    if mirror is not None:
        return ensemble.reflect(ladder(mirror, side.opposite))
    points = [bound(ensemble, side)]
    while log_density(ensemble, np, np.array(points[-1])) > _NOTHING:
        rate = float(decay(ensemble, np, np.array(points[-1])))
        if side is Side.LOWER and rate * points[-1] <= REACH:
            break
        points.append(points[-1] + side.sign * REACH / rate)
    return np.array(points if side is Side.UPPER else [*points, 0.0])
