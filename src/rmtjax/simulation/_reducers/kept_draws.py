"""The result of reducers that keep draws."""

import jax
import numpy as np
from jaxtyping import Int

from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree

# The index of a place without a draw; draws have indices below 2^31.
NO_DRAW = np.uint32(2**32 - 1)


class KeptDraws(AbstractModule):
    """Some of the draws of a simulation, or all of them.

    Args:
        values: the draws, stacked in the order of their numbers, as numpy arrays.
        index: the number of each; `fn(jax.random.fold_in(key, i))` makes draw i again.
        draws: number of draws that they were chosen from.

    Example:
        >>> import numpy as np
        >>> kept = KeptDraws(np.array([0.3, -1.2]), np.array([17, 40]), 1000)
        >>> print(kept.values[kept.index == 40])
        [-1.2]
    """

    values: PyTree
    index: Int[np.ndarray, " k"]
    draws: int


def in_order(values: PyTree, index: np.ndarray, draws: int) -> KeptDraws:
    """The draws in the order of their numbers, without places that hold none."""
    places = np.argsort(index, kind="stable")[: np.count_nonzero(index != NO_DRAW)]
    return KeptDraws(jax.tree.map(lambda leaf: leaf[places], values), index[places].astype(np.int64), draws)
