"""Values on the last axis, and a fit to each vector of a batch."""

import math
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax.inference._core.data import rounding

_FINITE = _checks.Rule(lambda values: (abs(values) < math.inf).all(-1), "be finite")
_NOT_NEGATIVE = _checks.Rule(lambda values: (values >= -rounding(values)).all(-1), "not be negative")


def positive_values(name: str, values: object, at_least: int) -> tuple[Float[Array, "*batch n"], Any]:
    """Non-negative numbers on the last axis, and whether each vector is valid.

    Raises:
        ValueError: the numbers are not real, are fewer than `at_least`, or are known not to be finite and non-negative.
    """
    array = _checks.real(name, values)
    if array.ndim == 0 or array.shape[-1] < at_least:
        raise _checks.refusal(name, f"have at least {at_least} numbers on the last axis", array.shape)
    valid = _checks.all_kept(_FINITE.kept(name, array), _NOT_NEGATIVE.kept(name, array))
    return array, valid


def for_each(
    fn: Callable[..., Any], values: Float[Array, "*batch n"], *others: Any, key: KeyScalar | None = None
) -> Any:
    """The pytree `fn(vector, *others)` for all vectors of a batch, whose axes come first in each leaf.

    With a key it is `fn(vector, *others, key)`. A single vector has the key itself; each vector of a batch has a key of
    its own.
    """
    batch = values.shape[:-1]
    vectors = values.reshape(-1, values.shape[-1])
    if key is None:
        found = jax.vmap(lambda vector: fn(vector, *others))(vectors)
    else:
        keys = jax.random.split(key, vectors.shape[0]) if batch else key[None]
        found = jax.vmap(lambda vector, own: fn(vector, *others, own))(vectors, keys)
    return jax.tree.map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), found)
