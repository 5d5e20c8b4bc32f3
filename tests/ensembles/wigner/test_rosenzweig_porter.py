"""The Rosenzweig-Porter ensemble: level statistics at the transition; its moments are in test_variance_profile.py."""

import functools

import jax
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.statistical import assert_law

SCALE = 0.7


@functools.partial(jax.jit, static_argnums=(0, 1))
def spectra(n, number, gamma, key):
    return jax.vmap(rmt.RosenzweigPorter(n, gamma, SCALE).eigenvalues)(jax.random.split(key, number))


# The mean ratio of neighbouring spacings is 0.5307 for γ < 2, as in the GOE (Atas et al. 2013), and 2 log 2 - 1 for
# γ > 2, as for independent levels.
@pytest.mark.parametrize(("gamma", "expected"), [(0.5, 0.5307), (4.0, 2 * np.log(2) - 1)])
def test_mean_gap_ratio(getkey, gamma, expected):
    spacings = np.diff(np.asarray(spectra(100, 120, gamma, getkey()))[:, 20:80])
    pairs = spacings[:, :-1], spacings[:, 1:]
    # The standard error is 0.003; n = 100 moves the mean by less.
    assert abs((np.minimum(*pairs) / np.maximum(*pairs)).mean() - expected) < 0.015


@pytest.mark.parametrize("gamma", [0.5, 1.0, 1.5])
def test_pooled_levels_have_the_law_of_all_three_phases(getkey, gamma):
    n = 300
    ensemble = rmt.RosenzweigPorter(n, gamma, SCALE)
    levels = np.asarray(spectra(n, 40, gamma, getkey())).ravel()
    law = ensemble.law()
    np.testing.assert_allclose(law.var(), SCALE**2 * (1 + (n - 1) * n**-gamma), rtol=1e-6)
    x = np.linspace(*np.quantile(levels, [0.01, 0.99]), 15)
    empirical = (levels[:, None] <= x).mean(0)
    # Independent levels have a standard error of up to 0.005.
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.018)
    wrong = rmt.laws.Normal(SCALE) if gamma <= 1 else rmt.laws.Semicircle(2 * SCALE)
    assert np.abs(empirical - wrong.cdf(x)).max() > 0.022


def test_one_level_is_normal_and_so_are_levels_without_a_coupling():
    np.testing.assert_allclose(rmt.RosenzweigPorter(9, 400.0, SCALE).law().cdf(0.3), scipy.stats.norm.cdf(0.3 / SCALE))
    np.testing.assert_allclose(rmt.RosenzweigPorter(1, 1.3, SCALE).law().cdf(0.3), scipy.stats.norm.cdf(0.3 / SCALE))


def test_diagonal_alone_at_large_gamma(getkey):
    # Off-diagonal entries are of order 6^{-10}, so the levels are the sorted independent diagonal entries.
    levels = np.asarray(spectra(6, 4000, 20.0, getkey()))
    assert_law(levels[:, -1], lambda x: scipy.stats.norm.cdf(x / SCALE) ** 6)


def test_derivatives(getkey):
    key = getkey()
    check_derivatives(lambda gamma, scale: rmt.RosenzweigPorter(4, gamma, scale).eigenvalues(key), 1.3, SCALE)
    by_gamma = jax.jacobian(lambda gamma: rmt.RosenzweigPorter(4, gamma).sample(key))(1.3)
    off = np.asarray(rmt.RosenzweigPorter(4, 1.3).sample(key)) * ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(by_gamma, -np.log(4) / 2 * off, rtol=1e-12)
