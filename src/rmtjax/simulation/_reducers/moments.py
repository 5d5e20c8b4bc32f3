"""Mean and variance of every entry of the draws."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree

from rmtjax._module import AbstractModule
from rmtjax.simulation._reducers.base import AbstractReducer, Draws, is_padded


class _Moment(NamedTuple):
    """Number, mean and sum of squared deviations of one entry."""

    count: Any
    mean: Any
    squares: Any

    def merged(self, other: "_Moment") -> "_Moment":
        """The moments of both together, by equations 1.5 of Chan, Golub and LeVeque."""
        count = self.count + other.count
        share = other.count / (count + (count == 0))
        shift = other.mean - self.mean
        squares = self.squares + other.squares + abs(shift) ** 2 * (self.count * share)
        return _Moment(count, self.mean + shift * share, squares)


def _is_moment(node: object) -> bool:
    return isinstance(node, _Moment)


class MomentsResult(AbstractModule):
    """Mean and variance of each entry of the draws; every field has the tree structure of a draw.

    Args:
        count: number of draws in which an entry was present.
        mean: sample means, float64 or complex128; NaN where the count is 0.
        variance: unbiased sample variances, E|x - mean|² for complex entries; NaN where the count is below 2.

    Example:
        >>> import numpy as np
        >>> result = MomentsResult(np.int64(100), np.float64(0.5), np.float64(4.0))
        >>> print(result.standard_error)
        0.2
    """

    count: PyTree
    mean: PyTree
    variance: PyTree

    @property
    def standard_error(self) -> PyTree:
        """Standard error of the mean, sqrt(variance / count)."""
        return jax.tree.map(lambda variance, count: np.sqrt(variance / count), self.variance, self.count)


class Moments(AbstractReducer):
    r"""Mean and variance of every entry over the draws.

    Batches are reduced on the device in two passes and merged by
    $\bar x = \bar x_a + \delta\,n_b/n$, $M = M_a + M_b + |\delta|^2 n_a n_b / n$, $\delta = \bar x_b - \bar x_a$,
    on the host in float64. Results for different batch sizes and device counts agree to the rounding of the dtype of
    the draws.

    Example:
        >>> import jax, rmtjax as rmt
        >>> trace = lambda key: rmt.GOE(4).sample(key).trace()
        >>> result = rmt.simulate(trace, jax.random.key(0), 1000, reduce=Moments())
        >>> print(result.count, bool(abs(result.mean) < 5 * result.standard_error))
        1000 True

    References:
        Chan, Golub and LeVeque (1983), The American Statistician 37, equations 1.5.
    """

    def init(self, draw: PyTree) -> PyTree:
        """Nothing counted, for each array of a draw."""

        def of_entry(leaf: Any) -> _Moment:
            # All entries of an array are present together, those of a padded one are not.
            values, count = (leaf.values, leaf.values.shape) if is_padded(leaf) else (leaf, ())
            dtype = np.complex128 if jnp.issubdtype(values.dtype, jnp.complexfloating) else np.float64
            return _Moment(np.zeros(count, np.int64), np.zeros(values.shape, dtype), np.zeros(values.shape))

        return jax.tree.map(of_entry, draw, is_leaf=is_padded)

    def update(self, state: PyTree, draws: Draws) -> PyTree:
        """The moments with these draws added."""

        def of_entry(before: _Moment, values: Array, mask: Bool[Array, "..."]) -> _Moment:
            values = values.astype(before.mean.dtype)
            count = jnp.sum(mask, axis=0, dtype=before.count.dtype).reshape(before.count.shape)
            mean = jnp.sum(jnp.where(mask, values, 0), axis=0) / jnp.maximum(count, 1)
            deviation = jnp.where(mask, jnp.abs(jnp.where(mask, values, 0) - mean), 0)
            return before.merged(_Moment(count, mean, jnp.sum(deviation**2, axis=0)))

        before, structure = jax.tree.flatten(state, is_leaf=_is_moment)
        after = [of_entry(each, *entry) for each, entry in zip(before, draws.entries(), strict=True)]
        return jax.tree.unflatten(structure, after)

    def merge(self, left: PyTree, right: PyTree) -> PyTree:
        """The moments of two sets of draws together."""
        return jax.tree.map(_Moment.merged, left, right, is_leaf=_is_moment)

    def finish(self, state: PyTree) -> MomentsResult:
        """Counts, means and unbiased variances."""
        field = lambda fn: jax.tree.map(fn, state, is_leaf=_is_moment)
        mean = lambda m: np.where(m.count > 0, m.mean, np.nan)[()]
        variance = lambda m: np.where(m.count > 1, m.squares / np.maximum(m.count - 1, 1), np.nan)[()]
        return MomentsResult(field(lambda m: m.count), field(mean), field(variance))
