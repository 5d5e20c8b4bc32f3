r"""The most likely value of one parameter, for all fits.

The likelihood is first taken on a grid, which finds the highest of several maxima. Between the neighbours of the best
point Newton's method looks for the zero of the slope, and bisects where it would leave the bracket. A maximum at an end
of the grid is reported as such.

The derivative with respect to the data comes from the implicit function, $d\hat\theta = -\partial_\theta dL/L''$.

Errors. With the information $I = -L''$ and the slopes $u_g$ of the likelihoods of G groups of values, the variance of
the estimate is $\frac{G}{G - 1} \sum_g u_g^2/I^2$. It holds for values that depend on each other inside of a group; for
independent values its mean is 1/I.
"""

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import TypeVar

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._module import AbstractModule
from rmtjax._promotion import common_dtype, like
from rmtjax._varying import varying_like
from rmtjax.inference._fits.profile import OfLaw, Profile, interval
from rmtjax.special.internal import student_multiple
from rmtjax.spectra import MaskedValues
from rmtjax.spectra.internal import first_for_rest

# The quantile of 95 % of χ² with one degree of freedom.
_SIGNIFICANT = 3.841459
# Errors come from at least this number of groups: fewer spectra are cut into blocks.
_GROUPS = 20

# The source of an error, see `Fit`.
Errors = Literal["spectra", "blocks", "information"]
FittedLaw = TypeVar("FittedLaw", default=Any)


