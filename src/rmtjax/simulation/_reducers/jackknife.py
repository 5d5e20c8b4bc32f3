"""Functions of the results of other reducers, with standard errors and corrected for bias of first order."""

import itertools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Inexact
from typing_extensions import TypeVar

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree
from rmtjax.simulation import _reduction
from rmtjax.simulation._reducers.base import AbstractReducer, Draws
from rmtjax.simulation._reducers.moments import Moments
from rmtjax.special.internal import student_interval

T = TypeVar("T", default=Any)


class JackknifeResult(AbstractModule, Generic[T]):
    """A statistic with its standard error; the first three fields have the structure of the statistic.

    Args:
        value: the statistic, corrected for its bias.
        standard_error: its standard error; NaN for fewer than two draws.
        uncorrected: the statistic of all draws, without the correction.
        blocks: number of blocks that had draws.
        draws: number of draws.

    Example:
        >>> import numpy as np
        >>> result = JackknifeResult(np.float64(2.0), np.float64(0.1), np.float64(2.01), blocks=32, draws=1000)
        >>> print(*(f"{end:.3f}" for end in result.interval()))
        1.796 2.204
    """

    value: T
    standard_error: T
    uncorrected: T
    blocks: int
    draws: int

    def interval(self, confidence: float = 0.95) -> tuple[T, T]:
        """Confidence intervals, by Student's distribution with `blocks` - 1 degrees of freedom.

        Args:
            confidence: probability that an interval holds the true value, between 0 and 1.

        Returns:
            The lower and the upper ends.
        """
        return student_interval(confidence, self.value, self.standard_error, self.blocks - 1)


class _State(NamedTuple):
    """The number of draws in each block, and the stacked states of the reducers for each block."""

    draws: Any
    states: PyTree


