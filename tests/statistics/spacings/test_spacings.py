"""Spacings and ratios against loops over levels, independent levels, and random matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import gap_ratios, over_samples, spacings


def by_hand(levels, mask, order):
    """Spacings and ratios by the definition, as lists with None where they do not count."""
    n = len(levels)
    spaced = [levels[i + order] - levels[i] if all(mask[i : i + order + 1]) else None for i in range(n - order)]
    ratios = []
    for i in range(n - 2 * order):
        pair = spaced[i], spaced[i + order]
        ratios.append(None if None in pair else (min(pair), max(pair)))
    return spaced, ratios


@pytest.mark.float32
@pytest.mark.parametrize("order", [1, 2, 3])
def test_definition(order):
    levels = np.array([-2.0, -1.5, -1.5, -1.5, 0.25, 1.0, 1.0, 4.0, 4.5])
    for mask in (np.ones(9, bool), np.arange(9) < 6, np.arange(9) != 4, np.zeros(9, bool)):
        spaced, ratios = by_hand(levels, mask, order)
        spectrum = rmt.Spectrum(jnp.where(mask, levels, jnp.nan), mask)
        found = spacings(spectrum, order)
        np.testing.assert_array_equal(found.mask, [s is not None for s in spaced])
        np.testing.assert_array_equal(found.values, [np.nan if s is None else s for s in spaced])
        for ties, tie in (("drop", None), ("nan", np.nan), ("zero", 0.0)):
            found = gap_ratios(spectrum, order, ties=ties)
            each = [tie if r == (0, 0) else None if r is None else r[0] / r[1] for r in ratios]
            np.testing.assert_array_equal(found.mask, [r is not None for r in each])
            np.testing.assert_allclose(found.values, [np.nan if r is None else r for r in each])


def test_few_levels():
    for n in range(3):
        assert gap_ratios(jnp.arange(float(n))).values.shape == (0,)
        assert np.isnan(gap_ratios(jnp.arange(float(n))).mean())
        assert spacings(jnp.zeros((4, n))).values.shape == (4, max(n - 1, 0))
    assert spacings(jnp.arange(3.0), 2).values == 2.0


def test_derivative_is_0_at_a_tie():
    total = lambda x: jnp.nansum(gap_ratios(x, ties="zero").values)
    slope = jax.grad(total)(jnp.array([0.0, 0.0, 0.0, 1.0, 3.0]))
    np.testing.assert_allclose(slope, [0, -1, 1 - 0.5, 0.5 + 0.25, -0.25], rtol=0, atol=1e-12)


def test_padded_spectra_in_a_simulation(getkey):
    mixed = rmt.Mixed(rmt.GOE(30), 0.8)
    fn = lambda key: gap_ratios(mixed.eigenvalues(key))
    key = getkey()
    result = rmt.simulate(fn, key, 50, reduce=rmt.Histogram([0.0, 0.5, 1.0]))
    orders = rmt.simulate(mixed.eigenvalues, key, 50).count
    assert result.total == (orders - 2).sum()


@pytest.mark.parametrize(("beta", "ensemble"), [(0, None), (1, rmt.GOE), (2, rmt.GUE), (4, rmt.GSE)])
def test_mean_ratio(getkey, beta, ensemble):
    n, samples = 100, 300
    if ensemble is None:
        levels = jnp.cumsum(jax.random.exponential(getkey(), (samples, n)), axis=-1)
    else:
        levels = rmt.simulate(ensemble(n).eigenvalues, getkey(), samples)
    found = over_samples(lambda x: gap_ratios(x).mean(), levels)
    # The surmise is off by 0.9, 0.5 and 0.3 %; with wrong β the mean is off by 11 % and more.
    assert found.standard_error < 0.0022
    assert abs(found.value - rmt.laws.mean_gap_ratio(beta)) < 4 * found.standard_error + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "ensemble"), [(1, rmt.GOE), (2, rmt.GUE), (4, rmt.GSE)])
def test_mean_ratio_to_four_digits(getkey, beta, ensemble):
    eigenvalues = ensemble(200).eigenvalues
    middle = lambda key: gap_ratios(eigenvalues(key)[50:150]).mean()
    found = rmt.simulate(middle, getkey(), 32_000, reduce=rmt.Moments())
    assert found.standard_error < 2e-4
    assert abs(found.mean - rmt.laws.mean_gap_ratio(beta)) < 4 * found.standard_error


def test_second_neighbours_of_independent_levels(getkey):
    levels = jnp.cumsum(jax.random.exponential(getkey(), (200, 100)), axis=-1)
    distances = over_samples(lambda x: jnp.mean(spacings(x, 2).values ** 2, axis=-1), levels)
    assert abs(distances.z_score(6)) < 4  # the mean square of a gamma variate of shape 2
    # The share b of one of two such variates is a beta variate (2, 2). The ratio is (1 - b)/b for the larger share, and
    # its mean 12 ∫ b (1 - b) (1 - b)/b db from 1/2 to 1.
    ratios = over_samples(lambda x: gap_ratios(x, 2).mean(), levels)
    assert abs(ratios.z_score(0.5)) < 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spacings(jnp.arange(3.0), 0), "`order` must be an integer of at least 1"),
        (lambda: gap_ratios(jnp.arange(3.0), 1.5), "`order` must be an integer of at least 1"),
        (lambda: spacings(jnp.arange(3.0), 3), "`order` must leave room for 4 levels, of 3, got 3"),
        (lambda: gap_ratios(jnp.arange(4.0), 2), "`order` must leave room for 5 levels, of 4, got 2"),
        (lambda: gap_ratios(jnp.arange(3.0), ties="skip"), "`ties` must be one of 'drop', 'nan', 'zero', got 'skip'"),
        (lambda: gap_ratios(-jnp.arange(3.0)), "`levels` must be ascending numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_on_a_circle_the_first_level_comes_after_the_last(order):
    levels = np.sort(np.random.default_rng(0).random((3, 7)) * 10, axis=1)
    further = np.concatenate([levels, levels + 10], axis=1)
    spectra = rmt.Spectrum(levels, domain=rmt.Circle(10.0))
    each = spacings(spectra, order)
    np.testing.assert_allclose(each.values, further[:, order : order + 7] - levels, rtol=1e-5)
    left, right = (further[:, k + order : k + order + 7] - further[:, k : k + 7] for k in (0, order))
    expected = np.minimum(left, right) / np.maximum(left, right)
    np.testing.assert_allclose(gap_ratios(spectra, order).values, expected, rtol=1e-5)
    # A padded spectrum closes behind its own last level. The two sides of a masked gap are no neighbours.
    ragged = spacings(rmt.Spectrum.of([levels[0], levels[1, :5], levels[2, :2], []], domain=rmt.Circle(10.0)), order)
    np.testing.assert_array_equal(ragged.count, [7, 5, 2 if order < 2 else 0, 0])
    alone = spacings(rmt.Spectrum(levels[1, :5], domain=rmt.Circle(10.0)), order)
    np.testing.assert_allclose(ragged.values[1, :5], alone.values, rtol=1e-5)
    masked = spacings(rmt.Spectrum(levels, np.arange(7) != 3, domain=rmt.Circle(10.0)), order)
    np.testing.assert_array_equal(np.flatnonzero(~masked.mask[0]), np.arange(3 - order, 4))
