"""Values on the last axis, and a fit to each vector of a batch."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._ordering import in_order
from rmtjax._typing import KeyScalar
from rmtjax.inference._core.data import rounding

_FINITE = _checks.Rule(lambda values: (abs(values) < math.inf).all(-1), "be finite")
_NOT_NEGATIVE = _checks.Rule(lambda values: (values >= -rounding(values)).all(-1), "not be negative")
_NULL = _checks.Rule(
    lambda dropped, largest: (abs(dropped) <= 1e-3 * largest[..., None]).all(-1),
    "have p - n levels of 0 if there are more columns than rows (p > n; are `n` and `p` swapped?)",
    lambda dropped, largest: f"a level {dropped.max():.3g} among them, with the largest {largest.max():.3g}",
)


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


def levels_of_sample(levels: object, n: int, p: int | None, at_least: int) -> tuple[Float[Array, "*batch k"], int, Any]:
    """The ascending min(n, p) largest levels of a sample covariance matrix, p, and whether each spectrum is valid.

    Raises:
        ValueError: `levels` are not those of `positive_values`, or neither min(n, p) nor p.
        ValueError: the p - n smallest of p levels are known not to be 0.
    """
    values, valid = positive_values("levels", levels, at_least)
    p = values.shape[-1] if p is None else p
    rank = min(n, p)
    if values.shape[-1] not in (rank, p):
        got = _checks.Words(f"{values.shape[-1]} levels for n = {n} and p = {p}")
        raise _checks.refusal("levels", f"be the min(n, p) = {rank} levels that need not be 0, or all p = {p}", got)
    values = _ascending(values)
    if values.shape[-1] > rank:
        valid = _checks.all_kept(valid, _NULL.kept("levels", values[..., : p - rank], values[..., -1]))
    return values[..., -rank:], p, valid


@compiled
def _ascending(values: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    return jnp.maximum(in_order(values), 0)


def for_each(
    fn: Callable[..., Any], values: Float[Array, "*batch n"], *others: Any, key: KeyScalar | None = None
) -> Any:
    """The pytree `fn(vector, *others)` for all vectors of a batch, whose axes come first in each leaf.

    With a key it is `fn(vector, *others, key)`. A single vector has the key itself; each vector of a batch has a key of
    its own.
    """
    batch = values.shape[:-1]
    if not batch:  # A program without a batch of one is traced sooner.
        return fn(values, *others) if key is None else fn(values, *others, key)
    vectors = values.reshape(-1, values.shape[-1])
    if key is None:
        found = jax.vmap(lambda vector: fn(vector, *others))(vectors)
    else:
        keys = jax.random.split(key, vectors.shape[0])
        found = jax.vmap(lambda vector, own: fn(vector, *others, own))(vectors, keys)
    return jax.tree.map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), found)
