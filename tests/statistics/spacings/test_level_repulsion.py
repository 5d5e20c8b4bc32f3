"""The exponent of small spacings: by hand, against the laws of spacings with their bias, and its error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import LevelRepulsion, level_repulsion, over_samples
from tests.statistical import assert_counts

# β, the coefficient c and the power γ in P(s) ∝ s^β (1 + c s^γ + …).
SMALL_SPACINGS = {0: (-1, 1), 1: (-(np.pi**2) / 10, 2), 2: (-2 * np.pi**2 / 15, 2), 4: (-8 * np.pi**2 / 35, 2)}


def exponent_of_law(beta, cutoff):
    """The limit of the estimate, by quadrature."""
    x, w = np.polynomial.legendre.leggauss(60)
    s, w = cutoff * (x + 1) / 2, cutoff * w / 2
    law = rmt.laws.Spacing(beta) if beta else rmt.laws.PoissonSpacing()
    density = np.asarray(law.pdf(s))
    return np.sum(w * density) / np.sum(w * density * np.log(cutoff / s)) - 1


@pytest.mark.float32
def test_definition():
    levels = np.array([0.0, 0.2, 0.2, 0.5, 2.0, 2.25, 4.0])
    mask = np.array([True, True, True, True, False, True, True])
    found = level_repulsion(levels, np.array([[0.5], [2.0]]))
    small = [[0.2, 0.3, 0.25], [0.2, 0.3, 1.5, 0.25, 1.75]]
    np.testing.assert_array_equal(found.count, [[3], [5]])
    logs = [np.sum(np.log(cutoff / np.array(s))) for cutoff, s in zip((0.5, 2.0), small, strict=True)]
    np.testing.assert_allclose(found.logarithms[:, 0], logs, rtol=1e-6)
    np.testing.assert_allclose(found.exponent[:, 0], np.array([3, 5]) / logs - 1, rtol=1e-5)
    masked = level_repulsion(rmt.Spectrum(jnp.where(mask, levels, jnp.nan), mask, unfolded=True), 2.0)
    np.testing.assert_allclose(masked.logarithms, np.sum(np.log(2 / np.array([0.2, 0.3, 1.75]))), rtol=1e-6)


def test_few_levels():
    for n in range(3):
        found = level_repulsion(jnp.zeros((2, n)), jnp.array([0.1, 0.2, 0.3]))
        np.testing.assert_array_equal(found.count, np.zeros((2, 3)))
        assert np.isnan(found.exponent).all()


def test_derivative():
    total = lambda x: level_repulsion(x, 1.0).exponent
    slope = jax.grad(total)(jnp.array([0.0, 0.5, 0.5, 0.75]))  # 2/(log 2 + log 4) - 1
    np.testing.assert_allclose(slope, 2 / np.log(8) ** 2 * np.array([-2, 2, -4, 4]), rtol=1e-5)


@pytest.mark.parametrize("beta", SMALL_SPACINGS)
def test_bias_of_a_cutoff(beta):
    c, power = SMALL_SPACINGS[beta]
    for cutoff in (0.02, 0.04):
        bias = c * power * cutoff**power * (beta + 1) ** 2 / (beta + 1 + power) ** 2
        np.testing.assert_allclose(exponent_of_law(beta, cutoff) - beta, bias, rtol=0.05)


@pytest.mark.parametrize(("beta", "ensemble"), [(0, None), (1, rmt.COE), (2, rmt.CUE), (4, rmt.CSE)])
def test_matrices(getkey, beta, ensemble):
    n, cutoffs = 50, jnp.array([0.3, 0.5])
    if ensemble is None:
        levels = jnp.cumsum(jax.random.exponential(getkey(), (400, n)), axis=-1)
    else:
        levels = rmt.simulate(ensemble(n).eigenphases, getkey(), 400) * n / (2 * np.pi)
    found = over_samples(lambda x: level_repulsion(x, cutoffs), levels, combine=lambda mean: mean.exponent)
    expected = [exponent_of_law(beta, float(cutoff)) for cutoff in cutoffs]
    assert found.standard_error[1] < 0.15
    assert abs(found.z_score(expected)).max() < 5
    # Spacings below the cutoff are nearly independent.
    together = LevelRepulsion(*(each.sum(0) for each in jax.tree.leaves(level_repulsion(levels, cutoffs))))
    np.testing.assert_allclose(found.standard_error, (1 + together.exponent) / together.count**0.5, rtol=0.3)


def test_errors_are_true(getkey):
    repetitions, samples, n = 400, 30, 40
    levels = jnp.cumsum(jax.random.exponential(getkey(), (samples, repetitions, n)), axis=-1)
    found = over_samples(lambda x: level_repulsion(x, 0.5), levels, combine=lambda mean: mean.exponent)
    lower, upper = found.interval()
    expected = exponent_of_law(0, 0.5)
    held = np.sum((lower <= expected) & (expected <= upper))
    assert_counts([held, repetitions - held], [0.95, 0.05])


@pytest.mark.parametrize("cutoff", [0.0, np.inf, np.nan])
def test_refusals(cutoff):
    with pytest.raises(ValueError, match="`cutoffs` must be positive and finite"):
        level_repulsion(jnp.arange(3.0), cutoff)
    with pytest.raises(ValueError, match="`levels` must be unfolded"):
        level_repulsion(rmt.Spectrum(jnp.arange(3.0)), 1.0)
