"""Joint densities of complex eigenvalues: total mass, the matrices that are drawn, constants, derivatives."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import daily, further
from tests.statistical import assert_mean

SCALE = 0.7
TAU = 0.4
MAKERS = {
    "ginibre": lambda n, beta: rmt.Ginibre(n, beta, SCALE),
    "induced": lambda n, beta: rmt.InducedGinibre(n, n + 2, beta, SCALE),
    "truncated": lambda n, beta: rmt.TruncatedUnitary(n, 2, beta),
    "spherical": lambda n, beta: rmt.Spherical(n, beta),
}


@functools.partial(jax.jit, static_argnums=(0, 1))
def densities(make, beta, pairs):
    return jnp.exp(jax.lax.map(make(2, beta).joint_logpdf, pairs, batch_size=4096))


def grid_of_moduli(beta, bounded):
    """Nodes in two radii and two angles (in one, if only their difference matters), and their weights by area."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    u, weights = (nodes + 1) / 2, weights / 2
    # r = u/(1 - u) maps (0, 1) to all radii.
    r, weights = (u, weights * u) if bounded else (u / (1 - u), weights * u / (1 - u) ** 3)
    angles = 16
    theta = (np.arange(angles) + 0.5) * np.pi / angles if beta == 4 else np.arange(angles) * 2 * np.pi / angles
    step = theta[1] - theta[0]
    r1, r2, first, second = np.meshgrid(r, r, theta, theta if beta == 4 else [0.0], indexing="ij")
    w = weights[:, None, None, None] * weights[None, :, None, None] * step * (step if beta == 4 else 2 * np.pi)
    pairs = np.stack([r1 * np.exp(1j * first), r2 * np.exp(1j * second)], axis=-1)
    return pairs.reshape(-1, 2), np.broadcast_to(w, r1.shape).ravel()


@pytest.mark.parametrize(
    ("name", "beta"),
    daily(itertools.product(MAKERS, (2, 4)), only=[("ginibre", 2), ("induced", 2), ("truncated", 2), ("spherical", 4)]),
)
def test_mass_and_moments_of_two_eigenvalues(getkey, name, beta):
    pairs, weights = grid_of_moduli(beta, name == "truncated")
    mass = np.asarray(densities(MAKERS[name], beta, pairs)) * weights
    np.testing.assert_allclose(mass.sum(), 1, rtol=1e-6)
    # Means of bounded functions, because the spherical ensemble has no moments, are compared with those of matrices.
    kernel = lambda z: 1 / (1 + np.abs(z) ** 2)
    levels = np.asarray(jax.jit(jax.vmap(MAKERS[name](2, beta).eigenvalues))(jax.random.split(getkey(), 8000)))
    for statistic in (
        lambda z: kernel(z[:, 0] - z[:, 1]),
        lambda z: kernel(z[:, 0]) * kernel(z[:, 1]),
        lambda z: kernel(z).sum(-1),
    ):
        assert_mean(statistic(levels), np.sum(mass * statistic(pairs)))


@pytest.mark.parametrize("beta", [2, 4])
def test_mass_and_moments_of_two_eigenvalues_of_elliptic_matrices(getkey, beta):
    # Gauss–Hermite is exact for a polynomial times a normal density; for β = 4 it is even in each Im z.
    make = lambda n, beta: rmt.Elliptic(n, TAU, beta, SCALE)
    nodes, weights = np.polynomial.hermite.hermgauss(14)
    rate = 2 * beta / 2 / SCALE**2
    half_axes = [((1 + TAU) / rate) ** 0.5, ((1 - TAU) / rate) ** 0.5]
    x1, y1, x2, y2 = (part.ravel() for part in np.meshgrid(*[nodes] * 4, indexing="ij"))
    w = functools.reduce(np.multiply.outer, [weights * np.exp(nodes**2)] * 4).ravel() * np.prod(half_axes) ** 2
    height = np.abs if beta == 4 else lambda y: y
    point = lambda x, y: half_axes[0] * x + 1j * half_axes[1] * height(y)
    pairs = np.stack([point(x1, y1), point(x2, y2)], axis=-1)
    mass = np.asarray(densities(make, beta, pairs)) * w / (4 if beta == 4 else 1)
    np.testing.assert_allclose(mass.sum(), 1, rtol=1e-10)
    levels = np.asarray(jax.jit(jax.vmap(make(2, beta).eigenvalues))(jax.random.split(getkey(), 8000)))
    for statistic in (
        lambda z: np.abs(z[:, 0] - z[:, 1]) ** 2,
        lambda z: (z**2).sum(-1).real,
        lambda z: (np.abs(z) ** 2).sum(-1),
        lambda z: np.abs(z[:, 0] * z[:, 1]) ** 2,
    ):
        assert_mean(statistic(levels), np.sum(mass * statistic(pairs)))


