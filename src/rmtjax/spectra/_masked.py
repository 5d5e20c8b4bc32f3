"""Values of which not all count."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._staging import is_traced
from rmtjax._typing import ArrayLike, MaskLike


class AbstractMasked(AbstractModule):
    """Numbers of which not all count: where all do, an array to NumPy, Matplotlib and pandas."""

    values: eqx.AbstractVar[Inexact[Array, "*batch n"]]
    mask: eqx.AbstractVar[Bool[Array, "*batch n"]]

    @abstractmethod
    def __getitem__(self, index: Any) -> Any: ...

    def _refuse_invalid(self) -> None:
        """Raise an error where a program has found the numbers wrong."""

    def compressed(self) -> np.ndarray:
        """The values of all rows that count, one after the other; outside of `jit` only."""
        self._refuse_invalid()
        if is_traced((self.values, self.mask)):
            must = "be known: under a transformation take `values` and `mask`"
            raise _checks.refusal(type(self).__name__, must, _checks.Words("traced ones"))
        return np.asarray(self.values)[np.asarray(self.mask)]

    def __len__(self) -> int:
        return self.values.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self)) if self.values.ndim == 1 else (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        missing, size = self.values.size - self.compressed().size, self.values.size
        if missing:
            must = "count throughout as an array (`compressed()` has those that do)"
            raise _checks.refusal(type(self).__name__, must, _checks.Words(f"{missing} of {size} that do not"))
        return np.asarray(self.values).astype(dtype or self.values.dtype)

    def __jax_array__(self) -> Array:
        return jnp.asarray(np.asarray(self))


class MaskedValues(AbstractMasked):
    """Values of which not all count: as many as there is room for, in an array of static size.

    Where all count, this is an array to NumPy, Matplotlib and pandas. Where some do not, these refuse it, as rows have
    different numbers of values, and `compressed()` is the array of those that count. An index chooses from the batch,
    or a range of the values: `spacings[0]`, `spacings[:, 10:20]`.

    Args:
        values: numbers; NaN where they do not count.
        mask: True where they do.

    Raises:
        ValueError: the shapes differ, or `mask` is not boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> spacings = MaskedValues(jnp.array([0.5, jnp.nan, 1.5]), jnp.array([True, False, True]))
        >>> print(spacings.mean(), spacings.count)
        1.0 2
    """

    values: Inexact[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]

    def __init__(self, values: Annotated[ArrayLike, "*batch n"], mask: Annotated[MaskLike, "*batch n"]):
        self.values, self.mask = _checks.numbers("values", values), jnp.asarray(_checks.booleans("mask", mask))
        if self.mask.shape != self.values.shape:
            raise _checks.refusal("mask", f"be booleans of the shape {self.values.shape}", mask)

    @property
    def count(self) -> Int[Array, "*batch"]:
        """How many values of each row count."""
        return jnp.sum(self.mask, axis=-1)

    def mean(
        self, function: Callable[[Array], Array] | None = None, axis: int | None = -1, **options: Any
    ) -> Inexact[Array, "*batch"]:
        """The mean over the values of each row that count; NaN where none does.

        Args:
            function: elementwise, for the mean of a function of the values. It sees only values that count.
            axis: the last axis. Any other, or None for all values, is as for `np.mean`, and then all values must count.
            options: further arguments of `np.mean`.

        Example:
            >>> import jax.numpy as jnp
            >>> spacings = MaskedValues(jnp.array([0.5, jnp.nan, 1.5]), jnp.array([True, False, True]))
            >>> print(spacings.mean(jnp.square))
            1.25
        """
        if axis not in (-1, self.values.ndim - 1) or options.get("keepdims"):
            array = np.asarray(self) if function is None else function(jnp.asarray(np.asarray(self)))
            return jnp.asarray(np.mean(np.asarray(array), axis=axis, **options))
        heights = self.values
        if function is not None:
            heights = _checks.numbers("function", function(first_for_rest(heights, self.mask)))
        if heights.shape != self.values.shape:
            raise _checks.refusal("function", f"return an array of the shape {self.values.shape}", heights.shape)
        return _mean(heights, self.mask)

    def __getitem__(self, index: Any) -> "MaskedValues":
        parts = index if isinstance(index, tuple) else (index,)
        whole = len(parts) == self.values.ndim or any(part is ... for part in parts)
        if whole and isinstance(parts[-1], int | np.integer | jax.Array | np.ndarray) and np.ndim(parts[-1]) == 0:
            raise _checks.refusal("index", "leave the last axis, as a range does", index)
        return MaskedValues(self.values[index], self.mask[index])


@compiled
def first_for_rest(values: Inexact[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "*batch n"]:
    """The values, with the first that counts in the place of those that do not, or 1 where none does."""
    if values.size == 0:
        return values
    first = jnp.take_along_axis(values, jnp.argmax(mask, axis=-1, keepdims=True), axis=-1)
    some = jnp.any(mask, axis=-1, keepdims=True)
    return jnp.where(mask, values, jnp.where(some, jax.lax.stop_gradient(first), 1))


@compiled
def _mean(heights: Inexact[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "*batch"]:
    count = jnp.sum(mask, axis=-1)
    total = jnp.sum(jnp.where(mask, heights, 0), axis=-1)
    return jnp.where(count > 0, total / like(total, jnp.maximum(count, 1)), jnp.nan)
