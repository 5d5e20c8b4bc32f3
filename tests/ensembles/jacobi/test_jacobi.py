"""Jacobi matrices and β-ensembles: exact laws at finite n, joint densities, hard edges, dense against bidiagonal."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from scipy.special import betaln, gammaln, xlogy

import rmtjax as rmt
from rmtjax.special._selberg import log_selberg
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import ERROR_RATE, assert_law, assert_mean

DRAWS = 8000


def log_slope(n, p, q, beta):
    """E Σ log x, E Σ log(1 - x) and E Σ_{i<j} log|x_i - x_j|: logarithmic derivatives of Selberg's integral."""
    j, psi, gamma = np.arange(n), scipy.special.digamma, beta / 2
    at_p, at_q, together = psi(p + j * gamma), psi(q + j * gamma), psi(p + q + (n - 1 + j) * gamma)
    by_gamma = j * (at_p + at_q) + (j + 1) * psi(1 + (j + 1) * gamma) - psi(1 + gamma) - (n - 1 + j) * together
    return (at_p - together).sum(), (at_q - together).sum(), by_gamma.sum() / 2


def assert_jacobi(levels, p, q, beta):
    """Exact laws of the density ∝ ∏|Δ|^β ∏ x^{p-1} (1 - x)^{q-1}."""
    x, n, gamma = np.asarray(levels, np.float64), levels.shape[-1], beta / 2
    # Levels that rounding puts on an end (or beyond it, in a dense sample) are moved inside by a rounding error.
    tiny = np.finfo(levels.dtype).eps / 8
    x, rest = np.maximum(x, tiny), np.maximum(1 - x, tiny)
    i, j, k = *np.triu_indices(n, 1), np.arange(n)
    # The first two elementary symmetric functions (Aomoto 1987) see wrong degrees of freedom, factors β or rows.
    assert_mean(x.sum(-1), n * (p + (n - 1) * gamma) / (p + q + 2 * (n - 1) * gamma))
    by_p, by_q, by_beta = log_slope(n, p, q, beta)
    assert_mean(np.log(x).sum(-1), by_p)
    assert_mean(np.log(rest).sum(-1), by_q)
    if n > 1:
        ratio = lambda k: (p + (n - k) * gamma) / (p + q + (2 * n - k - 1) * gamma)
        assert_mean((x[:, i] * x[:, j]).sum(-1), n * (n - 1) / 2 * ratio(1) * ratio(2))
        assert_mean(np.log(np.abs(x[:, i] - x[:, j]) + tiny).sum(-1), by_beta)
    # Wilks: by Selberg's integral ∏ x has the moments of a product of independent beta variates.
    other = (n - 1) * gamma
    random = np.random.default_rng(1932).beta
    for product, one, two in [(x.prod(-1), p, q), (rest.prod(-1), q, p)]:
        expected = random(one + k * gamma, two + other, (20_000, n)).prod(-1)
        assert scipy.stats.ks_2samp(product, expected).pvalue > ERROR_RATE


@pytest.mark.heavy
@pytest.mark.float32
@pytest.mark.parametrize(
    ("p", "q", "beta"), [(2.8, 1.3, 1.0), (1.3, 0.9, 0.5), (3.0, 7.5, 4.0), (14.0, 2.0, 17.3), (1.0, 40.0, 2.0)]
)
def test_exact_laws_for_every_beta(getkey, p, q, beta):
    n = 4
    a, b = p + (n - 1) * beta / 2, q + (n - 1) * beta / 2
    levels, matrices = drawn(rmt.JacobiBeta(n, a, b, beta), DRAWS, getkey())
    assert levels.min() >= 0
    assert levels.max() <= 1
    assert_jacobi(levels, p, q, beta)
    # The matrix with the same key is tridiagonal and has those levels.
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
    i, j = np.indices((n, n))
    assert (matrices[:, np.abs(i - j) > 1] == 0).all()
    eps = np.finfo(levels.dtype).eps
    np.testing.assert_allclose(np.linalg.eigvalsh(matrices.astype(float)), levels, rtol=0, atol=25 * eps)


