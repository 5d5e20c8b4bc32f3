"""Intervals, periods and windows of single spectra: one call, a batch, compiled and mapped."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import statistics

# Three spectra of different length, and one without any levels.
LEVELS = np.array(
    [[1.5, 2.0, 3.25, 4.0, 5.5, 6.0], [0.5, 1.0, 1.5, 4.0, 0, 0], [3.0, 3.5, 3.75, 4.5, 5.0, 0], [0.0] * 6]
)
MASK = np.arange(6) < np.array([6, 4, 5, 0])[:, None]
INTERVAL = {"interval": (np.array([1.0, 0, 2.5, 0]), np.array([6.5, 4.5, 5.5, 9]))}
PERIOD = {"period": np.array([5.0, 4.5, 3, 9])}
WINDOW = {"window": (np.array([3.0, 2, 4, 3]), np.array([1.0, 2, 0.5, 1]))}
SIZES, EDGES = np.array([0.5, 1.25]), np.array([0, 0.5, 2])
MANY = np.linspace(0.5, 3, 200)
STATISTICS = {
    "number_variance": (lambda *a, **k: statistics.number_variance(*a, SIZES, **k), INTERVAL, PERIOD),
    "rigidity": (lambda *a, **k: statistics.rigidity(*a, SIZES, **k), INTERVAL, PERIOD),
    "number_skewness": (lambda *a, **k: statistics.number_skewness(*a, SIZES, **k), INTERVAL, PERIOD),
    "number_probabilities": (
        lambda *a, **k: statistics.number_probabilities(*a, SIZES, max_count=2, **k),
        INTERVAL,
        PERIOD,
    ),
    "pair_correlation": (lambda *a, **k: statistics.pair_correlation(*a, EDGES, **k), INTERVAL, PERIOD),
    "power_spectrum": (lambda *a, **k: statistics.power_spectrum(*a, SIZES, **k), PERIOD),
    "form_factor": (lambda *a, **k: statistics.form_factor(*a, SIZES, **k).raw, WINDOW),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_every_spectrum_has_its_own_place(name):
    statistic, *places = STATISTICS[name]
    for place in places:
        of = lambda levels, mask, place: statistic(levels, where=mask, **place)
        whole = LEVELS, MASK, place
        expected = jnp.stack([of(*jax.tree.map(lambda leaf, i=i: leaf[i], whole)) for i in range(4)])
        assert np.isfinite(expected[:3]).all()
        assert np.isnan(expected[3]).all()
        in_two_axes = of(*jax.tree.map(lambda leaf: leaf.reshape(2, 2, *leaf.shape[1:]), whole))
        for found in (of(*whole), jax.jit(of)(*whole), jax.vmap(of)(*whole), in_two_axes):
            np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12)


@pytest.mark.parametrize("name", STATISTICS)
def test_memory_is_linear_in_levels_and_lengths(name):
    # Some numbers for each level and each value, and the tile of 2¹⁵ places and times that waves have.
    batch, n = 40, 1000
    options = {"max_count": 0} if name == "number_probabilities" else {}
    of = lambda levels: getattr(statistics, name)(levels, MANY, **options)
    memory = jax.jit(of).lower(jnp.zeros((batch, n))).compile().memory_analysis()
    assert memory.temp_size_in_bytes / 8 < 12 * batch * (n + MANY.size) + 5 * 2**15


def test_an_interval_far_from_the_levels_is_nan_under_jit():
    # Two mean spacings beyond the levels are observed empty space, and forty are a mistake.
    levels, ends = jnp.arange(60.0), jnp.array([[-2.0, 61.0], [-2.0, 99.0], [-40.0, 61.0], [5.0, 4.0]])
    found = jax.jit(jax.vmap(lambda pair: statistics.number_variance(levels, 1.0, interval=(pair[0], pair[1]))))(ends)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, True])
    periods = jnp.array([60.0, 58.0, -3.0])
    found = jax.jit(jax.vmap(lambda period: statistics.number_variance(levels, 1.0, period=period)))(periods)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True])
    # Between levels an empty stretch may be as long as it likes.
    clusters = jnp.repeat(jnp.arange(0.0, 500, 100), 100)
    assert np.isfinite(statistics.number_variance(clusters, 1.0, interval=(50.0, 350.0)))


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "form_factor"])
def test_levels_that_are_not_unfolded(name):
    statistic = STATISTICS[name][0]
    raw, unfolded = jnp.linspace(-2, 2, 60), jnp.arange(60.0)
    with pytest.raises(ValueError, match=r"`levels` must have a mean spacing of 1, .* got 0\.0678"):
        statistic(raw)
    # Independent levels of unit density are so dense or so rare with a probability of exp(-36) at most.
    batch = jnp.stack([raw, unfolded, 2 * unfolded, 8 * unfolded])
    missing = np.isnan(jax.jit(statistic)(batch)).reshape(4, -1)
    np.testing.assert_array_equal(missing, np.array([True, False, False, True])[:, None] & np.ones_like(missing))


def test_only_the_interval_and_the_circle_need_unit_density():
    # The middle of a semicircle is unfolded by the density at its centre, and there only.
    levels = rmt.laws.Semicircle(2.0).ppf((jnp.arange(2000.0) + 0.5) / 2000) * 2000 / np.pi
    with pytest.raises(ValueError, match=r"mean spacing of 1, .* got 1\.27"):
        statistics.number_variance(levels, 1.0)
    assert statistics.number_variance(levels, 1.0, interval=(-200, 200)) < 0.01
    with pytest.raises(ValueError, match=r"mean spacing of 1, .* got 5"):
        statistics.rigidity(jnp.arange(50.0), 1.0, period=250)
    with pytest.raises(ValueError, match=r"mean spacing of 1, .* got 50"):
        statistics.rigidity(jnp.array([0.0, 100]), 1.0, interval=(20, 70))


@pytest.mark.parametrize("name", STATISTICS)
def test_a_batch_of_no_spectra(name):
    found = STATISTICS[name][0](jnp.zeros((0, 5)))
    assert found.shape[0] == found.size == 0


def test_derivatives_where_one_length_is_0():
    levels = jnp.array([0.0, 0.9, 2.2, 3.0, 4.1, 4.8])
    slope = jax.grad(lambda x: jnp.nansum(statistics.rigidity(x, jnp.array([0.0, 2.0]))))(levels)
    np.testing.assert_allclose(slope, jax.grad(lambda x: statistics.rigidity(x, 2.0))(levels))


@pytest.mark.parametrize("name", ["number_variance", "rigidity", "number_skewness"])
def test_no_window_is_longer_than_the_circle(name):
    statistic, levels = getattr(statistics, name), jnp.arange(20.0)
    lengths = jnp.array([19.5, 20.0, 20.5, 45.0])
    found = jax.jit(lambda levels, lengths: statistic(levels, lengths, period=20))(levels, lengths)
    np.testing.assert_array_equal(np.isnan(found), [False, False, True, True])


@pytest.mark.parametrize("levels", [jnp.zeros(0), jnp.ones(1), jnp.ones(4)], ids=["none", "one", "ties"])
def test_without_an_extent_there_is_no_window(levels):
    for statistic in (statistics.number_variance, statistics.rigidity, statistics.number_skewness):
        assert np.isnan(statistic(levels, 0.5))
    assert np.isnan(statistics.number_probabilities(levels, 0.5, max_count=1)).all()
    assert np.isnan(statistics.pair_correlation(levels, EDGES)).all()