class Fit(AbstractModule, Generic[FittedLaw]):
    """The most likely parameter of a law.

    Args:
        value: the estimate.
        standard_error: standard error of the estimate; NaN at a boundary, where only `interval` holds.
        log_likelihood: the logarithm of the likelihood of the estimate.
        law: the law with this parameter, or the ensemble if β is fitted to whole spectra.
        at_boundary: whether twice the logarithm of the likelihood ratio to an end of the range is below 3.84, the
            quantile of 95 % of χ². The data then bound the parameter from one side only.
        number: number of values.
        parameter: the name of the parameter.
        errors: the source of the error: "spectra", the spread of the slopes of the likelihood over independent spectra;
            "blocks", the same over blocks of neighbouring values; "information", the curvature of the likelihood.
        groups: the number of spectra or blocks.
        profile: the likelihood as a function of the parameter, for `interval`.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.simulate(rmt.GUE(50).eigenvalues, jax.random.key(0), 50)
        >>> fit = rmt.inference.fit_beta(levels)
        >>> print(fit.errors, fit.groups, bool(abs(fit.value - 2) < 4 * fit.standard_error))
        spectra 50 True
    """

    value: Float[Array, ""]
    standard_error: Float[Array, ""]
    log_likelihood: Float[Array, ""]
    law: FittedLaw
    at_boundary: Bool[Array, ""]
    number: Int[Array, ""]
    parameter: str = eqx.field(static=True)
    errors: Errors = eqx.field(static=True)
    groups: int = eqx.field(static=True)
    profile: Profile = eqx.field(repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[Float[Array, ""], Float[Array, ""]]:
        r"""The confidence interval of the parameters whose likelihood is not significantly smaller.

        Twice the difference of the log-likelihoods is compared with $t^2$, for Student's quantile t with `groups` - 1
        degrees of freedom, or for a normal t if the error comes from the information. The spread of the slopes over
        groups accounts for values that depend on each other. The interval is not symmetric, and it holds where the
        likelihood is far from quadratic. It has one side only where it reaches an end of the range, and holds the truth
        more often there than it says: with a probability of up to (1 + `confidence`)/2.

        Args:
            confidence: probability that the interval holds the true value, between 0 and 1; static.

        Returns:
            The lower and the upper end.

        References:
            Pace, Salvan and Sartori (2011), Statist. Sinica 21, 129, section 3, for the scale of the statistic.
        """
        freedom = self.groups - 1 if self.errors != "information" else 10**9
        return interval(self.profile, self.value, student_multiple(confidence, freedom) ** 2)


class Groups(AbstractModule):
    """Values in groups that are nearly independent of each other, one in each row, and which of them count."""

    values: Float[Array, "g k"]
    mask: Bool[Array, "g k"]


def grouped(values: MaskedValues) -> tuple[Groups, Errors]:
    """Values of the spectra of a batch, or of blocks of these spectra, and which of the two.

    Raises:
        ValueError: there are no values.
    """
    if values.values.size == 0:
        raise _checks.refusal("levels", str(_KEPT.must), 0)
    array, mask = _in_rows(first_for_rest(values.values, values.mask)), _in_rows(values.mask)
    if not isinstance(mask, Tracer) and not (filled := np.asarray(mask).any(-1)).all() and filled.any():
        array, mask = array[filled], mask[filled]  # leave out spectra without any value
    spectra, size = array.shape
    blocks = min(-(-_GROUPS // spectra), size)
    if spectra >= _GROUPS or blocks < 2:
        return Groups(array, mask), "spectra"
    length = -(-size // blocks)
    return Groups(_cut(array, blocks, length), _cut(mask, blocks, length)), "blocks"


@on_automatic_axes
def _in_rows(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


@on_automatic_axes
def _cut(rows: Array, blocks: int, length: int) -> Array:
    """Each row cut into blocks of this length, the last one filled up with zeros."""
    return jnp.pad(rows, ((0, 0), (0, blocks * length - rows.shape[-1]))).reshape(-1, length)


_KEPT = _checks.Rule(lambda mask: mask.sum() >= 2, "leave at least 2 values that count", lambda mask: f"{mask.sum()}")
_POSITIVE = _checks.Rule(
    lambda values, mask: ((values > 0) | ~mask).all(),
    "differ from their neighbours, as a continuous law does not give equal ones",
    lambda values, mask: (
        f"{((values <= 0) & mask).sum()} spacings or ratios of 0; the mask of a `Spectrum` leaves levels out"
    ),
)


def _mean(values: Any, mask: Any) -> Any:
    return values.sum(where=mask) / mask.sum(dtype=values.dtype).clip(1)


def _unfolded(values: Any, mask: Any) -> Any:
    """Whether the mean a of m spacings is nearly 1, or could be by chance for independent spacings of mean 1.

    By Chernoff's bound the probability is at most exp(-m (a - 1 - log a)).
    """
    mean, number = _mean(values, mask), mask.sum(dtype=values.dtype)
    xp = np if isinstance(values, np.ndarray) else jnp
    far = number * (mean - 1 - xp.log(xp.where(mean > 0, mean, 1)))
    return (far <= _FARTHEST) | (abs(mean - 1) <= _NEARLY) | (mean <= 0)


# The chance is e⁻³⁶, the rounding unit of float64, as for statistics of unfolded levels.
_FARTHEST = -math.log(sys.float_info.epsilon)
# Any number of spacings may have this distance, by which the limiting density misses the density of small matrices.
_NEARLY = 0.02
_UNFOLDED = _checks.Rule(
    _unfolded,
    "have a mean spacing of 1 for a fit of spacings, as `statistics.unfold` and `statistics.unfold_polynomial` give it",
    lambda values, mask: f"{_mean(values, mask):.3g}",
)


def usable(groups: Groups, *, spacings: bool = False) -> Any:
    """Whether there are two values or more, all positive, and of mean 1 if they are spacings.

    Raises:
        ValueError: it is known that this does not hold.
    """
    kept = _KEPT.kept("levels", groups.mask)
    kept = _checks.all_kept(kept, _POSITIVE.kept("levels", groups.values, groups.mask))
    return _checks.all_kept(kept, _UNFOLDED.kept("levels", groups.values, groups.mask)) if spacings else kept


def most_likely(
    make: Callable[[Array], Any],
    groups: Groups,
    grid: tuple[float, ...],
    *,
    parameter: str,
    errors: Errors,
    by_differences: bool = False,
) -> Fit:
    """The fit of a law `make(parameter)` to values; inside of a compiled program.

    Args:
        make: a class, or a function of a module.
        groups: the values.
        grid: ascending parameters from one end of the range to the other.
        parameter: name of the parameter.
        errors: what the groups are.
        by_differences: whether slopes are differences, for laws whose derivatives are a large program.
    """
    # Values that do not count become one in the middle of every law, which gives no NaN.
    groups = Groups(jnp.where(groups.mask, groups.values, 0.5), groups.mask)
    profile = Profile(OfLaw(make), groups, grid, grouped=True)
    found = maximum(profile, by_differences=by_differences)
    # Groups without values do not count.
    filled = like(found.slopes, jnp.sum(groups.mask.any(-1)))
    spread = jnp.sqrt(filled / jnp.maximum(filled - 1, 1) * jnp.sum(found.slopes**2))
    return Fit(
        value=found.place,
        standard_error=jnp.where(~found.at_boundary & (filled > 1), spread / -found.curvature, jnp.nan),
        log_likelihood=found.total,
        law=make(found.place),
        at_boundary=found.at_boundary,
        number=jnp.sum(groups.mask),
        parameter=parameter,
        errors=errors,
        groups=groups.values.shape[0],
        profile=profile,
    )


class Maximum(NamedTuple):
    """The place of the largest sum, the slopes of the terms there, the curvature and the sum."""

    place: Float[Array, ""]
    at_boundary: Bool[Array, ""]
    slopes: Float[Array, " g"]
    curvature: Float[Array, ""]
    total: Float[Array, ""]


def maximum(profile: Profile, *, by_differences: bool = False) -> Maximum:
    """The largest likelihood over the interval of the grid, whose place is differentiable in the data."""
    each, data = _of_groups(profile.each), profile.data
    fixed = jax.lax.stop_gradient(data)
    dtype = common_dtype(*(leaf for leaf in jax.tree.leaves(data) if jnp.issubdtype(leaf.dtype, jnp.floating)))
    points = profile.points(dtype)
    heights = jax.lax.map(lambda theta: jnp.sum(each(theta, fixed)), points)
    best = jnp.argmax(jnp.where(jnp.isfinite(heights), heights, -jnp.inf))
    last = points.size - 1
    start = points[jnp.maximum(best - 1, 0)], points[jnp.minimum(best + 1, last)]
    # The ends of the range may have no slope.
    first = jnp.where((best == 0) | (best == last), (start[0] + start[1]) / 2, points[best])
    eps = float(jnp.finfo(dtype).eps)
    tolerance = eps**0.5 if by_differences else 4 * eps
    taylor = _by_differences if by_differences else _by_derivatives

    def unfinished(state: tuple) -> Array:
        return (jnp.abs(state[3]) > tolerance * jnp.abs(state[2])) & (state[4] < 60)

    def improve(state: tuple) -> tuple:
        lower, upper, theta, _, turn, *_ = state
        values, slopes, bends = taylor(partial(_swapped, each, fixed), theta)
        rise, bend = jnp.sum(slopes), jnp.sum(bends)
        lower, upper = jnp.where(rise > 0, theta, lower), jnp.where(rise > 0, upper, theta)
        newton = theta - rise / jnp.where(bend < 0, bend, 1)
        # A step of rounding alone may leave the bracket.
        done = (bend < 0) & (jnp.abs(newton - theta) <= tolerance * jnp.abs(theta))
        good = done | ((bend < 0) & (newton > lower) & (newton < upper))
        following = jnp.where(good, newton, (lower + upper) / 2)
        return lower, upper, following, following - theta, turn + 1, slopes, bend, jnp.sum(values)

    slope = jax.eval_shape(each, first, fixed)
    none = jnp.zeros((), slope.dtype)
    begin = jnp.full((), jnp.inf, dtype), jnp.zeros(slope.shape, slope.dtype), none, none
    step, *nothing = varying_like(begin, heights)
    state = jax.lax.while_loop(unfinished, improve, (*start, first, step, 0, *nothing))
    theta, (slopes, curvature, total) = state[2], state[5:]
    # Bisection towards an end halves the distance to it, at most 60 times.
    near = 1e-4 * (start[1] - start[0])
    at_lower, at_upper = (best == 0) & (theta - points[0] < near), (best == last) & (points[last] - theta < near)
    inside = ~(at_lower | at_upper)
    place = _implicit(each, theta, jnp.where(inside, curvature, -jnp.inf), data)
    place = jnp.where(at_lower, points[0], jnp.where(at_upper, points[last], place))
    total = jnp.where(inside, total, heights[best])
    loss = total - jnp.maximum(heights[0], heights[last])
    return Maximum(place, ~inside | (2 * loss <= _SIGNIFICANT), slopes, curvature, total)


def _of_groups(each: Callable[[Array, Any], Array]) -> Callable[[Array, Any], Array]:
    return lambda theta, data: jnp.sum(each(theta, data), axis=-1)


def _swapped(each: Callable[[Array, Any], Array], data: Any, theta: Array) -> Array:
    return each(theta, data)


def _by_derivatives(fn: Callable[[Array], Array], theta: Array) -> tuple[Array, Array, Array]:
    """A function of one number with its first and second derivative; forward mode is the smaller program."""
    one = jnp.ones_like(theta)
    rising = lambda theta: jax.jvp(fn, (theta,), (one,))
    (values, slopes), (_, bends) = jax.jvp(rising, (theta,), (one,))
    return values, slopes, bends


def _by_differences(fn: Callable[[Array], Array], theta: Array) -> tuple[Array, Array, Array]:
    """A function of one number with two derivatives by differences, from three points in one program."""
    # With this step the error of the second difference is √eps, from rounding and from the fourth derivative.
    step = theta * float(jnp.finfo(theta.dtype).eps) ** 0.25
    below, values, above = jax.lax.map(fn, theta + step * jnp.asarray([-1.0, 0.0, 1.0], theta.dtype))
    return values, (above - below) / (2 * step), (above - 2 * values + below) / step**2


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _implicit(each: Callable[[Array, Any], Array], theta: Array, curvature: Array, data: Any) -> Array:
    """The place of the maximum, with the derivative of the implicit function."""
    return theta


@_implicit.defjvp
def _implicit_jvp(each: Callable[[Array, Any], Array], primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    theta, curvature, data = primals
    rise = lambda data: jax.jvp(lambda theta: jnp.sum(each(theta, data)), (theta,), (jnp.ones_like(theta),))[1]
    _, change = jax.jvp(rise, (data,), (tangents[2],))
    return theta, -change / curvature
