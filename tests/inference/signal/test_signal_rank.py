"""Ranks against the formulas in NumPy, false alarms of noise, planted spikes, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference import signal_rank, signal_rank_of_levels
from tests.test_compile_once import no_compilation


def planted(n: int, p: int, *, cplx: bool = False) -> np.ndarray:
    """Two spikes, 16 and 9 times the level of the noise, which is 2."""
    rng = np.random.default_rng(3)
    draw = lambda *shape: rng.normal(size=shape) + (1j * rng.normal(size=shape) if cplx else 0)
    data = 2.0 / (2**0.5 if cplx else 1) * draw(n, p)
    data[:, 0] *= 4.0
    data[:, 1] *= 3.0
    return data + 5.0


def constants(n, p, beta):
    n, p = n + 0.5 - 1 / beta, p + 0.5 - 1 / beta
    root = np.sqrt(n) + np.sqrt(p)
    return root**2, root * (n**-0.5 + p**-0.5) ** (1 / 3)


def p_values_in_numpy(data: np.ndarray, noise: float | None) -> np.ndarray:
    """The tests one after the other, from the papers; the second derivative by differences of the density."""
    beta = 2 if np.iscomplexobj(data) else 1
    law = rmt.laws.TracyWidom(beta)
    n, p = data.shape[0] - 1, data.shape[1]
    levels = np.linalg.svd(data - data.mean(0), compute_uv=False)[: min(n, p)] ** 2
    values = []
    for k, level in enumerate(levels):
        if noise is not None:
            centre, scale = constants(n, p - k, beta)
            values.append(float(law.sf((level / noise**2 - centre) / scale)))
        elif k == min(n, p) - 1:
            values.append(1.0)
        else:
            rows, columns = n - k, p - k
            centre, scale = constants(rows, columns, beta)
            x = (rows * columns * level / levels[k:].sum() - centre) / scale
            bend = float(law.pdf(x + 1e-4) - law.pdf(x - 1e-4)) / 2e-4
            values.append(float(law.sf(x)) + (centre / scale) ** 2 / (beta * rows * columns) * bend)
    return np.array(values)


@pytest.mark.parametrize(("n", "p", "cplx"), [(41, 12, False), (21, 30, True)])
def test_p_values_are_those_of_the_papers(n, p, cplx):
    data = planted(n, p, cplx=cplx)
    known, unknown = signal_rank(data, noise=2.0), signal_rank(data)
    expected = p_values_in_numpy(data, 2.0)
    np.testing.assert_allclose(known.p_values, expected, rtol=1e-7, atol=1e-12)
    # Nadler's tail leaves [0, 1] far out, or nearly; ours does not.
    expected = p_values_in_numpy(data, None)
    clear = (expected > 0.02) & (expected < 0.9)
    assert clear.sum() > 4
    assert ((unknown.p_values > 0) & (unknown.p_values <= 1)).all()
    np.testing.assert_allclose(np.asarray(unknown.p_values)[clear], expected[clear], rtol=1e-5)
    assert (np.asarray(unknown.p_values)[:2] < 1e-4).all()
    for found in (known, unknown):
        assert (found.rank, found.n, found.p) == (2, n - 1, p)
        np.testing.assert_allclose(found.noise, 2.0, rtol=0.15)
        assert found.levels[3] < found.edge < found.levels[1]
        assert np.isnan(found.spikes.population.value).tolist() == [False, False, *[True] * (min(n - 1, p) - 2)]
    levels = np.asarray(known.levels)[::-1]
    again = signal_rank_of_levels(levels, n - 1, p, beta=2 if cplx else 1)
    np.testing.assert_allclose(again.p_values, unknown.p_values, rtol=1e-9)


def test_few_tests_know_the_noise_of_all_levels():
    data = planted(41, 12)
    few, whole = signal_rank(data, max_rank=3), signal_rank(data)
    assert few.p_values.shape == few.levels.shape == (3,)
    np.testing.assert_allclose(few.p_values, whole.p_values[:3], rtol=1e-9)
    np.testing.assert_allclose([few.noise, few.edge], [whole.noise, whole.edge], rtol=1e-12)


def test_ranks_of_a_batch_map_and_differentiate():
    data = jnp.asarray(np.stack([planted(41, 12), np.random.default_rng(0).normal(size=(41, 12))]))
    found = signal_rank(data)
    assert found.rank.tolist() == [2, 0]
    np.testing.assert_allclose(jax.vmap(signal_rank)(data).p_values, found.p_values, rtol=1e-10)
    total = lambda data, noise: jnp.sum(jnp.log(signal_rank(data, noise=noise, max_rank=4).p_values[2:]))
    gradient, slope = jax.grad(total, (0, 1))(data[0], jnp.asarray(2.0))
    step = 1e-6 * jnp.asarray(np.random.default_rng(1).normal(size=(41, 12)))
    change = total(data[0] + step, 2.0) - total(data[0] - step, 2.0)
    np.testing.assert_allclose(2 * jnp.sum(gradient * step), change, rtol=1e-5)
    np.testing.assert_allclose(slope, (total(data[0], 2 + 1e-6) - total(data[0], 2 - 1e-6)) / 2e-6, rtol=1e-5)


@pytest.mark.float32
def test_single_precision_keeps_the_rank():
    data = jnp.asarray(planted(41, 12), jnp.float32)
    found = signal_rank(data)
    assert found.p_values.dtype == found.noise.dtype == jnp.float32
    expected = p_values_in_numpy(planted(41, 12), None)
    np.testing.assert_allclose(found.p_values[2:6], expected[2:6], rtol=0, atol=1e-4)
    assert found.rank == 2


def planted_column(size: float) -> np.ndarray:
    data = np.random.default_rng(4).normal(size=(41, 12))
    data[:, 3] *= size
    return data


@pytest.mark.float32
def test_single_precision_finds_the_noise_behind_a_dominating_component():
    data = planted_column(1e5)
    with jax.enable_x64(False):
        found = signal_rank(data)
        # Data under a transformation, and levels, are judged in their own precision.
        traced = jax.jit(signal_rank)(data)
    with jax.enable_x64(True):
        double = signal_rank(data)
    assert int(found.rank) == int(double.rank) == 1
    assert found.levels.dtype == found.noise.dtype == found.p_values.dtype == jnp.float32
    for single, wide in zip(jax.tree.leaves(found), jax.tree.leaves(double), strict=True):
        np.testing.assert_allclose(single, wide, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(found.noise, 1.0, rtol=0.1)
    assert traced.rank == -1
    assert np.isnan(traced.noise)
    lost = np.r_[np.zeros(9), 1.0, 2.0, 3e8]
    with pytest.raises(ValueError, match=r"full rank, got 11 of 12 levels that are 0 to the rounding .* in float32"):
        signal_rank_of_levels(jnp.asarray(lost, jnp.float32), 40, 12)


def test_data_of_lower_rank_are_refused():
    rng = np.random.default_rng(6)
    low = rng.normal(size=(41, 5)) @ rng.normal(size=(5, 12))
    for method in ("tracy-widom", "parallel-analysis"):
        with pytest.raises(ValueError, match=r"full rank, got 7 of 12 levels .* dependent columns"):
            signal_rank(low, method=method)
    found = jax.jit(signal_rank)(np.stack([low, planted(41, 12)]))
    assert found.rank.tolist() == [-1, 2]
    assert np.isnan(found.noise).tolist() == [True, False]
    assert (found.n, found.p) == (40, 12)
    # One such level can be rounding alone, or a sum over the columns that is known.
    parts = planted(41, 12)
    parts[:, -1] = 100 - parts[:, :-1].sum(-1)
    assert signal_rank(parts).rank >= 2
    # Any number of levels may be 0 because there are fewer observations than variables.
    levels = np.r_[np.zeros(8), 0.5, 0.7, 1.0, 1.4]
    assert [signal_rank_of_levels(levels, n, 12).rank for n in (4, 4.0)] == [0, 0]
    with pytest.raises(ValueError, match="got 8 of 12 levels"):
        signal_rank_of_levels(levels, 40, 12)


def test_repeated_columns_and_rows_are_refused():
    tall, wide = planted(41, 12), planted(21, 30)
    negative = np.where(np.arange(12) == 11, -tall[:, [2]], tall)
    for data, which in (
        (tall[:, [*range(11), 10]], "column that repeats another one .*, got column 11; leave it out"),
        (tall[:, [*range(8), 0, 1, 7, 7]], "got columns 8, 9, 10, 11; leave them out"),
        (negative, "got column 11"),
        (negative + 273.15 * (np.arange(12) == 11), "got column 11"),
        (
            np.where(np.arange(12) == 11, 1 - (tall[:, [2]] > 0), np.where(np.arange(12) == 2, tall > 0, tall)),
            "got column",
        ),
        (wide[:, [*range(29), 4]], "got column 29"),
        (wide[[*range(20), 3]], "row that repeats another one, got row 20; leave it out"),
        (np.float32(tall)[:, [*range(11), 10]], "got column 11"),
    ):
        with pytest.raises(ValueError, match=which):
            signal_rank(data)
    found = jax.jit(signal_rank)(np.stack([tall, negative]))
    assert found.rank.tolist() == [2, -1]
    # Many rows of whole numbers may coincide, and columns that are nearly equal are no mistake.
    assert signal_rank(np.round(tall[[*range(40), 3]])).rank == 2
    # Noise beside a large mean, of which single precision keeps three digits, is no mistake either.
    for data in (np.float32(1e5 + planted(101, 50)), np.float32(1e5 + planted(51, 100))):
        assert signal_rank(data).rank == 2
    # Parallel analysis takes columns as they are.
    assert signal_rank(tall[:, [*range(11), 10]], method="parallel-analysis").rank >= 0
    close = tall.copy()
    close[:, 11] = close[:, 10] + 1e-6 * tall[:, 3]
    assert signal_rank(close).rank >= 2


@pytest.mark.float32
def test_units_beyond_the_range_of_the_precision_are_refused():
    traced = jax.jit(lambda data: signal_rank(data).rank)
    for unit in (1e-20, 1e18):
        data = jnp.asarray(planted(41, 12) * unit, jnp.float32)
        with pytest.raises(ValueError, match=r"`data` must be in units .* got float32 with a largest level of"):
            signal_rank(data)
        assert traced(data) == -1


def test_the_number_of_observations_can_be_handed_on():
    data = planted(41, 12)
    found = signal_rank(data)
    assert isinstance(found.n, int)
    again = jax.jit(lambda data: rmt.inference.signal_rank_of_levels(found.levels[::-1], signal_rank(data).n, 12).rank)
    assert again(data) == found.rank
    assert signal_rank(data, n=30.5).n == 30.5
    few = jax.jit(lambda n: signal_rank(data, n=n))
    assert few(30.5).rank == 2
    assert few(41).rank == -1
    assert np.isnan(few(41).p_values).all()


def test_one_compilation_serves_all_numbers_of_observations():
    levels = np.linspace(0.3, 2.0, 12)
    for method, noise in (("tracy-widom", None), ("hard-threshold", 1.0)):
        ranks = lambda n, noise=noise, method=method: signal_rank_of_levels(levels, n, 12, method=method, noise=noise)
        ranks(40)
        with no_compilation():
            found = [ranks(n) for n in (41, 300)]
        assert [each.n for each in found] == [41, 300]
        assert found[0].edge > found[1].edge


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "elbow"}, "`method` must be one of 'tracy-widom'"),
        ({"alpha": 0.0}, r"`alpha` must lie in \(0, 1\)"),
        ({"noise": 0.0}, "`noise` must be positive"),
        ({"noise": np.ones(4)}, r"`noise` must be a number, or have the shape \(\) of the batch"),
        ({"max_rank": 5}, r"`max_rank` must be at most min\(n, p\) = 4"),
        ({"n": 100}, "`n` must be at most 8, the number of independent rows"),
        ({"n": 9.5, "center": False}, "`n` must be at most 9"),
        ({"key": jax.random.key(0)}, '`key` must be left out for method="tracy-widom", which makes no draws'),
        ({"resamples": 99, "method": "exact"}, '`resamples` must be left out for method="exact"'),
        ({"method": "exact", "n": 7.5}, '`n` must be an integer for method="exact"'),
        ({"method": "parallel-analysis", "noise": 1.0}, "`noise` must be None for parallel analysis"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        signal_rank(np.random.default_rng(0).normal(size=(9, 4)), **options)


def test_wrong_data_are_refused():
    data = np.random.default_rng(0).normal(size=(9, 4))
    with pytest.raises(ValueError, match="no constant column, got column 2; leave it out"):
        signal_rank(np.where(np.arange(4) == 2, 0.1, data))
    with pytest.raises(ValueError, match="got columns 0, 1, 3; leave them out"):
        signal_rank(np.where(np.arange(4) == 2, data, 0.0), center=False)
    for levels in ([2.0, 1.0], [-1.0, 2.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match="ascending, finite and not negative"):
            signal_rank_of_levels(np.array(levels), 9, 2)
    with pytest.raises(
        ValueError, match=r"'hard-threshold' \(`signal_rank` has methods that need the data\), got 'perm"
    ):
        signal_rank_of_levels(np.ones(4), 9, 4, method="permutation")
    with pytest.raises(ValueError, match=r"all of the min\(n, p\) = 4 levels"):
        signal_rank_of_levels(np.ones(3), 9, 4)
    bad = jax.jit(signal_rank)(np.where(np.arange(36).reshape(9, 4) == 5, np.nan, data))
    assert bad.rank == -1
    assert np.isnan(bad.p_values).all()


# Rates of false alarms at the nominal 5 %. Without the correction for the noise of the trace the rate of 50 × 20
# matrices of unknown noise is 2.8 %.
@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize(("n", "p"), [(50, 20), (500, 200)])
def test_false_alarms_of_noise(n, p, beta, getkey):
    levels = rmt.simulate(rmt.Wishart(p, n, beta).eigenvalues, getkey(), 10_000)
    for noise in (1.0, None):
        # The transposed matrices have the same levels.
        for sample, rows, columns in ((levels, n, p), (levels * n / p, p, n)):
            found = signal_rank_of_levels(sample, rows, columns, beta=beta, noise=noise, max_rank=1)
            assert 0.04 < float((found.rank > 0).mean()) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
def test_false_alarms_of_noise_in_data(dtype, getkey):
    data = jax.random.normal(getkey(), (10_000, 50, 20), dtype) + jnp.arange(20, dtype=dtype)[None, None]
    for noise in (1.0, None):
        assert 0.04 < float((signal_rank(data, noise=noise, max_rank=1).rank > 0).mean()) < 0.06


def test_columns_beside_a_large_mean_are_compared_whole():
    """Near 10⁶ sums over the rows agree by chance in single precision; the closest pair is apart by 2 deviations."""
    data = np.random.default_rng(0).normal(size=(100, 400)) + 1e6
    assert signal_rank(jnp.asarray(data, jnp.float32), max_rank=3).rank == 0
    data[:, 7] = data[:, 300] + 3
    with pytest.raises(ValueError, match=r"have no column that repeats another one.* got column 300"):
        signal_rank(jnp.asarray(data, jnp.float32), max_rank=3)


def test_rows_with_gaps_are_left_out():
    data = np.random.default_rng(0).normal(size=(40, 6))
    data[:, 0] *= 9
    gaps = data.copy()
    gaps[[3, 9, 30], [1, 5, 0]] = np.nan
    expected = signal_rank(np.delete(data, [3, 9, 30], axis=0))
    for each in (gaps, np.ma.masked_invalid(gaps)):
        found = signal_rank(each, missing="drop")
        assert (found.rank, found.n) == (1, 36)
        np.testing.assert_array_equal(found.p_values, expected.p_values)
    with pytest.raises(ValueError, match=r'3 NaN, first nan at .*; `missing="drop"` leaves 3 of 40 rows out'):
        signal_rank(gaps)
    with pytest.raises(ValueError, match="`missing` must be one of 'drop', got 'pairwise'"):
        signal_rank(gaps, missing="pairwise")
