"""Deformed Gaussian ensembles: exact moments and entries, one level, the free convolution, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import assert_law, assert_mean

SCALE = 0.7
LEVELS = np.array([0.9, -1.3, 0.2, 0.9])
BASES = {"goe": (rmt.GOE, 1), "gue": (rmt.GUE, 2), "gse": (rmt.GSE, 4)}
every_base = pytest.mark.parametrize(("base", "beta"), BASES.values(), ids=BASES)


@pytest.mark.parametrize(
    ("base", "beta"),
    [(rmt.GOE, 1), (rmt.GUE, 2), pytest.param(rmt.GSE, 4, marks=pytest.mark.float32(further=True))],
    ids=BASES,
)
def test_exact_moments(getkey, base, beta):
    n = LEVELS.size
    levels, samples = drawn(rmt.Deformed(base(n, SCALE), LEVELS), 10_000, getkey())
    c = SCALE**2 * (1 + (2 / beta - 1) / n)
    for spectrum in (levels.astype(float), dense_levels(samples, n, ulps=30)):
        assert spectrum.shape == (10_000, n)
        assert_mean(spectrum.sum(-1), LEVELS.sum())
        assert_mean((spectrum**2).sum(-1), (LEVELS**2).sum() + n * c)
        assert_mean((spectrum**3).sum(-1), (LEVELS**3).sum() + 3 * c * LEVELS.sum())
    # The trace is normal with the variance 2s²/β.
    assert_law(levels.sum(-1), scipy.stats.norm(LEVELS.sum(), (2 / beta) ** 0.5 * SCALE).cdf)


@every_base
def test_one_level_is_normal(getkey, base, beta):
    levels, _ = drawn(rmt.Deformed(base(1, SCALE), [0.4]), 4000, getkey())
    assert_law(levels[:, 0], scipy.stats.norm(0.4, (2 / beta) ** 0.5 * SCALE).cdf)


@pytest.mark.parametrize("a", [0.0, 0.4])
def test_equal_levels_are_a_shift(getkey, a):
    # The fourth moment of the base itself: E Σ (λ - a)⁴ for the GUE is n (2 + 1/n²) s⁴.
    n = 4
    levels, _ = drawn(rmt.Deformed(rmt.GUE(n, SCALE), np.full(n, a)), 10_000, getkey())
    assert_mean(((levels - a) ** 4).sum(-1), n * (2 + 1 / n**2) * SCALE**4)


def test_pooled_spectra_have_the_law_of_the_free_convolution(getkey):
    n = 400
    a = np.repeat([-1.5, 1.0], [n // 4, 3 * n // 4])
    matrices = jax.jit(jax.vmap(rmt.Deformed(rmt.GUE(n, SCALE), a).sample))(jax.random.split(getkey(), 4))
    levels = np.linalg.eigvalsh(matrices)
    law = rmt.laws.DeformedSemicircle([-1.5, 1.0], [0.25, 0.75], 2 * SCALE)
    x = np.linspace(*law.support(), 41)
    empirical = (np.asarray(levels).ravel()[:, None] <= x).mean(0)
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.004)
    wrong = rmt.laws.DeformedSemicircle([-1.5, 1.0], [0.25, 0.75], 2.1 * SCALE)
    assert np.abs(empirical - wrong.cdf(x)).max() > 0.006


def test_law_is_that_of_the_levels():
    law = rmt.Deformed(rmt.GSE(4, SCALE), LEVELS).law()
    np.testing.assert_allclose(law.mean(), LEVELS.mean(), rtol=1e-14)
    np.testing.assert_allclose(law.var(), LEVELS.var() + SCALE**2, rtol=1e-14)


@pytest.mark.parametrize("base", [rmt.GUE, rmt.GSE], ids=["gue", "gse"])
def test_derivatives(getkey, base):
    key = getkey()
    levels = lambda a, scale: rmt.Deformed(base(3, scale), a).eigenvalues(key)
    check_derivatives(levels, jnp.array([0.9, -1.3, 0.2]), SCALE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Deformed(rmt.GaussianBeta(3, 1.0), np.zeros(3)), "`base` must be a GOE, GUE or GSE, got Gauss"),
        (lambda: rmt.Deformed(rmt.Wigner(3), np.zeros(3)), "`base` must be a GOE, GUE or GSE, got Wigner"),
        (lambda: rmt.Deformed(rmt.GOE(3), np.zeros(4)), r"`levels` must have the shape \(3,\), got \(4,\)"),
        (lambda: rmt.Deformed(rmt.GOE(2), [0.0, np.inf]), "`levels` must be finite"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
