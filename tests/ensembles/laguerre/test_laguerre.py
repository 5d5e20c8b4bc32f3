"""Wishart matrices and Laguerre β-ensembles: exact laws at finite n, the hard edge, dense against bidiagonal."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import rmtjax as rmt
from tests.cases import further
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import assert_law, assert_mean

SCALE = 0.7
DRAWS = 8000


def log_slope(n, a, beta):
    """E Σ log x and E Σ_{i<j} log|x_i - x_j| for ∏|Δ|^β ∏ x^{α-1} e^{-x/2}, α = a - (n-1)β/2, by Selberg's integral."""
    j, psi, alpha = np.arange(1, n + 1), scipy.special.digamma, a - (n - 1) * beta / 2
    at = psi(alpha + (j - 1) * beta / 2)
    by_alpha = n * np.log(2) + at.sum()
    by_beta = (j * psi(1 + j * beta / 2) - psi(1 + beta / 2) + (j - 1) * at).sum() / 2
    return by_alpha, by_beta + n * (n - 1) / 2 * np.log(2)


def assert_laguerre(levels, a, beta, unit):
    """Exact laws of the density ∝ ∏|Δ|^β ∏ x^{a-(n-1)β/2-1} e^{-x/2} at x = levels/unit."""
    x, n = np.asarray(levels, np.float64) / unit, levels.shape[-1]
    assert (x > 0).all()
    # This sees wrong degrees of freedom, e.g. from a factor β in a or a row too many.
    assert_law(x.sum(-1), scipy.stats.chi2(2 * a * n).cdf)
    # For β = 1 this is the known n m (n + m + 1); for β = 2, with E|X|² = 2, it is 4 n m (n + m).
    assert_mean((x**2).sum(-1), 2 * a * n * (2 * a + beta * (n - 1) + 2))
    by_alpha, by_beta = log_slope(n, a, beta)
    assert_mean(np.log(x).sum(-1), by_alpha)
    if n > 1:
        i, j = np.triu_indices(n, 1)
        assert_mean(np.log(np.abs(x[:, i] - x[:, j])).sum(-1), by_beta)


@pytest.mark.heavy
@pytest.mark.float32
@pytest.mark.parametrize(("a", "beta"), [(4.3, 1.0), (2.0, 0.5), (9.0, 4.0), (40.0, 17.3), (7.5, 2.0)])
def test_exact_laws_for_every_beta(getkey, a, beta):
    n = 4
    levels, matrices = drawn(rmt.LaguerreBeta(n, a, beta, SCALE), DRAWS, getkey())
    unit = SCALE**2 / (2 * a)
    assert_laguerre(levels, a, beta, unit)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
    # `sample` with the same key is a different draw, but its trace has the same law.
    assert_law(np.trace(matrices, axis1=-2, axis2=-1) / unit, scipy.stats.chi2(2 * a * n).cdf)
    assert_mean((matrices.astype(np.float64) ** 2).sum((-1, -2)), unit**2 * 2 * a * n * (2 * a + beta * (n - 1) + 2))


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0, 6.0])
def test_smallest_level_at_the_hard_edge_is_exponential(getkey, beta):
    # For α = 1 the density has no power: x_min is exponential of rate n/2, for every β (Edelman 1988 at β = 2).
    n = 4
    levels, _ = drawn(rmt.LaguerreBeta(n, (n - 1) * beta / 2 + 1, beta, SCALE), DRAWS, getkey())
    unit = SCALE**2 / ((n - 1) * beta + 2)
    assert_law(levels[:, 0] / unit, scipy.stats.expon(scale=2 / n).cdf)


DAILY_WISHART = [(3, 5, 4), (5, 3, 1), (3, 3, 2)]


