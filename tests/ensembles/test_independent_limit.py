"""The β-ensembles at β = 0 and next to it: independent levels with the weight as density; levels with βn of order 1."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from tests.cases import daily
from tests.statistical import assert_law, assert_mean

N, DRAWS = 20, 400
# The ensembles, and the law of each level at β = 0. The weight of the Gaussian ensemble is normal at a scale that goes
# with √β.
FAMILIES = {
    "LaguerreBeta": (lambda beta: rmt.LaguerreBeta(N, 2.5, beta, 0.7), scipy.stats.gamma(2.5, scale=0.49 / 2.5)),
    "JacobiBeta": (lambda beta: rmt.JacobiBeta(N, 2.5, 4.0, beta), scipy.stats.beta(2.5, 4)),
    "CircularBeta": (lambda beta: rmt.CircularBeta(N, beta), scipy.stats.uniform(-np.pi, 2 * np.pi)),
    "GaussianBeta": (lambda beta: rmt.GaussianBeta(N, beta, 1.3 * (beta * N / 2) ** 0.5), scipy.stats.norm(0, 1.3)),
}


def levels_of(ensemble, key):
    return getattr(ensemble, "eigenphases", ensemble.eigenvalues)(key)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(FAMILIES, only=["LaguerreBeta", "JacobiBeta", "GaussianBeta"]))
def test_levels_become_independent(getkey, name):
    make, law = FAMILIES[name]
    draw = jax.jit(jax.vmap(lambda beta, key: levels_of(make(beta), key), (None, 0)))
    for beta in (*[0.0] * (name != "GaussianBeta"), 1e-30, 1e-6, 1e-3):
        levels = np.asarray(draw(beta, jax.random.split(getkey(), DRAWS)), float)
        assert np.isfinite(levels).all()
        # The map to uniform variates makes the mean ratio of independent levels exactly 2 log 2 - 1.
        gaps = np.diff(law.cdf(levels))
        ratios = np.minimum(gaps[:, 1:], gaps[:, :-1]) / np.maximum(gaps[:, 1:], gaps[:, :-1])
        assert_mean(ratios.mean(-1), 2 * np.log(2) - 1)
        if beta < 1e-3:
            assert_law(levels.ravel(), law.cdf)
            assert_law(levels[:, 0], lambda x: 1 - law.sf(x) ** N)


@pytest.mark.parametrize("name", FAMILIES)
def test_joint_density(name):
    make, law = FAMILIES[name]
    x = law.ppf(np.linspace(0.02, 0.97, N))
    density = jax.jit(lambda beta, x: make(beta).joint_logpdf(x))
    np.testing.assert_allclose(density(1e-12, x), law.logpdf(x).sum(), rtol=1e-9)
    if name != "GaussianBeta":
        np.testing.assert_allclose(density(0.0, x), law.logpdf(x).sum(), rtol=1e-12)
        # Independent levels may coincide.
        x[3] = x[4]
        np.testing.assert_allclose(density(0.0, x), law.logpdf(x).sum(), rtol=1e-12)
        assert density(1e-12, x) == -np.inf


@pytest.mark.parametrize("name", ["LaguerreBeta", "JacobiBeta"])
def test_matrices_are_diagonal(getkey, name):
    ensemble = FAMILIES[name][0](0.0)
    matrix = np.asarray(ensemble.sample(getkey()))
    np.testing.assert_array_equal(matrix, np.diag(np.diag(matrix)))
    key = getkey()
    levels = np.asarray(ensemble.eigenvalues(key))
    np.testing.assert_array_equal(ensemble.count_below(key, levels * (1 + 1e-12)), np.arange(1, N + 1))


@pytest.mark.slow
def test_derivatives_of_independent_levels(getkey):
    mean_log = lambda a, key: jnp.log(rmt.LaguerreBeta(N, a, 0.0, 0.7).eigenvalues(key)).mean()
    slopes = jax.jit(jax.vmap(jax.grad(mean_log), (None, 0)))(2.5, jax.random.split(getkey(), DRAWS))
    assert_mean(slopes, scipy.special.polygamma(1, 2.5) - 1 / 2.5)


def test_derivative_of_the_joint_density_at_independence():
    # The derivative in β is the sum of the logarithms of distances, up to a constant.
    of_beta = jax.jit(jax.grad(lambda beta, x: rmt.LaguerreBeta(2, 2.5, beta, 0.7).joint_logpdf(x)))
    one, other = (of_beta(0.0, jnp.array([0.3, 0.3 + gap])) for gap in (0.1, 0.2))
    np.testing.assert_allclose(other - one, np.log(2) - np.log(0.5 / 0.4) / 2, rtol=1e-9)


def test_what_independent_levels_lack():
    laguerre, jacobi = (FAMILIES[name][0](0.0) for name in ("LaguerreBeta", "JacobiBeta"))
    for ensemble in (laguerre, jacobi):
        for method in ("law", "soft_edge", "hard_edge"):
            words = f"`{method}` is not defined at beta = 0: the levels of {type(ensemble).__name__} are independent"
            with pytest.raises(NotImplementedError, match=words):
                getattr(ensemble, method)()
    with pytest.raises(ValueError, match="`beta` must be positive"):
        rmt.simulate_rare(laguerre, jax.random.key(0), "largest", 3.0, 10)
    with pytest.raises(ValueError, match="`beta` must be positive"):
        rmt.GaussianBeta(3, 0.0)
    for make in (lambda: rmt.LaguerreBeta(3, 2.5, -1.0), lambda: rmt.CircularBeta(3, -1.0)):
        with pytest.raises(ValueError, match=r"`beta` must (be finite and )?not (be )?negative"):
            make()


def test_levels_at_high_temperature(getkey):
    # At βn = 2c the weight e^{-x²/2} has the limit density 1/(√(2π) Γ(1 + c) |D_{-c}(ix)|²), between the normal law
    # and the semicircle (Allez, Bouchaud and Guionnet 2012, Phys. Rev. Lett. 109, 094102; Duy and Shirai 2015,
    # Electron. Commun. Probab. 20, 68, theorem 1.1).
    n, c = 20_000, 1.5
    density = lambda x: 1 / (mpmath.sqrt(2 * mpmath.pi) * mpmath.gamma(1 + c) * abs(mpmath.pcfd(-c, 1j * x)) ** 2)
    points = np.array([0.3, 1.0, 2.5])
    below = 0.5 + np.array([float(mpmath.quad(density, [0, x])) for x in points])
    counts = np.asarray(rmt.GaussianBeta(n, 2 * c / n, c**0.5).count_below(getkey(), points))
    # Levels are less spread than independent ones.
    assert (abs(counts / n - below) < 5 * (below * (1 - below) / n) ** 0.5).all()
