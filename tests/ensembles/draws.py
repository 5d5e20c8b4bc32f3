"""Draws of an ensemble in one compiled program."""

import functools

import jax


@functools.partial(jax.jit, static_argnums=1)
def drawn(ensemble, number, key):
    """Levels from `eigenvalues`, and dense samples with the same keys."""
    return jax.vmap(lambda key: (ensemble.eigenvalues(key), ensemble.sample(key)))(jax.random.split(key, number))
