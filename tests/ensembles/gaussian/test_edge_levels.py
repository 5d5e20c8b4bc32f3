"""Levels in the variable of the soft edge: the same matrices in double precision, the law, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from rmtjax import GOE, GaussianBeta
from rmtjax.ensembles._gaussian import edge_levels
from rmtjax.laws import TracyWidom
from tests.statistical import assert_law

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]


def standardized(distance, n, beta):
    """The variable of the soft edge for a distance of a level from 2, with the centre 2 √(1 + (1/2 - 1/β)/n)."""
    excess = (0.5 - 1 / beta) / n
    return n ** (2 / 3) * (1 + excess) ** (1 / 6) * (distance - 2 * np.expm1(np.log1p(excess) / 2))


def by_bisection(shifted_diagonal, off_diagonal, k):
    """Levels by LAPACK's bisection, right to a few eps of the norm; its other methods had fifty times this error."""
    if shifted_diagonal.size == 1:
        return shifted_diagonal
    last = shifted_diagonal.size - 1
    which = {"eigvals_only": True, "select": "i", "select_range": (last + 1 - k, last)}
    return scipy.linalg.eigh_tridiagonal(shifted_diagonal, off_diagonal, **which)


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32(further=True)), np.float64])
@pytest.mark.parametrize(("n", "beta", "k"), [(1, 1.0, 1), (6, 2.0, 6), (700, 4.0, 3), (700, np.inf, 3)])
def test_they_are_the_levels_of_the_tridiagonal_matrix(getkey, n, beta, k, dtype):
    ensemble, key = GaussianBeta(n, dtype(beta), dtype(1.5)), getkey()
    got, t = ensemble.edge_levels(key, k), ensemble.tridiagonal(key)
    assert got.dtype == dtype
    diagonal, off_diagonal = (np.asarray(part, float) / 1.5 for part in (t.diagonal, t.off_diagonal))
    # The entries of T are rounded like the level; levels far below the edge have the rounding of the search in asinh μ.
    eps = np.finfo(dtype).eps
    expected = standardized(by_bisection(diagonal - 2, off_diagonal, k), n, beta)
    np.testing.assert_allclose(got, expected, rtol=16 * eps, atol=8 * eps * n ** (2 / 3))


# In the next two tests every number is in single precision.
@pytest.mark.heavy
@pytest.mark.float32(only=True)
def test_single_precision_keeps_the_fluctuation_of_the_largest_of_a_billion_levels(getkey):
    n, keys = 10**9, jax.random.split(getkey(), 16)
    ensemble = GaussianBeta(n, np.float32(2), np.float32(1))
    size, _ = ensemble._corner(2, None)

    @jax.jit
    def draw(key):
        entries = edge_levels.shifted_entries(key, n, ensemble.beta, size)
        return ensemble.edge_levels(key, 2), entries

    drawn = [jax.tree.map(np.asarray, draw(key)) for key in keys]
    levels = np.array([levels for levels, _ in drawn])
    assert len(np.unique(levels[:, 1])) == 16
    # The same matrices in double precision, where the rounding of a level is 1e-9 of the variable.
    for got, (d, epsilon) in drawn:
        distances = by_bisection(d.astype(float) - 2, np.sqrt(1 - epsilon[:-1].astype(float)), 2)
        expected = standardized(distances, n, 2)
        # 1e-6 was measured; the roundings of all rows, were they of one sign, would add up to 6e-5.
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.float32(only=True)
@pytest.mark.parametrize("beta", [1, 2, 4])
def test_the_law_is_that_of_tracy_and_widom(getkey, beta):
    # The laws of two β are 0.2 apart; the distance to the limit is of order 1e-4 at this n.
    ensemble = GaussianBeta(10**6, np.float32(beta), np.float32(1))
    draw = jax.jit(lambda keys: jax.lax.map(lambda key: ensemble.edge_levels(key)[0], keys, batch_size=100))
    law = TracyWidom(beta, "stochastic-airy" if beta == 4 else "tracy-widom")
    assert_law(draw(jax.random.split(getkey(), 1000)), lambda x: np.asarray(law.cdf(x)))


def test_derivatives_are_squares_and_products_of_the_vector():
    n, k, size = 1000, 3, 150
    d, epsilon = edge_levels.shifted_entries(jax.random.key(1), n, jnp.asarray(2.0), size)
    bonds = np.sqrt(1 - epsilon[:-1])
    vectors = np.linalg.eigh(np.diag(d) + np.diag(bonds, 1) + np.diag(bonds, -1))[1][:, -k:].T
    by_d, by_epsilon = jax.jacobian(lambda *entries: edge_levels.largest(*entries, n, k), argnums=(0, 1))(d, epsilon)
    np.testing.assert_allclose(by_d, n ** (2 / 3) * vectors**2, rtol=0, atol=1e-11)
    products = n ** (2 / 3) * vectors[:, :-1] * vectors[:, 1:] / bonds
    np.testing.assert_allclose(by_epsilon[:, :-1], -products, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(by_epsilon[:, -1], 0)


@pytest.mark.slow
def test_the_derivative_in_beta_is_that_of_the_level():
    key, n = jax.random.key(4), 500
    direct = lambda beta: GaussianBeta(n, beta).edge_levels(key, 2, corner=120)

    def through_levels(beta):
        ensemble = GaussianBeta(n, beta)
        return ensemble.soft_edge().standardize(ensemble.largest_eigenvalues(key, 2, corner=120))

    slopes = jax.jit(lambda beta: [slope(beta) for slope in map(jax.jacfwd, (through_levels, direct))])
    expected, forward = slopes(2.0)
    np.testing.assert_allclose(forward, expected, rtol=1e-9)


def test_bad_input(getkey):
    for k, corner, message in (
        (0, None, "`k` must be an integer of at least 1, got 0"),
        (9, None, "`k` must be at most 8, got 9"),
        (3, 2, "`corner` must be an integer of at least 3, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            GOE(8).edge_levels(getkey(), k, corner=corner)
