"""Spiked ensembles: exact moments, dense against reduced, outliers, derivatives, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import ERROR_RATE, assert_law, assert_mean

SCALE = 0.7
GAUSSIAN = {
    "goe-1": (lambda: rmt.GOE(4, SCALE), 1, [1.3]),
    "goe-all": (lambda: rmt.GOE(3, SCALE), 1, [1.3, 0.2, -2.0]),
    "gue-2": (lambda: rmt.GUE(4, SCALE), 2, [1.3, -0.9]),
    "gse-2": (lambda: rmt.GSE(4, SCALE), 4, [1.3, -0.5]),
    "beta-1": (lambda: rmt.GaussianBeta(4, 2.7, SCALE), 2.7, [-1.3]),
}
WISHART = {
    "real-1": (lambda: rmt.Wishart(4, 6, 1, SCALE), 6, 1, [2.0]),
    "real-1-few": (lambda: rmt.Wishart(4, 3, 1, SCALE), 3, 1, [2.0]),
    "complex-2-few": (lambda: rmt.Wishart(5, 3, 2, SCALE), 3, 2, [2.0, 0.3]),
    "quaternion-2": (lambda: rmt.Wishart(3, 5, 4, SCALE), 5, 4, [2.0, 0.3]),
    "quaternion-1": (lambda: rmt.Wishart(3, 3, 4, SCALE), 3, 4, [2.0]),
    "real-3-one-observation": (lambda: rmt.Wishart(6, 1, 1, SCALE), 1, 1, [3.0, 2.0, 4.0]),
    "beta-1": (lambda: rmt.LaguerreBeta(3, 4.5, 1.5, SCALE), 6, 1.5, [2.0]),
}


def assert_one_law(levels, others, skip=0):
    for k in range(skip, levels.shape[-1]):
        assert scipy.stats.ks_2samp(levels[:, k], others[:, k]).pvalue > ERROR_RATE


@pytest.mark.parametrize(
    "name",
    [pytest.param("goe-1", marks=pytest.mark.float32(further=True)), *further("goe-all", "gue-2", "gse-2", "beta-1")],
)
def test_gaussian_bases(getkey, name):
    make, beta, spikes = GAUSSIAN[name]
    n, theta = make().n, np.array(spikes)
    levels, matrices = drawn(rmt.Spiked(make(), spikes), 20_000, getkey())
    dense = dense_levels(matrices, n)
    for x in (levels.astype(np.float64), dense):
        # tr H is normal with variance n 2s²/(βn), about Σθ; E tr H² = s²(n - 1 + 2/β) + Σθ².
        assert_law(x.sum(-1), scipy.stats.norm(theta.sum(), SCALE * (2 / beta) ** 0.5).cdf)
        assert_mean((x**2).sum(-1), SCALE**2 * (n - 1 + 2 / beta) + (theta**2).sum())
        # E tr (H + A)³ = tr A³ + 3 E tr A H² = Σθ³ + 3 s² (n - 1 + 2/β)/n Σθ.
        assert_mean((x**3).sum(-1), (theta**3).sum() + 3 * SCALE**2 * (n - 1 + 2 / beta) / n * theta.sum())
    assert_one_law(levels, dense)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("real-1-few", marks=pytest.mark.float32(further=True)),
        *further("quaternion-2", "real-1", "complex-2-few", "quaternion-1", "real-3-one-observation", "beta-1"),
    ],
)
def test_wishart_bases(getkey, name):
    make, m, beta, spikes = WISHART[name]
    n = make().n
    levels, matrices = drawn(rmt.Spiked(make(), spikes), 20_000, getkey())
    zeros = max(n - m, 0)
    np.testing.assert_array_equal(levels[:, :zeros], 0)
    dense = dense_levels(matrices, n)
    sigma = np.append(spikes, np.ones(n - len(spikes)))
    for x in (levels.astype(np.float64), dense):
        assert_mean(x.sum(-1), SCALE**2 * sigma.sum())
        # E W² = Σ² + Σ tr Σ/m + (2/β - 1) Σ²/m.
        second = (sigma**2).sum() * (1 + (2 / beta - 1) / m) + sigma.sum() ** 2 / m
        assert_mean((x**2).sum(-1), SCALE**4 * second)
        if not zeros:
            # det W is det Σ times independent χ² variates.
            logarithm = np.log(sigma).sum() + scipy.special.digamma(beta / 2 * (m - np.arange(n))).sum()
            assert_mean(np.log(x).sum(-1), logarithm + n * np.log(2 * SCALE**2 / (beta * m)))
    assert_one_law(levels, dense, zeros)


@pytest.mark.slow
def test_a_neutral_spike_changes_nothing(getkey):
    key = getkey()
    for base, neutral in [(rmt.GUE(5, SCALE), 0.0), (rmt.Wishart(5, 7, 2, SCALE), 1.0)]:
        spiked = rmt.Spiked(base, [neutral]).sample(key)
        np.testing.assert_allclose(spiked, base.sample(key), rtol=1e-15)
    # The two programs round differently; levels are right to 4 eps of the norm, which is 2.
    levels, spiked = rmt.GOE(5).eigenvalues(key), rmt.Spiked(rmt.GOE(5), [0.0]).eigenvalues(key)
    np.testing.assert_allclose(spiked, levels, rtol=0, atol=20 * jnp.finfo(levels.dtype).eps)


# Ensembles, and the indices of their outliers. Some of the spikes are beyond the threshold, some below it.
OUTLIERS = [
    *further((rmt.Spiked(rmt.GOE(400, SCALE), [2 * SCALE, -3 * SCALE]), [-1, 0])),
    (rmt.Spiked(rmt.GSE(200, SCALE), [0.5 * SCALE]), [-1]),
    *further(
        (rmt.Spiked(rmt.Wishart(200, 400, 1, SCALE), [3.0, 0.1]), [-1, 0]),
        (rmt.Spiked(rmt.Wishart(200, 400, 2, SCALE), [1.2]), [-1]),
        (rmt.Spiked(rmt.Wishart(400, 200, 1, SCALE), [4.0]), [-1]),
        (rmt.Spiked(rmt.Wishart(200, 400, 2, SCALE), [0.9]), [0]),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("ensemble", "places"), OUTLIERS)
def test_outliers(getkey, ensemble, places):
    levels = np.asarray(jax.jit(jax.vmap(ensemble.eigenvalues))(jax.random.split(getkey(), 12)))[:, places].mean(0)
    # Outliers fluctuate by 1/√n, and the edge is off by about n^{-2/3}; the transition moves them by far more.
    np.testing.assert_allclose(levels, ensemble.outliers(), rtol=0.1)


@pytest.mark.parametrize(
    "base", [rmt.GUE(3, SCALE), *further(rmt.Wishart(3, 5, 1, SCALE), rmt.Wishart(3, 2, 2, SCALE))]
)
@pytest.mark.parametrize("spikes", [*further([1.7]), [1.7, 0.4]])
def test_derivatives(base, spikes):
    # At a fixed key the levels are smooth in the spikes and in the scale.
    key = jax.random.key(4)
    check_derivatives(lambda base, x: rmt.Spiked(base, x).eigenvalues(key), base, jnp.array(spikes))


def test_outliers_below_the_threshold_are_edges():
    wishart = rmt.Wishart(100, 400, 1, SCALE)
    upper, lower = SCALE**2 * 1.5**2, SCALE**2 * 0.5**2
    np.testing.assert_allclose(rmt.Spiked(wishart, [1.0, 1.4, 0.6]).outliers(), [upper, upper, lower], rtol=1e-12)
    np.testing.assert_allclose(rmt.Spiked(rmt.GOE(9), [0.0, 0.5, -0.5]).outliers(), [2, 2, -2], rtol=1e-12)


def test_derivative_of_outliers():
    for base, spikes in [(rmt.GOE(3, SCALE), [2.0, 0.3, -1.5]), (rmt.Wishart(4, 8, 1, SCALE), [3.0, 1.2, 0.1, 0.9])]:
        check_derivatives(lambda base, x: rmt.Spiked(base, x).outliers(), base, jnp.array(spikes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Spiked(rmt.GOE(2), [1.0, 2.0, 3.0]), r"`spikes` must be a vector of 1 to 2 numbers .* got \(3,\)"),
        (lambda: rmt.Spiked(rmt.GOE(2), []), "`spikes` must be a vector of 1 to 2 numbers"),
        (lambda: rmt.Spiked(rmt.GOE(2), 1.0), "`spikes` must be a vector"),
        (lambda: rmt.Spiked(rmt.GOE(2), [jnp.inf]), "`spikes` must be finite"),
        (lambda: rmt.Spiked(rmt.Wishart(2, 3), [-1.0]), "`spikes` must be positive and finite"),
        (lambda: rmt.Spiked(rmt.Wishart(2, 3), [0.0]), "`spikes` must be positive and finite"),
        (lambda: rmt.Spiked(rmt.GaussianBeta(3, 1.5), [1.0, 2.0]), "`spikes` must be a vector of 1 to 1 numbers"),
        (lambda: rmt.Spiked(rmt.CUE(3), [1.0]), "`base` must be a Gaussian or a Wishart ensemble, got CUE"),
        (lambda: rmt.Spiked(rmt.Wigner(3), [1.0]), "`base` must be a Gaussian or a Wishart ensemble, got Wigner"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
