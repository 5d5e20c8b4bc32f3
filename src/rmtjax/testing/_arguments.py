"""Example arguments: the choice of those that are traced; casts, stacks and perturbations."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from rmtjax._checks import is_key
from rmtjax.testing._compare import is_inexact

NUM_STACKED = 3  # members of a stack of arguments


def traced_arguments(fn: Callable[..., Any], args: tuple) -> tuple[Callable[..., Any], tuple]:
    """The function of its array and number arguments only, and these; everything else is closed over."""
    numbers = bool | int | float | complex | np.ndarray | np.generic
    arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, numbers) else leaf, args)
    traced, static = eqx.partition(arrays, eqx.is_array)
    return lambda *values: fn(*eqx.combine(values, static)), traced


def has_key(args: PyTree) -> bool:
    return any(map(is_key, jax.tree.leaves(args)))


def has_inexact(args: PyTree) -> bool:
    """Whether a floating-point or complex number or array is among the leaves."""
    return any(is_inexact(leaf) or isinstance(leaf, float | complex) for leaf in jax.tree.leaves(args))


def stacked(args: PyTree) -> PyTree:
    """A stack of three example arguments: keys folded, numbers shrunk by a few per cent, integers repeated.

    A single factor for each array keeps symmetry, order, signs, zeros and the bounds of a probability, which noise
    would spoil.
    """

    def stack(leaf: Array) -> Array:
        if is_key(leaf) and leaf.ndim == 0:
            return jnp.stack([jax.random.fold_in(leaf, i) for i in range(NUM_STACKED)])
        if is_inexact(leaf):
            return jnp.stack([leaf * jnp.asarray(1 - i / 64, leaf.dtype) for i in range(NUM_STACKED)])
        return jnp.stack([leaf] * NUM_STACKED)

    return jax.tree.map(stack, args)


def member(args: PyTree, i: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[i], args)


def cast(args: PyTree, bits: int) -> PyTree:
    """The arguments with floats in 32 or 64 bits and complex numbers in twice as many; x64 must be enabled."""

    def convert(leaf: Array) -> Array:
        if not is_inexact(leaf):
            return leaf
        return jnp.asarray(np.asarray(leaf, f"complex{2 * bits}" if jnp.iscomplexobj(leaf) else f"float{bits}"))

    return jax.tree.map(convert, args)


def random_like(tree: PyTree, seed: int, *, scaled: bool) -> PyTree:
    """A tree of the same shape with random normal numbers, and 0 where an entry is not finite.

    With `scaled`, each array has the size of the array that it perturbs, so that steps along it are relative.
    """
    random = np.random.default_rng(seed)

    def draw(leaf: Array) -> Array:
        values = np.asarray(leaf)
        noise = random.standard_normal(values.shape)
        if np.iscomplexobj(values):
            noise = noise + 1j * random.standard_normal(values.shape)
        finite = np.isfinite(values)
        squares = np.abs(np.where(finite, values, 0)) ** 2
        size = np.sqrt(squares.sum() / max(finite.sum(), 1)) if scaled else 1.0
        return jnp.asarray(np.where(finite, noise * (size or 1.0), 0).astype(values.dtype))

    return jax.tree.map(draw, tree)