@pytest.mark.float32
def test_density_of_complex_ginibre_matrices_is_the_formula():
    # n^{n(n+1)/2} / (π^n ∏ k!) ∏|Δ|² exp(-n Σ|z|²): Ginibre (1965), Mehta (2004), equation 15.1.10, in the unit disc.
    n = 5
    z = np.exp(2j * np.arange(n)) * np.linspace(0.2, 1.1, n)
    i, j = np.triu_indices(n, 1)
    constant = n * (n + 1) / 2 * np.log(n) - n * np.log(np.pi) - gammaln(np.arange(1, n + 1) + 1).sum()
    expected = constant + 2 * np.log(np.abs(z[i] - z[j])).sum() - n * (np.abs(z) ** 2).sum()
    value = rmt.Ginibre(n, 2).joint_logpdf(z)
    np.testing.assert_allclose(value, expected, rtol=200 * jnp.finfo(value.dtype).eps)
    # A change of scale transforms the density accordingly.
    moved = rmt.Ginibre(n, 2, SCALE).joint_logpdf(SCALE * z) + 2 * n * np.log(SCALE)
    np.testing.assert_allclose(moved, expected, rtol=200 * jnp.finfo(value.dtype).eps)


def test_vanishing_correlation_is_ginibre():
    z = np.array([0.1 + 0.4j, -0.5 + 0.2j, 0.7j])
    for beta in (2, 4):
        ginibre = rmt.Ginibre(3, beta, SCALE).joint_logpdf(z)
        np.testing.assert_allclose(rmt.Elliptic(3, 0.0, beta, SCALE).joint_logpdf(z), ginibre, rtol=1e-13)
        np.testing.assert_allclose(rmt.InducedGinibre(3, 3, beta, SCALE).joint_logpdf(z), ginibre, rtol=1e-13)


@pytest.mark.parametrize(
    ("ensemble", "shift"),
    [
        (rmt.Ginibre(3, 2, SCALE), 0.0),  # one level lies at 0
        (rmt.Elliptic(3, TAU, 4, SCALE), 0.3j),
        *further((rmt.TruncatedUnitary(3, 2, 2), 0.0), (rmt.InducedGinibre(3, 4, 4, SCALE), 0.3j)),
    ],
)
def test_derivatives(ensemble, shift):
    z = jnp.array([0.1 + 0.4j, -0.5 + 0.2j, 0.0])
    check_derivatives(lambda ensemble, z: ensemble.joint_logpdf(z), ensemble, z + shift)


def test_derivative_by_the_scale_with_a_level_at_zero():
    at_zero = jax.grad(lambda e: e.joint_logpdf(jnp.array([0.3j, 0.0])))(rmt.InducedGinibre(2, 3, 2, SCALE))
    assert jnp.isfinite(at_zero.scale)


def test_points_without_density():
    assert rmt.Ginibre(2, 2).joint_logpdf(jnp.array([0.3j, 0.3j])) == -jnp.inf
    assert rmt.TruncatedUnitary(2, 1, 2).joint_logpdf(jnp.array([0.3j, 1.1])) == -jnp.inf
    assert rmt.InducedGinibre(2, 3, 2).joint_logpdf(jnp.array([0.3j, 0.0])) == -jnp.inf
    for point in (0.4, 0.4 - 0.1j):
        density = rmt.Ginibre(2, 4).joint_logpdf
        assert density(jnp.array([0.3j, point])) == -jnp.inf
        assert jnp.isfinite(jax.grad(density)(jnp.array([0.3j, point]))).all()


@pytest.mark.parametrize(
    ("density", "levels", "error", "message"),
    [
        (
            rmt.Ginibre(3, 2).joint_logpdf,
            jnp.ones(2),
            ValueError,
            r"`eigenvalues` must have the shape \(3,\), got \(2,\)",
        ),
        (rmt.Ginibre(2, 2).joint_logpdf, jnp.array([0, jnp.nan]), ValueError, "`eigenvalues` must not be NaN"),
        (rmt.Ginibre(2).joint_logpdf, jnp.arange(2.0), NotImplementedError, "Ginibre with beta = 1 have no density"),
        (rmt.GinibreProduct(2, 2, 2).joint_logpdf, jnp.arange(2.0), NotImplementedError, "GinibreProduct, with Meijer"),
    ],
)
def test_bad_input(density, levels, error, message):
    with pytest.raises(error, match=message):
        density(levels)
