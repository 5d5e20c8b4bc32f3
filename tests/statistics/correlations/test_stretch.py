"""Intervals, circles and windows of single spectra: one call, a batch, compiled and mapped."""

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
INTERVAL = rmt.Interval(np.array([1.0, 0, 2.5, 0]), np.array([6.5, 4.5, 5.5, 9]))
CIRCLE = rmt.Circle(np.array([5.0, 4.5, 3, 9]))
LINE = rmt.spectra.Line()
WINDOW = np.array([3.0, 2, 4, 3]), np.array([1.0, 2, 0.5, 1])
SIZES, EDGES = np.array([[0.5], [1.25]]), np.array([0, 0.5, 2])
MANY = np.linspace(0.5, 3, 200)
# The statistics, and where they look at the spectra.
STATISTICS = {
    "number_variance": (lambda x: statistics.number_variance(x, SIZES), INTERVAL, CIRCLE),
    "rigidity": (lambda x: statistics.rigidity(x, SIZES), INTERVAL, CIRCLE),
    "number_skewness": (lambda x: statistics.number_skewness(x, SIZES), INTERVAL, CIRCLE),
    "number_probabilities": (lambda x: statistics.number_probabilities(x, SIZES, max_count=2), INTERVAL, CIRCLE),
    "pair_correlation": (lambda x: statistics.pair_correlation(x, EDGES), INTERVAL, CIRCLE),
    "power_spectrum": (lambda x: statistics.power_spectrum(x, SIZES), LINE, CIRCLE),
    "form_factor": (lambda x, window=None: statistics.form_factor(x, SIZES, window=window).raw, LINE),
}
OF_UNFOLDED = [name for name in STATISTICS if name != "form_factor"]


def assert_one_by_one(of, whole):
    """A function of arrays has the same values for a batch, however it is mapped, and for each of its spectra."""
    expected = jnp.stack([of(*jax.tree.map(lambda leaf, i=i: leaf[i], whole)) for i in range(4)])
    assert np.isfinite(expected[:3]).all()
    # The last has no level. On a line or circle nothing was observed; on an interval its absence was.
    assert np.isnan(expected[3]).all() or np.isfinite(expected[3]).all()
    in_two_axes = of(*jax.tree.map(lambda leaf: leaf.reshape(2, 2, *leaf.shape[1:]), whole))
    for found in (of(*whole), jax.jit(of)(*whole), jax.vmap(of)(*whole), in_two_axes):
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", STATISTICS)
def test_every_spectrum_has_its_own_place(name):
    statistic, *places = STATISTICS[name]
    for place in places:
        of = lambda levels, mask, place: statistic(rmt.Spectrum(levels, mask, place, unfolded=True))
        assert_one_by_one(of, (LEVELS, MASK, place))
        # A spectrum goes through transformations as its arrays do.
        assert_one_by_one(statistic, (rmt.Spectrum(LEVELS, MASK, place, unfolded=True),))


