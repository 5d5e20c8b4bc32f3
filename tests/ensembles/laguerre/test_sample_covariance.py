"""Wishart matrices of a population covariance and sample correlation matrices: exact laws at finite n."""

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
from tests.statistical import assert_law, assert_mean

DRAWS = 20_000
REAL = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.5]])
COMPLEX = REAL + 1j * np.array([[0.0, 0.4, 0.1], [-0.4, 0.0, -0.2], [-0.1, 0.2, 0.0]])
CASES = pytest.mark.parametrize(
    ("beta", "m"),
    [
        pytest.param(4, 3, marks=pytest.mark.float32(further=True)),
        *further((1, 2), (1, 5), (1, 2.4), (2, 4), (2, 2), (2, 2.7), (4, 2)),
    ],
)


def levels_and_matrices(ensemble, key):
    """The levels and the samples with the same keys, which have these levels: both come from the same factor."""
    levels, matrices = drawn(ensemble, DRAWS, key)
    dense = dense_levels(matrices, ensemble.n, ulps=200)
    np.testing.assert_allclose(levels, dense, rtol=0, atol=200 * np.finfo(levels.dtype).eps * dense.max())
    return levels.astype(np.float64), matrices.astype(np.result_type(matrices, np.float64))


def entries(matrices, beta):
    """The entries as n×n complex numbers; of a quaternion a + bj this is the part a."""
    return matrices[:, ::2, ::2] if beta == 4 else matrices


@CASES
def test_population_covariance(getkey, beta, m):
    sigma = COMPLEX if beta == 2 else REAL
    levels, matrices = levels_and_matrices(rmt.CorrelatedWishart(jnp.asarray(sigma), m, beta), getkey())
    n, w = 3, entries(matrices, beta)
    np.testing.assert_array_equal(levels[:, : int(max(n - m, 0))], 0)
    for i in range(n):
        for j in range(n):
            assert_mean(w[:, i, j].real, sigma[i, j].real)
            if beta > 1 and i != j:
                assert_mean(w[:, i, j].imag, sigma[i, j].imag)
    # E W² = Σ² + Σ tr Σ/m + (2/β - 1) Σ²/m sees wrong degrees of freedom and a root taken twice or transposed.
    square, trace = np.trace(sigma @ sigma).real, np.trace(sigma).real
    assert_mean((levels**2).sum(-1), square * (1 + (2 / beta - 1) / m) + trace**2 / m)
    # W₁₁/Σ₁₁ is a χ² variate of βm degrees of freedom, divided by their number.
    assert_law(w[:, 0, 0].real / sigma[0, 0].real * beta * m, scipy.stats.chi2(beta * m).cdf)
    if m > n - 1:
        determinant = np.linalg.slogdet(sigma)[1] + scipy.special.digamma(beta / 2 * (m - np.arange(n))).sum()
        assert_mean(np.log(levels).sum(-1), determinant + n * np.log(2 / (beta * m)))


@pytest.mark.slow
def test_white_covariance_is_wishart(getkey):
    n, m, scale = 4, 6, 0.7
    ensemble = rmt.CorrelatedWishart(scale**2 * jnp.eye(n), m)
    levels, _ = drawn(ensemble, DRAWS, getkey())
    matrices = jax.jit(jax.vmap(rmt.Wishart(n, m, 1, scale).sample))(jax.random.split(getkey(), DRAWS))
    others = np.linalg.eigvalsh(matrices)
    for k in range(n):
        assert scipy.stats.ks_2samp(levels[:, k], others[:, k]).pvalue > 1e-6


@CASES
def test_correlations(getkey, beta, m):
    n = 3
    levels, matrices = levels_and_matrices(rmt.SampleCorrelation(n, m, beta), getkey())
    r = entries(matrices, beta)
    np.testing.assert_array_equal(matrices[:, range(len(matrices[0])), range(len(matrices[0]))], 1)
    # The entries are inner products of vectors that are uniform on the sphere in βm real dimensions.
    square = np.abs(r[:, 1, 0]) ** 2
    if beta == 4:
        square = square + np.abs(matrices[:, 2, 1]) ** 2
    assert_law(square, scipy.stats.beta(beta / 2, beta * (m - 1) / 2).cdf)
    assert_mean(r[:, 1, 0].real, 0)
    assert_mean(square * np.abs(r[:, 2, 0]) ** 2, 1 / (m**2 * (2 if beta == 4 else 1)))
    assert_mean((levels**2).sum(-1), n + n * (n - 1) / m)
    assert_mean((levels**3).sum(-1), n + 3 * n * (n - 1) / m + n * (n - 1) * (n - 2) / m**2)
    if m > n - 1:
        assert_mean(levels.prod(-1), np.prod(1 - np.arange(n) / m))


def test_derivatives(getkey):
    key = getkey()

    def power_sums(sigma):
        levels = rmt.CorrelatedWishart(sigma, 4).eigenvalues(key)
        return jnp.stack([levels.sum(), (levels**2).sum(), levels[0]])

    check_derivatives(power_sums, jnp.asarray(REAL))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rmt.CorrelatedWishart(jnp.ones((2, 3)), 3), ValueError, "`covariance` must have square matrices"),
        (lambda: rmt.CorrelatedWishart(jnp.ones((2, 2, 2)), 3), ValueError, "`covariance` must be one matrix"),
        (lambda: rmt.CorrelatedWishart(-jnp.eye(2), 3), ValueError, "`covariance` must be positive definite"),
        (lambda: rmt.CorrelatedWishart(jnp.diag(jnp.array([1.0, 0.0])), 3), ValueError, "must be positive definite"),
        (
            lambda: rmt.CorrelatedWishart(1j * jnp.eye(2, dtype=complex), 3),
            ValueError,
            "`covariance` must be real for beta = 1",
        ),
        (lambda: rmt.SampleCorrelation(3, 2).joint_logpdf(jnp.ones(3)), NotImplementedError, "not known"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
