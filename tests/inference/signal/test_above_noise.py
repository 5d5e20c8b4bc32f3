"""Ranks above observed noise: roots by LAPACK, p-values by Roy's test, rates by simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from rmtjax.inference import largest_root_test, signal_rank, signal_rank_above_noise


def pair(n: int = 40, m: int = 30, p: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Data with one component, and noise, of a covariance with condition 1e6."""
    rng = np.random.default_rng(seed)
    root = np.tril(rng.normal(size=(p, p))) * np.logspace(0, 3, p)
    return (rng.normal(size=(n, p)) + 2 * rng.normal(size=(n, 1))) @ root, rng.normal(size=(m, p)) @ root


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("n", [40, 6])
def test_levels_and_p_values(n, center):
    data, noise = pair(n)
    found = signal_rank_above_noise(data, noise, center=center)
    h, e = (x - x.mean(0) * center for x in (data, noise))
    roots = scipy.linalg.eigh(h.T @ h, e.T @ e, eigvals_only=True)[::-1][: min(n - center, 8)]
    assert (found.n, found.m, found.p) == (n - center, 30 - center, 8)
    np.testing.assert_allclose(found.levels, roots * found.m / found.n, rtol=1e-7)
    for k, (root, p_value) in enumerate(zip(roots, found.p_values, strict=True)):
        if k < 7:  # Roy's test is for at least as many levels as the hypothesis has.
            test = largest_root_test(root / (1 + root), 8 - k, found.n, found.m, method="tracy-widom")
            np.testing.assert_allclose(p_value, test.p_value, rtol=1e-6, atol=1e-12)
    exact = largest_root_test(roots[1] / (1 + roots[1]), 7, found.n, found.m).p_value
    assert abs(found.p_values[1] - exact) < 0.03
    assert found.rank == (1 if n == 40 else found.rank)


def test_any_linear_map_of_the_columns_changes_nothing():
    data, noise = pair()
    turn = np.random.default_rng(3).normal(size=(8, 8))
    found, other = (
        signal_rank_above_noise(data, noise),
        signal_rank_above_noise(1e-20 * data @ turn, 1e-20 * noise @ turn),
    )
    np.testing.assert_allclose(other.levels, found.levels, rtol=1e-6)
    batch = signal_rank_above_noise(np.stack([data, noise[:1] + data]), noise)
    np.testing.assert_allclose(batch.levels, np.stack([found.levels] * 2), rtol=1e-7)
    assert batch.rank.shape == batch.edge.shape == (2,)


@pytest.mark.float32(further=True)
def test_single_precision():
    rng = np.random.default_rng(0)
    data, noise = (
        jnp.asarray(rng.normal(size=(n, 5)), jnp.float32) * jnp.asarray([1e-20, 1, 1, 1e8, 1e18], jnp.float32)[None]
        for n in (30, 20)
    )
    found = signal_rank_above_noise(data, noise)
    assert found.levels.dtype == jnp.float32
    assert found.rank == 0
    assert np.isfinite(found.p_values).all()


@pytest.mark.parametrize("cplx", [False, True])
def test_rate_of_false_alarms(cplx):
    """1500 matrices: 5 % within five standard errors. With the sample covariance as the truth it is 100 %."""
    rng = np.random.default_rng(5)
    normal = lambda *shape: rng.normal(size=(*shape, 2)).view(complex)[..., 0] if cplx else rng.normal(size=shape)
    data, noise = normal(1500, 40, 10), normal(1500, 20, 10)
    rate = np.mean(np.asarray(signal_rank_above_noise(data, noise).rank) > 0)
    assert abs(rate - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 1500)
    estimate = np.swapaxes(noise, -1, -2)[:50] @ noise[:50].conj() / 20
    fooled = signal_rank(data[:50], noise=1.0, noise_covariance=estimate, max_rank=1).rank
    assert np.mean(np.asarray(fooled)) > 0.9
    # Behind a strong signal the tests are conservative.
    signal = 30 * normal(1500, 40, 1) * np.ones(10)
    ranks = np.asarray(signal_rank_above_noise(data + signal, noise).rank)
    assert ranks.min() == 1
    assert np.mean(ranks > 1) < 0.08


def test_refusals():
    data, noise = pair()
    for arguments, message in (
        ((data, noise[:, :7]), "`noise` must have the 8 columns of the data"),
        ((data, noise[:9]), "`noise` must have at least 10 rows for 8 columns"),
        ((data, noise * (np.arange(8) > 0)), "`noise` must have columns that vary"),
        ((data, noise[:, [0, 0, 1, 2, 3, 4, 5, 6]]), "`noise` must have columns that vary"),
        ((data, np.where(noise == noise[0, 0], np.nan, noise)), "`noise` must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            signal_rank_above_noise(*arguments)
    with pytest.raises(ValueError, match="`alpha` must lie in"):
        signal_rank_above_noise(data, noise, alpha=1.0)
    assert signal_rank_above_noise(data, noise[:9], center=False).m == 9
    assert jax.jit(signal_rank_above_noise)(data, 0 * noise).rank == -1
