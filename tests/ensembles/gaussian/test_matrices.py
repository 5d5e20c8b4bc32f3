"""GOE, GUE and GSE as full matrices: entries, symmetry, exact laws, blocks, and the mixed ensembles over them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from tests.cases import further
from tests.ensembles.draws import dense_levels
from tests.ensembles.gaussian.beta_hermite import assert_beta_hermite, level_unit
from tests.statistical import assert_law, assert_mean

SCALE = 0.7
MAKERS = {1: rmt.GOE, 2: rmt.GUE, 4: rmt.GSE}
BETAS = pytest.mark.parametrize("beta", MAKERS)
# Left multiplication by the quaternion j in the 2×2 blocks of a GSE.
UNIT = np.array([[0, 1], [-1, 0]])


def duality(n):
    return np.kron(np.eye(n), UNIT)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def samples(beta, n, number, key):
    return jax.vmap(MAKERS[beta](n, SCALE).sample)(jax.random.split(key, number))


def components(h, beta):
    """The β real components of each quaternion, complex or real entry, in an array of shape (β, draws, n, n)."""
    if beta == 1:
        return h[None]
    a = h if beta == 2 else h[:, ::2, ::2]
    parts = [a.real, a.imag]
    if beta == 4:
        b = h[:, ::2, 1::2]
        parts += [b.real, b.imag]
    return np.stack(parts)


@pytest.mark.float32
@BETAS
def test_samples_are_self_adjoint_to_the_last_bit(getkey, beta):
    h = np.asarray(samples(beta, 5, 3, getkey()))
    assert h.shape[-1] == (10 if beta == 4 else 5)
    np.testing.assert_array_equal(h, np.swapaxes(h.conj(), -1, -2))
    if beta == 4:
        z = duality(5)
        np.testing.assert_array_equal(z @ h @ z.T, np.swapaxes(h, -1, -2))


@pytest.mark.parametrize("beta", [1, 2, pytest.param(4, marks=pytest.mark.float32)])
def test_exact_laws(getkey, beta):
    n = 4
    h = np.asarray(samples(beta, n, 20_000, getkey()))
    h = h.astype(np.result_type(h, np.float64))
    assert_beta_hermite(dense_levels(h, n, ulps=80), beta, level_unit(n, beta, SCALE))
    parts = components(h, beta)
    assert len(parts) == beta
    for number, part in enumerate(parts):
        for i, j in [(1, 0), (3, 2)]:
            assert_law(part[:, i, j], scipy.stats.norm(0, SCALE * (beta * n) ** -0.5).cdf)
        for i in (0, 3):
            if number:
                np.testing.assert_array_equal(part[:, i, i], 0)
            else:
                assert_law(part[:, i, i], scipy.stats.norm(0, SCALE * (2 / (beta * n)) ** 0.5).cdf)
        assert_mean(part[:, 0, 1] * part[:, 0, 2], 0)
        for other in parts[number + 1 :]:
            assert_mean(part[:, 0, 1] * other[:, 0, 1], 0)
    assert_mean(parts[0][:, 0, 0] * parts[0][:, 1, 1], 0)


@BETAS
@pytest.mark.parametrize("n", [5, 6, *further(1, 2)])
def test_entries_are_all_different(getkey, beta, n):
    # Triangles are packed into rectangles and squares; a variate that is used twice shows here.
    parts = np.abs(components(np.asarray(samples(beta, n, 1, getkey())), beta)[:, 0])
    i, j = np.tril_indices(n, -1)
    values = np.concatenate([parts[:, i, j].ravel(), parts[0].diagonal()])
    assert np.unique(values).size == values.size == n + beta * n * (n - 1) // 2


@pytest.mark.parametrize(
    ("ensemble", "per_level"),
    [(rmt.GOE(5, SCALE), 1), (rmt.Wigner(5, SCALE, 0.3), 1), (rmt.GSE(5, SCALE), 2), *further((rmt.GUE(5, SCALE), 1))],
)
def test_blocks_are_leading_samples(getkey, ensemble, per_level):
    key = getkey()
    whole = np.asarray(ensemble.sample(key))
    blocks = jax.jit(jax.vmap(ensemble.leading_block, (None, 0)))(key, jnp.arange(1, 6))
    np.testing.assert_array_equal(blocks.order, per_level * np.arange(1, 6))
    for rows, values in zip(blocks.order, blocks.values, strict=True):
        expected = np.zeros_like(whole)
        expected[:rows, :rows] = whole[:rows, :rows]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.slow
@BETAS
def test_mixed_samples_and_spectra_have_one_law(getkey, beta):
    # E Σ x² of a block of order k is k + β k (k - 1)/2 in the units of its levels, which `normalize="order"` scales.
    n, mixture = 6, 0.6
    mixed = rmt.Mixed(MAKERS[beta](n, SCALE), mixture)
    keys = jax.random.split(getkey(), 4000)
    matrices, spectra = jax.jit(jax.vmap(lambda key: (mixed.sample(key), mixed.eigenvalues(key))))(keys)
    per_level = 2 if beta == 4 else 1
    order = np.asarray(spectra.count)
    np.testing.assert_array_equal(matrices.order, per_level * order)
    per_order = [scipy.stats.binom.pmf(k, n, mixture) for k in range(n + 1)]
    per_order[2] += per_order[0] + per_order[1]
    second = sum(p * SCALE**2 * (2 / beta + k - 1) for k, p in enumerate(per_order) if k >= 2)
    assert_mean((np.where(spectra.mask, spectra.values, 0) ** 2).sum(-1), second)
    assert_mean((np.abs(matrices.values) ** 2).sum((-1, -2)) / per_level, second)
