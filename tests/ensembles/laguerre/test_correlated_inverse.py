"""Inverse Wishart matrices with a scale matrix: exact laws at finite n, triangular factors, limits of the degrees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import ERROR_RATE, assert_law, assert_mean

REAL = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.5]])
COMPLEX = REAL + 1j * np.array([[0.0, 0.4, 0.1], [-0.4, 0.0, -0.2], [-0.1, 0.2, 0.0]])
N = 3


@pytest.mark.parametrize(
    ("beta", "m"),
    [pytest.param(2, 8.5, marks=pytest.mark.float32(further=True)), *further((1, 10.5), (4, 8.0), (1, 2.2))],
)
def test_exact_laws(getkey, beta, m):
    c = COMPLEX if beta == 2 else REAL
    levels, matrices = drawn(rmt.CorrelatedInverseWishart(c, m, beta), 20_000, getkey())
    dense = dense_levels(matrices, N, ulps=200)
    levels, dense = levels.astype(float), dense.astype(float)
    unit = beta * m / 2
    if m > N:
        # Levels and samples with the same key come from the same factor.
        np.testing.assert_allclose(levels, dense, rtol=0, atol=1e-3 * dense.max())
        entries = (matrices[:, ::2, ::2] if beta == 4 else matrices).astype(complex)
        mean = c * m / (m - N + 1 - 2 / beta)
        for i in range(N):
            for j in range(i + 1):
                assert_mean(entries[:, i, j].real, mean[i, j].real)
                if beta == 2 and i != j:
                    assert_mean(entries[:, i, j].imag, mean[i, j].imag)
        inverse = np.linalg.inv(entries if beta < 4 else matrices.astype(complex))[:, 0, 0].real
        assert_mean(inverse, np.linalg.inv(c)[0, 0].real)
    determinant = np.linalg.slogdet(c)[1] - scipy.special.digamma(beta / 2 * (m - np.arange(N))).sum()
    assert_mean(np.log(levels).sum(-1), determinant + N * np.log(unit))
    # Every entry of the diagonal is its unit over a χ² variate (Muirhead 1982, theorem 3.2.12).
    for i, place in enumerate(range(0, len(matrices[0]), 2 if beta == 4 else 1)):
        ratio = beta * m * c[i, i].real / matrices[:, place, place].real
        assert_law(ratio, scipy.stats.chi2(beta * (m - N + 1)).cdf)


@pytest.mark.slow
def test_white_matrices_are_those_of_inverse_wishart(getkey):
    ensembles = rmt.CorrelatedInverseWishart(0.49 * np.eye(N), 6, 2), rmt.InverseWishart(N, 6, 2, 0.7)
    one, other = (drawn(ensemble, 20_000, getkey())[0] for ensemble in ensembles)
    for k in range(N):
        assert scipy.stats.ks_2samp(one[:, k], other[:, k]).pvalue > ERROR_RATE


@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_triangular_factors(getkey, beta):
    c = COMPLEX if beta == 2 else REAL
    made = [rmt.CorrelatedWishart(c, 3.5, beta), rmt.CorrelatedInverseWishart(c, 3.5, beta)]
    for ensemble in [*made, rmt.CorrelatedWishart(c, 2, beta)]:
        key = getkey()
        factor, matrix = np.asarray(ensemble.cholesky(key)), np.asarray(ensemble.sample(key))
        np.testing.assert_array_equal(np.triu(factor, 1), 0)
        assert (np.diagonal(factor).real > 0).all()
        np.testing.assert_allclose(factor @ factor.conj().T, matrix, rtol=1e-12, atol=1e-12)
        if factor.shape == matrix.shape:
            np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=1e-6, atol=1e-8)


def test_mean():
    for beta in (1, 2):
        inverse = rmt.CorrelatedInverseWishart(REAL, 7.0, beta)
        np.testing.assert_allclose(inverse.mean(), REAL * 7 / (5 - 2 / beta), rtol=1e-14)
    np.testing.assert_allclose(scipy.stats.invwishart(7, 7 * REAL).mean(), rmt.CorrelatedInverseWishart(REAL, 7).mean())
    np.testing.assert_allclose(rmt.CorrelatedWishart(REAL, 7, 4).mean(), np.kron(REAL, np.eye(2)), rtol=1e-14)
    assert np.isnan(rmt.CorrelatedInverseWishart(REAL, 4).mean()).all()


def test_a_draw_has_the_derivative_in_the_degrees(getkey):
    # d/dm of E log det M, unbiased gradients of implicit reparametrisation.
    keys, m = jax.random.split(getkey(), 4000), 4.5
    logarithm = lambda m, key: jnp.log(jnp.diagonal(rmt.CorrelatedInverseWishart(REAL, m).cholesky(key))).sum() * 2
    slopes = jax.jit(jax.vmap(jax.grad(logarithm), (None, 0)))(m, keys)
    assert_mean(slopes, N / m - scipy.special.polygamma(1, (m - np.arange(N)) / 2).sum() / 2)


def test_derivatives(getkey):
    key = getkey()
    sums = lambda c: jnp.stack([(levels := rmt.CorrelatedInverseWishart(c, 4.5).eigenvalues(key)).sum(), levels[0]])
    check_derivatives(sums, jnp.asarray(REAL))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.CorrelatedInverseWishart(REAL, 2), "`m` must be finite and larger than n - 1 = 2, got 2"),
        (lambda: rmt.CorrelatedWishart(REAL, 1.5), "`m` must be .* larger than n - 1 = 2, or a whole number from 1 on"),
        (lambda: rmt.SampleCorrelation(3, 0), "`m` must be .* larger than n - 1 = 2, or a whole number from 1 on"),
        (lambda: rmt.CorrelatedInverseWishart(-REAL, 5), "`covariance` must be positive definite"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_no_law():
    with pytest.raises(NotImplementedError, match="CorrelatedInverseWishart"):
        rmt.CorrelatedInverseWishart(REAL, 5).law()
