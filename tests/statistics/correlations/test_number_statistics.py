"""Number statistics against rational arithmetic, sampled windows, and the exact curves of random matrices."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import number_probabilities, number_skewness, number_variance, over_samples, rigidity

# Ten levels on a grid of 1/64, which floating-point numbers hold exactly, with a tie and a gap.
LEVELS = [Fraction(k, 64) for k in (0, 40, 61, 61, 190, 200, 300, 301, 420, 512)]
LENGTHS = [Fraction(k, 64) for k in (13, 64, 96, 200, 416)]
PERIOD = Fraction(600, 64)
POWERS = {number_variance: 2, number_skewness: 3}


def events(levels, length, first, last):
    """The positions between which nothing comes or goes."""
    inside = {x for x in (*levels, *(x - length for x in levels)) if first < x < last}
    return sorted({first, last, *inside})


def mean(function, levels, length, first, last):
    """The mean of a piecewise polynomial of degree 5 at most over the positions, by Boole's rule, exactly."""
    ends = events(levels, length, first, last)
    weights = [Fraction(w, 90) for w in (7, 32, 12, 32, 7)]
    total = Fraction(0)
    for a, b in pairwise(ends):
        inside = [x for x in levels if a < x <= (a + b) / 2 + length and x > (a + b) / 2]
        total += (b - a) * sum(w * function(inside, a + i * (b - a) / 4) for i, w in enumerate(weights))
    return total / (last - first)


def least_squares(inside, position, length):
    """The mean squared deviation of the staircase from its best line."""
    u = [x - position - length / 2 for x in inside]
    h = length / 2
    f0 = sum((h - x for x in u), Fraction(0))
    f1 = sum((h**2 - x**2 for x in u), Fraction(0)) / 2
    f2 = sum(((2 * k + 1) * (h - x) for k, x in enumerate(u)), Fraction(0))
    return (f2 - f0**2 / length - 12 * f1**2 / length**3) / length


def straight_lines(u, length):
    """The same for many windows at once, with NaN for what is not in them."""
    h, k = length / 2, np.cumsum(~np.isnan(u), axis=1) - 1
    f0, f1 = np.nansum(h - u, axis=1), np.nansum(h**2 - u**2, axis=1) / 2
    f2 = np.nansum((2 * k + 1) * (h - u), axis=1)
    return (f2 - f0**2 / length - 12 * f1**2 / length**3) / length


# Where the levels are looked at: the beginning, and the end for windows that do not go round.
PLACES = {
    "line": (rmt.spectra.Line(), LEVELS[0], LEVELS[-1]),
    "interval": (rmt.Interval(-0.125, 8.5), Fraction(-1, 8), Fraction(17, 2)),
    "circle": (rmt.Circle(float(PERIOD)), LEVELS[0], None),
}


def expected(statistic, length, place):
    _, first, end = PLACES[place]
    levels, last = LEVELS, first + PERIOD if end is None else end - length
    if end is None:
        levels = [*LEVELS, *(x + PERIOD for x in LEVELS), *(x + 2 * PERIOD for x in LEVELS)]
    if statistic is rigidity:
        return mean(lambda inside, x: least_squares(inside, x, length), levels, length, first, last)
    return mean(lambda inside, _: (len(inside) - length) ** POWERS[statistic], levels, length, first, last)


@pytest.mark.float32
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("statistic", [number_variance, number_skewness, rigidity])
def test_rational_arithmetic(statistic, place):
    levels = rmt.Spectrum(list(map(float, LEVELS)), domain=PLACES[place][0], unfolded=True)
    found = statistic(levels, jnp.array(list(map(float, LENGTHS))))
    exact = [float(expected(statistic, length, place)) for length in LENGTHS]
    eps = float(jnp.finfo(found.dtype).eps)
    np.testing.assert_allclose(found, exact, rtol=200 * eps, atol=200 * eps)


@pytest.mark.parametrize("period", [None, 30.0])
def test_sampled_windows(period):
    rng = np.random.default_rng(0)
    levels = np.sort(rng.uniform(0, 30, 31))
    spectrum = rmt.Spectrum(levels, domain=rmt.Circle(period), unfolded=True) if period else levels
    for length in (0.7, 4.0):
        last = levels[0] + period if period else levels[-1] - length
        left = levels[0] + (last - levels[0]) * (np.arange(100_000) + 0.5) / 100_000
        repeated = np.concatenate([levels, levels + 30.0]) if period else levels
        inside = np.searchsorted(repeated, left + length, "right") - np.searchsorted(repeated, left, "right")
        # Without overlap of the two rounds in a window: the levels in it, from its centre, and nothing for the others.
        u = repeated - left[:, None] - length / 2
        u = np.where((u > -length / 2) & (u <= length / 2), u, np.nan)
        lines, variance = straight_lines(u, length), number_variance(spectrum, length)
        assert abs(rigidity(spectrum, length) - lines.mean()) < 1e-5
        assert abs(variance - ((inside - length) ** 2).mean()) < 1e-3
        shares = number_probabilities(spectrum, length, max_count=31)
        np.testing.assert_allclose(shares, np.bincount(inside, minlength=32) / 1e5, atol=1e-3)
        np.testing.assert_allclose(shares.sum(), 1)
        np.testing.assert_allclose(shares @ (np.arange(32) - length) ** 2, variance)