@pytest.mark.parametrize(
    "domain", [LINE, rmt.Circle(13.0), rmt.Interval(-1.0, 13.0)], ids=["line", "circle", "interval"]
)
@pytest.mark.parametrize("name", STATISTICS)
def test_levels_that_do_not_count_might_not_be_there(name, domain):
    rng = np.random.default_rng(0)
    levels = np.sort(rng.uniform(0, 12, (2, 3, 12)), axis=-1)
    # Eight levels of each spectrum count, with gaps between them in all spectra but the first.
    mask = rng.permuted(np.broadcast_to(np.arange(12) < 8, levels.shape), axis=-1)
    mask[0, 0] = np.arange(12) < 8

    def of(levels, mask=None):
        whole = rmt.Spectrum(levels, mask, domain, unfolded=True)
        return jnp.stack([STATISTICS[name][0](part) for part in (whole, whole.bulk(1.0, 11.0))])

    np.testing.assert_allclose(of(levels, mask), of(levels[mask].reshape(2, 3, 8)), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", OF_UNFOLDED)
def test_every_spectrum_has_its_own_bulk(name):
    statistic = STATISTICS[name][0]
    of = lambda spectra, start, end: statistic(spectra.bulk(start, end))
    for whole in (LINE, CIRCLE, rmt.Interval(-1.0, 9.0)):
        spectra = rmt.Spectrum(LEVELS, MASK, whole, unfolded=True)
        assert_one_by_one(of, (spectra, np.array([1.75, 0.25, 2.75, 0]), np.array([5.75, 3.5, 5.0, 9])))


def test_every_spectrum_has_its_own_window():
    of = lambda levels, mask, window: STATISTICS["form_factor"][0](rmt.Spectrum(levels, mask), window)
    assert_one_by_one(of, (LEVELS, MASK, WINDOW))


@pytest.mark.parametrize("name", STATISTICS)
def test_memory_is_linear_in_levels_and_lengths(name):
    # Some numbers for each level and each value, and the tile of 2¹⁵ numbers of the waves.
    batch, n = 40, 1000
    options = {"max_count": 0} if name == "number_probabilities" else {}
    of = lambda levels: getattr(statistics, name)(levels, MANY, **options)
    memory = jax.jit(of).lower(jnp.zeros((batch, n))).compile().memory_analysis()
    assert memory.temp_size_in_bytes / 8 < 12 * batch * (n + MANY.size) + 5 * 2**15


def test_an_interval_far_from_the_levels_is_nan_under_jit():
    # Two mean spacings beyond the levels are observed empty space; forty are a mistake.
    levels, ends = jnp.arange(60.0), jnp.array([[-2.0, 61.0], [-2.0, 99.0], [-40.0, 61.0], [5.0, 4.0]])
    spectrum = rmt.Spectrum(levels, unfolded=True)
    found = jax.jit(jax.vmap(lambda pair: statistics.number_variance(spectrum.bulk(pair[0], pair[1]), 1.0)))(ends)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, True])
    periods = jnp.array([60.0, 58.0, -3.0])
    on_circle = lambda period: rmt.Spectrum(levels, domain=rmt.Circle(period), unfolded=True)
    found = jax.jit(jax.vmap(lambda period: statistics.number_variance(on_circle(period), 1.0)))(periods)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True])
    # Between levels an empty stretch may be as long as it likes.
    clusters = rmt.Spectrum(jnp.repeat(jnp.arange(0.0, 500, 100), 100), unfolded=True)
    assert np.isfinite(statistics.number_variance(clusters.bulk(50.0, 350.0), 1.0))


@pytest.mark.parametrize("name", OF_UNFOLDED)
def test_levels_that_are_not_unfolded(name):
    statistic = STATISTICS[name][0]
    raw, unfolded = jnp.linspace(-2, 2, 60), jnp.arange(60.0)
    with pytest.raises(ValueError, match=r"`levels` must have a mean spacing of 1, .* got 0\.0678"):
        statistic(raw)
    # The probability that independent levels of unit density are so dense or so rare is at most exp(-36).
    batch = jnp.stack([raw, unfolded, 2 * unfolded, 8 * unfolded])
    missing = np.isnan(jax.jit(statistic)(batch)).reshape(4, -1)
    np.testing.assert_array_equal(missing, np.array([True, False, False, True])[:, None] & np.ones_like(missing))


@pytest.mark.parametrize("name", OF_UNFOLDED)
def test_spectra_that_are_not_unfolded(name):
    statistic, *places = STATISTICS[name]
    for place in (LINE, *places):
        spectra = rmt.Spectrum(LEVELS, MASK, place)
        for of in (statistic, jax.jit(statistic)):
            with pytest.raises(ValueError, match=r"`levels` must be unfolded \(by `statistics\.unfold\(levels, law\)`"):
                of(spectra)