@pytest.mark.heavy
@pytest.mark.parametrize("beta", [0.3, 2.0, 6.0])
def test_extreme_levels_at_the_hard_edges(getkey, beta):
    # Without a power at an end the extreme level is a beta variate for every β, because all levels can be scaled out.
    n, other = 4, 2.2
    steps = (n - 1) * beta / 2
    rate = n * (other + steps)
    lower, _ = drawn(rmt.JacobiBeta(n, 1 + steps, other + steps, beta), DRAWS, getkey())
    assert_law(lower[:, 0], scipy.stats.beta(1, rate).cdf)
    upper, _ = drawn(rmt.JacobiBeta(n, other + steps, 1 + steps, beta), DRAWS, getkey())
    assert_law(upper[:, -1], scipy.stats.beta(rate, 1).cdf)


def test_one_level_is_beta_distributed(getkey):
    levels, _ = drawn(rmt.JacobiBeta(1, 0.3, 0.2, 3.0), DRAWS, getkey())
    assert_law(levels[:, 0], scipy.stats.beta(0.3, 0.2).cdf)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def dense(n, m1, m2, beta, key):
    return jax.vmap(rmt.Jacobi(n, m1, m2, beta).sample)(jax.random.split(key, DRAWS))


@pytest.mark.parametrize(
    ("n", "m1", "m2", "beta"),
    [
        *[(3, 4, 6, 1), (4, 3, 2, 1), (3, 4, 6, 2), pytest.param(3, 4, 6, 4, marks=pytest.mark.float32(further=True))],
        *further((4, 2, 5, 1), (4, 5, 2, 1), (4, 3, 2, 4)),
    ],
)
def test_matrices_have_the_exact_laws(getkey, n, m1, m2, beta):
    matrices = np.asarray(dense(n, m1, m2, beta, getkey()))
    eps, (zeros, ones) = np.finfo(matrices.dtype).eps, (max(n - m1, 0), max(n - m2, 0))
    levels = dense_levels(matrices, n)
    np.testing.assert_allclose(levels[:, :zeros], 0, rtol=0, atol=100 * eps)
    np.testing.assert_allclose(levels[:, n - ones :], 1, rtol=0, atol=100 * eps)
    p, q = (beta / 2 * (abs(m - n) + 1) for m in (m1, m2))
    assert_jacobi(levels[:, zeros : n - ones].astype(matrices.real.dtype), p, q, beta)


@pytest.mark.parametrize(
    ("n", "m1", "m2", "beta"),
    [
        pytest.param(4, 2, 5, 2, marks=pytest.mark.float32(further=True)),
        *[(4, 5, 2, 4), *further((3, 4, 6, 1), (4, 3, 2, 1), (3, 3, 3, 2), (2, 3, 5, 4))],
    ],
)
def test_levels_of_matrices_are_those_of_the_beta_ensemble(getkey, n, m1, m2, beta):
    # Two subspaces have as many angles in general position as the smallest of the four dimensions.
    key, k = getkey(), min(n, m1, m2, m1 + m2 - n)
    levels = np.asarray(rmt.Jacobi(n, m1, m2, beta).eigenvalues(key))
    np.testing.assert_array_equal(levels[: max(n - m1, 0)], 0)
    np.testing.assert_array_equal(levels[n - max(n - m2, 0) :], 1)
    a, b = (beta / 2 * (abs(m - n) + k) for m in (m1, m2))
    expected = rmt.JacobiBeta(k, a, b, beta).eigenvalues(key)
    eps = np.finfo(levels.dtype).eps
    np.testing.assert_allclose(levels[max(n - m1, 0) :][:k], expected, rtol=100 * eps)


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_entries_of_samples(getkey, beta):
    # u* M u is the squared length of m1 of the m1 + m2 components of a uniform unit vector, for every unit vector u.
    n, m1, m2 = 3, 4, 6
    matrices, step = np.asarray(dense(n, m1, m2, beta, getkey())), 2 if beta == 4 else 1
    law = scipy.stats.beta(beta * m1 / 2, beta * m2 / 2).cdf
    parts = [matrices[:, step, 0].real] + [matrices[:, step, 0].imag] * (beta > 1)
    parts += [matrices[:, step + 1, 0].real, matrices[:, step + 1, 0].imag] * (beta == 4)
    first, second = matrices[:, 0, 0].real, matrices[:, step, step].real
    # The directions are the first axis, and the sum and difference of two axes, one of them times a unit 1, i, j or k.
    for along in [first, *((first + second) / 2 + sign * part for part in parts for sign in (1, -1))]:
        assert_law(along, law)


