"""Spectra: which levels count, parts of them, batches, transformations, and what is refused."""

import copy
import pickle
from functools import cache

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import rmtjax as rmt
from rmtjax import Circle, Interval, Spectrum
from rmtjax import statistics as s
from rmtjax.spectra import Line, MaskedValues, Unfolding
from rmtjax.spectra.internal import padded

LEVELS = np.array([[0.0, 1.0, 2.5, 3.0, 4.5], [-1.0, 0.0, 0.0, 2.0, 7.0]])
MASK = np.array([[True, True, False, True, True], [False, True, True, True, False]])


def test_what_counts():
    missing = np.where(MASK, LEVELS, np.nan)
    for values in (LEVELS, missing, np.where(MASK, LEVELS, -np.inf)):
        spectra = Spectrum(values, MASK)
        np.testing.assert_array_equal(spectra.values, np.where(MASK, LEVELS, np.inf))
        np.testing.assert_array_equal(spectra.mask, MASK)
        np.testing.assert_array_equal(spectra.count, [4, 3])
        np.testing.assert_array_equal(spectra.compressed(), LEVELS[MASK])
    assert isinstance(spectra.domain, Line)
    assert spectra.unfolded is False
    with pytest.raises(ValueError, match="has unfolded, and all of it, for a report"):
        print(spectra.report)
    # A masked array of NumPy brings its mask; of two masks both have to count.
    assert_same(Spectrum(np.ma.masked_array(LEVELS, ~MASK)), spectra)
    np.testing.assert_array_equal(Spectrum(np.ma.masked_array(LEVELS, ~MASK), LEVELS < 4).count, [3, 3])
    np.testing.assert_array_equal(Spectrum(LEVELS, MASK[0]).mask, [MASK[0], MASK[0]])
    np.testing.assert_array_equal(Spectrum(LEVELS, False).count, [0, 0])
    np.testing.assert_array_equal(Spectrum([3, 4, 6]).values, [3.0, 4.0, 6.0])