@pytest.mark.parametrize(
    ("n", "m", "beta"),
    [
        pytest.param(3, 5, 4, marks=pytest.mark.float32(further=True)),
        *DAILY_WISHART[1:],
        *further(*[(n, n + 2, beta) for n in (1, 3) for beta in (1, 2)], (1, 3, 4)),
        *further((5, 3, 2), (5, 3, 4), (3, 3, 1), (3, 3, 4), (4, 1, 1), (4, 1, 2), (4, 1, 4)),
    ],
)
def test_wishart_dense_and_reduced(getkey, n, m, beta):
    levels, matrices = drawn(rmt.Wishart(n, m, beta, SCALE), DRAWS, getkey())
    rank, unit = min(n, m), SCALE**2 / (beta * m)
    np.testing.assert_array_equal(levels[:, : n - rank], 0)
    dense = dense_levels(matrices, n)
    np.testing.assert_allclose(dense[:, : n - rank], 0, rtol=0, atol=100 * np.finfo(levels.dtype).eps * dense.max())
    # The smallest level of a square sample may be lost in rounding; the reduced model keeps it.
    for spectrum in (levels, np.maximum(dense, np.finfo(levels.dtype).eps * dense.max(-1, keepdims=True) / 10)):
        assert_laguerre(spectrum[:, n - rank :], beta * max(n, m) / 2, beta, unit)


@pytest.mark.parametrize(("n", "m", "beta"), DAILY_WISHART)
def test_entries_of_samples(getkey, n, m, beta):
    # E W = s², and the off-diagonal entries have E|W_ij|² = s⁴/m in β equal parts.
    _, w = drawn(rmt.Wishart(n, m, beta, SCALE), DRAWS, getkey())
    step = 2 if beta == 4 else 1
    assert_mean(w[:, 0, 0].real, SCALE**2)
    parts = [w[:, step, 0].real] + [w[:, step, 0].imag] * (beta > 1)
    parts += [w[:, 2, 1].real, w[:, 2, 1].imag] * (beta == 4)
    for part in parts:
        assert_mean(part, 0)
        assert_mean(part**2, SCALE**4 / (m * beta))


@jax.jit
def slopes(a, beta, keys):
    """Derivatives of Σ x and Σ x² by a, β and the scale at 1, from the reduced model and from the dense sample."""

    def powers(a, beta, scale, key):
        x = 2 * a * rmt.LaguerreBeta(3, a, beta, scale).sample(key)
        return jnp.stack([jnp.trace(x), jnp.sum(x**2)])

    return jax.vmap(lambda key: jax.jacobian(powers, (0, 1, 2))(a, beta, jnp.ones(()), key))(keys)


def test_derivatives_are_those_of_the_law(getkey):
    n, a, beta = 3, 4.3, 1.7
    draws = slopes(jnp.asarray(a), jnp.asarray(beta), jax.random.split(getkey(), 4000))
    by_a, by_beta, by_scale = map(np.asarray, draws)
    assert_mean(by_a[:, 0], 2 * n)
    assert_mean(by_a[:, 1], 2 * n * (2 * a + beta * (n - 1) + 2) + 4 * a * n)
    assert_mean(by_beta[:, 1], 2 * a * n * (n - 1))
    assert_mean(by_scale[:, 0], 4 * a * n)
    # Σ x is a sum of χ² variates with 2an degrees of freedom in total, for every β.
    assert_mean(by_beta[:, 0], 0)


# `linalg/test_bidiagonal.py` tests the derivatives of singular values every day.
@pytest.mark.slow
def test_levels_have_the_derivatives_of_their_matrix(getkey):
    # The levels are those of `_bidiagonal` with the same key, so their power sums have the derivatives of its entries.
    key, parameters = getkey(), (jnp.asarray(4.3), jnp.asarray(1.7), jnp.asarray(SCALE))

    def from_levels(*parameters):
        return (rmt.LaguerreBeta(3, *parameters).eigenvalues(key) ** 2).sum()

    def from_entries(*parameters):
        ensemble = rmt.LaguerreBeta(3, *parameters)
        b, c = ensemble._bidiagonal(key)
        product = jnp.diag(b) + jnp.diag(c, -1)
        return jnp.sum((ensemble._unit() * product @ product.T) ** 2)

    got = jax.jit(jax.grad(from_levels, (0, 1, 2)))(*parameters)
    np.testing.assert_allclose(got, jax.jit(jax.grad(from_entries, (0, 1, 2)))(*parameters), rtol=1e-11)


