"""Draws of an ensemble in one compiled program, and the levels of its dense matrices."""

import functools

import jax
import numpy as np


@functools.partial(jax.jit, static_argnums=1)
def _drawn(ensemble, number, key):
    levels = getattr(ensemble, "eigenphases", ensemble.eigenvalues)
    return jax.vmap(lambda key: (levels(key), ensemble.sample(key)))(jax.random.split(key, number))


def drawn(ensemble, number, key):
    """Levels (or phases) of many draws, and dense samples with the same keys, which are other draws."""
    return [np.asarray(draws) for draws in _drawn(ensemble, number, key)]


def dense_phases(matrices):
    """The ascending eigenphases of each sample by LAPACK."""
    return np.sort(np.angle(np.linalg.eigvals(matrices.astype(np.complex128))), axis=-1)


def dense_levels(matrices, n, ulps=100):
    """The n levels of each sample by LAPACK; samples are Hermitian to the last bit, and copies of a level agree."""
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices.conj(), -1, -2))
    levels = np.linalg.eigvalsh(matrices.astype(np.result_type(matrices, np.float64)))
    copies, rounding = levels.shape[-1] // n, ulps * np.finfo(matrices.dtype).eps * levels.max()
    np.testing.assert_allclose(levels[:, ::copies], levels[:, copies - 1 :: copies], rtol=0, atol=rounding)
    return levels[:, ::copies]
