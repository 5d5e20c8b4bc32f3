"""Counts in scales with white noise: Sinkhorn's steps in NumPy, the conditions themselves, and ranks that are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import biwhiten, denoise, signal_rank


def table(n: int = 30, p: int = 20, rank: int = 3, mean: float = 9.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts of unequal rows and columns, and Poisson counts."""
    rng = np.random.default_rng(seed)
    expected = rng.gamma(1.0, 1.0, (n, rank)) @ rng.gamma(1.0, 1.0, (rank, p))
    expected *= rng.lognormal(size=(n, 1)) * rng.lognormal(size=p)
    expected *= mean / expected.mean()
    return expected, rng.poisson(expected).astype(float)


def sinkhorn(variances: np.ndarray) -> np.ndarray:
    """The products of the scales, from many steps."""
    n, p = variances.shape
    v = np.ones(p)
    for _ in range(2000):
        u = p / (variances @ v)
        v = n / (variances.T @ u)
    return np.sqrt(np.outer(u, v))


def filled(counts: np.ndarray) -> np.ndarray:
    """Without rows and columns of few counts."""
    counts = counts[:, (counts > 0).sum(0) > 5]
    return counts[(counts > 0).sum(1) > 5]


def test_against_sinkhorn_and_the_conditions():
    counts = filled(table()[1])
    n, p = counts.shape
    white = biwhiten(counts)
    np.testing.assert_allclose(white.scaled, sinkhorn(counts) * counts, rtol=1e-10)
    np.testing.assert_allclose(np.outer(white.row_scale, white.column_scale), sinkhorn(counts), rtol=1e-10)
    np.testing.assert_allclose(
        np.mean(np.log(white.row_scale)), np.mean(np.log(white.column_scale)), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(white.back(white.scaled), counts, rtol=0, atol=1e-12)
    variances = np.random.default_rng(2).gamma(0.3, size=(n, p)) + 1e-3
    for data in (counts, counts * (1 + 2j)):
        white = biwhiten(data, variances=variances)
        scaled = np.outer(white.row_scale, white.column_scale) ** 2 * variances
        np.testing.assert_allclose(scaled.mean(0), 1, rtol=1e-10)
        np.testing.assert_allclose(scaled.mean(1), 1, rtol=1e-10)
        np.testing.assert_allclose(white.scaled, data * sinkhorn(variances), rtol=1e-9)


def test_batch_and_transposition():
    counts = filled(table()[1])
    one = biwhiten(counts)
    both = biwhiten(np.stack([counts, counts[::-1]]))
    np.testing.assert_allclose(both.scaled[1], one.scaled[::-1], rtol=1e-9)
    assert both.steps.shape == (2,)
    np.testing.assert_allclose(biwhiten(counts.T).scaled, one.scaled.T, rtol=1e-9)
    mapped = jax.vmap(biwhiten)(np.stack([counts, 2 * counts]))
    np.testing.assert_allclose(mapped.scaled[0], one.scaled, rtol=1e-9)
    np.testing.assert_allclose(mapped.back(mapped.scaled)[1], 2 * counts, rtol=1e-9)


def test_derivatives_are_those_of_the_solution():
    counts = filled(table()[1])
    rng = np.random.default_rng(1)
    variances, along = counts + 1.0, 0.1 * rng.normal(size=counts.shape)
    fn = lambda v: biwhiten(counts, variances=v).scaled
    slope = jax.jvp(fn, (variances,), (along,))[1]
    np.testing.assert_allclose(
        slope, (fn(variances + 1e-5 * along) - fn(variances - 1e-5 * along)) / 2e-5, rtol=0, atol=1e-8
    )
    gradient = jax.grad(lambda v: jnp.sum(jnp.sin(fn(v))))(variances)
    np.testing.assert_allclose(np.sum(gradient * along), np.sum(np.cos(fn(variances)) * slope), rtol=1e-9)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_units_and_single_precision(dtype):
    counts = filled(table()[1])
    data, variances = jnp.asarray(counts, dtype), jnp.asarray(counts + 1, dtype)
    white = biwhiten(data, variances=variances)
    assert white.scaled.dtype == dtype
    np.testing.assert_allclose(white.scaled, counts * sinkhorn(counts + 1), rtol=1e-5)
    for unit in (1e-15, 1e15):
        other = biwhiten(unit * data, variances=unit * (unit * variances))
        np.testing.assert_allclose(other.scaled, white.scaled, rtol=1e-5)
        np.testing.assert_allclose(
            unit * other.row_scale * other.column_scale[0], white.row_scale * white.column_scale[0], rtol=1e-5
        )


def test_rank_of_counts_is_found_and_that_of_the_raw_table_is_not():
    """The experiment of Landa, Zhang and Kluger in small: all components, and none more."""
    counts = filled(table(250, 120, 4, 6.0)[1])
    white = biwhiten(counts)
    assert signal_rank(white.scaled, noise=1.0, center=False, max_rank=30).rank == 4
    assert abs(signal_rank(white.scaled, center=False, max_rank=30).noise - 1) < 0.03
    assert signal_rank(counts, center=False, max_rank=30).rank > 10


def test_overdispersion_needs_its_variances():
    rng = np.random.default_rng(3)
    expected, _ = table(250, 120, 3, 6.0)
    counts = filled(rng.poisson(rng.gamma(2.0, expected / 2.0)).astype(float))
    right, poisson = biwhiten(counts, variances=(counts + counts**2 / 2) / 1.5), biwhiten(counts)
    assert signal_rank(right.scaled, noise=1.0, center=False, max_rank=30).rank == 3
    assert abs(signal_rank(right.scaled, center=False).noise - 1) < 0.03
    assert signal_rank(poisson.scaled, noise=1.0, center=False, max_rank=30).rank > 10
    assert signal_rank(poisson.scaled, center=False, max_rank=30).noise > 1.3


def test_estimates_of_expected_counts():
    expected, counts = table(200, 100, 3, 6.0)
    keep = (counts.sum(1) > 9)[:, None], counts.sum(0) > 9
    expected, counts = (x[keep[0][:, 0]][:, keep[1]] for x in (expected, counts))
    white = biwhiten(counts)
    found = white.back(denoise(white.scaled, noise=1.0).matrix)
    weighted = lambda x: np.mean((x - expected) ** 2 / expected)
    assert weighted(found) < 0.15 * weighted(counts)
    assert weighted(found) < 0.5 * weighted(denoise(counts).matrix)


def blocks(rows: int, columns: int) -> np.ndarray:
    """A table of 12 × 8 positive counts, but for two blocks of zeros."""
    inside = (np.arange(12) < rows)[:, None] == (np.arange(8) < columns)
    return inside * (1.0 + np.random.default_rng(0).poisson(9, (12, 8)))


def test_a_table_of_two_blocks_has_scaled_data_and_their_derivatives():
    counts = blocks(6, 4)
    np.testing.assert_allclose(biwhiten(counts).scaled[:6, :4], 2**0.5 * biwhiten(counts[:6, :4]).scaled, rtol=1e-9)
    along, h = counts * np.random.default_rng(1).normal(size=counts.shape), 1e-5
    scaled = lambda table: biwhiten(table).scaled
    slope = jax.jvp(scaled, (jnp.asarray(counts),), (jnp.asarray(along),))[1]
    np.testing.assert_allclose(
        slope, (scaled(counts + h * along) - scaled(counts - h * along)) / 2 / h, rtol=0, atol=1e-6
    )


def test_refusals():
    counts = filled(table()[1])
    empty = counts * (np.arange(counts.shape[1]) != 3)
    for arguments, message in (
        ({"data": counts - 5}, "`data` must not be negative"),
        ({"data": empty}, "`data` must have no column of zeros, got column 3; leave it out"),
        ({"data": empty.T}, "`data` must have no row of zeros, got row 3; leave it out"),
        ({"data": counts, "variances": empty}, "`variances` must have no column of zeros"),
        ({"data": counts, "variances": counts[:-1]}, "`variances` must have the shape"),
        ({"data": counts * 1j}, "`data` must be real without `variances`"),
        ({"data": np.eye(4) + np.eye(4, k=1)}, "`data` must have scales with which"),
        # The scales of the blocks leave the range of numbers before the last step.
        ({"data": blocks(7, 4)}, "got a row, a column or a block of them with too few counts in common with the rest"),
    ):
        with pytest.raises(ValueError, match=message):
            biwhiten(**arguments)
    with pytest.raises(ValueError, match="`matrix` must have the shape"):
        biwhiten(counts).back(counts[:-1])
    assert np.isnan(jax.jit(biwhiten)(empty).scaled).all()