def test_laws():
    for law, ratio in [
        (rmt.Wishart(4, 10, 2, SCALE).law(), 0.4),
        (rmt.Wishart(10, 4, 2, SCALE).law(), 2.5),
        (rmt.LaguerreBeta(4, 20.0, 4.0, SCALE).law(), 0.4),
    ]:
        assert law.ratio == pytest.approx(ratio)
        assert law.scale == SCALE


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.LaguerreBeta(3, 1.0, float("inf")), "`beta` must be finite and not negative, got inf"),
        (
            lambda: rmt.LaguerreBeta(3, 1.0, 1.0),
            r"`a` must be finite and larger than \(n - 1\) beta/2 with n = 3 and beta = 1.0, got 1",
        ),
        (lambda: rmt.LaguerreBeta(3, -1.0, 1.0), "`a` must be finite and larger than .*, got -1"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_values_under_jit_are_caught(getkey):
    levels = jax.jit(lambda a, key: rmt.LaguerreBeta(3, a, 2.0).eigenvalues(key))
    jax.block_until_ready(levels(2.5, getkey()))
    assert jnp.all(jnp.isnan(levels(2.0, getkey())))
    law = jax.jit(lambda beta: rmt.LaguerreBeta(3, 2.0, beta).law().ratio)
    assert law(1.0) == 0.75
    assert jnp.all(jnp.isnan(law(2.0)))


@functools.partial(jax.jit, static_argnums=1)
def blocks(ensemble, number, order, key):
    draw = lambda key: (
        ensemble.leading_block_eigenvalues(key, order).values,
        ensemble.leading_block(key, order).values,
    )
    return jax.vmap(draw)(jax.random.split(key, number))


@pytest.mark.parametrize(("m", "beta", "order"), [(6, 1, 3), *further((2, 2, 3), (2, 2, 1), (4, 4, 2))])
def test_blocks_are_wishart_matrices_of_fewer_variables(getkey, m, beta, order):
    n = 4
    values, matrices = map(np.asarray, blocks(rmt.Wishart(n, m, beta, SCALE), DRAWS, order, getkey()))
    rank, rows = min(order, m), 2 * order if beta == 4 else order
    assert np.isposinf(values[:, order:]).all()
    np.testing.assert_array_equal(values[:, : order - rank], 0)
    np.testing.assert_array_equal(matrices[:, rows:], 0)
    dense = np.linalg.eigvalsh(matrices[:, :rows, :rows])[:, :: rows // order]
    for spectrum in (values[:, order - rank : order], dense[:, order - rank :]):
        assert_laguerre(spectrum, beta * max(order, m) / 2, beta, SCALE**2 / (beta * m))


@pytest.mark.slow
def test_block_counts_are_those_of_the_levels(getkey):
    key, ensemble = getkey(), rmt.Wishart(5, 2, 1, SCALE)
    levels = np.asarray(ensemble.leading_block_eigenvalues(key, 4).values)[:4]
    x = np.concatenate([levels * (1 - 1e-12), levels * (1 + 1e-12), [-1, 0, 1e-300, 9]])
    np.testing.assert_array_equal(
        ensemble._leading_block_counts(key, jnp.int32(4), x), np.less(levels, x[:, None]).sum(-1)
    )


@pytest.mark.slow
def test_mixed_wishart(getkey):
    # E tr W = s² E k at every order k: no rescaling, under both normalisations.
    n, m, mixture = 6, 9, 0.6
    mixed = rmt.Mixed(rmt.Wishart(n, m, 1, SCALE), mixture)
    keys = jax.random.split(getkey(), 4000)
    matrices, spectra = jax.jit(jax.vmap(lambda key: (mixed.sample(key), mixed.eigenvalues(key))))(keys)
    weights = scipy.stats.binom.pmf(np.arange(n + 1), n, mixture)
    order = (weights * np.maximum(np.arange(n + 1), 2)).sum()
    assert_mean(np.where(spectra.mask, spectra.values, 0).sum(-1), SCALE**2 * order)
    assert_mean(np.trace(matrices.values, axis1=-2, axis2=-1), SCALE**2 * order)


def test_laws_of_mixed_wishart_matrices():
    n, m, mixture = 6, 9, 0.6
    for normalize in ("order", "reference"):
        law = rmt.Mixed(rmt.Wishart(n, m, 1, SCALE), mixture, normalize).law()
        assert law.ratio == pytest.approx(mixture * n / m)
    assert rmt.Mixed(rmt.Wishart(n, m), mixture).law("ascending").cdf(1.0) > 0.5
