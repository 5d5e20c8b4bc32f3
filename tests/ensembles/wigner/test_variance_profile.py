"""Variance profiles and bands: entries, exact moments by enumeration of walks, the law of bands, derivatives."""

import itertools
import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import drawn
from tests.statistical import assert_mean

DRAWS = 20_000
SCALE = 0.7
PROFILE = np.array([[0.3, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 0.0]])


def walks(variances, steps):
    """E tr H^k by brute force: over all closed walks, the product of the normal moments of the edges they use."""
    n, total = len(variances), 0.0
    for walk in itertools.product(range(n), repeat=steps):
        edges = Counter(tuple(sorted(edge)) for edge in zip(walk, walk[1:] + walk[:1], strict=True))
        if all(times % 2 == 0 for times in edges.values()):
            total += math.prod(
                variances[i][j] ** (times // 2) * math.prod(range(1, times, 2)) for (i, j), times in edges.items()
            )
    return total


def band(n, width):
    i = np.arange(n)
    distance = np.abs(i[:, None] - i)
    return (np.minimum(distance, n - distance) <= width) / (2 * width + 1)


def porter(n, gamma):
    return np.where(np.eye(n), 1.0, float(n) ** -gamma)


CASES = {
    "profile": (lambda: rmt.VarianceProfile(PROFILE, SCALE), PROFILE),
    "scalar": (lambda: rmt.VarianceProfile([[0.4]], SCALE), np.array([[0.4]])),
    "band": (lambda: rmt.Banded(5, 1, SCALE), band(5, 1)),
    "full band": (lambda: rmt.Banded(3, 1, SCALE), np.full((3, 3), 1 / 3)),
    "porter": (lambda: rmt.RosenzweigPorter(4, 1.3, SCALE), porter(4, 1.3)),
    "flat porter": (lambda: rmt.RosenzweigPorter(3, 0.0, SCALE), np.ones((3, 3))),
}


MOMENTS = [pytest.param("profile", marks=pytest.mark.float32), "band", "porter"]
MOMENTS += further("scalar", "full band", "flat porter")


@pytest.mark.parametrize("name", MOMENTS)
def test_entries_and_exact_moments(getkey, name):
    ensemble, variances = CASES[name][0](), CASES[name][1]
    levels, samples = drawn(ensemble, DRAWS, getkey())
    np.testing.assert_array_equal(samples, np.swapaxes(samples, -1, -2))
    samples, levels = samples.astype(float) / SCALE, levels.astype(float) / SCALE
    n = len(variances)
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        if variances[i, j] == 0:
            np.testing.assert_array_equal(samples[:, i, j], 0)
        else:
            assert_mean(samples[:, i, j], 0)
            assert_mean(samples[:, i, j] ** 2, variances[i, j])
    if n > 1:
        assert_mean(samples[:, 0, 0] * samples[:, 1, 1], 0)
        assert_mean(samples[:, 0, 1] * samples[:, 1, 1], 0)
    for power in (2, 4):
        assert_mean((levels**power).sum(-1), walks(variances, power))
    assert_mean((np.sort(levels) ** 3).sum(-1), 0)


@pytest.mark.parametrize("name", CASES)
def test_closed_form_of_the_moments(name):
    # The formula of the docstrings, 2 Σ r² + Σ v², against the enumeration.
    v = CASES[name][1]
    np.testing.assert_allclose(walks(v, 4), 2 * (v.sum(0) ** 2).sum() + (v**2).sum(), rtol=1e-12)
    if "band" in name:
        n, b = len(v), round(1 / v[0, 0])
        np.testing.assert_allclose((walks(v, 2), walks(v, 4)), (n, n * (2 + 1 / b)), rtol=1e-12)
    if "porter" in name:
        n, gamma = len(v), 1.3 if name == "porter" else 0.0
        r = 1 + (n - 1) * n**-gamma
        expected = n * r, n * (2 * r**2 + 1 + (n - 1) * n ** (-2 * gamma))
        np.testing.assert_allclose((walks(v, 2), walks(v, 4)), expected, rtol=1e-12)


def test_profile_is_read_as_its_symmetric_part(getkey):
    key = getkey()
    lopsided = np.triu(2 * PROFILE) - np.diag(np.diag(PROFILE))
    np.testing.assert_array_equal(rmt.VarianceProfile(lopsided).sample(key), rmt.VarianceProfile(PROFILE).sample(key))


def test_pooled_bands_have_the_semicircle_law(getkey):
    n, width = 400, 60
    matrices = jax.jit(jax.vmap(rmt.Banded(n, width, SCALE).sample))(jax.random.split(getkey(), 4))
    levels = np.linalg.eigvalsh(matrices)
    x = np.linspace(-2, 2, 41) * SCALE
    empirical = (np.asarray(levels).ravel()[:, None] <= x).mean(0)
    law = rmt.Banded(n, width, SCALE).law()
    # Both cdfs differ by O(1/width) at finite width.
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.006)
    assert np.abs(empirical - rmt.laws.Semicircle(law.radius * 1.05).cdf(x)).max() > 0.012


def test_laws_that_are_not_known():
    hollow = rmt.VarianceProfile([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="`variances` must be finite, not negative, and positive on the diagonal"):
        hollow.law()
    with pytest.raises(NotImplementedError, match=r"joint density of the eigenvalues of .* is not known"):
        rmt.VarianceProfile(PROFILE).joint_logpdf(np.zeros(3))


def test_the_law_is_that_of_the_profile():
    law = rmt.VarianceProfile(np.full((4, 4), 0.25), SCALE).law()
    np.testing.assert_allclose(law.cdf([-1.0, 0.3]), rmt.laws.Semicircle(2 * SCALE).cdf([-1.0, 0.3]), rtol=1e-12)


def test_derivatives(getkey):
    key = getkey()
    positive = jnp.asarray(PROFILE + 0.2)
    check_derivatives(lambda v, s: rmt.VarianceProfile(v @ v.T, s).eigenvalues(key), positive, SCALE)
    # √v is given the derivative 0 at v = 0, instead of infinity.
    slope = jax.grad(lambda v: (rmt.VarianceProfile(v).eigenvalues(key) ** 4).sum())(PROFILE)
    assert np.isfinite(slope).all()
    np.testing.assert_array_equal(slope[PROFILE == 0], 0)
    assert (np.abs(np.asarray(slope)[PROFILE > 0]) > 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.VarianceProfile(np.ones(3)), r"`variances` must be one square matrix, got \(3,\)"),
        (lambda: rmt.VarianceProfile(np.ones((2, 3, 3))), "`variances` must be one square matrix"),
        (lambda: rmt.VarianceProfile(np.ones((2, 3))), "`variances` must have square matrices"),
        (lambda: rmt.VarianceProfile(np.full((2, 2), np.inf)), "`variances` must be finite"),
        (lambda: rmt.VarianceProfile(-np.ones((2, 2))), "`variances` must be finite and not negative"),
        (lambda: rmt.Banded(2, 1), "`n` must be an integer of at least 3, got 2"),
        (lambda: rmt.Banded(6, 3), "`width` must be at most 2, got 3"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
