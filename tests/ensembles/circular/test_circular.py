"""Circular ensembles: exact laws at finite n of matrices, coefficients and `joint_logpdf`, structure, bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives, check_jit, check_vmap
from tests.cases import daily, further
from tests.ensembles.draws import dense_phases, drawn
from tests.statistical import assert_law, assert_mean

DRAWS = 8000
CLASSICAL = {1: rmt.COE, 2: rmt.CUE, 4: rmt.CSE}


def assert_circular(phases, beta):
    """Exact laws of the density ∝ ∏|e^{iθ_j} - e^{iθ_k}|^β."""
    phases, n = np.asarray(phases, np.float64), phases.shape[-1]
    assert (np.abs(phases) <= np.pi * (1 + 1e-6)).all()
    z = np.exp(1j * phases)
    # One phase of each draw is uniform. Without the phases of R, the phases of Q in X = QR are not uniform.
    picked = phases[np.arange(len(phases)), np.arange(len(phases)) % n]
    assert_law(picked, scipy.stats.uniform(-np.pi, 2 * np.pi).cdf)
    # E|tr U|² = 2n/(2 + β(n - 1)): 1 for the CUE (Jiang and Matsumoto 2015, for every β).
    assert_mean(np.abs(z.sum(-1)) ** 2, 2 * n / (2 + beta * (n - 1)))
    # E|det(1 - U)|², Selberg's integral in Morris' form (Keating and Snaith 2000, equation 110).
    j = np.arange(n) * beta / 2
    assert_mean((np.abs(1 - z) ** 2).prod(-1), np.prod((2 + j) / (1 + j)))
    if n > 1:
        # A logarithmic derivative of Dyson's integral.
        i, k = np.triu_indices(n, 1)
        psi = scipy.special.digamma
        repulsion = n / 2 * (psi(1 + beta * n / 2) - psi(1 + beta / 2))
        assert_mean(np.log(np.abs(z[:, i] - z[:, k])).sum(-1), repulsion)
    if n == 2:
        # |sin(Δ/2)| has the density ∝ s^β/√(1 - s²): its square is a beta variate.
        assert_law(np.sin((phases[:, 1] - phases[:, 0]) / 2) ** 2, scipy.stats.beta((beta + 1) / 2, 0.5).cdf)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [pytest.param(5, marks=pytest.mark.float32(further=True)), *further(1, 2)])
@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0, 7.5])
def test_exact_laws_for_every_beta(getkey, n, beta):
    phases, matrices = drawn(rmt.CircularBeta(n, beta), DRAWS, getkey())
    assert (np.diff(phases) >= 0).all()
    assert_circular(phases, beta)
    assert_circular(dense_phases(matrices), beta)
    eps = np.finfo(phases.dtype).eps
    np.testing.assert_allclose(
        matrices @ np.swapaxes(matrices.conj(), -1, -2),
        np.broadcast_to(np.eye(n), matrices.shape),
        rtol=0,
        atol=20 * eps,
    )
    # Only five diagonals are nonzero.
    i, j = np.indices((n, n))
    assert (matrices[:, np.abs(i - j) > 2] == 0).all()


@pytest.mark.heavy
@pytest.mark.parametrize(("n", "beta"), daily(itertools.product([1, 2, 4], CLASSICAL), only=[(4, 4)]))
def test_classical_matrices(getkey, n, beta):
    phases, matrices = drawn(CLASSICAL[beta](n), DRAWS, getkey())
    eps, rows = np.finfo(phases.dtype).eps, matrices.shape[-1]
    assert rows == (2 * n if beta == 4 else n)
    product = matrices @ np.swapaxes(matrices.conj(), -1, -2)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(rows), matrices.shape), rtol=0, atol=40 * eps)
    transposed = np.swapaxes(matrices, -1, -2)
    if beta == 1:
        np.testing.assert_array_equal(matrices, transposed)
    dense = dense_phases(matrices)
    if beta == 4:
        z = np.kron(np.eye(n), [[0, 1], [-1, 0]])
        np.testing.assert_array_equal(matrices, z @ transposed @ z.T)
        # A pair may lie on both sides of the cut at π; on the circle it is one point.
        levels = np.exp(1j * dense)
        split = np.abs(levels[:, 0] - levels[:, 1]) > 1e3 * eps
        levels = np.where(split[:, None], np.roll(levels, 1, axis=-1), levels)
        np.testing.assert_allclose(levels[:, ::2], levels[:, 1::2], rtol=0, atol=1e3 * eps)
        dense = np.angle(levels[:, ::2])
    assert_circular(dense, beta)
    assert_circular(phases, beta)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_traces_of_powers_of_the_cue(getkey, k):
    # E|tr U^k|² = min(k, n) (Diaconis and Shahshahani 1994), and E tr U = 0.
    phases, matrices = drawn(rmt.CUE(4), DRAWS, getkey())
    for levels in (phases, np.angle(np.linalg.eigvals(matrices))):
        power = np.exp(1j * k * levels).sum(-1)
        assert_mean(np.abs(power) ** 2, min(k, 4))
        assert_mean(power.real, 0)
        assert_mean(power.imag, 0)


@pytest.mark.slow
def test_mean_gap_ratio(getkey):
    # Atas et al. (2013), table I; n = 50 levels of the circle are in the bulk all around.
    for beta, expected in [(1.0, 0.5307), (2.0, 0.5996), (4.0, 0.6744)]:
        draw = jax.jit(jax.vmap(rmt.CircularBeta(50, beta).eigenphases))
        gaps = np.diff(draw(jax.random.split(getkey(), 2000)))
        ratio = np.minimum(gaps[:, 1:], gaps[:, :-1]) / np.maximum(gaps[:, 1:], gaps[:, :-1])
        assert_mean(ratio.mean(-1), expected)


def test_infinite_beta_is_a_lattice(getkey):
    phases = rmt.CircularBeta(6, np.inf).eigenphases(getkey())
    np.testing.assert_allclose(np.diff(phases), np.pi / 3, rtol=1e-13)


def test_eigenvalues_are_those_of_the_phases(getkey):
    key, ensemble = getkey(), rmt.CircularBeta(6, 1.7)
    phases = np.asarray(ensemble.eigenphases(key))
    np.testing.assert_allclose(ensemble.eigenvalues(key), np.exp(1j * phases), rtol=0, atol=1e-15)
    assert (ensemble.law().lower, ensemble.law().upper) == (-np.pi, np.pi)


@pytest.mark.parametrize("ensemble", [rmt.COE(2), rmt.CUE(2), rmt.CSE(2), rmt.CircularBeta(2, 1.7)], ids=repr)
def test_total_mass_of_two_phases(ensemble):
    # Quadrature in s = (Δ/π)^(1/4) in (0, 1) for the difference Δ: |sin|^β is smooth enough in s.
    s, weights = np.polynomial.legendre.leggauss(100)
    s, weights = (s + 1) / 2, weights / 2
    density = np.exp(jax.vmap(lambda gap: ensemble.joint_logpdf(jnp.stack([0.3 + gap, 0.3])))(np.pi * s**4))
    np.testing.assert_allclose(2 * np.pi * np.sum(2 * density * np.pi * 4 * s**3 * weights), 1, rtol=1e-9)


@pytest.mark.heavy
def test_joint_density_of_many_phases():
    # At equal distances ∏_{j<k} |z_j - z_k| = n^{n/2}.
    n, beta = 10_000, 2.0
    height = rmt.CircularBeta(n, beta).joint_logpdf(2 * np.pi * np.arange(n) / n)
    exact = beta * n / 2 * np.log(n) - n * np.log(2 * np.pi) - scipy.special.gammaln(1 + beta * n / 2)
    np.testing.assert_allclose(height, exact + n * scipy.special.gammaln(1 + beta / 2), rtol=0, atol=1e-6)
    assert rmt.CUE(2).joint_logpdf(jnp.array([0.4, 0.4])) == -jnp.inf
    check_derivatives(lambda e, x: e.joint_logpdf(x), rmt.CircularBeta(3, 1.3), jnp.array([-1.0, 0.2, 2.0]))


@pytest.mark.slow
def test_phases_compose(getkey):
    # At a fixed key phases are smooth functions of β.
    key = getkey()
    phases = lambda beta: rmt.CircularBeta(5, beta).eigenphases(key)
    for check in (check_jit, check_vmap, check_derivatives):
        check(phases, 1.7)
    draw = lambda key: (rmt.COE(3).eigenphases(key), rmt.CSE(3).sample(key), rmt.CUE(3).count_below(key, 0.3))
    check_jit(draw, key)
    check_vmap(draw, key)
    # These are two programs, which may round differently.
    np.testing.assert_allclose(jax.jit(rmt.CUE(3).eigenphases)(key), rmt.CUE(3).eigenphases(key), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.CUE(3).joint_logpdf(jnp.ones(2)), r"`eigenphases` must have the shape \(3,\)"),
        (lambda: rmt.CircularBeta(2, np.inf).joint_logpdf(jnp.ones(2)), "`beta` must be finite"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
