"""What a reducer is: a monoid of states, filled on the devices and merged on the host."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt32

from rmtjax._module import AbstractModule
from rmtjax._typing import PyTree
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import MaskedValues, Spectrum
from rmtjax.spectra.internal import validity


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Draws:
    """A batch of draws on one device.

    Args:
        values: what the function returned, stacked: every array has a leading axis of length m.
        index: the number of each draw, from 0 on, which does not depend on batches or devices; consecutive in a batch.
        valid: False for draws that are to be left out, which fill the last batch of a device.

    Example:
        >>> import jax.numpy as jnp
        >>> values, index = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.arange(2, dtype=jnp.uint32)
        >>> draws = Draws(values, index, valid=jnp.array([True, False]))
        >>> [(values, mask)] = draws.entries()
        >>> print(jnp.sum(values, where=mask))
        3.0
    """

    values: PyTree
    index: UInt32[Array, " m"]
    valid: Bool[Array, " m"]

    def entries(self) -> Iterator[tuple[Array, Bool[Array, "..."]]]:
        """The arrays among the values, each with a mask that broadcasts against it.

        The mask is False for draws that are not valid, for masked entries of a `Spectrum` or `MaskedValues`, and for
        the padding of a `PaddedMatrix`.
        """
        for leaf in jax.tree.leaves(self.values, is_leaf=is_padded):
            values, mask = (leaf.values, leaf.mask) if is_padded(leaf) else (leaf, True)
            if isinstance(leaf, Spectrum):
                values = jnp.where(validity(leaf)[..., None], values, jnp.nan)  # a product would lose subnormal numbers
            yield values, mask & self.valid.reshape(-1, *(1,) * (values.ndim - 1))


class AbstractReducer(AbstractModule):
    """A way to reduce draws to a summary of constant size, whose result depends neither on batches nor on devices.

    A state is any pytree of arrays. `init` and `merge` must make a commutative monoid of the states, exactly for
    integers and up to rounding for floating-point numbers: `merge(init, a) = a`, `merge(a, b) = merge(b, a)`, and
    `merge(merge(a, b), c) = merge(a, merge(b, c))`.

    A state on a device begins with `init` and is filled by `update`, for fewer than 2^31 numbers. Then it is cast to
    the dtypes of `init` on the host and merged there. So `np.int64` and `np.float64` in `init` make totals of 64 bits,
    even if the devices compute with 32.
    """

    # Whether `update` returns a longer state, which holds the draws themselves. It is then called once for each state.
    keeps_draws = False

    @abstractmethod
    def init(self, draw: PyTree) -> PyTree:
        """The state of no draws, as numpy arrays or numbers; `draw` has the shapes and dtypes of one draw."""

    @abstractmethod
    def update(self, state: PyTree, draws: Draws) -> PyTree:
        """The state with a batch of draws added, in the same structure, shapes and dtypes; this is compiled."""

    @abstractmethod
    def merge(self, left: PyTree, right: PyTree) -> PyTree:
        """The state of two sets of draws together; leaves are numpy arrays."""

    @abstractmethod
    def finish(self, state: PyTree) -> Any:
        """The result, from the state of all draws."""


def is_padded(node: object) -> bool:
    """Whether a node is a container with padding, whose arrays belong together."""
    return isinstance(node, Spectrum | PaddedMatrix | MaskedValues)
