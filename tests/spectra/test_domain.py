"""Where levels were looked for: the line, a part of it, a circle; one for all spectra, or one for each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import Circle, Interval, Spectrum
from rmtjax.spectra import Line

LEVELS = np.array([[0.0, 1.0, 2.5], [0.5, 3.0, 4.0]])


def test_names():
    assert rmt.Interval is rmt.spectra.Interval
    assert rmt.Circle is rmt.spectra.Circle
    assert isinstance(Spectrum(LEVELS).domain, Line)


@pytest.mark.float32
def test_numbers_become_those_of_each_spectrum():
    dtype = jnp.zeros(0).dtype
    for domain in (Interval(-1, 5), Interval(np.array([-1.0, 0.0]), 5), Interval(jnp.array(-1.0), np.full(2, 5.0))):
        found = Spectrum(LEVELS, domain=domain).domain
        assert found.start.shape == found.end.shape == (2,)
        assert found.start.dtype == found.end.dtype == dtype
        np.testing.assert_array_equal(found.end, [5, 5])
    for domain in (Circle(4), Circle(np.array([4.0, 5.0])), Circle(jnp.array([4]))):
        found = Spectrum(LEVELS, domain=domain).domain
        assert found.period.shape == (2,)
        assert found.period.dtype == dtype
    single = Spectrum(LEVELS.astype(np.float32), domain=Interval(0.0, np.float64(4)))
    assert single.domain.start.dtype == single.domain.end.dtype == np.float32
    batch = Spectrum(LEVELS[:, None] + np.zeros((2, 3, 1)), domain=Circle(np.array([[5.0], [6.0]]))).domain
    np.testing.assert_array_equal(batch.period, [[5] * 3, [6] * 3])


def test_levels_may_lie_at_the_ends():
    Spectrum(LEVELS, domain=Interval(LEVELS[:, 0], LEVELS[:, -1]))
    Spectrum(LEVELS, domain=Circle(LEVELS[:, -1] - LEVELS[:, 0]))
    # What does not count may lie anywhere, and no level lies outside.
    Spectrum(LEVELS, LEVELS < 3, Interval(0, 2.5))
    Spectrum(LEVELS, False, Interval(8, 9))
    Spectrum.of([[], []], domain=Interval(0, np.array([1.0, 2.0])))


def test_a_circle_begins_anywhere():
    for start in (-2.0, 0.0, 7.5):
        found = Spectrum(LEVELS + start, domain=Circle(5.0), unfolded=True)
        expected = rmt.statistics.number_variance(Spectrum(LEVELS, domain=Circle(5.0), unfolded=True), 0.75)
        np.testing.assert_allclose(rmt.statistics.number_variance(found, 0.75), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Interval(0, 3.5), "`domain` must hold all levels .*`bulk` takes those of an interval"),
        (Interval(np.array([0.0, 0.75]), 4), "`domain` must hold all levels"),
        (Interval(4, 0), "`domain` must be a pair of ascending finite numbers"),
        (Interval(np.array([0.0, 5.0]), np.array([4.0, 4.0])), "`domain` must be a pair of ascending finite numbers"),
        (Interval(np.nan, 4), "`domain` must be a pair of ascending finite numbers"),
        (Circle(3.0), "`domain` must be at least the distance from the first level to the last"),
        (Circle(0.0), "`domain` must be positive and finite"),
        (Circle(-9.0), "`domain` must be positive and finite"),
        (Circle(np.inf), "`domain` must be positive and finite"),
        (Interval(np.zeros(3), 9), r"`domain` must broadcast to the shape \(2,\) of the batch, got \(3,\)"),
        (Circle(np.full((1, 2), 9.0)), r"`domain` must broadcast to the shape \(2,\) of the batch"),
        (Interval, r"`domain` must be `rmt.Interval\(start, end\)`, `rmt.Circle\(period\)` or `rmt.spectra.Line\(\)`"),
        ((0, 9), r"`domain` must be `rmt.Interval\(start, end\)`"),
        (None, None),
    ],
)
def test_refusals(domain, message):
    if message is None:
        assert isinstance(Spectrum(LEVELS, domain=domain).domain, Line)
        return
    with pytest.raises(ValueError, match=message):
        Spectrum(LEVELS, domain=domain)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Interval("a", 1), "`start` must be numbers"),
        (lambda: Interval(0, 1j), "`end` must be real"),
        (lambda: Circle(None), "`period` must be numbers"),
        (lambda: Circle(2j), "`period` must be real"),
    ],
)
def test_what_is_no_number(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ends_that_are_met_in_a_program():
    spectra = lambda ends: Spectrum(LEVELS, domain=Interval(ends[0], ends[1]), unfolded=True)
    spread = lambda ends: rmt.statistics.number_variance(spectra(ends), 0.75)
    good = np.array([[0.0, 0.25], [4.0, 4.5]])
    np.testing.assert_allclose(jax.jit(spread)(good), spread(good), rtol=1e-12)
    for wrong in (0.25, 9.0, np.nan):  # a level lies outside, or the ends do not ascend
        bad = good.copy()
        bad[0, 0] = wrong
        with pytest.raises(ValueError, match="`domain` must"):
            spread(bad)
        np.testing.assert_array_equal(np.isnan(jax.jit(spread)(bad)), [True, False])
        with pytest.raises(ValueError, match=r"in their domain, got 1 of 2 that are not, the first at \[0\]"):
            rmt.statistics.spacings(jax.jit(spectra)(bad))
    # As a pytree a domain has its numbers for leaves.
    assert jax.tree.map(lambda x: x + 1, Interval(0.0, 1.0)).end == 2
    assert jax.tree.leaves(Line()) == []


def test_an_interval_is_finite():
    with pytest.raises(ValueError, match="`domain` must be a pair of ascending finite numbers"):
        Spectrum(np.arange(5.0), domain=Interval(-np.inf, np.inf))


# To 12 the polynomial of degree 2 turns back beyond the last level, to 30 far below the first.
@pytest.mark.parametrize("end", [12, 30])
def test_a_polynomial_that_turns_back_before_the_end_is_not_monotone(end):
    levels = Spectrum(np.linspace(0, 1, 100) ** 2 * 10, domain=Interval(0, end))
    found = rmt.statistics.unfold_polynomial(levels, 2)
    assert not found.report.monotone
    with pytest.raises(ValueError, match="`levels` must be spectra of ascending numbers in their domain"):
        rmt.statistics.number_variance(found, 1.0)


def test_a_function_without_a_value_at_an_end():
    found = rmt.statistics.unfold(Spectrum(np.arange(1.0, 9)).bulk(0.0, 9.0), lambda x: 9 + jnp.log(x))
    with pytest.raises(ValueError, match="`levels` must be spectra of ascending numbers in their domain"):
        rmt.statistics.number_variance(found, 0.5)
