"""The record of an unfolding, and what all unfoldings have in common."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import (
    polynomial_degree,
    unfold,
    unfold_kernel,
    unfold_local,
    unfold_phases,
    unfold_polynomial,
)


def test_the_record_sees_what_is_wrong():
    x = jnp.linspace(0, 1, 50)
    wave = unfold(x, lambda x: 50 * x + 3 * jnp.sin(40 * x))
    assert not wave.monotone
    assert 1.5 < wave.residual < 2.5  # 3/√2
    assert unfold(x, lambda x: 50 * x).monotone
    np.testing.assert_allclose(unfold_phases(jnp.linspace(-3.0, -3.0 + 2 * np.pi * 0.98, 50)).residual, 0, atol=1e-5)


def test_slopes_of_the_residual():
    levels = jnp.arange(5.0) + 0.5
    residual = lambda x: unfold(x, lambda x: x).residual
    np.testing.assert_array_equal(jax.grad(residual)(levels), np.zeros(5))
    # Elsewhere they are those of the root.
    np.testing.assert_allclose(jax.grad(residual)(levels + 0.1), np.full(5, 0.2), rtol=1e-5)


EACH = {
    "unfold": lambda x, mask: unfold(x, rmt.laws.Uniform(0.0, 3.0), where=mask),
    "function": lambda x, mask: unfold(x, lambda x: x**2, where=mask),
    "phases": lambda x, mask: unfold_phases(x, where=mask),
    "local": lambda x, mask: unfold_local(x, 2, where=mask),
    "polynomial": lambda x, mask: unfold_polynomial(x, 2, pooled=False, where=mask),
    "kernel": lambda x, mask: unfold_kernel(x, 0.3, pooled=False, where=mask),
}
POOLED = {
    "polynomial": lambda x, mask: unfold_polynomial(x, 2, where=mask),
    "kernel": lambda x, mask: unfold_kernel(x, 0.3, where=mask),
    "degree": lambda x, mask: polynomial_degree(x, (1, 2, 3), folds=2, where=mask),
}


def agree(found, expected, atol):
    """Whether all arrays of two records do, and have the same types."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=atol, atol=atol)


@pytest.fixture
def spectra(getkey):
    """Ragged, with gaps."""
    levels = jnp.sort(jax.random.uniform(getkey(), (3, 4, 12), maxval=3.0), axis=-1)
    place, ends, gaps = jnp.arange(12)[None], jnp.array([12, 12, 10, 9]), jnp.array([2, 5, 5, 20])
    mask = jnp.broadcast_to((place < ends[:, None]) & (place != gaps[:, None]), levels.shape)
    return jnp.where(mask, levels, jnp.nan), mask


@pytest.mark.float32
@pytest.mark.parametrize("name", EACH)
def test_a_batch_is_its_spectra_one_by_one(spectra, name):
    (x, mask), atol = spectra, 1e4 * jnp.finfo(spectra[0].dtype).eps
    batch = EACH[name](x, mask)
    floats = [leaf for leaf in jax.tree.leaves(batch) if leaf.dtype != bool]
    assert {leaf.dtype for leaf in floats} == {x.dtype}
    agree(jax.vmap(jax.vmap(EACH[name]))(x, mask), batch, atol)
    agree(jax.jit(EACH[name])(x, mask), batch, atol)
    # Out of order under `jit`: NaN, and the other spectra are as they were.
    wrong = jax.jit(EACH[name])(x.at[0, 0].set(-x[0, 0]), mask)
    assert all(jnp.isnan(leaf[0, 0]).all() for leaf in jax.tree.leaves(wrong) if leaf.dtype != bool)
    agree(jax.tree.map(lambda leaf: leaf[1:], wrong), jax.tree.map(lambda leaf: leaf[1:], batch), atol)


@pytest.mark.float32
@pytest.mark.parametrize("name", POOLED)
def test_pools_side_by_side(spectra, name):
    (x, mask), atol = spectra, 1e4 * jnp.finfo(spectra[0].dtype).eps
    apart = [POOLED[name](*each) for each in zip(x, mask, strict=True)]
    agree(jax.vmap(POOLED[name])(x, mask), jax.tree.map(lambda *leaves: jnp.stack(leaves), *apart), atol)
    agree(jax.jit(POOLED[name])(x[0], mask[0]), apart[0], atol)
    wrong = jax.jit(POOLED[name])(x[0].at[0].set(-x[0, 0]), mask[0])
    for leaf in jax.tree.leaves(wrong):
        assert leaf.dtype == bool or (jnp.isnan(leaf) | (leaf == -1)).all()
