"""Covariance matrices from data with missing entries: moments of pairs, their noise, and the repair of levels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference._core.missing import pairwise_moments
from rmtjax.inference._covariance.pairwise import PAIRWISE, _repaired

shrink = rmt.inference.shrink_covariance
RNG = np.random.default_rng(0)
COMPLETE = RNG.normal(size=(24, 7)) * np.linspace(1, 3, 7) + 5
GAPS = np.where(RNG.random(COMPLETE.shape) < 0.08, np.nan, COMPLETE)
LATE = COMPLETE.copy()
LATE[:12, 4:] = np.nan
WEIGHTS = np.linspace(0.5, 2, 24)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_divisors_leave_no_bias(center, weights):
    """E S_jk = Σ_jk tr(A_j' D A_k) / a_jk, where A_j takes the weighted mean of what is there from a column."""
    present = ~np.isnan(GAPS)
    w = np.ones(24) if weights is None else weights
    found = pairwise_moments(jnp.where(present, GAPS, 0), present, None if weights is None else w, center=center)
    means = [np.outer(np.ones(24), w * m) / (w @ m) if center else np.zeros((24, 24)) for m in present.T]
    maps = [
        np.diag(m) @ (np.eye(24) - mean) @ np.diag(m) for m, mean in zip(present.T.astype(float), means, strict=True)
    ]
    expected = [[np.trace(one.T @ np.diag(w) @ other) for other in maps] for one in maps]
    np.testing.assert_allclose(found.divisors, expected, rtol=1e-12)
    filled = np.where(present, GAPS, 0)
    columns = [a @ filled[:, j] for j, a in enumerate(maps)]
    products = np.array([[(one * w) @ other for other in columns] for one in columns])
    np.testing.assert_allclose(found.matrix, products / np.array(expected), rtol=1e-10)
    # The variance of a mean of products, in units of the variance with nothing missing.
    shares = [[w[m & k] / w[m & k].sum() for k in present.T] for m in present.T]
    noise = [[(s**2).sum() / ((w / w.sum()) ** 2).sum() for s in row] for row in shares]
    np.testing.assert_allclose(found.noise, noise, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "ledoit-wolf"},
        {"method": "qis", "half_life": 9.0},
        *(
            pytest.param({"method": method, **further}, marks=pytest.mark.slow)
            for method in PAIRWISE
            for further in ({}, {"center": False}, {"standardize": True}, {"unit_diagonal": True})
        ),
    ],
)
def test_complete_data_have_the_same_estimate(options):
    data = COMPLETE + (1j * COMPLETE[::-1] if options["method"] == "oas" else 0)
    for each in (data, data.T):
        if options["method"] == "analytical" and each is not data:
            continue
        options = options if each is data else {**options, "half_life": 2.0} if "half_life" in options else options
        expected = shrink(each, **options)
        found = shrink(each, missing="pairwise", **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * abs(expected).max())


def test_sample_is_the_nearest_positive_matrix():
    """Columns in pairs that disagree: without the repair one level is negative."""
    data = np.full((9, 3), np.nan)
    data[:3, [0, 1]] = [[1, 1], [-1, -1], [2, 2]]
    data[3:6, [1, 2]] = [[1, 1], [-1, -1], [2, 2]]
    data[6:, [0, 2]] = [[1, -1], [-1, 1], [2, -2]]
    plain = np.array([[2.0, 2, -2], [2, 2, 2], [-2, 2, 2]])
    levels, vectors = np.linalg.eigh(plain)
    assert levels[0] < 0
    found = shrink(data, method="sample", center=False, missing="pairwise")
    np.testing.assert_allclose(found, vectors * np.maximum(levels, 0) @ vectors.T, rtol=0, atol=1e-12)


def test_rows_without_gaps():
    kept = ~np.isnan(GAPS).any(1)
    assert 2 < kept.sum() < 24
    np.testing.assert_allclose(shrink(GAPS, missing="drop"), shrink(GAPS[kept]), rtol=1e-12)
    # The age of a row is its place before others were left out.
    old = 0.5 ** (np.arange(24)[::-1] / 5)
    expected = shrink(GAPS[kept], weights=old[kept])
    np.testing.assert_allclose(shrink(GAPS, half_life=5.0, missing="drop"), expected, rtol=1e-10)
    np.testing.assert_allclose(shrink(GAPS, weights=old, missing="drop"), expected, rtol=1e-10)
    slope = jax.grad(lambda data: shrink(data, missing="drop")[0, 1])(jnp.asarray(GAPS))
    assert np.isfinite(slope).all()
    assert (slope[kept] != 0).any()
    assert (slope[~kept] == 0).all()