@pytest.mark.float32
def test_nothing_but_exact_levels(getkey):
    ensemble = rmt.Jacobi(5, 2, 3, 2)
    np.testing.assert_array_equal(ensemble.eigenvalues(getkey()), [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(ensemble.count_below(getkey(), [-1, 0, 0.5, 1, 2]), [0, 0, 3, 3, 5])
    spectrum = np.linalg.eigvalsh(np.asarray(ensemble.sample(getkey())))
    np.testing.assert_allclose(spectrum, [0, 0, 0, 1, 1], rtol=0, atol=20 * np.finfo(spectrum.dtype).eps)


# Derivatives


@functools.partial(jax.jit, static_argnums=0)
def slopes(n, a, b, beta, keys):
    """Derivatives of the first two elementary symmetric functions by a, b and β."""

    def symmetric(a, b, beta, key):
        x = rmt.JacobiBeta(n, a, b, beta).sample(key)
        return jnp.stack([jnp.trace(x), (jnp.trace(x) ** 2 - jnp.sum(x**2)) / 2])

    return jax.vmap(lambda key: jax.jacobian(symmetric, (0, 1, 2))(a, b, beta, key))(keys)


def test_derivatives_are_those_of_the_law(getkey):
    n, a, b, beta = 3, 4.3, 3.1, 1.7

    def expected(a, b, beta):
        ratio = lambda k: (a + (1 - k) * beta / 2) / (a + b + (1 - k) * beta / 2)
        return np.array([n * ratio(1), n * (n - 1) / 2 * ratio(1) * ratio(2)])

    got = slopes(n, *map(jnp.asarray, (a, b, beta)), jax.random.split(getkey(), 8000))
    for step, by in zip(1e-6 * np.eye(3), got, strict=True):
        slope = (expected(*(np.array([a, b, beta]) + step)) - expected(*(np.array([a, b, beta]) - step))) / 2e-6
        assert_mean(np.asarray(by)[:, 0], slope[0])
        assert_mean(np.asarray(by)[:, 1], slope[1])


# `linalg/test_bidiagonal.py` tests the derivatives of singular values every day.
@pytest.mark.slow
def test_levels_have_the_derivatives_of_their_matrix(getkey):
    key, parameters = getkey(), (jnp.asarray(4.3), jnp.asarray(3.1), jnp.asarray(1.7))

    def squares(*parameters):
        ensemble = rmt.JacobiBeta(3, *parameters)
        return jnp.sum(ensemble.eigenvalues(key) ** 2), jnp.sum(ensemble.sample(key) ** 2)

    by_levels, by_entries = jax.jit(jax.jacrev(squares, (0, 1, 2)))(*parameters)
    np.testing.assert_allclose(by_levels, by_entries, rtol=1e-11)


# Joint densities


@jax.jit
def densities(a, b, beta, levels):
    return jax.vmap(jax.vmap(rmt.JacobiBeta(2, a, b, beta).joint_logpdf))(levels)


def gauss_jacobi(p, q, number=60):
    """Nodes and weights on [0, 1] for the weight x^{p-1} (1 - x)^{q-1}."""
    t, weights = scipy.special.roots_jacobi(number, q - 1, p - 1)
    return (1 + t) / 2, weights / 2 ** (p + q - 1)


@pytest.mark.parametrize(
    ("p", "q", "beta"), [(0.4, 1, 1.0), (2.3, 2, 0.5), (1.0, 3, 2.0), (5.5, 1, 17.3), (2.0, 2, 4.0)]
)
def test_total_mass_of_two_levels(p, q, beta):
    # For x = t y < y: y^{2p-1+β} (1-y)^{q-1} t^{p-1} (1-t)^β (1-ty)^{q-1}, which is a polynomial apart from weights.
    y, by_y = (array[:, None] for array in gauss_jacobi(2 * p + beta, q))
    t, by_t = gauss_jacobi(p, beta + 1)
    levels = np.stack(np.broadcast_arrays(t * y, y), axis=-1)
    for mirror in (False, True):
        ends = (q, p) if mirror else (p, q)
        density = densities(*(end + beta / 2 for end in ends), beta, 1 - levels if mirror else levels)
        weight = (2 * p - 1 + beta) * np.log(y) + (q - 1) * np.log(1 - y) + (p - 1) * np.log(t) + beta * np.log(1 - t)
        # dx dy = y dt dy, and x < y is one half of the square.
        total = 2 * np.sum(np.exp(density + np.log(y) - weight) * by_y * by_t)
        np.testing.assert_allclose(total, 1, rtol=1e-9)


def test_one_level_has_the_beta_density():
    x = np.array([0.1, 0.7, 0.99])
    ensemble = rmt.JacobiBeta(1, 0.3, 2.2, 1.5)
    got = [float(ensemble.joint_logpdf(x[i : i + 1])) for i in range(3)]
    np.testing.assert_allclose(got, scipy.stats.beta(0.3, 2.2).logpdf(x), rtol=1e-12)
    # Logarithms of single gamma functions would lose two digits where p and q are far apart.
    with mpmath.workdps(40):
        factors = [
            mpmath.loggamma(mpmath.mpf(0.5) + j) + mpmath.loggamma(2000 + j) + mpmath.loggamma(2 + j) for j in range(3)
        ]
        exact = float(sum(factors) - sum(mpmath.loggamma(mpmath.mpf(2002.5) + j) for j in range(3)))
    for dtype in (np.float32, np.float64):
        found = log_selberg(3, *(jnp.asarray(each, dtype) for each in (0.5, 2000, 2)))
        np.testing.assert_allclose(found, exact, rtol=8 * jnp.finfo(dtype).eps)
    np.testing.assert_allclose(log_selberg(1, *map(jnp.asarray, (0.3, 2.2, 1.5))), betaln(0.3, 2.2), rtol=1e-14)


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_density_of_matrices_is_that_of_the_beta_ensemble(beta):
    n, m1, m2 = 3, 5, 3
    levels = jnp.array([0.2, 0.7, 0.9])
    expected = rmt.JacobiBeta(n, beta * m1 / 2, beta * m2 / 2, beta).joint_logpdf(levels)
    np.testing.assert_allclose(rmt.Jacobi(n, m1, m2, beta).joint_logpdf(levels), expected, rtol=1e-13)


def test_scores_of_drawn_levels_have_mean_0(getkey):
    n, a, b, beta = 4, 4.3, 3.1, 1.7
    levels, _ = drawn(rmt.JacobiBeta(n, a, b, beta), DRAWS, getkey())
    score = jax.grad(lambda a, b, beta, x: rmt.JacobiBeta(n, a, b, beta).joint_logpdf(x), (0, 1, 2))
    for by in jax.jit(jax.vmap(score, (None, None, None, 0)))(a, b, beta, levels):
        assert_mean(np.asarray(by), 0)


@pytest.mark.slow
def test_ten_thousand_levels():
    # The mode is at the zeros of a Jacobi polynomial (Stieltjes), where all forces vanish.
    n, a, b, beta = 10_000, 15_000.0, 22_000.0, 2.0
    p, q = a - (n - 1) * beta / 2, b - (n - 1) * beta / 2
    high, low = 2 * (q - 1) / beta - 1, 2 * (p - 1) / beta - 1
    k = np.arange(n)
    s = 2 * k + high + low
    diagonal = (low**2 - high**2) / (s * (s + 2))
    k, s = k[1:], s[1:]
    beside = 4 * k * (k + high) * (k + low) * (k + high + low) / (s**2 * (s + 1) * (s - 1))
    mode = (1 + scipy.linalg.eigvalsh_tridiagonal(diagonal, np.sqrt(beside))) / 2
    height, slope = jax.jit(jax.value_and_grad(rmt.JacobiBeta(n, a, b, beta).joint_logpdf))(mode)
    np.testing.assert_allclose(slope * mode * (1 - mode), 0, rtol=0, atol=1e-3)
    # Terms of size β n² log n, 2e9, cancel; an error of 1.4e-6 was seen.
    np.testing.assert_allclose(height, height_at_mode(n, p, q, beta, high, low), rtol=0, atol=1e-5)


def height_at_mode(n, p, q, beta, high, low):
    """The height from the discriminant of the Jacobi polynomial (Szegő 1939, equation 6.71.5) and its values at ±1."""
    k = np.arange(1, n + 1)
    binomial = lambda top: gammaln(top + 1) - gammaln(n + 1) - gammaln(top - n + 1)
    leading = binomial(2 * n + high + low) - n * np.log(2)
    factors = xlogy(k - 2 * n + 2, k) + xlogy(k - 1, k + high) + xlogy(k - 1, k + low)
    discriminant = (factors + xlogy(n - k, n + k + high + low)).sum() - n * (n - 1) * np.log(2)
    log_vandermonde = discriminant / 2 - (n - 1) * leading - n * (n - 1) / 2 * np.log(2)
    sums = [binomial(n + end) - leading - n * np.log(2) for end in (low, high)]
    j, gamma = np.arange(n) * beta / 2, beta / 2
    selberg = gammaln(p + j) + gammaln(q + j) + gammaln(1 + gamma + j) - gammaln(1 + gamma)
    selberg = (selberg - gammaln(p + q + (n - 1) * gamma + j)).sum()
    return beta * log_vandermonde + (p - 1) * sums[0] + (q - 1) * sums[1] - selberg


@pytest.mark.parametrize("n", [1, 5, *further(2)])
def test_derivatives_of_the_density(n):
    density = lambda ensemble, x: ensemble.joint_logpdf(x)
    check_derivatives(density, rmt.JacobiBeta(n, 1.3 * n, 2.1 * n, 1.5), jnp.linspace(0.1, 0.93, n) ** 2)


def test_levels_out_of_range_have_no_density():
    density = rmt.JacobiBeta(2, 2.0, 3.0, 1.0).joint_logpdf
    for levels in ([-0.1, 0.5], [0.0, 0.5], [0.3, 1.0], [0.3, 1.2], [0.4, 0.4]):
        assert density(jnp.array(levels)) == -jnp.inf
        assert jnp.isfinite(jax.grad(density)(jnp.array(levels))).all()
    for sizes in [(3, 2, 5), (3, 5, 2)]:
        with pytest.raises(NotImplementedError, match=r"of the 3 levels are 0 and \d are 1"):
            rmt.Jacobi(*sizes).joint_logpdf(jnp.array([0.1, 0.2, 0.3]))


# Laws and the contract


def test_laws():
    for law in (rmt.Jacobi(4, 10, 6, 4).law(), rmt.JacobiBeta(4, 20.0, 12.0, 4.0).law()):
        assert law.a == pytest.approx(2.5)
        assert law.b == pytest.approx(1.5)
    # The check must tolerate the rounding of two quotients, whose exact sum is 1.
    for n in (3, 7, 10, 30, 49):
        for m1 in range(1, n):
            assert isinstance(rmt.Jacobi(n, m1, n - m1).law(), rmt.laws.Wachter)
    with pytest.raises(ValueError, match=r"`b` must be positive, finite and at least 1 - a, got 0\.4"):
        rmt.JacobiBeta(1, 0.2, 0.4, 2.0).law()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Jacobi(5, 2, 2), "`m2` must be at least n - m1 = 3, got 2"),
        (lambda: rmt.JacobiBeta(3, 2.0, 2.0, float("inf")), "`beta` must be finite and not negative, got inf"),
        (
            lambda: rmt.JacobiBeta(3, 1.0, 2.0, 1.0),
            r"`a` must be finite and larger than \(n - 1\) beta/2 with n = 3 and beta = 1.0, got 1",
        ),
        (lambda: rmt.JacobiBeta(3, 2.0, 1.0, 1.0), r"`b` must be finite and larger than \(n - 1\) beta/2"),
        (lambda: rmt.JacobiBeta(3, -1.0, 2.0, 1.0), "`a` must be finite and larger than .*, got -1"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_values_under_jit_are_caught():
    density = jax.jit(lambda b: rmt.JacobiBeta(3, 2.5, b, 2.0).joint_logpdf(jnp.array([0.1, 0.2, 0.3])))
    assert jnp.isfinite(density(2.5))
    assert jnp.all(jnp.isnan(density(2.0)))


@pytest.mark.float32(only=True)
def test_small_parameters_have_finite_levels(getkey):
    # There are levels at both ends at once, where both gamma variates of a beta variate underflow.
    ensemble = rmt.JacobiBeta(2, 0.51, 0.52, 1.0)
    levels = np.asarray(jax.jit(jax.vmap(ensemble.eigenvalues))(jax.random.split(getkey(), 4000)))
    assert np.isfinite(levels).all()
    assert_mean(levels.astype(np.float64).sum(-1), 2 * 0.51 / 1.03)
