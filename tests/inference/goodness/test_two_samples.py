"""Comparison of two sets of spectra: distances against SciPy, exact levels by enumeration, power."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import compare_spectra
from tests.cases import further

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(3, 5)), 0.4 + RNG.normal(size=(4, 5))


def literal(name, a, b):
    """Distances of the pooled values, by SciPy and by the definition."""
    a, b = np.ravel(a), np.ravel(b)
    if name == "kolmogorov-smirnov":
        return scipy.stats.ks_2samp(a, b).statistic
    if name == "energy":
        return scipy.stats.energy_distance(a, b) ** 2
    both = np.concatenate([a, b])
    return np.mean([(np.mean(a <= x) - np.mean(b <= x)) ** 2 for x in both])


@pytest.mark.float32
@pytest.mark.parametrize("name", ["kolmogorov-smirnov", "cramer-von-mises", "energy"])
def test_distances_and_p_values_are_those_of_all_divisions(name):
    found = compare_spectra(A, B, key=jax.random.key(0), statistic=name)
    np.testing.assert_allclose(found.statistic, literal(name, A, B), rtol=2e-5)
    assert (found.spectra, found.resamples, found.test) == ((3, 4), 999, name)
    both = np.concatenate([A, B])
    divisions = [np.isin(np.arange(7), chosen) for chosen in itertools.combinations(range(7), 3)]
    every = np.array([literal(name, both[first], both[~first]) for first in divisions])
    # Each of the 35 divisions is drawn, and the share of those as far apart as the data is the p-value.
    exact = np.mean(every >= literal(name, A, B) * (1 - 1e-5))
    assert len(np.unique(np.asarray(found.null).round(5))) == len(np.unique(every.round(5)))
    assert abs(found.p_value - exact) < 5 * (exact * (1 - exact) / 999) ** 0.5 + 0.001


def difference_of_means(a, b):
    return jnp.abs(a.mean() - b.mean())


def test_a_function_is_permuted_as_well():
    found = compare_spectra(A, B, key=jax.random.key(0), statistic=difference_of_means, resamples=499)
    both = np.concatenate([A, B])
    every = [
        abs(both[list(chosen)].mean() - np.delete(both, chosen, axis=0).mean())
        for chosen in itertools.combinations(range(7), 3)
    ]
    np.testing.assert_allclose(found.statistic, abs(A.mean() - B.mean()), rtol=2e-6)
    exact = np.mean(np.array(every) >= abs(A.mean() - B.mean()) * (1 - 1e-5))
    assert abs(found.p_value - exact) < 5 * (exact * (1 - exact) / 499) ** 0.5 + 0.002
    assert str(found).startswith("difference_of_means: distance 0.")


def test_masked_values_and_sizes_that_differ():
    # Levels that do not count may be anything, and a spectrum weighs the same with fewer of them.
    spectra = rmt.Spectrum.of([np.sort(A[0]), np.sort(A[1])[:4], np.sort(A[2])])
    found = compare_spectra(spectra, B[:, :3], key=jax.random.key(0), resamples=9)
    points = np.concatenate([A[0], np.sort(A[1])[:4], A[2], B[:, :3].ravel()])
    f = np.mean([(row <= points[:, None]).mean(1) for row in (A[0], np.sort(A[1])[:4], A[2])], axis=0)
    g = (B[:, :3].ravel() <= points[:, None]).mean(1)
    np.testing.assert_allclose(found.statistic, np.mean((f - g) ** 2), rtol=1e-5)


@pytest.mark.slow
def test_many_values_are_compared_at_some_of_them():
    a, b = RNG.normal(size=(40, 400)), 1.02 * RNG.normal(size=(30, 400))
    for name in ("kolmogorov-smirnov", "cramer-von-mises", "energy"):
        found = compare_spectra(a, b, key=jax.random.key(0), statistic=name, resamples=9).statistic
        np.testing.assert_allclose(found, literal(name, a, b), rtol=0.02)


def test_arguments_are_checked():
    key = jax.random.key(0)
    for a, b, options, message in [
        (A[0], B, {}, r"`a` must have the shape \(m, n\)"),
        (A, B[:, :0], {}, r"`b` must have the shape \(m, n\)"),
        (A[:1], B[:1], {}, "`a` must have more than one spectrum"),
        (A, np.full_like(B, np.nan), {}, "`b` must be finite numbers"),
        (A, B, {"statistic": "student"}, "`statistic` must be one of 'kolmogorov-smirnov'"),
        (A, B, {"statistic": 3}, "`statistic` must be one of"),
        (A, B, {"resamples": 0}, "`resamples` must be an integer of at least 1"),
        (A, B[:, :4], {"statistic": difference_of_means}, "`b` must have 5 values in each spectrum"),
        (A, B, {"statistic": lambda a, b: a.mean(1)}, "`statistic` must return a number"),
    ]:
        with pytest.raises(ValueError, match=message):
            compare_spectra(a, b, key=key, **options)


def test_levels_as_rows_are_refused():
    """Ascending levels stand in rows; other values, and few spectra, may be in any order."""
    key, levels = jax.random.key(0), np.sort(RNG.normal(size=(9, 20)), axis=1)
    with pytest.raises(ValueError, match=r"`a` must have independent spectra as rows, got \(20, 4\) .* `.T`"):
        compare_spectra(levels[:4].T, levels[4:].T, key=key, resamples=9)
    compared = lambda a, b: compare_spectra(a, b, key=key, resamples=9).p_value
    assert np.isnan(jax.jit(compared)(levels[:4].T, levels[4:].T))
    # Spectra that move upwards together are still spectra.
    moving = np.arange(20)[:, None] + levels[0, :4]
    assert np.isfinite(compared(moving, moving[:, ::-1][::-1]))
    assert np.isfinite(compared(A, B))


def draw(ensemble, key, m):
    return jax.vmap(ensemble.eigenvalues)(jax.random.split(key, m))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cramer-von-mises", *further("kolmogorov-smirnov", "energy")])
def test_p_values_are_uniform_for_exchangeable_spectra(name, getkey):
    data = draw(rmt.GOE(20), getkey(), 1000 * 13).reshape(1000, 13, 20)
    compared = lambda x, key: compare_spectra(x[:5], x[5:], key=key, statistic=name, resamples=99)
    found = jax.jit(jax.vmap(compared))(data, jax.random.split(getkey(), 1000))
    # Equal distances make the p-value larger; with a random order among equals it is uniform.
    found = jax.tree.map(np.asarray, found)
    far = (found.null > found.statistic[:, None] * (1 + 1e-9)).sum(1)
    equal = 100 * found.p_value - far
    p_values = (far + RNG.random(1000) * equal) / 100
    assert (found.p_value >= p_values).all()
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_power_against_another_scale_and_another_class(getkey):
    a, b = draw(rmt.GOE(50), getkey(), 50 * 20), draw(rmt.GOE(50, scale=1.05), getkey(), 50 * 20)
    compared = jax.jit(jax.vmap(lambda a, b, key: compare_spectra(a, b, key=key, resamples=199).p_value))
    keys = jax.random.split(getkey(), 50)
    assert np.mean(compared(a.reshape(50, 20, 50), b.reshape(50, 20, 50), keys) < 0.05) > 0.9
    c = rmt.statistics.gap_ratios(draw(rmt.GUE(50), getkey(), 50 * 20)).values
    a = rmt.statistics.gap_ratios(a).values
    assert np.mean(compared(a.reshape(50, 20, 48), c.reshape(50, 20, 48), keys) < 0.05) > 0.9
