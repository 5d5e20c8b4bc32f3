r"""Confidence intervals from the profile of a likelihood, for one parameter.

An interval holds the parameters θ that a test does not reject. With the differences
$\delta_i = \ell_i(\hat\theta) - \ell_i(\theta)$ of the log-likelihoods of the values, the test takes

$$W(\theta) = 2 \sum_i \delta_i\,\frac IJ \le t^2, \qquad I = \sum_i (\delta_i - \bar\delta)^2, \qquad
J = \frac{G}{G - 1} \sum_g (\delta_g - n_g \bar\delta)^2 .$$

Here $\delta_g$ is the sum over a group of $n_g$ values, and t is Student's quantile for G - 1 degrees of freedom. I and
J are the variances of the sum for independent values and for independent groups. Near the estimate the differences are
proportional to the slopes $u_i$, and I/J is the factor of Pace, Salvan and Sartori (2011, Statist. Sinica 21, 129,
section 3) for a likelihood that takes dependent values for independent ones. No derivative enters, so the interval
holds where the likelihood is far from quadratic: near an end of a crossover, a few small spacings decide.

Where the interval reaches an end of the range it has one side only; it then holds the truth more often than it says, by
up to half of the rest.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax.special.internal import bracketed_root


class Profile(AbstractModule):
    """A log-likelihood as a function of one parameter.

    Args:
        each: the function `each(parameter, data)` of a module, which gives the log-likelihoods of the values in groups,
            `(g, k)`.
        data: the second argument.
        grid: ascending parameters from one end of the range to the other.
        grouped: whether the values depend on each other inside of a group.
    """

    each: Callable[[Array, Any], Float[Array, "g k"]] = eqx.field(static=True)
    data: Any
    grid: tuple[float, ...] = eqx.field(static=True)
    grouped: bool = eqx.field(static=True)

    def points(self, dtype: np.dtype) -> Float[Array, " c"]:
        """The grid as an array."""
        return jnp.asarray(np.asarray(self.grid), dtype)


class OfLaw(NamedTuple):
    """The log-likelihoods of the values of `Groups`, 0 for those that do not count."""

    make: Callable[[Array], Any]

    def __call__(self, theta: Array, groups: Any) -> Float[Array, "g k"]:
        return jnp.where(groups.mask, self.make(theta).logpdf(groups.values), 0)


@compiled
def interval(profile: Profile, value: Float[Array, "*batch"], bound: float) -> tuple[Array, Array]:
    """The lower and the upper end of {W ≤ bound}, for the most likely parameter of each profile of a batch."""
    batch = value.ndim
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[batch:]), (profile, value))
    ends = jax.lax.map(lambda one: _interval(one[0], one[1], bound), flat)
    return ends[:, 0].reshape(value.shape), ends[:, 1].reshape(value.shape)


def _interval(profile: Profile, value: Float[Array, ""], bound: float) -> Float[Array, "2"]:
    points, place = profile.points(value.dtype), np.arange(len(profile.grid))
    accepted = _statistics(profile, value, points) <= bound
    below, above = points < value, points > value
    # The outermost accepted points of the grid; the next one outside is rejected, or there is none.
    first = jnp.min(jnp.where(accepted & below, place, jnp.sum(below)))
    last = jnp.max(jnp.where(accepted & above, place, place[-1] - jnp.sum(above)))
    at = lambda index: points[jnp.clip(index, 0, place[-1])]
    inner = jnp.stack([jnp.minimum(at(first), value), jnp.maximum(at(last), value)])
    outer = jnp.stack([at(first - 1), at(last + 1)])
    sign = jnp.asarray([-1.0, 1.0], value.dtype)
    rises = lambda theta: sign * (_statistics(profile, value, theta) - bound)
    ends = bracketed_root(rises, jnp.minimum(inner, outer), jnp.maximum(inner, outer))
    ends = jnp.where(jnp.stack([first == 0, last == place[-1]]), points[jnp.array([0, -1])], ends)
    return jnp.where(jnp.isnan(value), jnp.nan, ends)


def _statistics(profile: Profile, value: Float[Array, ""], theta: Float[Array, " c"]) -> Float[Array, " c"]:
    """W at some parameters."""
    at_value = profile.each(value, profile.data)

    def statistic(theta: Float[Array, ""]) -> Float[Array, ""]:
        differences = at_value - profile.each(theta, profile.data)
        twice = 2 * jnp.sum(differences)
        return twice / _inflation(differences, profile.data.mask) if profile.grouped else twice

    return jax.lax.map(statistic, theta)


def _inflation(values: Float[Array, "g k"], mask: Bool[Array, "g k"]) -> Float[Array, ""]:
    """J/I: the variance of the sum of values in groups over that of independent values; 1 if all are equal."""
    size = like(values, jnp.sum(mask, axis=-1))
    filled = like(values, jnp.sum(size > 0))
    mean = jnp.sum(jnp.where(mask, values, 0)) / jnp.maximum(jnp.sum(size), 1)
    deviations = jnp.where(mask, values - mean, 0)
    independent = jnp.sum(deviations**2)
    grouped = filled / jnp.maximum(filled - 1, 1) * jnp.sum(jnp.sum(deviations, axis=-1) ** 2)
    usable = (independent > 0) & (grouped > 0)
    return jnp.where(usable, jnp.where(usable, grouped, 1) / jnp.where(usable, independent, 1), 1)
