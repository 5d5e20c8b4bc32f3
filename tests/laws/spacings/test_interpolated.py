"""The laws for every β against the exact ones, and against levels of the circular β-ensembles."""

import interpolated_table
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference import fit_beta
from rmtjax.laws import InterpolatedGapRatio, InterpolatedSpacing
from rmtjax.laws._core.tabulated import load
from tests.statistical import assert_mean

RATIOS = jnp.linspace(1e-3, 1 - 1e-3, 40)
SPACINGS = jnp.linspace(1e-3, 7.5, 60)


def test_exact_laws():
    for beta in (1, 2, 4):
        law, exact = InterpolatedGapRatio(beta), rmt.laws.GapRatio(beta)
        np.testing.assert_allclose(law.logpdf(RATIOS), exact.logpdf(RATIOS), rtol=0, atol=2e-9)
        law, exact = InterpolatedSpacing(beta), rmt.laws.Spacing(beta)
        np.testing.assert_allclose(law.logpdf(SPACINGS), exact.logpdf(SPACINGS), rtol=0, atol=1e-7)
    np.testing.assert_allclose(InterpolatedGapRatio(0.0).pdf(RATIOS), 2 / (1 + RATIOS) ** 2, rtol=1e-12)
    np.testing.assert_allclose(InterpolatedSpacing(0.0).pdf(SPACINGS), jnp.exp(-SPACINGS), rtol=1e-12)


@pytest.mark.slow
def test_table_is_that_of_its_script():
    table = load(interpolated_table.TABLE)
    for name, built in interpolated_table.build().items():
        np.testing.assert_allclose(table[name], built, rtol=0, atol=1e-13)


def test_mass_and_mean_in_between():
    # NumPy's rule, in a variable in which the power at 0 is smooth.
    nodes, weights = np.polynomial.legendre.leggauss(400)
    w, weights = (1 + nodes) / 2, weights / 2
    for beta in (0.05, 0.5, 7.0, 60.0):
        ratio = np.asarray(InterpolatedGapRatio(beta).pdf(jnp.asarray(w**4)))
        np.testing.assert_allclose(weights @ (4 * w**3 * ratio), 1, rtol=1e-8)
        spacing = np.asarray(InterpolatedSpacing(beta).pdf(jnp.asarray(40 * w**4)))
        masses = weights * 160 * w**3 * spacing
        np.testing.assert_allclose([masses.sum(), masses @ (40 * w**4)], 1, rtol=1e-6)


@pytest.mark.parametrize("law", [InterpolatedGapRatio, InterpolatedSpacing])
def test_large_beta_in_single_precision(law):
    """The density before normalisation is below the smallest number of single precision from β = 80 on."""
    x = np.array([0.3, 0.9, 0.99])
    for beta in (80.0, 100.0):
        single = law(jnp.asarray(beta, jnp.float32)).logpdf(jnp.asarray(x, jnp.float32))
        assert single.dtype == jnp.float32
        expected = law(beta).logpdf(jnp.asarray(x, jnp.float32).astype(float))
        np.testing.assert_allclose(single, expected, atol=1e-6 * beta, rtol=1e-5)


def test_ends_and_bad_input():
    assert InterpolatedGapRatio(0.0).pdf(0.0) == 2
    assert InterpolatedGapRatio(0.5).pdf(0.0) == 0
    np.testing.assert_allclose(InterpolatedGapRatio(2.0).pdf(1.0), rmt.laws.GapRatio(2).pdf(1.0), rtol=1e-8)
    assert InterpolatedSpacing(0.0).pdf(0.0) == 1
    for law in (InterpolatedGapRatio, InterpolatedSpacing):
        with pytest.raises(ValueError, match="`beta` must be finite and not negative"):
            law(-0.1)


def _circular(key, beta, n):
    phases = rmt.CircularBeta(n, beta).eigenphases(key)
    return jnp.append(phases, phases[:2] + 2 * jnp.pi)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("beta", [0.2, 0.5, 1.5, 3.0, 6.0, 12.0])
def test_ratios_between_the_exact_laws(getkey, beta):
    """Levels on the circle have the ratios of large spectra up to 6/n⁴."""
    levels = rmt.simulate(lambda key: _circular(key, beta, 24), getkey(), 40000)
    fit = fit_beta(levels)
    assert abs(fit.value - beta) < 5 * fit.standard_error
    assert fit.standard_error < 0.004 * beta + 0.001
    means = np.asarray(rmt.statistics.gap_ratios(levels).mean())
    assert_mean(means, float(fit.law.mean()))


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("beta", [0.5, 1.5, 3.0])
def test_spacings_between_the_exact_laws(getkey, beta):
    n = 100
    levels = rmt.simulate(lambda key: _circular(key, beta, n), getkey(), 1000) * (n / (2 * jnp.pi))
    fit = fit_beta(levels[:, : n + 1], by="spacings")
    assert abs(fit.value - beta) < 0.015 * beta + 5 * fit.standard_error
    assert fit.standard_error < 0.01 * beta