class Jackknife(AbstractReducer, Generic[T]):
    r"""A smooth function of the result of a reducer, corrected for its bias, with its standard error.

    Draw i belongs to block i mod g, and the reducer has a state for each of the g blocks. Let $\theta$ be the statistic
    of all m draws, $\theta_{(j)}$ the statistic of the draws outside of block j, and $h_j = m/m_j$ for the $m_j$ draws
    in block j. The value and its variance are
    $$\theta_J = g\theta - \sum_j \left(1 - \frac1{h_j}\right)\theta_{(j)}, \qquad
    \operatorname{var} \approx \frac1g \sum_j \frac{|h_j\theta - (h_j - 1)\theta_{(j)} - \theta_J|^2}{h_j - 1},$$
    which leaves a bias of order $m^{-2}$. A statistic must be smooth for this: a ratio of means, a skewness or the
    logarithm of a variance is, an extreme value is not.

    Args:
        statistic: a function of the result of the reducer, or of the results of several in their structure. It runs on
            the host with numpy arrays and returns any pytree of numbers and arrays.
        reducer: a reducer, or a tuple, list or dict of reducers, whose states have a constant size.
        blocks: the number g of blocks, at least 2. Each block has a state; with fewer than about 20 blocks the standard
            error is rough.

    Example:
        >>> import jax, numpy as np, rmtjax as rmt
        >>> log_variance = lambda moments: np.log(moments.variance)
        >>> result = rmt.simulate(jax.random.normal, jax.random.key(0), 10000, reduce=Jackknife(log_variance))
        >>> print(bool(abs(result.value) < 4 * result.standard_error), result.blocks)
        True 32

    References:
        Quenouille (1956), Biometrika 43, 353; Tukey (1958), Annals of Mathematical Statistics 29, 614; Busing, Meijer
        and van der Leeden (1999), Statistics and Computing 9, 3, for blocks of unequal sizes.
    """

    statistic: Callable[[Any], T]
    reducer: PyTree
    blocks: int = eqx.field(static=True)

    def __init__(self, statistic: Callable[[Any], T], reducer: PyTree = None, blocks: int = 32):
        if not callable(statistic):
            raise _checks.refusal("statistic", "be a function of the result of the reducer", statistic)
        reducer = Moments() if reducer is None else reducer
        _reduction.check_reducers(reducer, "reducer")
        if _reduction.keeps_draws(reducer):
            raise _checks.refusal("reducer", "have a state of constant size", reducer)
        self.statistic, self.reducer = statistic, reducer
        self.blocks = _checks.integer("blocks", blocks, at_least=2)

    def init(self, draw: PyTree) -> _State:
        stacked = lambda leaf: np.repeat(leaf[None], self.blocks, axis=0)
        return _State(np.zeros(self.blocks, np.int64), jax.tree.map(stacked, _reduction.init(self.reducer, draw)))

    def update(self, state: _State, draws: Draws) -> _State:
        size = len(draws.index)
        lanes = min(size, self.blocks)
        rows = -(-size // lanes)
        # The numbers in a batch are consecutive, so draws of one block are `blocks` apart, and each lane has one block.
        place = jnp.minimum(jnp.arange(rows * lanes), size - 1).reshape(rows, lanes).T
        valid = draws.valid[place] & (jnp.arange(rows * lanes).reshape(rows, lanes).T < size)
        of_lane = Draws(jax.tree.map(lambda leaf: leaf[place], draws.values), draws.index[place], valid)
        block = (draws.index[0] % self.blocks + jnp.arange(lanes, dtype=jnp.uint32)) % self.blocks
        before = jax.tree.map(lambda leaf: leaf[block], state.states)
        after = jax.vmap(lambda states, draws: _reduction.update(self.reducer, states, draws))(before, of_lane)
        number = jnp.sum(valid, axis=1, dtype=state.draws.dtype)
        states = jax.tree.map(lambda all_blocks, some: all_blocks.at[block].set(some), state.states, after)
        return _State(state.draws.at[block].add(number), states)

    def merge(self, left: _State, right: _State) -> _State:
        pairs = zip(self._of_blocks(left), self._of_blocks(right), strict=True)
        merged = [_reduction.merge(self.reducer, *pair) for pair in pairs]
        return _State(left.draws + right.draws, jax.tree.map(lambda *leaves: np.stack(leaves), *merged))

    def finish(self, state: _State) -> JackknifeResult[T]:
        numbers = state.draws[state.draws > 0]
        blocks = [each for each, number in zip(self._of_blocks(state), state.draws, strict=True) if number]
        merge = lambda left, right: _reduction.merge(self.reducer, left, right)
        before = list(itertools.accumulate(blocks, merge))
        behind = list(itertools.accumulate(reversed(blocks), lambda right, left: merge(left, right)))[::-1]
        inside = [merge(*pair) for pair in zip(before, behind[2:], strict=False)]
        left_out = [*behind[1:2], *inside, *before[-2:-1]] if len(blocks) > 1 else []
        of_all, structure = jax.tree.flatten(self._statistic(before[-1]))
        of_rest = zip(*(jax.tree.leaves(self._statistic(each)) for each in left_out), strict=True)
        ratios = numbers.sum() / numbers
        if left_out:
            pairs = [_value_and_error(x, np.array(rest), ratios) for x, rest in zip(of_all, of_rest, strict=True)]
        else:
            pairs = [(x[()], np.full(x.shape, np.nan)[()]) for x in of_all]
        value, error = (jax.tree.unflatten(structure, [pair[i] for pair in pairs]) for i in (0, 1))
        whole = jax.tree.unflatten(structure, [x[()] for x in of_all])
        return JackknifeResult(value, error, whole, len(blocks), int(numbers.sum()))

    def _of_blocks(self, state: _State) -> list[list[PyTree]]:
        """The states of the reducers for each block."""
        leaves, structure = jax.tree.flatten(state.states)
        return [jax.tree.unflatten(structure, [leaf[block] for leaf in leaves]) for block in range(self.blocks)]

    def _statistic(self, states: list[PyTree]) -> T:
        return jax.tree.map(np.asarray, self.statistic(_reduction.finish(self.reducer, states)))


def _value_and_error(
    theta: np.ndarray, rest: Inexact[np.ndarray, "g ..."], ratios: Float[np.ndarray, " g"]
) -> tuple[Any, Any]:
    """The corrected statistic and its standard error, from the statistics without one block each."""
    ratios = ratios.reshape(-1, *(1,) * theta.ndim)
    value = len(rest) * theta - ((1 - 1 / ratios) * rest).sum(0)
    deviation = abs(ratios * theta - (ratios - 1) * rest - value)
    # In units of the largest deviation no square leaves the range of double precision.
    unit = np.where((largest := deviation.max(0)) > 0, largest, 1)
    return value[()], (unit * np.sqrt(((deviation / unit) ** 2 / (ratios - 1)).mean(0)))[()]
