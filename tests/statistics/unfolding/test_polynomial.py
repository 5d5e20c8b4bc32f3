"""Unfolding by polynomials: fits by numpy, spectra of several sizes, and the bias of each degree."""

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
    for x, values in zip(levels, np.asarray(found.levels.values), strict=True):
        at, count = (flat, (np.arange(120) + 0.5) / 3) if pooled else (x, np.arange(40) + 0.5)
        expected = np.polynomial.Chebyshev.fit(at.astype(float), count, 5)(x.astype(float))
        np.testing.assert_allclose(values, expected, atol=2e3 * np.finfo(levels.dtype).eps)


def test_masks_and_ends(getkey):
    levels = jnp.sort(jax.random.uniform(getkey(), (2, 30)), axis=-1)
    mask = jnp.arange(30)[None] < jnp.array([[30], [20]])
    found = unfold_polynomial(jnp.where(mask, levels, jnp.inf), 3, where=mask, pooled=False, drop=0.1)
    np.testing.assert_array_equal(found.levels.mask.sum(-1), [24, 16])
    np.testing.assert_allclose(found.below, 0.1)
    np.testing.assert_allclose(found.above, 0.1)
    alone = unfold_polynomial(levels[1, :20], 3, drop=0.1)
    np.testing.assert_allclose(found.levels.values[1, 2:18], alone.levels.values[2:18], rtol=1e-9)


@pytest.mark.float32
def test_all_digits_of_high_degrees(getkey):
    # A fit of degree 15 to 40 normal levels; the reference in extended precision, by repeated orthogonalisation.
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
    found = unfold_polynomial(levels, 15).levels.values
    np.testing.assert_allclose(found, expected.astype(float), atol=1e3 * np.finfo(levels.dtype).eps)


class Cubic:
    """The law of density 6x(1 - x)."""

    cdf = staticmethod(lambda x: 3 * x**2 - 2 * x**3)


def test_spectra_of_several_sizes(getkey):
    # 100 sectors of 20 levels and 100 of 40. Staircases pooled as they are would be off by a half and a quarter.
    grid = np.linspace(0, 1, 20_001)
    small, large = (rmt.simulate(rmt.CUE(n).eigenphases, getkey(), 100) for n in (20, 40))
    phases = jnp.concatenate([jnp.pad(small, ((0, 0), (0, 20)), constant_values=jnp.nan), large])
    levels, mask = jnp.interp(phases / (2 * jnp.pi) + 0.5, Cubic.cdf(grid), grid), jnp.isfinite(phases)
    exact = unfold(levels, Cubic(), where=mask)
    fitted = unfold_polynomial(levels, 3, where=mask)
    # The number of levels of CUE(40) in an arc has a variance of up to 0.8, and m = 200 spectra are pooled.
    off = 5 * 40 * (200 * 0.8) ** 0.5 / float(mask.sum())
    assert off < 0.45
    np.testing.assert_allclose(fitted.levels.values, exact.levels.values, atol=off)
    np.testing.assert_allclose(fitted.trend, exact.trend, atol=off / 20)
    np.testing.assert_allclose(fitted.residual, exact.residual, atol=off)
    for size in (slice(100), slice(100, 200)):
        mean, error = fitted.trend[size].mean(), fitted.trend[size].std() / 10
        assert error < 4e-3
        assert abs(mean) < 5 * error
    # A kernel of width h adds h²/2 of the second derivative.
    smooth = unfold_kernel(levels, 0.02, where=mask, drop=0.15).levels
    expected = jnp.where(smooth.mask, exact.levels.values, jnp.nan)
    np.testing.assert_allclose(smooth.values, expected, atol=off + 40 * 6 * 0.02**2 / 2)


def test_a_pool_of_equal_sizes_is_the_mean_staircase(getkey):
    levels = jnp.sort(jax.random.normal(getkey(), (3, 40)), axis=-1)
    padded = jnp.concatenate([levels, jnp.full((3, 5), jnp.nan)], axis=-1)
    found = unfold_polynomial(padded, 5, where=jnp.isfinite(padded)).levels.values[:, :40]
    np.testing.assert_allclose(found, unfold_polynomial(levels, 5).levels.values, rtol=1e-5, atol=1e-5)
    with_none = jnp.concatenate([padded, jnp.full((1, 45), jnp.nan)])
    found = unfold_polynomial(with_none, 5, where=jnp.isfinite(with_none))
    np.testing.assert_allclose(found.levels.values[:3, :40], unfold_polynomial(levels, 5).levels.values, atol=1e-5)
    assert jnp.isnan(found.residual[3])


def test_too_few_distinct_levels():
    tied = jnp.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])
    found = unfold_polynomial(tied, 3, pooled=False)
    assert jnp.isnan(found.levels.values[0]).all()
    np.testing.assert_allclose(found.levels.values[1], np.arange(6) + 0.5, atol=1e-5)
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 2, got 3"):
        unfold_polynomial(tied[0], 3)
    assert jnp.isnan(jax.jit(lambda x: unfold_polynomial(x, 3).levels.values)(tied[0])).all()
    # Equal levels get one value, halfway up their steps.
    np.testing.assert_allclose(unfold_polynomial(tied[0], 1).levels.values, [1.5] * 3 + [4.5] * 3, atol=1e-5)
    mask = jnp.arange(6) < 3
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 3, got 3"):
        unfold_polynomial(tied[1], 3, where=mask)
    with pytest.raises(ValueError, match="`degree` must be below the number of distinct levels, 1, got 1"):
        unfold_polynomial(jnp.zeros((2, 3)), 1)


def test_derivative(getkey):
    total = lambda x: jnp.sum(unfold_polynomial(x, 3).levels.values ** 3)
    x = jnp.cumsum(jax.random.exponential(getkey(), (8,)).astype(float))
    slope = [(total(x + e) - total(x - e)) / 2e-5 for e in 1e-5 * jnp.eye(8)]
    np.testing.assert_allclose(jax.grad(total)(x), slope, rtol=1e-6, atol=1e-6)


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


# What the manual shows: single fits of each degree take so much of the exact 1.049 away.
TAKEN = {3: 0.04, 5: 0.07, 9: 0.17, 15: 0.31}


@pytest.mark.parametrize("degree", [1, *further(2, 3, 4, 5, 6, 7, 8), 9, *further(10, 11, 12, 13, 14), 15])
def test_bias_of_the_degree(matrices, degree):
    found = {
        pooled: over_samples(
            lambda x: number_variance(x, LENGTH), unfold_polynomial(matrices, degree, pooled=pooled, drop=0.2).levels
        )
        for pooled in (True, False)
    }
    # The pool has the bias of the density that a polynomial of this degree misses, and no other.
    assert found[True].standard_error < 0.05
    assert abs(found[True].value - expected_variance(degree)) < 5 * found[True].standard_error
    exact = rmt.laws.number_variance(LENGTH, 1)
    if degree in TAKEN:
        assert abs(exact - found[False].value - TAKEN[degree]) < 5 * found[False].standard_error
    if degree >= 9:
        assert exact - found[False].value > 5 * found[False].standard_error


def test_a_known_density_has_no_bias(matrices):
    levels = unfold(matrices, rmt.GOE(200).law()).levels
    found = over_samples(lambda x: number_variance(x, LENGTH, interval=(40, 160)), levels)
    assert found.standard_error < 0.03
    assert abs(found.value - rmt.laws.number_variance(LENGTH, 1)) < 5 * found.standard_error


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
