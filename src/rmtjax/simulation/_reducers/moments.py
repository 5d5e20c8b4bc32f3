"""Mean and variance, and optionally skewness and kurtosis, of every entry of the draws."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from rmtjax import _checks
from rmtjax._typing import PyTree
from rmtjax.simulation._reducers._rounding import centred, common, rounded, two_sum
from rmtjax.simulation._reducers.base import AbstractReducer, Draws, is_padded
from rmtjax.simulation._reducers.moments_result import MomentsResult


class _Moment(NamedTuple):
    """Central moments of one array of the draws, not divided by the number of draws, in a unit of each entry.

    Args:
        count: number of draws.
        unit: a power of two near the largest modulus of the draws; 0 for zeros alone.
        mean: the mean, rounded.
        rest: the rounding error of the mean.
        sums: sums of the second, and for order 4 the third and fourth, powers of the deviations from the mean.
    """

    count: Any
    unit: Any
    mean: Any
    rest: Any
    sums: tuple

    def merged(self, other: "_Moment") -> "_Moment":
        """The moments of both together: deviations from the common mean are deviations from either mean, shifted."""
        unit, *ratios = common(self.unit, other.unit)
        self, other = (each._in_unit(unit, ratio) for each, ratio in zip((self, other), ratios, strict=True))
        count = self.count + other.count
        share = lambda each: each.count / (count + (count == 0).astype(count.dtype))
        ours, theirs = (share(each).astype(self.mean.dtype) for each in (self, other))
        shift = (other.mean - self.mean) + (other.rest - self.rest)
        mean, rest = two_sum(self.mean, (other.mean - self.mean) * theirs)
        sums = zip(self._shifted(-shift * theirs), other._shifted(shift * ours), strict=True)
        rest = rest + self.rest + (other.rest - self.rest) * theirs
        return _Moment(count, unit, mean, rest, tuple(a + b for a, b in sums))

    def _in_unit(self, unit: Any, ratio: Any) -> "_Moment":
        """The same moments in a larger unit; the ratio is the old unit over the new one."""
        sums = tuple(total * ratio ** (k + 2) for k, total in enumerate(self.sums))
        ratio = ratio.astype(self.mean.dtype)
        return _Moment(self.count, unit, self.mean * ratio, self.rest * ratio, sums)

    def _shifted(self, by: Any) -> tuple:
        """The sums for deviations that all grow by the same number."""
        count = self.count.astype(self.sums[0].dtype)
        if len(self.sums) == 1:
            return (self.sums[0] + count * abs(by) ** 2,)
        second, third, fourth = self.sums
        return (
            second + count * by**2,
            third + by * (3 * second + count * by**2),
            fourth + by * (4 * third + by * (6 * second + count * by**2)),
        )


def _is_moment(node: object) -> bool:
    return isinstance(node, _Moment)


class _State(NamedTuple):
    """The number of draws, and the moments of each array of a draw."""

    draws: Any
    moments: PyTree


class Moments(AbstractReducer):
    r"""Mean and variance of every entry over the draws, and optionally skewness and kurtosis.

    The devices sum powers of the deviations from the mean of a batch, so that a mean far from 0 costs no digits.
    Batches are merged by $\bar x = \bar x_a + \delta\,n_b/n$ and $M = M_a + M_b + |\delta|^2 n_a n_b / n$ with
    $\delta = \bar x_b - \bar x_a$, and by similar formulas for third and fourth powers. Results for different batch
    sizes and device counts agree to the rounding of the dtype of the draws. The host merges in float64.

    Args:
        order: 2 for mean and variance, 4 for skewness, kurtosis and the standard error of the variance as well.

    Raises:
        ValueError: the order is 4, and `fn` returns complex values.

    Example:
        >>> import jax, rmtjax as rmt
        >>> trace = lambda key: rmt.GOE(4).sample(key).trace()
        >>> result = rmt.simulate(trace, jax.random.key(0), 1000, reduce=Moments())
        >>> print(result.count, bool(abs(result.mean) < 5 * result.standard_error))
        1000 True

    References:
        Chan, Golub and LeVeque (1983), The American Statistician 37, 242; Pébay, Terriberry, Kolla and Bennett (2016),
        Computational Statistics 31, 1305, for higher powers.
    """

    order: Literal[2, 4] = eqx.field(static=True)

    def __init__(self, order: Literal[2, 4] = 2):
        self.order = _checks.choice("order", order, Literal[2, 4])

    def init(self, draw: PyTree) -> _State:

        def of_entry(leaf: Any) -> _Moment:
            # All entries of an array are present in every draw; entries of a padded array are not.
            values, count = (leaf.values, leaf.values.shape) if is_padded(leaf) else (leaf, ())
            is_complex = jnp.issubdtype(values.dtype, jnp.complexfloating)
            if is_complex and self.order > 2:
                raise _checks.refusal("fn", "return real values for moments of order 4", values.dtype.name)
            real = np.zeros(values.shape)
            mean = real.astype(np.complex128) if is_complex else real
            return _Moment(np.zeros(count, np.int64), real, mean, mean, (real,) * (self.order - 1))

        return _State(np.int64(0), jax.tree.map(of_entry, draw, is_leaf=is_padded))

    def update(self, state: _State, draws: Draws) -> _State:
        before, structure = jax.tree.flatten(state.moments, is_leaf=_is_moment)
        entries = zip(before, draws.entries(), strict=True)
        after = [moment.merged(_of_batch(moment, *entry)) for moment, entry in entries]
        number = jnp.sum(draws.valid, dtype=state.draws.dtype)
        return _State(state.draws + number, jax.tree.unflatten(structure, after))

    def merge(self, left: _State, right: _State) -> _State:
        with np.errstate(invalid="ignore"):  # Infinite values have no variance.
            merged = jax.tree.map(_Moment.merged, left.moments, right.moments, is_leaf=_is_moment)
        return _State(left.draws + right.draws, merged)

    def finish(self, state: _State) -> MomentsResult:
        of_each = lambda fn: jax.tree.map(fn, state.moments, is_leaf=_is_moment)
        result = of_each(lambda m: m.count), of_each(_mean), of_each(_variance)
        shape = (of_each(_skewness), of_each(_kurtosis)) if self.order > 2 else (None, None)
        return MomentsResult(*result, *shape, draws=int(state.draws))


def _of_batch(like: _Moment, values: Array, mask: Bool[Array, "..."]) -> _Moment:
    """The moments of a batch, in three passes: the mean, its rounding error, and the powers of the deviations."""
    # Values outside of the mask may be NaN.
    values, rest_of_values = rounded(jnp.where(mask, values, jnp.zeros_like(values)), like.mean.dtype)
    count = jnp.sum(mask, axis=0, dtype=like.count.dtype).reshape(like.count.shape)
    deviation, mean, rest, unit = centred(values, mask, count, rest_of_values)
    powers = [jnp.abs(deviation) ** 2] if len(like.sums) == 1 else [deviation**k for k in (2, 3, 4)]
    return _Moment(count, unit, mean, rest, tuple(jnp.sum(power, axis=0) for power in powers))


def _divided(numerator: Any, denominator: Any) -> Any:
    """Quotients, NaN where the denominator is 0."""
    denominator = np.asarray(denominator)
    return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1), np.nan)[()]


def _mean(moment: _Moment) -> Any:
    return np.where(moment.count > 0, (moment.mean + moment.rest) * moment.unit, np.nan)[()]


def _variance(moment: _Moment) -> Any:
    return _divided(moment.sums[0], moment.count - 1) * moment.unit * moment.unit


def _skewness(moment: _Moment) -> Any:
    return _divided(moment.sums[1] * np.sqrt(moment.count), moment.sums[0] ** 1.5)


def _kurtosis(moment: _Moment) -> Any:
    return _divided(moment.sums[2] * moment.count, moment.sums[0] ** 2) - 3