def test_masked_entries_and_empty_rows_are_missing():
    expected = shrink(GAPS, missing="pairwise")
    masked = np.ma.MaskedArray(np.nan_to_num(GAPS, nan=1e9), np.isnan(GAPS))
    np.testing.assert_array_equal(shrink(masked, missing="pairwise"), expected)
    longer = np.concatenate([GAPS, np.full((3, 7), np.nan)])
    np.testing.assert_array_equal(shrink(longer, missing="pairwise"), expected)
    np.testing.assert_array_equal(shrink(longer, half_life=2.0, missing="pairwise")[0, 0] > 0, True)


@pytest.mark.parametrize("method", ["qis", "ledoit-wolf"])
@pytest.mark.parametrize("shape", [(24, 7), (5, 7)])
def test_derivatives_with_gaps(method, shape):
    data = jnp.asarray(GAPS if shape[0] == 24 else np.where(np.eye(5, 7), np.nan, COMPLETE[:5]))
    along = jnp.asarray(np.random.default_rng(1).normal(size=data.shape))
    weights = np.random.default_rng(2).normal(size=(7, 7))
    value = jax.jit(lambda data: jnp.sum(weights * shrink(data, method=method, missing="pairwise")))
    slope = jax.grad(value)(data)
    assert np.isfinite(slope).all()
    assert (slope[jnp.isnan(data)] == 0).all()
    step = 1e-5
    expected = (value(data + step * along) - value(data - step * along)) / (2 * step)
    np.testing.assert_allclose(jnp.sum(slope * along), expected, rtol=1e-5)


def test_batches_and_programs_give_the_same():
    batch = jnp.stack([jnp.asarray(GAPS), jnp.asarray(LATE)])
    found = shrink(batch, missing="pairwise")
    np.testing.assert_allclose(found[1], shrink(LATE, missing="pairwise"), rtol=1e-10, atol=1e-12)
    mapped = jax.jit(jax.vmap(lambda data: shrink(data, missing="pairwise")))(batch)
    np.testing.assert_allclose(mapped, found, rtol=1e-10, atol=1e-12)
    assert (np.linalg.eigvalsh(found) > 0).all()
    assert jnp.isnan(jax.jit(lambda data: shrink(data, missing="pairwise"))(batch.at[0, :, 0].set(jnp.nan))[0]).all()


def test_the_lowest_levels_are_pooled():
    noise = jnp.array([1.0, 1, 1, 1, 0])
    np.testing.assert_allclose(_repaired(jnp.array([2.0, 1.5, 3, 1, 0]), noise), [2, 1.5, 3, 1, 0])
    # -1 + 0.5 is too little for 2, and -1 + 0.5 + 4 is enough for 3; the level without noise stays.
    np.testing.assert_allclose(_repaired(jnp.array([4.0, -1, 9, 0.5, 0]), noise), [3.5 / 3, 3.5 / 3, 9, 3.5 / 3, 0])
    np.testing.assert_allclose(_repaired(jnp.array([0.5, 0.1, 0.2, 0.4, 0.0]), noise), [0.3, 0.3, 0.3, 0.3, 0])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (
            GAPS,
            {},
            r'`data` must be finite, got \d+ NaN, first nan.*`missing="pairwise"` takes.*`missing="drop"` leaves',
        ),
        (GAPS, {"missing": "impute"}, "`missing` must be one of 'pairwise', 'drop'"),
        (np.full((4, 2), np.nan), {"missing": "drop"}, "at least 2 rows without NaN, got 0 such rows"),
        (np.stack([GAPS, GAPS]), {"missing": "drop"}, '`missing` must not be "drop" for a batch'),
        (np.where(np.arange(7) == 3, np.nan, COMPLETE), {"missing": "pairwise"}, "got column 3; leave it out"),
        (
            np.concatenate([LATE[:12], np.where(np.arange(7) < 1, np.nan, COMPLETE)]),
            {"missing": "pairwise"},
            "columns 0 and 4, which have 0 in common; leave one of them out",
        ),
        (np.where(GAPS > 10, np.inf, GAPS), {"missing": "pairwise"}, "`data` must not be infinite"),
        (GAPS, {"missing": "pairwise", "method": "spiked", "loss": "stein"}, '`loss` must be "frobenius" for pairwise'),
    ],
)
def test_what_cannot_be_taken_is_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        shrink(data, **options)