def test_windows_stay_in_the_interval():
    levels = jnp.sort(jax.random.uniform(jax.random.key(0), (60,), maxval=60.0))
    part = levels[(levels > 20) & (levels < 40)]
    observed = rmt.Spectrum(part, domain=rmt.Interval(20.0, 40.0), unfolded=True)
    for statistic in (number_variance, rigidity, number_skewness):
        # The levels beyond do not matter, and without any at the ends there would be too few in windows there.
        one = statistic(rmt.Spectrum(levels, unfolded=True).bulk(20.0, 40.0), jnp.array([0.5, 3.0]))
        np.testing.assert_allclose(statistic(observed, jnp.array([0.5, 3.0])), one)


def test_batches_masks_and_padding():
    levels = jnp.sort(jax.random.uniform(jax.random.key(1), (2, 3, 12), maxval=12.0), axis=-1)
    lengths = jnp.array([[0.5, 1.0], [2.0, 3.0]])
    mask = jax.random.bernoulli(jax.random.key(2), 0.7, levels.shape)
    found = number_variance(rmt.Spectrum(levels, mask, unfolded=True), lengths)
    assert found.shape == (2, 3, 2, 2)
    each = [number_variance(levels[i, j][mask[i, j]], lengths) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(found.reshape(6, 2, 2), jnp.stack(each), rtol=1e-12)
    order = jnp.array([[3, 12, 7], [5, 9, 11]])
    padded = rmt.Spectrum(levels, np.arange(12) < np.asarray(order)[..., None], unfolded=True)
    found = rigidity(padded, 0.3)
    each = [rigidity(levels[i, j, : order[i, j]], 0.3) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(found.ravel(), jnp.stack(each), rtol=1e-12)


def test_vmap_is_a_batch_of_long_and_short_spectra():
    levels = jnp.array([[0.0, 0.4, 1.1, 2.0], [0.0, 5.0, 9.0, 20.0]])
    for statistic in (number_variance, rigidity):
        each = lambda x, statistic=statistic: statistic(x, jnp.array([0.5, 5.0]))
        np.testing.assert_allclose(jax.vmap(each)(levels), each(levels), rtol=1e-6)
    edges = jnp.array([0.0, 1.0, 5.0])
    pairs = lambda x: rmt.statistics.pair_correlation(x, edges)
    np.testing.assert_allclose(jax.vmap(pairs)(levels), pairs(levels), rtol=1e-6)


def test_what_is_not_there_is_nan():
    assert np.isnan(number_variance(rmt.Spectrum([1.0, 2.0, 9.0], np.zeros(3, bool), unfolded=True), 1.0))
    two = rmt.Spectrum.of([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0]], unfolded=True)
    np.testing.assert_array_equal(
        np.isnan(number_variance(two, jnp.array([0.5, 2.0]))), [[False, False], [False, True]]
    )
    assert number_variance(jnp.arange(4.0), 0.0) == 0
    assert number_variance(jnp.zeros((0, 4)), jnp.array([0.5, 2.0])).shape == (0, 2)


# Relative errors in single precision; the picket fence with noise has windows of nearly equal counts.
@pytest.mark.parametrize(("statistic", "limit"), [(number_variance, 1e-5), (rigidity, 1e-3), (number_skewness, 2e-4)])
def test_digits_of_long_spectra(statistic, limit):
    noise = 0.3 * np.random.default_rng(0).normal(size=20_000)
    levels, lengths = jnp.asarray(np.sort(np.arange(20_000) + noise), jnp.float32), np.array([0.5, 1, 5, 20, 50])
    found = statistic(levels, lengths.astype(np.float32))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, statistic(levels.astype(float), lengths), rtol=limit)


@pytest.mark.parametrize("place", [1e6, -3e6])
def test_levels_far_from_0(place):
    """Single precision has steps of 1/16 and 1/4 there; the windows between such levels are those of doubles."""
    levels = jnp.asarray(place + np.sort(np.random.default_rng(0).uniform(0, 400, 400)), jnp.float32)
    lengths = np.array([0.1, 1, 5])
    single, double = (rmt.Spectrum(x, unfolded=True) for x in (levels, levels.astype(float)))
    ends = place + 20, place + 390
    for one, other in ((single, double), (single.bulk(*ends), double.bulk(*ends))):
        for statistic in (number_variance, rigidity, number_skewness):
            found = statistic(one, lengths.astype(np.float32))
            assert found.dtype == jnp.float32
            np.testing.assert_allclose(found, statistic(other, np.float32(lengths).astype(float)), rtol=1e-4)


