"""Densities of matrices: SciPy, other packages, Weyl's integration formula, quadrature, far parameters, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.special import gammaln

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further

N, SCALE = 3, 0.7
SIGMA = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.5]])
W = np.array([[1.7, 0.2, -0.1], [0.2, 1.3, 0.15], [-0.1, 0.15, 0.4]])
R = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])


@pytest.mark.parametrize("df", [2.3, *further(4.0, 1e4)])
def test_real_matrices_have_the_densities_of_scipy(df):
    wishart, inverse = rmt.CorrelatedWishart(df * SIGMA, df), rmt.CorrelatedInverseWishart(SIGMA / df, df)
    np.testing.assert_allclose(wishart.logpdf(W), scipy.stats.wishart(df, SIGMA).logpdf(W), rtol=1e-10)
    np.testing.assert_allclose(inverse.logpdf(W), scipy.stats.invwishart(df, SIGMA).logpdf(W), rtol=1e-10)


def test_real_matrices_have_the_densities_of_other_packages():
    # NumPyro 0.22.0: Wishart(5.5, scale_matrix=SIGMA), InverseWishart(5.5, scale_matrix=SIGMA) and LKJ(3, 1.75), their
    # log_prob(W) and log_prob(R). WishartTriL of TensorFlow Probability 0.25.0 has the same first number.
    np.testing.assert_allclose(rmt.CorrelatedWishart(5.5 * SIGMA, 5.5).logpdf(W), -9.09539253971191, rtol=1e-12)
    np.testing.assert_allclose(rmt.CorrelatedInverseWishart(SIGMA / 5.5, 5.5).logpdf(W), -9.877160911086511, rtol=1e-12)
    np.testing.assert_allclose(rmt.SampleCorrelation(3, 2 * 1.75 + 2).logpdf(R), -1.2419999602558467, rtol=1e-12)


INVARIANT = {
    1: lambda n: [rmt.GOE(n, SCALE), rmt.Jacobi(n, n, n + 2, 1)],
    2: lambda n: [rmt.GUE(n, SCALE), rmt.Jacobi(n, n + 1, n, 2)],
    4: lambda n: [rmt.GSE(n, SCALE), rmt.Jacobi(n, n + 1, n + 3, 4)],
}


@pytest.mark.parametrize("beta", [4, *further(1, 2)])
def test_weyl_integration_formula(getkey, beta):
    # The density of the levels is that of the matrices times the volume of their eigenvectors. The Gaussian densities
    # are products over the entries, so they test the volume itself.
    wisharts = [rmt.Wishart(N, N + 1, beta, SCALE), rmt.InverseWishart(N, N, beta, SCALE)]
    white = SCALE**2 * np.eye(N)
    pairs = [(each, each) for each in [*INVARIANT[beta](N), *wisharts]]
    pairs += [(rmt.CorrelatedWishart(white, N + 1, beta), wisharts[0])]
    pairs += [(rmt.CorrelatedInverseWishart(white, N, beta), wisharts[1])]
    j = np.arange(1, N + 1)
    volume = beta * N * (N - 1) / 4 * np.log(np.pi) + np.sum(gammaln(1 + beta / 2) - gammaln(1 + j * beta / 2))
    for matrices, levels in pairs:
        h = matrices.sample(getkey())
        x = np.linalg.eigvalsh(h)[:: 2 if beta == 4 else 1]
        distances = sum(np.log(abs(x[k] - x[i])) for i in range(N) for k in range(i))
        expected = levels.joint_logpdf(x) - beta * distances - volume
        np.testing.assert_allclose(matrices.logpdf(h), expected, rtol=1e-9, atol=1e-9, err_msg=repr(matrices))


@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_matrices_of_one_entry(beta):
    x, a, m = 0.4, beta * 3.5 / 2, 3.5
    block = x * np.eye(2 if beta == 4 else 1)
    wishart, inverse = rmt.CorrelatedWishart([[0.8]], m, beta), rmt.CorrelatedInverseWishart([[0.8]], m, beta)
    np.testing.assert_allclose(wishart.logpdf(block), scipy.stats.gamma(a, scale=0.8 / a).logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(inverse.logpdf(block), scipy.stats.invgamma(a, scale=0.8 * a).logpdf(x), rtol=1e-12)
    jacobi = scipy.stats.beta(beta, 3 * beta / 2).logpdf(x)
    np.testing.assert_allclose(rmt.Jacobi(1, 2, 3, beta).logpdf(block), jacobi, rtol=1e-12)
    assert rmt.SampleCorrelation(1, m, beta).logpdf(block / x) == 0


@pytest.mark.parametrize("beta", [2, *further(1)])
def test_total_mass_of_two_rows(beta):
    # W = [[x, r √(xy)], [r̄ √(xy), y]] with x = u², y = v² and |r| < 1: dW = (xy)^{β/2} dx dy dr.
    sigma = np.array([[1.0, 0.4], [0.4, 0.7]]) + (0.2j * np.array([[0, 1], [-1, 0]]) if beta == 2 else 0)
    ensemble = rmt.CorrelatedWishart(sigma, 5.0, beta)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    u, du = 1.7 * (nodes + 1), 1.7 * weights
    if beta == 1:
        r, dr = nodes, weights
    else:
        angle = np.arange(24) * np.pi / 12
        r = ((nodes[:, None] + 1) / 2 * np.exp(1j * angle)).ravel()
        dr = (weights / 2 * (nodes + 1) / 2 * np.pi / 12).repeat(24)
    u, v, r = np.meshgrid(u, u, r, indexing="ij")
    rows = np.stack([np.stack([u**2 + 0 * r, r * u * v], -1), np.stack([r.conj() * u * v, v**2 + 0 * r], -1)], -2)
    density = np.exp(jax.jit(jax.vmap(ensemble.logpdf))(rows.reshape(-1, 2, 2))).reshape(r.shape)
    total = np.einsum("ijk,i,j,k", density * (u * v) ** beta * 4 * u * v, du, du, dr)
    np.testing.assert_allclose(total, 1, rtol=1e-7)


@pytest.mark.parametrize("beta", [1, *further(2, 4)])
def test_correlation_of_two_variables(beta):
    m, r = 3.4, 0.6
    matrix = np.kron([[1, r], [r, 1]], np.eye(2)) if beta == 4 else np.array([[1, r], [r, 1]])
    # |R₁₂|² is a beta variate, and R₁₂ has a uniform direction in β dimensions.
    radial = scipy.stats.beta(beta / 2, beta * (m - 1) / 2).logpdf(r**2) + np.log(2 * r)
    sphere = np.log(2) + beta / 2 * np.log(np.pi) - gammaln(beta / 2) + (beta - 1) * np.log(r)
    np.testing.assert_allclose(rmt.SampleCorrelation(2, m, beta).logpdf(matrix), radial - sphere, rtol=1e-12)


@pytest.mark.float32
def test_many_degrees_of_freedom_in_single_precision(getkey):
    # Terms of the size n m log m would cancel, with a rest of 10 in float32.
    df, sigma = np.float32(1e6), SIGMA.astype(np.float32)
    for ensemble, exact in [
        (rmt.CorrelatedWishart(sigma, df), scipy.stats.wishart(1e6, sigma / 1e6)),
        (rmt.CorrelatedInverseWishart(sigma, df), scipy.stats.invwishart(1e6, sigma * 1e6)),
    ]:
        w = np.asarray(ensemble.sample(getkey()))
        got = ensemble.logpdf(w)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, exact.logpdf(w.astype(float)), rtol=0, atol=0.02)


def test_variables_of_very_different_units():
    # The determinant of a change of the units d is ∏ d^{n+1}. All eigenvalues but the largest would be rounding errors.
    d = 2.0 ** np.array([-100, 0, 60])
    outer, shift = d[:, None] * d, (N + 1) * np.log(d).sum()
    for make in (rmt.CorrelatedWishart, rmt.CorrelatedInverseWishart):
        expected = make(SIGMA, 5.5).logpdf(W) - shift
        np.testing.assert_allclose(make(outer * SIGMA, 5.5).logpdf(outer * W), expected, rtol=1e-13)


def test_outside_of_the_support():
    wishart, jacobi = rmt.CorrelatedWishart(SIGMA, 5.5), rmt.Jacobi(N, 4, 5)
    slope = jax.jit(jax.value_and_grad(lambda ensemble, matrix: ensemble.logpdf(matrix), allow_int=True))
    indefinite = np.diag([1.0, 1.0, -0.1])
    value, gradient = slope(wishart, indefinite)
    assert value == -np.inf
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert wishart.logpdf(np.diag([1.0, 1.0, 0.0])) == -np.inf
    for matrix in (-0.1 * np.eye(N), 1.1 * np.eye(N)):
        assert jacobi.logpdf(matrix) == -np.inf


@pytest.mark.float32
def test_matrices_without_the_form_of_samples():
    correlation, beside = rmt.SampleCorrelation(N, 5), 1e-2 * np.eye(N)
    assert correlation.logpdf(R + 1e-6 * beside) == correlation.logpdf(R)
    with pytest.raises(ValueError, match="`matrix` must have a unit diagonal"):
        correlation.logpdf(R + beside)
    gse, quaternions = rmt.GSE(2), np.kron([[2.0, 0.5], [0.5, 1.0]], np.eye(2))
    spin = np.diag([1.0, -1.0, 0.0, 0.0])  # self-adjoint, but no quaternion
    np.testing.assert_allclose(gse.logpdf(quaternions + 1e-8 * spin), gse.logpdf(quaternions), rtol=1e-6)
    with pytest.raises(ValueError, match="`matrix` must have a quaternion for each 2×2 block"):
        gse.logpdf(quaternions + 1e-2 * spin)
    for ensemble, inside, outside in ((correlation, R, R + beside), (gse, quaternions, quaternions + 1e-2 * spin)):
        found = jax.jit(jax.vmap(ensemble.logpdf))(np.stack([inside, outside, np.nan * inside]))
        np.testing.assert_allclose(found[0], ensemble.logpdf(inside), rtol=1e-6)
        assert found[1] == -np.inf
        assert np.isnan(found[2])


def test_the_hermitian_part_counts():
    skew = np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0]])
    for ensemble in (rmt.GOE(N), rmt.CorrelatedWishart(SIGMA, 5.5)):
        np.testing.assert_allclose(ensemble.logpdf(W + skew), ensemble.logpdf(W), rtol=1e-14)


def test_derivatives():
    check_derivatives(lambda e, x: e.logpdf(x), rmt.CorrelatedWishart(SIGMA, 5.5), jnp.asarray(W))
    check_derivatives(lambda e, x: e.logpdf(x), rmt.CorrelatedInverseWishart(SIGMA, 5.5), jnp.asarray(W))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rmt.GOE(3).logpdf(np.eye(2)), ValueError, r"`matrix` must have the shape \(3, 3\), got \(2, 2\)"),
        (lambda: rmt.GSE(3).logpdf(np.eye(3)), ValueError, r"`matrix` must have the shape \(6, 6\)"),
        (lambda: rmt.GOE(3).logpdf(np.ones((5, 3, 3))), ValueError, r"shape \(3, 3\) \(use `jax.vmap` for several\)"),
        (lambda: rmt.GOE(3).logpdf(1j * np.eye(3)), ValueError, "`matrix` must be real for beta = 1"),
        (lambda: rmt.GOE(3).logpdf(np.nan * np.eye(3)), ValueError, "`matrix` must be finite"),
        (lambda: rmt.CorrelatedWishart(SIGMA, 2).logpdf(W), NotImplementedError, "have no density: their rank is 2"),
        (lambda: rmt.Wishart(3, 2).logpdf(W), NotImplementedError, "of rank 2 < n = 3 have no density"),
        (lambda: rmt.Jacobi(3, 4, 2).logpdf(W), NotImplementedError, "m1 or m2 < n = 3 have no density"),
        (lambda: rmt.GaussianBeta(3, 2.0).logpdf(W), NotImplementedError, "no density, or none that is known"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_traced_matrices_that_are_not_finite():
    assert np.isnan(jax.jit(rmt.CorrelatedWishart(SIGMA, 5.5).logpdf)(np.full((3, 3), np.nan)))
    assert np.isnan(jax.jit(lambda m: rmt.CorrelatedWishart(SIGMA, m).logpdf(W))(1.5))
