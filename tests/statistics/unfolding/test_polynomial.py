"""Unfolding by polynomials: fits by numpy, spectra of several sizes, and the bias of each degree."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import number_variance, over_samples, unfold, unfold_kernel, unfold_polynomial
from tests.cases import further


@pytest.mark.float32
@pytest.mark.parametrize("pooled", [False, True])
def test_polynomials_are_numpys(getkey, pooled):
    levels = np.sort(np.asarray(jax.random.normal(getkey(), (3, 40))), axis=-1)
    found = unfold_polynomial(levels, 5, pooled=pooled)
    flat = np.sort(levels.ravel())
    for x, values in zip(levels, np.asarray(found.values), strict=True):
        at, count = (flat, (np.arange(120) + 0.5) / 3) if pooled else (x, np.arange(40) + 0.5)
        expected = np.polynomial.Chebyshev.fit(at.astype(float), count, 5)(x.astype(float))
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e3 * np.finfo(levels.dtype).eps)


def test_masks_and_ends(getkey):
    levels = jnp.sort(jax.random.uniform(getkey(), (2, 30)), axis=-1)
    mask = jnp.arange(30)[None] < jnp.array([[30], [20]])
    found = unfold_polynomial(rmt.Spectrum(levels, mask), 3, pooled=False, drop=0.1)
    np.testing.assert_array_equal(found.mask.sum(-1), [24, 16])
    np.testing.assert_allclose(found.report.below, 0.1)
    np.testing.assert_allclose(found.report.above, 0.1)
    alone = unfold_polynomial(levels[1, :20], 3, drop=0.1)
    np.testing.assert_allclose(found.values[1, 2:18], alone.values[2:18], rtol=1e-9)


@pytest.mark.float32
def test_all_digits_of_high_degrees(getkey):
    # The reference for degree 15 and 40 normal levels is in extended precision, by repeated orthogonalisation.
    levels = np.sort(np.asarray(jax.random.normal(getkey(), (40,))))
    t = levels.astype(np.longdouble)
    t = (2 * t - t[0] - t[-1]) / (t[-1] - t[0])
    basis = [np.ones_like(t) / t.size**0.5]
    for _ in range(15):
        column = t * basis[-1]
        for each in 2 * basis:
            column = column - (each @ column) * each
        basis.append(column / (column @ column) ** 0.5)
    expected = sum((each @ (np.arange(40) + 0.5)) * each for each in basis)
    found = unfold_polynomial(levels, 15).values
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=1e3 * np.finfo(levels.dtype).eps)


class Cubic:
    """The law of density 6x(1 - x)."""

    cdf = staticmethod(lambda x: 3 * x**2 - 2 * x**3)


def test_spectra_of_several_sizes(getkey):
    # 100 sectors of 20 levels and 100 of 40. Pooling the unnormalised staircases would be off by a half and a quarter.
    grid = np.linspace(0, 1, 20_001)
    small, large = (rmt.simulate(rmt.CUE(n).eigenphases, getkey(), 100) for n in (20, 40))
    phases = jnp.concatenate([jnp.pad(small, ((0, 0), (0, 20)), constant_values=jnp.nan), large])
    mask = jnp.isfinite(phases)
    levels = rmt.Spectrum(jnp.interp(phases / (2 * jnp.pi) + 0.5, Cubic.cdf(grid), grid), mask)
    exact = unfold(levels, Cubic())
    fitted = unfold_polynomial(levels, 3)
    # The number of levels of CUE(40) in an arc has a variance of up to 0.8, and m = 200 spectra are pooled.
    off = 5 * 40 * (200 * 0.8) ** 0.5 / float(mask.sum())
    assert off < 0.45
    np.testing.assert_allclose(fitted.values, exact.values, rtol=0, atol=off)
    np.testing.assert_allclose(fitted.report.trend, exact.report.trend, rtol=0, atol=off / 20)
    np.testing.assert_allclose(fitted.report.residual, exact.report.residual, rtol=0, atol=off)
    for size in (slice(100), slice(100, 200)):
        mean, error = fitted.report.trend[size].mean(), fitted.report.trend[size].std() / 10
        assert error < 4e-3
        assert abs(mean) < 5 * error
    # A kernel of width h adds h²/2 of the second derivative.
    smooth = unfold_kernel(levels, 0.02, drop=0.15)
    expected = jnp.where(smooth.mask, exact.values, jnp.inf)
    np.testing.assert_allclose(smooth.values, expected, rtol=0, atol=off + 40 * 6 * 0.02**2 / 2)


@pytest.mark.float32
@pytest.mark.parametrize("pooled", [False, True])
def test_the_ends_of_an_interval(pooled):
    # Levels at the quantiles of a cubic law have a cubic staircase, in an interval too.
    levels = 0.5 - np.sin(np.arcsin(1 - (np.arange(200) + 0.5) / 100) / 3)
    ends = np.array([0.2, 0.3]), np.array([0.9, 0.65])
    exact = 200 * np.array([Cubic.cdf(end) for end in ends])
    below = np.floor(exact[0] + 0.5)
    exact = exact - below
    levels = rmt.Spectrum(np.stack([levels, levels]))
    eps = float(jnp.finfo(levels.values.dtype).eps)
    for drop in (0.0, 0.1):
        if not pooled:
            found = unfold_polynomial(levels.bulk(*ends), 3, pooled=False, drop=drop)
        else:  # spectra of one normalised density share their interval
            found = unfold_polynomial(levels.bulk(ends[0][0], ends[1][0]), 3, drop=drop)
            exact, below = exact[:, [0, 0]], below[[0, 0]]
        left_out = drop * (exact[1] - exact[0])
        atol = 1e4 * eps
        np.testing.assert_allclose(found.domain.start, exact[0] + left_out, rtol=0, atol=atol)
        np.testing.assert_allclose(found.domain.end, exact[1] - left_out, rtol=0, atol=atol)
        ranks = np.arange(200) + 0.5 - below[:, None]
        inside = (ranks > (exact[0] + left_out)[:, None]) & (ranks < (exact[1] - left_out)[:, None])
        np.testing.assert_array_equal(found.mask, inside)
        np.testing.assert_allclose(found.values, np.where(inside, ranks, np.inf), rtol=0, atol=atol)
        np.testing.assert_allclose(found.report.below, drop, rtol=0, atol=0.02)
        # The empty space at the ends is observed: half a level on average, and no more than one.
        np.testing.assert_allclose(found.count, found.domain.end - found.domain.start, rtol=0, atol=1)


def test_a_polynomial_that_does_not_ascend():
    # A parabola turns down at levels that are far from most others.
    levels = np.append(np.linspace(0, 1, 79), [4.0, 7.0, 10.0])
    wave = unfold_polynomial(levels, 2)
    assert not wave.report.monotone
    said = (
        r"`levels` must be spectra of ascending numbers in their domain, got 1 of 1 that are not\. Where .* is not "
        "`monotone`, take a lower degree"
    )
    with pytest.raises(ValueError, match=said):
        number_variance(wave, 1.0)
    assert np.isnan(jax.jit(lambda x: number_variance(unfold_polynomial(x, 2), 1.0))(levels))
    # The other spectra of a batch are as they were.
    both = unfold_polynomial(np.stack([np.linspace(0, 10, 82), levels]), 2, pooled=False)
    np.testing.assert_array_equal(both.report.monotone, [True, False])
    with pytest.raises(ValueError, match=r"got 1 of 2 that are not, the first at \[1\]"):
        number_variance(both, 1.0)
    np.testing.assert_allclose(number_variance(both[0], 1.0), number_variance(jnp.arange(82.0), 1.0), rtol=0, atol=1e-6)


def test_a_pool_of_equal_sizes_is_the_mean_staircase(getkey):
    levels = jnp.sort(jax.random.normal(getkey(), (3, 40)), axis=-1)
    padded = rmt.Spectrum(jnp.concatenate([levels, jnp.full((3, 5), jnp.nan)], axis=-1), jnp.arange(45) < 40)
    found = unfold_polynomial(padded, 5).values[:, :40]
    np.testing.assert_allclose(found, unfold_polynomial(levels, 5).values, rtol=1e-5, atol=1e-5)
    with_none = rmt.Spectrum.of([*levels, []])
    found = unfold_polynomial(with_none, 5)
    np.testing.assert_allclose(found.values[:3, :40], unfold_polynomial(levels, 5).values, rtol=0, atol=1e-5)
    assert jnp.isnan(found.report.residual[3])


def test_too_few_distinct_levels():
    tied = jnp.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])
    found = unfold_polynomial(tied, 3, pooled=False)
    assert jnp.isnan(found.values[0]).all()
    np.testing.assert_allclose(found.values[1], np.arange(6) + 0.5, rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 2, got 3"):
        unfold_polynomial(tied[0], 3)
    assert jnp.isnan(jax.jit(lambda x: unfold_polynomial(x, 3).values)(tied[0])).all()
    # Equal levels get one value, halfway up their steps.
    np.testing.assert_allclose(unfold_polynomial(tied[0], 1).values, [1.5] * 3 + [4.5] * 3, rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 3, got 3"):
        unfold_polynomial(rmt.Spectrum(tied[1], np.arange(6) < 3), 3)
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 1, got 1"):
        unfold_polynomial(jnp.zeros((2, 3)), 1)


@pytest.fixture(scope="module")
def matrices():
    """The spectra of the manual."""
    return rmt.simulate(rmt.GOE(200).eigenvalues, jax.random.key(0), 200)


LENGTH = 20.0


def expected_variance(degree):
    """Σ²(20) of the levels 40 to 160 of GOE(200) in the unit that a fit of this degree to the semicircle has."""
    q = (np.arange(4000) + 0.5) / 4000
    x = np.asarray(rmt.laws.Semicircle(2.0).ppf(q), float)
    fit = 200 * np.polynomial.Chebyshev.fit(x, q, degree)(x)
    start = np.linspace(np.interp(0.2, q, fit), np.interp(0.8, q, fit) - LENGTH, 2001)
    true_length = 200 * (np.interp(start + LENGTH, fit, q) - np.interp(start, fit, q))
    return np.mean((true_length - LENGTH) ** 2 + rmt.laws.number_variance(true_length, 1))


# The manual shows this: single fits of each degree take so much of the exact 1.049 away.
TAKEN = {3: 0.04, 5: 0.07, 9: 0.17, 15: 0.31}


@pytest.mark.parametrize("degree", [1, *further(2, 3, 4, 5, 6, 7, 8), 9, *further(10, 11, 12, 13, 14), 15])
def test_bias_of_the_degree(matrices, degree):
    pool, single = (
        over_samples(lambda x: number_variance(x, LENGTH), unfold_polynomial(matrices, degree, pooled=pooled, drop=0.2))
        for pooled in (True, False)
    )
    # The pool has the bias of the density that a polynomial of this degree misses, and no other.
    assert pool.standard_error < 0.05
    assert abs(pool.z_score(expected_variance(degree))) < 5
    exact = rmt.laws.number_variance(LENGTH, 1)
    if degree in TAKEN:
        assert abs(single.z_score(exact - TAKEN[degree])) < 5
    if degree >= 9:
        assert single.z_score(exact) < -5


def test_a_known_density_has_no_bias(matrices):
    bulk = unfold(matrices, rmt.GOE(200).law()).bulk(40, 160)
    found = over_samples(lambda x: number_variance(x, LENGTH), bulk)
    assert found.standard_error < 0.03
    assert abs(found.z_score(rmt.laws.number_variance(LENGTH, 1))) < 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfold_polynomial(jnp.arange(3.0), 3), "`degree` must be below the number of levels, 3"),
        (lambda: unfold_polynomial(jnp.arange(3.0), 0), "`degree` must be an integer of at least 1"),
        (lambda: unfold_polynomial(jnp.arange(3.0), 1, drop=0.5), r"`drop` must lie in \[0, 1/2\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_report_in_words():
    levels = np.stack([np.arange(20.0), 1.1 * np.arange(20.0)])
    text = str(rmt.statistics.unfold(levels, lambda x: x + 0.5).report)
    assert text == "mean spacing 1.0500, residual 0.56 levels, trend 0.0500; dropped 0.0 % below and 0.0 % above"
    dropped = str(unfold_polynomial(levels, 3, pooled=False, drop=0.2).report)
    assert dropped.endswith("dropped 20.0 % below and 20.0 % above")
    report = rmt.statistics.unfold(levels, lambda x: x + 0.5).report
    masked = dataclasses.replace(report, mean_spacing=jnp.array([1.0, jnp.nan]), monotone=jnp.array([True, False]))
    assert str(masked).startswith("mean spacing 1.0000, ")
    assert str(masked).endswith("; 1 of 2 spectra do not ascend")
    jax.jit(lambda report: (str(report), report)[1])(report)