@pytest.mark.parametrize("statistic", [number_variance, rigidity])
def test_memory(statistic):
    batch, n, k = 20, 2000, 30
    mean = lambda x: statistic(x, jnp.linspace(0.5, 9, k)).mean()
    numbers = lambda f: jax.jit(f).lower(jnp.zeros((batch, n))).compile().memory_analysis().temp_size_in_bytes / 8
    assert numbers(mean) < 5 * batch * (n + k)
    # The states of 63 turns and of 63 events, of at most 10 numbers each, and what one event takes.
    assert numbers(jax.grad(mean)) < 20 * batch * (n + k * 80)


def test_derivatives():
    levels, lengths = jnp.array([0.0, 0.9, 1.7, 3.3, 4.1, 5.6]), jnp.array([0.7, 1.9])
    for statistic in (number_variance, rigidity, number_skewness):
        total = lambda x, statistic=statistic: jnp.sum(statistic(x, lengths) * jnp.array([1.0, 2.0]))
        slope = jax.grad(total)(levels)
        for i in range(6):
            step = 1e-6 * np.eye(6)[i]
            np.testing.assert_allclose(slope[i], (total(levels + step) - total(levels - step)) / 2e-6, atol=1e-6)
        np.testing.assert_allclose(jax.jvp(total, (levels,), (jnp.ones(6),))[1], slope.sum(), atol=1e-9)


# β and spectra that are unfolded by the exact mean density of the bulk.
ENSEMBLES = {0: None, 1: rmt.GOE, 2: rmt.GUE, 4: rmt.GSE}


def unfolded(beta, n, samples):
    if beta == 0:
        levels = jnp.sort(jax.random.uniform(jax.random.key(3), (samples, n), maxval=float(n)), axis=-1)
        return rmt.Spectrum(levels, domain=rmt.Interval(0, n), unfolded=True)
    ensemble = ENSEMBLES[beta](n)
    levels = rmt.simulate(ensemble.eigenvalues, jax.random.key(beta), samples)
    return rmt.statistics.unfold(levels, ensemble.law())


def assert_curves(beta, n, samples, lengths, most=4.5):
    bulk = unfolded(beta, n, samples).bulk(n / 4, 3 * n / 4)
    for statistic, law in ((number_variance, rmt.laws.number_variance), (rigidity, rmt.laws.rigidity)):
        found = over_samples(lambda x, statistic=statistic: statistic(x, lengths), bulk)
        assert distance(found, law(lengths, beta)) < 4.5, (statistic.__name__, beta)


@pytest.mark.parametrize("beta", list(ENSEMBLES))
def test_exact_curves(beta):
    # 2 % at a length of 1: that of another β is off by 20 % and more.
    assert_curves(beta, 200, 150, jnp.array([0.5, 1.0, 2.0, 4.0, 8.0]))


@pytest.mark.slow
@pytest.mark.parametrize("beta", list(ENSEMBLES))
def test_exact_curves_of_large_spectra(beta):
    assert_curves(beta, 2000, 400, jnp.linspace(0.5, 50, 30), most=4)


@cache
def on_circle(ensemble, n, samples):
    phases = rmt.simulate(ensemble(n).eigenphases, jax.random.key(5), samples)
    return rmt.statistics.unfold_phases(phases)


def distance(found, exact):
    """The largest distance of means from exact values, in standard errors."""
    return np.abs((found.value - exact) / found.standard_error).max()


def test_counts_of_the_cue():
    # The number of levels in an arc is a sum of independent zeros and ones, whose means are the eigenvalues of the
    # projection on the arc among polynomials (Diaconis and Evans 2001, Trans. Amer. Math. Soc. 353, 2615).
    n, length = 40, 2.0
    levels = on_circle(rmt.CUE, n, 400)
    far = rmt.Spectrum(levels.values, unfolded=True).bulk(-n / 2 - 2.0, n / 2 + 2.0)
    apart = np.arange(n)[:, None] - np.arange(n)
    p = np.linalg.eigvalsh(length / n * np.sinc(apart * length / n))
    exact = np.ones(1)
    for share in p:
        exact = np.convolve(exact, [1 - share, share])
    counts = lambda levels: over_samples(lambda x: number_probabilities(x, length, max_count=4), levels)
    assert distance(counts(levels), exact[:5]) < 4.5
    skewness = lambda levels: over_samples(lambda x: number_skewness(x, length), levels)
    third_moment = (p * (1 - p) * (1 - 2 * p)).sum()
    assert distance(skewness(levels), third_moment) < 4.5
    # Windows that overhang the ends count too little.
    assert min(distance(counts(far), exact[:5]), distance(skewness(far), third_moment)) > 10