@pytest.mark.parametrize(
    ("gaps", "weights", "message"),
    [
        # Columns 0 and 1 share the rows 14 to 16 alone, and column 0 has two rows.
        ((slice(14), slice(17, 20)), np.r_[np.ones(14), np.zeros(3), np.ones(3)], "columns 0 and 1, which have 0 in"),
        ((slice(2, 20), slice(0)), np.r_[0, np.ones(19)], "got column 0; leave it out"),
    ],
)
def test_rows_without_a_weight_are_not_in_common(gaps, weights, message):
    data = np.random.default_rng(1).normal(size=(20, 4))
    for column, rows in enumerate(gaps):
        data[rows, column] = np.nan
    found = lambda data, weights: shrink(data, method="sample", missing="pairwise", weights=weights)
    with pytest.raises(ValueError, match=message):
        found(data, weights)
    assert np.isnan(jax.jit(found)(data, weights)).all()
    assert np.isnan(jax.jit(lambda weights: found(np.stack([data, data]), weights))(weights)).all()
    if gaps[1] != slice(0):
        assert np.isfinite(found(data, np.ones(20))).all()


def test_rows_that_are_not_known_are_not_dropped():
    with pytest.raises(ValueError, match='`missing` must not be "drop" under a transformation'):
        jax.jit(lambda data: shrink(data, missing="drop"))(GAPS)


def _errors(pattern, population, draws, n=200, **options):
    """Mean squared error of each estimate over that of the best levels for complete data."""
    rng, root = np.random.default_rng(3), np.linalg.cholesky(population)
    error = lambda matrix: float(np.linalg.norm(matrix - population) ** 2)
    sums = np.zeros(4)
    for _ in range(draws):
        data = rng.normal(size=(n, len(population))) @ root.T
        gaps = np.where(pattern(rng, data.shape), np.nan, data)
        kept = ~np.isnan(gaps).any(1)
        sums += [
            error(rmt.inference.oracle_covariance(data, population)),
            error(shrink(gaps, missing="pairwise", **options)),
            error(shrink(gaps, missing="pairwise", method="sample")),
            error(shrink(gaps, missing="drop", **options)) if kept.sum() > 20 else np.nan,
        ]
    return sums[1:] / sums[0]


def _late(rng, shape):
    return (np.arange(shape[0])[:, None] < shape[0] // 2) & (np.arange(shape[1]) % 3 == 0)


def _random(rng, shape):
    return rng.random(shape) < 0.3


def test_estimates_of_late_columns_are_nearer_than_without_early_rows():
    population = np.diag(np.repeat([1.0, 3, 10], [4, 8, 8]))
    pairwise, sample, dropped = _errors(_late, population, 5, n=60)
    assert 1 < pairwise < 2.2
    assert pairwise < 0.8 * dropped
    assert pairwise < 0.6 * sample


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "population", "most", "of_dropped"),
    [
        (_random, np.diag(np.repeat([1.0, 3, 10], [20, 40, 40])), 1.2, None),
        (_late, np.diag(np.repeat([1.0, 3, 10], [20, 40, 40])), 1.2, 0.75),
        (_random, 0.5 ** abs(np.subtract.outer(np.arange(100), np.arange(100))), 1.6, None),
        (_late, 0.5 ** abs(np.subtract.outer(np.arange(100), np.arange(100))), 1.55, 0.97),
    ],
)
def test_errors_at_200_by_100(pattern, population, most, of_dropped):
    pairwise, sample, dropped = _errors(pattern, population, 20)
    assert 1 < pairwise < most
    assert pairwise < 0.6 * sample
    assert of_dropped is None or pairwise < of_dropped * dropped
