"""Joint densities: total mass, the levels that are drawn, large sizes, derivatives."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.special import gammaln, xlogy

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.statistical import ERROR_RATE

SCALE = 0.7
# Functions that make an ensemble of n levels, for any n.
GAUSSIAN = {
    "goe": rmt.GOE,
    "gue": rmt.GUE,
    "gse": rmt.GSE,
    "half": lambda n, scale: rmt.GaussianBeta(n, 0.5, scale),
    "stiff": lambda n, scale: rmt.GaussianBeta(n, 17.3, scale),
}
LAGUERRE = {
    "real": lambda n, scale: rmt.Wishart(n, n + 2, 1, scale),
    "complex": lambda n, scale: rmt.Wishart(n, n + 1, 2, scale),
    "quaternion": lambda n, scale: rmt.Wishart(n, n, 4, scale),
    "broken": lambda n, scale: rmt.LaguerreBeta(n, n + 0.3, 1.5, scale),
}
EVERY = GAUSSIAN | LAGUERRE


@pytest.mark.parametrize("make", GAUSSIAN.values(), ids=GAUSSIAN)
def test_total_mass_of_two_levels(make):
    # Trapezoidal rule in the midpoint c, Gauss–Legendre in t with half the gap h = t²: |2h|^β is smooth enough in t.
    ensemble = make(2, SCALE)
    c, (t, weights) = np.linspace(-6, 6, 201), np.polynomial.legendre.leggauss(200)
    t, weights = 1.25 * (t + 1), 1.25 * weights
    levels = np.stack(np.broadcast_arrays(c[:, None] - t**2, c[:, None] + t**2), axis=-1)
    density = np.exp(jax.jit(jax.vmap(jax.vmap(ensemble.joint_logpdf)))(levels))
    # dx dy = 2 dc dh, dh = 2t dt, and y > x is one half of the plane.
    total = 2 * np.sum(density * 2 * 2 * t * weights) * (c[1] - c[0])
    np.testing.assert_allclose(total, 1, rtol=1e-7)


@pytest.mark.parametrize("make", LAGUERRE.values(), ids=LAGUERRE)
def test_total_mass_of_two_positive_levels(make):
    # With y = t⁴ and x = y (1 - s⁴)², the density is smooth enough in s and t at 0 and at x = y.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t, s = 0.95 * (nodes[:, None] + 1), (nodes[None] + 1) / 2
    y, x = t**4, t**4 * (1 - s**4) ** 2
    levels = np.stack(np.broadcast_arrays(x, y), axis=-1)
    density = np.exp(jax.jit(jax.vmap(jax.vmap(make(2, SCALE).joint_logpdf)))(levels))
    # dx = y 2 (1 - s⁴) 4 s³ ds, dy = 4 t³ dt, and x < y is one half of the plane.
    jacobian = y * 2 * (1 - s**4) * 4 * s**3 * 4 * t**3
    total = 2 * np.sum(density * jacobian * 0.95 * weights[:, None] * weights / 2)
    np.testing.assert_allclose(total, 1, rtol=1e-7)


@pytest.mark.parametrize("make", LAGUERRE.values(), ids=LAGUERRE)
def test_one_positive_level_is_gamma(make):
    ensemble = make(1, SCALE)
    x = np.array([0.1, 0.7, 2.0])
    got = [float(ensemble.joint_logpdf(x[i : i + 1])) for i in range(3)]
    _, a, _, unit = map(float, ensemble._parameters())
    np.testing.assert_allclose(unit, SCALE**2 / (2 * a), rtol=1e-14)
    np.testing.assert_allclose(got, scipy.stats.gamma(a, scale=SCALE**2 / a).logpdf(x), rtol=1e-12)


@pytest.mark.parametrize(
    "ensemble",
    [
        rmt.GOE(2),
        rmt.Wishart(2, 3),
        rmt.InverseWishart(2, 4),
        rmt.Jacobi(2, 3, 4),
        rmt.CUE(2),
        rmt.HaarSpecialOrthogonal(4),
        rmt.Ginibre(2, 2),
        rmt.Elliptic(2, 0.3, 4),
        rmt.Spherical(2, 2),
    ],
    ids=repr,
)
def test_no_level_is_infinite(ensemble):
    infinite = [np.inf, -np.inf, *([complex(np.inf, 1), complex(0, np.inf)] if hasattr(ensemble, "moduli") else [])]
    for levels in [[0.5, each] for each in infinite] + [[np.inf, np.inf]]:
        assert ensemble.joint_logpdf(levels) == -np.inf
        assert jax.jit(ensemble.joint_logpdf)(jnp.asarray(levels)) == -np.inf


@pytest.mark.parametrize("make", GAUSSIAN.values(), ids=GAUSSIAN)
def test_one_level_is_normal(make):
    ensemble = make(1, SCALE)
    beta = float(ensemble._beta())
    x = np.array([-1.3, 0.0, 0.4])
    got = [float(ensemble.joint_logpdf(x[i : i + 1])) for i in range(3)]
    np.testing.assert_allclose(got, scipy.stats.norm(0, SCALE * (2 / beta) ** 0.5).logpdf(x), rtol=1e-12)


@functools.partial(jax.jit, static_argnums=0)
def metropolis(make, key, start):
    """Final states of independent Metropolis chains of 600 steps on `joint_logpdf`."""
    density = jax.vmap(make(3, SCALE).joint_logpdf)

    def step(state, key):
        x, height = state
        key_move, key_accept = jax.random.split(key)
        moved = x + 0.35 * jax.random.normal(key_move, x.shape)
        other = density(moved)
        accept = jnp.log(jax.random.uniform(key_accept, height.shape)) < other - height
        return (jnp.where(accept[:, None], moved, x), jnp.where(accept, other, height)), None

    return jax.lax.scan(step, (start, density(start)), jax.random.split(key, 600))[0][0]


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("name", EVERY)
def test_metropolis_finds_the_levels_that_are_drawn(getkey, name):
    # The start is far from equilibrium, so that a chain that accepts everything or nothing shows.
    make, number = EVERY[name], 4000
    start = 2 * SCALE * jnp.abs(jax.random.normal(getkey(), (number, 3)))
    chains = np.sort(metropolis(make, getkey(), start), axis=-1)
    drawn = np.asarray(jax.vmap(make(3, SCALE).eigenvalues)(jax.random.split(getkey(), number)))
    for k in range(3):
        assert scipy.stats.ks_2samp(chains[:, k], drawn[:, k]).pvalue > ERROR_RATE
    for k in range(2):
        gaps = (np.diff(levels)[:, k] for levels in (chains, drawn))
        assert scipy.stats.ks_2samp(*gaps).pvalue > ERROR_RATE


def test_differences_are_the_formula(getkey):
    # log p(x) - log p(y) needs no constant: β Σ log|Δ| - βn/(4s²) Σ x², written out.
    n, beta = 7, 2.5
    x, y = np.asarray(jax.random.normal(getkey(), (2, n)))
    ensemble = rmt.GaussianBeta(n, beta, SCALE)
    i, j = np.triu_indices(n, 1)
    formula = lambda x: beta * np.log(np.abs(x[i] - x[j])).sum() - beta * n / (4 * SCALE**2) * (x**2).sum()
    np.testing.assert_allclose(ensemble.joint_logpdf(x) - ensemble.joint_logpdf(y), formula(x) - formula(y), rtol=1e-12)
    np.testing.assert_allclose(ensemble.joint_logpdf(x), ensemble.joint_logpdf(x[::-1]), rtol=1e-13)


@pytest.mark.parametrize("n", [6, *further(1, 2, 3)])
def test_derivatives(getkey, n):
    levels = jnp.sort(jax.random.normal(getkey(), (n,)))
    density = lambda ensemble, x: ensemble.joint_logpdf(x)
    check_derivatives(density, rmt.GaussianBeta(n, 2.5, SCALE), levels)
    check_derivatives(density, rmt.LaguerreBeta(n, 1.3 * n, 1.5, SCALE), levels**2)


def test_levels_that_are_not_positive_have_no_density():
    ensemble = rmt.Wishart(2, 2)
    for levels in ([-0.1, 1.0], [0.0, 1.0]):
        assert ensemble.joint_logpdf(jnp.array(levels)) == -jnp.inf
        assert jnp.isfinite(jax.grad(ensemble.joint_logpdf)(jnp.array(levels))).all()


@pytest.mark.slow
def test_ten_thousand_levels():
    # The levels at β = ∞ are the mode for every β; the formula gives the height of the density there.
    n, beta = 10_000, 2.0
    ensemble = rmt.GaussianBeta(n, beta)
    mode = rmt.GaussianBeta(n, np.inf).eigenvalues(jax.random.key(0))
    height, slope = jax.jit(jax.value_and_grad(ensemble.joint_logpdf))(mode)
    assert np.isfinite(height)
    # Forces are of size n², and their sum is 0 at each level.
    np.testing.assert_allclose(slope, 0, rtol=0, atol=1e-6 * n)
    # Terms of size β n² log n, 2·10⁹, cancel.
    np.testing.assert_allclose(height, peak_of_mehta(n, beta), rtol=0, atol=1e-6)


def peak_of_mehta(n, beta):
    """Log of the density at the scaled zeros of a Hermite polynomial, from its discriminant (Szegő 1939, eq. 6.71.7).

    For the zeros of He_n, Π_{i<j} (x_i - x_j)² = Π_k k^k and Σ x² = n (n - 1)/2; in units with density
    ∝ Π|x|^β exp(-Σ x²/2) the mode is √(β/2) times those zeros.
    """
    k = np.arange(1, n + 1)
    log_vandermonde = xlogy(k, k).sum() / 2 + n * (n - 1) / 4 * np.log(beta / 2)
    squares = beta / 2 * n * (n - 1)
    log_mehta = n / 2 * np.log(2 * np.pi) + (gammaln(1 + k * beta / 2) - gammaln(1 + beta / 2)).sum()
    unit = (2 / (beta * n)) ** 0.5
    return beta * log_vandermonde - squares / 2 - log_mehta - n * np.log(unit)


def test_coinciding_levels():
    density = rmt.GUE(3).joint_logpdf
    levels = jnp.array([0.1, 0.1, 0.7])
    assert density(levels) == -jnp.inf
    assert jnp.isfinite(jax.grad(density)(levels)).all()


@pytest.mark.parametrize(
    ("density", "levels", "error", "message"),
    [
        (rmt.GOE(3).joint_logpdf, jnp.ones(2), ValueError, r"`eigenvalues` must have the shape \(3,\), got \(2,\)"),
        (rmt.GOE(2).joint_logpdf, jnp.ones((1, 2)), ValueError, r"`eigenvalues` must have the shape \(2,\)"),
        (rmt.GOE(2).joint_logpdf, jnp.array([0.0, jnp.nan]), ValueError, "`eigenvalues` must not be NaN"),
        (rmt.GOE(2).joint_logpdf, jnp.array([0.0, 1j]), ValueError, "`eigenvalues` must be real"),
        (rmt.GaussianBeta(2, np.inf).joint_logpdf, jnp.arange(2.0), ValueError, "`beta` must be finite"),
        (rmt.Wishart(3, 2).joint_logpdf, jnp.arange(3.0), NotImplementedError, "1 of the 3 levels are 0"),
        (rmt.Wigner(2).joint_logpdf, jnp.arange(2.0), NotImplementedError, "joint density .* Wigner is not known"),
    ],
)
def test_bad_input(density, levels, error, message):
    with pytest.raises(error, match=message):
        density(levels)