def assert_same(one, other):
    """Whether two records have the same structure, types and values."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@pytest.mark.float32
@pytest.mark.parametrize("orders", [[2, 5], [0, 5], [5, 5], [0, 0]])
def test_known_orders(orders):
    levels = jnp.asarray(LEVELS)
    expected = Spectrum(levels, jnp.arange(5)[None] < jnp.array(orders)[:, None])
    for found in (padded(levels, jnp.array(orders)), jax.jit(padded)(levels, jnp.array(orders))):
        assert isinstance(found, Spectrum)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.count, orders)
        np.testing.assert_array_equal(s.spacings(found).values, s.spacings(expected).values)


# Many vectors


def test_spectra_of_several_orders():
    sectors = [np.arange(3.0), [-1.0], jnp.array([0.5, 2.5]), []]
    spectra = Spectrum.of(sectors)
    np.testing.assert_array_equal(spectra.count, [3, 1, 2, 0])
    np.testing.assert_array_equal(spectra.values, [[0, 1, 2], [-1, *2 * [np.inf]], [0.5, 2.5, np.inf], 3 * [np.inf]])
    np.testing.assert_array_equal(s.spacings(spectra).count, [2, 0, 1, 0])
    np.testing.assert_array_equal(spectra.compressed(), [0, 1, 2, -1, 0.5, 2.5])
    assert [row.count for row in spectra] == [3, 1, 2, 0]
    assert Spectrum.of([[], []]).values.shape == (2, 0)
    np.testing.assert_array_equal(Spectrum.of(iter([[1, 2], [3]])).values, [[1, 2], [3, np.inf]])
    np.testing.assert_array_equal(Spectrum.of(LEVELS).values, LEVELS)


def test_several_orders_and_their_domains():
    ends = np.array([2.5, 1.0, 9.0])
    spectra = Spectrum.of([[0.0, 1.0, 2.0], [], [3.0]], Interval(-1.0, ends), unfolded=True)
    assert spectra.unfolded
    np.testing.assert_array_equal(spectra.domain.start, [-1, -1, -1])
    np.testing.assert_array_equal(spectra.domain.end, ends)
    found = s.number_variance(spectra, 0.5)
    expected = Spectrum([0.0, 1.0, 2.0], domain=Interval(-1.0, 2.5), unfolded=True)
    np.testing.assert_allclose(found[0], s.number_variance(expected, 0.5))
    assert found[1] == 0.5**2
    with pytest.raises(ValueError, match="`domain` must hold all levels"):
        Spectrum.of([[0.0, 1.0, 2.0], [3.0]], Interval(-1.0, 2.5))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "`spectra` must be at least one vector"),
        ([np.eye(2)], "`spectra` must be vectors of real numbers"),
        (3 * [1.0], "`spectra` must be vectors of real numbers"),
        (1.0, "`spectra` must be vectors of real numbers"),
        ([[1.0], [2j]], "`spectra` must be real"),
        ([[1.0], [3.0, 2.0]], r"`spectra` must be ascending numbers, .* 2\.0 at \[1, 1\]"),
        ([[1.0, np.inf], [3.0]], r"`spectra` must be ascending numbers, finite where they count, got 1 that are not"),
        ([[1.0, np.nan]], "`spectra` must be ascending numbers, finite where they count, got 1 that are not"),
    ],
)
def test_what_are_no_spectra(wrong, message):
    with pytest.raises(ValueError, match=message):
        Spectrum.of(wrong)


# Parts of the levels


def test_bulk_by_hand():
    spectra = Spectrum(LEVELS, MASK, Interval(-2.0, 8.0), unfolded=True)
    part = spectra.bulk(np.array([0.5, 0.0]), 4.5)
    np.testing.assert_array_equal(part.mask, [[False, True, False, True, True], [False, True, True, True, False]])
    np.testing.assert_array_equal(part.values, np.where(part.mask, LEVELS, np.inf))
    np.testing.assert_array_equal(part.domain.start, [0.5, 0])
    np.testing.assert_array_equal(part.domain.end, [4.5, 4.5])
    assert part.unfolded
    assert not Spectrum(LEVELS).bulk(0, 1).unfolded
    # A part of a part is a part of the whole.
    assert_same(part.bulk(1.0, 2.0), spectra.bulk(1.0, 2.0))
    # It may be empty, and its interval is known.
    np.testing.assert_array_equal(spectra.bulk(5.0, 6.0).count, [0, 0])
    np.testing.assert_array_equal(spectra.bulk(5.0, 6.0).domain.end, [6, 6])
    rows = np.broadcast_to(LEVELS[:, None], (2, 3, 5))
    starts = Spectrum(rows).bulk(np.array([[-1.0], [-2.0]]), np.array([4.0, 5.0, 6.0])).domain
    np.testing.assert_array_equal(starts.start, [[-1] * 3, [-2] * 3])
    np.testing.assert_array_equal(starts.end, [[4, 5, 6]] * 2)


def test_the_bulk_of_a_circle():
    # A picket fence with a hole at 5, round and round.
    circle = Spectrum(np.arange(5.0), domain=Circle(6.0), unfolded=True)
    for start, end, levels in (
        (0.5, 3.5, [1, 2, 3]),
        (2.5, 6.0, [3, 4, 6]),
        (-1.75, 1.0, [0, 1]),
        (0.0, 6.0, np.arange(5)),
        (-2.5, 1.0, [-2, 0, 1]),
        (3.0, 8.5, [3, 4, 6, 7, 8]),
        (26.5, 28.5, [27, 28]),
        (4.25, 5.75, []),
    ):
        part = circle.bulk(start, end)
        np.testing.assert_array_equal(part.compressed(), levels)
        np.testing.assert_array_equal(
            jax.jit(lambda start, end: circle.bulk(start, end).mask.sum())(start, end), len(levels)
        )
        assert (part.domain.start, part.domain.end) == (start, end)
    for start, end in ((-1.0, 6.1), (3.0, 9.5)):
        with pytest.raises(ValueError, match="`start, end` must lie within one round"):
            circle.bulk(start, end)


def test_an_arc_may_begin_at_a_level_in_any_turn():
    period = 2 * np.pi
    for turn in (-2, -1, 1, 3):
        for level in np.arange(1, 40) / 10:
            start = level + turn * period
            arc = Spectrum([level, level + 1], domain=Circle(period)).bulk(start, start + 1.5)
            np.testing.assert_allclose(arc.compressed(), [start, start + 1], rtol=0, atol=1e-14)


def test_an_arc_through_the_seam_of_ragged_circles():
    # A level that does not count keeps its neighbours apart, and what is only padding does not.
    ragged = Spectrum.of([[0.0, 1.0, 3.0], [], [0.5, 2.5]], Circle(4.0), unfolded=True).bulk(2.0, 5.5)
    np.testing.assert_array_equal(ragged.compressed(), [3, 4, 5, 2.5, 4.5])
    np.testing.assert_array_equal(s.spacings(ragged).compressed(), [1, 1, 2])
    holed = Spectrum(np.arange(5.0), np.arange(5) != 0, Circle(5.0), unfolded=True).bulk(2.5, 7.0)
    np.testing.assert_array_equal(holed.compressed(), [3, 4, 6, 7])
    np.testing.assert_array_equal(s.spacings(holed).compressed(), [1, 1])


@pytest.mark.slow
def test_arcs_have_the_number_variance_of_the_circle(getkey):
    # The same levels, wherever the seam lies: a bias of the ends, or a level lost at the seam, would show.
    n, length = 40, 1.5
    phases = jax.vmap(rmt.CUE(n).eigenphases)(jax.random.split(getkey(), 4000))
    circle = s.unfold_phases(phases)
    exact = rmt.laws.circular_number_variance(length, n, 2)
    for start in (5.0, 30.0, -12.0):
        found = s.over_samples(lambda x: s.number_variance(x, length), circle.bulk(start, start + 25.0))
        assert abs(found.z_score(exact)) < 5


FENCE = Spectrum(np.arange(5.0), unfolded=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FENCE.bulk(3, 0), "`start, end` must be a pair of ascending finite numbers"),
        (lambda: FENCE.bulk(3, 3), "`start, end` must be a pair of ascending finite numbers"),
        (lambda: FENCE.bulk(np.nan, 3), "`start, end` must be a pair of ascending finite numbers"),
        (lambda: Spectrum(LEVELS).bulk(np.arange(2), 1), "`start, end` must be a pair of ascending finite numbers"),
        (lambda: FENCE.bulk("bulk", 3), "`start` must be numbers"),
        (lambda: FENCE.bulk(0, 3j), "`end` must be real"),
        (lambda: FENCE.bulk(np.zeros(2), 4), r"`start` must broadcast to the shape \(\) of the batch"),
        (lambda: Spectrum(LEVELS).bulk(0, np.ones(3)), r"`end` must broadcast to the shape \(2,\) of the batch"),
        (lambda: FENCE.bulk(0, 50), "`start, end` must be observed, and so end at most 36 mean spacings beyond"),
        (lambda: FENCE.bulk(50, 60), "`start, end` must be observed"),
        (lambda: FENCE.bulk(-37, 3), "`start, end` must be observed"),
        (lambda: FENCE.bulk(-np.inf, 4), "`start, end` must be a pair of ascending finite numbers"),
        (lambda: FENCE.bulk(0, 3).bulk(0, 4), "`start, end` must lie within the interval that was observed"),
        (lambda: FENCE.middle(0), r"`share` must lie in \(0, 1\]"),
        (lambda: FENCE.middle(1.1), r"`share` must lie in \(0, 1\]"),
        (lambda: FENCE.middle([0.5]), "`share` must be a real scalar"),
        (
            lambda: Spectrum(np.arange(5.0), domain=Circle(5)).middle(0.5),
            r"`domain` must have ends \(`bulk` takes a part of a circle\), got Circle",
        ),
    ],
)
def test_what_is_no_part(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_how_far_an_interval_may_reach():
    # Of a spectrum that is not unfolded no unit is known, and an interval that is known may be as long as it likes.
    assert FENCE.bulk(-36, 40).count == 5
    assert Spectrum(np.arange(5.0)).bulk(-1e6, 1e6).count == 5
    assert Spectrum(np.arange(5.0), domain=Interval(-1e3, 1e3), unfolded=True).bulk(-900, 900).count == 5


@pytest.mark.parametrize("whole", [None, Interval(-1.0, 9.0)])
def test_the_middle_by_length(whole):
    levels = np.array([0.0, 0.5, 1.0, 4.0, 8.0])
    spectrum = Spectrum(levels, domain=whole, unfolded=True)
    first, last = (0.0, 8.0) if whole is None else (-1.0, 9.0)
    for share in (1.0, 0.8, 0.5, 0.1):
        part = spectrum.middle(share)
        left_out = (1 - share) / 2 * (last - first)
        ends = first + left_out, last - left_out
        np.testing.assert_allclose([part.domain.start, part.domain.end], ends, rtol=1e-12)
        np.testing.assert_array_equal(part.compressed(), levels[(levels >= ends[0]) & (levels <= ends[1])])
        assert part.unfolded
    assert spectrum.middle(0.1).count == 1
    assert spectrum.middle(0.5).bulk(3.0, 5.0).count == 1


@pytest.mark.parametrize("whole", [None, Interval(-1.0, 90.0)])
@pytest.mark.parametrize("mask", [None, np.arange(12) != 4, np.arange(12) < 7])
def test_the_middle_by_rank(whole, mask):
    levels = np.arange(12.0) ** 2 / 2
    counting = levels if mask is None else levels[mask]
    spectrum = Spectrum(levels, mask, whole)
    for share in (1.0, 0.9, 0.5, 0.25):
        part = spectrum.middle(share)
        number = counting.size
        left_out = int(np.floor((1 - share) / 2 * number + 0.5))
        np.testing.assert_array_equal(part.compressed(), counting[left_out : number - left_out])
        assert not part.unfolded
        if left_out:
            halfway = (counting[1:] + counting[:-1]) / 2
            ends = halfway[left_out - 1], halfway[number - left_out - 1]
        else:
            ends = (counting[0], counting[-1]) if whole is None else (-1.0, 90.0)
        np.testing.assert_allclose([part.domain.start, part.domain.end], ends, rtol=1e-12)


def test_the_middle_of_each_spectrum():
    for unfolded in (False, True):
        for domain in (Line(), Interval(np.array([-1.0, -3.0]), np.array([5.0, 9.0]))):
            spectra = Spectrum(LEVELS, MASK, domain, unfolded=unfolded)
            part = spectra.middle(0.6)
            for row in range(2):
                one, alone = part[row], spectra[row].middle(0.6)
                np.testing.assert_array_equal(one.values, alone.values)
                for end in ("start", "end"):
                    np.testing.assert_allclose(getattr(one.domain, end), getattr(alone.domain, end), rtol=1e-12)
    # Without levels there is no middle, and no number that spoils a program.
    none = Spectrum.of([[], [1.0]], unfolded=unfolded).middle(0.5)
    assert np.isfinite(none.domain.start).all()
    assert np.isfinite(none.domain.end).all()
    assert np.isnan(s.number_variance(none, 0.1)).all()


# Statistics of a part


@cache
def on_circle(n, samples):
    phases = rmt.simulate(rmt.CUE(n).eigenphases, jax.random.key(0), samples)
    return s.unfold_phases(phases)


def distance(statistic, levels, exact):
    """How far the mean over spectra is from its exact value, in standard errors."""
    return float(s.over_samples(lambda x: statistic(x, 0.5), levels).z_score(exact))


def assert_unbiased(n, samples, start, end, slice_fails):
    levels = on_circle(n, samples)
    exact = rmt.laws.circular_rigidity(0.5, n, 2)
    assert abs(distance(s.rigidity, levels.bulk(start, end), exact)) < 4.5
    # The same number of levels from the same place: the range begins and ends with a level.
    places = slice(n // 2 + start, n // 2 + end)
    assert distance(s.rigidity, levels.values[:, places], exact) < -slice_fails
    # On the whole circle there are no ends.
    assert abs(distance(s.rigidity, levels, exact)) < 4.5


def test_the_bulk_has_no_bias():
    # The rigidity at L = 1/2 of 12 neighbours is too small by 5 %, with an error of 0.3 %.
    assert_unbiased(40, 500, -6, 6, slice_fails=12)


@pytest.mark.slow
def test_the_bulk_of_large_spectra_has_no_bias():
    assert_unbiased(300, 1000, -90, 90, slice_fails=10)


@pytest.mark.parametrize("name", ["number_variance", "rigidity", "pair_correlation"])
def test_other_statistics_of_the_bulk_have_no_bias(name):
    levels = on_circle(40, 500).bulk(-6, 6)
    if name == "pair_correlation":
        # 1 - sin²(πr)/(n sin(πr/n))² in the bin, with the weight 12 - r.
        r = 0.4 + 0.2 * (np.arange(1000) + 0.5) / 1000
        cluster = (np.sin(np.pi * r) / (40 * np.sin(np.pi * r / 40))) ** 2
        exact, of = np.average(1 - cluster, weights=12 - r), lambda x, _: s.pair_correlation(x, [0.4, 0.6])[..., 0]
    else:
        exact, of = getattr(rmt.laws, f"circular_{name}")(0.5, 40, 2), getattr(s, name)
    assert abs(distance(of, levels, exact)) < 4.5


@pytest.mark.slow
def test_the_bulk_of_matrices_has_no_bias():
    gue = rmt.GUE(60)
    levels = rmt.simulate(gue.eigenvalues, jax.random.key(1), 1000)
    unfolded = s.unfold(levels, rmt.laws.LevelDensity(gue))
    # At n = 60 the middle is that of infinite matrices up to 1/n².
    exact = rmt.laws.rigidity(0.5, 2)
    assert abs(distance(s.rigidity, unfolded.bulk(24, 36), exact)) < 4.5
    assert distance(s.rigidity, unfolded.values[:, 24:36], exact) < -15


def test_independent_levels_of_the_bulk():
    levels = jnp.sort(jax.random.uniform(jax.random.key(2), (2000, 60), maxval=60.0), axis=-1)
    whole = Spectrum(levels, domain=Interval(0.0, 60.0), unfolded=True)
    # Of n levels that are uniform between fixed ends Σ²(L) = L(1 - L/n), and Δ₃ is 1/15 of the L that it has otherwise.
    assert abs(distance(s.number_variance, whole.bulk(12.0, 24.0), 0.5 * (1 - 0.5 / 60))) < 4.5
    assert abs(distance(s.rigidity, whole.bulk(12.0, 24.0), 0.5 / 15)) < 4.5


@pytest.mark.parametrize("name", ["number_variance", "rigidity", "number_skewness"])
def test_domains_of_a_batch_are_those_of_its_spectra(name):
    statistic = getattr(s, name)
    levels = np.array([[0.5, 1.0, 2.5, 3.0, 4.5], [-1.0, 0.0, 0.25, 2.0, 4.0]])
    for domain in (
        Interval(np.array([0.0, -2.0]), np.array([5.0, 4.5])),
        Interval(-1.5, np.array([4.75, 6.0])),
        Circle(np.array([4.5, 6.0])),
    ):
        batch = statistic(Spectrum(levels, MASK, domain, unfolded=True), [0.5, 1.5])
        # Another domain would have another value.
        assert np.abs(batch - statistic(Spectrum(levels, MASK, unfolded=True), [0.5, 1.5])).max(-1).min() > 1e-3
        for row in range(2):
            of_one = jax.tree.map(lambda end, row=row: np.broadcast_to(end, (2,))[row], domain)
            single = Spectrum(levels[row], MASK[row], of_one, unfolded=True)
            np.testing.assert_allclose(statistic(single, [0.5, 1.5]), batch[row], rtol=1e-12)


# Counts


def test_counts_are_strict_and_leave_out_the_padding():
    levels = np.array([-3.0, -2.5, -1.0, -0.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.5, 4.0, 7.0])
    x = np.array([-np.inf, -3.0, -0.5, 0.1, 7.0, 100.0, np.inf])
    for number in (0, 1, 6, 12):
        expected = (levels[:number, None] < x).sum(0)
        for spectrum in (
            padded(jnp.asarray(levels), jnp.array(number)),
            Spectrum(levels, np.arange(12) < number),
            Spectrum.of([levels, levels[:number]])[1],
        ):
            np.testing.assert_array_equal(jax.jit(Spectrum.count_below)(spectrum, x), expected)
            np.testing.assert_array_equal(spectrum.count_below(x), expected)
    assert Spectrum(levels).count_below(jnp.array(0.0)).shape == ()


@pytest.mark.parametrize("seed", range(5))
def test_counts_with_a_mask_in_the_middle(seed):
    rng = np.random.default_rng(seed)
    levels, mask = np.sort(rng.integers(-9, 9, 20)), rng.uniform(size=20) < 0.5
    x = np.append(np.arange(-10, 10.5, 0.5), [-np.inf, np.inf])
    expected = (levels[mask, None] < x).sum(0)
    spectrum = Spectrum(levels, mask)
    np.testing.assert_array_equal(spectrum.count_below(x), expected)
    np.testing.assert_array_equal(spectrum.count_below(x.reshape(1, -1)), expected[None])
    part = Spectrum(levels).bulk(-3.5, 4.0)
    inside = levels[(levels >= -3.5) & (levels <= 4)]
    np.testing.assert_array_equal(part.count_below(x), (inside[:, None] < x).sum(0))
    with pytest.raises(ValueError, match="`x` must not be NaN"):
        spectrum.count_below(np.nan)
    assert jax.jit(spectrum.count_below)(jnp.nan) == -1


# Arrays and indices


def test_a_batch_is_indexed():
    levels = np.stack([LEVELS, LEVELS + 1, LEVELS + 2])
    domain = Interval(np.arange(-3.0, 0)[:, None] + np.zeros(2), 12.0)
    spectra = Spectrum(levels, MASK, domain, unfolded=True)
    assert len(spectra) == 3
    for index in (0, -1, (1, 0), slice(1, None), (slice(None), 1), np.array([2, 0]), levels[..., 0] > 0):
        part = spectra[index]
        plain = tuple(index) if isinstance(index, tuple) else index
        np.testing.assert_array_equal(part.mask, np.broadcast_to(MASK, levels.shape)[plain])
        np.testing.assert_array_equal(part.values, np.where(MASK, levels, np.inf)[plain])
        np.testing.assert_array_equal(part.domain.start, domain.start[plain])
        assert part.unfolded
        np.testing.assert_allclose(s.number_variance(part, 0.5), s.number_variance(spectra, 0.5)[plain], rtol=1e-12)
    for row, expected in zip(spectra, s.number_variance(spectra, 0.5), strict=True):
        np.testing.assert_allclose(s.number_variance(row, 0.5), expected, rtol=1e-12)
    # The report goes along.
    phases = s.unfold_phases(np.sort(np.random.default_rng(0).uniform(0, 6, (4, 9)), axis=-1))
    assert phases[1].report.residual == phases.report.residual[1]
    assert phases[1:].domain.period.shape == (3,)


@pytest.mark.parametrize("index", [(0, 1), (0, slice(1, 3)), ..., (0, ...), None, (0, None)])
def test_an_index_chooses_spectra(index):
    said = r"`index` must choose from the batch \(`bulk` and `middle` give a part of the levels\)"
    with pytest.raises(ValueError, match=said):
        Spectrum(LEVELS)[index]
    for one in (0, slice(1, 3)):
        with pytest.raises(ValueError, match=said):
            Spectrum(LEVELS[0])[one]


def test_all_levels_are_an_array():
    single, batch = Spectrum(LEVELS[0]), Spectrum(LEVELS, unfolded=True)
    for spectrum, levels in ((single, LEVELS[0]), (batch, LEVELS)):
        assert len(spectrum) == len(levels)
        assert np.shape(spectrum) == levels.shape
        np.testing.assert_array_equal(np.asarray(spectrum), levels)
        np.testing.assert_array_equal(jnp.asarray(spectrum), levels)
        assert np.asarray(spectrum, np.float32).dtype == np.float32
        for function in (np.mean, np.std, np.max, np.ravel, np.diff):
            np.testing.assert_allclose(function(spectrum), function(levels))
        np.testing.assert_allclose(np.mean(spectrum, axis=0), np.mean(levels, axis=0))
        np.testing.assert_array_equal(spectrum.compressed(), levels.ravel())
    assert list(single) == sorted(single) == list(LEVELS[0])
    assert [type(row) for row in batch] == [Spectrum, Spectrum]
    counts, *_ = plt.hist(single, bins=4)
    np.testing.assert_array_equal(counts, np.histogram(LEVELS[0], bins=4)[0])
    (line,) = plt.plot(single)
    np.testing.assert_array_equal(line.get_ydata(), LEVELS[0])
    plt.close("all")
    np.testing.assert_array_equal(pd.Series(single), LEVELS[0])
    np.testing.assert_array_equal(pd.DataFrame({"x": single})["x"], LEVELS[0])
    assert pd.DataFrame({"x": single}).dtypes["x"] == LEVELS.dtype
    np.testing.assert_array_equal(pd.DataFrame(batch), LEVELS)


@pytest.mark.parametrize(
    "use",
    [np.asarray, np.mean, np.std, np.ravel, np.histogram, plt.hist, pd.Series, pd.DataFrame, list, sorted, sum, np.sin],
    ids=lambda use: use.__name__,
)
def test_levels_that_do_not_count_are_no_numbers(use):
    for spectrum in (Spectrum(LEVELS[0], MASK[0]), Spectrum(LEVELS[0]).bulk(1.0, 9.0), Spectrum.of([[1, 2], [3]])[1]):
        with pytest.raises(ValueError, match=r"`Spectrum` must count throughout as an array \(`compressed\(\)` has"):
            use(spectrum)
    plt.close("all")


# Transformations


def made_everywhere():
    """Functions of levels that make a spectrum."""
    mask, ends = MASK[0], Interval(-2.0, 9.0)
    return {
        "plain": lambda x: Spectrum(x),
        "masked": lambda x: Spectrum(x, mask, unfolded=True),
        "interval": lambda x: Spectrum(x, mask, ends, unfolded=True),
        "circle": lambda x: Spectrum(x, domain=Circle(9.0)),
        "several": lambda x: Spectrum.of([x, x[:2]]),
        "bulk": lambda x: Spectrum(x, unfolded=True).bulk(0.25, 2.75),
        "bulk of a circle": lambda x: Spectrum(x, domain=Circle(9.0)).bulk(0.25, 2.75),
        "middle": lambda x: Spectrum(x, unfolded=True).middle(0.5),
        "middle by rank": lambda x: Spectrum(x, mask).middle(0.5),
        "known order": lambda x: padded(x, jnp.array(3)),
        "one of many": lambda x: Spectrum(jnp.stack([x, 2 * x]))[1],
        "unfolded": lambda x: s.unfold(Spectrum(x, mask, ends), rmt.laws.Uniform(-3.0, 10.0)),
        "polynomial": lambda x: s.unfold_polynomial(Spectrum(x, domain=ends), 1, drop=0.1),
        "phases": lambda x: s.unfold_phases(x),
        "local": lambda x: s.unfold_local(x, 1),
        "kernel": lambda x: s.unfold_kernel(Spectrum(x, mask), 1.0),
    }


MADE = made_everywhere()


@pytest.mark.parametrize("name", MADE)
def test_made_within_and_without_a_program(name):
    make, x = MADE[name], jnp.asarray(LEVELS[0])
    eager, compiled = make(x), jax.jit(make)(x)
    assert jax.tree.structure(eager) == jax.tree.structure(compiled)
    again = jax.tree.unflatten(*reversed(jax.tree.flatten(eager)))
    through = jax.jit(lambda spectrum: spectrum)(eager)
    for other in (compiled, again, through, pickle.loads(pickle.dumps(eager)), copy.deepcopy(eager)):
        assert type(other) is Spectrum
        assert type(other.domain) is type(eager.domain)
        assert other.unfolded == eager.unfolded
        assert (other._report is None) == (eager._report is None)
        for one, expected in zip(jax.tree.leaves(other), jax.tree.leaves(eager), strict=True):
            assert one.shape == expected.shape
            assert one.dtype == expected.dtype
            np.testing.assert_allclose(one, expected, rtol=1e-12)
    if eager._report is not None:
        assert isinstance(compiled.report, Unfolding)
    # Mapped, it is a batch.
    batch = jax.vmap(make)(jnp.stack([x, x + 0.125]))
    assert jax.tree.structure(batch) == jax.tree.structure(eager)
    for row, each in enumerate((x, x + 0.125)):
        for one, expected in zip(jax.tree.leaves(batch), jax.tree.leaves(make(each)), strict=True):
            np.testing.assert_allclose(one[row], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_statistics_of_what_is_made_in_a_program(name):
    make, x = MADE[name], jnp.asarray(LEVELS[0])

    def of(spectrum):
        ratios = s.gap_ratios(spectrum, ties="zero")
        return {"count": spectrum.count, "spacing": s.spacings(spectrum).mean(), "ratio": ratios.mean()}

    expected = of(make(x))
    for found in (jax.jit(lambda x: of(make(x)))(x), jax.jit(of)(make(x)), of(jax.jit(make)(x))):
        jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9), found, expected)


@pytest.mark.parametrize("name", [name for name in MADE if name not in ("phases", "several", "known order")])
def test_nan_of_spectra_that_are_not_valid(name):
    make, x = MADE[name], jnp.asarray(LEVELS[0])
    bad = jnp.stack([x, x.at[0].set(8.0), x.at[3].set(jnp.nan), x + 0.125])
    valid = np.array([True, False, False, True])
    spectra = jax.jit(jax.vmap(make))(bad)
    ratios = jax.jit(lambda spectra: s.gap_ratios(spectra, ties="zero").mean())(spectra)
    np.testing.assert_array_equal(np.isnan(ratios), np.isnan(jax.vmap(lambda x: s.gap_ratios(make(x)).mean())(bad)))
    assert np.isnan(ratios[1:3]).all()
    sums = jax.jit(lambda spectra: s.linear_statistic(spectra, jnp.sin))(spectra)
    np.testing.assert_array_equal(np.isnan(sums), ~valid)
    # Outside of the program it is refused, and the first one is named.
    said = (
        r"`levels` must be spectra of ascending numbers in their domain, got 2 of 4 that are not, the first at \[1\]\."
    )
    for use in (s.gap_ratios, s.log_determinant, lambda x: s.level_density(x, [0.0, 1.0])):
        with pytest.raises(ValueError, match=said):
            use(spectra)
    s.gap_ratios(spectra[np.array([0, 3])])
    with pytest.raises(ValueError, match=r"got 1 of 1 that are not\."):
        s.gap_ratios(spectra[2])


def test_levels_outside_of_the_domain_in_a_program():
    x = jnp.asarray(np.stack([LEVELS[0], LEVELS[0] + 5]))
    for domain in (Interval(0.0, 9.0), Interval(-1.0, np.array([6.0, 9.0]))):
        make = lambda x, domain=domain: Spectrum(x, domain=domain, unfolded=True)
        with pytest.raises(ValueError, match="`domain` must hold all levels"):
            make(x)
        found = jax.jit(lambda x, make=make: s.number_variance(make(x), 0.5))(x)
        np.testing.assert_array_equal(np.isnan(found), [False, True])


def test_derivatives_go_through():
    x = jnp.asarray([0.0, 0.9, 1.7, 3.3, 4.1, 5.6])
    mask, lengths = np.arange(6) != 2, jnp.array([0.7, 1.1])
    makes = {
        "masked": lambda x, end: Spectrum(x, mask, unfolded=True),
        "interval": lambda x, end: Spectrum(x, mask, Interval(-0.5, end), unfolded=True),
        "bulk": lambda x, end: Spectrum(x, unfolded=True).bulk(0.5, end - 1.0),
        "circle": lambda x, end: Spectrum(x, mask, Circle(end), unfolded=True),
        "middle": lambda x, end: Spectrum(x, domain=Interval(-0.5, end), unfolded=True).middle(0.9),
        "unfolded": lambda x, end: s.unfold(Spectrum(x, mask, Interval(-0.5, end)), lambda x: x + 0.1 * jnp.sin(x)),
    }
    for name, make in makes.items():
        total = lambda x, end, make=make: jnp.sum(s.number_variance(make(x, end), lengths) * jnp.array([1.0, 2.0]))
        by_levels, by_end = jax.grad(total, argnums=(0, 1))(x, 6.25)
        jitted = jax.jit(jax.grad(total))(x, 6.25)
        total = jax.jit(total)
        step = 1e-6 * np.eye(6)
        expected = [(total(x + e, 6.25) - total(x - e, 6.25)) / 2e-6 for e in step]
        np.testing.assert_allclose(by_levels, expected, rtol=0, atol=1e-6, err_msg=name)
        expected = (total(x, 6.25 + 1e-6) - total(x, 6.25 - 1e-6)) / 2e-6
        np.testing.assert_allclose(by_end, expected, rtol=0, atol=1e-6, err_msg=name)
        assert (by_end != 0) == (name != "masked"), name
        if name in ("masked", "interval", "circle", "unfolded"):
            assert by_levels[2] == 0  # of the level that does not count
        np.testing.assert_allclose(jitted, by_levels, rtol=1e-9)


def test_spectra_are_carried_and_mapped():
    spectra = Spectrum(LEVELS, MASK, Interval(-2.0, 8.0), unfolded=True)
    of = lambda spectrum: s.number_variance(spectrum, 0.5)
    np.testing.assert_allclose(jax.lax.map(of, spectra), of(spectra), rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(of)(spectra), of(spectra), rtol=1e-12)
    last, each = jax.lax.scan(lambda carried, _: (carried, of(carried)), spectra, length=2)
    np.testing.assert_allclose(each, jnp.stack([of(spectra)] * 2), rtol=1e-12)
    assert jax.tree.structure(last) == jax.tree.structure(spectra)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), spectra, spectra)
    np.testing.assert_allclose(of(stacked), jnp.stack([of(spectra)] * 2), rtol=1e-12)
    mapped = s.over_samples(of, spectra)
    np.testing.assert_allclose(mapped.value, of(spectra).mean(), rtol=1e-12)
    ends = jnp.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        jax.vmap(lambda end: of(spectra.bulk(-1.0, end)))(ends),
        jnp.stack([of(spectra.bulk(-1.0, end)) for end in ends]),
        rtol=1e-12,
    )


def test_counts_and_copies_of_spectra_that_are_not_valid():
    spectra = jax.jit(lambda x: Spectrum(x))(jnp.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0]]))
    assert jax.jit(Spectrum.count_below)(spectra[0], 2.5) == -1
    assert jax.jit(Spectrum.count_below)(spectra[1], 2.5) == 2
    periodic = jax.jit(lambda spectra: spectra.periodic("ascending"))(spectra)
    np.testing.assert_array_equal(periodic, [3 * [np.nan], [1, 2, 3]])
    for call in (lambda x: x.count_below(2.5), lambda x: x.periodic("magnitude")):
        with pytest.raises(ValueError, match=r"`spectrum` must be spectra of ascending numbers in their domain, got 1"):
            call(spectra[0])
        call(spectra[1])


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Spectrum([2.0, 1.0]),
            "`values` must be ascending numbers, finite where they count, got a smaller one",
        ),
        (lambda: Spectrum([1.0, np.nan]), "`values` must be ascending numbers, finite where they count, got 1 that"),
        (lambda: Spectrum([1.0, 5.0, 2.0], [True, True, True]), "`values` must be ascending numbers"),
        (lambda: Spectrum([1.0, 5.0, 9.0, 2.0], [True, True, False, True]), "`values` must be ascending numbers"),
        (lambda: Spectrum(LEVELS[:, ::-1]), r"`values` must be ascending numbers, .* at \[0, 1\]"),
        (lambda: Spectrum([1.0, 2j]), "`values` must be real"),
        (lambda: Spectrum(1.0), "`values` must have an axis of levels"),
        (lambda: Spectrum(None), "`values` must be numbers"),
        (lambda: Spectrum(Spectrum(LEVELS), MASK), "`values` must be an array of levels, got Spectrum"),
        (lambda: Spectrum(Interval(0.0, 1.0)), "`values` must be an array of levels, got Interval"),
        (lambda: Spectrum([[1.0, 2.0], [3.0]]), r"`values` must be one array, or a spectrum, as `rmt\.Spectrum\.of\("),
        (lambda: Spectrum(LEVELS, LEVELS), "`mask` must be booleans"),
        (lambda: Spectrum(LEVELS, [1, 1, 0, 1, 1]), "`mask` must be booleans"),
        (lambda: Spectrum(LEVELS, np.ones(4, bool)), r"`mask` must broadcast to the shape \(2, 5\) of the levels"),
        (lambda: Spectrum(LEVELS[0], MASK), "`mask` must be booleans that broadcast to the levels"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NEED_UNIT_DENSITY = {
    "number_variance": lambda x: s.number_variance(x, 0.5),
    "rigidity": lambda x: s.rigidity(x, 0.5),
    "number_skewness": lambda x: s.number_skewness(x, 0.5),
    "number_probabilities": lambda x: s.number_probabilities(x, 0.5, max_count=1),
    "pair_correlation": lambda x: s.pair_correlation(x, [0.0, 0.5]),
    "power_spectrum": lambda x: s.power_spectrum(x, 1.0),
    "level_repulsion": lambda x: s.level_repulsion(x, 1.0).count,
}


@pytest.mark.parametrize("name", NEED_UNIT_DENSITY)
def test_what_is_not_unfolded(name):
    statistic = NEED_UNIT_DENSITY[name]
    said = (
        r"`levels` must be unfolded \(by `statistics\.unfold\(.* `unfolded=True` says .*\), got a spectrum that is not"
    )
    for raw in (Spectrum(LEVELS), Spectrum(LEVELS).middle(0.9), Spectrum.of([LEVELS[0], []])):
        for of in (statistic, jax.jit(statistic)):
            with pytest.raises(ValueError, match=said):
                of(raw)
    # The word of the user is taken, and that of a function that has unfolded the levels.
    statistic(Spectrum(LEVELS, unfolded=True))
    statistic(s.unfold(LEVELS, rmt.laws.Uniform(-2.0, 8.0)))
    statistic(s.unfold(LEVELS, rmt.laws.Uniform(-2.0, 8.0)).bulk(1.0, 4.0))


def test_unfolded_spectra_are_not_measured():
    levels = np.linspace(-2, 2, 60)
    with pytest.raises(ValueError, match=r"`levels` must have a mean spacing of 1, .*`unfolded=True`.*, got 0\.0678"):
        s.number_variance(levels, 0.1)
    with pytest.raises(ValueError, match=r"got a mean spacing of 0\.0677.* at \[1\]"):
        s.number_variance(np.stack([np.arange(60.0), levels]), 0.1)
    assert np.isfinite(s.number_variance(Spectrum(levels, unfolded=True), 0.1))
    # What only knows which values count says nothing of their density.
    for raw in (MaskedValues(levels, np.ones(60, bool)), np.ma.masked_array(levels)):
        with pytest.raises(ValueError, match=r"`levels` must have a mean spacing of 1, .* got 0\.0678"):
            s.number_variance(raw, 0.1)


def test_an_index_may_be_traced():
    spectra = Spectrum([[0.0, 1, 3, 4], [0, 2, 5, 7]], domain=Interval(-1.0, 8.0))
    assert jax.jit(lambda i: spectra[i].count)(1) == 4
    means = jax.lax.map(lambda i: rmt.statistics.spacings(spectra[i]).mean(), jnp.arange(2))
    np.testing.assert_allclose(means, rmt.statistics.spacings(spectra).mean())


def test_vectors_of_several_precisions():
    assert Spectrum.of([np.float32([1, 2]), []]).values.dtype == np.float32
    assert Spectrum.of([np.float32([1, 2]), np.ones(1)]).values.dtype == jnp.zeros(()).dtype


@pytest.mark.float32
def test_vectors_that_lose_their_spacings():
    levels = 1e8 + np.arange(0.0, 40, 3)
    if jax.config.jax_enable_x64:
        np.testing.assert_array_equal(rmt.statistics.spacings(Spectrum.of([levels, []])).compressed(), 3)
        return
    with pytest.raises(ValueError, match="`spectra` must keep their spacings in float32"):
        Spectrum.of([levels, []])


def test_a_part_of_an_invalid_spectrum_names_it():
    tied = np.array([[0, 0, 0, 1, 1, 1.0], [0, 1, 2, 3, 4, 5]])
    found = rmt.statistics.unfold_polynomial(tied, 3, pooled=False)
    with pytest.raises(ValueError, match=r"must be spectra of ascending numbers .* the first at \[0\]"):
        found.bulk(1, 4)


def test_slips_are_named():
    levels = np.arange(9.0)
    for slip, message in (
        (lambda: Spectrum(levels, Interval(0.0, 9.0)), "`mask` must be booleans .`domain=` says where"),
        (lambda: Spectrum(levels, unfolded="no"), "`unfolded` must be True or False, got 'no'"),
        (lambda: Spectrum.of([Spectrum(levels)]), "`spectra` must be arrays .*, got a Spectrum among them"),
        (lambda: Spectrum(levels, domain=Circle(10.0)).bulk(-1.0, 10.0), "`start, end` must lie within one round"),
        (
            lambda: rmt.inference.fit_beta(Spectrum(levels, domain=Circle(9.0)), by="levels"),
            "whole spectra on the line",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            slip()
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        Spectrum(LEVELS)[3]


def test_parts_that_are_none_are_nan_under_jit():
    spectrum = Spectrum(np.arange(1.0, 10.0), unfolded=True)
    assert np.isnan(jax.jit(lambda share: s.log_determinant(spectrum.middle(share)))(2.0))
    likelihood = lambda start: rmt.inference.log_likelihood(rmt.laws.Semicircle(30.0), spectrum.bulk(start, 1.0))
    assert np.isnan(jax.jit(likelihood)(5.0))


def test_unfolding_leaves_room_for_spectra_without_a_level():
    spectra = Spectrum.of([[0.1, 0.5, 0.7], []], Interval(-1.0, 1.0))
    for unfolded in (s.unfold(spectra, rmt.laws.Semicircle()), s.unfold_polynomial(spectra, 1)):
        np.testing.assert_array_equal(unfolded._is_valid, True)
        np.testing.assert_array_equal(s.spacings(unfolded).count, [2, 0])
