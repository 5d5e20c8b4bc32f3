"""Permutations and random signs: exact shares of draws, noise that is not normal, planted factors, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import signal_rank
from rmtjax.inference._signal.resampled import is_significant, permuted, with_signs
from rmtjax.inference._signal.signal_rank import _draws

METHODS = ("permutation", "random-signs")


def factors(rng, n, p, sizes, noise):
    directions = np.linalg.qr(rng.normal(size=(p, len(sizes))))[0]
    return noise + rng.normal(size=(n, len(sizes))) * np.asarray(sizes) @ directions.T


def test_draws_keep_what_they_promise():
    entries = jnp.asarray(np.random.default_rng(0).normal(size=(40, 6)))
    entries -= entries.mean(0, keepdims=True)
    key, other = jax.random.split(jax.random.key(0))
    drawn = permuted(key, entries, True)
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(entries, axis=0))
    order = np.argmax(np.asarray(drawn)[:, None] == np.asarray(entries)[None], axis=1)
    assert len({tuple(column) for column in order.T}) == 6  # each column has an order of its own
    assert not np.array_equal(permuted(other, entries, True), drawn)
    signs = np.asarray(with_signs(key, entries, False) / entries)
    assert set(np.unique(np.round(signs, 12))) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.3
    centred = with_signs(key, entries, True)
    plain = np.asarray(with_signs(key, entries, False))
    np.testing.assert_allclose(centred, (plain - plain.mean(0)) * np.sqrt(40 / 39), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_factors_in_heavy_tailed_noise(method):
    rng = np.random.default_rng(1)
    noise = rng.standard_t(4, size=(100, 30))
    data = factors(rng, 100, 30, [9.0, 6.0], noise) + 3
    find = lambda x, **options: signal_rank(
        x, method=method, key=jax.random.key(1), resamples=99, max_rank=5, **options
    )
    found = find(data)
    assert found.rank == 2
    np.testing.assert_allclose(found.p_values[:2], 0.01)
    # Shares of 99 draws, and NaN behind the first level that is noise.
    assert found.p_values[2] > 0.05
    np.testing.assert_allclose(found.p_values[2] * 100, np.round(found.p_values[2] * 100), rtol=0, atol=1e-9)
    assert np.isnan(found.p_values[3:]).all()
    assert found.levels[3] < found.edge < found.levels[1]
    # The p-value alpha itself is significant.
    assert find(data, alpha=0.01).rank == 2
    with pytest.raises(ValueError, match=r"`resamples` must be at least 101 for alpha = 0\.0099"):
        find(data, alpha=0.0099)
    assert find(noise).rank == 0
    np.testing.assert_array_equal(find(data).p_values, found.p_values)
    assert find(data.T.copy()).rank == 2


@pytest.mark.float32
@pytest.mark.parametrize("method", METHODS)
def test_batches_transformations_and_complex_data(method):
    rng = np.random.default_rng(2)
    data = np.stack([factors(rng, 40, 12, [5.0], rng.normal(size=(40, 12))), rng.normal(size=(40, 12))])
    find = lambda x: signal_rank(x, method=method, key=jax.random.key(3), resamples=39, max_rank=2)
    single = jnp.asarray(data, jnp.float32)
    assert find(single).rank.tolist() == [1, 0]
    assert find(single).p_values.dtype == jnp.float32
    assert jax.jit(jax.vmap(find))(single).rank.tolist() == [1, 0]
    assert find(jnp.asarray(data + 1j * data[:, ::-1], jnp.complex64)).rank.tolist() == [1, 0]
    gradient = jax.grad(lambda x: jnp.sum(find(x).levels))(single[0])
    assert np.isfinite(gradient).all()


def test_a_single_column_is_no_signal_and_rows_of_several_sizes_are_not():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(60, 20))
    column = noise * np.where(np.arange(20) == 3, 6, 1)
    find = lambda x, method: int(signal_rank(x, method=method, key=jax.random.key(0), resamples=39, max_rank=3).rank)
    assert [find(column, method) for method in METHODS] == [0, 0]
    # A tenth of the rows has the sixfold standard deviation, which only signs keep.
    rows = noise * np.where(np.arange(60) % 10 == 0, 6, 1)[:, None]
    assert find(rows, "random-signs") == 0
    assert find(rows, "permutation") > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": None}, '`key` must be a typed key .* for method="permutation"'),
        ({"key": 3}, "`key` must be a typed key"),
        ({"resamples": 0}, "`resamples` must be"),
        ({"alpha": 0.001}, "`resamples` must be at least 999 for alpha = 0.001, got 199"),
        ({"alpha": jnp.float32(0.01), "resamples": 98}, "`resamples` must be at least 99 for alpha = 0.01"),
        ({"n": 8}, "`n` must be None for a method of independent rows"),
        ({"noise": 1.0}, "`noise` must be None for a method that takes it from the entries"),
    ],
)
def test_wrong_options_are_refused(options, message):
    data = np.random.default_rng(0).normal(size=(9, 4))
    with pytest.raises(ValueError, match=message):
        signal_rank(data, **({"method": "permutation", "key": jax.random.key(0)} | options))


@pytest.mark.parametrize("alpha", [0.05, 0.01, np.float32(0.01), 1 / 30, 0.3])
def test_the_smallest_number_of_draws_for_a_level_is_taken(alpha):
    least = round(1 / float(alpha)) - 1 if alpha < 0.3 else 3
    method, key, share = "permutation", jax.random.key(0), 1 / (least + 1)
    assert _draws(method, key, least, alpha)[1] == least
    assert is_significant(jnp.asarray(share, jnp.result_type(alpha)), jnp.asarray(alpha))
    with pytest.raises(ValueError, match=f"`resamples` must be at least {least} for"):
        _draws(method, key, least - 1, alpha)


NOISES = {
    "student": lambda rng, shape: rng.standard_t(5, size=shape),
    "unequal columns": lambda rng, shape: rng.normal(size=shape) * np.linspace(0.3, 3, shape[-1]),
    "unequal rows": lambda rng, shape: rng.normal(size=shape) * np.linspace(0.3, 3, shape[-2])[:, None],
    "log-normal": lambda rng, shape: np.exp(rng.normal(size=shape)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "noise"),
    [
        ("permutation", "student"),
        ("permutation", "unequal columns"),
        ("permutation", "log-normal"),
        ("random-signs", "student"),
        ("random-signs", "unequal columns"),
        ("random-signs", "unequal rows"),
    ],
)
def test_false_alarms_of_noise_that_is_not_normal(method, noise):
    data = NOISES[noise](np.random.default_rng(5), (1500, 60, 20))
    rank = jax.jit(lambda x: signal_rank(x, method=method, key=jax.random.key(6), resamples=19, max_rank=1).rank)
    assert 0.03 < np.mean(np.asarray(rank(data)) > 0) < 0.07
