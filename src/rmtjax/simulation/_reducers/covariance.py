"""Covariances and correlations of the entries of the draws."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree
from rmtjax.simulation._reducers._rounding import centred, common, rounded, two_sum
from rmtjax.simulation._reducers.base import AbstractReducer, Draws, is_padded


class CovarianceResult(AbstractModule):
    """Means, covariances and correlations of the d entries of a draw, with standard errors.

    Args:
        mean: sample means.
        covariance: unbiased sample covariances; NaN for fewer than two draws.
        standard_error: standard errors of the covariances.
        correlation: sample correlations; NaN for a constant entry.
        correlation_standard_error: standard errors of the correlations, to first order in 1/draws.
        draws: number of draws.

    Example:
        >>> import numpy as np
        >>> one = np.eye(2)
        >>> result = CovarianceResult(np.zeros(2), 4 * one, 0.1 * one, one, 0 * one, draws=100)
        >>> print(result.mean_standard_error)
        [0.2 0.2]
    """

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    standard_error: Float[np.ndarray, "d d"]
    correlation: Float[np.ndarray, "d d"]
    correlation_standard_error: Float[np.ndarray, "d d"]
    draws: int

    @property
    def mean_standard_error(self) -> Float[np.ndarray, " d"]:
        """Standard errors of the means."""
        return np.sqrt(np.diag(self.covariance) / self.draws)


class _State(NamedTuple):
    """Central moments of all pairs of entries x and y, not divided by the number of draws, in a unit of each entry.

    Args:
        draws: number of draws.
        unit: a power of two near the largest modulus of each entry; 0 for zeros alone.
        mean: the means, rounded.
        rest: the rounding errors of the means.
        xy: sums of xy, for deviations x and y from the means.
        xxy: sums of x²y.
        xxyy: sums of x²y².
        xxxy: sums of x³y.
    """

    draws: Any
    unit: Any
    mean: Any
    rest: Any
    xy: Any
    xxy: Any
    xxyy: Any
    xxxy: Any

    def merged(self, other: "_State") -> "_State":
        """The moments of both together: deviations from the common mean are deviations from either mean, shifted."""
        unit, *ratios = common(self.unit, other.unit)
        self, other = (each._in_unit(unit, ratio) for each, ratio in zip((self, other), ratios, strict=True))
        draws = self.draws + other.draws
        ours, theirs = (each.draws / (draws + (draws == 0).astype(draws.dtype)) for each in (self, other))
        shift = (other.mean - self.mean) + (other.rest - self.rest)
        mean, rest = two_sum(self.mean, (other.mean - self.mean) * theirs)
        rest = rest + self.rest + (other.rest - self.rest) * theirs
        sums = zip(self._shifted(-shift * theirs), other._shifted(shift * ours), strict=True)
        return _State(draws, unit, mean, rest, *(a + b for a, b in sums))

    def _in_unit(self, unit: Any, ratio: Any) -> "_State":
        """The same moments in larger units; the ratios are the old units over the new ones."""
        u, v = ratio[:, None], ratio[None, :]
        sums = self.xy * u * v, self.xxy * u**2 * v, self.xxyy * u**2 * v**2, self.xxxy * u**3 * v
        return _State(self.draws, unit, self.mean * ratio, self.rest * ratio, *sums)

    def _shifted(self, by: Any) -> tuple:
        """The sums for deviations that all grow by the same vector: (x + u)²(y + v) and so on, multiplied out."""
        u, v, size = by[:, None], by[None, :], self.draws.astype(by.dtype)
        xy, xxy, xyy = self.xy, self.xxy, self.xxy.T
        variances = xy.diagonal()
        xx, yy, xxx = variances[:, None], variances[None, :], xxy.diagonal()[:, None]
        return (
            xy + size * u * v,
            xxy + 2 * u * xy + v * xx + size * u**2 * v,
            self.xxyy + 2 * v * xxy + 2 * u * xyy + v**2 * xx + u**2 * yy + 4 * u * v * xy + size * u**2 * v**2,
            self.xxxy + v * xxx + 3 * u * xxy + 3 * u * v * xx + 3 * u**2 * xy + size * u**3 * v,
        )


class Covariance(AbstractReducer):
    r"""Covariances of all pairs of entries of a draw, with standard errors.

    The arrays that the function returns form one vector of d entries, in the order of `jax.tree.leaves`; `Part` chooses
    some of them. The state holds four d×d matrices.

    The covariance $c_{xy}$ has the standard error of a mean of products of deviations. The standard error of the
    correlation r follows from the moments $\mu_{ab}$ of the standardised entries, in which r is linearised, by
    $m \operatorname{var} r = \mu_{22} + \tfrac14 r^2 (\mu_{40} + \mu_{04} + 2\mu_{22}) - r (\mu_{31} + \mu_{13})$.

    Raises:
        ValueError: the function returns complex values, or a `Spectrum` or `PaddedMatrix`, whose entries some draws
            lack.

    Example:
        >>> import jax, rmtjax as rmt
        >>> ends = lambda key: rmt.GOE(4).eigenvalues(key)[jax.numpy.array([0, 3])]
        >>> result = rmt.simulate(ends, jax.random.key(0), 1000, reduce=Covariance())
        >>> print(result.correlation.shape, bool(abs(result.covariance[0, 1]) < 0.2))
        (2, 2) True

    References:
        Pébay, Terriberry, Kolla and Bennett (2016), Computational Statistics 31, 1305, for merging; Stuart and Ord
        (1994), Kendall's Advanced Theory of Statistics 1, chapter 10, for the variance of r.
    """

    def init(self, draw: PyTree) -> _State:
        size = 0
        for leaf in jax.tree.leaves(draw, is_leaf=is_padded):
            if is_padded(leaf):
                must = "return arrays without padding for covariances (`Part` chooses a part)"
                raise _checks.refusal("fn", must, type(leaf).__name__)
            if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise _checks.refusal("fn", "return real values for covariances", leaf.dtype.name)
            size += math.prod(leaf.shape)
        return _State(np.int64(0), *(np.zeros(size),) * 3, *(np.zeros((size, size)),) * 4)

    def update(self, state: _State, draws: Draws) -> _State:
        valid = draws.valid[:, None]
        flat = [leaf.reshape(len(draws.index), -1) for leaf in jax.tree.leaves(draws.values)]
        parts = [rounded(jnp.where(valid, leaf, jnp.zeros_like(leaf)), state.mean.dtype) for leaf in flat]
        values = jnp.concatenate([nearest for nearest, _ in parts], axis=1)
        rests = [jnp.zeros_like(nearest) if rest is None else rest for nearest, rest in parts]
        rest = None if all(rest is None for _, rest in parts) else jnp.concatenate(rests, axis=1)
        number = jnp.sum(draws.valid, dtype=state.draws.dtype)
        x, mean, rest, unit = centred(values, valid, number, rest)
        sums = [_products(a, b) for a, b in ((x, x), (x**2, x), (x**2, x**2), (x**3, x))]
        return state.merged(_State(number, unit, mean, rest, *sums))

    def merge(self, left: _State, right: _State) -> _State:
        with np.errstate(invalid="ignore"):  # Infinite values have no variance.
            return left.merged(right)

    def finish(self, state: _State) -> CovarianceResult:
        size, mean = int(state.draws), (state.mean + state.rest) * state.unit
        if size < 2:
            unknown = np.full(state.xy.shape, np.nan)
            return CovarianceResult(mean, unknown, unknown, unknown, unknown, size)
        error = np.sqrt(np.maximum(state.xxyy - state.xy**2 / size, 0) / (size - 1) / size)
        deviation = np.sqrt(state.xy.diagonal() / size)
        deviation = np.where(deviation > 0, deviation, np.nan)
        x, y = deviation[:, None], deviation[None, :]
        with np.errstate(invalid="ignore"):
            r, fourth = state.xy / size / (x * y), state.xxyy.diagonal() / size / deviation**4
            both, left = state.xxyy / size / (x * y) ** 2, state.xxxy / size / (x**3 * y)
        variance = both + r**2 / 4 * (fourth[:, None] + fourth + 2 * both) - r * (left + left.T)
        of_correlation = np.sqrt(np.maximum(variance, 0) / size)
        # An entry has the correlation 1 with itself. The square root would make the rounding error of its error large.
        np.fill_diagonal(of_correlation, 0 * deviation)
        scaled = lambda products: products * state.unit[:, None] * state.unit[None, :]
        return CovarianceResult(mean, scaled(state.xy / (size - 1)), scaled(error), r, of_correlation, size)


def _products(x: Float[Array, "m d"], y: Float[Array, "m d"]) -> Float[Array, "d d"]:
    return jnp.matmul(x.T, y, precision="highest")
