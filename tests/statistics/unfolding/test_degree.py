"""Degrees by cross-validation: scores against numpy, densities whose degree is known, and Gaussian matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import number_variance, over_samples, polynomial_degree, unfold_polynomial


def scores_by_numpy(levels, mask, degrees, folds):
    """Scores of each spectrum, of its own length, against a fit to the other folds."""
    spectra = [row[keep] for row, keep in zip(levels.astype(float), mask, strict=True)]
    ends = min(map(np.min, spectra)), max(map(np.max, spectra))
    scores = []
    for degree in degrees:
        each = np.zeros(len(spectra))
        for fold in range(folds):
            pool = np.sort(np.concatenate([x for s, x in enumerate(spectra) if s % folds != fold]))
            count = (np.arange(pool.size) + 0.5) / pool.size
            fit = np.polynomial.Chebyshev.fit(pool, count, degree, domain=ends)
            for s in range(fold, len(spectra), folds):
                each[s] = np.mean((spectra[s].size * fit(spectra[s]) - np.arange(spectra[s].size) - 0.5) ** 2)
        scores.append(each)
    return np.array(scores)


@pytest.mark.float32
def test_scores_are_numpys(getkey):
    levels = np.sort(np.asarray(jax.random.normal(getkey(), (7, 20))), axis=-1)
    mask = np.arange(20) < np.array([20, 20, 15, 20, 18, 20, 20])[:, None]
    degrees = (1, 2, 4, 5)
    found = polynomial_degree(rmt.Spectrum(jnp.where(mask, levels, jnp.nan), mask), degrees, folds=3)
    each = scores_by_numpy(levels, mask, degrees, 3)
    scores = each.mean(-1)
    rtol = 1e4 * np.finfo(levels.dtype).eps
    np.testing.assert_allclose(found.scores, scores, rtol=rtol)
    best = np.argmin(scores)
    errors = np.std(each - each[best], axis=-1, ddof=1) / 7**0.5
    np.testing.assert_allclose(found.standard_errors, errors, rtol=10 * rtol, atol=rtol)
    assert found.best == degrees[best]
    assert found.degree == degrees[np.flatnonzero(scores <= scores[best] + errors)[0]]


@pytest.mark.parametrize("degree", [3, 5])
def test_a_density_of_known_degree(getkey, degree):
    grid = np.linspace(0, 1, 20_001)
    cdf = {3: 3 * grid**2 - 2 * grid**3, 5: 10 * grid**3 - 15 * grid**4 + 6 * grid**5}[degree]
    phases = rmt.simulate(rmt.CUE(40).eigenphases, getkey(), 8 * 60).reshape(8, 60, 40)
    levels = jnp.interp(phases / (2 * jnp.pi) + 0.5, cdf, grid)
    found = [int(polynomial_degree(each, range(1, 11)).degree) for each in levels]
    # The rule of one error never takes a degree that is too low, and a higher one in one case of ten.
    assert min(found) == degree
    assert found.count(degree) >= 5


@pytest.mark.slow
def test_semicircle(getkey):
    levels = rmt.simulate(rmt.GOE(100).eigenvalues, getkey(), 200)
    choice = polynomial_degree(levels, range(1, 21), drop=0.2)
    # A straight line misses the density by two levels and more; high degrees leave only fluctuations.
    assert choice.scores[0] > 3 * choice.scores.min()
    assert 5 <= choice.degree <= 13
    unfolded = unfold_polynomial(levels, int(choice.degree), drop=0.2)
    found = over_samples(lambda x: number_variance(x, 20.0), unfolded)
    assert found.standard_error < 0.04
    assert abs(found.z_score(rmt.laws.number_variance(20.0, 1))) < 4
    wrong = over_samples(lambda x: number_variance(x, 20.0), unfold_polynomial(levels, 1, drop=0.2))
    assert wrong.value > 2 * found.value


def test_under_jit():
    levels = jnp.linspace(0, 1, 10)[None] ** 2 + jnp.array([[0.0], [0.1], [0.3]])
    found = jax.jit(lambda x: polynomial_degree(x, (1, 2, 3), folds=3))(levels)
    here = polynomial_degree(levels, (1, 2, 3), folds=3)
    np.testing.assert_allclose(found.scores, here.scores, rtol=1e-4)
    assert found.degree == here.degree
    assert jax.jit(lambda x: polynomial_degree(x, (1, 2)).degree)(jnp.zeros((5, 4)) - jnp.arange(4.0)[None]) == -1
    assert jax.jit(lambda x: polynomial_degree(x, (1, 2)).degree)(jnp.zeros((5, 4))) == -1  # one distinct level


@pytest.mark.float32
def test_of_equal_scores_the_lowest_degree():
    # All of these degrees fit equal distances up to rounding.
    found = polynomial_degree(jnp.arange(300.0)[None] + jnp.zeros((6, 1)), (1, 2, 5, 9), folds=3)
    assert found.best == found.degree == 1


def test_spectra_of_several_sizes(getkey):
    # Sectors of 20 and 40 levels with the density 6x(1 - x).
    grid = np.linspace(0, 1, 20_001)
    pick = lambda phases: jnp.interp(phases / (2 * jnp.pi) + 0.5, 3 * grid**2 - 2 * grid**3, grid)
    small, large = (pick(rmt.simulate(rmt.CUE(n).eigenphases, getkey(), 60)) for n in (20, 40))
    levels = jnp.concatenate([jnp.pad(small, ((0, 0), (0, 20)), constant_values=jnp.nan), large])
    found = polynomial_degree(rmt.Spectrum(levels, jnp.isfinite(levels)), range(1, 9))
    assert found.degree == 3
    assert found.scores[2] < 0.5  # it would be 30 with unnormalised staircases


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: polynomial_degree(x[0], (1,)), "`levels` must have an axis of spectra and one of levels"),
        (lambda x: polynomial_degree(x, ()), "`degrees` must ascend, and be below the number of levels, 4"),
        (lambda x: polynomial_degree(x, (2, 1)), "`degrees` must ascend, and be below the number of levels, 4"),
        (lambda x: polynomial_degree(x, (1, 4)), "`degrees` must ascend, and be below the number of levels, 4"),
        (lambda x: polynomial_degree(x, (0, 1)), "`degrees` must be an integer of at least 1"),
        (lambda x: polynomial_degree(x, (1, 2), folds=1), "`folds` must be an integer of at least 2"),
        (lambda x: polynomial_degree(0 * x, (1, 2)), "`degrees` must be below the number of distinct levels, 1, got 2"),
        (lambda x: polynomial_degree(rmt.Spectrum(x, domain=rmt.Circle(9)), (1,)), "`levels` must lie on the line"),
        (lambda x: polynomial_degree(x, (1, 2), folds=7), "`folds` must be at most the number of spectra, 6"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call(jnp.arange(4.0)[None] + jnp.zeros((6, 1)))
