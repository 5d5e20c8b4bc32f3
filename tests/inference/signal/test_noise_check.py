"""What a record says of the noise, against the definitions in NumPy and the laws of normal noise."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from rmtjax.inference import signal_rank, signal_rank_of_levels
from rmtjax.inference._signal.methods import METHODS
from rmtjax.inference._signal.noise_check import checked_noise, warnings


def factors(rng, n, p, sizes, noise):
    """Noise and as many factors, spread over all columns."""
    directions = np.linalg.qr(rng.normal(size=(p, len(sizes))))[0]
    return noise + rng.normal(size=(n, len(sizes))) * np.asarray(sizes) @ directions.T


def by_definition(data: np.ndarray, rank: int) -> tuple[float, float]:
    """Kurtosis and squared spread from the residual of a singular value decomposition and the projections."""
    beta = 2 if np.iscomplexobj(data) else 1
    data = data - data.mean(0)
    n, p = data.shape
    u, s, v = np.linalg.svd(data, full_matrices=False)
    left = data - (u[:, :rank] * s[:rank]) @ v[:rank]
    rows = np.eye(n) - 1 / n - u[:, :rank] @ u[:, :rank].conj().T
    columns = np.eye(p) - v[:rank].conj().T @ v[:rank]
    a, b, nu, q = np.diag(rows).real, np.diag(columns).real, n - 1 - rank, p - rank
    squares = abs(left) ** 2
    each = (squares**2).sum(0) / squares.sum(0) ** 2 * nu * (nu + 2 / beta) / (a**2).sum() - 1 - 2 / beta
    kurtosis = (b * each).sum() / b.sum()
    m = squares.sum() / nu / q
    found = ((squares.sum(0) / nu - b * m) ** 2).sum() / (m**2 * (b**2).sum())
    c = 2 / beta + kurtosis
    expected = c * (q - 1) / (nu * q + c)
    return kurtosis, (found - expected) / (1 + expected)


@pytest.mark.parametrize(("n", "p", "cplx"), [(41, 12, False), (41, 12, True), (21, 30, False)])
def test_measures_are_those_of_the_definition(n, p, cplx):
    rng = np.random.default_rng(3)
    noise = rng.laplace(size=(n, p)) + (1j * rng.laplace(size=(n, p)) if cplx else 0)
    data = factors(rng, n, p, [9.0, 6.0], noise * np.linspace(0.5, 2, p)) + 5
    for rank in (0, 2):
        found = checked_noise(jnp.asarray(data), jnp.int32(rank), True)
        kurtosis, squared = by_definition(data, rank)
        np.testing.assert_allclose(found.kurtosis, kurtosis, rtol=1e-9)
        np.testing.assert_allclose(found.spread, max(squared, 0) ** 0.5, rtol=1e-9)
    if not cplx:  # one column at a time it is Fisher's statistic
        each = scipy.stats.kurtosis(data) + 3
        whole = checked_noise(jnp.asarray(data), jnp.int32(0), True).kurtosis
        np.testing.assert_allclose(whole, np.mean(each * (n + 1) / (n - 1) - 3), rtol=1e-10)


@pytest.mark.parametrize("cplx", [False, True])
def test_scores_of_white_normal_noise_are_standard(cplx):
    rng = np.random.default_rng(5)
    draw = lambda: rng.normal(size=(1500, 20, 8))
    data = draw() + (1j * draw() if cplx else 0)
    data[:, :, 0] *= 6  # a signal, whose removal may not count
    found = checked_noise(jnp.asarray(data), jnp.ones(1500, jnp.int32), True)
    # The mean is exactly 0, up to the tilt of the vectors of the signal.
    assert abs(np.mean(found.kurtosis)) < 6 * np.std(found.kurtosis) / 1500**0.5
    for score, limit in ((np.asarray(found.kurtosis_score), 2.576), (np.asarray(found.spread_score), 2.326)):
        assert abs(score.mean()) < 0.15
        assert abs(score.std() - 1) < 0.15
        assert (abs(score) > limit).mean() < 0.04


def test_the_spread_is_that_of_the_columns():
    rng = np.random.default_rng(6)
    variances = np.linspace(0.5, 1.5, 30)
    noise = rng.normal(size=(400, 30)) * variances**0.5
    expected = variances.std() / variances.mean()
    found = checked_noise(jnp.asarray(factors(rng, 400, 30, [6.0, 5.0], noise)), jnp.int32(2), True)
    assert abs(found.spread - expected) < 0.1
    assert found.spread_score > 5
    assert abs(found.kurtosis_score) < 4.5


def test_warnings_name_what_is_wrong_and_what_holds():
    rng = np.random.default_rng(7)
    white = factors(rng, 100, 40, [5.0], rng.normal(size=(100, 40)))
    assert signal_rank(white).warnings == ()
    heavy = factors(rng, 100, 40, [9.0], rng.standard_t(5, size=(100, 40)))
    (warning,) = signal_rank(heavy).warnings
    assert "heavy tails (excess kurtosis" in warning
    assert 'method="permutation"' in warning
    assert str(signal_rank(heavy)).splitlines()[1] == f"warning: {warning}"
    assert "heavy tails" in repr(signal_rank(heavy))
    (warning,) = signal_rank(rng.uniform(size=(100, 40))).warnings
    assert "light tails" in warning
    unequal = rng.normal(size=(100, 40)) * np.linspace(0.5, 1.5, 40)
    (warning,) = signal_rank(unequal).warnings
    assert "unequal noise" in warning
    assert 'method="deflated-parallel-analysis"' in warning
    for method in ("deflated-parallel-analysis", "permutation", "random-signs"):
        assert not METHODS[method].assumes_equal_columns
        assert METHODS[method].assumes_normal == (method == "deflated-parallel-analysis")
    check = checked_noise(jnp.asarray(unequal), jnp.int32(0), True)
    assert warnings(check, assumes_normal=True, assumes_equal_columns=False) == ()
    found = signal_rank(white)
    assert str(found) == f"1 of 40 levels are signal (tracy-widom); n = 99, p = 40, noise {found.noise:.4g}"
    batch = signal_rank(np.stack([white, unequal, white]))
    (warning,) = batch.warnings
    assert warning.startswith("in 1 of 3 matrices the columns have unequal noise (the coefficient of variation")
    first, second = str(batch).splitlines()
    assert second == f"warning: {warning}"
    assert first.startswith(
        f"{min(batch.rank)} to {max(batch.rank)} of 40 levels are signal (tracy-widom) in each of 3"
    )


def test_too_little_noise_to_look_at():
    """Levels of very unequal columns pass to the last but one; a decision from which nothing is left says so."""
    rng = np.random.default_rng(8)
    decades = rng.normal(size=(200, 12)) * 10.0 ** (-np.arange(12) / 6)
    found = signal_rank(decades)
    assert found.rank == 11
    (warning,) = found.warnings
    assert warning.startswith("nearly all levels passed, so that too little noise is left to look at")
    assert signal_rank(decades, method="deflated-parallel-analysis").rank == 0
    assert signal_rank(decades, method="deflated-parallel-analysis").warnings == ()
    further = rng.normal(size=(200, 12)) * 10.0 ** (-np.arange(12) / 2)
    assert signal_rank(further).rank == 11
    assert signal_rank(further, method="deflated-parallel-analysis").rank == 0
    for method in ("tracy-widom", "deflated-parallel-analysis"):
        (units,) = signal_rank(further, method=method).warnings
        assert "as if it had another unit" in units
    plain = rng.normal(size=(200, 2)) + 3 * rng.normal(size=(200, 1))
    assert signal_rank(plain).rank == 1
    assert signal_rank(plain).warnings == ()
    few = signal_rank(np.stack([decades, rng.normal(size=(200, 12))]))
    assert few.warnings == (f"in 1 of 2 matrices {warning}",)


def test_standardised_columns_of_strong_factors():
    """Raw data have 3 components; divided by their standard deviations they have noise of unequal columns."""
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(500, 100)) + rng.normal(size=(500, 3)) @ rng.normal(size=(3, 100))
    data = raw / raw.std(0)
    found = signal_rank(data)
    assert signal_rank(raw).rank == 3
    assert signal_rank(raw).warnings == ()
    assert found.rank > 5
    assert found.noise_spread > 0.2
    assert [each[:30] for each in found.warnings] == [
        "the columns have unequal noise",
        "the columns were divided by th",
    ]
    assert signal_rank(data, method="deflated-parallel-analysis").rank == 3


def test_a_record_without_data_has_no_measures():
    data = np.random.default_rng(8).normal(size=(30, 6))
    found = signal_rank(data)
    of_levels = signal_rank_of_levels(np.asarray(found.levels)[::-1], 29, 6)
    for record in (of_levels, jax.jit(signal_rank)(data), jax.tree.map(jnp.asarray, found)):
        assert record.kurtosis is record.noise_spread is record.warnings is None
        assert str(record).endswith(", noise not looked at")
        assert record.method == found.method == "tracy-widom"
    mapped = jax.vmap(lambda data: signal_rank(data, method="hard-threshold"))(np.stack([data, data]))
    assert " (hard-threshold) in each of 2 matrices; n = 29, p = 6, noise " in str(mapped)
    # They can be asked for inside of the transformation.
    inside = jax.jit(lambda data: (signal_rank(data).kurtosis, signal_rank(data).noise_spread))(data)
    np.testing.assert_allclose(inside, (found.kurtosis, found.noise_spread), rtol=1e-9, atol=1e-12)
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(lambda data: len(signal_rank(data).warnings))(data)
    # Too few dimensions are left for the noise.
    assert np.isnan(checked_noise(jnp.asarray(data), jnp.int32(5), True).spread)


def test_copies_and_files_leave_the_data_out():
    found = signal_rank(np.random.default_rng(8).normal(size=(300, 20)))
    written = pickle.dumps(found)
    assert len(written) < 8 * 300 * 20 / 4
    for other in (pickle.loads(written), copy.deepcopy(found)):
        assert other.warnings is None
        np.testing.assert_array_equal(other.p_values, found.p_values)
        assert (other.rank, other.n, other.p, other.method) == (found.rank, found.n, found.p, found.method)
    assert found.warnings == ()


@pytest.mark.float32
def test_measures_do_not_depend_on_the_unit():
    data = np.random.default_rng(9).standard_t(5, size=(60, 20))
    for unit in (2.0**-30, 2.0**30):
        small, plain = (signal_rank(jnp.asarray(data * scale, jnp.float32)) for scale in (unit, 1.0))
        np.testing.assert_allclose(small.kurtosis, plain.kurtosis, rtol=1e-5)
        assert small.kurtosis.dtype == small.noise_spread.dtype == jnp.float32


# Measured at 1000 matrices each: 1.0 and 0.8 % for 100 × 50, 1.1 and 0.8 % for 60 × 20 complex.
@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "cplx", "rank"), [(100, 50, False, 0), (100, 50, False, 3), (60, 20, True, 0)])
def test_warnings_of_white_normal_noise_are_rare(n, p, cplx, rank):
    rng = np.random.default_rng(10)
    draw = lambda: rng.normal(size=(2000, n, p))
    data = draw() + (1j * draw() if cplx else 0)
    if rank:
        data += 4 * rng.normal(size=(2000, n, rank)) @ np.linalg.qr(rng.normal(size=(p, rank)))[0].T
    found = checked_noise(jnp.asarray(data), jnp.full(2000, rank), True)
    for alarms in (abs(np.asarray(found.kurtosis_score)) > 2.576, np.asarray(found.spread_score) > 2.326):
        assert 0.002 < alarms.mean() < 0.022


def _three_factors(rng):
    return 1.5 * rng.normal(size=(250, 3)) @ rng.normal(size=(3, 40)) + rng.normal(size=(250, 40))


@pytest.mark.parametrize("method", ["tracy-widom", "deflated-parallel-analysis", "permutation"])
def test_columns_of_other_units_are_named(method):
    """Row numbers beside factors make a method for unequal noise find nothing, and units hide all but one."""
    data = _three_factors(np.random.default_rng(0))
    units = np.logspace(-3, 3, 40)
    numbered = np.column_stack([np.arange(250.0), data])
    key = {"key": jax.random.key(0)} if method == "permutation" else {}
    for given in (numbered, data * units):
        said = signal_rank(given, method=method, **key).warnings
        assert sum("as if it had another unit" in each for each in said) == 1
        assert not any("unequal noise" in each for each in said)
    standardised = (data * units) / (data * units).std(axis=0)
    found = signal_rank(standardised, method="deflated-parallel-analysis")
    assert found.rank == 3
    assert found.warnings == ()
    assert not any("another unit" in each for each in signal_rank(data, method=method, **key).warnings)
