"""The record of an unfolding, and what all unfoldings have in common."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import (
    polynomial_degree,
    spacings,
    unfold,
    unfold_kernel,
    unfold_local,
    unfold_phases,
    unfold_polynomial,
)


def test_the_record_sees_what_is_wrong():
    x = jnp.linspace(0, 1, 50)
    wave = unfold(x, lambda x: 50 * x + 3 * jnp.sin(40 * x))
    assert not wave.report.monotone
    assert 1.5 < wave.report.residual < 2.5  # 3/√2
    assert unfold(x, lambda x: 50 * x).report.monotone
    np.testing.assert_allclose(
        unfold_phases(jnp.linspace(-3.0, -3.0 + 2 * np.pi * 0.98, 50)).report.residual, 0, rtol=0, atol=1e-5
    )


NOT_ON_A_CIRCLE = {
    "unfold": lambda x: unfold(x, rmt.laws.Uniform(0.0, 9.0)),
    "function": lambda x: unfold(x, lambda x: x),
    "local": lambda x: unfold_local(x, 1),
    "polynomial": lambda x: unfold_polynomial(x, 1),
    "kernel": lambda x: unfold_kernel(x, 1.0),
}


@pytest.mark.parametrize("name", NOT_ON_A_CIRCLE)
def test_a_circle_is_not_unfolded_as_a_line(name):
    circle = rmt.Spectrum(np.arange(9.0), domain=rmt.Circle(9.0))
    with pytest.raises(ValueError, match=r"`levels` must lie on the line \(`unfold_phases` unfolds a circle\)"):
        NOT_ON_A_CIRCLE[name](circle)
    with pytest.raises(ValueError, match="`phases` must lie on a circle"):
        unfold_phases(circle.bulk(1.0, 5.0))


@pytest.mark.parametrize("name", NOT_ON_A_CIRCLE)
def test_what_comes_out(name):
    levels = np.linspace(0.5, 8.5, 20)
    for domain in (rmt.spectra.Line(), rmt.Interval(0.25, 9.0)):
        found = NOT_ON_A_CIRCLE[name](rmt.Spectrum(levels, domain=domain))
        assert found.unfolded
        assert isinstance(found.report, rmt.spectra.Unfolding)
        kept = name in ("local", "kernel") or isinstance(domain, rmt.spectra.Line)
        assert isinstance(found.domain, rmt.spectra.Line if kept else rmt.Interval)
        np.testing.assert_array_equal(np.isfinite(found.values), found.mask)
        # A part of it, or what is not unfolded, has no report.
        assert found.bulk(2, 5)._report is found.middle(0.5)._report is rmt.Spectrum(levels)._report is None


def test_slopes_of_the_residual():
    levels = jnp.arange(5.0) + 0.5
    residual = lambda x: unfold(x, lambda x: x).report.residual
    np.testing.assert_array_equal(jax.grad(residual)(levels), np.zeros(5))
    # Elsewhere they are those of the root.
    np.testing.assert_allclose(jax.grad(residual)(levels + 0.1), np.full(5, 0.2), rtol=1e-5)


INTERVAL = rmt.Interval(0.0, 3.25)
EACH = {
    "unfold": lambda x, mask: unfold(rmt.Spectrum(x, mask), rmt.laws.Uniform(0.0, 3.0)),
    "unfold an interval": lambda x, mask: unfold(rmt.Spectrum(x, mask, INTERVAL), rmt.laws.Uniform(0.0, 4.0)),
    "function": lambda x, mask: unfold(rmt.Spectrum(x, mask), lambda x: x**2),
    "function on an interval": lambda x, mask: unfold(rmt.Spectrum(x, mask, INTERVAL), lambda x: 2 * x),
    "phases": lambda x, mask: unfold_phases(rmt.Spectrum(x, mask)),
    "circle": lambda x, mask: unfold_phases(rmt.Spectrum(x, mask, rmt.Circle(3.5))),
    "local": lambda x, mask: unfold_local(rmt.Spectrum(x, mask), 2),
    "polynomial": lambda x, mask: unfold_polynomial(rmt.Spectrum(x, mask), 2, pooled=False),
    "polynomial on an interval": lambda x, mask: unfold_polynomial(rmt.Spectrum(x, mask, INTERVAL), 1, pooled=False),
    "kernel": lambda x, mask: unfold_kernel(rmt.Spectrum(x, mask), 0.3, pooled=False),
}
POOLED = {
    "polynomial": lambda x, mask: unfold_polynomial(rmt.Spectrum(x, mask), 2),
    "polynomial on an interval": lambda x, mask: unfold_polynomial(rmt.Spectrum(x, mask, INTERVAL), 1),
    "kernel": lambda x, mask: unfold_kernel(rmt.Spectrum(x, mask), 0.3),
    "degree": lambda x, mask: polynomial_degree(rmt.Spectrum(x, mask), (1, 2, 3), folds=2),
}


def agree(found, expected, atol):
    """Whether all arrays of two records do, and have the same types."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=atol, atol=atol)


def assert_nan(found):
    """Whether all numbers are those of what is not valid, a spectrum or another record."""
    if not isinstance(found, rmt.Spectrum):
        assert all((jnp.isnan(leaf) | (leaf == -1)).all() for leaf in jax.tree.leaves(found))
        return
    np.testing.assert_array_equal(np.isnan(found.values), found.mask)
    assert all(jnp.isnan(leaf).all() for leaf in jax.tree.leaves(found.report) if leaf.dtype != bool)
    assert np.isnan(jax.jit(lambda found: spacings(found).mean())(found)).all()
    with pytest.raises(ValueError, match="`levels` must be spectra of ascending numbers in their domain"):
        spacings(found)


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
    wrong = jax.jit(EACH[name])(x.at[0, 0].set(3 - x[0, 0]), mask)
    assert_nan(jax.tree.map(lambda leaf: leaf[0, 0], wrong))
    agree(jax.tree.map(lambda leaf: leaf[1:], wrong), jax.tree.map(lambda leaf: leaf[1:], batch), atol)


@pytest.mark.float32
@pytest.mark.parametrize("name", POOLED)
def test_pools_side_by_side(spectra, name):
    (x, mask), atol = spectra, 1e4 * jnp.finfo(spectra[0].dtype).eps
    apart = [POOLED[name](*each) for each in zip(x, mask, strict=True)]
    agree(jax.vmap(POOLED[name])(x, mask), jax.tree.map(lambda *leaves: jnp.stack(leaves), *apart), atol)
    agree(jax.jit(POOLED[name])(x[0], mask[0]), apart[0], atol)
    wrong = jax.jit(POOLED[name])(x[0].at[0].set(3 - x[0, 0]), mask[0])
    assert_nan(wrong)
