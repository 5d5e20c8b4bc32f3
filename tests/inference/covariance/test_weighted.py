"""Weighted rows: the matrix, equal weights, the equation for e, and what is gained over formulas without weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference._covariance.transforms import cauchy, counted
from rmtjax.inference._covariance.weighted import levels_from, weighted_rows
from tests.cases import further

shrink = rmt.inference.shrink_covariance


def _data(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, p)) * np.geomspace(1, 3, p)


def test_sample_is_numpys_weighted_matrix():
    data, weights = _data(25, 8), np.random.default_rng(0).uniform(1, 3, 25)
    expected = np.cov(data, rowvar=False, aweights=weights)
    np.testing.assert_allclose(shrink(data, method="sample", weights=weights), expected, rtol=1e-10, atol=1e-12)
    halved = shrink(data, method="sample", half_life=4.0)
    expected = np.cov(data, rowvar=False, aweights=0.5 ** (np.arange(25)[::-1] / 4))
    np.testing.assert_allclose(halved, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("method", "n", "p"), [("qis", 20, 31), *further(("qis", 25, 8), ("analytical", 20, 31))])
def test_equal_weights_are_none(method, n, p):
    data = _data(n, p)
    found = shrink(data, method=method, weights=np.full(n, 3.0))
    np.testing.assert_allclose(found, shrink(data, method=method), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("method", "center"), [("sample", True), *further(("qis", True), ("analytical", False))])
def test_derivative_at_weights_of_0_is_the_slope(method, center):
    data, rng = jnp.asarray(_data(25, 8)), np.random.default_rng(2)
    weights, other = rng.uniform(1, 3, 25), rng.normal(size=(8, 8))
    weights[3] = 0
    value = jax.jit(lambda w: jnp.sum(other * shrink(data, method=method, center=center, weights=w)))
    slopes = np.asarray(jax.jit(jax.grad(value))(weights))
    step = 1e-6
    for row in (3, 4):
        # From above, as there are no negative weights.
        ahead, further_ahead = (float(value(weights + m * step * np.eye(25)[row])) for m in (1, 2))
        slope = (4 * ahead - 3 * float(value(jnp.asarray(weights))) - further_ahead) / (2 * step)
        np.testing.assert_allclose(slopes[row], slope, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_weights_of_0_have_finite_derivatives():
    data, weights = _data(20, 31), jnp.linspace(1, 2, 20).at[jnp.array([3, 7])].set(0)
    slopes = jax.jit(jax.grad(lambda w: jnp.sum(shrink(data, standardize=True, weights=w)[0])))(weights)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("c", [2.5, *further(0.4)])
def test_two_weights_against_the_roots_of_a_polynomial(c):
    """With weights of two sizes the equation is quadratic; of its roots only one gives levels near the population."""
    n, p = 100, int(100 * c)
    rng = np.random.default_rng(5)
    weights = np.repeat([1.6, 0.4], n // 2)
    rows = rng.normal(size=(n, p)) * np.sqrt(weights)[:, None]
    levels = jnp.asarray(np.linalg.eigvalsh(rows.T @ rows / n)[-min(n, p) :])

    @jax.jit
    def solved(levels, weights):
        count, width = counted(levels, n, p), jnp.array([0.1])
        transform = cauchy(levels, width, count)
        return transform, levels_from(levels, transform, count, n, p, weights, width)

    (u, v), (found, null) = solved(levels, weights)
    y = min(1, n / p) * (1 - np.asarray(u) + 1j * np.asarray(v))
    for level, target, new in zip(np.asarray(levels), y, np.asarray(found), strict=True):
        a, b = c * 1.6, c * 0.4
        # (0.8 e)/(1 + a e) + (0.2 e)/(1 + b e) = y
        roots = np.roots([0.8 * b + 0.2 * a - target * a * b, 1 - target * (a + b), -target])
        both = level * roots.imag / target.imag
        assert np.min(abs(both - new)) < 1e-9 * new
        assert np.max(abs(both - new)) > 0.01 * new
    # The population is the identity, whose sample levels have a standard deviation of √c.
    assert np.mean(np.asarray(found)) == pytest.approx(1, abs=0.3)
    assert np.std(np.asarray(found)) < 0.4 * np.std(np.asarray(levels))
    if p > n:
        assert float(null) == pytest.approx(1, abs=0.1)


def test_weights_of_independent_rows_lie_between_neighbours():
    """The exact weights, the levels of A(1 - uu*)A, lie there too."""
    weights = np.sort(np.random.default_rng(0).uniform(0.2, 3, 40))[::-1]
    shares = weights / weights.sum()
    exact = np.linalg.eigvalsh(np.diag(shares) - np.outer(shares, shares))[:0:-1]
    independent = jax.jit(lambda data, weights: weighted_rows(data, weights, center=True)[-1])
    found = independent(jnp.ones((40, 2)), weights)
    np.testing.assert_allclose(found, exact / exact.mean(), rtol=0, atol=0.08)
    assert np.mean(np.abs(np.asarray(found) - exact / exact.mean())) < 0.02
    np.testing.assert_allclose(independent(jnp.ones((2, 2)), jnp.asarray([1.0, 3.0])), 1)


@pytest.mark.parametrize("half_life", [2.0, *further(6.0)])
def test_few_rows_of_most_weight_leave_positive_levels(half_life):
    data = _data(60, 30)
    found = np.linalg.eigvalsh(shrink(data, half_life=half_life))
    assert found[0] > 0
    assert found.sum() == pytest.approx(np.trace(np.asarray(shrink(data, method="sample", half_life=half_life))))


def test_short_half_lives_leave_an_estimate_near_the_truth():
    """Sample levels are spread over powers of ten; with the kernel for equal weights the factor is 4.7."""
    truth = np.repeat([1.0, 3.0, 10.0], [8, 16, 16])
    data = np.random.default_rng(0).normal(size=(4, 30, 40)) * np.sqrt(truth)
    error = np.mean(np.sum((np.asarray(shrink(data, half_life=2.0)) - np.diag(truth)) ** 2, axis=(-2, -1)))
    assert error < 1.35 * np.sum((truth - truth.mean()) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "half_life"), [(300, 100, 50.0), (200, 100, 20.0), (60, 100, 30.0)])
@pytest.mark.parametrize("method", ["qis", "analytical"])
def test_weighted_levels_are_near_those_of_the_oracle(method, n, p, half_life):
    """Formulas without weights reach 69, 48 and 94 % on the same matrices."""
    rng = np.random.default_rng(7)
    truth = np.repeat([1.0, 3.0, 10.0], [20, 40, 40])
    data = rng.normal(size=(20, n, p)) * np.sqrt(truth)
    sample = np.asarray(shrink(data, method="sample", half_life=half_life))
    vectors = np.linalg.eigh(sample)[1]
    best = np.sum(vectors**2 * truth[:, None], axis=-2)
    nulls = max(p - n + 1, 0)
    best[:, :nulls] = best[:, :nulls].mean(-1, keepdims=True) if nulls else best[:, :0]
    oracle = np.einsum("bij,bj,bkj->bik", vectors, best, vectors)
    loss = lambda estimate: np.mean(np.sum((estimate - np.diag(truth)) ** 2, axis=(-2, -1)))
    found = loss(np.asarray(shrink(data, method=method, half_life=half_life)))
    assert 0.95 < (loss(sample) - found) / (loss(sample) - loss(oracle)) < 1


@pytest.mark.parametrize("method", ["qis", "analytical"])
def test_old_rows_of_next_to_no_weight_change_little(getkey, method):
    levels = jnp.repeat(jnp.array([1.0, 3.0, 10.0]), jnp.array([4, 8, 8]), total_repeat_length=20)
    data = jax.random.normal(getkey(), (600, 20)) * jnp.sqrt(levels)[None]
    few, many = (shrink(rows, method=method, half_life=20) for rows in (data[-200:], data))
    sample = shrink(data, method="sample", half_life=20)
    loss = lambda estimate: float(jnp.sum((estimate - jnp.diag(levels)) ** 2))
    # A kernel whose width comes from all 600 rows leaves three times as much of the difference from the sample.
    assert abs(loss(many) - loss(few)) < 0.05 * loss(sample)
    assert loss(many) < 0.7 * loss(sample)


@pytest.mark.parametrize("p", [6, 20])
def test_rows_without_weight_are_no_observations(getkey, p):
    data = jax.random.normal(getkey(), (40, p))
    weights = jnp.where(jnp.arange(40) < 14, jnp.linspace(1, 2, 40), 0.0)
    # A first row of no weight costs no digits.
    spoilt, without = data.at[0].set(1e9), weights.at[0].set(0)
    for method in ("sample", "qis"):
        estimate = lambda rows, weights, method=method: shrink(rows, method=method, weights=weights)
        np.testing.assert_allclose(estimate(data, weights), estimate(data[:14], weights[:14]), rtol=1e-10)
        np.testing.assert_allclose(estimate(spoilt, without), estimate(data[1:14], weights[1:14]), rtol=1e-10)
    for options in ({"half_life": 1e-3}, {"weights": jnp.zeros(40).at[3].set(1).at[5].set(1e-20)}):
        with pytest.raises(ValueError, match="leave at least 2 rows with a weight beyond rounding"):
            shrink(data, **options)