@pytest.mark.parametrize(
    ("ensemble", "beta"),
    [(rmt.CUE, 2), pytest.param(rmt.COE, 1, marks=pytest.mark.slow), pytest.param(rmt.CSE, 4, marks=pytest.mark.slow)],
)
def test_counts_against_the_limit(ensemble, beta):
    # At n = 40 the circle differs from the limit by 1e-4.
    length = 0.8
    levels, exact = on_circle(ensemble, 40, 400), rmt.laws.bulk_gap_probabilities(length, beta, 6)
    found = over_samples(lambda x: number_probabilities(x, length, max_count=3), levels)
    assert distance(found, exact[:4]) < 4.5
    for other in {1, 2, 4} - {beta}:
        assert distance(found, rmt.laws.bulk_gap_probabilities(length, other, 3)) > 10
    found = over_samples(lambda x: number_skewness(x, length), levels)
    assert distance(found, jnp.sum((jnp.arange(7.0) - length) ** 3 * exact)) < 4.5


def test_independent_levels_have_no_bias_from_the_first_to_the_last():
    # With n instead of n - 2 levels between the ends the number variance at 2 were 2.7.
    levels, lengths = jnp.cumsum(jax.random.exponential(jax.random.key(6), (20_000, 16)), axis=1), jnp.array([0.5, 2.0])
    assert distance(over_samples(lambda x: number_variance(x, lengths), levels), lengths) < 4.5
    assert distance(over_samples(lambda x: rigidity(x, lengths), levels), lengths / 15) < 4.5


@pytest.mark.slow
def test_exact_curves_of_large_circles():
    n, lengths = 2000, jnp.linspace(0.5, 50, 30)
    phases = rmt.simulate(rmt.CUE(n).eigenphases, jax.random.key(6), 400)
    levels = rmt.statistics.unfold_phases(phases)
    for statistic, law in (
        (number_variance, rmt.laws.circular_number_variance),
        (rigidity, rmt.laws.circular_rigidity),
    ):
        found = over_samples(lambda x, statistic=statistic: statistic(x, lengths), levels)
        assert np.abs(found.z_score(law(lengths, n, 2))).max() < 4, statistic.__name__


def test_circle():
    n, lengths = 40, jnp.array([0.5, 1.0, 3.0, 20.0])
    levels = on_circle(rmt.CUE, n, 400)
    found = over_samples(lambda x: number_variance(x, lengths), levels)
    assert distance(found, rmt.laws.circular_number_variance(lengths, n, 2)) < 4.5
    # A whole turn without the point that it begins with: the count is that of all levels.
    assert number_variance(levels, float(n)).max() < 1e-6


FENCE = rmt.Spectrum(np.arange(5.0), unfolded=True)
ROUND = rmt.Spectrum(np.arange(5.0), domain=rmt.Circle(5), unfolded=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: number_variance(jnp.array([1.0, 0.5, 2.0]), 0.1), "`levels` must be ascending numbers"),
        (lambda: number_variance(jnp.array([1.0, jnp.nan]), 0.1), "`levels` must be ascending numbers"),
        (lambda: number_variance(jnp.array([1.0, 2.0, jnp.inf]), 0.1), "`levels` must be ascending .* finite"),
        (
            lambda: number_variance(np.ma.masked_array([0.0, 5, 9, 1, 2], [0, 0, 1, 0, 0]), 0.1),
            "`levels` must be ascending numbers",
        ),
        (lambda: number_variance(jnp.array([1.0, 2j]), 0.1), "`levels` must be real"),
        (lambda: number_variance(1.0, 0.1), "`levels` must have an axis of levels"),
        (lambda: number_variance(jnp.arange(5.0), -1.0), "`lengths` must be finite and not negative"),
        (lambda: rigidity(jnp.arange(5.0), 4.0), "`lengths` must be shorter than a spectrum"),
        (lambda: rigidity(FENCE.bulk(0, 3), 3.0), "`lengths` must be shorter than the interval"),
        (lambda: rigidity(ROUND, 5.5), "`lengths` must be no longer than the period"),
        (lambda: rigidity(rmt.Spectrum(np.arange(5.0)), 3.0), "`levels` must be unfolded"),
        (
            lambda: number_probabilities(jnp.arange(5.0), 1.0, max_count=-1),
            "`max_count` must be an integer of at least",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unsorted_spectra_are_nan_under_jit():
    found = jax.jit(number_variance)(jnp.array([[0.0, 1.0, 3.0], [0.0, 3.0, 1.0]]), jnp.array([0.5, 1.0]))
    np.testing.assert_array_equal(np.isnan(found), [[False, False], [True, True]])