def test_what_is_said_to_be_unfolded_is_taken_as_it_is():
    # The density at the centre of a semicircle unfolds its middle only.
    levels = rmt.laws.Semicircle(2.0).ppf((jnp.arange(2000.0) + 0.5) / 2000) * 2000 / np.pi
    with pytest.raises(ValueError, match=r"mean spacing of 1, .*`unfolded=True`.* got 1\.27"):
        statistics.number_variance(levels, 1.0)
    assert statistics.number_variance(rmt.Spectrum(levels, unfolded=True).bulk(-200, 200), 1.0) < 0.01
    # If the density is off, the square of the mean deviation is added. Here 50 of 250 windows hold one level.
    sparse = rmt.Spectrum(jnp.arange(50.0), domain=rmt.Circle(250), unfolded=True)
    np.testing.assert_allclose(statistics.number_variance(sparse, 1.0), 200 / 250)


def test_degenerate_shells_of_a_known_interval():
    # Two shells have a mean density of 1 on the interval, but twice that from the first level to the last.
    levels = np.repeat([100.0, 300.0], 200)
    with pytest.raises(ValueError, match=r"mean spacing of 1, .* got 0\.501"):
        statistics.number_variance(levels, 1.0)
    shells = rmt.Spectrum(levels, domain=rmt.Interval(0.0, 400.0), unfolded=True)
    # A window of length 1 is around a shell at 2 of 399 positions.
    np.testing.assert_allclose(statistics.number_variance(shells, 1.0), (397 + 2 * 199**2) / 399)
    shares = statistics.number_probabilities(shells, 1.0, max_count=200)
    np.testing.assert_allclose(shares[np.array([0, 200])], [397 / 399, 2 / 399])
    on_circle = rmt.Spectrum(levels, domain=rmt.Circle(400.0), unfolded=True)
    np.testing.assert_allclose(statistics.number_variance(on_circle, 1.0), (398 + 2 * 199**2) / 400)
    for statistic, *_ in STATISTICS.values():
        assert np.isfinite(statistic(shells)).all()


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
    on_circle = lambda levels: rmt.Spectrum(levels, domain=rmt.Circle(20), unfolded=True)
    found = jax.jit(lambda levels, lengths: statistic(on_circle(levels), lengths))(levels, lengths)
    np.testing.assert_array_equal(np.isnan(found), [False, False, True, True])


@pytest.mark.parametrize("levels", [jnp.zeros(0), jnp.ones(1), jnp.ones(4)], ids=["none", "one", "ties"])
def test_without_an_extent_there_is_no_window(levels):
    for statistic in (statistics.number_variance, statistics.rigidity, statistics.number_skewness):
        assert np.isnan(statistic(levels, 0.5))
    assert np.isnan(statistics.number_probabilities(levels, 0.5, max_count=1)).all()
    assert np.isnan(statistics.pair_correlation(levels, EDGES)).all()


def test_an_interval_without_a_level_was_observed():
    empty = rmt.Spectrum([], domain=rmt.Interval(2.0, 9.0), unfolded=True)
    assert statistics.number_variance(empty, 1.5) == 1.5**2
    assert statistics.number_skewness(empty, 1.5) == -(1.5**3)
    assert abs(statistics.rigidity(empty, 1.5)) < 1e-14
    np.testing.assert_array_equal(statistics.number_probabilities(empty, 1.5, max_count=2), [1, 0, 0])
    np.testing.assert_array_equal(statistics.pair_correlation(empty, [0.0, 1.0, 2.0]), 0)
    assert np.isnan(jax.jit(statistics.number_variance)(empty, 7.0))


def test_means_over_spectra_some_of_which_have_no_level_are_unbiased():
    rng = np.random.default_rng(0)
    levels = [np.sort(rng.uniform(0, 10, number)) for number in rng.poisson(10, 4000)]
    part = rmt.Spectrum.of(levels, rmt.Interval(0, 10), unfolded=True).bulk(4.0, 6.0)
    assert (part.count == 0).sum() > 400
    for statistic, expected in {
        lambda x: statistics.number_variance(x, 0.5): 0.5,
        lambda x: statistics.number_probabilities(x, 0.5, max_count=0)[:, 0]: np.exp(-0.5),
        lambda x: statistics.pair_correlation(x, [0.0, 1.0])[:, 0]: 1.0,
        lambda x: statistics.rigidity(x, 0.5): 0.5 / 15,
    }.items():
        assert abs(statistics.over_samples(statistic, part).z_score(expected)) < 4.5
