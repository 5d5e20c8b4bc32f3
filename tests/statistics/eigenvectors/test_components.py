"""Intensities and overlaps: least squares, bases of one subspace, vectors of matrices, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import porter_thomas_intensities, subspace_overlap
from tests.statistical import assert_law, assert_mean


@pytest.mark.float32
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_overlap_by_least_squares(kind):
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if kind == "complex" else 0)
    vectors, basis = draw(2, 6, 3), draw(6, 2)
    found = subspace_overlap(jnp.asarray(vectors) * 1e-25, basis)
    for sample in range(2):
        nearest = basis @ np.linalg.lstsq(basis, vectors[sample], rcond=None)[0]
        expected = (abs(nearest) ** 2).sum(0) / (abs(vectors[sample]) ** 2).sum(0)
        np.testing.assert_allclose(found[sample], expected, rtol=100 * jnp.finfo(found.dtype).eps)
    # Another basis of the subspace, which is far from orthogonal.
    other = basis @ np.array([[1.0, 1.0], [1.0, 1.01]])
    np.testing.assert_allclose(subspace_overlap(vectors, other), found, rtol=1e5 * jnp.finfo(found.dtype).eps)


def test_inside_outside_and_the_whole_space():
    identity = jnp.eye(4)
    np.testing.assert_allclose(subspace_overlap(identity, 3 * identity[:, 1:3]), [0, 1, 1, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(subspace_overlap(identity, jnp.tril(jnp.ones((4, 4)))), 1, rtol=1e-14)
    assert np.isnan(subspace_overlap(jnp.zeros((4, 1)), identity))
    assert np.isnan(porter_thomas_intensities(jnp.zeros((4, 1)))).all()


def test_a_basis_that_spans_less_than_it_says(getkey):
    basis = jax.random.normal(getkey(), (2, 5, 2))
    basis = basis.at[0, :, 1].set(-3 * basis[0, :, 0])
    found = subspace_overlap(jnp.eye(5), basis)
    np.testing.assert_array_equal(np.isnan(found), [[True] * 5, [False] * 5])
    assert np.isnan(subspace_overlap(jnp.eye(5), jnp.zeros((5, 1)))).all()


@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.GOE, 1), (rmt.GUE, 2)])
def test_vectors_of_invariant_ensembles(getkey, ensemble, beta):
    n, d, samples = 8, 3, 3000
    matrices = jax.jit(jax.vmap(ensemble(n).sample))(jax.random.split(getkey(), samples))
    vectors = jax.jit(rmt.eigh)(matrices)[1][..., 2:3]
    intensities = porter_thomas_intensities(vectors)
    np.testing.assert_allclose(intensities.mean(1), 1, rtol=1e-13)
    # One component of each matrix: they are independent.
    assert_law(np.asarray(intensities[:, 5, 0]), rmt.laws.EigenvectorIntensity(n, beta).cdf)
    overlap = subspace_overlap(vectors, jnp.eye(n)[:, :d])[:, 0]
    a, b = beta * d / 2, beta * (n - d) / 2
    assert_mean(overlap, d / n)
    assert_mean((np.asarray(overlap) - d / n) ** 2, a * b / ((a + b) ** 2 * (a + b + 1)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: porter_thomas_intensities(jnp.ones(3)), "`vectors` must have vectors in columns"),
        (lambda: subspace_overlap(jnp.ones((3, 1)), jnp.ones(3)), "`basis` must have vectors in columns"),
        (lambda: subspace_overlap(jnp.ones((3, 1)), jnp.ones((2, 1))), "`basis` must have at most 3 columns of 3"),
        (lambda: subspace_overlap(jnp.ones((3, 1)), jnp.ones((3, 4))), "`basis` must have at most 3 columns of 3"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
